/* bench_contest.h - kernels that do the same work on the same data, timed in turn. */
#ifndef PIPELINE_BENCH_CONTEST_H
#define PIPELINE_BENCH_CONTEST_H

#include "bench/bench.h"
#include "bench/bench_peers.h"

enum { CONTENDERS_MAX = 24 };

/* A kernel that takes part: a row of the table, or a peer that does what a row does. */
struct contender {
    const char *name;
    const struct kernel
        *kernel; /* whose work it is: its oracle judges the result. NULL: a limit,
                    which is told bytes instead of elements, and not judged */
    /* The launch() of a struct kernel_launcher. NULL: not timed. */
    int (*launch)(const struct kernel_args *args, void *stream);
    uint64_t scratch_bytes; /* device memory that a peer wants in args->scratch; rows' own is
                               known */
    uint32_t blocks;        /* of a row's grid; 0: as a pipeline would have it */
    struct series seconds;  /* found: the time of one launch */
};

/* A contest. Zero-initialise. */
struct contest {
    enum dtype dtype;
    uint64_t count; /* elements */
    bool maps; /* the result has as many elements as the input, of the same type; else one */
    bool as_calls; /* launches are issued one by one, not as a graph */
    struct kernel_params params;
    struct contender contenders[CONTENDERS_MAX];
    int contender_count;
    double copy_in_seconds, copy_out_seconds; /* found: input and result over the link, each
                                                 alone, page-locked */
};

/* Adds the row called `kernel`, and returns it. */
struct contender *contest_add(struct contest *contest, const char *kernel);

/* Adds a peer that does the work of the row called `kernel` (NULL: a limit). `launch` is NULL
 * where it wasn't linked: then it is not timed. */
struct contender *contest_add_peer(struct contest *contest, const char *kernel,
                                   const char *name,
                                   int (*launch)(const struct kernel_args *args, void *stream));

/* Times every contender `bench->repeats` times, in turn, on the first CUDA device: the mean of
 * a row of launches, by events. The row is one graph, so that what the host needs for each call
 * is not in it, unless `as_calls`. They go through inputs and outputs that together are four
 * times the L2 cache, so that none finds its data there. Outputs are poisoned before, and all
 * are verified after each repeat. STATUS_FAILED names the contender whose result is wrong. */
enum status contest_run_cuda(struct bench *bench, struct contest *contest, struct error *error);

/* Runs the contest on the CUDA device if there is one; without one nothing is timed, which is
 * no error. */
enum status contest_run(struct bench *bench, struct contest *contest, struct error *error);

/* Times the CPU twin of `kernel` on as much data, with `threads` threads. */
enum status contest_host(struct bench *bench, const struct contest *contest, const char *kernel,
                         int threads, struct series *seconds, struct error *error);

/* A table of times. Rows of a ladder say how much faster each is than the one above it, and
 * than the first; rows of none (NULL) don't. `bytes` is what must be moved. Rows that were not
 * timed are left out. Everything is kept (bench_keep()), in seconds and GB/s. */
struct ladder {
    double first, last; /* medians; zero-initialise */
};
void table_heading(const struct bench *bench, const char *title);
void table_row(struct bench *bench, const char *title, const char *name,
               const struct series *seconds, double bytes, struct ladder *ladder);

/* Prints how much faster `time` is than `over`, repeat by repeat, against the goal if there is
 * one (0: none); nothing where one was not timed. */
void contest_ratio(struct bench *bench, const char *name, const struct series *time,
                   const struct series *over, double at_least);

#endif
