// The same program, run without CUDA_LAUNCH_BLOCKING.
#include "wrong.cu"
