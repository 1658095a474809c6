/* backend_none.c - stands in the place of the CUDA backend in a program that was built without
 * CUDA. */
#include "run/backend.h"

const struct backend_ops backend_cuda_ops = {
    .name = "cuda",
    .missing = "this program was built without CUDA (no nvcc was found)",
    .measures = true,
};
