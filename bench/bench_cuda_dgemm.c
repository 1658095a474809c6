/* bench_cuda_dgemm.c - the tiled DGEMM: serial, 2-, 3- and 4-way, beside its limit and
 * cuBLASXt. */
#include "analysis/analysis.h"
#include "analysis/limit.h"
#include "bench/bench_cuda.h"
#include "kernels/kernel_code.h"
#include "run/verify.h"

#include <cublasXt.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 4, BLOCKS = 4 };

struct size {
    uint64_t m, n, k;
    uint32_t tiles;
};

static double gflops(const struct size *size, double seconds)
{
    return 2e-9 * (double)size->m * (double)size->n * (double)size->k / seconds;
}

/* --- cuBLASXt --- */

/* cuBLASXt's functions; it is opened at run time, like cuBLAS itself. */
struct xt {
    void *library;
    cublasStatus_t (*create)(cublasXtHandle_t *handle);
    cublasStatus_t (*destroy)(cublasXtHandle_t handle);
    cublasStatus_t (*select)(cublasXtHandle_t handle, int count, int *devices);
    cublasStatus_t (*set_block)(cublasXtHandle_t handle, int block);
    cublasStatus_t (*dgemm)(cublasXtHandle_t handle, cublasOperation_t a_operation,
                            cublasOperation_t b_operation, size_t m, size_t n, size_t k,
                            const double *alpha, const double *a, size_t a_stride,
                            const double *b, size_t b_stride, const double *beta, double *c,
                            size_t c_stride);
    cublasXtHandle_t handle;
};

static bool xt_load(struct xt *xt)
{
    const char *names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
    for (int i = 0; i < 3 && xt->library == NULL; i++)
        xt->library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    if (xt->library == NULL)
        return false;
    *(void **)&xt->create = dlsym(xt->library, "cublasXtCreate");
    *(void **)&xt->destroy = dlsym(xt->library, "cublasXtDestroy");
    *(void **)&xt->select = dlsym(xt->library, "cublasXtDeviceSelect");
    *(void **)&xt->set_block = dlsym(xt->library, "cublasXtSetBlockDim");
    *(void **)&xt->dgemm = dlsym(xt->library, "cublasXtDgemm");
    return xt->create && xt->destroy && xt->select && xt->set_block && xt->dgemm;
}

static enum status xt_check(cublasStatus_t result, const char *call, struct error *error)
{
    if (result == CUBLAS_STATUS_SUCCESS)
        return STATUS_OK;
    return error_set(error, STATUS_FAILED, "%s failed: cuBLAS status %d", call, (int)result);
}

static enum status xt_open(struct xt *xt, struct error *error)
{
    int device = 0;
    if (!xt_load(xt))
        return error_set(error, STATUS_FAILED, "cuBLAS can't be opened");
    enum status status = xt_check(xt->create(&xt->handle), "cublasXtCreate", error);
    return status == STATUS_OK
               ? xt_check(xt->select(xt->handle, 1, &device), "cublasXtDeviceSelect", error)
               : status;
}

static void xt_close(struct xt *xt)
{
    if (xt->handle != NULL)
        xt->destroy(xt->handle);
    if (xt->library != NULL)
        dlclose(xt->library);
}

/* Times C = A B + C on page-locked arrays, by tiles of `block` x `block`. */
static enum status xt_time(struct xt *xt, const struct size *size, int block, const double *a,
                           const double *b, double *c, double *seconds, struct error *error)
{
    const double one = 1;
    enum status status =
        xt_check(xt->set_block(xt->handle, block), "cublasXtSetBlockDim", error);
    if (status != STATUS_OK)
        return status;
    arrays_settle();
    double begin = bench_now();
    status = xt_check(xt->dgemm(xt->handle, CUBLAS_OP_N, CUBLAS_OP_N, size->m, size->n, size->k,
                                &one, a, size->m, b, size->k, &one, c, size->m),
                      "cublasXtDgemm", error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaDeviceSynchronize(), error);
    *seconds = bench_now() - begin;
    return status;
}

/* --- the four ways, and cuBLASXt --- */

static const int xt_blocks[BLOCKS] = {1024, 2048, 4096, 8192};

struct ways_measured {
    struct bench_run runs[WAYS];
    struct series times[WAYS], limits[WAYS]; /* seconds; the limit over the time */
    struct series parts;                     /* serial: the time over the sum of its parts */
    struct series xt[BLOCKS];
    struct xt library;
};

static enum status open_runs(struct ways_measured *measured, const struct size *size,
                             struct error *error)
{
    enum status status = STATUS_OK;
    for (int w = 0; w < WAYS && status == STATUS_OK; w++) {
        char arguments[160], streams[16] = "-s 4";
        snprintf(arguments, sizeof arguments,
                 "--device=cuda -k dgemm -n %llu --rows=%llu --inner=%llu -t %u -w %d %s",
                 (unsigned long long)(size->m * size->n), (unsigned long long)size->m,
                 (unsigned long long)size->k, w == 3 ? 4 * size->tiles : size->tiles, w + 1,
                 w == 0 ? "" : streams);
        status = bench_run_open(&measured->runs[w], arguments, error);
    }
    return status;
}

/* Makes one verified run of `way`, traced where its parts are wanted. */
static enum status add_run(struct ways_measured *measured, int way, bool warm,
                           struct error *error)
{
    struct bench_run *run = &measured->runs[way];
    struct run_times times;
    enum status status = bench_run_once(run, NULL, &times, error);
    if (status != STATUS_OK || !warm)
        return status;
    struct limit limit = limit_of(&run->machine, &run->plan);
    series_add(&measured->times[way], 1e-9 * (double)times.time_ns);
    series_add(&measured->limits[way], (double)limit.ns / (double)times.time_ns);
    if (way > 0)
        return STATUS_OK;
    struct timeline timeline = {0};
    struct analysis analysis;
    status = bench_run_once(run, &timeline, &times, error);
    if (status == STATUS_OK)
        status = analyse(&timeline, &analysis, error);
    timeline_free(&timeline);
    if (status == STATUS_OK)
        series_add(&measured->parts,
                   (double)times.time_ns / (double)(analysis.engines[ENGINE_H2D].busy_ns +
                                                    analysis.engines[ENGINE_COMPUTE].busy_ns +
                                                    analysis.engines[ENGINE_D2H].busy_ns));
    return status;
}

/* Times cuBLASXt on a copy of C in the serial run's output, with its A and B: all are
 * page-locked. */
static enum status add_xt(struct ways_measured *measured, const struct size *size, int which,
                          bool warm, struct error *error)
{
    const struct arrays *arrays = &measured->runs[0].arrays;
    double seconds;
    memcpy(arrays->host[BUFFER_HOST_OUT], arrays->host[BUFFER_HOST_IN0],
           arrays->bytes[BUFFER_HOST_OUT]);
    enum status status =
        xt_time(&measured->library, size, xt_blocks[which], arrays->host[BUFFER_HOST_RESIDENT],
                arrays->host[BUFFER_HOST_IN1], arrays->host[BUFFER_HOST_OUT], &seconds, error);
    if (status == STATUS_OK)
        status = verify_output(&measured->runs[0].plan, arrays, error);
    if (status == STATUS_OK && warm)
        series_add(&measured->xt[which], seconds);
    return status;
}

static enum status run_rounds(struct bench *bench, struct ways_measured *measured,
                              const struct size *size, struct error *error)
{
    enum status status = STATUS_OK;
    for (int round = -1; round < bench->repeats && status == STATUS_OK; round++) {
        for (int w = 0; w < WAYS && status == STATUS_OK; w++)
            status = add_run(measured, w, round >= 0, error);
        for (int b = 0; b < BLOCKS && status == STATUS_OK; b++)
            status = add_xt(measured, size, b, round >= 0, error);
    }
    return status;
}

/* --- the results --- */

static void put_row(struct bench *bench, const struct size *size, const char *name,
                    const struct series *seconds, const struct series *limits)
{
    struct series rates = {0};
    char limit[16] = "";
    for (int i = 0; i < seconds->count; i++)
        series_add(&rates, gflops(size, seconds->values[i]));
    bench_keep(bench, name, seconds, "s", GOAL_NONE, 0);
    bench_keep(bench, name, &rates, "Gflop/s", GOAL_NONE, 0);
    if (limits != NULL)
        snprintf(limit, sizeof limit, "%.3f", series_median(limits));
    if (bench->out != NULL)
        fprintf(bench->out, "  %-36s %8.4g ms %9.4g %9s  %.4g to %.4g ms\n", name,
                1e3 * series_median(seconds), series_median(&rates), limit,
                1e3 * series_least(seconds), 1e3 * series_most(seconds));
}

static int best_block(const struct ways_measured *measured)
{
    int best = 0;
    for (int b = 1; b < BLOCKS; b++) {
        if (series_median(&measured->xt[b]) < series_median(&measured->xt[best]))
            best = b;
    }
    return best;
}

static void put_ratio(struct bench *bench, const char *name, const struct series *over,
                      const struct series *under, double goal)
{
    struct series ratios = {0};
    for (int i = 0; i < over->count && i < under->count; i++)
        series_add(&ratios, over->values[i] / under->values[i]);
    bench_result(bench, name, &ratios, "", GOAL_AT_LEAST, goal);
}

static void put_all(struct bench *bench, const struct ways_measured *measured,
                    const struct size *size)
{
    static const char *const names[WAYS] = {"serial", "2-way", "3-way", "4-way"};
    char name[48];
    if (bench->out != NULL)
        fprintf(bench->out, "\nC = A B + C, m = %llu, n = %llu, k = %llu%12s %9s %9s\n",
                (unsigned long long)size->m, (unsigned long long)size->n,
                (unsigned long long)size->k, "time", "Gflop/s", "of limit");
    for (int w = 0; w < WAYS; w++)
        put_row(bench, size, names[w], &measured->times[w], &measured->limits[w]);
    for (int b = 0; b < BLOCKS; b++) {
        snprintf(name, sizeof name, "cuBLASXt, blocks of %d", xt_blocks[b]);
        put_row(bench, size, name, &measured->xt[b], NULL);
    }
    bench_result(bench, "  serial over the sum of its parts", &measured->parts, "",
                 GOAL_AT_MOST, 1.03);
    bench_result(bench, "  3-way: the limit over the time", &measured->limits[2], "",
                 GOAL_AT_LEAST, 0.95);
    put_ratio(bench, "  3-way over the best of cuBLASXt", &measured->xt[best_block(measured)],
              &measured->times[2], 1.6);
    put_ratio(bench, "  4-way over 3-way", &measured->times[2], &measured->times[3], 1);
}

enum status bench_cuda_dgemm(struct bench *bench, struct error *error)
{
    const struct size full = {16384, 16384, 1408, 16}, small = {2048, 2048, 512, 8};
    const struct size *size = bench->quick ? &small : &full;
    const char *missing = kernel_missing(kernel_find("dgemm"));
    if (missing != NULL) {
        if (bench->out != NULL)
            fprintf(bench->out, "\ndgemm is left out: %s\n", missing);
        return STATUS_OK;
    }
    struct ways_measured *measured = calloc(1, sizeof *measured);
    if (measured == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory");
    enum status status = open_runs(measured, size, error);
    if (status == STATUS_OK)
        status = xt_open(&measured->library, error);
    if (status == STATUS_OK)
        status = run_rounds(bench, measured, size, error);
    if (status == STATUS_OK)
        put_all(bench, measured, size);
    xt_close(&measured->library);
    for (int w = 0; w < WAYS; w++)
        bench_run_close(&measured->runs[w]);
    free(measured);
    return status;
}
