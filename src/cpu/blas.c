/* blas.c - cuBLAS, by one kernel: C = alpha A B + beta C, where each matrix has a step from row
 * to row and one from column to column. A vector is a matrix of one column, and a transposed
 * matrix has its steps changed. */
#include "cpu/blas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct matrix {
    const void *at;             /* NULL: all ones */
    int64_t row, column, batch; /* elements from one to the next */
};

struct product {
    struct cpu_launch launch;
    uint64_t words[3];
    bool wide; /* of doubles */
    int64_t rows, columns, inner, count;
    double alpha, beta;
    const void *alpha_at, *beta_at; /* on the device; NULL: they are given */
    struct matrix a, b, c;
    bool root; /* of the result */
};

/* Walks along the columns of A and C, which lie in one piece as a rule. */
#define PRODUCT(T)                                                                             \
    static void product_##T(const struct product *p, int64_t batch)                            \
    {                                                                                          \
        static const T one = 1;                                                                \
        const T *a = p->a.at != NULL ? (const T *)p->a.at + batch * p->a.batch : &one;         \
        const T *b = p->b.at != NULL ? (const T *)p->b.at + batch * p->b.batch : &one;         \
        T *c = (T *)(uintptr_t)p->c.at + batch * p->c.batch;                                   \
        const T alpha = p->alpha_at != NULL ? *(const T *)p->alpha_at : (T)p->alpha;           \
        const T beta = p->beta_at != NULL ? *(const T *)p->beta_at : (T)p->beta;               \
        for (int64_t j = 0; j < p->columns; j++) {                                             \
            T *to = c + j * p->c.column;                                                       \
            for (int64_t i = 0; i < p->rows; i++)                                              \
                to[i * p->c.row] = beta == 0 ? 0 : beta * to[i * p->c.row];                    \
            if (p->a.row == 1 && p->c.row == 1) {                                              \
                for (int64_t k = 0; k < p->inner; k++) {                                       \
                    const T times = alpha * b[k * p->b.row + j * p->b.column];                 \
                    const T *from = a + k * p->a.column;                                       \
                    for (int64_t i = 0; i < p->rows; i++)                                      \
                        to[i] += times * from[i];                                              \
                }                                                                              \
                continue;                                                                      \
            }                                                                                  \
            for (int64_t i = 0; i < p->rows; i++) {                                            \
                double sum = 0;                                                                \
                for (int64_t k = 0; k < p->inner; k++)                                         \
                    sum += (double)a[i * p->a.row + k * p->a.column] *                         \
                           (double)b[k * p->b.row + j * p->b.column];                          \
                to[i * p->c.row] += alpha * (T)sum;                                            \
            }                                                                                  \
        }                                                                                      \
        if (p->root)                                                                           \
            *c = (T)sqrt((double)*c);                                                          \
    }
PRODUCT(float)
PRODUCT(double)
#undef PRODUCT

/* --- what it touches --- */

/* Returns the bytes of a matrix, of all that are multiplied one by one; 0 where it is none. */
static struct cpu_range range_of(const struct product *p, const struct matrix *m, int64_t rows,
                                 int64_t columns)
{
    struct cpu_range range = {.from = (uintptr_t)m->at};
    if (m->at != NULL && rows > 0 && columns > 0)
        range.bytes = (uint64_t)((rows - 1) * m->row + (columns - 1) * m->column +
                                 (p->count - 1) * m->batch + 1) *
                      (p->wide ? sizeof(double) : sizeof(float));
    return range;
}

static int by_address(const void *left, const void *right)
{
    const struct cpu_range *a = left, *b = right;
    return (a->from > b->from) - (a->from < b->from);
}

/* Sets what is touched, in order, and returns false where that is no memory of the device's. */
static bool touches(const struct product *p, struct cpu_did *did)
{
    struct cpu_range ranges[] = {range_of(p, &p->a, p->rows, p->inner),
                                 range_of(p, &p->b, p->inner, p->columns),
                                 range_of(p, &p->c, p->rows, p->columns)};
    enum { RANGES = sizeof ranges / sizeof *ranges };
    ranges[0].reads = ranges[1].reads = true;
    ranges[2].writes = true;
    ranges[2].reads = p->beta_at != NULL || p->beta != 0;
    *(p->wide ? &did->flops_double : &did->flops) =
        2 * (uint64_t)(p->rows * p->columns * p->inner * p->count);
    qsort(ranges, RANGES, sizeof *ranges, by_address);
    did->ranges = malloc(sizeof ranges);
    for (int i = 0; i < RANGES && did->ranges != NULL; i++) {
        const struct cpu_range *range = &ranges[i];
        const struct cpu_block *block = cpu_block_at(range->from);
        if (range->bytes == 0 ||
            (block == NULL && range->from == (uintptr_t)p->c.at && p->rows * p->columns == 1))
            continue; /* a result of the host's is no device's */
        if (block == NULL || range->bytes > block->bytes - (range->from - block->from)) {
            snprintf(did->fault, sizeof did->fault,
                     "it would touch %llu bytes at %#llx, which is no memory of a device's",
                     (unsigned long long)range->bytes, (unsigned long long)range->from);
            return false;
        }
        did->read_bytes += range->reads ? range->bytes : 0;
        did->written_bytes += range->writes ? range->bytes : 0;
        struct cpu_range *last =
            did->range_count > 0 ? &did->ranges[did->range_count - 1] : NULL;
        if (last == NULL || range->from >= last->from + last->bytes) {
            did->ranges[did->range_count++] = *range;
            continue;
        }
        const uint64_t ends = range->from + range->bytes - last->from;
        last->bytes = ends > last->bytes ? ends : last->bytes;
        last->reads |= range->reads;
        last->writes |= range->writes;
    }
    did->fresh_sectors = did->read_bytes / CPU_SECTOR;
    did->written_sectors = did->written_bytes / CPU_SECTOR;
    did->watched = true;
    return true;
}

static void work(void *context, struct cpu_did *did)
{
    const struct product *p = context;
    const int64_t count = touches(p, did) ? p->count : 0;
    for (int64_t batch = 0; batch < count; batch++)
        (p->wide ? product_double : product_float)(p, batch);
}

/* --- issuing --- */

/* Issues a product, as the kernel of that name; `waits` where its result is the host's. */
static cudaError_t issue(cublasHandle_t handle, const char *name, const struct product *given,
                         bool waits)
{
    enum { TILE = 128, THREADS = 256 };
    struct CUstream_st *stream = stream_of(handle->stream);
    struct product *p = malloc(sizeof *p);
    if (p == NULL || stream == NULL || stream->device != calls_thread.device) {
        free(p);
        return p == NULL ? cudaErrorMemoryAllocation : cudaErrorInvalidResourceHandle;
    }
    *p = *given;
    p->words[0] = (uintptr_t)p->a.at;
    p->words[1] = (uintptr_t)p->b.at;
    p->words[2] = (uintptr_t)p->c.at;
    const int64_t longest = p->rows > p->inner ? p->rows : p->inner;
    p->launch = (struct cpu_launch){.name = name,
                                    .file = calls_thread.in_file,
                                    .line = calls_thread.in_line,
                                    .grid = {(unsigned)((longest + TILE - 1) / TILE),
                                             (unsigned)((p->columns + TILE - 1) / TILE),
                                             (unsigned)p->count},
                                    .block = {THREADS, 1, 1},
                                    .device = stream->device,
                                    .words = p->words,
                                    .word_count = 3};
    const struct cpu_op op = {.kind = CPU_KERNEL,
                              .waits = waits,
                              .launch = &p->launch,
                              .work = work,
                              .release = free,
                              .context = p};
    return stream_issue(stream, op);
}

/* Reads a factor of the host's, where there is one: what is left is on the device. */
static void read_factor(const void **at, bool wide, double *factor)
{
    if (*at != NULL)
        *factor = wide ? *(const double *)*at : (double)*(const float *)*at;
    *at = NULL;
}

/* Makes a call of the runtime's, as those of cuBLAS are seen from outside. */
static cublasStatus_t call(cublasHandle_t handle, const char *name, bool wide,
                           struct product given, bool waits)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (given.c.at == NULL || given.rows < 0 || given.columns < 0 || given.inner < 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    given.wide = wide;
    given.count = given.count > 0 ? given.count : 1;
    given.alpha = 1;
    const bool device = handle->mode == CUBLAS_POINTER_MODE_DEVICE;
    if (!device) {
        read_factor(&given.alpha_at, wide, &given.alpha);
        read_factor(&given.beta_at, wide, &given.beta);
    }
    cudaError_t error = call_begin("cudaLaunchKernel");
    if (error == cudaSuccess && given.rows * given.columns > 0)
        error = issue(handle, name, &given, waits && !device);
    return blas_status(call_end(error));
}

/* --- routines as products --- */

static struct matrix vector(const void *at, int64_t step)
{
    return (struct matrix){at, step, 0, 0};
}

static struct matrix matrix(const void *at, cublasOperation_t op, int64_t lead, int64_t batch)
{
    return op == CUBLAS_OP_N ? (struct matrix){at, 1, lead, batch}
                             : (struct matrix){at, lead, 1, batch};
}

static struct product dot(int64_t n, const void *x, int64_t x_step, const void *y,
                          int64_t y_step, const void *result, bool root)
{
    return (struct product){.rows = 1,
                            .columns = 1,
                            .inner = n,
                            .a = {x, 0, x_step, 0},
                            .b = vector(y, y_step),
                            .c = vector(result, 0),
                            .root = root};
}

static struct product gemv(cublasOperation_t op, int64_t rows, int64_t columns,
                           const void *alpha, struct matrix a, struct matrix x,
                           const void *beta, struct matrix y, int64_t count)
{
    const bool plain = op == CUBLAS_OP_N;
    return (struct product){.rows = plain ? rows : columns,
                            .columns = 1,
                            .inner = plain ? columns : rows,
                            .count = count,
                            .alpha_at = alpha,
                            .beta_at = beta,
                            .a = a,
                            .b = x,
                            .c = y};
}

/* A product without a place for its result is refused: so are steps that are too short. */
static struct product gemm(cublasOperation_t a_op, cublasOperation_t b_op, int64_t rows,
                           int64_t columns, int64_t inner, const void *alpha, struct matrix a,
                           struct matrix b, const void *beta, struct matrix c, int64_t count)
{
    const int64_t a_least = a_op == CUBLAS_OP_N ? rows : inner;
    const int64_t b_least = b_op == CUBLAS_OP_N ? inner : columns;
    if (a.row + a.column - 1 < a_least || b.row + b.column - 1 < b_least || c.column < rows ||
        alpha == NULL || beta == NULL)
        c.at = NULL;
    return (struct product){.rows = rows,
                            .columns = columns,
                            .inner = inner,
                            .count = count,
                            .alpha_at = alpha,
                            .beta_at = beta,
                            .a = a,
                            .b = b,
                            .c = c};
}

#define PIPELINE_ROUTINE(routine, kernel, parameters, product, waits)                          \
    cublasStatus_t cublasS##routine parameters                                                 \
    {                                                                                          \
        return call(handle, "s" #kernel, false, product, waits);                               \
    }
#define PIPELINE_T float
#include "cpu/include/cublas_routines.def"
#undef PIPELINE_ROUTINE
#undef PIPELINE_T
#define PIPELINE_ROUTINE(routine, kernel, parameters, product, waits)                          \
    cublasStatus_t cublasD##routine parameters                                                 \
    {                                                                                          \
        return call(handle, "d" #kernel, true, product, waits);                                \
    }
#define PIPELINE_T double
#include "cpu/include/cublas_routines.def"
