/* bench_reductions.c - the lectures' table of reductions, and sums against CUB, the memory and
 * the CPU. */
#include "bench/bench_contest.h"

#include "core/units.h"

#include <omp.h>

/* The steps, in the order of the lecture. */
static const char *const steps[] = {
    "reduce-divergent", "reduce-conflicts", "reduce-sequential", "reduce-first-add",
    "reduce-last-warp", "reduce-unrolled",  "reduce-many",
};
static const char *const others[] = {"reduce-shuffle", "sum-int", "reduce-atomic"};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* The sums of a type: those rows of the table that there are, CUB's, and a kernel that only
 * reads. */
struct sums {
    struct contest contest;
    char title[64];
    double bytes;
    struct contender *best, *cub, *read;
};

static void begin(struct sums *sums, enum dtype dtype, uint64_t count, const char *what)
{
    char size[UNITS_TEXT];
    *sums = (struct sums){
        .contest = {.dtype = dtype, .count = count, .params = {.intensity = 1}},
        .bytes = (double)count * (double)dtype_bytes(dtype),
    };
    snprintf(sums->title, sizeof sums->title, "%s %s", what,
             units_bytes(count * dtype_bytes(dtype), size));
}

static void add_peers(struct sums *sums, const char *best,
                      int (*cub)(const struct kernel_args *args, void *stream))
{
    sums->cub = contest_add_peer(&sums->contest, best, "CUB DeviceReduce", cub);
    sums->read = contest_add_peer(&sums->contest, NULL, "the memory, read only", peer_read);
    sums->cub->scratch_bytes = peer_scratch_bytes(sums->contest.count);
}

/* Prints the CPU beside the others, with their copies and without: the CPU has its data in its
 * own memory, and the GPU's has to come first. */
static enum status put_others(struct bench *bench, struct sums *sums, const char *kernel,
                              struct error *error)
{
    const int all = omp_get_max_threads();
    struct series one = {0}, many = {0}, copied = {0};
    enum status status = contest_host(bench, &sums->contest, kernel, 1, &one, error);
    if (status == STATUS_OK)
        status = contest_host(bench, &sums->contest, kernel, all, &many, error);
    if (status != STATUS_OK)
        return status;
    double copies = sums->contest.copy_in_seconds + sums->contest.copy_out_seconds;
    for (int i = 0; i < sums->best->seconds.count; i++)
        series_add(&copied, sums->best->seconds.values[i] + copies);
    char name[64];
    snprintf(name, sizeof name, "%s, and the copies it needs", kernel);
    table_row(bench, sums->title, name, &copied, sums->bytes, NULL);
    table_row(bench, sums->title, "the CPU, one thread", &one, sums->bytes, NULL);
    snprintf(name, sizeof name, "the CPU, %d threads", all);
    table_row(bench, sums->title, name, &many, sums->bytes, NULL);
    contest_ratio(bench, "  the kernel alone over the CPU", &sums->best->seconds, &many, 0);
    contest_ratio(bench, "  with its copies over the CPU", &copied, &many, 0);
    return STATUS_OK;
}

static enum status measure_ladder(struct bench *bench, uint64_t count, struct error *error)
{
    struct sums sums;
    struct ladder ladder = {0};
    begin(&sums, DTYPE_I32, count, "sums of ints,");
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        contest_add(&sums.contest, steps[i]);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        contest_add(&sums.contest, others[i]);
    sums.best = &sums.contest.contenders[COUNT_OF(steps) + 1];
    add_peers(&sums, "sum-int", peer_reduce_i32);
    table_heading(bench, sums.title);
    enum status status = contest_run(bench, &sums.contest, error);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < sums.contest.contender_count; i++) {
        const struct contender *contender = &sums.contest.contenders[i];
        table_row(bench, sums.title, contender->name, &contender->seconds, sums.bytes,
                  i < (int)COUNT_OF(steps) ? &ladder : NULL);
    }
    contest_ratio(bench, "  sum-int over CUB", &sums.best->seconds, &sums.cub->seconds, 0);
    return put_others(bench, &sums, "sum-int", error);
}

/* The goals of `sum`: over CUB, as a graph and as calls, and of the memory read only. */
struct goals {
    double cub, calls, memory;
};

/* Times `sum` and CUB's as a program calls them, one by one: CUB's sum is two kernels. */
static enum status measure_calls(struct bench *bench, const struct sums *sums, double goal,
                                 struct error *error)
{
    struct contest contest = {.dtype = sums->contest.dtype,
                              .count = sums->contest.count,
                              .as_calls = true,
                              .params = sums->contest.params};
    struct contender *best = contest_add(&contest, sums->best->name);
    struct contender *cub = contest_add_peer(&contest, sums->best->name,
                                             "CUB, called one by one", sums->cub->launch);
    cub->scratch_bytes = sums->cub->scratch_bytes;
    enum status status = contest_run(bench, &contest, error);
    if (status != STATUS_OK)
        return status;
    char name[64];
    snprintf(name, sizeof name, "%s, called one by one", best->name);
    table_row(bench, sums->title, name, &best->seconds, sums->bytes, NULL);
    table_row(bench, sums->title, cub->name, &cub->seconds, sums->bytes, NULL);
    snprintf(name, sizeof name, "  %s over CUB, called one by one", best->name);
    contest_ratio(bench, name, &best->seconds, &cub->seconds, goal);
    return STATUS_OK;
}

static enum status measure_sum(struct bench *bench, const char *kernel, uint64_t count,
                               const struct goals *goals, struct error *error)
{
    struct sums sums;
    char name[64];
    const struct kernel *row = kernel_find(kernel);
    begin(&sums, row->in, count, row->in == DTYPE_F64 ? "sums of doubles," : "sums of floats,");
    sums.best = contest_add(&sums.contest, kernel);
    add_peers(&sums, kernel, row->in == DTYPE_F64 ? peer_reduce_f64 : peer_reduce_f32);
    table_heading(bench, sums.title);
    enum status status = contest_run(bench, &sums.contest, error);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < sums.contest.contender_count; i++)
        table_row(bench, sums.title, sums.contest.contenders[i].name,
                  &sums.contest.contenders[i].seconds, sums.bytes, NULL);
    snprintf(name, sizeof name, "  %s over CUB", kernel);
    contest_ratio(bench, name, &sums.best->seconds, &sums.cub->seconds, goals->cub);
    snprintf(name, sizeof name, "  %s over the memory, read only", kernel);
    contest_ratio(bench, name, &sums.best->seconds, &sums.read->seconds, goals->memory);
    status = measure_calls(bench, &sums, goals->calls, error);
    if (status != STATUS_OK)
        return status;
    return put_others(bench, &sums, kernel, error);
}

enum status bench_reductions(struct bench *bench, struct error *error)
{
    static const uint64_t ladder_sizes[] = {1 << 22, 1 << 25, 1 << 28};
    static const struct {
        const char *kernel;
        uint64_t count;
        struct goals goals;
    } sums[] = {
        {"sum", 1 << 22, {0, 1.3, 0}},      {"sum", 1 << 28, {1, 0, 0}},
        {"sum", 1 << 30, {0, 0, 0.95}},     {"sum-double", 1 << 22, {0, 0, 0}},
        {"sum-double", 1 << 27, {0, 0, 0}},
    };
    const size_t sizes = bench->quick ? 1 : COUNT_OF(ladder_sizes);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizes && status == STATUS_OK; i++)
        status = measure_ladder(bench, ladder_sizes[i], error);
    for (size_t i = 0; i < COUNT_OF(sums) && status == STATUS_OK; i++) {
        if (!bench->quick || sums[i].count <= 1 << 22)
            status = measure_sum(bench, sums[i].kernel, sums[i].count, &sums[i].goals, error);
    }
    return status;
}
