/* trial.c - a launcher's work on its own, for run/trial.c: right on the stream that it is
 * given, and there alone. */
#include "cuda/run.h"

#include "kernels/kernel_code.h"

#include <stdlib.h>

/* A kernel that is tried on an image of memory, and the trial's things on the device. */
struct rig {
    const struct kernel *kernel;
    char *image;
    uint64_t bytes;
    char *memory;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
};

static enum status refuse(struct error *error, const char *what, cudaError_t why)
{
    cudaGetLastError(); /* reported here; a later launch must not report it again */
    return error_set(error, STATUS_FAILED, "%s (%s: %s)", what, cudaGetErrorName(why),
                     cudaGetErrorString(why));
}

/* Sees that the image on the device is as it was: what was launched was captured, and has not
 * run. */
static enum status check_untouched(const struct rig *rig, struct error *error)
{
    char *now = malloc(rig->bytes);
    if (now == NULL)
        return error_no_memory(error, "to try a kernel");
    enum status status = CUDA_CHECK(cudaDeviceSynchronize(), error);
    if (status == STATUS_OK)
        status =
            CUDA_CHECK(cudaMemcpy(now, rig->memory, rig->bytes, cudaMemcpyDeviceToHost), error);
    if (status == STATUS_OK && memcmp(now, rig->image, rig->bytes) != 0)
        status = error_set(error, STATUS_FAILED,
                           "has work done in another stream than the one it is given");
    free(now);
    return status;
}

static enum status capture(struct rig *rig, const struct kernel_args *args, struct error *error)
{
    size_t nodes = 0;
    const cudaError_t launched =
        (cudaError_t)kernel_launcher(rig->kernel)->launch(args, rig->stream);
    const cudaError_t ended = cudaStreamEndCapture(rig->stream, &rig->graph);
    if (launched == cudaErrorStreamCaptureUnsupported ||
        ended == cudaErrorStreamCaptureInvalidated)
        return refuse(error,
                      "makes a call that waits for work, takes memory, or has to do with all "
                      "streams",
                      launched != cudaSuccess ? launched : ended);
    if (ended == cudaErrorStreamCaptureUnjoined)
        return refuse(error,
                      "has another stream go on from the one it is given, which does not wait "
                      "for that",
                      ended);
    if (launched != cudaSuccess)
        return refuse(error, "returns an error", launched);
    if (CUDA_CHECK(ended, error) != STATUS_OK ||
        CUDA_CHECK(cudaGraphGetNodes(rig->graph, NULL, &nodes), error) != STATUS_OK)
        return error->status;
    enum status status = check_untouched(rig, error);
    if (status == STATUS_OK && nodes == 0)
        status =
            error_set(error, STATUS_FAILED, "launches nothing on the stream that it is given");
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaGraphInstantiate(&rig->exec, rig->graph, 0), error);
    return status == STATUS_OK ? CUDA_CHECK(cudaGraphLaunch(rig->exec, rig->stream), error)
                               : status;
}

static enum status launch(struct rig *rig, const struct kernel_args *args, struct error *error)
{
    const cudaError_t begun = cudaStreamBeginCapture(rig->stream, cudaStreamCaptureModeGlobal);
    if (begun == cudaSuccess)
        return capture(rig, args, error);
    if (begun != cudaErrorNotSupported)
        return CUDA_CHECK(begun, error);
    cudaGetLastError();
    const cudaError_t launched =
        (cudaError_t)kernel_launcher(rig->kernel)->launch(args, rig->stream);
    return launched == cudaSuccess ? STATUS_OK : refuse(error, "returns an error", launched);
}

static enum status rig_run(struct rig *rig, const struct trial_work *work, struct error *error)
{
    const uint64_t bytes = rig->bytes;
    if (CUDA_CHECK(cudaStreamCreateWithFlags(&rig->stream, cudaStreamNonBlocking), error) !=
            STATUS_OK ||
        CUDA_CHECK(cudaMalloc((void **)&rig->memory, bytes), error) != STATUS_OK ||
        CUDA_CHECK(cudaMemcpy(rig->memory, rig->image, bytes, cudaMemcpyHostToDevice), error) !=
            STATUS_OK ||
        CUDA_CHECK(cudaDeviceSynchronize(), error) != STATUS_OK) /* a copy may return early */
        return error->status;
    const struct kernel_args args = {
        .in = {rig->memory + work->in[0],
               rig->kernel->inputs > 1 ? rig->memory + work->in[1] : NULL},
        .out = rig->memory + work->out,
        .count = work->count,
        .blocks = work->blocks,
        .params = {.intensity = 1, .columns = 1, .stride = 1},
    };
    enum status status = launch(rig, &args, error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaStreamSynchronize(rig->stream), error);
    return status == STATUS_OK
               ? CUDA_CHECK(cudaMemcpy(rig->image, rig->memory, bytes, cudaMemcpyDeviceToHost),
                            error)
               : status;
}

enum status cuda_trial(const struct kernel *kernel, const struct trial_work *work, char *image,
                       uint64_t bytes, struct error *error)
{
    struct rig rig = {.kernel = kernel, .image = image, .bytes = bytes};
    const enum status status = rig_run(&rig, work, error);
    if (rig.exec != NULL)
        CUDA_WARN(cudaGraphExecDestroy(rig.exec));
    if (rig.graph != NULL)
        CUDA_WARN(cudaGraphDestroy(rig.graph));
    if (rig.memory != NULL)
        CUDA_WARN(cudaFree(rig.memory));
    if (rig.stream != NULL)
        CUDA_WARN(cudaStreamDestroy(rig.stream));
    return status;
}
