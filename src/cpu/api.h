/* api.h - what the calls of CUDA share: calls.c, devices.c, blocks.c, memory.c, copies.c,
 * streams.c, launches.c, capture.c, graphs.c, nodes.c, blas.c and blas_handles.c.
 *
 * All calls take the lock of cpu_enter(), so that what is kept here is read and changed by one
 * thread at a time. Work runs under the lock, too. */
#ifndef PIPELINE_CPU_API_H
#define PIPELINE_CPU_API_H

#include "core/items.h"
#include "cpu/cpu.h"
#include "cpu/include/cuda_runtime_api.h"

enum { DEVICES_MOST = 16, SHARED_BYTES = 48 << 10 };

/* Nodes of a graph that something follows. */
struct node_set {
    struct CUgraphNode_st **nodes;
    size_t count;
};

struct capture;
struct CUstream_st {
    uint32_t number;
    int device, priority;
    unsigned flags;
    enum cpu_stream_kind kind;
    struct capture *capture; /* that takes up what is issued; NULL: none */
    struct node_set ends;    /* what the stream's next node of the capture follows */
    struct CUstream_st *next;
};

struct CUevent_st {
    uint32_t number;
    int device;
    unsigned flags;
    bool recorded;
    struct capture *capture; /* that its latest record was taken up by; NULL: none */
    struct node_set ends;    /* what that record stands for there */
    struct CUevent_st *next;
};

/* CUDA keeps this for each thread of the program's. */
struct calls_thread {
    int device;
    cudaError_t last;
    const char *file, *in_file; /* of the next call, and of the current one; NULL: not known */
    int line, in_line;
    bool in_function; /* of the host's, in a stream: no call is permitted */
    enum cudaStreamCaptureMode capture_mode;
    struct CUstream_st *own[DEVICES_MOST]; /* its default streams */
};
extern _Thread_local struct calls_thread calls_thread;

/* Begin and end a call. Where call_begin() fails, nothing but call_end() may follow. */
cudaError_t call_begin(const char *name);
cudaError_t call_end(cudaError_t error);

/* Defines a call of include/cuda_*.def: what it does is an expression, its error. */
#define PIPELINE_CALL(name, parameters, does)                                                  \
    cudaError_t name parameters                                                                \
    {                                                                                          \
        const cudaError_t error = call_begin(#name);                                           \
        return call_end(error != cudaSuccess ? error : (does));                                \
    }

static inline void op_release(const struct cpu_op *op)
{
    if (op->release != NULL)
        op->release(op->context);
}

/* Marks what a kernel's failure leaves behind: all later calls fail with it. */
cudaError_t calls_failed(void);
void calls_forgive(void);

static inline cudaError_t need(bool condition)
{
    return condition ? cudaSuccess : cudaErrorInvalidValue;
}
bool device_exists(int device);
bool device_reaches(int device, int other);

/* Checks the sizes of a launch. */
cudaError_t launch_check(const struct cpu_launch *launch);

/* --- streams.c --- */

/* Returns what a handle stands for; NULL: nothing. */
struct CUstream_st *stream_of(cudaStream_t handle);

/* Issues an op of the calling thread's call, or makes it a node of the stream's capture. What
 * the op has is taken over, also where that fails. */
cudaError_t stream_issue(struct CUstream_st *stream, struct cpu_op op);

/* Has the calling thread wait, by an op of a kind from CPU_SYNC_DEVICE on. */
cudaError_t call_waits(enum cpu_op_kind kind, uint32_t subject);
cudaError_t device_wait(int device);

/* --- launches.c --- */

/* Makes the op of a host's function, or of a kernel, whose arguments it takes over. */
cudaError_t function_make(cudaHostFn_t function, void *data, struct cpu_op *op);
cudaError_t kernel_make(const struct cpu_launch *launch, struct cpu_op *op);

/* Sets the launch of a kernel that is known by its address alone. */
cudaError_t kernel_bind(const void *function, dim3 grid, dim3 block, size_t shared,
                        void **arguments, struct cpu_launch *launch);

/* --- blocks.c --- */

/* Returns memory of a kind, whose words are no numbers where it is a device's; NULL: there is
 * no room. `home` is the current device; `flags` are what the call has, of a pool's memory the
 * number of the stream. */
void *block_take(enum cpu_memory kind, uint64_t bytes, int home, unsigned flags);
/* Lets the table know memory that is the program's own. */
cudaError_t block_add(enum cpu_memory kind, uintptr_t from, uint64_t bytes, int home,
                      unsigned flags);
/* The place is the program's call, for who uses the memory later. */
void block_give(const struct cpu_block *block, const char *file, int line);
/* Gives a block back once a stream has come so far, which is seen when the stream is waited
 * for. */
void block_leaves(const struct cpu_block *block, uint32_t stream, const char *file, int line);
/* Gives back the blocks that have left, once a call has waited for that device or stream. */
void blocks_left(enum cpu_op_kind waits, uint32_t subject);
/* Gives back all that was taken while a device was current. */
void block_give_all(int device);
/* Returns the block that begins at an address; NULL: none does, or it was given back. */
const struct cpu_block *block_begins(const void *at);
unsigned block_flags(const struct cpu_block *block);
uint64_t block_bytes(int device);

/* --- copies.c --- */

struct copy_rows {
    void *to;
    const void *from;
    size_t to_pitch, from_pitch, width, height;
    size_t to_slice, from_slice, depth; /* bytes from one slice to the next */
};
/* Make the op of a copy, whose `waits` is set where the memory asks for it, or the call does;
 * and of a set. Where there are no bytes, `bytes` is 0, and nothing is to be issued or
 * released. */
cudaError_t copy_make(const struct copy_rows *rows, enum cudaMemcpyKind kind, bool waits,
                      struct cpu_op *op);
cudaError_t copy_rows_3d(const struct cudaMemcpy3DParms *what, struct copy_rows *rows);
cudaError_t set_make(void *memory, size_t pitch, unsigned value, unsigned element, size_t width,
                     size_t height, struct cpu_op *op);

/* --- capture.c --- */

cudaError_t capture_begin(struct CUstream_st *stream, enum cudaStreamCaptureMode mode);
cudaError_t capture_end(struct CUstream_st *stream, cudaGraph_t *graph);
cudaError_t capture_status(const struct CUstream_st *stream,
                           enum cudaStreamCaptureStatus *status);

/* Make an op a node of the stream's capture, and take up a record and a wait. */
cudaError_t capture_take(struct CUstream_st *stream, struct cpu_op op);
cudaError_t capture_record(struct CUstream_st *stream, struct CUevent_st *event);
cudaError_t capture_wait(struct CUstream_st *stream, const struct CUevent_st *event);

/* Spoil what captures forbid a call: one that no thread may make while a stream is captured;
 * one in a captured stream that waits or asks; one that waits for a device; one in the legacy
 * stream, which a captured stream would have to wait for. */
cudaError_t capture_forbids(void);
cudaError_t capture_forbids_in(struct CUstream_st *stream);
cudaError_t capture_forbids_device(int device);
cudaError_t capture_forbids_legacy(const struct CUstream_st *stream);
/* Calls about an event whose record a capture took up fail so. */
cudaError_t capture_forbids_event(const struct CUevent_st *event);

/* --- graphs.c --- */

/* Appends a node; `op` is NULL where it is empty. */
struct CUgraphNode_st *graph_add(struct CUgraph_st *graph, enum cudaGraphNodeType type,
                                 const struct node_set *after, const struct cpu_op *op);
bool node_set_add(struct node_set *set, const struct node_set *more);
/* Returns true if all of `nodes` are among `ends`, or come before them. */
bool graph_joins(const struct CUgraph_st *graph, const struct node_set *ends,
                 const struct node_set *nodes);
struct CUgraph_st *graph_make(void);
void graph_free(struct CUgraph_st *graph);

/* Lets go what launches of graphs were done with, once nothing is left to do. */
void graphs_idle(void);

#endif
