/* replan_memory.c - what ops touch: addresses turned into buffers and ranges. */
#include "trace/replan_parts.h"

#include "core/arena.h"
#include "core/compare.h"
#include "core/items.h"

#include <stdlib.h>

/* All rows of all copies that are ranges of their own: beyond it they are taken together. */
enum { ROWS_IN_ALL = 1 << 22 };

/* --- while ops are appended --- */

static struct op_recorded *latest_op(const struct replan *replan)
{
    return &replan->recorded->ops[replan->plan->op_count - 1];
}

static void add_access(struct replan *replan, uint32_t buffer, uint64_t address, uint64_t bytes,
                       bool writes)
{
    struct plan_recorded *recorded = replan->recorded;
    struct access *access =
        ITEMS_ADD(recorded->accesses, recorded->access_count, replan->access_capacity);
    if (access == NULL) {
        replan_no_memory(replan);
        return;
    }
    *access = (struct access){
        .range = {.buffer = (enum buffer)buffer, .offset = address, .bytes = bytes},
        .writes = writes};
    latest_op(replan)->access_count++;
}

static void touch_range(struct replan *replan, uint64_t address, uint64_t bytes, bool on_host,
                        bool writes)
{
    const uint32_t memory = live_find(&replan->live, address);
    if (bytes == 0 || address > UINT64_MAX - bytes)
        return;
    const struct recorded_memory *taken =
        memory != RECORDING_NONE ? &replan->recording->memory[memory] : NULL;
    const bool inside = taken != NULL && bytes <= taken->bytes - (address - taken->address);
    add_access(replan,
               inside    ? memory
               : on_host ? (uint32_t)BUFFER_UNKNOWN_HOST
                         : (uint32_t)BUFFER_UNKNOWN_DEVICE,
               address, bytes, writes);
}

/* Adds rows, `pitch` apart, to what the latest op touches. */
static void touch_rows(struct replan *replan, uint64_t address, uint64_t pitch, uint64_t width,
                       uint64_t height, bool on_host, bool writes)
{
    uint64_t all;
    if (height == 0 || __builtin_mul_overflow(pitch, height - 1, &all) ||
        __builtin_add_overflow(all, width, &all))
        return;
    const bool whole = height == 1 || pitch == width,
               many = height > REPLAN_ROWS || replan->rows + height > ROWS_IN_ALL;
    if (whole || many) {
        latest_op(replan)->sure &= whole;
        touch_range(replan, address, height == 1 ? width : all, on_host, writes);
        return;
    }
    replan->rows += height;
    for (uint64_t row = 0; row < height; row++)
        touch_range(replan, address + row * pitch, width, on_host, writes);
}

static void touch_word(struct replan *replan, uint64_t word)
{
    const struct op_recorded *op = latest_op(replan);
    const uint32_t memory = live_find(&replan->live, word);
    bool known = memory == RECORDING_NONE;
    for (uint32_t i = 0; i < op->access_count && !known; i++)
        known = replan->recorded->accesses[op->first_access + i].range.offset == word;
    if (!known)
        add_access(replan, memory, word, 0, true);
}

/* Adds what the latest op, a kernel, is known to have touched. */
static void touch_known(struct replan *replan, const uint64_t *words, uint32_t count)
{
    enum { READS = 1, WRITES = 2, ATOMIC = 4 };
    latest_op(replan)->sure = true;
    for (uint32_t i = 0; i + 2 < count; i += 3) {
        const size_t before = replan->recorded->access_count;
        if (words[i + 2] & READS)
            touch_range(replan, words[i], words[i + 1], false, false);
        if (words[i + 2] & WRITES)
            touch_range(replan, words[i], words[i + 1], false, true);
        for (size_t k = before; k < replan->recorded->access_count; k++)
            replan->recorded->accesses[k].atomic = (words[i + 2] & ATOMIC) != 0;
    }
}

/* Adds what the latest op touches of a call's copy, of which `done` bytes were copied before it
 * and that has `bytes` itself. */
static void touch_copy(struct replan *replan, const struct recorded_call *call,
                       enum op_kind kind, uint64_t done, uint64_t bytes)
{
    uint64_t width = call->copy->width, height = call->copy->height;
    if (call->copy->to == 0 || call->copy->from == 0)
        return;
    if (height <= 1) {
        if (done >= width)
            return;
        width = bytes < width - done && bytes > 0 ? bytes : width - done;
        height = 1;
    } else {
        done = 0;
    }
    touch_rows(replan, call->copy->from + done, call->copy->from_pitch, width, height,
               kind == OP_H2D, false);
    touch_rows(replan, call->copy->to + done, call->copy->to_pitch, width, height,
               kind == OP_D2H, true);
}

void replan_touch_made(struct replan *replan, const struct recorded_call *call,
                       const struct recorded_op *ran, uint64_t done)
{
    if (replan_failed(replan)) /* there may be no op */
        return;
    if (call->effect == EFFECT_COPY && ran->kind != OP_KERNEL) {
        touch_copy(replan, call, (enum op_kind)ran->kind, done, ran->bytes);
    } else if (call->effect == EFFECT_SET && call->copy->to != 0) {
        touch_rows(replan, call->copy->to, 0, call->copy->width, 1, false, true);
    } else if (call->effect == EFFECT_LAUNCH) {
        const uint64_t *words = replan->recording->words + call->launch.first_word;
        if (call->touched)
            touch_known(replan, words, call->launch.word_count);
        for (uint32_t i = 0; i < call->launch.word_count && !call->touched; i++)
            touch_word(replan, words[i]);
    }
}

/* --- when all are there --- */

/* Where a copy, a memset or what a kernel points to begins, in memory that the program took. */
struct place {
    uint64_t address, end;
    uint32_t memory, op;
};

struct places {
    struct place *items; /* by memory, address and op */
    size_t count;
};

struct resolver {
    struct replan *replan;
    struct arena arena;                       /* has these tables: */
    struct places copies, arguments, unknown; /* unknown: `memory` is the kind of unknown */
    uint32_t *buffers;                        /* per memory: its buffer; RECORDING_NONE */
    uint32_t *of_unknown;                     /* per unknown place: its buffer */
    size_t buffer_capacity;
};

COMPARE_BY(compare_places, struct place, memory, address, op);

/* Returns the first place that is not before `key`. */
static size_t find_place(const struct places *places, const struct place *key)
{
    BISECT(at, i, 0, places->count, compare_places(&places->items[i], key) < 0);
    return at;
}

static struct places *places_of(struct resolver *resolver, const struct access *access)
{
    const uint32_t memory = access->range.buffer;
    if (memory >= BUFFER_UNKNOWN_DEVICE)
        return &resolver->unknown;
    return access->range.bytes > 0 ? &resolver->copies : &resolver->arguments;
}

static bool collect_places(struct resolver *resolver)
{
    const struct plan *plan = resolver->replan->plan;
    const struct plan_recorded *recorded = resolver->replan->recorded;
    struct places *const all[] = {&resolver->copies, &resolver->arguments, &resolver->unknown};
    for (size_t i = 0; i < recorded->access_count; i++)
        places_of(resolver, &recorded->accesses[i])->count++;
    resolver->of_unknown =
        arena_zeros(&resolver->arena, resolver->unknown.count, sizeof *resolver->of_unknown);
    for (int i = 0; i < 3; i++) {
        all[i]->items = arena_zeros(&resolver->arena, all[i]->count, sizeof *all[i]->items);
        all[i]->count = 0;
    }
    if (resolver->arena.full)
        return false;
    for (uint32_t op = 0; op < plan->op_count; op++) {
        const struct op_recorded *seen = &recorded->ops[op];
        for (uint32_t i = 0; i < seen->access_count; i++) {
            const struct access *access = &recorded->accesses[seen->first_access + i];
            struct places *places = places_of(resolver, access);
            places->items[places->count++] =
                (struct place){.address = access->range.offset,
                               .end = access->range.offset + access->range.bytes,
                               .memory = access->range.buffer,
                               .op = op};
        }
    }
    for (int i = 0; i < 3; i++)
        qsort(all[i]->items, all[i]->count, sizeof *all[i]->items, compare_places);
    return true;
}

/* Adds a buffer. Returns its number; RECORDING_NONE: no memory. */
static uint32_t add_buffer(struct resolver *resolver, uint64_t address, uint64_t bytes,
                           bool host)
{
    struct plan_recorded *recorded = resolver->replan->recorded;
    struct recorded_buffer *buffer =
        ITEMS_ADD(recorded->buffers, recorded->buffer_count, resolver->buffer_capacity);
    if (buffer == NULL)
        return RECORDING_NONE;
    *buffer = (struct recorded_buffer){.address = address, .bytes = bytes, .host = host};
    return recorded->buffer_count - 1;
}

/* Makes buffers of memory that the program did not take by a call to CUDA: a buffer is what is
 * named without a gap, or with overlaps. */
static bool add_unknown(struct resolver *resolver)
{
    const struct places *places = &resolver->unknown;
    for (size_t i = 0, next; i < places->count; i = next) {
        const struct place *first = &places->items[i];
        uint64_t end = first->end;
        for (next = i + 1; next < places->count; next++) {
            const struct place *place = &places->items[next];
            if (place->memory != first->memory || place->address > end)
                break;
            end = place->end > end ? place->end : end;
        }
        uint32_t buffer = add_buffer(resolver, first->address, end - first->address,
                                     first->memory == BUFFER_UNKNOWN_HOST);
        for (size_t k = i; k < next; k++)
            resolver->of_unknown[k] = buffer;
        if (buffer == RECORDING_NONE)
            return false;
    }
    return true;
}

/* Returns the end of what a kernel, op `op`, reaches from an address that it was given: see
 * replan.h. */
static uint64_t find_reach(const struct resolver *resolver, const struct place *argument)
{
    const struct recorded_memory *memory =
        &resolver->replan->recording->memory[argument->memory];
    const struct places *copies = &resolver->copies, *arguments = &resolver->arguments;
    struct place key = {.memory = argument->memory, .address = argument->address + 1};
    const size_t next = find_place(arguments, &key);
    uint64_t limit = memory->address + memory->bytes;
    if (next < arguments->count && arguments->items[next].memory == argument->memory)
        limit = arguments->items[next].address;
    size_t copy = find_place(copies, argument); /* the first that comes later */
    const struct place *found = NULL;
    if (copy > 0 && copies->items[copy - 1].memory == argument->memory &&
        copies->items[copy - 1].address == argument->address)
        found = &copies->items[copy - 1];
    else if (copy < copies->count && copies->items[copy].memory == argument->memory &&
             copies->items[copy].address == argument->address)
        found = &copies->items[copy];
    if (found == NULL)
        return limit;
    key.address = found->end;
    copy = find_place(copies, &key);
    const bool more = copy < copies->count && copies->items[copy].memory == argument->memory &&
                      copies->items[copy].address < limit;
    return more ? limit : found->end;
}

/* Returns the buffer of an access; RECORDING_NONE: no memory. */
static uint32_t find_buffer(struct resolver *resolver, const struct place *place)
{
    if (place->memory >= BUFFER_UNKNOWN_DEVICE)
        return resolver->of_unknown[find_place(&resolver->unknown, place)];
    uint32_t *buffer = &resolver->buffers[place->memory];
    const struct recorded_memory *memory = &resolver->replan->recording->memory[place->memory];
    if (*buffer == RECORDING_NONE)
        *buffer =
            add_buffer(resolver, memory->address, memory->bytes,
                       memory->kind == RECORDED_PINNED || memory->kind == RECORDED_REGISTERED);
    if (*buffer != RECORDING_NONE && memory->kind == RECORDED_MANAGED)
        resolver->replan->recorded->buffers[*buffer].managed = true;
    return *buffer;
}

static bool resolve_access(struct resolver *resolver, uint32_t op, struct access *access)
{
    struct place place = {
        .address = access->range.offset, .memory = access->range.buffer, .op = op};
    const uint32_t buffer = find_buffer(resolver, &place);
    if (buffer == RECORDING_NONE)
        return false;
    if (access->range.bytes == 0)
        access->range.bytes = find_reach(resolver, &place) - place.address;
    access->range.buffer = (enum buffer)buffer;
    access->range.offset = place.address - resolver->replan->recorded->buffers[buffer].address;
    return true;
}

/* Says in a copy's own part, too, where it begins. Its bytes are those that it moves. */
static void place_op(struct op *op, const struct op_recorded *seen,
                     const struct access *accesses)
{
    struct range *from = NULL, *to = NULL;
    if (op_is_copy(op->kind)) {
        from = op->kind == OP_H2D ? &op->copy.host : &op->copy.device;
        to = op->kind == OP_H2D ? &op->copy.device : &op->copy.host;
    } else if (op_moves(op->kind)) {
        from = &op->move.from;
        to = &op->move.to;
    } else if (op->kind == OP_MEMSET) {
        to = &op->set.range;
    }
    for (uint32_t i = seen->access_count; i > 0; i--) {
        const struct access *access = &accesses[seen->first_access + i - 1];
        struct range *range = access->writes ? to : from;
        if (range == NULL)
            continue;
        range->buffer = access->range.buffer;
        range->offset = access->range.offset;
    }
}

static bool resolve_all(struct resolver *resolver)
{
    const struct replan *replan = resolver->replan;
    struct plan_recorded *recorded = replan->recorded;
    if (!collect_places(resolver) || !add_unknown(resolver))
        return false;
    for (uint32_t op = 0; op < replan->plan->op_count; op++) {
        const struct op_recorded *seen = &recorded->ops[op];
        for (uint32_t i = 0; i < seen->access_count; i++) {
            if (!resolve_access(resolver, op, &recorded->accesses[seen->first_access + i]))
                return false;
        }
        place_op(&replan->plan->ops[op], seen, recorded->accesses);
    }
    return true;
}

void replan_resolve(struct replan *replan)
{
    struct resolver resolver = {.replan = replan};
    resolver.buffers =
        arena_ones(&resolver.arena, replan->recording->memory_count, sizeof *resolver.buffers);
    if (resolver.arena.full || !resolve_all(&resolver))
        error_no_memory(replan->error, "for what the ops of a recording touch");
    arena_free(&resolver.arena);
}
