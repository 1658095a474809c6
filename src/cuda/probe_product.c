/* probe_product.c - measures a kernel whose speed depends on the shape of a tile: a matrix
 * product. It is measured on such tiles, as the run has them. */
#include "cuda/probe.h"

#include "cuda/check.h"
#include "run/arrays.h"
#include "run/cpu_worker.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

enum {
    REPEATS = 5,     /* of which the fastest counts */
    SETS = 2,        /* of a tile's buffers, taken in turn */
    ALIGNMENT = 256, /* as cudaMalloc()'s, and the plans' slots' */
};

/* The twin gets fewer columns, so that one call takes some 0.1 s or less. */
static const double TWIN_FLOPS = 1e10;

/* What is measured: `count` elements of a tile; bytes of its inputs. */
struct product {
    const struct kernel *kernel;
    struct kernel_params params;
    uint64_t count, first_bytes, second_bytes, resident_bytes;
};

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static struct product product_of(const struct kernel *kernel,
                                 const struct cuda_measured *measured, uint64_t count)
{
    const uint64_t size = dtype_bytes(kernel->in);
    struct product product = {.kernel = kernel, .params = measured->params, .count = count};
    product.first_bytes = aligned(count * size);
    product.second_bytes =
        aligned(kernel_second_count(kernel, &measured->params, count) * size);
    product.resident_bytes = aligned(chain_resident_bytes(&kernel, 1, &measured->params));
    return product;
}

/* Bytes of everything, with `sets` sets. The result replaces the first input. */
static uint64_t product_bytes(const struct product *product, int sets)
{
    return product->resident_bytes +
           (uint64_t)sets * (product->first_bytes + product->second_bytes);
}

static struct kernel_args args_at(const struct product *product, char *memory, int set)
{
    char *first = memory + product->resident_bytes +
                  (uint64_t)set * (product->first_bytes + product->second_bytes);
    return (struct kernel_args){.in = {first, first + product->first_bytes},
                                .resident = memory,
                                .out = first,
                                .count = product->count,
                                .params = product->params};
}

/* Floating-point operations per second, of one launch in `ns`. */
static double rate_of(const struct product *product, double ns)
{
    double bytes, flops;
    kernel_work(product->kernel, &product->params, product->count, &bytes, &flops);
    return 1e9 * flops / fmax(ns, 1);
}

/* The device's part. What is NULL was not taken. */
struct rig {
    char *memory;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    void *context;
};

/* Any elements will do but zeros, which hardware may do faster. */
static enum status fill(const struct rig *rig, const struct product *product, uint64_t bytes,
                        struct error *error)
{
    enum { PIECE = 1 << 20 }; /* elements */
    const size_t piece_bytes = PIECE * dtype_bytes(product->kernel->in);
    void *piece = malloc(piece_bytes);
    if (piece == NULL)
        return error_set(error, STATUS_FAILED, "no host memory to measure the device with");
    arrays_generate(product->kernel->in, 1, 0, 0, PIECE, piece);
    enum status status = STATUS_OK;
    for (uint64_t at = 0; at < bytes && status == STATUS_OK; at += piece_bytes)
        status = CUDA_CHECK(cudaMemcpy(rig->memory + at, piece,
                                       bytes - at < piece_bytes ? bytes - at : piece_bytes,
                                       cudaMemcpyHostToDevice),
                            error);
    free(piece);
    return status;
}

static enum status rig_open(struct rig *rig, const struct product *product, struct error *error)
{
    const uint64_t bytes = product_bytes(product, SETS);
    char why[KERNEL_WHY];
    enum status status = CUDA_CHECK(cudaMalloc((void **)&rig->memory, bytes), error);
    if (status == STATUS_OK)
        status = fill(rig, product, bytes, error);
    if (status == STATUS_OK)
        status =
            CUDA_CHECK(cudaStreamCreateWithFlags(&rig->stream, cudaStreamNonBlocking), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaEventCreate(&rig->begin), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaEventCreate(&rig->end), error);
    if (status != STATUS_OK)
        return status;
    const char *failed =
        kernel_launcher(product->kernel)->context_create(rig->stream, &rig->context, why);
    if (failed != NULL)
        return error_set(error, STATUS_FAILED, "kernel %s: %s", product->kernel->name, failed);
    return STATUS_OK;
}

static void rig_close(const struct rig *rig, const struct kernel *kernel)
{
    CUDA_WARN(cudaDeviceSynchronize()); /* a measurement that failed may have left launches */
    if (rig->context != NULL)
        kernel_launcher(kernel)->context_destroy(rig->context);
    if (rig->begin != NULL)
        CUDA_WARN(cudaEventDestroy(rig->begin));
    if (rig->end != NULL)
        CUDA_WARN(cudaEventDestroy(rig->end));
    if (rig->stream != NULL)
        CUDA_WARN(cudaStreamDestroy(rig->stream));
    if (rig->memory != NULL)
        CUDA_WARN(cudaFree(rig->memory));
}

/* All sets, one after another. */
static enum status time_once(const struct rig *rig, const struct product *product, double *ns,
                             struct error *error)
{
    float ms = 0;
    enum status status = CUDA_CHECK(cudaEventRecord(rig->begin, rig->stream), error);
    for (int set = 0; set < SETS && status == STATUS_OK; set++) {
        struct kernel_args args = args_at(product, rig->memory, set);
        args.context = rig->context;
        status = cuda_check(
            (cudaError_t)kernel_launcher(product->kernel)->launch(&args, rig->stream),
            "the kernel's launch", error);
    }
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaEventRecord(rig->end, rig->stream), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaEventSynchronize(rig->end), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaEventElapsedTime(&ms, rig->begin, rig->end), error);
    *ns = 1e6 * (double)ms / SETS;
    return status;
}

/* As large a part of the tile, in whole units, as a quarter of the free memory holds. */
static enum status part_that_fits(const struct kernel *kernel,
                                  const struct cuda_measured *measured, uint64_t *count,
                                  struct error *error)
{
    size_t available, all;
    const uint64_t unit = kernel->unit(&measured->params);
    uint64_t units = measured->tile / unit;
    enum status status = CUDA_CHECK(cudaMemGetInfo(&available, &all), error);
    if (status != STATUS_OK)
        return status;
    for (; units > 1; units /= 2) {
        const struct product product = product_of(kernel, measured, units * unit);
        if (product_bytes(&product, SETS) <= available / 4)
            break;
    }
    *count = (units > 0 ? units : 1) * unit;
    return STATUS_OK;
}

static enum status measure_device(const struct kernel *kernel, struct cuda_measured *measured,
                                  struct error *error)
{
    uint64_t count;
    double once, fastest = INFINITY;
    enum status status = part_that_fits(kernel, measured, &count, error);
    if (status != STATUS_OK)
        return status;
    const struct product product = product_of(kernel, measured, count);
    struct rig rig = {0};
    status = rig_open(&rig, &product, error);
    for (int i = 0; i < REPEATS && status == STATUS_OK; i++) {
        status = time_once(&rig, &product, &once, error);
        fastest = fmin(fastest, once);
    }
    rig_close(&rig, kernel);
    if (status == STATUS_OK)
        measured->row.flops_per_s = rate_of(&product, fastest);
    return status;
}

/* With as many threads as the worker has. */
static enum status measure_twin(const struct kernel *kernel, struct cuda_measured *measured,
                                struct error *error)
{
    const uint64_t unit = kernel->unit(&measured->params);
    double bytes, flops, fastest = INFINITY;
    uint64_t mapped;
    kernel_work(kernel, &measured->params, unit, &bytes, &flops);
    uint64_t most = (uint64_t)fmax(1, TWIN_FLOPS / flops), units = measured->tile / unit;
    units = units < most ? units : most;
    const struct product product = product_of(kernel, measured, (units > 0 ? units : 1) * unit);
    char *memory = host_map(product_bytes(&product, 1), true, &mapped);
    if (memory == NULL)
        return error_set(error, STATUS_FAILED, "no host memory to measure the CPU with");
    arrays_generate(kernel->in, 1, 0, 0, product_bytes(&product, 1) / dtype_bytes(kernel->in),
                    memory);
    const struct kernel_args args = args_at(&product, memory, 0);
    const int threads = omp_get_max_threads();
    omp_set_num_threads(cpu_worker_threads());
    for (int i = 0; i < REPEATS; i++) {
        const int64_t begin = clock_now_ns();
        kernel_code(kernel)->host(&args);
        fastest = fmin(fastest, (double)(clock_now_ns() - begin));
    }
    omp_set_num_threads(threads);
    host_unmap(memory, mapped);
    measured->row.cpu_flops_per_s = rate_of(&product, fastest);
    /* Its memory kept up with that at least; larger products have more arithmetic per byte. */
    kernel_work(kernel, &measured->params, product.count, &bytes, &flops);
    measured->row.cpu_bytes_per_s = 1e9 * bytes / fastest;
    return STATUS_OK;
}

enum status cuda_probe_product(const struct kernel *kernel, struct cuda_measured *measured,
                               struct error *error)
{
    enum status status = measure_device(kernel, measured, error);
    return status == STATUS_OK && measured->cpu ? measure_twin(kernel, measured, error)
                                                : status;
}
