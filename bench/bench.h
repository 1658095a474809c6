/* bench.h - `pipeline bench`, and what its measurements share: repeats, results, and runs as
 * the program makes them. */
#ifndef PIPELINE_BENCH_H
#define PIPELINE_BENCH_H

#include "options/options.h"
#include "plan/plan.h"
#include "run/arrays.h"
#include "run/backend.h"

#include <jansson.h>
#include <stdio.h>

enum { REPEATS_MAX = 32 };

/* The command: measures the groups that options->words name, or all; prints them on `out` as
 * options->format says. STATUS_USAGE for an unknown name. STATUS_NO_DEVICE where
 * only groups that need a CUDA device were named, and there is none. Goals that are missed are
 * no failure. */
enum status bench_command(const struct options *options, FILE *out, struct error *error);

/* The repeats of one quantity. Zero-initialise. */
struct series {
    double values[REPEATS_MAX];
    int count;
};

void series_add(struct series *series, double value);
double series_median(const struct series *series);
double series_least(const struct series *series);
double series_most(const struct series *series);

/* The side of its target that a result should be on. */
enum goal { GOAL_NONE, GOAL_AT_LEAST, GOAL_AT_MOST };

struct bench {
    FILE *out;  /* text goes there as it comes; NULL: none, another format follows at the end */
    bool quick; /* smaller and fewer: to see that it works */
    int repeats;
    const char *group; /* the one that is measured now */
    bool has_gpu;      /* for groups that can do without */
    json_t *results;   /* an array of the results kept */
    int missed;        /* goals that were missed */
};

/* Prints a heading above results. */
void bench_heading(const struct bench *bench, const char *text);

/* Prints one result, with its median and spread, and keeps it. `unit` may be "". */
void bench_result(struct bench *bench, const char *name, const struct series *series,
                  const char *unit, enum goal goal, double target);

/* Keeps a result that is printed in another way. */
void bench_keep(struct bench *bench, const char *name, const struct series *series,
                const char *unit, enum goal goal, double target);

/* Returns the seconds of the monotonic clock. */
double bench_now(void);

/* A run as the program makes it, from options to a prepared plan. Zero-initialise. */
struct bench_run {
    struct options options;
    struct settings settings; /* of the first run */
    const struct backend_ops *ops;
    struct backend *backend;
    struct machine machine;
    struct plan plan;
    struct arrays arrays;
    struct workload workload;
};

/* Reads `arguments` (a command line without the program's name, separated by spaces), opens the
 * device, builds the plan, and prepares it with its arrays. */
enum status bench_run_open(struct bench_run *run, const char *arguments, struct error *error);

/* Splits `arguments` at spaces, in place, into at most `most` words of `argv`, a name for the
 * program before them and NULL behind. Returns how many there are. */
int bench_split(char *arguments, char *argv[], int most);

/* The two halves of bench_run_open(): up to the device's description, and from the plan on. */
enum status bench_run_describe(struct bench_run *run, const char *arguments,
                               struct error *error);
enum status bench_run_prepare(struct bench_run *run, struct error *error);

/* Runs once, on a poisoned output, and verifies every element of what came out. `timeline` may
 * be NULL. */
enum status bench_run_once(struct bench_run *run, struct timeline *timeline,
                           struct run_times *times, struct error *error);

/* Gives everything back; also after a bench_run_open() that failed. */
void bench_run_close(struct bench_run *run);

/* The groups of measurements. Each prints its results. */
enum status bench_memory(struct bench *bench, struct error *error);
enum status bench_simulator(struct bench *bench, struct error *error);
enum status bench_writers(struct bench *bench, struct error *error);
enum status bench_marks(struct bench *bench, struct error *error);
enum status bench_tune(struct bench *bench, struct error *error);
enum status bench_verdicts(struct bench *bench, struct error *error);
enum status bench_reductions(struct bench *bench, struct error *error);
enum status bench_scans(struct bench *bench, struct error *error);
enum status bench_transforms(struct bench *bench, struct error *error);
enum status bench_transposes(struct bench *bench, struct error *error);
enum status bench_strides(struct bench *bench, struct error *error);

enum status bench_small_tiles_sim(struct bench *bench, struct error *error);
enum status bench_own_sim(struct bench *bench, struct error *error);

/* These measure the first CUDA device, but make no CUDA call of their own. */
enum status bench_small_tiles(struct bench *bench, struct error *error);
enum status bench_scattered_tiles(struct bench *bench, struct error *error);
enum status bench_tune_device(struct bench *bench, struct error *error);
enum status bench_verdicts_device(struct bench *bench, struct error *error);
enum status bench_own(struct bench *bench, struct error *error);

/* The groups that need CUDA; bench_none.c stands in their place in a program without it.
 * bench_cuda_context() creates a context, as small as can be, and returns 0, or EXIT_FAILURE
 * where there is no device. */
int bench_cuda_context(void);

/* The clocks now, as the driver has them: "SM 1980 MHz, memory 3201 MHz"; "" where it won't
 * say. */
void bench_cuda_clocks(char text[64]);

/* Copies the first `bytes` of a run's input to the device and, at the same time, as many to its
 * output, as bare as can be, and sets the time from the first call until both are over. The
 * run is prepared; its memory is page-locked. *copies is NULL for the first time and keeps the
 * device's memory and streams for the next ones: on an H200 the run behind copies that had
 * given 2 GiB back took 5 ms longer. bench_cuda_bare_close() frees them, or nothing if it is
 * NULL. */
struct bare_copies;
enum status bench_cuda_bare(struct bare_copies **copies, const struct bench_run *run,
                            uint64_t bytes, double *time_ms, struct error *error);
void bench_cuda_bare_close(struct bare_copies *copies);

enum status bench_cuda_copies(struct bench *bench, struct error *error);
enum status bench_cuda_devices(struct bench *bench, struct error *error);
enum status bench_cuda_exchange(struct bench *bench, struct error *error);
enum status bench_cuda_dgemm(struct bench *bench, struct error *error);
enum status bench_cuda_allocs(struct bench *bench, struct error *error);
enum status bench_cuda_graphs(struct bench *bench, struct error *error);
enum status bench_cuda_issue(struct bench *bench, struct error *error);
enum status bench_cuda_pinned(struct bench *bench, struct error *error);
enum status bench_cuda_tracing(struct bench *bench, struct error *error);

#endif
