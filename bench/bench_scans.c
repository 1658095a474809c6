/* bench_scans.c - the lectures' scans, and the fast one against CUB and a copy of the memory.
 */
#include "bench/bench_contest.h"

#include "core/units.h"

#include <omp.h>

static const char *const rows[] = {"scan-naive", "scan-efficient", "scan-conflict-free", "scan",
                                   "scan-exclusive"};
enum { ROWS = sizeof rows / sizeof rows[0], FAST = 3 };

static enum status put_host(struct bench *bench, const struct contest *contest,
                            const char *title, double bytes, struct error *error)
{
    struct series one = {0}, many = {0};
    const int all = omp_get_max_threads();
    char name[32];
    enum status status = contest_host(bench, contest, "scan", 1, &one, error);
    if (status == STATUS_OK)
        status = contest_host(bench, contest, "scan", all, &many, error);
    snprintf(name, sizeof name, "the CPU, %d threads", all);
    table_row(bench, title, "the CPU, one thread", &one, bytes, NULL);
    table_row(bench, title, name, &many, bytes, NULL);
    return status;
}

static enum status measure(struct bench *bench, uint64_t count, double goal,
                           struct error *error)
{
    struct contest contest = {
        .dtype = DTYPE_I32, .count = count, .maps = true, .params = {.intensity = 1}};
    const double bytes = 2.0 * (double)count * sizeof(int32_t);
    char title[64], size[UNITS_TEXT];
    snprintf(title, sizeof title, "scans of %s of ints",
             units_bytes(count * sizeof(int32_t), size));
    for (int i = 0; i < ROWS; i++)
        contest_add(&contest, rows[i]);
    struct contender *cub = contest_add_peer(&contest, "scan", "CUB DeviceScan", peer_scan_i32);
    contest_add_peer(&contest, NULL, "cudaMemcpy, as a graph's node", peer_copy);
    cub->scratch_bytes = peer_scratch_bytes(count);
    table_heading(bench, title);
    enum status status = contest_run(bench, &contest, error);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < contest.contender_count; i++)
        table_row(bench, title, contest.contenders[i].name, &contest.contenders[i].seconds,
                  bytes, NULL);
    contest_ratio(bench, "  scan over CUB", &contest.contenders[FAST].seconds, &cub->seconds,
                  goal);
    return put_host(bench, &contest, title, bytes, error);
}

enum status bench_scans(struct bench *bench, struct error *error)
{
    enum status status = measure(bench, 1 << 22, 0, error);
    return status == STATUS_OK && !bench->quick ? measure(bench, 1 << 28, 1, error) : status;
}
