/* pieces.h - stands before the programs of --emit that the tests compile for src/cpu: as ranges of NVTX's
 * that take no time, their recordings have what the host's threads do, too, and which streams are named where
 * memory is prefetched, or is taken and given back in their order.
 *
 * Pieces of tiles that these threads take are calls of piece_of(), which the test writes in the place of
 * the program's own words; a tile is in the recording when the host next waits for a device. There are six such
 * threads at least. Pieces that the host packs are calls of pack_piece(). */
#ifndef PIPELINE_TESTS_EMIT_PIECES_H
#define PIPELINE_TESTS_EMIT_PIECES_H

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <map>
#include <mutex>
#include <nvToolsExt.h>
#include <string>
#include <thread>

#include "../../kernels/own_kernel.h"

#define hardware_concurrency() hardware_concurrency() * 0 + 8 /* on whatever machine */

static std::map<size_t, std::map<size_t, size_t>> pieces; /* per tile: first, count */
static std::mutex pieces_mutex;

/* Returns the elements of a thread's next piece, the first of the tile's `left`. */
static inline size_t piece_of(size_t tile, size_t first, size_t most, size_t left)
{
    const std::lock_guard<std::mutex> lock(pieces_mutex);
    const size_t count = std::min(left, most);
    size_t &all = pieces[tile][first];
    all = all > 0 ? SIZE_MAX : count; /* nobody takes a piece twice */
    return count;
}

static inline void range(const std::string &name)
{
    nvtxRangePushA(name.c_str());
    nvtxRangePop();
}

/* Names each tile, with its elements if its pieces follow one another. */
static inline void pieces_end()
{
    const std::lock_guard<std::mutex> lock(pieces_mutex);
    for (auto &tile : pieces) {
        const size_t first = tile.second.begin()->first;
        size_t end = first;
        for (auto &piece : tile.second)
            end = piece.first == end ? end + piece.second : SIZE_MAX;
        range("cpu " + std::to_string(tile.first) + " " + std::to_string(end - first));
    }
    pieces.clear();
}
#define cudaDeviceSynchronize() (pieces_end(), cudaDeviceSynchronize())

static inline void range(const char *what, cudaStream_t stream, size_t bytes)
{
    range(what + std::to_string(reinterpret_cast<uintptr_t>(stream)) + " " + std::to_string(bytes));
}
static inline cudaError_t prefetch(const void *memory, size_t bytes, cudaMemLocation where, unsigned flags,
                                   cudaStream_t stream)
{
    range(where.type == cudaMemLocationTypeHost ? "d2h " : "h2d ", stream, bytes);
    return cudaMemPrefetchAsync(memory, bytes, where, flags, stream);
}
#define cudaMemPrefetchAsync prefetch
#define cudaMallocAsync(memory, bytes, stream)                                                      \
    (range("take ", stream, bytes), cudaMallocAsync(memory, bytes, stream))
#define cudaMallocFromPoolAsync(memory, bytes, pool, stream)                                        \
    (range("take ", stream, bytes), cudaMallocFromPoolAsync(memory, bytes, pool, stream))
#define cudaFreeAsync(memory, stream) (range("give ", stream, 0), cudaFreeAsync(memory, stream))

/* A handle needs a workspace of its own, on its device, that was set behind its stream. */
static std::map<cublasHandle_t, void *> workspaces;
static inline cublasStatus_t set_workspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    cudaPointerAttributes where;
    int device;
    bool own = cudaGetDevice(&device) == cudaSuccess &&
               cudaPointerGetAttributes(&where, workspace) == cudaSuccess && where.device == device;
    for (auto &other : workspaces)
        own = own && other.second != workspace;
    workspaces[handle] = workspace;
    return own ? cublasSetWorkspace(handle, workspace, bytes) : CUBLAS_STATUS_INVALID_VALUE;
}
#define cublasSetWorkspace                    set_workspace
#define cublasSetStream(handle, stream)       (workspaces.erase(handle), cublasSetStream(handle, stream))
#define cublasDgemm_64(handle, ...)                                                                 \
    (workspaces.count(handle) > 0 ? cublasDgemm_64(handle, __VA_ARGS__) : CUBLAS_STATUS_INVALID_VALUE)

/* The library's call for copies that it is to watch. */
extern "C" void *__tsan_memcpy(void *to, const void *from, size_t bytes);
static inline void pack_piece(void *to, const void *from, size_t bytes)
{
    range("pack " + std::to_string(bytes) + " " + std::to_string(reinterpret_cast<uintptr_t>(to)));
    __tsan_memcpy(to, from, bytes);
}

#endif
