/* report.h - everything that the writers show of runs: settings, results, timelines. */
#ifndef PIPELINE_REPORT_H
#define PIPELINE_REPORT_H

#include "analysis/analysis.h"
#include "analysis/critical.h"
#include "analysis/limit.h"
#include "causes/verdict.h"
#include "machine/machine.h"
#include "options/options.h"
#include "plan/hazard.h"
#include "plan/plan.h"
#include "plan/timeline.h"
#include "report/compare.h"
#include "sim/interval.h"

enum { HAZARD_TEXT = 4 * OP_LABEL + 256 }; /* four names, and the words between them */

enum verified {
    VERIFIED_NO,
    VERIFIED_YES,
    VERIFIED_NOT_ASKED, /* --no-data */
    VERIFIED_RACED,     /* every element is right, but ops raced: chance may have made it so */
};

struct run_report {
    const struct settings *settings; /* as used: tiles, streams, connections, share resolved */
    uint32_t streams, slots, cpu_tiles; /* of the plan */
    uint64_t elements;                  /* as run: an input file may have said how many */
    uint64_t host_bytes, device_bytes;
    enum verified verified;
    uint32_t repeats;
    int64_t median_ns, min_ns, max_ns; /* times of the measured repeats */
    struct time_range
        sure;         /* of a simulated machine: of that time on a GPU of its kind; or 0 */
    double noise;     /* compare_noise() of them */
    int64_t issue_ns; /* median host time spent issuing */
    double speedup; /* against the median of the first run of the same work on the same device;
                       NAN where there is none, or the result is wrong */
    const struct settings *usual; /* where settings were chosen, those without a choice; NULL:
                                     no others, or they can't be run */
    int64_t usual_ns;             /* the median time with those, on the same device */
    int64_t other_order_ns; /* the time with the other order of issue, by the simulator, where
                               an order was asked for or the other changes it; else 0 */
    int64_t predicted_ns;   /* the simulated time, for --model=sim; else 0 */
    struct time_range predicted; /* its interval; or 0 */
    struct limit limit;
    struct timeline timeline; /* of one more, traced run */
    int64_t
        clock_ns; /* when that timeline begins, where several count from one clock; else 0 */
    struct analysis analysis; /* of that timeline */
    struct critical critical; /* of that timeline */
    struct verdicts verdicts; /* of that timeline; none where there can be none: */
    char no_verdict[256]; /* the reason then: "no verdict: op 3 (h2d) ends before it starts" */
    struct latency latency; /* of the GPU's tiles; a foreign run has none. Owned */
    bool profiled;          /* --profile: there is no timeline and no analysis */
    bool foreign; /* read from a trace of another program: there is a timeline with its analysis
                     and critical path, a name in `settings`, and nothing else: no other
                     setting, no limit, no repeats (median_ns is the timeline's time) */
    const struct trace *trace; /* the rest of what the trace of a foreign run said; else NULL */
    struct hazard *hazards;    /* of the plan. Owned, as are the texts */
    size_t hazard_count;       /* 0 unless settings->mistake allows for them */
    size_t hazards_lost;       /* those whose ops overlapped or came in the wrong order */
    char (*hazard_texts)[HAZARD_TEXT]; /* "h2d 4 and scale 4 both touch device.in0 [0, 4096); in
                                          this run scale 4 began 12 us before h2d 4 ended" */
    /* A recording has its plan, of its loop where that is judged; and races that it may have,
     * of which nobody knows. Their texts are owned. Hazards name spans, not ops of the plan;
     * SPAN_NONE is one outside of the loop. */
    const struct plan *plan; /* NULL: it is no recording, or only a part of one */
    size_t possible_count;
    size_t likely;          /* 1 + the first of those that is told as a cause; 0: none is */
    const char *races_left; /* why there may be more races than these; NULL: no such reason */
    char (*possible_texts)[HAZARD_TEXT];
    bool has_result;           /* the chain ends in a reduction */
    double result;             /* over all tiles */
    struct compared *compared; /* COMMAND_COMPARE: the same plan, simulated; else NULL. Owned */
    char device[TIMELINE_TEXT + 16];
};

/* The same plan as a run's, simulated, beside it: `pipeline compare`. */
struct compared {
    struct comparison comparison;
    char device[MACHINE_TEXT + 8]; /* "sim:h200": the machine that it was simulated on */
    struct settings settings;      /* the run's, but for `device`, and named "NAME simulated" */
    struct run_report run;         /* as simulated; refers to `settings`. Its timeline and its
                                      critical path are owned */
};

/* Frees one; NULL is nothing to free. */
void compared_free(struct compared *compared);

/* Runs are in the order of options.runs. A sweep keeps no timelines unless a file needs them.
 */
struct report {
    const char *version;
    const char *message; /* what the config file says that its runs show; NULL: nothing */
    struct run_report *runs;
    int run_count;
    const char *late; /* which of these ranks of one job the others wait for; NULL: none */
    bool paired;      /* runs 0 and 1, 2 and 3, ... are one before a change and one after it */
    const struct sweep *sweep;                /* NULL: none */
    const struct compare_summary *comparison; /* COMMAND_COMPARE; else NULL */
};

/* Returns the rate of a run's arithmetic in Gflop/s, by its median time, where a kernel of its
 * chain is `rated`, which says that the rate counts; else NAN. */
double report_gflops(const struct run_report *run);

/* Returns true if the devices of a run exchanged a stencil's rows, and its timeline tells how
 * much of that was hidden behind kernels. */
bool report_exchanges(const struct run_report *run);

/* Returns the name of what `run` ran on: its device, or the name that its timeline has. */
const char *report_device(const struct run_report *run);

/* Returns how many of the runs have their tiles copied in batches. */
int report_batched(const struct report *report);

/* Returns true if two runs differ at most in how much they work on: the same chain with the
 * same parameters, on the same device, both measured or both simulated. */
bool report_is_comparable(const struct run_report *a, const struct run_report *b);

/* Finds each run's speed-up. */
void report_find_speedups(struct report *report);

/* Judges an analysed run: fills run->verdicts from its timeline, its critical path and, unless
 * they are NULL, its plan and its machine; fixes of `settings`, which `typed` became by what
 * was chosen, are tried on `model`, unless they are NULL. A timeline that is impossible gets
 * run->no_verdict instead. STATUS_NO_MEMORY or STATUS_OK. */
enum status report_judge(struct run_report *run, const struct plan *plan,
                         const struct machine *machine, const struct settings *settings,
                         const struct settings *typed, const struct machine *model,
                         struct error *error);

/* Frees what the runs own: timelines, critical paths, latencies, hazards, comparisons. */
void report_free(struct report *report);

/* STATUS_FAILED names the first run with a cause above what options->fail_above allows, that
 * cause and its share; or a run of which no cause is known at all. */
enum status report_fail_above(const struct report *report, const struct options *options,
                              struct error *error);

/* --- order.c: whether the order of issue, depth or breadth, matters to a run --- */

/* Sets run->other_order_ns of tiles in several streams: simulates `settings`, as used, in both
 * orders on `model`. Fails with STATUS_NO_MEMORY alone: what can't be simulated is not weighed.
 */
enum status order_weigh(struct run_report *run, const struct plan *plan,
                        const struct settings *settings, const struct machine *model,
                        struct error *error);

/* Writes whether the order of issue matters to the runs of a report, and the time of the one to
 * which it matters most with the other order; "" where none was weighed, or where the runs
 * compare both orders. */
enum { ORDER_TEXT = 512 };
void order_message(const struct report *report, char text[ORDER_TEXT]);

/* --- hazard_report.c: a plan's hazards in words, and their outcome in a run --- */

/* Refuses a plan with hazards: STATUS_FAILED names the two ops of the first. */
enum status hazards_refuse(const struct plan *plan, struct error *error);

/* Finds all hazards of `plan`: an array to be freed, in order of issue; NULL where there are
 * none. */
enum status hazards_find(const struct plan *plan, struct hazard **hazards, size_t *count,
                         struct error *error);

/* Writes "h2d 4 and scale 4 both touch device.in0 [0, 4096)" into `text` and returns it. */
const char *hazard_text(const struct plan *plan, const struct hazard *hazard,
                        char text[HAZARD_TEXT]);

/* Sets report->hazard_texts and hazards_lost from its hazards and, unless it was left to a
 * profiler, its timeline. A race is lost where the op that was issued later starts before the
 * other has ended; the text says what happened, and by how much time. */
enum status hazards_tell(const struct plan *plan, struct run_report *report,
                         struct error *error);

#endif
