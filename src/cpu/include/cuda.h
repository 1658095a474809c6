/* cuda.h - the driver API is not there on the CPU: programs use the runtime API. What the two
 * share comes from here. */
#ifndef PIPELINE_CPU_CUDA_H
#define PIPELINE_CPU_CUDA_H

#include "driver_types.h"

#define CUDA_VERSION CUDART_VERSION

#endif
