/* bench_cuda.h - what the measurements on a CUDA device share. */
#ifndef PIPELINE_BENCH_CUDA_H
#define PIPELINE_BENCH_CUDA_H

#include "bench/bench.h"
#include "cuda/device.h"

#include <cuda_runtime_api.h>

/* Copies as bare as they can be: two streams, one per direction, and device memory for whole
 * arrays where there is room. Zero-initialise. */
struct bare_copies {
    cudaStream_t streams[2];
    char *device[2];
    uint64_t chunk; /* bytes of one copy */
};

enum status bare_copies_open(struct bare_copies *copies, uint64_t bytes, struct error *error);
void bare_copies_close(struct bare_copies *copies);

/* Copies `in` to the device and, at the same time, as many bytes to `out`. Sets the seconds
 * from the first call until both are over. */
enum status bare_copies_time(struct bare_copies *copies, const void *in, void *out,
                             uint64_t bytes, double *seconds, struct error *error);

#endif
