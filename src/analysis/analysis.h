/* analysis.h - how busy each engine was, and how much ran at once. */
#ifndef PIPELINE_ANALYSIS_H
#define PIPELINE_ANALYSIS_H

#include "plan/timeline.h"

struct engine_use {
    int64_t busy_ns;    /* time with at least one span on the engine */
    double utilisation; /* busy_ns over the timeline's span */
    uint64_t bytes;     /* the sum of its spans' */
    uint32_t spans;
};

struct analysis {
    int64_t time_ns; /* of the timeline: first issue to last end */
    struct engine_use engines[ENGINE_WORKING];
    double concurrency; /* mean number of busy engines over the span */
};

/* Analyses `timeline`. O(n log n). STATUS_FAILED only when memory runs out. */
enum status analyse(const struct timeline *timeline, struct analysis *analysis,
                    struct error *error);

/* The median of `count` values, of which `values` is left sorted. At least one. */
int64_t median_ns(int64_t *values, size_t count);

/* Where the value stands that `percent` of `count` sorted ones, at least one, do not exceed. */
size_t rank_of(unsigned percent, size_t count);

/* For qsort(): of int64_t, the least first. */
int compare_i64(const void *a, const void *b);

#endif
