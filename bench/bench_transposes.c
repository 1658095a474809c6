/* bench_transposes.c - the lectures' table of transposes, each against a plain copy, and
 * bandwidth against stride. */
#include "bench/bench_contest.h"

#include "core/units.h"

#include <inttypes.h>
#include <omp.h>

static const char *const rows[] = {
    "transpose-copy",      "transpose-shared-copy",   "transpose-naive",
    "transpose-coalesced", "transpose-conflict-free", "transpose-fine",
    "transpose-coarse",    "transpose-diagonal",
};
enum { ROWS = sizeof rows / sizeof rows[0], PLAIN_COPY = 0, CONFLICT_FREE = 4 };

/* Times the CPU twin of `kernel`, with one thread and with all. */
static enum status put_cpu(struct bench *bench, const struct contest *contest,
                           const char *kernel, const char *title, double bytes,
                           struct error *error)
{
    const int all = omp_get_max_threads();
    struct series one = {0}, many = {0};
    char name[64];
    enum status status = contest_host(bench, contest, kernel, 1, &one, error);
    if (status == STATUS_OK)
        status = contest_host(bench, contest, kernel, all, &many, error);
    if (status != STATUS_OK)
        return status;
    table_row(bench, title, "the CPU, one thread", &one, bytes, NULL);
    snprintf(name, sizeof name, "the CPU, %d threads", all);
    table_row(bench, title, name, &many, bytes, NULL);
    return STATUS_OK;
}

/* Measures a matrix of `side` x `side` floats; `goal` is the ratio to a plain copy, 0 for none.
 */
static enum status measure_square(struct bench *bench, uint64_t side, double goal,
                                  struct error *error)
{
    struct contest contest = {.dtype = DTYPE_F32,
                              .count = side * side,
                              .maps = true,
                              .params = {.intensity = 1, .columns = side, .stride = 1}};
    const double bytes = 2.0 * (double)(side * side) * sizeof(float);
    char title[64];
    snprintf(title, sizeof title, "transposes, %" PRIu64 " x %" PRIu64 " floats", side, side);
    for (int i = 0; i < ROWS; i++)
        contest_add(&contest, rows[i]);
    contest_add_peer(&contest, NULL, "cudaMemcpy, as a graph's node", peer_copy);
    table_heading(bench, title);
    enum status status = contest_run(bench, &contest, error);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < contest.contender_count; i++)
        table_row(bench, title, contest.contenders[i].name, &contest.contenders[i].seconds,
                  bytes, NULL);
    contest_ratio(bench, "  transpose-conflict-free over transpose-copy",
                  &contest.contenders[CONFLICT_FREE].seconds,
                  &contest.contenders[PLAIN_COPY].seconds, goal);
    return put_cpu(bench, &contest, rows[CONFLICT_FREE], title, bytes, error);
}

enum status bench_transposes(struct bench *bench, struct error *error)
{
    enum status status = measure_square(bench, 2048, 0, error);
    return status == STATUS_OK && !bench->quick ? measure_square(bench, 16384, 0.9, error)
                                                : status;
}

/* Measures one stride, in a contest of its own. The CPU takes its turn at powers of two. */
static enum status measure_stride(struct bench *bench, const char *title, uint64_t count,
                                  uint32_t stride, struct error *error)
{
    struct contest contest = {.dtype = DTYPE_F32,
                              .count = count,
                              .maps = true,
                              .params = {.intensity = 1, .columns = 1, .stride = stride}};
    const double bytes = 2.0 * (double)count * sizeof(float);
    const int threads = omp_get_max_threads();
    struct series cpu = {0};
    char name[64];
    struct contender *copy = contest_add(&contest, "stride-copy");
    enum status status = contest_run(bench, &contest, error);
    if (status == STATUS_OK && (stride & (stride - 1)) == 0)
        status = contest_host(bench, &contest, "stride-copy", threads, &cpu, error);
    if (status != STATUS_OK)
        return status;
    snprintf(name, sizeof name, "stride %" PRIu32, stride);
    table_row(bench, title, name, &copy->seconds, bytes, NULL);
    snprintf(name, sizeof name, "the CPU, %d threads, stride %" PRIu32, threads, stride);
    table_row(bench, title, name, &cpu, bytes, NULL);
    return STATUS_OK;
}

/* The strides are closest where the curve falls the most: a sector of memory holds 8 floats. */
enum status bench_strides(struct bench *bench, struct error *error)
{
    static const uint32_t strides[] = {1,  2,  3,  4,  5,  6,  7,  8,   10,  12,  14,  16, 20,
                                       24, 28, 32, 40, 48, 64, 96, 128, 160, 192, 224, 256};
    const uint64_t count = bench->quick ? 1 << 20 : 1 << 26;
    char title[64], size[UNITS_TEXT];
    snprintf(title, sizeof title, "stride-copy, %s each way",
             units_bytes(count * sizeof(float), size));
    table_heading(bench, title);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof strides / sizeof *strides && status == STATUS_OK; i++)
        status = measure_stride(bench, title, count, strides[i], error);
    return status;
}
