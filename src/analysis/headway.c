/* headway.c - the work that bounds a run: the parts of the sums in limit.c, and how far they
 * had come, a line of straight pieces, one between any two starts or ends of spans. */
#include "analysis/analysis.h"
#include "core/compare.h"
#include "plan/rules.h"

#include <math.h>
#include <stdlib.h>

/* --- the work --- */

static double kernel_work_ns(const struct bound *bound, const struct op *op)
{
    const struct kernel *kernel = bound->plan->chain[op->kernel.link];
    struct kernel_cost cost =
        machine_kernel_cost(bound->machine, kernel, &bound->plan->params, op->kernel.count);
    const double ns = fmax(cost.memory_ns, cost.arithmetic_ns);
    if (bound->plan->by_link) /* the other devices' kernels are not what binds */
        return plan_link_device(bound->plan, op->kernel.link) == bound->limit->device ? ns : 0;
    return ns / plan_gpus(bound->plan);
}

double bound_work(const void *context, const struct span *span)
{
    const struct bound *bound = context;
    const struct op *op = &bound->plan->ops[span->op];
    if (bound->limit->cause == LIMIT_CPU)
        return span->kind == OP_CPU ? (double)op->cpu.count : 0;
    if (span->kind == OP_KERNEL && bound->plan->has_halo)
        return kernel_work_ns(bound, op); /* copies and kernels are parts of one sum */
    if (bound->limit->cause == LIMIT_COMPUTE && !bound->plan->has_halo)
        return span->kind == OP_KERNEL ? kernel_work_ns(bound, op) : 0;
    if (span->kind == OP_KERNEL && plan_kernels_move_bytes(bound->plan))
        return (double)span->bytes;
    if (op_is_copy(span->kind) && op->copy.host.buffer == BUFFER_HOST_EXCHANGE &&
        !bound->limit->by_host)
        return 0; /* the limit knows a better way */
    double rate = span->kind == OP_H2D    ? bound->limit->copies.in_ns
                  : span->kind == OP_D2H  ? bound->limit->copies.out_ns
                  : span->kind == OP_PEER ? bound->limit->copies.peer_ns
                                          : 0;
    return rate * (double)span->bytes;
}

/* --- the line --- */

/* A change of the rate of work. */
struct change {
    int64_t time_ns;
    double rate;
};

COMPARE_BY(compare_changes, struct change, time_ns);

/* Fills `changes`, which has room for two per span, and sums up the work. */
static uint32_t find_changes(const struct timeline *timeline, headway_weight *weight,
                             const void *context, struct change *changes, double *work)
{
    uint32_t count = 0;
    *work = 0;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        double share = weight(context, span), length = (double)(span->end_ns - span->start_ns);
        if (!(share > 0) || !(length > 0))
            continue;
        changes[count++] = (struct change){span->start_ns, share / length};
        changes[count++] = (struct change){span->end_ns, -share / length};
        *work += share;
    }
    qsort(changes, count, sizeof *changes, compare_changes);
    return count;
}

/* Sums up the changes; the last point is the end of the run, and exact. */
static void draw_line(const struct change *changes, uint32_t count, double scale,
                      struct headway *headway)
{
    struct headway_point *points = headway->points;
    double done = 0, rate = 0;
    points[headway->count++] = (struct headway_point){0, 0};
    for (uint32_t i = 0; i < count; i++) {
        const struct headway_point *last = &points[headway->count - 1];
        if (changes[i].time_ns > last->time_ns) {
            done += scale * rate * (double)(changes[i].time_ns - last->time_ns);
            points[headway->count++] = (struct headway_point){changes[i].time_ns, done};
        }
        rate += changes[i].rate;
    }
    struct headway_point end = {headway->time_ns, (double)headway->limit_ns};
    if (points[headway->count - 1].time_ns == headway->time_ns)
        points[headway->count - 1] = end;
    else
        points[headway->count++] = end;
}

enum status headway_find(const struct timeline *timeline, int64_t limit_ns,
                         headway_weight *weight, const void *context, struct headway *headway,
                         struct error *error)
{
    size_t room = 2 * (size_t)timeline->span_count + 2;
    struct headway result = {.time_ns = timeline_time_ns(timeline), .limit_ns = limit_ns};
    struct change *changes = arena_zeros(&result.arena, room, sizeof *changes);
    result.points = arena_zeros(&result.arena, room, sizeof *result.points);
    if (result.arena.full) {
        arena_free(&result.arena);
        return error_no_memory(error, "for the headway of %u spans", timeline->span_count);
    }
    double work;
    uint32_t count = find_changes(timeline, weight, context, changes, &work);
    draw_line(changes, count, work > 0 ? (double)limit_ns / work : 0, &result);
    *headway = result;
    return STATUS_OK;
}

int64_t headway_lost_ns(const struct headway *headway, int64_t until_ns, uint32_t *at)
{
    const struct headway_point *points = headway->points;
    if (until_ns >= headway->time_ns)
        return headway->time_ns - headway->limit_ns;
    while (*at + 2 < headway->count && points[*at + 1].time_ns <= until_ns)
        ++*at;
    const struct headway_point *a = &points[*at], *b = &points[*at + 1];
    double part = (double)(until_ns - a->time_ns) / (double)(b->time_ns - a->time_ns);
    double done = a->done_ns + part * (b->done_ns - a->done_ns);
    return until_ns - (int64_t)llround(done);
}
