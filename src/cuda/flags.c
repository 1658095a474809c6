/* flags.c - see flags.h. The runtime has no calls for this: they are the driver's, from CUDA
 * 11.7 on (cuda.h, "Stream Memory Operations"). A write is seen after all that its stream wrote
 * before. */
#include "cuda/flags.h"

#include <cuda.h>

static struct {
    CUresult(CUDAAPI *write)(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags);
    CUresult(CUDAAPI *wait)(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags);
} driver;

static cudaError_t find(const char *name, void **function)
{
    enum { SINCE = 11070 };
    enum cudaDriverEntryPointQueryResult found;
    cudaError_t result;
    *function = NULL;
#if CUDART_VERSION >= 12050
    result = cudaGetDriverEntryPointByVersion(name, function, SINCE, cudaEnableDefault, &found);
#else
    result = cudaGetDriverEntryPoint(name, function, cudaEnableDefault, &found);
#endif
    if (result != cudaSuccess)
        return result;
    return found == cudaDriverEntryPointSuccess ? cudaSuccess : cudaErrorNotSupported;
}

enum status cuda_flags_take(struct cuda_run *run, struct error *error)
{
    struct flags *flags = run->workload.flags;
    if (flags == NULL)
        return STATUS_OK;
    cudaError_t result = find("cuStreamWriteValue32", (void **)&driver.write);
    if (result == cudaSuccess)
        result = find("cuStreamWaitValue32", (void **)&driver.wait);
    if (result != cudaSuccess) {
        cudaGetLastError();
        return error_set(error, STATUS_FAILED,
                         "streams of several processes wait for one another by "
                         "cuStreamWaitValue32(), which this driver has not: %s",
                         cudaGetErrorName(result));
    }
    if (CUDA_CHECK(cudaHostRegister(flags->words, flags->bytes, cudaHostRegisterMapped),
                   error) != STATUS_OK)
        return STATUS_FAILED;
    run->flags_registered = true;
    return CUDA_CHECK(cudaHostGetDevicePointer(&run->flags, flags->words, 0), error);
}

void cuda_flags_free(struct cuda_run *run)
{
    if (run->flags_registered)
        cuda_devices_warn(run->devices, 0, cudaHostUnregister(run->workload.flags->words),
                          "cudaHostUnregister");
}

uint64_t cuda_flag_at(const struct cuda_run *run, uint32_t flag)
{
    return flag > 0 && run->flags != NULL
               ? (uint64_t)(uintptr_t)run->flags + (flag - 1) * sizeof(uint32_t)
               : 0;
}

/* The driver's errors have the runtime's numbers. */
cudaError_t cuda_flag_raise(const struct cuda_issued *op)
{
    const cudaError_t result = cudaEventRecord(op->event, op->stream);
    return result != cudaSuccess ? result
                                 : (cudaError_t)driver.write(op->stream, op->flag, 1,
                                                             CU_STREAM_WRITE_VALUE_DEFAULT);
}

cudaError_t cuda_flag_await(const struct cuda_issued *op)
{
    return (cudaError_t)driver.wait(op->stream, op->flag, 1, CU_STREAM_WAIT_VALUE_GEQ);
}
