/* bench_tune.c - how long --tiles=auto --streams=auto takes to choose, and how good the choice
 * is in the simulator. Regret is the time with what was chosen over that with the best of a
 * sweep, less 1. */
#include "bench/bench.h"

#include "plan/build.h"
#include "report/tune.h"
#include "sim/simulator.h"

#include <stdio.h>
#include <time.h>

enum { TILES_MOST = 1024, STREAMS_MOST = 32 };

static const double CHOICE_MS = 50, REGRET_PERCENT = 1;

static const struct {
    const char *name, *arguments;
} workloads[] = {
    {"light kernel", ""},
    {"kernel-bound", "--intensity=3000"},
    {"chain of two", "-k scale,scale --intensity=300"},
    {"breadth, chain of 3, 1 queue", "-k scale,scale,scale --order=breadth --connections=1"},
    {"stage, chain of 8", "-k scale,scale,scale,scale,scale,scale,scale,scale --layout=stage"},
    {"two arrays in, value out", "-k wave,sum"},
    {"4-way", "--ways=4 --intensity=50"},
    {"2-way", "--ways=2"},
    {"4 MiB each way", "-n 1M"},
    {"4 GiB each way", "-n 1G"},
    {"one copy engine", "--device=sim:rtx3050-laptop"},
    {"breadth, dependency checks", "--device=sim:c2050 --order=breadth"},
};
enum { WORKLOADS = sizeof workloads / sizeof workloads[0] };

/* Returns the seconds of this thread on its core: others on the machine don't count. */
static double core_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns the next number of tiles of a sweep: each at first, and then by one of `parts`. */
static uint32_t tiles_after(uint32_t tiles, uint32_t parts)
{
    return tiles + (tiles < 2 * parts ? 1 : tiles / parts);
}

static uint32_t streams_after(uint32_t streams)
{
    return streams + (streams < 12 ? 1 : 4);
}

static enum status simulate(const struct settings *settings, const struct machine *machine,
                            int64_t *time_ns, struct error *error)
{
    struct plan plan;
    enum status status = plan_build(settings, machine, &plan, error);
    if (status != STATUS_OK)
        return status;
    status = simulator_time(machine, 0, &plan, time_ns, error);
    plan_free(&plan);
    return status;
}

/* Finds the shortest time of a sweep. */
static enum status sweep(const struct bench *bench, const struct bench_run *run,
                         int64_t *best_ns, struct error *error)
{
    struct settings settings = run->settings;
    const uint32_t parts = bench->quick ? 3 : 12;
    enum status status = STATUS_OK;
    *best_ns = INT64_MAX;
    for (uint32_t tiles = 1; tiles <= TILES_MOST; tiles = tiles_after(tiles, parts)) {
        for (uint32_t streams = 1; streams <= STREAMS_MOST && streams <= tiles;
             streams = streams_after(streams)) {
            int64_t time_ns = INT64_MAX;
            settings.tiles = tiles;
            settings.streams = streams;
            status = simulate(&settings, &run->machine, &time_ns, error);
            if (status != STATUS_OK)
                return status;
            *best_ns = time_ns < *best_ns ? time_ns : *best_ns;
        }
    }
    return STATUS_OK;
}

static void print_results(struct bench *bench, const char *name, const struct tuned *tuned,
                          const struct series *times, int64_t best_ns)
{
    char label[128];
    struct series regret = {0};
    snprintf(label, sizeof label, "%s: to choose", name);
    bench_result(bench, label, times, "ms", GOAL_AT_MOST, CHOICE_MS);
    series_add(&regret, 100 * ((double)tuned->time_ns / (double)best_ns - 1));
    snprintf(label, sizeof label, "%s: regret, %u in %u", name, tuned->tiles, tuned->streams);
    bench_result(bench, label, &regret, "%", GOAL_AT_MOST, REGRET_PERCENT);
}

static enum status measure(struct bench *bench, const char *name, const char *arguments,
                           struct error *error)
{
    struct bench_run run;
    struct tuned tuned;
    struct series times = {0};
    char text[256];
    int64_t best_ns = 0;
    snprintf(text, sizeof text, "--device=sim:h200 --no-data --tiles=auto --streams=auto %s",
             arguments);
    enum status status = bench_run_describe(&run, text, error);
    for (int i = 0; i < bench->repeats && status == STATUS_OK; i++) {
        struct settings settings = run.settings;
        double began_s = core_s();
        status = tune_settings(&settings, &run.machine, NULL, &tuned, error);
        series_add(&times, 1e3 * (core_s() - began_s));
    }
    if (status == STATUS_OK)
        status = sweep(bench, &run, &best_ns, error);
    if (status == STATUS_OK)
        print_results(bench, name, &tuned, &times, best_ns);
    bench_run_close(&run);
    return status;
}

enum status bench_tune(struct bench *bench, struct error *error)
{
    enum status status = STATUS_OK;
    bench_heading(bench, "tiles in streams, chosen by simulation on one core");
    for (int i = 0; i < WORKLOADS && status == STATUS_OK; i++)
        status = measure(bench, workloads[i].name, workloads[i].arguments, error);
    return status;
}
