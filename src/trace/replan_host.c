/* replan_host.c - what a recorded program's calls took the host, and which threads made them.
 */
#include "trace/replan_parts.h"

#include "analysis/traced.h"
#include "core/compare.h"

#include <stdlib.h>

/* --- what calls take --- */

/* How long a call of a row took, and whether a queue may have been full then. One of an H200's
 * takes 1024 ops, events that keep the time among them. */
struct took {
    int64_t ns;
    uint16_t row;
    bool crowded;
};

COMPARE_BY(compare_took, struct took, row, ns);

/* Returns true if the device was many ops behind when a call began. */
static bool is_crowded(const struct recording *recording, const struct recorded_call *call)
{
    enum { CROWD = 256 };
    return call->op_count > 0 && call->first_op >= CROWD &&
           recording->ops[call->first_op - CROWD].end_ns > call->start_ns;
}

/* Returns true if no other thread was in a call meanwhile, whose end this one may have waited
 * for. */
static bool is_alone(const struct recording *recording, const struct recorded_call *call)
{
    const struct recorded_call *first = recording->calls,
                               *last = first + recording->call_count - 1;
    return (call == first || call[-1].thread == call->thread ||
            call[-1].end_ns <= call->start_ns) &&
           (call == last || call[1].thread == call->thread || call[1].start_ns >= call->end_ns);
}

/* Returns the median of `count` calls, in order, or that of those that surely found room in a
 * queue, if it is less: a wait for room is simulated. The longest calls loaded code. */
static int64_t median_of(const struct took *took, size_t count)
{
    size_t free_count = 0, before = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        free_count += !took[i].crowded;
    while (at < count / 2 && (free_count == 0 || took[at].crowded || before < free_count / 2))
        before += !took[at++].crowded;
    return took[at].ns;
}

/* Of so few launches the usual one may have loaded code: the machine's time then stands. */
enum { FEW = 4 };

static void find_medians(struct replan *replan)
{
    const struct recording *recording = replan->recording;
    size_t count = 0;
    replan->calls_ns = arena_zeros(&replan->arena, host_call_rows(), sizeof *replan->calls_ns);
    struct took *took = malloc((recording->call_count + 1) * sizeof *took);
    if (took == NULL || replan->calls_ns == NULL) {
        free(took);
        replan_no_memory(replan);
        return;
    }
    EACH (const struct recorded_call, call, recording->calls, recording->call_count) {
        if (call->result == 0)
            took[count++] = (struct took){later(call->end_ns - call->start_ns, 1), call->row,
                                          is_crowded(recording, call)};
    }
    qsort(took, count, sizeof *took, compare_took);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first; next < count && took[next].row == took[first].row;)
            next++;
        const int64_t ns = median_of(took + first, next - first);
        const bool loads = host_call_kind(took[first].row) == CALL_LAUNCH &&
                           next - first < FEW && ns >= TRACED_LOAD_NS;
        replan->calls_ns[took[first].row] = loads ? 0 : ns;
    }
    free(took);
}

int64_t replan_call_ns(const struct replan *replan, const struct recorded_call *call,
                       const struct op *op, const struct op_recorded *seen, bool same)
{
    const enum host_call_kind kind = host_call_kind(call->row);
    const bool hands_over =
        kind == CALL_LAUNCH || kind == CALL_GRAPH || kind == CALL_COPY || kind == CALL_QUICK;
    if (!hands_over || seen->pageable || seen->waits || replan->plan->launches_block ||
        op_is_call(op->kind))
        return 0;
    if (same)
        return 1;
    const bool as_taken = replan->recording->traced_by != NULL &&
                          !is_crowded(replan->recording, call) &&
                          is_alone(replan->recording, call);
    return as_taken ? later(call->end_ns - call->start_ns, 1) : replan->calls_ns[call->row];
}

/* --- what recording takes --- */

void replan_note_cost(struct replan *replan, const struct recorded_call *call)
{
    struct replan_thread *thread = &replan->threads[replan_thread_of(replan, call)];
    thread->cost_ns += thread->call_cost_ns;
    thread->call_cost_ns = call->added_ns;
}

void replan_take_cost(struct replan *replan, const struct recorded_call *call,
                      struct op_recorded *seen)
{
    struct replan_thread *thread = &replan->threads[seen->thread];
    seen->cost = (struct recorded_cost){
        .host_ns = (uint32_t)earlier(thread->cost_ns, seen->host_ns),
        .call_ns = (uint32_t)earlier(thread->call_cost_ns, later(seen->call_ns - 1, 0)),
    };
    seen->by_node = replan->recording->costs_known && call->effect == EFFECT_GRAPH;
    thread->cost_ns = thread->call_cost_ns = 0;
}

/* --- what is made --- */

static void add_made(struct replan_thread *thread, int made, int64_t length_ns)
{
    thread->made_ns[made] = earlier(thread->made_ns[made] + later(length_ns, 0), UINT32_MAX);
}

/* A pool that has the memory gives it in little time, as one made before a loop does. */
void replan_note_made(struct replan *replan, const struct recorded_call *call)
{
    enum { POOL_NS = 2000 };
    struct replan_thread *thread = &replan->threads[replan_thread_of(replan, call)];
    const enum host_call_kind kind = host_call_kind(call->row);
    const enum host_call_kind between = host_call_between(thread->called, kind);
    /* A library's wait is an op by itself. */
    const bool waits = call->effect >= EFFECT_SYNC_DEVICE && call->effect <= EFFECT_SYNC_EVENT;
    const int64_t quick_ns = kind == CALL_POOL ? POOL_NS : 0;
    if (between >= CALL_MAKE && thread->called_ns > 0)
        add_made(thread, (int)between - CALL_MAKE, call->start_ns - thread->called_ns);
    thread->called = kind;
    replan->pools |= kind == CALL_POOL;
    thread->called_ns = call->end_ns;
    if (kind < CALL_MAKE)
        return;
    if (!waits)
        add_made(thread, (int)kind - CALL_MAKE, call->end_ns - call->start_ns - quick_ns);
    if (between >= CALL_MAKE) /* made_ns has what recording took, most of which stands before */
        thread->call_cost_ns = 0;
}

void replan_note_given(struct replan *replan, const struct recorded_call *call,
                       int64_t behind_ns)
{
    struct replan_thread *thread = &replan->threads[replan_thread_of(replan, call)];
    if (!replan->pools || behind_ns <= TRACED_LATE_NS)
        return;
    thread->ended_ns -= behind_ns;
    add_made(thread, CALL_POOL - CALL_MAKE, behind_ns);
}

void replan_take_made(struct replan *replan, struct op_recorded *seen)
{
    struct replan_thread *thread = &replan->threads[seen->thread];
    for (int i = 0; i < CALL_MADE_KINDS; i++) {
        seen->made_ns[i] = (uint32_t)earlier(thread->made_ns[i], seen->host_ns);
        thread->made_ns[i] = 0;
    }
}

/* --- threads --- */

static bool take_turns(const struct recording *recording)
{
    struct host_turns turns = {0};
    EACH (const struct recorded_call, call, recording->calls, recording->call_count) {
        host_turns_add(&turns, call->start_ns, call->end_ns, call->thread, call->op_count > 0,
                       call->stream);
    }
    return host_turns_taken(&turns);
}

void replan_find_host(struct replan *replan)
{
    replan->turns = take_turns(replan->recording);
    find_medians(replan);
}
