/* loop_kinds.c - finds what a program repeats by the ops that occur once in each pass.
 *
 * Every op, and every short series of ops, is tried as the mark at which passes begin: between
 * two of its occurrences lies a pass. The sum of a number for each op tells whether two passes
 * have the same ops, whatever their order (a sum of fingerprints, as in Karp and Rabin,
 * "Efficient randomized pattern-matching algorithms", 1987, without the order), and prefix sums
 * give it for any two marks at once. */
#include "analysis/loop_kinds.h"

#include "analysis/traced.h"
#include "core/compare.h"
#include "core/mix.h"
#include "core/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The mark of a place, to be sorted by it. */
struct mark {
    uint64_t name;
    uint32_t place;
};

/* --- the ops --- */

/* Returns a number for about so many bytes: two to an octave. Tiles of an array that can't be
 * cut evenly differ by an element. */
static uint64_t size_class(uint64_t bytes)
{
    return bytes > 0 ? (uint64_t)(1 + lround(2 * log2((double)bytes))) : 0;
}

uint64_t loop_name_of(const struct loop_kinds *kinds, const struct span *span)
{
    const bool named = kinds->templates != NULL && span->link < kinds->timeline->name_count;
    const uint64_t kernel = named ? kinds->templates[span->link] : span->link;
    const uint64_t detail = span->kind == OP_KERNEL ? kernel : size_class(span->bytes);
    return mix_bits(detail << 8 | (uint64_t)(span->kind + 1));
}

/* Numbers the templates that names are of: what stands before the "<". A kernel that hardly
 * ever runs stays apart: it is no other way to do what is done again and again. */
static bool find_templates(struct loop_kinds *kinds)
{
    const struct timeline *timeline = kinds->timeline;
    const size_t count = timeline->name_count + (size_t)1;
    uint32_t *launches = arena_zeros(&kinds->arena, count, sizeof *launches);
    struct names names = {0};
    kinds->templates = arena_zeros(&kinds->arena, count, sizeof *kinds->templates);
    bool room = !kinds->arena.full;
    for (uint32_t i = 0; i < timeline->span_count && room; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->kind == OP_KERNEL && span->link < timeline->name_count)
            launches[span->link]++;
    }
    for (uint32_t i = 0; i < timeline->name_count && room; i++) {
        const char *name = timeline->names[i] != NULL ? timeline->names[i] : "";
        const bool again = launches[i] >= LOOP_PASSES_MIN;
        room = names_number(&names, name, again ? strcspn(name, "<") : strlen(name),
                            &kinds->templates[i]);
    }
    names_free(&names);
    return room;
}

uint64_t loop_thread_of(const struct timeline *timeline, const struct span *span)
{
    const struct host_call *call = timeline_call_of(timeline, span);
    return call != NULL ? call->thread : 0;
}

/* Finds the kernels whose first launch's call took far longer than the second one's: by default
 * CUDA loads the code of a kernel when that is first launched ("CUDA C++ Programming Guide",
 * Lazy Loading). Returns false when memory runs out. */
static bool find_loads(struct loop_kinds *kinds)
{
    const struct timeline *timeline = kinds->timeline;
    const size_t count = timeline->name_count + (size_t)1;
    const struct host_call **loads = arena_zeros(&kinds->arena, count, sizeof *loads);
    bool *again = arena_zeros(&kinds->arena, count, sizeof *again);
    for (uint32_t i = 0; i < timeline->span_count && !kinds->arena.full; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->kind != OP_KERNEL || span->link >= timeline->name_count || again[span->link])
            continue;
        const struct host_call *call = timeline_call_of(timeline, span),
                               *first = loads[span->link];
        loads[span->link] = first != NULL ? first : call;
        if (call == NULL || first == NULL || call == first)
            continue;
        const int64_t length_ns = first->end_ns - first->start_ns;
        again[span->link] = true;
        if (length_ns < TRACED_LOAD_NS ||
            length_ns / TRACED_LOAD_LAUNCHES < call->end_ns - call->start_ns)
            loads[span->link] = NULL;
    }
    for (uint32_t i = 0; i < timeline->name_count && !kinds->arena.full; i++)
        loads[i] = again[i] ? loads[i] : NULL;
    kinds->loads = loads;
    return !kinds->arena.full;
}

int loop_compare_names(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return COMPARE(*x, *y);
}

/* Returns the commonest of some numbers, which it sorts. */
static uint64_t commonest(uint64_t *numbers, size_t count)
{
    uint64_t best = 0;
    size_t most = 0;
    qsort(numbers, count, sizeof *numbers, loop_compare_names);
    for (size_t i = 0, first = 0; i < count; i++) {
        first = numbers[i] == numbers[first] ? first : i;
        if (i - first + 1 <= most)
            continue;
        most = i - first + 1;
        best = numbers[i];
    }
    return best;
}

/* An op or, before all of them by number, a call, and when it was issued, as far as that is
 * known. */
struct issued {
    int64_t ns;
    uint32_t number;
};

COMPARE_BY(compare_issued, struct issued, ns, number);

/* Returns true if a call tells passes apart: waits for the device often end them, and launches
 * of graphs begin them. */
static bool is_mark(const struct host_call *call)
{
    const enum host_call_kind kind = host_call_kind(call->row);
    return kind == CALL_SYNC || kind == CALL_GRAPH;
}

/* A call stands for an op that begins when all before it has ended, and takes no time. */
static const struct span call_span = {
    .kind = OP_SYNC, .start_ns = INT64_MAX, .end_ns = INT64_MIN};

static void put_item(struct loop_kinds *kinds, const struct span *span)
{
    struct loop_item *item = &kinds->items[kinds->count];
    const struct loop_item *before = kinds->count > 0 ? item - 1 : NULL;
    const int64_t ended_ns = before != NULL                   ? before->ended_ns
                             : kinds->timeline->issue_unknown ? span->start_ns
                                                              : span->issue_ns;
    *item = (struct loop_item){
        .name = loop_name_of(kinds, span),
        .sum = before != NULL ? before->sum + before->name : 0,
        .border_ns = earlier(span->start_ns, ended_ns),
        .issue_ns = kinds->timeline->issue_unknown ? span->start_ns : span->issue_ns,
        .start_ns = span->start_ns,
        .ended_ns = later(ended_ns, span->end_ns),
    };
    kinds->count++;
}

/* Lists the ops of the thread that issued most of them, and its waits behind the first one.
 * `threads` and `order` have room for all. */
static void list_items(struct loop_kinds *kinds, uint64_t *threads, struct issued *order)
{
    const struct timeline *timeline = kinds->timeline;
    size_t count = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (op_on_device(timeline->spans[i].kind))
            threads[count++] = loop_thread_of(timeline, &timeline->spans[i]);
    }
    kinds->thread = commonest(threads, count);
    count = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (op_on_device(span->kind) && loop_thread_of(timeline, span) == kinds->thread)
            order[count++] =
                (struct issued){timeline->issue_unknown ? span->start_ns : span->issue_ns,
                                timeline->call_count + i};
    }
    for (uint32_t i = 0; i < timeline->call_count && !timeline->issue_unknown; i++) {
        const struct host_call *call = &timeline->calls[i];
        if (is_mark(call) && call->thread == kinds->thread)
            order[count++] = (struct issued){call->start_ns, i};
    }
    qsort(order, count, sizeof *order, compare_issued);
    for (size_t i = 0; i < count; i++) {
        const uint32_t number = order[i].number;
        const bool op = number >= timeline->call_count;
        if (op || kinds->count > 0)
            put_item(kinds, op ? &timeline->spans[number - timeline->call_count] : &call_span);
    }
    for (uint32_t i = kinds->count; i-- > 1;) {
        struct loop_item *item = &kinds->items[i - 1];
        if (item->start_ns == call_span.start_ns) /* what is behind it may begin sooner */
            item->border_ns = earlier(item->border_ns, kinds->items[i].border_ns);
    }
}

static bool make_items(struct loop_kinds *kinds)
{
    const struct timeline *timeline = kinds->timeline;
    const size_t all = timeline->span_count + (size_t)timeline->call_count + 1;
    uint64_t *threads = arena_zeros(&kinds->arena, all, sizeof *threads);
    struct issued *order = arena_zeros(&kinds->arena, all, sizeof *order);
    kinds->items = arena_zeros(&kinds->arena, all, sizeof *kinds->items);
    if (!kinds->arena.full)
        list_items(kinds, threads, order);
    return !kinds->arena.full;
}

/* --- passes --- */

int64_t loop_border_ns(const struct loop_kinds *kinds, uint32_t place)
{
    return place < kinds->count ? kinds->items[place].border_ns
                                : kinds->items[kinds->count - 1].ended_ns;
}

static uint64_t sum_of(const struct loop_kinds *kinds, uint32_t first, uint32_t end)
{
    const struct loop_item *items = kinds->items;
    const uint64_t until = end < kinds->count
                               ? items[end].sum
                               : items[kinds->count - 1].sum + items[kinds->count - 1].name;
    return until - items[first].sum;
}

/* Returns the name of the series of ops that begins at a place. */
static uint64_t series_name(const struct loop_kinds *kinds, uint32_t place, uint32_t series)
{
    uint64_t name = 0;
    for (uint32_t i = 0; i < series; i++)
        name = mix_at(name, kinds->items[place + i].name);
    return name;
}

COMPARE_BY(compare_marks, struct mark, name, place);

/* Takes up a kind of pass, unless it is there, or others cover more ops. */
static void add_kind(struct loop_kinds *kinds, const struct loop_kind *kind)
{
    struct loop_kind *least = &kinds->kinds[0];
    EACH (struct loop_kind, other, kinds->kinds, kinds->kind_count) {
        if (other->sum == kind->sum && other->ops == kind->ops) {
            if (kind->covered > other->covered)
                *other = *kind;
            return;
        }
        least = other->covered < least->covered ? other : least;
    }
    if (kinds->kind_count < LOOP_KINDS_MOST)
        kinds->kinds[kinds->kind_count++] = *kind;
    else if (kind->covered > least->covered)
        *least = *kind;
}

/* A pass between two marks, to be sorted by what it has. */
struct pass {
    uint64_t sum;
    uint32_t first, end;
};

COMPARE_BY(compare_passes, struct pass, sum, first);

/* Takes up the kinds of passes between `count` marks of one name. `passes` has room for as
 * many. */
static void try_mark(struct loop_kinds *kinds, const struct mark *marks, uint32_t count,
                     struct pass *passes)
{
    const uint32_t all = count - 1;
    for (uint32_t i = 0; i < all; i++)
        passes[i] = (struct pass){.sum = sum_of(kinds, marks[i].place, marks[i + 1].place),
                                  .first = marks[i].place,
                                  .end = marks[i + 1].place};
    qsort(passes, all, sizeof *passes, compare_passes);
    for (uint32_t first = 0, end = 0; first < all; first = end) {
        struct loop_kind kind = {.sum = passes[first].sum,
                                 .ops = passes[first].end - passes[first].first,
                                 .place = passes[first].first};
        while (end < all && passes[end].sum == kind.sum)
            end++;
        kind.passes = end - first;
        kind.covered = (uint64_t)kind.ops * kind.passes;
        if (kind.passes >= LOOP_PASSES_MIN - 1)
            add_kind(kinds, &kind);
    }
}

/* Tries every series of that many ops as the mark. Returns false when memory runs out. */
static bool try_series(struct loop_kinds *kinds, uint32_t series)
{
    if (kinds->count < series + LOOP_PASSES_MIN)
        return true;
    const uint32_t count = kinds->count - series + 1;
    struct arena arena = {0};
    struct mark *marks = arena_zeros(&arena, count, sizeof *marks);
    struct pass *passes = arena_zeros(&arena, count, sizeof *passes);
    const bool room = !arena.full;
    for (uint32_t i = 0; room && i < count; i++)
        marks[i] = (struct mark){series_name(kinds, i, series), i};
    if (room)
        qsort(marks, count, sizeof *marks, compare_marks);
    for (uint32_t first = 0, end = 0; room && first < count; first = end) {
        while (end < count && marks[end].name == marks[first].name)
            end++;
        if (end - first >= LOOP_PASSES_MIN)
            try_mark(kinds, &marks[first], end - first, passes);
    }
    arena_free(&arena);
    return room;
}

bool loop_makes_anew(const struct loop_kinds *kinds, const struct loop_kind *kind)
{
    const struct timeline *timeline = kinds->timeline;
    const struct loop_item *first = &kinds->items[kind->place];
    bool makes = false;
    EACH (const struct host_call, call, timeline->calls, timeline->call_count) {
        const enum host_call_kind made = host_call_kind(call->row);
        makes |= (made == CALL_MAKE || made == CALL_HANDLE) &&
                 call->start_ns >= first->issue_ns &&
                 call->start_ns < first[kind->ops].issue_ns;
    }
    return makes;
}

bool loop_is_pass(const struct loop_kinds *kinds, const struct loop_kind *kind, uint32_t place)
{
    const uint32_t end = place + kind->ops;
    return end <= kinds->count && sum_of(kinds, place, end) == kind->sum;
}

bool loop_kinds_find(struct loop_kinds *kinds, const struct timeline *timeline,
                     bool by_template)
{
    static const uint32_t series[] = {1, 2, 4, 16}; /* ops that are a mark together */
    *kinds = (struct loop_kinds){.timeline = timeline};
    bool done =
        (!by_template || find_templates(kinds)) && make_items(kinds) && find_loads(kinds);
    for (size_t i = 0; done && i < sizeof series / sizeof series[0]; i++)
        done = try_series(kinds, series[i]);
    return done;
}

void loop_sort_names(const struct loop_kinds *kinds, const struct loop_kind *kind,
                     uint64_t *names)
{
    for (uint32_t i = 0; i < kind->ops; i++)
        names[i] = kinds->items[kind->place + i].name;
    qsort(names, kind->ops, sizeof *names, loop_compare_names);
}
