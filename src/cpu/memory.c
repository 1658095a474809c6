/* memory.c - memory of every kind: taken, given back, and what there is to know of it. */
#include "cpu/api.h"
#include "machine/machine.h"

#include <stdlib.h>
#include <string.h>

/* --- taking --- */

static cudaError_t take(void **memory, enum cpu_memory kind, size_t bytes, unsigned flags)
{
    if (memory == NULL)
        return cudaErrorInvalidValue;
    const bool host = kind == CPU_PINNED;
    cudaError_t error = capture_forbids();
    if (error != cudaSuccess)
        return error;
    *memory = NULL;
    if (bytes == 0)
        return cudaSuccess;
    const int device = host ? -1 : calls_thread.device;
    if (!host && bytes > cpu_machine()->memory_bytes - block_bytes(device))
        return cudaErrorMemoryAllocation;
    *memory = block_take(kind, bytes, calls_thread.device, flags);
    if (*memory == NULL)
        return cudaErrorMemoryAllocation;
    cpu_took(kind, (uintptr_t)*memory, bytes, device);
    return cudaSuccess;
}

static cudaError_t take_rows(void **memory, size_t *pitch, size_t width, size_t rows)
{
    enum { ROW = 512 };
    if (pitch == NULL)
        return cudaErrorInvalidValue;
    *pitch = (width + ROW - 1) / ROW * ROW;
    return take(memory, CPU_DEVICE, *pitch * rows, 0);
}

static cudaError_t take_3d(struct cudaPitchedPtr *memory, struct cudaExtent extent)
{
    if (memory == NULL)
        return cudaErrorInvalidValue;
    memory->xsize = extent.width;
    memory->ysize = extent.height;
    return take_rows(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth);
}

/* --- giving back --- */

/* Gives back a block of the kinds from `least` to `most`, once the device has nothing more
   to do. */
static cudaError_t give(void *memory, enum cpu_memory least, enum cpu_memory most)
{
    cudaError_t error = capture_forbids();
    if (memory == NULL || error != cudaSuccess)
        return error;
    const struct cpu_block *block = block_begins(memory);
    if (block == NULL || block->kind < least || block->kind > most)
        return cudaErrorInvalidValue;
    /* cudaFree() waits, but not for memory of a pool. [CUDA Programming Guide 12.3, 11.3] */
    if (block->kind != CPU_DEVICE && block->kind != CPU_MANAGED)
        cpu_host_gives(block->from, block->bytes);
    error = device_wait(block->device >= 0 ? block->device : calls_thread.device);
    cpu_gave_back(block->from);
    block_give(block, calls_thread.in_file, calls_thread.in_line);
    return error;
}

/* --- the program's own memory --- */

static cudaError_t register_host(void *memory, size_t size, unsigned flags)
{
    const uintptr_t from = (uintptr_t)memory;
    if (memory == NULL || size == 0 || flags > 15)
        return cudaErrorInvalidValue;
    const struct cpu_block *block = cpu_block_at(from);
    if (block == NULL)
        block = cpu_block_at(from + size - 1);
    if (block != NULL)
        return block->kind == CPU_REGISTERED ? cudaErrorHostMemoryAlreadyRegistered
                                             : cudaErrorInvalidValue;
    const cudaError_t error = block_add(CPU_REGISTERED, from, size, calls_thread.device, flags);
    if (error == cudaSuccess)
        cpu_took(CPU_REGISTERED, from, size, -1);
    return error;
}

static cudaError_t unregister_host(void *memory)
{
    const struct cpu_block *block = block_begins(memory);
    if (block == NULL)
        return memory == NULL ? cudaErrorInvalidValue : cudaErrorHostMemoryNotRegistered;
    return give(memory, CPU_REGISTERED, CPU_REGISTERED);
}

static const struct cpu_block *host_block(const void *at)
{
    const struct cpu_block *block = cpu_block_at((uintptr_t)at);
    return block != NULL && (block->kind == CPU_PINNED || block->kind == CPU_REGISTERED) ? block
                                                                                         : NULL;
}

static cudaError_t reach_host(void **device, void *host, unsigned flags)
{
    if (device == NULL || flags != 0 || host_block(host) == NULL)
        return cudaErrorInvalidValue;
    *device = host;
    return cudaSuccess;
}

static cudaError_t flags_of(unsigned *flags, void *host)
{
    const struct cpu_block *block = host_block(host);
    if (flags == NULL || block == NULL)
        return cudaErrorInvalidValue;
    *flags = block_flags(block) | cudaHostAllocMapped;
    return cudaSuccess;
}

static cudaError_t room_of(size_t *left, size_t *total)
{
    if (left == NULL || total == NULL)
        return cudaErrorInvalidValue;
    *total = (size_t)cpu_machine()->memory_bytes;
    *left = *total - (size_t)block_bytes(calls_thread.device);
    return cudaSuccess;
}

static cudaError_t describe(struct cudaPointerAttributes *attributes, const void *pointer)
{
    if (attributes == NULL)
        return cudaErrorInvalidValue;
    const struct cpu_block *block = cpu_block_at((uintptr_t)pointer);
    void *at = (void *)(uintptr_t)pointer;
    *attributes = (struct cudaPointerAttributes){cudaMemoryTypeUnregistered, -2, NULL, at};
    if (block == NULL)
        return cudaSuccess;
    const bool device = block->kind == CPU_DEVICE || block->kind == CPU_POOL;
    attributes->type = device                       ? cudaMemoryTypeDevice
                       : block->kind == CPU_MANAGED ? cudaMemoryTypeManaged
                                                    : cudaMemoryTypeHost;
    attributes->device = block->device >= 0 ? block->device : calls_thread.device;
    attributes->devicePointer = at;
    attributes->hostPointer = device ? NULL : at;
    return cudaSuccess;
}

bool cpu_may_reach(const struct cpu_block *block, int device)
{
    return block->device < 0 || block->kind == CPU_MANAGED || block->own ||
           device_reaches(device, block->device);
}

/* --- managed memory: it is where it is used --- */

static cudaError_t place_managed(const void *memory, size_t count, struct cudaMemLocation where,
                                 cudaStream_t stream)
{
    const struct cpu_block *block = cpu_block_at((uintptr_t)memory);
    if (stream_of(stream) == NULL)
        return cudaErrorInvalidResourceHandle;
    if (block == NULL || block->kind != CPU_MANAGED || count == 0 ||
        count > block->bytes - ((uintptr_t)memory - block->from))
        return cudaErrorInvalidValue;
    return where.type == cudaMemLocationTypeDevice && !device_exists(where.id)
               ? cudaErrorInvalidDevice
               : cudaSuccess;
}

static cudaError_t attach(cudaStream_t stream, const void *memory, unsigned flags)
{
    if (stream_of(stream) == NULL)
        return cudaErrorInvalidResourceHandle;
    return need((flags == cudaMemAttachGlobal || flags == cudaMemAttachHost ||
                 flags == cudaMemAttachSingle) &&
                cpu_block_at((uintptr_t)memory) != NULL);
}

/* --- memory in the order of streams --- */

struct CUmemPoolHandle_st {
    int device;
    unsigned long long keeps;
    bool is_default;
    int reuse[3];
    uint64_t used, used_high;
};
static struct CUmemPoolHandle_st default_pools[DEVICES_MOST], *current_pools[DEVICES_MOST];

static cudaError_t pool_of(cudaMemPool_t *pool, int device, bool current)
{
    if (pool == NULL || !device_exists(device))
        return pool == NULL ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
    default_pools[device].device = device;
    default_pools[device].is_default = true;
    *pool = current && current_pools[device] != NULL ? current_pools[device]
                                                     : &default_pools[device];
    return cudaSuccess;
}

static cudaError_t set_pool(int device, cudaMemPool_t pool)
{
    if (pool == NULL || !device_exists(device) || pool->device != device)
        return cudaErrorInvalidValue;
    current_pools[device] = pool;
    return cudaSuccess;
}

static cudaError_t make_pool(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    if (pool == NULL || properties == NULL ||
        properties->allocType != cudaMemAllocationTypePinned ||
        properties->location.type != cudaMemLocationTypeDevice)
        return cudaErrorInvalidValue;
    if (!device_exists(properties->location.id))
        return cudaErrorInvalidDevice;
    *pool = calloc(1, sizeof **pool);
    if (*pool == NULL)
        return cudaErrorMemoryAllocation;
    (*pool)->device = properties->location.id;
    return cudaSuccess;
}

static cudaError_t pool_attribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                  void *value, bool sets)
{
    if (pool == NULL || value == NULL)
        return cudaErrorInvalidValue;
    if (attribute >= cudaMemPoolReuseFollowEventDependencies &&
        attribute <= cudaMemPoolReuseAllowInternalDependencies) {
        int *reuse = &pool->reuse[attribute - cudaMemPoolReuseFollowEventDependencies];
        if (sets) /* they are all on at first */
            *reuse = !*(int *)value;
        else
            *(int *)value = !*reuse;
        return cudaSuccess;
    }
    uint64_t *counts[] = {(uint64_t *)&pool->keeps, &pool->used, &pool->used_high, &pool->used,
                          &pool->used_high};
    const unsigned which = (unsigned)attribute - cudaMemPoolAttrReleaseThreshold;
    if (which >= sizeof counts / sizeof *counts)
        return cudaErrorInvalidValue;
    if (!sets)
        *(uint64_t *)value = *counts[which];
    else if (attribute == cudaMemPoolAttrReleaseThreshold)
        cpu_pool_keeps(pool, pool->keeps = *(uint64_t *)value);
    else if (*(uint64_t *)value == 0)
        *counts[which] = pool->used;
    return cudaSuccess;
}

static cudaError_t take_ordered(void **memory, size_t size, cudaMemPool_t pool, bool from_pool,
                                cudaStream_t handle)
{
    const struct CUstream_st *stream = stream_of(handle);
    if (memory == NULL || (from_pool && pool == NULL))
        return cudaErrorInvalidValue;
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    if (stream->capture != NULL)
        return cudaErrorNotSupported; /* nodes that take memory are not there */
    cudaMemPool_t from = pool;
    cudaError_t error = from_pool ? cudaSuccess : pool_of(&from, stream->device, true);
    *memory = NULL;
    if (error != cudaSuccess || size == 0)
        return error;
    *memory = block_take(CPU_POOL, size, from->device, stream->number);
    if (*memory == NULL)
        return cudaErrorMemoryAllocation;
    from->used += size;
    from->used_high = from->used > from->used_high ? from->used : from->used_high;
    cpu_took(CPU_POOL, (uintptr_t)*memory, size, from->device);
    cpu_touched(stream->number, (uintptr_t)*memory, size);
    return cudaSuccess;
}

static cudaError_t give_ordered(void *memory, cudaStream_t handle)
{
    const struct CUstream_st *stream = stream_of(handle);
    const struct cpu_block *block = block_begins(memory);
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    if (memory == NULL)
        return cudaSuccess;
    if (block == NULL || (block->kind != CPU_POOL && block->kind != CPU_DEVICE))
        return cudaErrorInvalidValue;
    if (stream->capture != NULL)
        return cudaErrorNotSupported;
    cudaMemPool_t pool;
    if (pool_of(&pool, block->device, true) == cudaSuccess)
        pool->used -= pool->used < block->bytes ? pool->used : block->bytes;
    cpu_gave_back(block->from);
    cpu_touched(stream->number, block->from, block->bytes);
    block_leaves(block, stream->number, calls_thread.in_file, calls_thread.in_line);
    return cudaSuccess;
}

#include "cpu/include/cuda_memory.def"
