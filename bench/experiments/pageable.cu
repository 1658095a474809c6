/* pageable.cu - what a copy of pageable memory by cudaMemcpyAsync() does to the thread that
 * calls it, to the chain behind it, to kernels in other streams and to copies the other way;
 * each beside the same copy of pinned memory. */
#include "bench/experiments/experiment.h"

#include <thread>

static const size_t MOST = 256 << 20;

enum memory { PAGEABLE, PINNED };
enum way { H2D, D2H };
static const char *const memory_names[] = {"pageable", "pinned"}, *const way_names[] = {"h2d",
                                                                                        "d2h"};

/* One host and one device array per memory and way. */
static struct side {
    char *host, *device;
    cudaStream_t stream;
} sides[2][2];

static void open_sides()
{
    for (int memory = 0; memory < 2; memory++)
        for (int way = 0; way < 2; way++) {
            struct side *side = &sides[memory][way];
            if (memory == PINNED)
                CHECK(cudaMallocHost(&side->host, MOST));
            else if ((side->host = (char *)std::aligned_alloc(2 << 20, MOST)) == nullptr)
                fail("there is no memory");
            CHECK(cudaMalloc(&side->device, MOST));
            CHECK(cudaStreamCreateWithFlags(&side->stream, cudaStreamNonBlocking));
        }
}

static uint32_t salt_now;

/* The copied side gets data that no copy before had, the other one poison. */
static void prepare(const struct side *side, enum way way, size_t bytes)
{
    salt_now++;
    if (way == H2D) {
        fill_on_host(side->host, bytes, salt_now);
        CHECK(cudaMemset(side->device, 0xa5, bytes));
    } else {
        fill_on_device(side->device, bytes, salt_now);
        poison_on_host(side->host, bytes);
    }
    CHECK(cudaDeviceSynchronize());
}

static void start_copy(const struct side *side, enum way way, size_t bytes)
{
    if (way == H2D)
        CHECK(cudaMemcpyAsync(side->device, side->host, bytes, cudaMemcpyHostToDevice,
                              side->stream));
    else
        CHECK(cudaMemcpyAsync(side->host, side->device, bytes, cudaMemcpyDeviceToHost,
                              side->stream));
}

static void verify(const struct side *side, enum way way, size_t bytes, uint32_t salt)
{
    if (way == H2D)
        verify_on_device(side->device, bytes, salt, "a copy in");
    else
        verify_on_host(side->host, bytes, salt, "a copy out");
}

/* When the call returns and when the copy is done: in an idle stream, and in one that a kernel
 * keeps busy for 2 ms, of which the time is taken off what came after it. */
static void measure_call(enum memory memory, enum way way, size_t bytes,
                         struct mark_list &marks)
{
    const struct side *side = &sides[memory][way];
    const std::string name = std::string(memory_names[memory]) + "-" + way_names[way];
    const double busy_us = 2000;
    for (int chain = 0; chain < 2; chain++) {
        prepare(side, way, bytes);
        marks.clear();
        const double begin = now_us();
        busy<<<1, 1, 0, side->stream>>>(marks.device, chain ? busy_cycles(busy_us) : 0);
        CHECK(cudaGetLastError());
        if (!chain)
            CHECK(cudaStreamSynchronize(side->stream));
        const double called = now_us();
        start_copy(side, way, bytes);
        const double returned = now_us();
        busy<<<1, 1, 0, side->stream>>>(marks.device + 1, 0);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(side->stream));
        const double done = now_us();
        marks.read(2);
        verify(side, way, bytes, salt_now);
        note(name + (chain ? "-behind-2ms-call" : "-call"), long(bytes), returned - called);
        note(name + (chain ? "-behind-2ms-all" : "-done"), long(bytes),
             chain ? done - begin : done - called);
        note(name + (chain ? "-behind-2ms-kernel-to-kernel" : "-kernel-to-kernel"), long(bytes),
             marks.start_us(1) - marks.end_us(0));
    }
}

/* Short kernels of another stream, queued before: how far apart they come while the copy is
 * under way. */
static void measure_kernels(enum memory memory, enum way way, size_t bytes, cudaStream_t other,
                            struct mark_list &marks)
{
    enum { KERNELS = 300 };
    const struct side *side = &sides[memory][way];
    const std::string name = std::string(memory_names[memory]) + "-" + way_names[way];
    prepare(side, way, bytes);
    marks.clear();
    for (int i = 0; i < KERNELS; i++)
        busy<<<1, 1, 0, other>>>(marks.device + i, busy_cycles(20));
    CHECK(cudaGetLastError());
    const double called = now_us();
    start_copy(side, way, bytes);
    CHECK(cudaStreamSynchronize(side->stream));
    const double done = now_us();
    marks.read(KERNELS);
    verify(side, way, bytes, salt_now);
    double longest = 0;
    for (int i = 1; i < KERNELS; i++)
        longest = std::max(longest, marks.start_us(i) - marks.end_us(i - 1));
    note(name + "-beside-kernels-done", long(bytes), done - called);
    note(name + "-beside-kernels-longest-gap", long(bytes), longest);
    note(name + "-beside-kernels-all", long(bytes),
         marks.end_us(KERNELS - 1) - marks.start_us(0));
}

/* Eight copies one way in two streams, from one thread: do staged copies of two streams take
 * turns? */
static void measure_streams(enum memory memory, enum way way, size_t bytes)
{
    enum { COPIES = 8 };
    const std::string name = std::string(memory_names[memory]) + "-" + way_names[way];
    const struct side *side = &sides[memory][way];
    const size_t each = bytes / COPIES;
    if (bytes % (COPIES * sizeof(uint32_t)) != 0)
        return;
    for (int streams = 1; streams <= 2; streams++) {
        prepare(side, way, bytes);
        const double begin = now_us();
        for (int i = 0; i < COPIES; i++) {
            struct side slice = *side;
            slice.host += i * each;
            slice.device += i * each;
            slice.stream = streams == 2 && i % 2 ? sides[1 - memory][way].stream : side->stream;
            start_copy(&slice, way, each);
        }
        const double returned = now_us();
        CHECK(cudaDeviceSynchronize());
        const double done = now_us();
        verify(side, way, bytes, salt_now);
        note(name + "-eighths-" + std::to_string(streams) + "-streams-calls", long(bytes),
             returned - begin);
        note(name + "-eighths-" + std::to_string(streams) + "-streams-done", long(bytes),
             done - begin);
    }
}

/* A copy each way at once: by one thread, and by a thread for each. */
static void measure_both(enum memory in, enum memory out, size_t bytes, bool threads)
{
    const struct side *side[2] = {&sides[in][H2D], &sides[out][D2H]};
    uint32_t salts[2];
    double ended[2];
    for (int way = 0; way < 2; way++) {
        prepare(side[way], (enum way)way, bytes);
        salts[way] = salt_now;
    }
    const double begin = now_us();
    auto copy = [&](int way) {
        CHECK(cudaSetDevice(0));
        start_copy(side[way], (enum way)way, bytes);
        CHECK(cudaStreamSynchronize(side[way]->stream));
        ended[way] = now_us() - begin;
    };
    if (threads) {
        std::thread other(copy, 1);
        copy(0);
        other.join();
    } else {
        start_copy(side[1], D2H, bytes);
        start_copy(side[0], H2D, bytes);
        for (int way = 1; way >= 0; way--) {
            CHECK(cudaStreamSynchronize(side[way]->stream));
            ended[way] = now_us() - begin;
        }
    }
    for (int way = 0; way < 2; way++)
        verify(side[way], (enum way)way, bytes, salts[way]);
    const std::string name = std::string(memory_names[in]) + "-in-" + memory_names[out] +
                             "-out-" + (threads ? "two-threads" : "one-thread");
    note(name, long(bytes), std::max(ended[0], ended[1]));
}

static void measure_size(size_t bytes, int repeats, cudaStream_t other, struct mark_list &marks)
{
    for (rounds r(repeats); r.next();) {
        for (int memory = 0; memory < 2; memory++)
            for (int way = 0; way < 2; way++) {
                if (part("call"))
                    measure_call((enum memory)memory, (enum way)way, bytes, marks);
                if (part("kernels"))
                    measure_kernels((enum memory)memory, (enum way)way, bytes, other, marks);
                if (part("streams"))
                    measure_streams((enum memory)memory, (enum way)way, bytes);
            }
        if (!part("both"))
            continue;
        for (int pair = 0; pair < 4; pair++)
            for (int threads = 0; threads < 2; threads++)
                measure_both((enum memory)(pair / 2), (enum memory)(pair % 2), bytes, threads);
    }
}

int main(int argc, char **argv)
{
    experiment_begin(argc, argv, "pageable",
                     "cudaMemcpyAsync() of pageable and pinned memory: the call, the copy, "
                     "kernels and copies behind and "
                     "beside it (parameter: bytes)",
                     {"call", "kernels", "streams", "both"});
    open_sides();
    struct mark_list marks(300);
    const cudaStream_t other = make_streams(1)[0];
    for (size_t bytes :
         {size_t(4096), size_t(16384), size_t(32768), size_t(65532), size_t(65536),
          size_t(65540), size_t(131072), size_t(262144), size_t(1) << 20, size_t(4) << 20,
          size_t(16) << 20, size_t(64) << 20, MOST})
        measure_size(bytes, bytes <= 16 << 20 ? 7 : 3, other, marks);
    return 0;
}
