/* foreign_facts.c - facts of a trace that are looked up again and again: its calls, its ops by
 * their ends, and what all launches and all memsets have in common. */
#include "causes/foreign_parts.h"

#include "core/search.h"

#include <stdlib.h>

enum {
    TELLING_NS =
        4000,         /* a kernel as long ends well behind a launch that does not wait for it */
    BLOCKING_MIN = 2, /* of fewer launches that are so long none is said to block */
    MEMSETS_MIN = 4,  /* fewer may lie alone by chance */
    FEW_OPS = 4,      /* with more on an engine, some could overlap */
};

uint32_t foreign_call_of(const struct foreign *foreign, uint32_t index)
{
    const struct timeline *timeline = foreign->timeline;
    int64_t issue_ns = timeline->spans[index].issue_ns;
    struct bisect search = bisect_in(0, timeline->call_count);
    if (timeline->issue_unknown || (timeline->begun && issue_ns == 0))
        return SPAN_NONE;
    while (bisect_asks(&search))
        bisect_tell(&search, timeline->calls[search.at].start_ns < issue_ns);
    bool found =
        search.at < timeline->call_count && timeline->calls[search.at].start_ns == issue_ns;
    return found ? (uint32_t)search.at : SPAN_NONE;
}

uint32_t foreign_ended_by(const struct foreign *foreign, int64_t time_ns)
{
    size_t ended = spans_ended_by(foreign->by_end, foreign->by_end_count, time_ns);
    return ended > 0 ? (uint32_t)(foreign->by_end[ended - 1] - foreign->timeline->spans)
                     : SPAN_NONE;
}

uint32_t foreign_copies_by(const struct foreign *foreign, int64_t time_ns)
{
    size_t ended = spans_ended_by(foreign->by_end, foreign->by_end_count, time_ns);
    return ended > 0 ? foreign->copies_in[ended - 1] : 0;
}

bool foreign_host_func_between(const struct foreign *foreign, int64_t after_ns,
                               int64_t before_ns)
{
    const struct timeline *timeline = foreign->timeline;
    if (foreign->host_funcs == 0)
        return false;
    struct bisect search = bisect_in(0, timeline->call_count);
    while (bisect_asks(&search))
        bisect_tell(&search, timeline->calls[search.at].start_ns <= after_ns);
    for (size_t i = search.at;
         i < timeline->call_count && timeline->calls[i].start_ns < before_ns; i++) {
        if (host_call_kind(timeline->calls[i].row) == CALL_HOST_FUNC)
            return true;
    }
    return false;
}

uint32_t foreign_event_target(const struct foreign *foreign, uint32_t index)
{
    const struct timeline *timeline = foreign->timeline;
    const struct span *spans = timeline->spans, *span = &spans[index];
    uint32_t before = foreign->stream_before[index], found = SPAN_NONE;
    int64_t since_ns = before != SPAN_NONE ? spans[before].issue_ns : INT64_MIN;
    struct bisect search = bisect_in(0, timeline->wait_count);
    while (bisect_asks(&search)) {
        const struct stream_wait *wait = &timeline->waits[search.at];
        bisect_tell(&search, wait->stream < span->stream || (wait->stream == span->stream &&
                                                             wait->issue_ns < span->issue_ns));
    }
    for (size_t i = search.at; i-- > 0 && timeline->waits[i].stream == span->stream &&
                               timeline->waits[i].issue_ns >= since_ns;) {
        const struct span *op =
            timeline_span((struct timeline *)timeline, timeline->waits[i].target);
        if (op == NULL)
            continue;
        uint32_t target = (uint32_t)(op - spans);
        if (found == SPAN_NONE || spans[target].end_ns > spans[found].end_ns)
            found = target;
    }
    return found;
}

static int64_t length_of(const struct host_call *call)
{
    return call->end_ns - call->start_ns;
}

bool foreign_loads_code(const struct foreign *foreign, uint32_t call, uint32_t span)
{
    const struct timeline *timeline = foreign->timeline;
    int64_t length_ns = length_of(&timeline->calls[call]);
    if (span == SPAN_NONE || foreign->launches_block || length_ns < VERDICT_LAZY_NS ||
        length_ns / VERDICT_LAZY_LAUNCHES < foreign->launch_ns)
        return false;
    const struct span *kernel = &timeline->spans[span];
    return kernel->kind == OP_KERNEL && foreign->first_launches[kernel->link] == span;
}

/* --- what all have in common --- */

static void find_ends(struct foreign *foreign)
{
    const struct timeline *timeline = foreign->timeline;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (op_on_device(timeline->spans[i].kind))
            foreign->by_end[foreign->by_end_count++] = &timeline->spans[i];
    }
    qsort(foreign->by_end, foreign->by_end_count, sizeof *foreign->by_end, span_compare_ends);
    uint32_t copies = 0, kernels = 0;
    for (uint32_t i = 0; i < foreign->by_end_count; i++)
        foreign->copies_in[i] = copies += foreign->by_end[i]->kind == OP_H2D;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        foreign->kernels_before[i] = kernels;
        kernels += timeline->spans[i].kind == OP_KERNEL;
    }
    foreign->kernels = kernels;
}

static bool find_streams(struct foreign *foreign)
{
    const struct timeline *timeline = foreign->timeline;
    uint32_t *last = malloc((timeline->streams + (size_t)1) * sizeof *last);
    if (last == NULL)
        return false;
    for (uint32_t i = 0; i <= timeline->streams; i++)
        last[i] = SPAN_NONE;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        uint32_t stream = span->stream < timeline->streams ? span->stream : timeline->streams;
        foreign->stream_before[i] = last[stream];
        if (op_in_stream(span->kind) && span->kind != OP_WAIT)
            last[stream] = i;
    }
    free(last);
    return true;
}

/* A call and the thread that made it. */
struct made {
    uint64_t thread;
    uint32_t call;
};

static int compare_made(const void *a, const void *b)
{
    const struct made *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->call > y->call) - (x->call < y->call);
}

/* Finds the call before each on its thread. */
static bool find_threads(struct foreign *foreign)
{
    const struct timeline *timeline = foreign->timeline;
    struct made *made = malloc((timeline->call_count + (size_t)1) * sizeof *made);
    if (made == NULL)
        return false;
    for (uint32_t i = 0; i < timeline->call_count; i++)
        made[i] = (struct made){.thread = timeline->calls[i].thread, .call = i};
    qsort(made, timeline->call_count, sizeof *made, compare_made);
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        bool first = i == 0 || made[i - 1].thread != made[i].thread;
        foreign->call_before[made[i].call] = first ? SPAN_NONE : made[i - 1].call;
    }
    free(made);
    return true;
}

/* Finds the first launch of each kernel. */
static bool find_first_launches(struct foreign *foreign)
{
    const struct timeline *timeline = foreign->timeline;
    size_t links = 1;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->kind == OP_KERNEL && span->link >= links)
            links = span->link + (size_t)1;
    }
    foreign->first_launches = malloc(links * sizeof *foreign->first_launches);
    for (uint32_t i = timeline->span_count; i-- > 0 && foreign->first_launches != NULL;) {
        if (timeline->spans[i].kind == OP_KERNEL)
            foreign->first_launches[timeline->spans[i].link] = i;
    }
    return foreign->first_launches != NULL;
}

static void find_issued(struct foreign *foreign)
{
    const struct timeline *timeline = foreign->timeline;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        foreign->issued[i] = SPAN_NONE;
        foreign->host_funcs += host_call_kind(timeline->calls[i].row) == CALL_HOST_FUNC;
    }
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        uint32_t call = foreign_call_of(foreign, i);
        if (call != SPAN_NONE)
            foreign->issued[call] = i;
        foreign->last_issue_ns = later(foreign->last_issue_ns, timeline->spans[i].issue_ns);
    }
}

/* Finds whether graphs, and whether several threads, issued the ops. */
static void find_issuers(struct foreign *foreign)
{
    const struct timeline *timeline = foreign->timeline;
    const struct host_call *first = NULL;
    uint32_t together = 0;
    for (uint32_t i = 1; i < timeline->span_count && !timeline->issue_unknown; i++)
        together += timeline->spans[i].issue_ns == timeline->spans[i - 1].issue_ns;
    foreign->in_graphs = together > timeline->span_count / 2;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *call = &timeline->calls[i];
        if (foreign->issued[i] == SPAN_NONE)
            continue;
        first = first != NULL ? first : call;
        foreign->many_threads |= call->thread != first->thread;
    }
}

/* Finds whether memory is page-locked only before the first op is issued. */
static void find_pins(struct foreign *foreign)
{
    const struct timeline *timeline = foreign->timeline;
    int64_t first_ns = INT64_MAX;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (op_on_device(timeline->spans[i].kind))
            first_ns = earlier(first_ns, timeline->spans[i].issue_ns);
    }
    foreign->pins_first = true;
    for (uint32_t i = 0; i < timeline->call_count; i++)
        foreign->pins_first &= host_call_kind(timeline->calls[i].row) != CALL_PIN ||
                               timeline->calls[i].start_ns < first_ns;
}

/* Finds whether launches return only when their kernels have ended: all but a few of those that
 * are long enough to tell do. */
static bool find_launches(struct foreign *foreign)
{
    const struct timeline *timeline = foreign->timeline;
    int64_t *lengths = malloc((timeline->call_count + (size_t)1) * sizeof *lengths);
    size_t count = 0;
    uint32_t telling = 0, blocking = 0, behind = 0;
    if (lengths == NULL)
        return false;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *call = &timeline->calls[i];
        uint32_t span = foreign->issued[i];
        if (host_call_kind(call->row) != CALL_LAUNCH || span == SPAN_NONE)
            continue;
        const struct span *kernel = &timeline->spans[span];
        lengths[count++] = length_of(call);
        int64_t kernel_ns = kernel->end_ns - kernel->start_ns;
        behind += call->end_ns >= kernel->end_ns - earlier(FOREIGN_JITTER_NS, kernel_ns / 2);
        if (kernel_ns < TELLING_NS)
            continue;
        telling++;
        blocking += call->end_ns >= kernel->end_ns - FOREIGN_JITTER_NS;
    }
    foreign->launch_ns = count > 0 ? median_ns(lengths, count) : 0;
    foreign->launches_block = telling >= BLOCKING_MIN && 10 * blocking >= 9 * telling;
    foreign->launches_may_block =
        !foreign->launches_block && count >= BLOCKING_MIN && 10 * (size_t)behind >= 9 * count;
    free(lengths);
    return true;
}

/* Finds whether no memset ran beside another op, though ops of several streams did. */
static void find_memsets(struct foreign *foreign)
{
    const struct timeline *timeline = foreign->timeline;
    int64_t ends[2] = {INT64_MIN, INT64_MIN};
    uint32_t memsets = 0, last_stream = UINT32_MAX;
    bool beside = false, others_beside = false;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        int side = span->kind == OP_MEMSET;
        if (!op_on_device(span->kind))
            continue;
        memsets += (uint32_t)side;
        beside |= span->start_ns < ends[!side];
        others_beside |= side == 0 && last_stream != span->stream && span->start_ns < ends[0];
        ends[side] = later(ends[side], span->end_ns);
        last_stream = side == 0 ? span->stream : last_stream;
    }
    bool ahead = !timeline->issue_unknown || others_beside;
    foreign->memsets_bar = memsets >= MEMSETS_MIN && !beside && ahead;
}

/* Finds the engine that was at work for longest, if any was, and how long and how many ops are.
 */
static void find_busiest(struct foreign *foreign)
{
    const struct engine_use *engines = foreign->analysis.engines, *busiest = NULL;
    foreign->few_ops = engines[ENGINE_COMPUTE].spans > 0 &&
                       engines[ENGINE_H2D].spans + engines[ENGINE_D2H].spans > 0;
    for (int i = 0; i < ENGINE_WORKING; i++) {
        foreign->few_ops &= engines[i].spans <= FEW_OPS;
        if (engines[i].busy_ns <= (busiest != NULL ? busiest->busy_ns : 0))
            continue;
        busiest = &engines[i];
        foreign->engine = (enum engine)i;
    }
    foreign->short_ops =
        busiest != NULL && busiest->busy_ns / busiest->spans <= FOREIGN_LATE_NS;
}

bool foreign_begin(struct foreign *foreign, const struct verdict_case *facts)
{
    const struct timeline *timeline = facts->timeline;
    size_t calls = timeline->call_count + (size_t)1, ops = timeline->span_count + (size_t)1;
    *foreign = (struct foreign){
        .facts = facts,
        .timeline = timeline,
        .engine = ENGINE_NONE,
        .by_end = calloc(ops, sizeof *foreign->by_end),
        .copies_in = calloc(ops, sizeof *foreign->copies_in),
        .kernels_before = calloc(ops, sizeof *foreign->kernels_before),
        .stream_before = calloc(ops, sizeof *foreign->stream_before),
        .issued = calloc(calls, sizeof *foreign->issued),
        .call_before = calloc(calls, sizeof *foreign->call_before),
    };
    if (foreign->by_end == NULL || foreign->copies_in == NULL ||
        foreign->kernels_before == NULL || foreign->stream_before == NULL ||
        foreign->issued == NULL || foreign->call_before == NULL ||
        analyse(timeline, &foreign->analysis, NULL) != STATUS_OK)
        return false;
    find_busiest(foreign);
    for (int code = 0; code < VERDICT_COUNT; code++)
        foreign->span[code] = SPAN_NONE;
    find_ends(foreign);
    find_issued(foreign);
    find_issuers(foreign);
    find_memsets(foreign);
    find_pins(foreign);
    return find_streams(foreign) && find_threads(foreign) && find_first_launches(foreign) &&
           find_launches(foreign);
}

void foreign_end(struct foreign *foreign)
{
    free(foreign->by_end);
    free(foreign->copies_in);
    free(foreign->kernels_before);
    free(foreign->stream_before);
    free(foreign->issued);
    free(foreign->call_before);
    free(foreign->first_launches);
}
