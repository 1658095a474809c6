/* copies.c - copies and sets, and which of them make the host wait.
 *
 * [CUDA Runtime API, "API synchronization behavior"; what kinds of memory a copy may name was
 * tried on an H200: tests/cpu/calls.txt] */
#include "cpu/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a copy's work needs. */
struct copy {
    struct copy_rows rows;
    void *kept; /* the source as it was when the copy was issued; NULL: it is read where it lies
                 */
    bool to_device, from_device;
};

/* Memory of a device that was given back before an op ran is not there any more. */
static bool is_there(const void *at, bool device, const char *does, struct cpu_did *did)
{
    const bool there = !device || cpu_block_at((uintptr_t)at) != NULL;
    if (!there)
        snprintf(did->fault, sizeof did->fault,
                 "it %s memory that was given back before it ran", does);
    return there;
}

static void copy_work(void *context, struct cpu_did *did)
{
    const struct copy *copy = context;
    const struct copy_rows *rows = &copy->rows;
    const char *from = copy->kept != NULL ? copy->kept : rows->from;
    if (!is_there(rows->to, copy->to_device, "writes", did) ||
        !is_there(rows->from, copy->from_device, "reads", did))
        return;
    if (rows->height == 1 && rows->depth == 1) {
        memmove(rows->to, from, rows->width);
        return;
    }
    for (size_t slice = 0; slice < rows->depth; slice++)
        for (size_t row = 0; row < rows->height; row++)
            memmove((char *)rows->to + slice * rows->to_slice + row * rows->to_pitch,
                    from + slice * rows->from_slice + row * rows->from_pitch, rows->width);
}

static void copy_release(void *context)
{
    struct copy *copy = context;
    free(copy->kept);
    free(copy);
}

/* Lets a copy read its source as it is now. */
static void copy_keep(const struct cpu_op *op)
{
    struct copy *copy = op->context;
    const struct copy_rows *rows = &copy->rows;
    const size_t bytes = (rows->depth - 1) * rows->from_slice +
                         (rows->height - 1) * rows->from_pitch + rows->width;
    copy->kept = malloc(bytes);
    if (copy->kept != NULL)
        memcpy(copy->kept, rows->from, bytes);
}

/* One side of a copy. */
struct side {
    bool known; /* to CUDA */
    enum cpu_memory kind;
    int device;
};

/* Returns false where the range begins in memory that CUDA knows, and ends outside of it. */
static bool look_at(const void *at, size_t bytes, struct side *side)
{
    const struct cpu_block *block = cpu_block_at((uintptr_t)at);
    *side = (struct side){block != NULL, CPU_PAGEABLE, -1};
    if (block == NULL)
        return true;
    side->kind = block->kind;
    side->device = block->device;
    return bytes <= block->bytes - ((uintptr_t)at - block->from);
}

static bool on_device(const struct side *side)
{
    return side->kind == CPU_DEVICE || side->kind == CPU_POOL;
}

cudaError_t copy_make(const struct copy_rows *rows, enum cudaMemcpyKind kind, bool waits,
                      struct cpu_op *op)
{
    struct side to, from;
    const size_t all = rows->width * rows->height * rows->depth;
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (rows->height > 1 && (rows->to_pitch < rows->width || rows->from_pitch < rows->width))
        return cudaErrorInvalidPitchValue;
    *op = (struct cpu_op){.kind = CPU_COPY};
    if (all == 0)
        return cudaSuccess;
    const size_t more = rows->height - 1, slices = rows->depth - 1;
    if (rows->to == NULL || rows->from == NULL ||
        !look_at(rows->to, slices * rows->to_slice + more * rows->to_pitch + rows->width,
                 &to) ||
        !look_at(rows->from, slices * rows->from_slice + more * rows->from_pitch + rows->width,
                 &from))
        return cudaErrorInvalidValue;
    const bool needs_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool needs_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if ((needs_to && !to.known) || (needs_from && !from.known))
        return cudaErrorInvalidValue;
    struct copy *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return cudaErrorMemoryAllocation;
    *copy = (struct copy){*rows, NULL, on_device(&to), on_device(&from)};
    const bool in_rows = rows->height > 1 || rows->depth > 1;
    *op = (struct cpu_op){.kind = CPU_COPY,
                          .from_kind = from.kind,
                          .to_kind = to.kind,
                          .from_device = from.device,
                          .to_device = to.device,
                          .staged = !device_reaches(from.device, to.device) &&
                                    !device_reaches(to.device, from.device),
                          .from = (uintptr_t)rows->from,
                          .to = (uintptr_t)rows->to,
                          .bytes = all,
                          .from_pitch = in_rows ? rows->from_pitch : 0,
                          .to_pitch = in_rows ? rows->to_pitch : 0,
                          .width = in_rows ? rows->width : 0,
                          .height = in_rows ? rows->height * rows->depth : 0,
                          .work = copy_work,
                          .release = copy_release,
                          .context = copy};
    if (to.device < 0 && from.device < 0)
        op->waits = true; /* within the host, all copies wait */
    else if (to.device < 0)
        op->waits = waits || to.kind == CPU_PAGEABLE;
    else if (from.device < 0)
        op->waits = waits && from.kind != CPU_PAGEABLE;
    op->settles = to.device < 0 ? waits || from.device < 0 : waits && from.device < 0;
    return cudaSuccess;
}

/* Issues a copy, if there is something to copy. */
static cudaError_t copy_rows(const struct copy_rows *rows, enum cudaMemcpyKind kind, bool waits,
                             cudaStream_t handle)
{
    struct cpu_op op;
    struct CUstream_st *stream = stream_of(handle);
    const cudaError_t error =
        stream == NULL ? cudaErrorInvalidResourceHandle : copy_make(rows, kind, waits, &op);
    if (error != cudaSuccess || op.bytes == 0)
        return error;
    if (stream->capture == NULL && op.from_kind == CPU_PAGEABLE && !op.waits)
        copy_keep(&op); /* the call returns once the source is in the staging buffer */
    return stream_issue(stream, op);
}

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                        bool waits, cudaStream_t stream)
{
    const struct copy_rows rows = {
        .to = to, .from = from, .width = bytes, .height = 1, .depth = 1};
    return copy_rows(&rows, kind, waits, stream);
}

static cudaError_t copy_peer(void *to, int to_device, const void *from, int from_device,
                             size_t bytes, bool waits, cudaStream_t stream)
{
    if (!device_exists(to_device) || !device_exists(from_device))
        return cudaErrorInvalidDevice;
    const struct cpu_block *there = cpu_block_at((uintptr_t)to);
    const struct cpu_block *here = cpu_block_at((uintptr_t)from);
    if (bytes > 0 && (there == NULL || here == NULL || there->device != to_device ||
                      here->device != from_device))
        return cudaErrorInvalidValue;
    return copy(to, from, bytes, cudaMemcpyDeviceToDevice, waits, stream);
}

static cudaError_t copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                           size_t width, size_t height, enum cudaMemcpyKind kind, bool waits,
                           cudaStream_t stream)
{
    const struct copy_rows rows = {to, from, to_pitch, from_pitch, width, height, 0, 0, 1};
    if (to_pitch < width || from_pitch < width)
        return cudaErrorInvalidPitchValue;
    return copy_rows(&rows, kind, waits, stream);
}

static char *place_3d(const struct cudaPitchedPtr *memory, const struct cudaPos *at)
{
    return memory->ptr == NULL
               ? NULL
               : (char *)memory->ptr + at->x + memory->pitch * (at->y + memory->ysize * at->z);
}

/* Sets the rows of a 3-D copy: of plain memory, since there are no arrays. */
cudaError_t copy_rows_3d(const struct cudaMemcpy3DParms *what, struct copy_rows *rows)
{
    if (what == NULL || what->srcArray != NULL || what->dstArray != NULL)
        return cudaErrorInvalidValue;
    *rows = (struct copy_rows){.to = place_3d(&what->dstPtr, &what->dstPos),
                               .from = place_3d(&what->srcPtr, &what->srcPos),
                               .to_pitch = what->dstPtr.pitch,
                               .from_pitch = what->srcPtr.pitch,
                               .width = what->extent.width,
                               .height = what->extent.height,
                               .to_slice = what->dstPtr.pitch * what->dstPtr.ysize,
                               .from_slice = what->srcPtr.pitch * what->srcPtr.ysize,
                               .depth = what->extent.depth};
    return cudaSuccess;
}

static cudaError_t copy_3d(const struct cudaMemcpy3DParms *what, bool waits,
                           cudaStream_t stream)
{
    struct copy_rows rows;
    const cudaError_t error = copy_rows_3d(what, &rows);
    return error != cudaSuccess ? error : copy_rows(&rows, what->kind, waits, stream);
}

static cudaError_t copy_batch(void *const *to, const void *const *from, const size_t *sizes,
                              size_t count, const struct cudaMemcpyAttributes *attributes,
                              cudaStream_t stream)
{
    cudaError_t error =
        need(count > 0 && to != NULL && from != NULL && sizes != NULL && attributes != NULL &&
             stream != NULL && stream != cudaStreamLegacy);
    for (size_t i = 0; i < count && error == cudaSuccess; i++)
        error = copy(to[i], from[i], sizes[i], cudaMemcpyDefault, false, stream);
    return error;
}

/* --- variables of the device's --- */

/* Lets a variable be memory of the device's from now on. */
static cudaError_t know_symbol(const void *symbol, size_t size)
{
    if (symbol == NULL)
        return cudaErrorInvalidSymbol;
    return cpu_block_at((uintptr_t)symbol) != NULL
               ? cudaSuccess
               : block_add(CPU_DEVICE, (uintptr_t)symbol, size, calls_thread.device, 0);
}

static cudaError_t copy_symbol(const void *symbol, size_t size, void *with, size_t count,
                               size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream,
                               bool to_symbol, bool waits)
{
    const cudaError_t error = know_symbol(symbol, size);
    char *at = (char *)(uintptr_t)symbol + offset;
    if (error != cudaSuccess || offset > size || count > size - offset)
        return error != cudaSuccess ? error : cudaErrorInvalidValue;
    return to_symbol ? copy(at, with, count, kind, waits, stream)
                     : copy(with, at, count, kind, waits, stream);
}

cudaError_t pipeline_symbol_copy(const char *call, const void *symbol, size_t size, void *with,
                                 size_t count, size_t offset, enum cudaMemcpyKind kind,
                                 cudaStream_t stream, int to_symbol, int waits)
{
    const cudaError_t error = call_begin(call);
    return call_end(error != cudaSuccess ? error
                                         : copy_symbol(symbol, size, with, count, offset, kind,
                                                       stream, to_symbol, waits));
}

cudaError_t pipeline_symbol(void **memory, const void *symbol, size_t size)
{
    cudaError_t error = call_begin("cudaGetSymbolAddress");
    if (error == cudaSuccess)
        error = memory == NULL ? cudaErrorInvalidValue : know_symbol(symbol, size);
    if (error == cudaSuccess)
        *memory = (void *)(uintptr_t)symbol;
    return call_end(error);
}

/* --- sets --- */

struct set {
    char *memory;
    size_t pitch, width, height; /* the width in elements */
    unsigned value, element;
};

static void set_work(void *context, struct cpu_did *did)
{
    const struct set *set = context;
    if (!is_there(set->memory, true, "writes", did))
        return;
    for (size_t row = 0; row < set->height; row++) {
        char *to = set->memory + row * set->pitch;
        if (set->element == 1)
            memset(to, (int)set->value, set->width);
        else /* the host is little-endian, as CUDA's are */
            for (size_t i = 0; i < set->width; i++)
                memcpy(to + i * set->element, &set->value, set->element);
    }
}

cudaError_t set_make(void *memory, size_t pitch, unsigned value, unsigned element, size_t width,
                     size_t height, struct cpu_op *op)
{
    struct side side;
    *op = (struct cpu_op){.kind = CPU_SET};
    const size_t row = width * element;
    if (element != 1 && element != 2 && element != 4)
        return cudaErrorInvalidValue;
    if (row * height == 0)
        return cudaSuccess;
    if (!look_at(memory, (height - 1) * pitch + row, &side) || !side.known ||
        (height > 1 && pitch < row))
        return cudaErrorInvalidValue;
    struct set *set = malloc(sizeof *set);
    if (set == NULL)
        return cudaErrorMemoryAllocation;
    *set = (struct set){memory, pitch, width, height, value, element};
    *op = (struct cpu_op){.kind = CPU_SET,
                          .to_kind = side.kind,
                          .from_kind = side.kind,
                          .from_device = side.device,
                          .to_device = side.device,
                          .to = (uintptr_t)memory,
                          .bytes = row * height,
                          .to_pitch = height > 1 ? pitch : 0,
                          .width = height > 1 ? row : 0,
                          .height = height > 1 ? height : 0,
                          .work = set_work,
                          .release = free,
                          .context = set};
    return cudaSuccess;
}

static cudaError_t set(void *memory, size_t pitch, int value, size_t width, size_t height,
                       bool waits, cudaStream_t handle)
{
    struct cpu_op op;
    struct CUstream_st *stream = stream_of(handle);
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    const cudaError_t error =
        set_make(memory, pitch, (unsigned char)value, 1, width, height, &op);
    if (error != cudaSuccess || op.bytes == 0)
        return error;
    op.waits = op.settles = waits && op.to_kind == CPU_PINNED;
    return stream_issue(stream, op);
}

#include "cpu/include/cuda_copies.def"
