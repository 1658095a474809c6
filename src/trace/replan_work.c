/* replan_work.c - how much of a GPU a recording's launches take, and how long they would have
 * taken alone.
 *
 * Room is given by CUDA's occupancy rules (plan/occupancy.h).
 *
 * A launch counts as begun when the GPU takes it up, even where earlier ones have all its room:
 * on an H200, a stream of launches that fill it shows each as beginning long before the one
 * before it ends, while they end one work apart. So time in which there was no room is not a
 * launch's own, and time in which there was some counts for that part. Earlier launches have
 * their room first. */
#include "core/compare.h"
#include "trace/replan_parts.h"

#include <stdlib.h>
#include <string.h>

/* --- time --- */

struct launch {
    int64_t start_ns, end_ns;
    double fill;
};

/* The latest to end of the launches that have begun, in the order of their ends. */
enum { RUNNING_MOST = 128 }; /* no GPU runs more kernels at once */
struct running {
    struct launch launches[RUNNING_MOST];
    int count;
};

/* When an op of the plan began, to be sorted by that. */
struct begun {
    int64_t start_ns;
    uint32_t op;
};

COMPARE_BY(compare_begun, struct begun, start_ns, op);

static void running_add(struct running *running, const struct launch *launch)
{
    int place;
    while (running->count > 0 &&
           (running->count == RUNNING_MOST || running->launches[0].end_ns <= launch->start_ns))
        memmove(running->launches, running->launches + 1,
                (size_t)--running->count * sizeof running->launches[0]);
    for (place = running->count++;
         place > 0 && running->launches[place - 1].end_ns > launch->end_ns; place--)
        running->launches[place] = running->launches[place - 1];
    running->launches[place] = *launch;
}

/* Returns the time of a launch, less that in which those that run had its room; all of it where
 * it ended before there was any: then they did not have it. */
static int64_t alone_ns(const struct running *running, const struct launch *launch)
{
    int64_t now_ns = launch->start_ns;
    double others = 0, work_ns = 0;
    for (int i = 0; i < running->count; i++)
        others += running->launches[i].end_ns > now_ns ? running->launches[i].fill : 0;
    for (int i = 0; i < running->count && now_ns < launch->end_ns; i++) {
        const struct launch *other = &running->launches[i];
        if (other->end_ns <= now_ns)
            continue;
        double room = others < 1 ? 1 - others : 0;
        double part = room < launch->fill ? room / launch->fill : 1;
        int64_t until_ns = earlier(other->end_ns, launch->end_ns);
        work_ns += part * (double)(until_ns - now_ns);
        others -= other->fill;
        now_ns = until_ns;
    }
    work_ns += (double)(launch->end_ns - now_ns);
    return work_ns >= 1 ? (int64_t)work_ns : launch->end_ns - launch->start_ns;
}

void replan_share_time(struct replan *replan)
{
    const struct plan *plan = replan->plan;
    struct begun *begun = malloc((plan->op_count + (size_t)1) * sizeof *begun);
    struct running running = {.count = 0};
    size_t count = 0;
    if (begun == NULL) {
        replan_no_memory(replan);
        return;
    }
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op_recorded *seen = &replan->recorded->ops[i];
        if (!op_is_launch(plan->ops[i].kind) || seen->span >= replan->recording->op_count)
            continue;
        begun[count++] = (struct begun){replan->recording->ops[seen->span].start_ns, i};
    }
    qsort(begun, count, sizeof *begun, compare_begun);
    for (size_t i = 0; i < count; i++) {
        struct op_recorded *seen = &replan->recorded->ops[begun[i].op];
        const struct launch launch = {begun[i].start_ns,
                                      replan->recording->ops[seen->span].end_ns, seen->fill};
        seen->work_ns = alone_ns(&running, &launch);
        running_add(&running, &launch);
    }
    free(begun);
}
