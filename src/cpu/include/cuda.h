/* cuda.h - what the driver API shares with the runtime API; the rest of it is not there on the
 * CPU. */
#ifndef PIPELINE_CPU_CUDA_H
#define PIPELINE_CPU_CUDA_H

#include "driver_types.h"

#define CUDA_VERSION CUDART_VERSION

#define PIPELINE_DRIVER(type)                                                                  \
    typedef int type __attribute__((                                                           \
        unavailable("CUDA's driver API is not there on the CPU: use the runtime API")));
PIPELINE_DRIVER(CUresult)
PIPELINE_DRIVER(CUdevice)
PIPELINE_DRIVER(CUcontext)
PIPELINE_DRIVER(CUmodule)
PIPELINE_DRIVER(CUfunction)
PIPELINE_DRIVER(CUdeviceptr)
#undef PIPELINE_DRIVER

#endif
