/* blas.h - what a handle of cuBLAS's has. */
#ifndef PIPELINE_CPU_BLAS_H
#define PIPELINE_CPU_BLAS_H

#include "cpu/api.h"
#include "cpu/include/cublas_v2.h"

struct cublasContext {
    cudaStream_t stream;
    cublasPointerMode_t mode;
};

/* Returns what cuBLAS says of an error of CUDA's. */
cublasStatus_t blas_status(cudaError_t error);

#endif
