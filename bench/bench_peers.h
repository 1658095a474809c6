/* bench_peers.h - what kernels are held against: CUB's, cudaMemcpy's, and a kernel that only
 * reads.
 *
 * bench_none.c stands in their place in a program without CUDA. All take what a row's launcher
 * takes, with `scratch` of peer_scratch_bytes(count) bytes; the last two are told bytes instead
 * of elements. */
#ifndef PIPELINE_BENCH_PEERS_H
#define PIPELINE_BENCH_PEERS_H

#include "kernels/kernel_code.h"

#ifdef __cplusplus
extern "C" {
#endif

uint64_t peer_scratch_bytes(uint64_t count);
int peer_reduce_f32(const struct kernel_args *args, void *stream);
int peer_reduce_f64(const struct kernel_args *args, void *stream);
int peer_reduce_i32(const struct kernel_args *args, void *stream);
int peer_scan_i32(const struct kernel_args *args, void *stream);
int peer_exclusive_scan_i32(const struct kernel_args *args, void *stream);
int peer_read(const struct kernel_args *args, void *stream);
int peer_copy(const struct kernel_args *args, void *stream);

#ifdef __cplusplus
}
#endif

#endif
