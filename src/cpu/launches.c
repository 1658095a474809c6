/* launches.c - kernels and functions of the host's, which streams and graphs take up. */
#include "cpu/api.h"

#include <pthread.h>
#include <stdlib.h>

/* --- functions of the host's --- */

struct function {
    cudaHostFn_t function;
    cudaStreamCallback_t callback; /* where there is no function */
    cudaStream_t stream;
    void *data;
};

static void function_work(void *context, struct cpu_did *did)
{
    const struct function *given = context;
    (void)did;
    calls_thread.in_function = true;
    if (given->function != NULL)
        given->function(given->data);
    else
        given->callback(given->stream, cudaSuccess, given->data);
    calls_thread.in_function = false;
}

static cudaError_t make(const struct function *given, struct cpu_op *op)
{
    struct function *kept = malloc(sizeof *kept);
    if (given->function == NULL && given->callback == NULL) {
        free(kept);
        return cudaErrorInvalidValue;
    }
    if (kept == NULL)
        return cudaErrorMemoryAllocation;
    *kept = *given;
    *op = (struct cpu_op){
        .kind = CPU_FUNCTION, .work = function_work, .release = free, .context = kept};
    return cudaSuccess;
}

cudaError_t function_make(cudaHostFn_t function, void *data, struct cpu_op *op)
{
    return make(&(struct function){.function = function, .data = data}, op);
}

static cudaError_t add_function(cudaStream_t handle, const struct function *given)
{
    struct cpu_op op;
    struct CUstream_st *stream = stream_of(handle);
    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    cudaError_t error = make(given, &op);
    if (error != cudaSuccess)
        return error;
    if (given->callback != NULL && (error = capture_forbids_in(stream)) != cudaSuccess) {
        op_release(&op);
        return error;
    }
    return stream_issue(stream, op);
}

/* --- kernels --- */

static void kernel_work(void *context, struct cpu_did *did)
{
    (void)grid_run(context, did); /* what failed is in *did */
}

static void kernel_release(void *context)
{
    struct cpu_launch *launch = context;
    if (launch->release != NULL)
        launch->release(launch->arguments);
    free(launch);
}

cudaError_t kernel_make(const struct cpu_launch *launch, struct cpu_op *op)
{
    struct cpu_launch *kept = malloc(sizeof *kept);
    cudaError_t error = launch_check(launch);
    if (error == cudaSuccess && kept == NULL)
        error = cudaErrorMemoryAllocation;
    if (error != cudaSuccess) {
        if (launch->release != NULL)
            launch->release(launch->arguments);
        free(kept);
        return error;
    }
    *kept = *launch;
    kept->device = calls_thread.device;
    *op = (struct cpu_op){.kind = CPU_KERNEL,
                          .launch = kept,
                          .work = kernel_work,
                          .release = kernel_release,
                          .context = kept};
    return cudaSuccess;
}

static cudaError_t launch_into(const struct cpu_launch *launch, cudaStream_t handle)
{
    struct cpu_op op;
    struct CUstream_st *stream = stream_of(handle);
    cudaError_t error = kernel_make(launch, &op);
    if (error != cudaSuccess)
        return error;
    if (stream == NULL || stream->device != calls_thread.device) {
        op_release(&op);
        return cudaErrorInvalidResourceHandle;
    }
    return stream_issue(stream, op);
}

int pipeline_launch(const struct cpu_launch *launch, cudaStream_t stream)
{
    (void)pipeline_here(launch->file, launch->line);
    cudaError_t error =
        call_begin(launch->cooperative ? "cudaLaunchCooperativeKernel" : "cudaLaunchKernel");
    if (error == cudaSuccess)
        error = launch_into(launch, stream);
    else if (launch->release != NULL)
        launch->release(launch->arguments);
    return call_end(error);
}

/* --- kernels by their addresses --- */

static struct known {
    const void *function;
    void (*bind)(const void *function, void **arguments, struct cpu_launch *launch);
} * known;
static size_t known_count, known_capacity;

static const struct known *known_at(const void *function)
{
    for (size_t i = 0; i < known_count; i++)
        if (known[i].function == function)
            return &known[i];
    return NULL;
}

void pipeline_know(const void *function, void (*bind)(const void *function, void **arguments,
                                                      struct cpu_launch *launch))
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* it is no call of CUDA's */
    pthread_mutex_lock(&lock);
    if (known_at(function) == NULL && ITEMS_ROOM(known, known_count, known_capacity))
        known[known_count++] = (struct known){function, bind};
    pthread_mutex_unlock(&lock);
}

cudaError_t kernel_bind(const void *function, dim3 grid, dim3 block, size_t shared,
                        void **arguments, struct cpu_launch *launch)
{
    const struct known *kernel = known_at(function);
    if (kernel == NULL)
        return cudaErrorInvalidDeviceFunction;
    *launch = (struct cpu_launch){.function = function,
                                  .file = calls_thread.in_file,
                                  .line = calls_thread.in_line,
                                  .grid = {grid.x, grid.y, grid.z},
                                  .block = {block.x, block.y, block.z},
                                  .shared = shared};
    kernel->bind(function, arguments, launch);
    return cudaSuccess;
}

static cudaError_t launch_known(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                size_t shared, bool cooperative, cudaStream_t stream)
{
    struct cpu_launch launch;
    const cudaError_t error = kernel_bind(kernel, grid, block, shared, arguments, &launch);
    launch.cooperative = cooperative;
    return error != cudaSuccess ? error : launch_into(&launch, stream);
}

static cudaError_t launch_as(const cudaLaunchConfig_t *as, const void *kernel, void **arguments)
{
    bool cooperative = false;
    for (unsigned i = 0; i < as->numAttrs; i++)
        cooperative |= as->attrs[i].id == cudaLaunchAttributeCooperative &&
                       as->attrs[i].val.cooperative != 0;
    return launch_known(kernel, as->gridDim, as->blockDim, arguments, as->dynamicSmemBytes,
                        cooperative, as->stream);
}

#include "cpu/include/cuda_launches.def"
