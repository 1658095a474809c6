/* bench_contest.c - contests: the contenders, the CPU's turn, and the table. */
#include "bench/bench_contest.h"

#include "core/units.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct contender *contest_add_peer(struct contest *contest, const char *kernel,
                                   const char *name,
                                   int (*launch)(const struct kernel_args *args, void *stream))
{
    static struct contender nowhere; /* returned where there is no more room, which only a
                                        mistake in a benchmark can cause */
    if (contest->contender_count == CONTENDERS_MAX)
        return &nowhere;
    struct contender *contender = &contest->contenders[contest->contender_count++];
    *contender = (struct contender){
        .name = name, .kernel = kernel != NULL ? kernel_find(kernel) : NULL, .launch = launch};
    return contender;
}

struct contender *contest_add(struct contest *contest, const char *kernel)
{
    const struct kernel_launcher *launcher = kernel_launcher(kernel_find(kernel));
    return contest_add_peer(contest, kernel, kernel,
                            launcher != NULL ? launcher->launch : NULL);
}

enum status contest_run(struct bench *bench, struct contest *contest, struct error *error)
{
    if (!bench->has_gpu)
        return STATUS_OK;
    return contest_run_cuda(bench, contest, error);
}

static void run_twin(const struct kernel *kernel, struct kernel_args args)
{
    for (; args.repeat < kernel_launches(kernel, &args.params); args.repeat++)
        kernel_code(kernel)->host(&args);
}

enum status contest_host(struct bench *bench, const struct contest *contest, const char *name,
                         int threads, struct series *seconds, struct error *error)
{
    const struct kernel *kernel = kernel_find(name);
    const uint64_t in_bytes = contest->count * dtype_bytes(kernel->in);
    const uint64_t out_bytes =
        (contest->maps ? contest->count : 1) * (uint64_t)dtype_bytes(kernel->out);
    const int before = omp_get_max_threads();
    struct kernel_args args = {.count = contest->count, .params = contest->params};
    void *in[KERNEL_INPUTS_MAX] = {0};
    uint64_t mapped[KERNEL_INPUTS_MAX] = {0}, out_mapped;
    enum status status = STATUS_OK;
    args.out = host_map(out_bytes, true, &out_mapped);
    bool whole = args.out != NULL;
    for (int i = 0; i < kernel->inputs; i++) {
        args.in[i] = in[i] = host_map(in_bytes, true, &mapped[i]);
        whole = whole && in[i] != NULL;
    }
    if (!whole) {
        status = error_no_memory(error, "for %s on the CPU", name);
        goto unmap;
    }
    for (int i = 0; i < kernel->inputs; i++)
        arrays_generate(kernel->in, 1, i, 0, contest->count, in[i]);
    omp_set_num_threads(threads);
    for (int round = -1; round < bench->repeats; round++) {
        double begin = bench_now();
        run_twin(kernel, args);
        if (round >= 0)
            series_add(seconds, bench_now() - begin);
    }
    omp_set_num_threads(before);
unmap:
    for (int i = 0; i < kernel->inputs; i++)
        host_unmap(in[i], mapped[i]);
    host_unmap(args.out, out_mapped);
    return status;
}

/* --- the table --- */

void table_heading(const struct bench *bench, const char *title)
{
    if (bench->out != NULL)
        fprintf(bench->out, "\n%-38s %10s %9s %7s %8s  least to most\n", title, "time", "GB/s",
                "step", "in all");
}

/* holds "12.3 us to 12.6 us" */
enum { SPREAD_TEXT = 2 * UNITS_TEXT + 8 };
static const char *spread_text(const struct series *seconds, char text[SPREAD_TEXT])
{
    char least[UNITS_TEXT], most[UNITS_TEXT];
    units_time((int64_t)(1e9 * series_least(seconds)), least);
    units_time((int64_t)(1e9 * series_most(seconds)), most);
    snprintf(text, SPREAD_TEXT, "%s to %s", least, most);
    return text;
}

static void keep_row(struct bench *bench, const char *title, const char *name,
                     const struct series *seconds, double bytes)
{
    char whole[160];
    struct series rates = {0};
    for (int i = 0; i < seconds->count; i++)
        series_add(&rates, 1e-9 * bytes / seconds->values[i]);
    snprintf(whole, sizeof whole, "%s: %s", title, name);
    bench_keep(bench, whole, seconds, "s", GOAL_NONE, 0);
    bench_keep(bench, whole, &rates, "GB/s", GOAL_NONE, 0);
}

void table_row(struct bench *bench, const char *title, const char *name,
               const struct series *seconds, double bytes, struct ladder *ladder)
{
    char took[UNITS_TEXT], step[16] = "", all[16] = "", spread[SPREAD_TEXT];
    double median = series_median(seconds);
    if (seconds->count == 0)
        return;
    keep_row(bench, title, name, seconds, bytes);
    if (ladder != NULL && ladder->first > 0) {
        snprintf(step, sizeof step, "%.2fx", ladder->last / median);
        snprintf(all, sizeof all, "%.2fx", ladder->first / median);
    }
    if (ladder != NULL)
        *ladder = (struct ladder){ladder->first > 0 ? ladder->first : median, median};
    if (bench->out == NULL)
        return;
    fprintf(bench->out, "  %-36s %10s %9.4g %7s %8s  %s\n", name,
            units_time((int64_t)(1e9 * median), took), 1e-9 * bytes / median, step, all,
            spread_text(seconds, spread));
    fflush(bench->out);
}

void contest_ratio(struct bench *bench, const char *name, const struct series *time,
                   const struct series *over, double at_least)
{
    struct series ratios = {0};
    for (int i = 0; i < time->count && i < over->count; i++)
        series_add(&ratios, over->values[i] / time->values[i]);
    if (ratios.count > 0)
        bench_result(bench, name, &ratios, "", at_least > 0 ? GOAL_AT_LEAST : GOAL_NONE,
                     at_least);
}
