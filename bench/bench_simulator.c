/* bench_simulator.c - how fast the simulator is, and how its cost grows. */
#include "bench/bench.h"
#include "plan/hazard.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

/* Returns the seconds of this thread on its core: others on the machine don't count. */
static double core_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Simulates `tiles` tiles once, without data, set as `more` says. Sets the seconds on its core
 * that planning and the simulated run took, and the number of ops. */
static enum status simulate(uint32_t tiles, const char *more, double *plan_s, double *run_s,
                            double *ops, struct error *error)
{
    struct bench_run run;
    struct run_times times;
    struct timeline timeline = {0};
    char arguments[160];
    snprintf(arguments, sizeof arguments, "--device=sim:h200 --no-data -n 1G -t %u %s", tiles,
             more);
    double begin = core_s();
    enum status status = bench_run_open(&run, arguments, error);
    if (status == STATUS_OK) {
        size_t hazards;
        struct hazard hazard;
        status = plan_hazards(&run.plan, &hazard, 1, &hazards, error);
    }
    double planned = core_s();
    if (status == STATUS_OK) {
        status = bench_run_once(&run, &timeline, &times, error);
        *run_s = core_s() - planned;
        *plan_s = planned - begin;
        *ops = run.plan.op_count;
    }
    timeline_free(&timeline);
    bench_run_close(&run);
    return status;
}

static const struct {
    const char *name, *arguments;
} shapes[] = {
    {"100,000 tiles, 4 streams: simulated alone", "-s 4"},
    {"the same breadth-first in 32 streams", "-s 32 --order=breadth"},
    {"the same with a stream per stage", "-s 4 --layout=stage"},
    {"the same with three kernels and callbacks", "-s 4 -k scale,scale,scale --callbacks"},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static enum status measure_speed(struct bench *bench, struct error *error)
{
    struct series whole = {0}, rates[SHAPES] = {0};
    for (int i = 0; i < bench->repeats; i++) {
        for (int shape = 0; shape < SHAPES; shape++) {
            double plan_s, run_s, ops;
            enum status status =
                simulate(100000, shapes[shape].arguments, &plan_s, &run_s, &ops, error);
            if (status != STATUS_OK)
                return status;
            if (shape == 0)
                series_add(&whole, plan_s + run_s);
            series_add(&rates[shape], 1e-6 * ops / run_s);
        }
    }
    bench_result(bench, "100,000 tiles planned, checked and simulated", &whole, "s",
                 GOAL_AT_MOST, 2);
    for (int shape = 0; shape < SHAPES; shape++)
        bench_result(bench, shapes[shape].name, &rates[shape], "M ops/s", GOAL_AT_LEAST, 10);
    return STATUS_OK;
}

static double peak_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024.0 * (double)usage.ru_maxrss : NAN;
}

/* Measures by what the peak grows when tiles double, and double again: by twice as much the
 * second time if memory is linear in ops. It has the largest simulation of all, so it has to
 * come first. */
static enum status measure_memory(struct bench *bench, struct error *error)
{
    const uint32_t tiles = bench->quick ? 100000 : 250000;
    double peak[3], ops[3], plan_s, run_s;
    struct series per_op = {0}, growth = {0};
    for (int i = 0; i < 3; i++) {
        enum status status = simulate(tiles << i, "-s 4", &plan_s, &run_s, &ops[i], error);
        if (status != STATUS_OK)
            return status;
        peak[i] = peak_bytes();
    }
    series_add(&per_op, (peak[2] - peak[1]) / (ops[2] - ops[1]));
    series_add(&growth, (peak[2] - peak[1]) / (peak[1] - peak[0]));
    bench_result(bench, "peak memory, plan and timeline included", &per_op, "B/op", GOAL_NONE,
                 0);
    bench_result(bench, "its growth at twice the ops (goal: linear)", &growth, "", GOAL_AT_MOST,
                 2.1);
    return STATUS_OK;
}

/* Measures the time per op of many tiles over that of few, planning included, against n log n.
 */
static enum status measure_growth(struct bench *bench, struct error *error)
{
    const uint32_t few = 12500, many = bench->quick ? 200000 : 800000;
    struct series growth = {0}, small = {0}, large = {0};
    double bound = 0;
    for (int i = 0; i < bench->repeats; i++) {
        double plan_s, run_s, ops, more_plan_s, more_run_s, more_ops;
        enum status status = simulate(few, "-s 4", &plan_s, &run_s, &ops, error);
        if (status == STATUS_OK)
            status = simulate(many, "-s 4", &more_plan_s, &more_run_s, &more_ops, error);
        if (status != STATUS_OK)
            return status;
        series_add(&small, 1e9 * (plan_s + run_s) / ops);
        series_add(&large, 1e9 * (more_plan_s + more_run_s) / more_ops);
        series_add(&growth, large.values[i] / small.values[i]);
        bound = log2(more_ops) / log2(ops);
    }
    char name[96];
    snprintf(name, sizeof name, "%u tiles", few);
    bench_result(bench, name, &small, "ns/op", GOAL_NONE, 0);
    snprintf(name, sizeof name, "%u tiles", many);
    bench_result(bench, name, &large, "ns/op", GOAL_NONE, 0);
    bench_result(bench, "the latter over the former (goal: n log n)", &growth, "", GOAL_AT_MOST,
                 bound);
    return STATUS_OK;
}

enum status bench_simulator(struct bench *bench, struct error *error)
{
    bench_heading(bench, "simulator (one core)");
    enum status status = measure_memory(bench, error);
    if (status == STATUS_OK)
        status = measure_speed(bench, error);
    return status == STATUS_OK ? measure_growth(bench, error) : status;
}
