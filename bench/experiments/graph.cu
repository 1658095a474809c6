/* graph.cu - what a node of a graph costs, by its kind, and by the number of branches that the
 * nodes are dealt to; and what the launch costs. The same ops in streams stand beside it. A
 * kernel before all nodes and one behind all note the device's time, so that the launch is not
 * in it. */
#include "bench/experiments/experiment.h"

#include <atomic>
#include <memory>

enum { MOST_NODES = 256, SLICE = 4096 };

/* A letter for each kind of node: a pattern of them is repeated along a branch. */
static const char *const patterns[][2] = {
    {"k", "kernel"},
    {"c", "h2d"},
    {"d", "d2h"},
    {"m", "memset"},
    {"e", "empty"},
    {"r", "record"},
    {"h", "host"},
    {"kc", "kernel-h2d"},
    {"kd", "kernel-d2h"},
    {"cd", "h2d-d2h"},
    {"kr", "kernel-record"},
    {"kh", "kernel-host"},
    {"ckd", "h2d-kernel-d2h"},
};

/* Each node works on a slice, an event, a mark and a counter of its own. */
static struct {
    char *host_in, *host_out, *device_in, *device_out, *zeros;
    std::vector<cudaEvent_t> events;
    struct mark_list *marks;
    std::atomic<int> *ran;
} data;

static void CUDART_CB count_run(void *ran)
{
    ++*(std::atomic<int> *)ran;
}

static void open_data()
{
    const size_t bytes = (size_t)MOST_NODES * SLICE;
    CHECK(cudaMallocHost(&data.host_in, bytes));
    CHECK(cudaMallocHost(&data.host_out, bytes));
    CHECK(cudaMalloc(&data.device_in, bytes));
    CHECK(cudaMalloc(&data.device_out, bytes));
    CHECK(cudaMalloc(&data.zeros, bytes));
    data.events.resize(MOST_NODES);
    for (cudaEvent_t &event : data.events)
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    data.marks = new mark_list(MOST_NODES + 2);
    data.ran = new std::atomic<int>[MOST_NODES]();
}

static uint32_t salt_now;

/* New bytes where copies read, poison where anything writes. */
static void prepare()
{
    const size_t bytes = (size_t)MOST_NODES * SLICE;
    salt_now++;
    fill_on_host(data.host_in, bytes, salt_now);
    std::memset(data.host_out, 0xa5, bytes);
    fill_on_device(data.device_out, bytes, ~salt_now);
    CHECK(cudaMemset(data.device_in, 0xa5, bytes));
    CHECK(cudaMemset(data.zeros, 0xa5, bytes));
    for (int i = 0; i < MOST_NODES; i++)
        data.ran[i] = 0;
    data.marks->clear();
}

/* The nodes dealt to branches, each a chain that goes through the pattern. */
struct shape {
    const char *pattern, *name;
    int nodes, branches;
    char kind(int node) const
    {
        return pattern[(node / branches) % (int)std::strlen(pattern)];
    }
};

/* Records of events and empty nodes leave nothing behind that could be looked at. The times
 * between kernels that follow one another in a branch are added to `gaps`. */
static void verify(const struct shape &shape, std::vector<double> *gaps)
{
    std::vector<char> in((size_t)MOST_NODES * SLICE), zeros(in.size());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(in.data(), data.device_in, in.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(zeros.data(), data.zeros, zeros.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(data.marks->host.data(), data.marks->device,
                     (MOST_NODES + 2) * sizeof(struct marks), cudaMemcpyDeviceToHost));
    for (int node = 0; node < shape.nodes; node++) {
        const size_t at = (size_t)node * SLICE;
        const char kind = shape.kind(node);
        bool good = true;
        for (size_t i = 0; i < SLICE / 4; i++) {
            const size_t word = at / 4 + i;
            good &=
                kind != 'c' || ((const uint32_t *)in.data())[word] == word_at(word, salt_now);
            good &= kind != 'd' ||
                    ((const uint32_t *)data.host_out)[word] == word_at(word, ~salt_now);
            good &= kind != 'm' || ((const uint32_t *)zeros.data())[word] == 0;
        }
        good &= kind != 'h' || data.ran[node] == 1;
        good &= kind != 'k' || data.marks->host[node].last_end != 0;
        if (!good)
            fail("node %d of \"%s\", %d nodes in %d branches, did not do its work", node,
                 shape.name, shape.nodes, shape.branches);
        int next = node + shape.branches;
        while (next < shape.nodes && shape.kind(next) != 'k')
            next += shape.branches;
        if (kind == 'k' && next < shape.nodes)
            gaps->push_back(data.marks->start_us(next) - data.marks->end_us(node));
    }
    const double first = data.marks->end_us(MOST_NODES),
                 last = data.marks->start_us(MOST_NODES + 1);
    if (data.marks->host[MOST_NODES].last_end == 0 || last < first)
        fail("the first and the last kernel of \"%s\" are not in order", shape.name);
}

/* --- as a graph
 * ----------------------------------------------------------------------------------- */
static cudaGraphNode_t add_kernel(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                  struct marks *marks)
{
    cudaGraphNode_t node;
    long long cycles = 0;
    void *arguments[] = {&marks, &cycles};
    struct cudaKernelNodeParams kernel = {};
    kernel.func = (void *)busy;
    kernel.gridDim = dim3(1);
    kernel.blockDim = dim3(1);
    kernel.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&node, graph, after, count, &kernel));
    return node;
}

static cudaGraphNode_t add_node(cudaGraph_t graph, char kind, int index,
                                const cudaGraphNode_t *after)
{
    const size_t at = (size_t)index * SLICE;
    cudaGraphNode_t node;
    struct cudaHostNodeParams host = {};
    struct cudaMemsetParams memset = {};
    switch (kind) {
    case 'k':
        return add_kernel(graph, after, 1, data.marks->device + index);
    case 'c':
        CHECK(cudaGraphAddMemcpyNode1D(&node, graph, after, 1, data.device_in + at,
                                       data.host_in + at, SLICE, cudaMemcpyHostToDevice));
        return node;
    case 'd':
        CHECK(cudaGraphAddMemcpyNode1D(&node, graph, after, 1, data.host_out + at,
                                       data.device_out + at, SLICE, cudaMemcpyDeviceToHost));
        return node;
    case 'm':
        memset.dst = data.zeros + at;
        memset.elementSize = 4;
        memset.width = SLICE / 4;
        memset.height = 1;
        CHECK(cudaGraphAddMemsetNode(&node, graph, after, 1, &memset));
        return node;
    case 'r':
        CHECK(cudaGraphAddEventRecordNode(&node, graph, after, 1, data.events[index]));
        return node;
    case 'h':
        host.fn = count_run;
        host.userData = &data.ran[index];
        CHECK(cudaGraphAddHostNode(&node, graph, after, 1, &host));
        return node;
    default:
        CHECK(cudaGraphAddEmptyNode(&node, graph, after, 1));
        return node;
    }
}

struct built {
    struct shape shape;
    cudaGraphExec_t exec;
    double device_us; /* of this round */
};

static struct built build(const struct shape &shape, bool timed)
{
    struct built built = {shape, nullptr, 0};
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t first = add_kernel(graph, nullptr, 0, data.marks->device + MOST_NODES);
    std::vector<cudaGraphNode_t> ends(shape.branches, first);
    for (int node = 0; node < shape.nodes; node++) {
        cudaGraphNode_t *end = &ends[node % shape.branches];
        *end = add_node(graph, shape.kind(node), node, end);
    }
    add_kernel(graph, ends.data(), ends.size(), data.marks->device + MOST_NODES + 1);
    const double begin = now_us();
    CHECK(cudaGraphInstantiate(&built.exec, graph, 0));
    if (timed)
        note(std::string("instantiate-") + shape.name + "-chain", shape.nodes,
             now_us() - begin);
    CHECK(cudaGraphDestroy(graph));
    return built;
}

static std::string title(const struct shape &shape, const char *form)
{
    std::string name = std::string(form) + "-" + shape.name;
    return shape.branches == 1 ? name + "-chain"
                               : name + "-" + std::to_string(shape.nodes) + "-nodes-wide";
}

/* The launch without a gate: the call, and all of it. Then behind a gate: the device's time. */
static void launch(struct built *built, cudaStream_t stream, struct gate &gate)
{
    const struct shape &shape = built->shape;
    const long parameter = shape.branches == 1 ? shape.nodes : shape.branches;
    std::vector<double> gaps;
    prepare();
    const double begin = now_us();
    CHECK(cudaGraphLaunch(built->exec, stream));
    const double launched = now_us();
    CHECK(cudaStreamSynchronize(stream));
    const double done = now_us();
    verify(shape, &gaps);
    note(title(shape, "graph") + "-call", parameter, launched - begin);
    note(title(shape, "graph") + "-all", parameter, done - begin);
    prepare();
    gaps.clear();
    gate.close(&stream, 1);
    CHECK(cudaGraphLaunch(built->exec, stream));
    gate.open();
    gate.finish();
    verify(shape, &gaps);
    built->device_us = data.marks->start_us(MOST_NODES + 1) - data.marks->end_us(MOST_NODES);
    note(title(shape, "graph") + "-device", parameter, built->device_us);
    if (!gaps.empty())
        note(title(shape, "graph") + "-kernel-to-kernel", parameter, median(gaps));
}

/* --- in streams
 * ------------------------------------------------------------------------------------ */
static void issue(char kind, int index, cudaStream_t stream)
{
    const size_t at = (size_t)index * SLICE;
    if (kind == 'k')
        busy<<<1, 1, 0, stream>>>(data.marks->device + index, 0);
    else if (kind == 'c')
        CHECK(cudaMemcpyAsync(data.device_in + at, data.host_in + at, SLICE,
                              cudaMemcpyHostToDevice, stream));
    else if (kind == 'd')
        CHECK(cudaMemcpyAsync(data.host_out + at, data.device_out + at, SLICE,
                              cudaMemcpyDeviceToHost, stream));
    else if (kind == 'm')
        CHECK(cudaMemsetAsync(data.zeros + at, 0, SLICE, stream));
    else if (kind == 'r')
        CHECK(cudaEventRecord(data.events[index], stream));
    else if (kind == 'h')
        CHECK(cudaLaunchHostFunc(stream, count_run, &data.ran[index]));
    CHECK(cudaGetLastError());
}

static void in_streams(const struct shape &shape, const std::vector<cudaStream_t> &streams,
                       const std::vector<cudaEvent_t> &joins, struct gate &gate)
{
    std::vector<double> gaps;
    prepare();
    gate.close(streams.data(), shape.branches, data.marks->device + MOST_NODES);
    for (int node = 0; node < shape.nodes; node++)
        issue(shape.kind(node), node, streams[node % shape.branches]);
    for (int s = 1; s < shape.branches; s++) {
        CHECK(cudaEventRecord(joins[s], streams[s]));
        CHECK(cudaStreamWaitEvent(streams[0], joins[s], 0));
    }
    stamp<<<1, 1, 0, streams[0]>>>(data.marks->device + MOST_NODES + 1);
    CHECK(cudaGetLastError());
    gate.open();
    gate.finish();
    verify(shape, &gaps);
    const long parameter = shape.branches == 1 ? shape.nodes : shape.branches;
    note(title(shape, "streams") + "-device", parameter,
         data.marks->start_us(MOST_NODES + 1) - data.marks->end_us(MOST_NODES));
    if (!gaps.empty())
        note(title(shape, "streams") + "-kernel-to-kernel", parameter, median(gaps));
}

int main(int argc, char **argv)
{
    experiment_begin(
        argc, argv, "graph",
        "nodes of a graph by kind, as a chain (parameter: nodes) and in branches (parameter: "
        "branches), and "
        "the same ops in streams; copies are of 4 KiB; the device's time leaves the launch out",
        {"chain", "wide"});
    open_data();
    struct gate gate;
    const std::vector<cudaStream_t> streams = make_streams(32);
    std::vector<cudaEvent_t> joins(32);
    for (cudaEvent_t &event : joins)
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (const auto &pattern : patterns) {
        std::vector<struct built> built;
        if (part("chain"))
            for (int nodes : {32, (int)MOST_NODES})
                built.push_back(build({pattern[0], pattern[1], nodes, 1}, true));
        if (part("wide"))
            for (int branches : {2, 4, 8, 16, 32})
                built.push_back(build({pattern[0], pattern[1], MOST_NODES, branches}, false));
        for (rounds r(7); r.next();) {
            for (struct built &graph : built) {
                launch(&graph, streams[0], gate);
                if (graph.shape.pattern[0] != 'e')
                    in_streams(graph.shape, streams, joins, gate);
            }
            if (part("chain"))
                note(std::string("graph-") + pattern[1] + "-chain-per-node", MOST_NODES,
                     (built[1].device_us - built[0].device_us) / (MOST_NODES - 32));
        }
        for (struct built &graph : built)
            CHECK(cudaGraphExecDestroy(graph.exec));
    }
    return 0;
}
