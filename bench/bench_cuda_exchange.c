/* bench_cuda_exchange.c - what devices hand on: a chain over two devices against the slower of
 * bare copies and kernels, and a stencil's exchange beside its inner rows and behind them. */
#include "analysis/analysis.h"
#include "bench/bench_cuda.h"

#include <string.h>

/* --- a chain --- */

/* Copies the whole input to the first device and, at once, as much from the second: what a
 * chain's copies to and from the host take without it. */
static enum status time_ends(const struct bare_copies copies[2], const struct bench_run *run,
                             double *seconds, struct error *error)
{
    const uint64_t bytes = run->arrays.bytes[BUFFER_HOST_IN0];
    const char *in = run->arrays.host[BUFFER_HOST_IN0];
    char *out = run->arrays.host[BUFFER_HOST_OUT];
    const uint64_t chunk =
        copies[0].chunk < copies[1].chunk ? copies[0].chunk : copies[1].chunk;
    enum status status = STATUS_OK;
    arrays_settle(); /* as a backend's run does */
    double begin = bench_now();
    for (uint64_t at = 0; at < bytes && status == STATUS_OK; at += chunk) {
        const uint64_t now = bytes - at < chunk ? bytes - at : chunk;
        if (CUDA_CHECK(cudaSetDevice(1), error) != STATUS_OK ||
            CUDA_CHECK(cudaMemcpyAsync(out + at, copies[1].device[1], now,
                                       cudaMemcpyDeviceToHost, copies[1].streams[1]),
                       error) != STATUS_OK ||
            CUDA_CHECK(cudaSetDevice(0), error) != STATUS_OK)
            return error->status;
        status = CUDA_CHECK(cudaMemcpyAsync(copies[0].device[0], in + at, now,
                                            cudaMemcpyHostToDevice, copies[0].streams[0]),
                            error);
    }
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaStreamSynchronize(copies[0].streams[0]), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaSetDevice(1), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaStreamSynchronize(copies[1].streams[1]), error);
    *seconds = bench_now() - begin;
    return status == STATUS_OK ? CUDA_CHECK(cudaSetDevice(0), error) : status;
}

static enum status open_ends(struct bare_copies copies[2], const struct bench_run *run,
                             struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 1; i >= 0 && status == STATUS_OK; i--) {
        status = CUDA_CHECK(cudaSetDevice(i), error);
        if (status == STATUS_OK)
            status = bare_copies_open(&copies[i], run->arrays.bytes[BUFFER_HOST_IN0], error);
    }
    return status;
}

static void close_ends(struct bare_copies copies[2])
{
    for (int i = 1; i >= 0; i--) {
        CUDA_WARN(cudaSetDevice(i));
        bare_copies_close(&copies[i]);
    }
}

/* Runs once, traced, and analyses that. */
static enum status analyse_run(struct bench_run *run, struct analysis *analysis,
                               struct error *error)
{
    struct timeline timeline = {0};
    struct run_times times;
    enum status status = bench_run_once(run, &timeline, &times, error);
    if (status == STATUS_OK)
        status = analyse(&timeline, analysis, error);
    timeline_free(&timeline);
    return status;
}

/* Sets what the kernels of the device that has most to do take in a run that is traced. The
 * machine's figures say less: a tile's launch reaches their rate only while all of its blocks
 * run. */
static enum status time_kernels(struct bench_run *run, double *seconds, struct error *error)
{
    struct analysis analysis;
    enum status status = analyse_run(run, &analysis, error);
    *seconds = 0;
    for (uint32_t i = 0; status == STATUS_OK && i < analysis.devices; i++) {
        const double busy_s = 1e-9 * (double)analysis.on[i][ENGINE_COMPUTE].busy_ns;
        *seconds = busy_s > *seconds ? busy_s : *seconds;
    }
    return status;
}

/* Runs bare copies and a chain in turn, in either order. A repeat's ratio is the chain's time
 * over that of the slower of the copies and a device's kernels. */
static enum status compare_chain(struct bench *bench, struct bench_run *run,
                                 const struct bare_copies copies[2], struct series *ratios,
                                 struct series *rates, struct error *error)
{
    const double bytes = (double)run->arrays.bytes[BUFFER_HOST_IN0];
    double kernels_s;
    enum status status = time_kernels(run, &kernels_s, error);
    for (int i = -1; i < bench->repeats && status == STATUS_OK; i++) {
        struct run_times times = {0};
        double bare_s = 0;
        if (i % 2 == 0)
            status = bench_run_once(run, NULL, &times, error);
        if (status == STATUS_OK)
            status = time_ends(copies, run, &bare_s, error);
        if (i % 2 != 0 && status == STATUS_OK)
            status = bench_run_once(run, NULL, &times, error);
        if (status != STATUS_OK || i < 0)
            continue; /* the first warms up */
        series_add(ratios,
                   1e-9 * (double)times.time_ns / (bare_s > kernels_s ? bare_s : kernels_s));
        series_add(rates, bytes / (double)times.time_ns);
    }
    return status;
}

/* Measures a chain of kernels of so many steps for an element, by the options that are added.
 */
static enum status measure_chain(struct bench *bench, const char *name, const char *options,
                                 int intensity, bool has_goal, struct error *error)
{
    struct bench_run run;
    struct bare_copies copies[2] = {0};
    struct series ratios = {0}, rates = {0};
    char arguments[256];
    snprintf(arguments, sizeof arguments,
             "--device=cuda:0,1 --spread=chain --kernel=scale,scale %s --intensity=%d %s",
             options, intensity, bench->quick ? "-n 64M -t 64" : "-n 512M -t 256");
    enum status status = bench_run_open(&run, arguments, error);
    if (status == STATUS_OK)
        status = open_ends(copies, &run, error);
    if (status == STATUS_OK)
        status = compare_chain(bench, &run, copies, &ratios, &rates, error);
    close_ends(copies);
    bench_run_close(&run);
    if (status != STATUS_OK)
        return status;
    bench_result(bench, name, &ratios, "", has_goal ? GOAL_AT_MOST : GOAL_NONE, 1.05);
    bench_result(bench, "  in and out, each", &rates, "GB/s", GOAL_NONE, 0);
    return STATUS_OK;
}

/* --- a stencil --- */

enum { HIDDEN, BARE, HALOS };

/* Opens the same stencil with its exchange beside the inner rows and behind them. */
static enum status open_halos(struct bench_run runs[HALOS], int millions, struct error *error)
{
    static const char *const hide[HALOS] = {"yes", "no"};
    enum status status = STATUS_OK;
    for (int i = 0; i < HALOS; i++)
        runs[i] = (struct bench_run){0};
    for (int i = 0; i < HALOS && status == STATUS_OK; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments,
                 "--device=cuda:0,1 --kernel=stencil --halo=8 --steps=16 --hide=%s -n %dM "
                 "--columns=64k -t 16",
                 hide[i], millions);
        status = bench_run_open(&runs[i], arguments, error);
    }
    return status;
}

/* Sets the part of the exchange that was hidden in a run that is traced. */
static enum status find_hidden(struct bench_run *run, struct series *hidden,
                               struct error *error)
{
    struct analysis analysis;
    enum status status = analyse_run(run, &analysis, error);
    if (status == STATUS_OK)
        series_add(hidden, analysis.peers_hidden);
    return status;
}

static enum status compare_halos(struct bench *bench, struct bench_run runs[HALOS],
                                 struct series *ratios, struct series hidden[HALOS],
                                 struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = -1; i < bench->repeats && status == STATUS_OK; i++) {
        struct run_times times[HALOS] = {{0}};
        for (int half = 0; half < HALOS && status == STATUS_OK; half++) {
            const int which = (i % 2 == 0) == (half == 0) ? HIDDEN : BARE;
            status = bench_run_once(&runs[which], NULL, &times[which], error);
            if (status == STATUS_OK && i >= 0)
                status = find_hidden(&runs[which], &hidden[which], error);
        }
        if (status == STATUS_OK && i >= 0)
            series_add(ratios, (double)times[BARE].time_ns / (double)times[HIDDEN].time_ns);
    }
    return status;
}

static enum status measure_halo(struct bench *bench, int millions, bool has_goal,
                                struct error *error)
{
    struct bench_run runs[HALOS];
    struct series ratios = {0}, hidden[HALOS] = {{.count = 0}, {.count = 0}};
    enum status status = open_halos(runs, millions, error);
    if (status == STATUS_OK)
        status = compare_halos(bench, runs, &ratios, hidden, error);
    for (int i = HALOS; i > 0; i--)
        bench_run_close(&runs[i - 1]);
    if (status != STATUS_OK)
        return status;
    char name[64];
    snprintf(name, sizeof name, "%dM elements: part of the exchange that is hidden", millions);
    bench_result(bench, name, &hidden[HIDDEN], "", has_goal ? GOAL_AT_LEAST : GOAL_NONE, 0.95);
    bench_result(bench, "  the same with --hide=no", &hidden[BARE], "", GOAL_NONE, 0);
    bench_result(bench, "  its time over that of the hidden one", &ratios, "", GOAL_NONE, 0);
    return STATUS_OK;
}

/* Chains whose copies have streams of their own, and with a stream for each slot:
 * bench/experiments/handoff.cu has what that costs. */
static const struct {
    const char *name, *options;
    int intensity;
    bool has_goal;
} chains[] = {
    {"light kernels, as peers", "--exchange=peer --layout=stage", 1, true},
    {"heavy kernels, as peers", "--exchange=peer --layout=stage", 2000, true},
    {"light kernels, as peers, a stream for each slot", "--exchange=peer", 1, false},
    {"heavy kernels, as peers, a stream for each slot", "--exchange=peer", 2000, false},
    {"light kernels, by the host", "--exchange=host --layout=stage", 1, false},
};

enum status bench_cuda_exchange(struct bench *bench, struct error *error)
{
    int count, can = 0;
    enum status status = CUDA_CHECK(cudaGetDeviceCount(&count), error);
    if (status == STATUS_OK && count >= 2)
        status = CUDA_CHECK(cudaDeviceCanAccessPeer(&can, 0, 1), error);
    if (status != STATUS_OK)
        return status;
    if (!can) {
        bench_heading(bench, "copies from device to device: left out, for no two are peers");
        return STATUS_OK;
    }
    bench_heading(bench, "a chain over two devices, the slower of bare copies and kernels = 1");
    for (size_t i = 0; i < sizeof chains / sizeof chains[0] && status == STATUS_OK; i++)
        status = measure_chain(bench, chains[i].name, chains[i].options, chains[i].intensity,
                               chains[i].has_goal, error);
    if (status == STATUS_OK)
        bench_heading(bench, "a stencil of 16 steps over two devices, halo of 8 rows");
    if (status == STATUS_OK)
        status = measure_halo(bench, bench->quick ? 16 : 64, true, error);
    if (status == STATUS_OK)
        status = measure_halo(bench, 8, false, error);
    return status;
}
