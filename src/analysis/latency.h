/* latency.h - how long each of the GPU's tiles took, or each batch of them, by the priority of
 * its stream. */
#ifndef PIPELINE_ANALYSIS_LATENCY_H
#define PIPELINE_ANALYSIS_LATENCY_H

#include "plan/timeline.h"

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
