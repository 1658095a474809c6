/* analysis.h - whether a timeline can be, how busy each engine was, and how much ran at once.
 */
#ifndef PIPELINE_ANALYSIS_H
#define PIPELINE_ANALYSIS_H

#include "analysis/limit.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "plan/timeline.h"

/* Checks that a timeline can be: STATUS_FAILED names a span that ends before it starts or
 * starts before the run, two spans at once on one copy engine, or an op that the plan does not
 * have, or has as something else. `plan` may be NULL. */
enum status timeline_check(const struct timeline *timeline, const struct plan *plan,
                           struct error *error);

struct engine_use {
    int64_t busy_ns;    /* time with at least one span on the engine */
    double utilisation; /* busy_ns over the timeline's time */
    uint64_t bytes;     /* the sum over its spans */
    uint32_t spans;
};

struct analysis {
    int64_t time_ns; /* of the timeline: first issue to last end */
    uint32_t devices;
    struct engine_use engines[ENGINE_WORKING]; /* of all devices: sums, and mean utilisation */
    struct engine_use on[MACHINE_DEVICES_MAX][ENGINE_WORKING]; /* each device's; the first has
                                                                  the host's, too */
    double peers_hidden; /* of the time of copies to other devices, the share in which a kernel
                          * of the sender ran; 0 where there are none */
    double concurrency;  /* mean number of ops at work on engines at once; a kernel beside a
                          * kernel counts as two */
};

/* Returns false for a rare engine on which nothing ran: reports leave it out. */
static inline bool analysis_shows(const struct analysis *analysis, enum engine engine)
{
    return !engine_rows[engine].rare || analysis->engines[engine].spans > 0;
}

/* Analyses `timeline`. O(n log n). STATUS_NO_MEMORY or STATUS_OK. */
enum status analyse(const struct timeline *timeline, struct analysis *analysis,
                    struct error *error);

/* Returns the median of `count` values, at least one, and leaves `values` sorted. */
int64_t median_ns(int64_t *values, size_t count);

/* Returns the place, among `count` sorted values, of the one that `percent` of them do not
 * exceed. At least one value. */
size_t rank_of(unsigned percent, size_t count);

/* Returns the least of `count` values that half of them do not exceed, and leaves them sorted;
 * 0: of none. */
int64_t half_ns(int64_t *values, size_t count);

/* Compares two int64_t for qsort(), the least first. */
int compare_i64(const void *a, const void *b);

/* How many ops or calls there are of a kind, how long they took, and the longest of them. */
struct tally {
    uint32_t count, longest; /* SPAN_NONE: there is none */
    int64_t sum_ns, longest_ns;
};

/* Counts one more, of which `index` tells. */
static inline void tally_add(struct tally *tally, uint32_t index, int64_t length_ns)
{
    const bool longer = tally->count++ == 0 || length_ns > tally->longest_ns;
    tally->sum_ns = plus(tally->sum_ns, length_ns);
    tally->longest = longer ? index : tally->longest;
    tally->longest_ns = longer ? length_ns : tally->longest_ns;
}

/* --- chain.c: ops of a recorded plan that have to follow each other --- */

/* Returns how long the ops took that have to follow each other, as each reads what the one
 * before it wrote; 0 where that is not known. O(n log n) of a recorded plan. */
int64_t chain_ns(const struct plan *plan, const struct timeline *timeline);

/* Returns the least that the ops of a recorded plan take on a machine, whatever the host does:
 * those of any stream, and those that have to follow each other, one after another. Copies that
 * are staged count as if they were not. O(n log n). */
int64_t chain_least_ns(const struct plan *plan, const struct machine *machine);

/* Returns what the kernels of a recorded plan take at least if no multiprocessor does the work
 * of several blocks in less time than one after the other. Those of a launch are taken to have
 * one each, as far as there are so many. */
int64_t chain_shared_ns(const struct plan *plan, const struct machine *machine);

/* --- headway.c --- */

/* How far the work that bounds a run had come, at every moment of its time.
 *
 * The work is what the limit counts: bytes over the link, kernels, or the CPU's tiles. Each op
 * does its share evenly while it runs, and the whole is scaled to the limit: headway is 0 at
 * the start and the limit at the end. Where it grew by less than the time that passed, the rest
 * was lost; and all that was lost is the run's time less the limit. */

/* Returns how much of the work a span of the timeline does, in any unit. */
typedef double headway_weight(const void *context, const struct span *span);

struct headway {
    struct headway_point {
        int64_t time_ns;
        double done_ns;
    } * points; /* in order of time; straight lines between them */
    uint32_t count;
    int64_t time_ns, limit_ns;
    struct arena arena; /* what has the points */
};

/* Finds the headway of `timeline` for a limit of `limit_ns`. Where no span does any of the
 * work, its headway is taken to be even. O(n log n). STATUS_NO_MEMORY or STATUS_OK;
 * the arena is to be freed. */
enum status headway_find(const struct timeline *timeline, int64_t limit_ns,
                         headway_weight *weight, const void *context, struct headway *headway,
                         struct error *error);

/* Returns what was lost before `until_ns`, in whole ns: 0 at 0, the run's time less the limit
 * at its end. Differences of it add up, however a time is cut. `*at` is where the search goes
 * on, 0 at first; times must not fall from call to call. */
int64_t headway_lost_ns(const struct headway *headway, int64_t until_ns, uint32_t *at);

/* The work that bounds a run, what its limit is the sum of, span by span. */
struct bound {
    const struct plan *plan;
    const struct machine *machine;
    const struct limit *limit;
};

/* Returns how much of the limit is a span's work, in ns at the machine's rate: a headway_weight
 * with a struct bound. */
double bound_work(const void *bound, const struct span *span);

/* --- latency.c: how long tiles, or batches, took, by the priority of their stream --- */

/* The tiles of one priority, or the batches. Times in ns. */
struct latency_group {
    int priority;   /* of the stream their kernels ran in: 0 default, lower is more urgent */
    uint32_t count; /* at least one */
    const int64_t *latencies; /* one for each, ascending; struct latency owns them; or NULL */
    int64_t min_ns, median_ns, p95_ns, max_ns;
    double mean_ns;
};

/* Zero-initialise; the most urgent group comes first. */
struct latency {
    struct latency_group *groups; /* owned */
    uint32_t group_count;
    int64_t *latencies; /* of all groups; owned */
};

/* Finds the latency of every tile in `timeline` that has an op on the device: from the moment
 * its first copy or kernel could have run to the end of its last. It does not begin with that
 * op's issue: the host issues far ahead, so most of that time would be the backlog of the tiles
 * before it in its stream, which an urgent tile has as well. An op could run once it was
 * issued, and the op before it in its stream and what its stream waited for had ended; what
 * holds it up from there on - an engine that is busy, a hardware queue, blocks of other kernels
 * - is what priorities can change, or can't.
 *
 * `priorities` is one per stream, as in a plan; NULL: all default. Priorities act on kernels
 * alone, so a tile has the priority of the stream of its kernels. O(n log n) in spans.
 *
 * `batch` is how many tiles are copied as one, settings_batch(), at least 1. Such a batch is
 * one here: its latency begins with its copy, whose span is the first tile's alone, while each
 * tile may have a kernel of its own.
 *
 * STATUS_NO_MEMORY or STATUS_OK; *latency, to be freed, is set only on STATUS_OK. */
enum status latency_find(const struct timeline *timeline, const int *priorities, uint32_t batch,
                         struct latency *latency, struct error *error);

/* Frees the latencies of single tiles, which are NULL then. The groups' figures stay. */
void latency_free_tiles(struct latency *latency);

void latency_free(struct latency *latency);

#endif
