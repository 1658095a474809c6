/* launch.cu - when a short kernel starts: behind a kernel, behind a copy, in another stream by
 * an event; how many start in a time, from one stream and from many; and how a large kernel
 * ends. All but the last line of `throughput` is queued behind a gate.
 * CUDA_DEVICE_MAX_CONNECTIONS is what the process was started with. */
#include "bench/experiments/experiment.h"

static const size_t COPY = 4 << 20;

static struct {
    char *host, *device;
    std::vector<cudaStream_t> streams;
    std::vector<cudaEvent_t> events;
} data;

static uint32_t salt_now;

static void open_data()
{
    CHECK(cudaMallocHost(&data.host, COPY));
    CHECK(cudaMalloc(&data.device, COPY));
    data.streams = make_streams(32);
    data.events.resize(256);
    for (cudaEvent_t &event : data.events)
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
}

static void launch(struct mark_list &marks, int index, double us, cudaStream_t stream,
                   int blocks = 1, int threads = 1)
{
    busy<<<blocks, threads, 0, stream>>>(marks.device + index, busy_cycles(us));
    CHECK(cudaGetLastError());
}

/* From each kernel's end to the next one's start, which must come after it. */
static double gap(const struct mark_list &marks, int first, int count, int step = 1)
{
    std::vector<double> gaps;
    for (int i = first + step; i < first + count; i += step) {
        gaps.push_back(marks.start_us(i) - marks.end_us(i - 1));
        if (gaps.back() < 0)
            leave_out("a kernel started before the one that it depends on ended");
    }
    return median(gaps);
}

/* A row of kernels in one stream; and dealt in turn to two or four streams, each kernel behind
 * the one before by an event. */
static void measure_kernels(struct gate &gate)
{
    enum { KERNELS = 64 };
    struct mark_list marks(KERNELS);
    for (long us : {1, 2, 5, 10, 20, 50})
        for (rounds r(9); r.next();)
            for (int streams : {1, 2, 4})
                for (int records = 0; records < (streams == 1 ? 2 : 1); records++) {
                    marks.clear();
                    gate.close(data.streams.data(), streams);
                    for (int i = 0; i < KERNELS; i++) {
                        const cudaStream_t stream = data.streams[i % streams];
                        if (streams > 1 && i > 0)
                            CHECK(cudaStreamWaitEvent(stream, data.events[i - 1], 0));
                        launch(marks, i, double(us), stream);
                        if (streams > 1 || records)
                            CHECK(cudaEventRecord(data.events[i], stream));
                    }
                    gate.open();
                    gate.finish();
                    marks.read(KERNELS);
                    const std::string many =
                        "kernel-to-kernel-by-event-" + std::to_string(streams) + "-streams";
                    note(streams > 1 ? many
                         : records   ? "kernel-record-kernel"
                                     : "kernel-to-kernel",
                         us, gap(marks, 0, KERNELS));
                }
}

enum { IN, OUT };

static void copy(int way, size_t bytes, cudaStream_t stream, size_t at)
{
    if (way == IN)
        CHECK(cudaMemcpyAsync(data.device + at, data.host + at, bytes, cudaMemcpyHostToDevice,
                              stream));
    else
        CHECK(cudaMemcpyAsync(data.host + at, data.device + at, bytes, cudaMemcpyDeviceToHost,
                              stream));
}

static void prepare_copies(int way)
{
    salt_now++;
    if (way == IN) {
        fill_on_host(data.host, COPY, salt_now);
        CHECK(cudaMemset(data.device, 0xa5, COPY));
    } else {
        fill_on_device(data.device, COPY, salt_now);
        poison_on_host(data.host, COPY);
    }
    CHECK(cudaDeviceSynchronize());
}

/* Kernel, `copies` copies, kernel: the copies lie in one stream with the kernels or in another.
 * What a change of engine costs is the time with one copy, less what a second copy adds. */
static void measure_behind_copies(struct gate &gate)
{
    enum { REPEATS = 16 };
    struct mark_list marks(2 * REPEATS);
    for (size_t bytes : {size_t(4096), size_t(65536), size_t(262144), size_t(1) << 20})
        for (rounds r(7); r.next();)
            for (int way : {IN, OUT})
                for (int apart = 0; apart < 2; apart++)
                    for (int copies = 1; copies <= 2; copies++) {
                        marks.clear();
                        prepare_copies(way);
                        gate.close(data.streams.data(), 2);
                        for (int i = 0; i < REPEATS; i++) {
                            const cudaStream_t first = data.streams[0],
                                               second = data.streams[apart];
                            launch(marks, 2 * i, 5, first);
                            if (apart) {
                                CHECK(cudaEventRecord(data.events[2 * i], first));
                                CHECK(cudaStreamWaitEvent(second, data.events[2 * i], 0));
                            }
                            for (int k = 0; k < copies; k++)
                                copy(way, bytes, second,
                                     (size_t)(copies * i + k) % (COPY / bytes) * bytes);
                            if (apart) {
                                CHECK(cudaEventRecord(data.events[2 * i + 1], second));
                                CHECK(cudaStreamWaitEvent(first, data.events[2 * i + 1], 0));
                            }
                            launch(marks, 2 * i + 1, 1, first);
                        }
                        gate.open();
                        gate.finish();
                        marks.read(2 * REPEATS);
                        const size_t copied = std::min(COPY, copies * REPEATS * bytes);
                        if (way == IN)
                            verify_on_device(data.device, copied, salt_now,
                                             "copies in between kernels");
                        else
                            verify_on_host(data.host, copied, salt_now,
                                           "copies out between kernels");
                        note(std::string("kernel-") + std::to_string(copies) +
                                 (way == IN ? "-h2d" : "-d2h") + (apart ? "-by-events" : "") +
                                 "-kernel",
                             long(bytes), gap(marks, 0, 2 * REPEATS, 2));
                    }
}

/* Many kernels of one block in many streams: the device's time per kernel, and the host's where
 * no gate is. */
static void measure_throughput(struct gate &gate)
{
    enum { KERNELS = 384 };
    struct mark_list marks(KERNELS + 1);
    for (long us : {0, 1, 2, 5, 10, 20, 50})
        for (rounds r(5); r.next();)
            for (int streams : {1, 2, 4, 8, 16, 32})
                for (int order = 0; order < 2; order++) {
                    marks.clear();
                    gate.close(data.streams.data(), streams, marks.device + KERNELS);
                    for (int i = 0; i < KERNELS; i++)
                        launch(marks, i, double(us),
                               data.streams[order ? i % streams : i / (KERNELS / streams)]);
                    gate.open();
                    gate.finish();
                    marks.read(KERNELS + 1);
                    double last = 0;
                    for (int i = 0; i < KERNELS; i++)
                        last = std::max(last, marks.end_us(i));
                    note("throughput-" + std::to_string(us) + "us-" +
                             (order ? "breadth" : "depth"),
                         streams, (last - marks.end_us(KERNELS)) / KERNELS);
                    if (order == 0)
                        continue;
                    marks.clear();
                    const double begin = now_us();
                    for (int i = 0; i < KERNELS; i++)
                        launch(marks, i, double(us), data.streams[i % streams]);
                    const double issued = now_us();
                    CHECK(cudaDeviceSynchronize());
                    const double done = now_us();
                    marks.read(KERNELS);
                    note("throughput-" + std::to_string(us) + "us-calls", streams,
                         (issued - begin) / KERNELS);
                    note("throughput-" + std::to_string(us) + "us-without-gate", streams,
                         (done - begin) / KERNELS);
                }
}

/* A kernel of many blocks, then one of a single block, in its stream and in another; how its
 * blocks start, how long the rest takes, and when the next one starts, from its last block's
 * end and from its last block's start. */
static void measure_tail(struct gate &gate)
{
    struct mark_list marks(2);
    const int sms = experiment.sms;
    for (long blocks : {1, sms / 4, sms, 8 * sms, 16 * sms, 32 * sms, 64 * sms})
        for (rounds r(9); r.next();)
            for (int other = 0; other < 2; other++)
                for (long us : {2, 20}) {
                    marks.clear();
                    gate.close(data.streams.data(), 2);
                    launch(marks, 0, double(us), data.streams[0], int(blocks), 256);
                    launch(marks, 1, 1, data.streams[other]);
                    gate.open();
                    gate.finish();
                    marks.read(2);
                    const struct marks &large = marks.host[0], &next = marks.host[1];
                    const std::string name = "tail-" + std::to_string(us) + "us-";
                    note(name + (other ? "other-stream-" : "same-stream-") + "last-end-to-next",
                         blocks, device_us(next.first_start) - device_us(large.last_end));
                    if (other) {
                        note(name + "other-stream-last-start-to-next", blocks,
                             device_us(next.first_start) - device_us(large.last_start));
                        continue;
                    }
                    if (next.first_start < large.last_end)
                        leave_out(
                            "a kernel started before the one before it in its stream ended");
                    note(name + "first-start-to-last-start", blocks,
                         device_us(large.last_start) - device_us(large.first_start));
                    note(name + "first-start-to-last-end", blocks,
                         device_us(large.last_end) - device_us(large.first_start));
                    note(name + "first-end-to-last-end", blocks,
                         device_us(large.last_end) - device_us(large.first_end));
                }
}

int main(int argc, char **argv)
{
    experiment_begin(argc, argv, "launch",
                     "starts of short kernels: behind kernels (parameter: us that they take), "
                     "behind copies (bytes), how many "
                     "in a time (streams), and behind a large kernel's end (blocks)",
                     {"kernels", "copies", "throughput", "tail"});
    open_data();
    struct gate gate;
    if (part("kernels"))
        measure_kernels(gate);
    if (part("copies"))
        measure_behind_copies(gate);
    if (part("tail"))
        measure_tail(gate);
    if (part("throughput"))
        measure_throughput(gate);
    return 0;
}
