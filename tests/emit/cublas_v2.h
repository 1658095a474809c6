/* cublas_v2.h - stands for cuBLAS's own where a program of --emit is compiled for the CPU.
 *
 * A product is done on the CPU, as a kernel is, and written down as a kernel's launch in the handle's
 * stream: see cuda_runtime.h. It asks for a workspace that was set behind the stream, of the handle's own,
 * and for matrices that lie on the device. A handle belongs to the device that was current when it was
 * made: its stream, its workspace and its matrices are that one's, and it is current at each call. */
#ifndef PIPELINE_TESTS_EMIT_CUBLAS_V2_H
#define PIPELINE_TESTS_EMIT_CUBLAS_V2_H

#include "cuda_runtime.h"

#include <set>

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_INVALID_VALUE = 7 };
enum cublasOperation_t { CUBLAS_OP_N };

struct fake_blas {
    cudaStream_t stream; /* NULL: the legacy default stream */
    void *workspace;
    int device;
};
typedef fake_blas *cublasHandle_t;
static std::set<void *> fake_workspaces;

static inline const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS ? "success" : "invalid value";
}
static inline cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    *handle = new fake_blas{NULL, NULL, fake_current};
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    *handle = fake_blas{stream, NULL, handle->device};
    return stream->device == handle->device ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
static inline cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    handle->workspace = workspace;
    return fake_is_at(workspace, bytes, handle->device) && fake_workspaces.insert(workspace).second
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_INVALID_VALUE;
}

/* C = alpha A B + beta C, column by column. */
static inline void fake_product(int64_t rows, int64_t columns, int64_t inner, double alpha, const double *a,
                                const double *b, double beta, double *c)
{
    for (int64_t i = 0; i < rows * columns; i++) {
        double sum = 0;
        for (int64_t k = 0; k < inner; k++)
            sum += a[i % rows + k * rows] * b[i / rows * inner + k];
        c[i] = alpha * sum + beta * c[i];
    }
}

static inline cublasStatus_t cublasDgemm_64(cublasHandle_t handle, cublasOperation_t, cublasOperation_t,
                                            int64_t rows, int64_t columns, int64_t inner,
                                            const double *alpha, const double *a, int64_t a_stride,
                                            const double *b, int64_t b_stride, const double *beta, double *c,
                                            int64_t c_stride)
{
    const double times = *alpha, kept = *beta;
    const auto work = [=] {
        fake_product(rows, columns, inner, times, a, b, kept, c);
        return true;
    };
    if (handle->stream != NULL)
        fake_call(fake_later(handle->stream, work), "kernel %d", handle->stream->number);
    else
        fake_call(work, "kernel in the legacy default stream");
    if (fake_taped("cudaLaunchKernel"))
        tape_launch(fake_stream_number(handle->stream), "dgemm", 1, tape_arguments(a, b, c));
    return handle->device == fake_current && handle->workspace != NULL && a_stride == rows && b_stride == inner && c_stride == rows &&
                   fake_is_at(a, rows * inner * sizeof *a, fake_current) &&
                   fake_is_at(b, inner * columns * sizeof *b, fake_current) &&
                   fake_is_at(c, rows * columns * sizeof *c, fake_current)
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_INVALID_VALUE;
}

#endif
