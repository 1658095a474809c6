/* analysis.h - whether a timeline can be, how busy each engine was, and how much ran at once.
 */
#ifndef PIPELINE_ANALYSIS_H
#define PIPELINE_ANALYSIS_H

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

#endif
