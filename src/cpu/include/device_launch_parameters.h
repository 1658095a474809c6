/* device_launch_parameters.h - CUDA has threadIdx and its like here. */
#include "cuda_runtime.h"
