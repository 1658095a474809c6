// What calls of CUDA answer, line by line: calls.txt is what CUDA 13.0 answers on an H200.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define SAY(call) (printf("%s: %s\n", #call, cudaGetErrorName(call)), (void)cudaGetLastError())
#define OK(call) do { if ((call) != cudaSuccess) { printf("%d: %s failed\n", __LINE__, #call); exit(1); } } while (0)

__device__ int variable[4];
__constant__ float constant[4];

__global__ void fill(int *out, int value)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void read_variable(int *out)
{
    out[threadIdx.x] = variable[threadIdx.x] + (int)constant[threadIdx.x];
}

static void copies()
{
    enum { N = 4096 };
    static char pageable[N], other[N];
    char *device, *second, *pinned, *managed, *registered = (char *)aligned_alloc(4096, N), *to[5], *from[5];
    OK(cudaMalloc(&device, N));
    OK(cudaMalloc(&second, N));
    OK(cudaMallocHost(&pinned, N));
    OK(cudaMallocManaged(&managed, N));
    OK(cudaHostRegister(registered, N, cudaHostRegisterDefault));
    const char *const names[] = {"pageable", "pinned", "registered", "managed", "device"};
    to[0] = other, to[1] = pinned, to[2] = registered, to[3] = managed, to[4] = second;
    memcpy(from, to, sizeof from);
    from[0] = pageable, from[4] = device;
    const cudaMemcpyKind kinds[] = {cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                    cudaMemcpyDeviceToDevice, cudaMemcpyDefault};
    for (int kind = 0; kind < 5; kind++)
        for (int f = 0; f < 5; f++)
            for (int t = 0; t < 5; t++)
                for (int async = 0; async < 2; async++) {
                    const cudaError_t error = async ? cudaMemcpyAsync(to[t], from[f], 64, kinds[kind], 0)
                                                    : cudaMemcpy(to[t], from[f], 64, kinds[kind]);
                    if (error != cudaSuccess)
                        printf("kind %d, %s to %s%s: %s\n", kind, names[f], names[t], async ? ", async" : "",
                               cudaGetErrorName(error));
                    cudaGetLastError();
                }
    SAY(cudaMemcpy(device, pageable, N + 1, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy(pageable, device + N - 4, 8, cudaMemcpyDeviceToHost));
    SAY(cudaMemcpy(NULL, pageable, 4, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy(device, NULL, 4, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy(device, pageable, 4, (cudaMemcpyKind)9));
    SAY(cudaMemcpy2D(device, 64, pageable, 128, 65, 2, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy2D(device, 64, pageable, 64, 64, 64, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy2D(device, 64, pageable, 64, 64, 65, cudaMemcpyHostToDevice));
    SAY(cudaMemset(device, 1, N));
    SAY(cudaMemset(device, 1, N + 1));
    SAY(cudaMemset(pageable, 1, 4));
    SAY(cudaMemset(pinned, 1, 4));
    SAY(cudaMemset(NULL, 1, 4));
    SAY(cudaMemset2D(device, 64, 1, 65, 2));
    SAY(cudaMemcpyToSymbol(variable, pageable, 16));
    SAY(cudaMemcpyToSymbol(variable, pageable, 17));
    SAY(cudaMemcpyToSymbol(variable, pageable, 8, 12));
    SAY(cudaMemcpyToSymbol(constant, device, 16, 0, cudaMemcpyDeviceToDevice));
    SAY(cudaMemcpyFromSymbol(pageable, variable, 16));
    SAY(cudaHostRegister(registered, N, cudaHostRegisterDefault));
    SAY(cudaHostRegister(NULL, N, cudaHostRegisterDefault));
    SAY(cudaHostRegister(pinned, N, cudaHostRegisterDefault));
    SAY(cudaHostUnregister(registered));
    SAY(cudaHostUnregister(registered));
    SAY(cudaHostUnregister(pinned));
    SAY(cudaFree(pinned));
    SAY(cudaFree(pageable));
    SAY(cudaFree(device + 256));
    SAY(cudaFreeHost(device));
    SAY(cudaFreeHost(pageable));
    SAY(cudaFreeHost(NULL));
    SAY(cudaFree(NULL));
    SAY(cudaFree(second));
    SAY(cudaFree(second));
    SAY(cudaFree(managed));
    SAY(cudaFreeHost(pinned));
    SAY(cudaFreeHost(pinned));
    SAY(cudaMalloc((void **)NULL, 4));
    SAY(cudaMalloc(&second, (size_t)1 << 60));
    SAY(cudaMalloc(&second, 0));
    printf("malloc of nothing: %s\n", second == NULL ? "null" : "not null");
    SAY(cudaMallocHost(&pinned, 0));
    size_t pitch;
    OK(cudaMallocPitch(&second, &pitch, 100, 3));
    printf("pitch %zu\n", pitch);
    void *at;
    SAY(cudaHostGetDevicePointer(&at, pageable, 0));
    unsigned flags;
    SAY(cudaHostGetFlags(&flags, pageable));
    OK(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped | cudaHostAllocPortable));
    OK(cudaHostGetFlags(&flags, pinned));
    printf("flags %u\n", flags);
    cudaPointerAttributes about;
    const void *const pointers[] = {pageable, pinned, device, device + 100, NULL};
    for (const void *pointer : pointers) {
        const cudaError_t error = cudaPointerGetAttributes(&about, pointer);
        printf("pointer: %s, type %d, device %d, %d %d\n", cudaGetErrorName(error), about.type, about.device,
               about.devicePointer == pointer, about.hostPointer == pointer);
    }
}

static void events()
{
    cudaEvent_t one, two, untimed;
    float ms;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&one));
    OK(cudaEventCreate(&two));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    SAY(cudaEventElapsedTime(&ms, one, two));
    SAY(cudaEventQuery(one));
    SAY(cudaEventSynchronize(one));
    SAY(cudaStreamWaitEvent(stream, one));
    OK(cudaEventRecord(one, stream));
    SAY(cudaEventElapsedTime(&ms, one, two));
    OK(cudaEventRecord(two, stream));
    OK(cudaEventRecord(untimed, stream));
    OK(cudaDeviceSynchronize());
    SAY(cudaEventElapsedTime(&ms, one, two));
    SAY(cudaEventElapsedTime(&ms, one, untimed));
    SAY(cudaEventElapsedTime(NULL, one, two));
    SAY(cudaEventQuery(two));
    SAY(cudaEventQuery(NULL));
    SAY(cudaEventCreateWithFlags(&one, 99));
    SAY(cudaEventRecord(NULL, stream));
    SAY(cudaEventDestroy(two));
    SAY(cudaEventDestroy(NULL));
    SAY(cudaStreamQuery(stream));
    SAY(cudaStreamWaitEvent(stream, one, 7));
    int least, greatest, priority;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    printf("priorities %d %d\n", least, greatest);
    cudaStream_t urgent;
    OK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, -99));
    OK(cudaStreamGetPriority(urgent, &priority));
    unsigned flags;
    OK(cudaStreamGetFlags(urgent, &flags));
    printf("priority %d flags %u\n", priority, flags);
    SAY(cudaStreamCreateWithFlags(&urgent, 5));
    SAY(cudaStreamCreate(NULL));
    SAY(cudaStreamDestroy(stream));
    SAY(cudaStreamDestroy(NULL));
    SAY(cudaStreamDestroy(cudaStreamLegacy));
    SAY(cudaStreamSynchronize(cudaStreamPerThread));
    SAY(cudaLaunchHostFunc(0, NULL, NULL));
}

static void devices()
{
    int value, device;
    SAY(cudaSetDevice(99));
    SAY(cudaSetDevice(-1));
    SAY(cudaGetDevice(NULL));
    SAY(cudaGetDeviceCount(NULL));
    cudaDeviceProp about;
    SAY(cudaGetDeviceProperties(&about, 99));
    SAY(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0));
    SAY(cudaDeviceCanAccessPeer(&value, 0, 0));
    printf("can reach itself: %d\n", value);
    SAY(cudaDeviceCanAccessPeer(&value, 0, 99));
    SAY(cudaDeviceEnablePeerAccess(0, 0));
    SAY(cudaDeviceEnablePeerAccess(99, 0));
    SAY(cudaDeviceDisablePeerAccess(0));
    OK(cudaGetDeviceProperties(&about, 0));
    OK(cudaGetDevice(&device));
    OK(cudaRuntimeGetVersion(&value));
    printf("device %d, runtime %d, warp %d, threads %d, block %d %d %d, grid %d %d %d\n", device, value, about.warpSize,
           about.maxThreadsPerBlock, about.maxThreadsDim[0], about.maxThreadsDim[1], about.maxThreadsDim[2],
           about.maxGridSize[0], about.maxGridSize[1], about.maxGridSize[2]);
    printf("shared %zu %zu %zu, registers %d %d, threads %d, blocks %d\n", about.sharedMemPerBlock,
           about.sharedMemPerBlockOptin, about.sharedMemPerMultiprocessor, about.regsPerBlock,
           about.regsPerMultiprocessor, about.maxThreadsPerMultiProcessor, about.maxBlocksPerMultiProcessor);
    printf("%d %d %d %d %d %d %d %d\n", about.unifiedAddressing, about.managedMemory, about.concurrentKernels,
           about.canMapHostMemory, about.cooperativeLaunch, about.concurrentManagedAccess,
           about.pageableMemoryAccess, about.streamPrioritiesSupported);
    SAY((cudaError_t)12345);
    printf("%s\n", cudaGetErrorString((cudaError_t)12345));
    printf("%s\n", cudaGetErrorString(cudaErrorInvalidValue));
    size_t limit;
    OK(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
    printf("limit %zu\n", limit);
    SAY(cudaDeviceSetLimit((cudaLimit)77, 1));
}

static void launches()
{
    int *out;
    OK(cudaMalloc(&out, 4096 * sizeof *out));
    fill<<<1, 1025>>>(out, 1);
    SAY(cudaPeekAtLastError());
    fill<<<0, 32>>>(out, 1);
    SAY(cudaGetLastError());
    SAY(cudaGetLastError());
    fill<<<1, 0>>>(out, 1);
    SAY(cudaGetLastError());
    fill<<<1, dim3(1, 1, 65)>>>(out, 1);
    SAY(cudaGetLastError());
    fill<<<dim3(1, 65536), 1>>>(out, 1);
    SAY(cudaGetLastError());
    fill<<<1, 32, 49152>>>(out, 1);
    SAY(cudaGetLastError());
    fill<<<1, 32, 49153>>>(out, 1);
    SAY(cudaGetLastError());
    SAY(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
    fill<<<1, 32, 100000>>>(out, 1);
    SAY(cudaGetLastError());
    fill<<<1, 32, 100001>>>(out, 1);
    SAY(cudaGetLastError());
    SAY(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000));
    int blocks, grid, block;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
    printf("blocks %d\n", blocks);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 100000));
    printf("blocks %d\n", blocks);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 32, 0));
    printf("blocks %d\n", blocks);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill));
    printf("grid %d block %d\n", grid, block);
    int host[4] = {1, 2, 3, 4}, got[4];
    float more[4] = {10, 20, 30, 40};
    OK(cudaMemcpyToSymbol(variable, host, sizeof host));
    OK(cudaMemcpyToSymbol(constant, more, sizeof more));
    read_variable<<<1, 4>>>(out);
    OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    printf("%d %d %d %d\n", got[0], got[1], got[2], got[3]);
    void *at;
    OK(cudaGetSymbolAddress(&at, variable));
    OK(cudaMemcpy(got, at, sizeof got, cudaMemcpyDeviceToHost));
    printf("%d %d %d %d\n", got[0], got[1], got[2], got[3]);
    SAY(cudaMemcpy(got, NULL, 4, cudaMemcpyDeviceToHost));
    fill<<<1, 32>>>(out, 7);
    printf("after an error and a launch: %s\n", cudaGetErrorName(cudaGetLastError()));
    cudaMalloc((void **)NULL, 4);
    fill<<<1, 32>>>(out, 7);
    printf("an error stays: %s\n", cudaGetErrorName(cudaGetLastError()));
    printf("and is gone: %s\n", cudaGetErrorName(cudaGetLastError()));
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, fill));
    printf("threads %d shared %zu\n", attributes.maxThreadsPerBlock, attributes.sharedSizeBytes);
}

static cudaError_t in_function;
static void call_within(void *memory)
{
    void *at = memory;
    in_function = cudaMalloc(&at, 4);
}

static void functions()
{
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaLaunchHostFunc(stream, call_within, NULL));
    OK(cudaStreamSynchronize(stream));
    printf("within a function: %s\n", cudaGetErrorName(in_function));
    SAY(cudaStreamAddCallback(stream, NULL, NULL, 0));
}

int main()
{
    copies();
    events();
    devices();
    launches();
    functions();
    return 0;
}
