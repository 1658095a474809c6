/* check.h - every CUDA call is checked: errors return in set-up and warn in clean-up. */
#ifndef PIPELINE_CUDA_CHECK_H
#define PIPELINE_CUDA_CHECK_H

#include "core/status.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

/* STATUS_OK, or the error with the call's name: "cudaMalloc failed: cudaErrorMemoryAllocation:
 * out of memory". */
#define CUDA_CHECK(call, error) cuda_check((call), #call, (error))

/* For clean-up, which goes on whatever happens: a line on standard error. */
#define CUDA_WARN(call) cuda_warn((call), #call)

static inline enum status cuda_check(cudaError_t result, const char *call, struct error *error)
{
    if (result == cudaSuccess)
        return STATUS_OK;
    cudaGetLastError(); /* reported here; a later launch must not report it again */
    return error_set(error, STATUS_FAILED, "%.*s failed: %s: %s", (int)strcspn(call, "("), call,
                     cudaGetErrorName(result), cudaGetErrorString(result));
}

static inline void cuda_warn(cudaError_t result, const char *call)
{
    if (result == cudaSuccess)
        return;
    cudaGetLastError();
    fprintf(stderr, "pipeline: warning: %.*s failed: %s: %s\n", (int)strcspn(call, "("), call,
            cudaGetErrorName(result), cudaGetErrorString(result));
}

/* For clean-up that can fail. The first call that fails is the error, and behind an error it is
 * a warning. */
static inline void cuda_check_first(cudaError_t result, const char *call, enum status *status,
                                    struct error *error)
{
    if (*status == STATUS_OK)
        *status = cuda_check(result, call, error);
    else
        cuda_warn(result, call);
}

#endif
