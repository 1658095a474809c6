/* blas_handles.c - cuBLAS's handles, its copies and its errors. */
#include "cpu/blas.h"

#include <stdlib.h>

cublasStatus_t blas_status(cudaError_t error)
{
    return error == cudaSuccess                 ? CUBLAS_STATUS_SUCCESS
           : error == cudaErrorInvalidValue     ? CUBLAS_STATUS_INVALID_VALUE
           : error == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED
                                                : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = calloc(1, sizeof **handle);
    return *handle != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

/* It gives its workspace back, and so waits for the device. */
cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    free(handle);
    return blas_status(cudaDeviceSynchronize());
}

#define HANDLE_CALL(name, parameters, does)                                                    \
    cublasStatus_t name parameters                                                             \
    {                                                                                          \
        if (handle == NULL)                                                                    \
            return CUBLAS_STATUS_NOT_INITIALIZED;                                              \
        does;                                                                                  \
        return CUBLAS_STATUS_SUCCESS;                                                          \
    }
HANDLE_CALL(cublasGetVersion, (cublasHandle_t handle, int *version), *version = 130000)
HANDLE_CALL(cublasSetStream, (cublasHandle_t handle, cudaStream_t stream),
            handle->stream = stream)
HANDLE_CALL(cublasGetStream, (cublasHandle_t handle, cudaStream_t *stream),
            *stream = handle->stream)
HANDLE_CALL(cublasSetPointerMode, (cublasHandle_t handle, cublasPointerMode_t mode),
            handle->mode = mode)
HANDLE_CALL(cublasGetPointerMode, (cublasHandle_t handle, cublasPointerMode_t *mode),
            *mode = handle->mode)
HANDLE_CALL(cublasSetMathMode, (cublasHandle_t handle, cublasMath_t mode), (void)mode)
HANDLE_CALL(cublasSetWorkspace, (cublasHandle_t handle, void *workspace, size_t bytes),
            ((void)workspace, (void)bytes))
static cublasStatus_t move(int rows, int columns, int size, const void *from, int from_lead,
                           void *to, int to_lead, enum cudaMemcpyKind kind)
{
    const size_t bytes = (size_t)(size > 0 ? size : 0);
    if (rows < 0 || columns < 0 || size <= 0 || from_lead <= 0 || to_lead <= 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    const cudaError_t error =
        cudaMemcpy2D(to, (size_t)to_lead * bytes, from, (size_t)from_lead * bytes,
                     (size_t)rows * bytes, (size_t)columns, kind);
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

cublasStatus_t cublasSetMatrix(int rows, int columns, int size, const void *from, int from_lead,
                               void *to, int to_lead)
{
    return move(rows, columns, size, from, from_lead, to, to_lead, cudaMemcpyHostToDevice);
}

cublasStatus_t cublasGetMatrix(int rows, int columns, int size, const void *from, int from_lead,
                               void *to, int to_lead)
{
    return move(rows, columns, size, from, from_lead, to, to_lead, cudaMemcpyDeviceToHost);
}

cublasStatus_t cublasSetVector(int n, int size, const void *from, int from_step, void *to,
                               int to_step)
{
    return move(1, n, size, from, from_step, to, to_step, cudaMemcpyHostToDevice);
}

cublasStatus_t cublasGetVector(int n, int size, const void *from, int from_step, void *to,
                               int to_step)
{
    return move(1, n, size, from, from_step, to, to_step, cudaMemcpyDeviceToHost);
}

static const struct {
    cublasStatus_t status;
    const char *name, *text;
} texts[] = {
#define TEXT(status, text)                                                                     \
    {                                                                                          \
        status, #status, text                                                                  \
    }
    TEXT(CUBLAS_STATUS_SUCCESS, "the operation completed successfully"),
    TEXT(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized"),
    TEXT(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed"),
    TEXT(CUBLAS_STATUS_INVALID_VALUE,
         "an unsupported value or parameter was passed to the function"),
    TEXT(CUBLAS_STATUS_MAPPING_ERROR, "an access to GPU memory space failed"),
    TEXT(CUBLAS_STATUS_EXECUTION_FAILED, "the function failed to launch on the GPU"),
#undef TEXT
    {CUBLAS_STATUS_SUCCESS, "unknown error code", "unknown error code"},
};

/* Returns the row of a status; the last one where it has none. */
static size_t row_of(cublasStatus_t status)
{
    size_t row = 0;
    while (row < sizeof texts / sizeof *texts - 1 && texts[row].status != status)
        row++;
    return row;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return texts[row_of(status)].text;
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    return texts[row_of(status)].name;
}
