/* pipeline.h - a plan of copies and kernels, run on a simulated GPU and explained: the library.
 *
 * One `struct pipeline` is one run: options set what is asked for, a machine says what it runs
 * on, pipeline_simulate() builds the plan and simulates it, and the rest reads the results.
 * Options have the names, defaults, limits and refusals of the command's.
 *
 * The library needs the C library and libm alone. It does no I/O, starts no threads and keeps
 * no state outside a `struct pipeline`: different ones may be used by different threads at
 * once. Numbers in texts have a point, whatever the locale. Times are whole nanoseconds of
 * virtual time; the same options and machine give the same ones on every host.
 *
 * A function that can fail returns false and, where `error` is not NULL, says why in one line.
 * One that gets NULL for another argument fails so; NULL for a run has no results.
 */
#ifndef PIPELINE_H
#define PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pipeline;

struct pipeline_error {
    char text[1024]; /* one line, without a newline */
};

/* Returns a run with every option's default on the machine `h200`, or NULL where memory runs
 * out. The caller frees it with pipeline_free(), which takes NULL as well. */
struct pipeline *pipeline_new(void);
void pipeline_free(struct pipeline *pipeline);

/* Sets an option of one run by its long name: ("streams", "4"), ("kernel", "scale,sum"),
 * ("mistake", "sync-in-loop"). Both strings are copied. An option that a simulated run without
 * data has no use for, such as "output", is refused. Results of an earlier simulation are
 * dropped. */
bool pipeline_set(struct pipeline *pipeline, const char *option, const char *value,
                  struct pipeline_error *error);

/* Chooses a machine that the library knows: see pipeline_machine_name(). */
bool pipeline_set_machine(struct pipeline *pipeline, const char *name,
                          struct pipeline_error *error);

/* Reads a machine from the text of a machine file, as `pipeline calibrate` prints one. `name`
 * is what errors call it. */
bool pipeline_set_machine_text(struct pipeline *pipeline, const char *text, const char *name,
                               struct pipeline_error *error);

/* Checks the options together, builds the plan, simulates it and finds the verdicts. A plan
 * whose operations race is refused unless an option "mistake" asked for that. Takes time and
 * memory linear in operations, but for a factor that is their logarithm. */
bool pipeline_simulate(struct pipeline *pipeline, struct pipeline_error *error);

/* --- results; zero, or nothing, before pipeline_simulate() has succeeded --- */

/* Time of the run, from the first issue to the last end, and the shortest that the machine
 * allows for this work. */
int64_t pipeline_time_ns(const struct pipeline *pipeline);
int64_t pipeline_limit_ns(const struct pipeline *pipeline);

/* Mean number of copies, kernels and CPU tiles that were at work at once. */
double pipeline_concurrency(const struct pipeline *pipeline);

/* One operation as it ran. Strings live until the run is simulated anew or freed. */
struct pipeline_span {
    const char *kind;   /* "h2d", "kernel", "d2h", "wait", "callback", ... */
    const char *engine; /* "h2d", "compute", "d2h", "cpu", "host", "none" */
    uint32_t op;        /* its place in the order of issue */
    uint32_t lane;      /* row within the engine: spans of one lane never overlap */
    uint32_t stream;
    int32_t tile; /* -1 where it belongs to none */
    uint64_t bytes;
    int64_t issue_ns, start_ns, end_ns; /* from the run's first issue */
};

/* Spans in order of issue. pipeline_span() returns false where `index` is not below the count.
 */
size_t pipeline_span_count(const struct pipeline *pipeline);
bool pipeline_span(const struct pipeline *pipeline, size_t index, struct pipeline_span *span);

/* A named reason why the run took longer than its limit. Strings live as long as the library.
 */
struct pipeline_verdict {
    const char *code; /* "sync-in-loop" */
    int64_t ns;       /* what it cost */
    double share;     /* of the run's time; 0 where that is 0 */
    bool named;       /* it cost enough to be given as a reason */
    const char *text; /* what happened, in one line */
    const char *fix;  /* what to do: an option of the command, or a change in CUDA calls */
};

/* Verdicts, the dearest first. Their costs add up to the time less the limit. */
size_t pipeline_verdict_count(const struct pipeline *pipeline);
bool pipeline_verdict(const struct pipeline *pipeline, size_t index,
                      struct pipeline_verdict *verdict);

/* --- what there is to choose from; NULL where `index` is past the last --- */
const char *pipeline_version(void);
const char *pipeline_machine_name(size_t index);
const char *pipeline_kernel_name(size_t index);
const char *pipeline_mistake_name(size_t index);

#ifdef __cplusplus
}
#endif

#endif
