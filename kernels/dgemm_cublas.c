/* dgemm_cublas.c - the tiled matrix product on the device: one cublasDgemm per tile; dgemm.c
 * says how a tile lies. A build without the CUDA Toolkit leaves this file out. cuBLAS is opened
 * when it is first needed: libcublas.so of the usual names, or the file that PIPELINE_CUBLAS in
 * the environment names.
 *
 * Each stream has a handle and a workspace of its own. A handle's calls go into its stream, and
 * a workspace that two streams shared would be a race, or have cuBLAS wait ("cuBLAS Library",
 * 2.1.2: thread safety, and cublasSetWorkspace()). */
#include "kernels/kernel_file.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* cuBLAS's documentation asks for this much on Hopper, and for 4 MiB on other GPUs. */
enum { WORKSPACE_BYTES = 32 << 20 };

static struct {
    pthread_once_t once;
    void *library;
    __typeof__(&cublasCreate_v2) create;
    __typeof__(&cublasDestroy_v2) destroy;
    __typeof__(&cublasSetStream_v2) set_stream;
    __typeof__(&cublasSetWorkspace_v2) set_workspace;
    __typeof__(&cublasDgemm_v2_64) dgemm;
    __typeof__(&cublasGetStatusString) status_text;
    char why[KERNEL_WHY]; /* the reason why it can't be used; "": it can */
} cublas = {.once = PTHREAD_ONCE_INIT};

/* The handle and the workspace of a stream. */
struct dgemm_context {
    cublasHandle_t handle;
    void *workspace;
};

static void *find(const char *name)
{
    void *function = dlsym(cublas.library, name);
    if (function == NULL)
        snprintf(cublas.why, sizeof cublas.why, "this cuBLAS is too old: it has no %s()", name);
    return function;
}

/* Opens the newest cuBLAS that there is: all since version 12 have the functions used here. */
static void open_library(void)
{
    static const char *const usual[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
    const char *named = getenv("PIPELINE_CUBLAS");
    const char *const *files = named != NULL ? &named : usual;
    const int count = named != NULL ? 1 : 3;
    for (int i = 0; i < count && cublas.library == NULL; i++) {
        cublas.library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
        const char *said = cublas.library == NULL ? dlerror() : NULL;
        if (i == 0 && said != NULL)
            snprintf(cublas.why, sizeof cublas.why, "cuBLAS can't be opened: %s", said);
    }
    if (cublas.library == NULL)
        return;
    cublas.why[0] = '\0';
    *(void **)&cublas.create = find("cublasCreate_v2");
    *(void **)&cublas.destroy = find("cublasDestroy_v2");
    *(void **)&cublas.set_stream = find("cublasSetStream_v2");
    *(void **)&cublas.set_workspace = find("cublasSetWorkspace_v2");
    *(void **)&cublas.dgemm = find("cublasDgemm_v2_64");
    *(void **)&cublas.status_text = find("cublasGetStatusString");
}

/* Returns NULL, or why there is no cuBLAS. */
static const char *missing(void)
{
    pthread_once(&cublas.once, open_library);
    return cublas.why[0] != '\0' ? cublas.why : NULL;
}

/* cudaErrorSharedObjectInitFailed says that cuBLAS can't be opened; dgemm_context_create() says
 * why. cuBLAS loads the code for a shape at the first launch of that shape. */
static int dgemm_preload(void)
{
    return missing() != NULL ? cudaErrorSharedObjectInitFailed : cudaSuccess;
}

/* Returns true if the call succeeded; if not, `why` says how it failed. */
static bool succeeded(cublasStatus_t status, const char *call, char why[KERNEL_WHY])
{
    if (status != CUBLAS_STATUS_SUCCESS)
        snprintf(why, KERNEL_WHY, "%s failed: %s", call, cublas.status_text(status));
    return status == CUBLAS_STATUS_SUCCESS;
}

/* The stream is set before the workspace, because setting it takes a workspace away again. */
static bool set_up(struct dgemm_context *context, void *stream, char why[KERNEL_WHY])
{
    if (!succeeded(cublas.create(&context->handle), "cublasCreate", why) ||
        !succeeded(cublas.set_stream(context->handle, stream), "cublasSetStream", why))
        return false;
    const cudaError_t result = cudaMalloc(&context->workspace, WORKSPACE_BYTES);
    if (result != cudaSuccess) {
        cudaGetLastError();
        snprintf(why, KERNEL_WHY, "cudaMalloc failed for a workspace of 32 MiB: %s",
                 cudaGetErrorString(result));
        return false;
    }
    return succeeded(cublas.set_workspace(context->handle, context->workspace, WORKSPACE_BYTES),
                     "cublasSetWorkspace", why);
}

/* The device must be idle. Where its context is lost, memory on the host is still freed. */
static void dgemm_context_destroy(void *context)
{
    struct dgemm_context *unwanted = context;
    if (unwanted == NULL)
        return;
    if (unwanted->handle != NULL)
        cublas.destroy(unwanted->handle);
    if (unwanted->workspace != NULL)
        cudaFree(unwanted->workspace);
    free(unwanted);
}

static const char *dgemm_context_create(void *stream, void **context, char why[KERNEL_WHY])
{
    struct dgemm_context *made = calloc(1, sizeof *made);
    const char *failed = missing();
    if (made == NULL)
        failed = "no memory";
    if (failed == NULL && !set_up(made, stream, why))
        failed = why;
    if (failed == NULL)
        *context = made;
    else
        dgemm_context_destroy(made);
    return failed;
}

/* Returns the nearest of CUDA's errors, the only ones that a launcher can return. */
static int error_of(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return cudaSuccess;
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return cudaErrorInitializationError;
    case CUBLAS_STATUS_ALLOC_FAILED:
        return cudaErrorMemoryAllocation;
    case CUBLAS_STATUS_INVALID_VALUE:
        return cudaErrorInvalidValue;
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return cudaErrorNoKernelImageForDevice;
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return cudaErrorNotSupported;
    default:
        return cudaErrorLaunchFailure;
    }
}

/* The result replaces in[0], which `out` must be. */
static int dgemm_launch(const struct kernel_args *args, void *stream)
{
    const struct dgemm_context *context = args->context;
    const int64_t rows = (int64_t)args->params.rows, inner = (int64_t)args->params.inner;
    const int64_t columns = (int64_t)(args->count / args->params.rows);
    const double one = 1;
    (void)stream; /* the handle has it */
    if (context == NULL)
        return cudaErrorInvalidValue;
    return error_of(cublas.dgemm(context->handle, CUBLAS_OP_N, CUBLAS_OP_N, rows, columns,
                                 inner, &one, args->resident, rows, args->in[1], inner, &one,
                                 args->out, rows));
}

const struct kernel_launcher dgemm_launcher = {
    .launch = dgemm_launch,
    .preload = dgemm_preload,
    .context_create = dgemm_context_create,
    .context_destroy = dgemm_context_destroy,
    .call = "cublasDgemm",
};
