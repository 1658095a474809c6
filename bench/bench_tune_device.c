/* bench_tune_device.c - what --tiles=auto --streams=auto chooses, run on the device beside
 * every setting of a grid.
 *
 * The chosen settings are one setting more of the grid: all of them run in turn, as often as
 * there are repeats, and the medians are compared. */
#include "bench/bench.h"

#include "plan/build.h"
#include "report/reference.h"
#include "report/tune.h"
#include "run/verify.h"

#include <stdio.h>

static const uint32_t grid_tiles[] = {8, 16, 32, 64, 128, 256};
static const uint32_t grid_streams[] = {2, 3, 4, 8};
enum {
    ROWS = sizeof grid_tiles / sizeof grid_tiles[0],
    COLUMNS = sizeof grid_streams / sizeof grid_streams[0],
    CHOSEN = ROWS * COLUMNS, /* the chosen settings stand behind the grid */
    SETTINGS,
    VERIFIED_INTENSITY = 16, /* the oracle of heavier kernels takes longer than all the rest */
};

static const double REGRET_PERCENT = 1;

static const struct {
    const char *name, *arguments;
} workloads[] = {
    {"light kernel", ""},
    {"kernel-bound", "--intensity=3000"},
    {"chain of two", "-k scale,scale --intensity=8"},
};
enum { WORKLOADS = sizeof workloads / sizeof workloads[0] };

/* Warms up and runs once, in arrays that are `run`'s from the first time on. */
static enum status run_prepared(struct bench_run *run, double *time_ms, struct error *error)
{
    struct run_times times = {0};
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        arrays_poison(&run->arrays);
        arrays_settle();
        status = run->ops->run(run->backend, NULL, &times, error);
    }
    if (status == STATUS_OK && run->settings.intensity <= VERIFIED_INTENSITY)
        status = verify_output(&run->plan, &run->arrays, error);
    *time_ms = 1e-6 * (double)times.time_ns;
    return status;
}

static enum status run_settings(struct bench_run *run, uint32_t tiles, uint32_t streams,
                                double *time_ms, struct error *error)
{
    run->settings.tiles = tiles;
    run->settings.streams = streams;
    enum status status = plan_build(&run->settings, &run->machine, &run->plan, error);
    if (status != STATUS_OK)
        return status;
    run->workload = (struct workload){
        .plan = &run->plan, .settings = &run->settings, .arrays = &run->arrays};
    if (run->arrays.host[BUFFER_HOST_IN0] == NULL)
        status = arrays_create(&run->arrays, &run->plan, &run->settings, error);
    if (status == STATUS_OK)
        status = run->ops->prepare(run->backend, &run->workload, error);
    if (status == STATUS_OK)
        status = run_prepared(run, time_ms, error);
    run->ops->release(run->backend);
    plan_free(&run->plan);
    return status;
}

/* Runs every setting of the grid, and the chosen ones, in turn. */
static enum status run_all(const struct bench *bench, struct bench_run *run,
                           const struct tuned *tuned, struct series times_ms[SETTINGS],
                           struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < bench->repeats * SETTINGS && status == STATUS_OK; i++) {
        int place = i % SETTINGS;
        uint32_t tiles = tuned->tiles, streams = tuned->streams;
        double time_ms = 0;
        if (place != CHOSEN) {
            tiles = grid_tiles[place / COLUMNS];
            streams = grid_streams[place % COLUMNS];
        }
        status = run_settings(run, tiles, streams, &time_ms, error);
        series_add(&times_ms[place], time_ms);
    }
    return status;
}

static void print_results(struct bench *bench, const char *name, const struct tuned *tuned,
                          const struct series times_ms[SETTINGS])
{
    char label[128];
    int best = 0;
    for (int place = 1; place < SETTINGS; place++) {
        if (series_median(&times_ms[place]) < series_median(&times_ms[best]))
            best = place;
    }
    uint32_t tiles = best == CHOSEN ? tuned->tiles : grid_tiles[best / COLUMNS];
    uint32_t streams = best == CHOSEN ? tuned->streams : grid_streams[best % COLUMNS];
    struct series regret = {0};
    double chosen_ms = series_median(&times_ms[CHOSEN]),
           best_ms = series_median(&times_ms[best]);
    series_add(&regret, 100 * (chosen_ms / best_ms - 1));
    snprintf(label, sizeof label, "%s: chosen, %u tiles in %u streams", name, tuned->tiles,
             tuned->streams);
    bench_result(bench, label, &times_ms[CHOSEN], "ms", GOAL_NONE, 0);
    snprintf(label, sizeof label, "%s: best, %u tiles in %u streams", name, tiles, streams);
    bench_result(bench, label, &times_ms[best], "ms", GOAL_NONE, 0);
    snprintf(label, sizeof label, "%s: regret", name);
    bench_result(bench, label, &regret, "%", GOAL_AT_MOST, REGRET_PERCENT);
}

static enum status measure(struct bench *bench, const char *name, const char *arguments,
                           struct error *error)
{
    struct series times_ms[SETTINGS] = {0};
    struct bench_run run;
    struct machine machine;
    struct tuned tuned;
    char text[256];
    snprintf(text, sizeof text, "--device=cuda %s %s", bench->quick ? "-n 4M" : "", arguments);
    enum status status = bench_run_describe(&run, text, error);
    if (status == STATUS_OK)
        status =
            reference_machine(NULL, &run.machine, false, run.machine.queues, &machine, error);
    if (status == STATUS_OK) {
        struct settings settings = run.settings;
        settings.tiles = settings.streams = 0;
        status = tune_settings(&settings, &machine, NULL, &tuned, error);
    }
    if (status == STATUS_OK)
        status = run_all(bench, &run, &tuned, times_ms, error);
    if (status == STATUS_OK)
        print_results(bench, name, &tuned, times_ms);
    bench_run_close(&run);
    return status;
}

enum status bench_tune_device(struct bench *bench, struct error *error)
{
    enum status status = STATUS_OK;
    bench_heading(bench, "256 MiB each way with chosen tiles and streams");
    for (int i = 0; i < WORKLOADS && status == STATUS_OK; i++)
        status = measure(bench, workloads[i].name, workloads[i].arguments, error);
    return status;
}
