// What calls of graphs answer, line by line: graphs.txt is what CUDA 13.0 answers on an H200.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define SAY(call) (printf("%s: %s\n", #call, cudaGetErrorName(call)), (void)cudaGetLastError())
#define OK(call) do { if ((call) != cudaSuccess) { printf("%d: %s failed\n", __LINE__, #call); exit(1); } } while (0)

static int *out;
static cudaStream_t one, two, blocking;
static cudaEvent_t fork_, join;

__global__ void add(int *at, int value)
{
    *at += value;
}

static void times_two(void *at)
{
    *(int *)at *= 2;
}

static void begin(cudaStreamCaptureMode mode)
{
    OK(cudaStreamBeginCapture(one, mode));
}

static void end()
{
    cudaGraph_t graph = (cudaGraph_t)1;
    SAY(cudaStreamEndCapture(one, &graph));
    printf("graph: %s\n", graph == NULL ? "none" : "one");
    SAY(cudaStreamSynchronize(one));
}

static void count(cudaGraph_t graph)
{
    size_t nodes, edges, roots;
    OK(cudaGraphGetNodes(graph, NULL, &nodes));
    OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    OK(cudaGraphGetRootNodes(graph, NULL, &roots));
    printf("%zu nodes, %zu edges, %zu roots\n", nodes, edges, roots);
}

static void run(cudaGraph_t graph, int times)
{
    cudaGraphExec_t exec;
    int got;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaMemset(out, 0, 4));
    for (int i = 0; i < times; i++)
        OK(cudaGraphLaunch(exec, one));
    OK(cudaMemcpyAsync(&got, out, 4, cudaMemcpyDeviceToHost, one));
    OK(cudaStreamSynchronize(one));
    printf("result %d\n", got);
    OK(cudaGraphExecDestroy(exec));
}

static void captures()
{
    cudaGraph_t graph;
    cudaStreamCaptureStatus status;
    begin(cudaStreamCaptureModeGlobal);
    SAY(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    OK(cudaStreamIsCapturing(one, &status));
    printf("status %d\n", status);
    add<<<1, 1, 0, one>>>(out, 1);
    OK(cudaEventRecord(fork_, one));
    OK(cudaStreamWaitEvent(two, fork_));
    add<<<1, 1, 0, two>>>(out, 2);
    OK(cudaMemsetAsync(out + 1, 0, 4, one));
    OK(cudaEventRecord(join, two));
    OK(cudaStreamWaitEvent(one, join));
    add<<<1, 1, 0, one>>>(out, 4);
    OK(cudaStreamEndCapture(one, &graph));
    count(graph);
    run(graph, 3);
    OK(cudaGraphDestroy(graph));

    begin(cudaStreamCaptureModeGlobal);
    SAY(cudaStreamSynchronize(one));
    SAY(cudaMemsetAsync(out, 0, 4, one));
    OK(cudaStreamIsCapturing(one, &status));
    printf("status %d\n", status);
    end();
    begin(cudaStreamCaptureModeGlobal);
    SAY(cudaDeviceSynchronize());
    end();
    begin(cudaStreamCaptureModeGlobal);
    SAY(cudaStreamQuery(one));
    end();
    begin(cudaStreamCaptureModeGlobal);
    int *more;
    SAY(cudaMalloc(&more, 4));
    end();
    begin(cudaStreamCaptureModeRelaxed);
    SAY(cudaMalloc(&more, 4));
    end();
    begin(cudaStreamCaptureModeThreadLocal);
    SAY(cudaFree(more));
    end();
    begin(cudaStreamCaptureModeGlobal);
    int host;
    SAY(cudaMemcpy(&host, out, 4, cudaMemcpyDeviceToHost));
    end();
    begin(cudaStreamCaptureModeRelaxed);
    SAY(cudaMemcpy(&host, out, 4, cudaMemcpyDeviceToHost));
    end();
    begin(cudaStreamCaptureModeGlobal);
    OK(cudaEventRecord(fork_, one));
    SAY(cudaEventQuery(fork_));
    end();
    begin(cudaStreamCaptureModeGlobal);
    OK(cudaEventRecord(fork_, one));
    SAY(cudaEventSynchronize(fork_));
    end();
    begin(cudaStreamCaptureModeGlobal);
    OK(cudaEventRecord(fork_, one));
    OK(cudaStreamWaitEvent(two, fork_));
    add<<<1, 1, 0, two>>>(out, 2);
    end();
    SAY(cudaStreamSynchronize(two));
    begin(cudaStreamCaptureModeGlobal);
    OK(cudaEventRecord(join, two));
    SAY(cudaStreamWaitEvent(one, join));
    end();
    begin(cudaStreamCaptureModeGlobal);
    OK(cudaEventRecord(fork_, one));
    OK(cudaStreamWaitEvent(two, fork_));
    SAY(cudaStreamEndCapture(two, &graph));
    end();
    SAY(cudaStreamSynchronize(two));
    SAY(cudaStreamEndCapture(one, &graph));
    SAY(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
    OK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal));
    add<<<1, 1>>>(out, 2);
    SAY(cudaGetLastError());
    SAY(cudaStreamEndCapture(blocking, &graph));
    begin(cudaStreamCaptureModeGlobal);
    add<<<1, 1>>>(out, 2);
    SAY(cudaGetLastError());
    end();
    begin(cudaStreamCaptureModeGlobal);
    cudaEvent_t event;
    SAY(cudaEventCreate(&event));
    SAY(cudaMallocHost(&more, 4));
    end();
    begin(cudaStreamCaptureModeGlobal);
    SAY(cudaLaunchHostFunc(one, times_two, &host));
    SAY(cudaStreamAddCallback(one, (cudaStreamCallback_t)times_two, &host, 0));
    end();
    begin(cudaStreamCaptureModeGlobal);
    SAY(cudaMemcpyAsync(&host, out, 4, cudaMemcpyDeviceToHost, one));
    SAY(cudaEventDestroy(event));
    end();
}

static void by_hand()
{
    static int host = 5, got;
    int value = 3;
    cudaGraph_t graph, child, clone;
    cudaGraphNode_t in, kernel, function, back, empty, nested, nodes[8];
    size_t nodes_count = 8;
    OK(cudaGraphCreate(&graph, 0));
    SAY(cudaGraphCreate(&child, 1));
    OK(cudaGraphCreate(&child, 0));
    void *arguments[] = {&out, &value};
    cudaKernelNodeParams with = {};
    with.func = (void *)add;
    with.gridDim = dim3(1);
    with.blockDim = dim3(1);
    with.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&kernel, child, NULL, 0, &with));
    OK(cudaGraphAddMemcpyNode1D(&in, graph, NULL, 0, out, &host, 4, cudaMemcpyHostToDevice));
    value = 100;
    OK(cudaGraphAddKernelNode(&kernel, graph, &in, 1, &with));
    value = 0;
    OK(cudaGraphAddChildGraphNode(&nested, graph, &kernel, 1, child));
    OK(cudaGraphAddMemcpyNode1D(&back, graph, NULL, 0, &got, out, 4, cudaMemcpyDeviceToHost));
    OK(cudaGraphAddDependencies(graph, &nested, &back, NULL, 1));
    const cudaHostNodeParams call = {times_two, &got};
    OK(cudaGraphAddHostNode(&function, graph, &back, 1, &call));
    OK(cudaGraphAddEmptyNode(&empty, graph, &function, 1));
    cudaMemsetParams set = {};
    set.dst = out + 1;
    set.value = 7;
    set.elementSize = 4;
    set.width = 2;
    set.height = 1;
    OK(cudaGraphAddMemsetNode(&empty, graph, NULL, 0, &set));
    count(graph);
    OK(cudaGraphClone(&clone, graph));
    count(clone);
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, clone, 0));
    OK(cudaGraphUpload(exec, one));
    OK(cudaGraphLaunch(exec, one));
    OK(cudaStreamSynchronize(one));
    printf("got %d\n", got);
    int sets[2];
    OK(cudaMemcpy(sets, out + 1, sizeof sets, cudaMemcpyDeviceToHost));
    printf("set %d %d\n", sets[0], sets[1]);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    value = 1000;
    OK(cudaGraphExecKernelNodeSetParams(exec, kernel, &with));
    OK(cudaGraphLaunch(exec, one));
    OK(cudaStreamSynchronize(one));
    printf("got %d\n", got);
    cudaGraphNodeType type;
    OK(cudaGraphGetNodes(graph, nodes, &nodes_count));
    for (size_t i = 0; i < nodes_count; i++) {
        OK(cudaGraphNodeGetType(nodes[i], &type));
        printf("type %d\n", type);
    }
    SAY(cudaGraphAddDependencies(graph, &back, &in, NULL, 1));
    cudaGraphExec_t cyclic;
    SAY(cudaGraphInstantiate(&cyclic, graph, 0));
    SAY(cudaGraphAddDependencies(graph, &back, &back, NULL, 1));
    SAY(cudaGraphAddEmptyNode(&empty, graph, NULL, 1));
    SAY(cudaGraphAddEmptyNode(NULL, graph, NULL, 0));
    SAY(cudaGraphAddDependencies(graph, &in, &kernel, NULL, 1));
    SAY(cudaGraphLaunch(NULL, one));
    SAY(cudaGraphInstantiate(NULL, graph, 0));
    with.blockDim = dim3(2000);
    SAY(cudaGraphAddKernelNode(&kernel, graph, NULL, 0, &with));
    SAY(cudaGraphDestroy(graph));
    SAY(cudaGraphLaunch(exec, one));
    SAY(cudaStreamSynchronize(one));
}

int main()
{
    OK(cudaMalloc(&out, 64));
    OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    OK(cudaStreamCreate(&blocking));
    OK(cudaEventCreate(&fork_));
    OK(cudaEventCreate(&join));
    captures();
    by_hand();
    return 0;
}
