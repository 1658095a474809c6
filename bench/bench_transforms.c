/* bench_transforms.c - the lectures' lessons on loops and branches: a loop on the host that
 * launches a kernel for each repeat, the same loop inside the kernel, and OpenMP on the CPU,
 * and where the time goes; and what it costs when the threads of a warp part. */
#include "analysis/analysis.h"
#include "bench/bench_contest.h"

#include "core/units.h"

#include <omp.h>
#include <stdlib.h>

/* The parts of a repeat, in seconds. */
struct parts {
    struct series prepare, in, work, out, all;
};

static enum status add_run(struct bench_run *run, struct parts *parts, struct error *error)
{
    struct run_times times;
    struct timeline timeline = {0};
    struct analysis analysis;
    enum status status = bench_run_once(run, &timeline, &times, error);
    if (status == STATUS_OK)
        status = analyse(&timeline, &analysis, error);
    timeline_free(&timeline);
    if (status != STATUS_OK)
        return status;
    series_add(&parts->in, 1e-9 * (double)analysis.engines[ENGINE_H2D].busy_ns);
    series_add(&parts->work, 1e-9 * (double)analysis.engines[ENGINE_COMPUTE].busy_ns);
    series_add(&parts->out, 1e-9 * (double)analysis.engines[ENGINE_D2H].busy_ns);
    series_add(&parts->all, 1e-9 * (double)times.time_ns);
    return STATUS_OK;
}

/* Adds one repeat. Memory is taken and page-locked once per repeat, as by a program that does
 * one thing. */
static enum status add_repeat(const char *arguments, bool warm, struct parts *parts,
                              struct error *error)
{
    struct bench_run run;
    struct parts unused = {0};
    enum status status = bench_run_describe(&run, arguments, error);
    double begin = bench_now();
    if (status == STATUS_OK)
        status = bench_run_prepare(&run, error);
    double prepared = bench_now() - begin;
    if (status == STATUS_OK)
        status = add_run(&run, warm ? parts : &unused, error);
    if (warm && status == STATUS_OK)
        series_add(&parts->prepare, prepared);
    bench_run_close(&run);
    return status;
}

static const char *short_time(const struct series *seconds, char text[UNITS_TEXT])
{
    return units_time((int64_t)(1e9 * series_median(seconds)), text);
}

static void put_parts(struct bench *bench, const char *name, const struct parts *parts)
{
    char texts[5][UNITS_TEXT], whole[96];
    const struct {
        const char *name;
        const struct series *series;
    } rows[] = {{"memory", &parts->prepare},
                {"copies in", &parts->in},
                {"work", &parts->work},
                {"copies out", &parts->out},
                {"first call to last end", &parts->all}};
    for (int i = 0; i < 5; i++) {
        short_time(rows[i].series, texts[i]);
        snprintf(whole, sizeof whole, "%s: %s", name, rows[i].name);
        bench_keep(bench, whole, rows[i].series, "s", GOAL_NONE, 0);
    }
    if (bench->out != NULL)
        fprintf(bench->out, "  %-36s %10s %10s %10s %10s %10s\n", name, texts[0], texts[1],
                texts[2], texts[3], texts[4]);
}

static enum status measure_device(struct bench *bench, const char *kernel, const char *name,
                                  uint64_t elements, uint32_t repeats, struct parts *parts,
                                  struct error *error)
{
    char arguments[160];
    snprintf(arguments, sizeof arguments,
             "--device=cuda -k %s -n %llu --intensity=%u -w 1 -t 1", kernel,
             (unsigned long long)elements, repeats);
    enum status status = STATUS_OK;
    for (int i = -1; i < bench->repeats && status == STATUS_OK; i++)
        status = add_repeat(arguments, i >= 0, parts, error);
    if (status == STATUS_OK)
        put_parts(bench, name, parts);
    return status;
}

static enum status measure_host(struct bench *bench, uint64_t elements, uint32_t repeats,
                                struct series *seconds, struct error *error)
{
    struct contest contest = {
        .dtype = DTYPE_F32, .count = elements, .maps = true, .params = {.intensity = repeats}};
    char name[64], text[UNITS_TEXT];
    enum status status =
        contest_host(bench, &contest, "wave", omp_get_max_threads(), seconds, error);
    if (status != STATUS_OK)
        return status;
    snprintf(name, sizeof name, "the CPU, %d threads", omp_get_max_threads());
    bench_keep(bench, name, seconds, "s", GOAL_NONE, 0);
    if (bench->out != NULL)
        fprintf(bench->out, "  %-36s %10s %10s %10s %10s %10s\n", name, "", "",
                short_time(seconds, text), "", text);
    return STATUS_OK;
}

static enum status measure_wave(struct bench *bench, struct error *error)
{
    const uint64_t elements = bench->quick ? 1 << 18 : 1 << 22;
    const uint32_t repeats = bench->quick ? 4 : 100;
    struct parts launches = {0}, loop = {0};
    struct series host = {0};
    char title[96], count[UNITS_TEXT];
    snprintf(title, sizeof title, "wave over %s elements, %u repeats",
             units_count(elements, count), repeats);
    if (bench->out != NULL)
        fprintf(bench->out, "\n%-38s %10s %10s %10s %10s %10s\n", title, "memory", "copies in",
                "work", "copies out", "run");
    enum status status = STATUS_OK;
    if (bench->has_gpu) {
        status = measure_device(bench, "wave-launches", "one launch per repeat", elements,
                                repeats, &launches, error);
        if (status == STATUS_OK)
            status = measure_device(bench, "wave", "the loop inside the kernel", elements,
                                    repeats, &loop, error);
    }
    if (status == STATUS_OK)
        status = measure_host(bench, elements, repeats, &host, error);
    contest_ratio(bench, "  the loop inside over launches", &loop.all, &launches.all, 0);
    contest_ratio(bench, "  the loop inside over the CPU", &loop.all, &host, 0);
    return status;
}

/* Compares two kernels with the same work per element; in one of them neighbouring threads take
 * different branches. */
static enum status measure_branches(struct bench *bench, struct error *error)
{
    char title[64], count[UNITS_TEXT];
    struct contest contest = {.dtype = DTYPE_F32,
                              .count = bench->quick ? 1 << 20 : 1 << 26,
                              .maps = true,
                              .params = {.intensity = 256}};
    const double bytes = 2.0 * (double)contest.count * sizeof(float);
    struct contender *uniform = contest_add(&contest, "uniform");
    struct contender *divergent = contest_add(&contest, "divergent");
    enum status status = contest_run(bench, &contest, error);
    if (status != STATUS_OK || uniform->seconds.count == 0)
        return status;
    snprintf(title, sizeof title, "branches, %s elements, %u repeats",
             units_count(contest.count, count), contest.params.intensity);
    table_heading(bench, title);
    table_row(bench, title, uniform->name, &uniform->seconds, bytes, NULL);
    table_row(bench, title, divergent->name, &divergent->seconds, bytes, NULL);
    contest_ratio(bench, "  uniform over divergent", &uniform->seconds, &divergent->seconds, 0);
    return STATUS_OK;
}

enum status bench_transforms(struct bench *bench, struct error *error)
{
    enum status status = measure_wave(bench, error);
    return status == STATUS_OK ? measure_branches(bench, error) : status;
}
