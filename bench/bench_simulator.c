/* bench_simulator.c - how fast the simulator is, and how its cost grows. */
#include "bench.h"

#include <math.h>
#include <stdio.h>

/* One simulation of `tiles` tiles, without data: the seconds that planning and the simulated
 * run took, and how many ops there were. */
static enum status simulate(uint32_t tiles, double *plan_s, double *run_s, double *ops,
                            struct error *error)
{
    struct bench_run run;
    struct run_times times;
    struct timeline timeline;
    char arguments[160];
    snprintf(arguments, sizeof arguments, "--device=sim:h200 --no-data -n 1G -s 4 -t %u",
             tiles);
    double begin = bench_now();
    enum status status = bench_run_open(&run, arguments, error);
    if (status == STATUS_OK) {
        size_t hazards;
        struct hazard hazard;
        status = plan_hazards(&run.plan, &hazard, 1, &hazards, error);
    }
    double planned = bench_now();
    timeline_init(&timeline);
    if (status == STATUS_OK) {
        status = bench_run_once(&run, &timeline, &times, error);
        *run_s = bench_now() - planned;
        *plan_s = planned - begin;
        *ops = run.plan.op_count;
    }
    timeline_free(&timeline);
    bench_run_close(&run);
    return status;
}

static enum status measure_speed(struct bench *bench, struct error *error)
{
    struct series whole = {0}, rate = {0};
    enum status status = STATUS_OK;
    for (int i = 0; i < bench->repeats && status == STATUS_OK; i++) {
        double plan_s, run_s, ops;
        status = simulate(100000, &plan_s, &run_s, &ops, error);
        if (status != STATUS_OK)
            return status;
        series_add(&whole, plan_s + run_s);
        series_add(&rate, 1e-6 * ops / run_s);
    }
    bench_result(bench, "100,000 tiles planned, checked and simulated", &whole, "s",
                 GOAL_AT_MOST, 2);
    bench_result(bench, "ops simulated, without planning", &rate, "M/s", GOAL_NONE, 0);
    return status;
}

/* The time per op of many tiles over that of few, planning included, against what n log n
 * gives.
 */
static enum status measure_growth(struct bench *bench, struct error *error)
{
    const uint32_t few = 12500, many = bench->quick ? 200000 : 800000;
    struct series growth = {0}, small = {0}, large = {0};
    double bound = 0;
    for (int i = 0; i < bench->repeats; i++) {
        double plan_s, run_s, ops, more_plan_s, more_run_s, more_ops;
        enum status status = simulate(few, &plan_s, &run_s, &ops, error);
        if (status == STATUS_OK)
            status = simulate(many, &more_plan_s, &more_run_s, &more_ops, error);
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
    bench_heading("simulator (one core)");
    enum status status = measure_speed(bench, error);
    return status == STATUS_OK ? measure_growth(bench, error) : status;
}
