/* cublas_v2.h - the part of cuBLAS that most programs use: vectors, matrix times vector, matrix
 * times matrix, of floats and doubles. */
#ifndef CUBLAS_API_H_
#define CUBLAS_API_H_

#include "cuda_runtime_api.h"

typedef struct cublasContext *cublasHandle_t;
typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C } cublasOperation_t;
typedef enum { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE } cublasPointerMode_t;
typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3
} cublasMath_t;

#ifdef __cplusplus
extern "C" {
#endif

cublasStatus_t cublasCreate(cublasHandle_t *handle PIPELINE_AT);
cublasStatus_t cublasDestroy(cublasHandle_t handle PIPELINE_AT);
cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version PIPELINE_AT);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream PIPELINE_AT);
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t *stream PIPELINE_AT);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace,
                                  size_t bytes PIPELINE_AT);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle,
                                    cublasPointerMode_t mode PIPELINE_AT);
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle,
                                    cublasPointerMode_t *mode PIPELINE_AT);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode PIPELINE_AT);
cublasStatus_t cublasSetVector(int n, int size, const void *from, int from_step, void *to,
                               int to_step PIPELINE_AT);
cublasStatus_t cublasGetVector(int n, int size, const void *from, int from_step, void *to,
                               int to_step PIPELINE_AT);
cublasStatus_t cublasSetMatrix(int rows, int columns, int size, const void *from, int from_lead,
                               void *to, int to_lead PIPELINE_AT);
cublasStatus_t cublasGetMatrix(int rows, int columns, int size, const void *from, int from_lead,
                               void *to, int to_lead PIPELINE_AT);
const char *cublasGetStatusString(cublasStatus_t status);
const char *cublasGetStatusName(cublasStatus_t status);

#define PIPELINE_ROUTINE(routine, kernel, parameters, ...)                                     \
    cublasStatus_t cublasS##routine parameters;
#define PIPELINE_T float
#include "cublas_routines.def"
#undef PIPELINE_ROUTINE
#undef PIPELINE_T
#define PIPELINE_ROUTINE(routine, kernel, parameters, ...)                                     \
    cublasStatus_t cublasD##routine parameters;
#define PIPELINE_T double
#include "cublas_routines.def"
#undef PIPELINE_ROUTINE
#undef PIPELINE_T

#ifdef __cplusplus
}
#endif

#endif
