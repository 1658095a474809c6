/* bench_own.c - kernels of users' own: what issuing them costs beside ours, and whether what is
 * chosen for them is as good as the best setting of a grid.
 *
 * The kernels are part of the program, but come in by the door that libraries come in by, and
 * are called through the same hooks. */
#include "bench/bench_own.h"
#include "app/job.h"
#include "bench/bench.h"

#include "kernels/own.h"
#include "report/reference.h"
#include "report/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Describes a run, as bench_run_describe() does, whose kernel may be one of these. */
static enum status describe(struct bench_run *run, const char *arguments, struct error *error)
{
    options_open_kernels(kernel_own_open);
    const enum status status = bench_run_describe(run, arguments, error);
    options_open_kernels(NULL);
    return status;
}

static enum status open_run(struct bench_run *run, const char *arguments, struct error *error)
{
    const enum status status = describe(run, arguments, error);
    return status == STATUS_OK ? bench_run_prepare(run, error) : status;
}

/* --- issuing --- */

static const double ISSUE_GOAL = 1.03;

/* One issue of so many calls may take half as long again as the next: a ratio is of two
 * medians. */
enum { PAIRS = 12 };

/* Runs the two in turn, and in either order: the second of a pair may find the host warmer. */
static enum status run_pairs(const struct bench *bench, struct bench_run runs[2],
                             struct series *issue, struct series *time, struct series *cost,
                             struct error *error)
{
    struct series issues[2] = {0}, times_of[2] = {0};
    enum status status = STATUS_OK;
    const int rounds = bench->quick ? 2 : 6 * bench->repeats * PAIRS;
    for (int i = -2; i < rounds && status == STATUS_OK; i++) {
        struct run_times times[2];
        for (int turn = 0; turn < 2 && status == STATUS_OK; turn++) {
            const int which = (turn + i + 2) % 2;
            status = bench_run_once(&runs[which], NULL, &times[which], error);
        }
        if (i < 0 || status != STATUS_OK)
            continue; /* the first two pairs warm up */
        for (int which = 0; which < 2; which++) {
            series_add(&issues[which], 1e-3 * (double)times[which].issue_ns);
            series_add(&times_of[which], 1e-3 * (double)times[which].time_ns);
        }
        if (issues[0].count < PAIRS && i < rounds - 1)
            continue;
        series_add(issue, series_median(&issues[1]) / series_median(&issues[0]));
        series_add(time, series_median(&times_of[1]) / series_median(&times_of[0]));
        series_add(cost, series_median(&issues[1]));
        memset(issues, 0, sizeof issues);
        memset(times_of, 0, sizeof times_of);
    }
    return status;
}

/* The grids are alike: so many blocks are the least that either would have of a tile. */
static enum status measure_issue(struct bench *bench, const char *issue, struct error *error)
{
    const char *const chain[2] = {"scale", own_paths[OWN_LIGHT]};
    struct bench_run runs[2] = {0};
    struct series issues = {0}, times = {0}, costs = {0};
    char text[256];
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        snprintf(text, sizeof text,
                 "-q --device=cuda -n 4M -t 256 -s 4 --blocks=16 --issue=%s -k %s", issue,
                 chain[i]);
        status = open_run(&runs[i], text, error);
    }
    if (status == STATUS_OK)
        status = run_pairs(bench, runs, &issues, &times, &costs, error);
    for (int i = 0; i < 2; i++)
        bench_run_close(&runs[i]);
    if (status != STATUS_OK)
        return status;
    snprintf(text, sizeof text, "%s: issuing it over issuing scale", issue);
    bench_result(bench, text, &issues, "", GOAL_AT_MOST, ISSUE_GOAL);
    snprintf(text, sizeof text, "%s: time until all is done over scale's", issue);
    bench_result(bench, text, &times, "", GOAL_NONE, 0);
    snprintf(text, sizeof text, "%s: issuing it", issue);
    bench_result(bench, text, &costs, "us", GOAL_NONE, 0);
    return STATUS_OK;
}

/* --- choosing --- */

static const uint32_t grid_tiles[] = {8, 16, 32, 64, 128};
static const uint32_t grid_streams[] = {2, 3, 4, 8};
static const char *const grid_forms[] = {
    "depth --layout=tile --issue=streams",   "depth --layout=stage --issue=streams",
    "breadth --layout=tile --issue=streams", "breadth --layout=stage --issue=streams",
    "depth --layout=tile --issue=graph",     "depth --layout=stage --issue=graph",
    "breadth --layout=tile --issue=graph",   "breadth --layout=stage --issue=graph",
    "depth --layout=tile --issue=batch",     "depth --layout=stage --issue=batch",
};
enum {
    TILES = sizeof grid_tiles / sizeof grid_tiles[0],
    STREAMS = sizeof grid_streams / sizeof grid_streams[0],
    FORMS = sizeof grid_forms / sizeof grid_forms[0],
    GRID = TILES * STREAMS * FORMS,
    STEP = 27,   /* shares no divisor with the grid: few settings, with all kinds of forms */
    BEST = 8,    /* settings of the grid that run again */
    AUTO = BEST, /* behind these */
    DEFAULT,
    FINALS,
};

static const double AUTO_GOAL = 1.02;

/* One kernel on one device. */
struct choosing {
    struct bench *bench;
    const char *device; /* and options that go with it */
    bool simulated;
    int kernel;
    const struct machine *reference; /* that choices are made on */
    double times_ns[GRID];           /* INFINITY: not run */
    int best[BEST], best_count;      /* places of the fastest, which come first */
    struct bench_run finals[FINALS];
    struct tuned tuned;
    struct series times_ms[FINALS];
};

static void name_setting(int place, char text[128])
{
    snprintf(text, 128, "-t %u -s %u --order=%s", grid_tiles[place / (STREAMS * FORMS)],
             grid_streams[place / FORMS % STREAMS], grid_forms[place % FORMS]);
}

static void arguments_of(const struct choosing *choosing, const char *setting, char text[384])
{
    snprintf(text, 384, "-q --device=%s -n %s -k %s %s", choosing->device,
             choosing->bench->quick ? "1M" : "16M", own_paths[choosing->kernel], setting);
}

static enum status open_setting(const struct choosing *choosing, int place,
                                struct bench_run *run, struct error *error)
{
    char setting[128], text[384];
    name_setting(place, setting);
    arguments_of(choosing, setting, text);
    return open_run(run, text, error);
}

/* Warms up and runs once. A setting that the device can't run is left out, which is no error.
 */
static enum status run_setting(struct choosing *choosing, int place, struct error *error)
{
    struct bench_run run;
    struct run_times times = {0};
    struct error why = {0};
    enum status status = open_setting(choosing, place, &run, &why);
    const bool can = status != STATUS_USAGE;
    for (int i = 0; i < 2 && status == STATUS_OK; i++)
        status = bench_run_once(&run, NULL, &times, &why);
    bench_run_close(&run);
    choosing->times_ns[place] = can ? (double)times.time_ns : INFINITY;
    return can && status != STATUS_OK ? error_pass(error, &why) : STATUS_OK;
}

/* Runs the whole grid, and finds the fastest settings. Every step of a stride is taken, so that
 * neighbours run at different times. */
static enum status run_grid(struct choosing *choosing, struct error *error)
{
    const int count = choosing->bench->quick ? BEST : GRID;
    enum status status = STATUS_OK;
    for (int place = 0; place < GRID; place++)
        choosing->times_ns[place] = INFINITY;
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = run_setting(choosing, i * STEP % GRID, error);
    while (status == STATUS_OK && choosing->best_count < BEST) {
        int best = -1;
        for (int place = 0; place < GRID; place++) {
            bool taken = isinf(choosing->times_ns[place]);
            for (int i = 0; i < choosing->best_count; i++)
                taken |= choosing->best[i] == place;
            if (!taken && (best < 0 || choosing->times_ns[place] < choosing->times_ns[best]))
                best = place;
        }
        if (best < 0)
            break;
        choosing->best[choosing->best_count++] = best;
    }
    return status;
}

/* Settings that are tried, and whose: for finalists_try(). */
static enum status try_setting(void *context, const struct settings *settings, uint32_t runs,
                               int64_t *median, struct error *error)
{
    const struct choosing *choosing = context;
    struct bench_run run;
    struct series times_ns = {0};
    char text[384];
    arguments_of(choosing, "", text);
    enum status status = describe(&run, text, error);
    if (status == STATUS_OK) {
        run.settings = *settings;
        status = bench_run_prepare(&run, error);
        if (status == STATUS_FAILED) /* there is too little memory for it */
            status = error->status = STATUS_USAGE;
    }
    for (uint32_t i = 0; i < runs + 1 && status == STATUS_OK; i++) { /* the first warms up */
        struct run_times times;
        status = bench_run_once(&run, NULL, &times, error);
        if (i > 0 && status == STATUS_OK)
            series_add(&times_ns, (double)times.time_ns);
    }
    bench_run_close(&run);
    *median = (int64_t)series_median(&times_ns);
    return status;
}

/* Chooses as the program does: by simulating and, on a real device, by trying. */
static enum status open_auto(struct choosing *choosing, struct error *error)
{
    struct bench_run *run = &choosing->finals[AUTO], usual = {0};
    struct machine machine = *choosing->reference;
    struct tried tried;
    char text[384];
    arguments_of(choosing, "-t auto -s auto --order=auto --layout=auto --issue=auto", text);
    enum status status = describe(run, text, error);
    if (status != STATUS_OK)
        return status;
    reference_learn(&machine, &run->machine);
    reference_restrict(&machine, &run->machine, run->ops, run->backend);
    status = tune_settings(&run->settings, &machine, NULL, &choosing->tuned, error);
    arguments_of(choosing, "", text);
    if (status == STATUS_OK && !choosing->simulated)
        status = describe(&usual, text, error);
    if (status == STATUS_OK && !choosing->simulated)
        status = finalists_try(&choosing->tuned.finalists, &run->settings, &usual.settings,
                               try_setting, choosing, &tried, error);
    if (status == STATUS_OK && !choosing->simulated) {
        tried.settings.device = run->settings.device; /* the usual ones' text goes */
        run->settings = tried.settings;
    }
    bench_run_close(&usual);
    return status == STATUS_OK ? bench_run_prepare(run, error) : status;
}

static enum status open_finals(struct choosing *choosing, struct error *error)
{
    char text[384];
    enum status status = open_auto(choosing, error);
    arguments_of(choosing, "", text);
    if (status == STATUS_OK)
        status = open_run(&choosing->finals[DEFAULT], text, error);
    for (int i = 0; i < choosing->best_count && status == STATUS_OK; i++)
        status = open_setting(choosing, choosing->best[i], &choosing->finals[i], error);
    return status;
}

/* Takes a final's memory anew, and runs it until it is warm and once more. The same settings
 * may take a tenth longer where their arrays came to lie elsewhere, so that each run has
 * others. */
static enum status run_anew(struct bench_run *run, struct run_times *times, struct error *error)
{
    run->ops->release(run->backend);
    arrays_free(&run->arrays);
    plan_free(&run->plan);
    enum status status = bench_run_prepare(run, error);
    for (int i = 0; i < 2 && status == STATUS_OK; i++)
        status = bench_run_once(run, NULL, times, error);
    return status;
}

/* Runs the finals in turn, beginning with another one each time. */
static enum status run_finals(struct choosing *choosing, struct error *error)
{
    const int rounds = choosing->simulated ? 1 : 3 * choosing->bench->repeats;
    enum status status = STATUS_OK;
    for (int round = 0; round < rounds && status == STATUS_OK; round++) {
        for (int i = 0; i < FINALS && status == STATUS_OK; i++) {
            const int which = (round + i) % FINALS;
            struct run_times times;
            if (which < BEST && which >= choosing->best_count)
                continue;
            status = run_anew(&choosing->finals[which], &times, error);
            if (status == STATUS_OK)
                series_add(&choosing->times_ms[which], 1e-6 * (double)times.time_ns);
        }
    }
    return status;
}

/* Prints how many times one of the finals took another's median. */
static void print_ratio(const struct choosing *choosing, const char *what, int one, int other,
                        enum goal goal)
{
    struct series ratio = {0};
    char text[192];
    series_add(&ratio, series_median(&choosing->times_ms[one]) /
                           series_median(&choosing->times_ms[other]));
    snprintf(text, sizeof text, "%s: %s", own_kernels[choosing->kernel].name, what);
    bench_result(choosing->bench, text, &ratio, "", goal, AUTO_GOAL);
}

static void print_times(const struct choosing *choosing, const char *what, int which)
{
    char text[256];
    snprintf(text, sizeof text, "%s: %s", own_kernels[choosing->kernel].name, what);
    bench_result(choosing->bench, text, &choosing->times_ms[which], "ms", GOAL_NONE, 0);
}

static void print_choice(const struct choosing *choosing)
{
    char text[192], setting[128];
    int best = 0;
    for (int i = 1; i < choosing->best_count; i++) {
        if (series_median(&choosing->times_ms[i]) < series_median(&choosing->times_ms[best]))
            best = i;
    }
    print_times(choosing, "default", DEFAULT);
    const struct settings *chosen = &choosing->finals[AUTO].settings;
    snprintf(text, sizeof text, "auto, -t %u -s %u --order=%s --layout=%s --issue=%s%s",
             chosen->tiles, chosen->streams, order_names[chosen->order],
             layout_names[chosen->layout], issue_names[chosen->issue],
             chosen->memory == MEMORY_MAPPED ? " --memory=mapped"
             : chosen->pack                  ? " --pack"
                                             : "");
    print_times(choosing, text, AUTO);
    name_setting(choosing->best[best], setting);
    snprintf(text, sizeof text, "best, %s", setting);
    print_times(choosing, text, best);
    print_ratio(choosing, "auto over the best of the grid", AUTO, best, GOAL_AT_MOST);
    print_ratio(choosing, "default over auto", DEFAULT, AUTO, GOAL_NONE);
}

static enum status measure_choice(struct choosing *choosing, struct error *error)
{
    enum status status = run_grid(choosing, error);
    if (status == STATUS_OK && choosing->best_count == 0)
        status = error_set(error, STATUS_FAILED, "no setting of the grid can be run");
    if (status == STATUS_OK)
        status = open_finals(choosing, error);
    if (status == STATUS_OK)
        status = run_finals(choosing, error);
    if (status == STATUS_OK)
        print_choice(choosing);
    for (int i = 0; i < FINALS; i++)
        bench_run_close(&choosing->finals[i]);
    return status;
}

/* Finds the machine that choices are made on: the device's file, or where it has none what
 * calibrating gives, or where that fails the H200's. */
static enum status find_reference(struct bench *bench, const char *device, bool simulated,
                                  struct machine *machine, struct error *error)
{
    struct bench_run run;
    struct calibration *found = NULL;
    struct error why = {0};
    char text[128];
    const char *whose = "the device's file";
    snprintf(text, sizeof text, "-q --device=%s", device);
    enum status status = bench_run_describe(&run, text, error);
    const uint32_t queues = simulated ? 0 : run.machine.queues;
    if (status == STATUS_OK &&
        reference_machine(NULL, &run.machine, simulated, queues, machine, &why) != STATUS_OK) {
        why = (struct error){0};
        whose = "what calibrating gave";
        if (measured_device(&run.options, &found, &why) == STATUS_OK)
            *machine = found->machine;
        else {
            whose = "the H200's file, for calibrating failed";
            fprintf(stderr, "pipeline: note: calibrating: %s\n", why.text);
            status = reference_machine("h200", &run.machine, simulated, queues, machine, error);
        }
    }
    if (status == STATUS_OK && bench->out != NULL)
        fprintf(bench->out, "auto chooses by %s\n", whose);
    free(found);
    bench_run_close(&run);
    return status;
}

static enum status measure_choices(struct bench *bench, const char *device, bool simulated,
                                   struct error *error)
{
    struct machine machine;
    enum status status = find_reference(bench, device, simulated, &machine, error);
    for (int i = 0; i < OWN_KERNELS && status == STATUS_OK; i++) {
        struct choosing *choosing = calloc(1, sizeof *choosing);
        if (choosing == NULL)
            return error_no_memory(error, "to measure with");
        choosing->bench = bench;
        choosing->device = device;
        choosing->simulated = simulated;
        choosing->kernel = i;
        choosing->reference = &machine;
        status = measure_choice(choosing, error);
        free(choosing);
    }
    return status;
}

enum status bench_own_sim(struct bench *bench, struct error *error)
{
    bench_heading(bench, bench->quick ? "own kernels over 4 MiB, simulated"
                                      : "own kernels over 64 MiB, simulated");
    const enum status status = own_kernels_add(error);
    return status == STATUS_OK ? measure_choices(bench, "sim:h200 --no-data", true, error)
                               : status;
}

enum status bench_own(struct bench *bench, struct error *error)
{
    enum status status = own_kernels_add(error);
    bench_heading(bench, "a map of one's own, 256 tiles of 64 KiB in 4 streams");
    if (status == STATUS_OK)
        status = measure_issue(bench, "streams", error);
    if (status == STATUS_OK)
        status = measure_issue(bench, "graph", error);
    bench_heading(bench, bench->quick ? "own kernels over 4 MiB" : "own kernels over 64 MiB");
    return status == STATUS_OK ? measure_choices(bench, "cuda", false, error) : status;
}
