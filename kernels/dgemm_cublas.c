/* dgemm_cublas.c - `dgemm` on the device: one cublasDgemm per tile. Left out of builds without
 * the CUDA Toolkit; with it, cuBLAS itself is opened when it is first needed.
 *
 * Each stream has a handle and a workspace of its own. A handle's calls go into its stream, and
 * a workspace that two streams shared would be a race, or have cuBLAS wait ("cuBLAS Library",
 * 2.1.2: thread safety, and cublasSetWorkspace()). */
#include "kernels/dgemm_rows.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* What cuBLAS's documentation asks for on Hopper; others need 4 MiB. */
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
    char why[KERNEL_WHY]; /* it can't be used; "": it can */
} cublas = {.once = PTHREAD_ONCE_INIT};

/* What a stream's launches need. */
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

/* The newest that there is: what is used here is in all of them since 12. */
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

/* NULL, or why there is no cuBLAS. */
static const char *missing(void)
{
    pthread_once(&cublas.once, open_library);
    return cublas.why[0] != '\0' ? cublas.why : NULL;
}

int dgemm_preload(void)
{
    return missing() != NULL ? cudaErrorSharedObjectInitFailed : cudaSuccess;
}

/* Puts what failed into `why` and returns it; NULL where nothing did. */
static const char *explain(cublasStatus_t status, const char *call, char why[KERNEL_WHY])
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return NULL;
    snprintf(why, KERNEL_WHY, "%s failed: %s", call, cublas.status_text(status));
    return why;
}

/* Setting the stream takes a workspace away again, so that comes first. */
static const char *set_up(struct dgemm_context *context, void *stream, char why[KERNEL_WHY])
{
    const char *failed = explain(cublas.create(&context->handle), "cublasCreate", why);
    if (failed == NULL)
        failed = explain(cublas.set_stream(context->handle, stream), "cublasSetStream", why);
    if (failed != NULL)
        return failed;
    const cudaError_t result = cudaMalloc(&context->workspace, WORKSPACE_BYTES);
    if (result != cudaSuccess) {
        cudaGetLastError();
        snprintf(why, KERNEL_WHY, "no device memory for a workspace of 32 MiB: %s",
                 cudaGetErrorString(result));
        return why;
    }
    return explain(cublas.set_workspace(context->handle, context->workspace, WORKSPACE_BYTES),
                   "cublasSetWorkspace", why);
}

const char *dgemm_context_create(void *stream, void **context, char why[KERNEL_WHY])
{
    struct dgemm_context *made = calloc(1, sizeof *made);
    const char *failed = missing();
    if (made == NULL)
        failed = "no memory";
    if (failed == NULL)
        failed = set_up(made, stream, why);
    if (failed == NULL)
        *context = made;
    else
        dgemm_context_destroy(made);
    return failed;
}

/* The device is idle, or its context is lost: then this frees what the host has. */
void dgemm_context_destroy(void *context)
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

/* The nearest of CUDA's errors: launchers have no others. */
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

int dgemm_launch(const struct kernel_args *args, void *stream)
{
    const struct dgemm_context *context = args->context;
    const int64_t rows = (int64_t)args->params.rows, inner = (int64_t)args->params.inner;
    const int64_t columns = (int64_t)(args->count / args->params.rows);
    const double one = 1;
    (void)stream; /* the handle's */
    if (context == NULL)
        return cudaErrorInvalidValue;
    return error_of(cublas.dgemm(context->handle, CUBLAS_OP_N, CUBLAS_OP_N, rows, columns,
                                 inner, &one, args->resident, rows, args->in[1], inner, &one,
                                 args->out, rows));
}
