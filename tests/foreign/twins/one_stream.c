/* Shades rows of pixels through the driver's API, in plain C: the kernel is a string of PTX. */
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROWS 144     /* rows that are shaded */
#define KEPT 36      /* rows that there are */
#define PIXELS 1966080u
#define DEPTH 250u

static const char shader[] =
    ".version 6.4\n"
    ".target sm_75\n"
    ".address_size 64\n"
    ".visible .entry shade(.param .u64 row, .param .u64 shaded, .param .u32 depth)\n"
    "{\n"
    "  .reg .pred %p;\n"
    "  .reg .b32 %pixel, %turn, %depth, %old, %i, %n, %b;\n"
    "  .reg .b64 %row, %shaded, %at;\n"
    "  ld.param.u64 %row, [row];\n"
    "  ld.param.u64 %shaded, [shaded];\n"
    "  ld.param.u32 %depth, [depth];\n"
    "  cvta.to.global.u64 %row, %row;\n"
    "  cvta.to.global.u64 %shaded, %shaded;\n"
    "  mov.u32 %b, %ctaid.x;\n"
    "  mov.u32 %n, %ntid.x;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mad.lo.u32 %i, %b, %n, %i;\n"
    "  mul.wide.u32 %at, %i, 4;\n"
    "  add.u64 %row, %row, %at;\n"
    "  add.u64 %shaded, %shaded, %at;\n"
    "  ld.global.u32 %pixel, [%row];\n"
    "  mov.u32 %turn, 0;\n"
    "deeper:\n"
    "  shr.u32 %old, %pixel, 7;\n"
    "  xor.b32 %pixel, %pixel, %old;\n"
    "  mad.lo.u32 %pixel, %pixel, 22695477, 1;\n"
    "  add.u32 %turn, %turn, 1;\n"
    "  setp.lt.u32 %p, %turn, %depth;\n"
    "  @%p bra deeper;\n"
    "  st.global.u32 [%shaded], %pixel;\n"
    "  ret;\n"
    "}\n";

static void try(CUresult result, int line)
{
    const char *name = "?";
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "shade: line %d: %s\n", line, name);
    exit(12);
}
#define TRY(x) try(x, __LINE__)

static uint32_t shade(uint32_t pixel)
{
    for (uint32_t turn = 0; turn < DEPTH; turn++)
        pixel = (pixel ^ pixel >> 7) * 22695477u + 1u;
    return pixel;
}

struct worker {
    CUstream stream;
    CUdeviceptr row, shaded;
};

static void worker_open(struct worker *worker)
{
    TRY(cuStreamCreate(&worker->stream, CU_STREAM_NON_BLOCKING));
    TRY(cuMemAlloc(&worker->row, PIXELS * 4));
    TRY(cuMemAlloc(&worker->shaded, PIXELS * 4));
}

static void worker_shade(struct worker *worker, CUfunction kernel, const uint32_t *from, uint32_t *to)
{
    uint32_t depth = DEPTH;
    void *arguments[] = {&worker->row, &worker->shaded, &depth};
    TRY(cuMemcpyHtoDAsync(worker->row, from, PIXELS * 4, worker->stream));
    TRY(cuLaunchKernel(kernel, PIXELS / 256, 1, 1, 256, 1, 1, 0, worker->stream, arguments, NULL));
    TRY(cuMemcpyDtoHAsync(to, worker->shaded, PIXELS * 4, worker->stream));
}

#ifdef WRONG
#define WORKERS 1
#else
#define WORKERS 4
#endif

int main(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    uint32_t *rows, *shaded;
    struct worker worker[WORKERS];
    struct timespec a, b;

    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxSetCurrent(context));
    TRY(cuModuleLoadData(&module, shader));
    TRY(cuModuleGetFunction(&kernel, module, "shade"));
    TRY(cuMemAllocHost((void **)&rows, (size_t)KEPT * PIXELS * 4));
    TRY(cuMemAllocHost((void **)&shaded, (size_t)KEPT * PIXELS * 4));
    for (size_t i = 0; i < (size_t)KEPT * PIXELS; i++)
        rows[i] = (uint32_t)i;
    for (int w = 0; w < WORKERS; w++) {
        worker_open(&worker[w]);
        worker_shade(&worker[w], kernel, rows, shaded);
        TRY(cuStreamSynchronize(worker[w].stream));
    }

    nvtxRangePushA("work");
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int r = 0; r < ROWS; r++)
        worker_shade(&worker[r % WORKERS], kernel, rows + (size_t)(r % KEPT) * PIXELS,
                     shaded + (size_t)(r % KEPT) * PIXELS);
    TRY(cuCtxSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &b);
    nvtxRangePop();

    for (size_t i = 0; i < (size_t)KEPT * PIXELS; i += 20011)
        if (shaded[i] != shade((uint32_t)i)) {
            printf("pixel %zu is %u, not %u\n", i, shaded[i], shade((uint32_t)i));
            return 1;
        }
    printf("%d rows shaded\n", ROWS);
    printf("time_ms=%.3f\n", (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6);
    return 0;
}
