/* experiment.h - what the experiments share: their arguments and their table, the device's
 * clock, the gate that holds work back until all of it is queued, kernels that do known work,
 * and data that is different in every word. Each experiment is a program of one file, so all of
 * it is here. */
#ifndef BENCH_EXPERIMENTS_EXPERIMENT_H
#define BENCH_EXPERIMENTS_EXPERIMENT_H

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#define CHECK(call) check((call), #call, __LINE__)

/* The times of one variant at one parameter. */
struct series {
    std::string variant;
    long parameter;
    std::vector<double> us;
};

/* The state of the program, which is one experiment. */
static struct {
    const char *name;
    bool quick, warming, spoiled;
    std::vector<std::string> parts;
    double begin_us;
    int sms;
    double cycles_per_us;
    unsigned long long base_ns;
    std::vector<struct series> table;
} experiment;

[[noreturn]] __attribute__((format(printf, 1, 2))) static inline void fail(const char *format,
                                                                           ...)
{
    va_list arguments;
    va_start(arguments, format);
    std::fprintf(stderr, "%s: ", experiment.name);
    std::vfprintf(stderr, format, arguments);
    std::fprintf(stderr, "\n");
    va_end(arguments);
    std::fflush(stdout);
    std::_Exit(1);
}

static inline void check(cudaError_t error, const char *call, int line)
{
    if (error != cudaSuccess)
        fail("line %d: %s: %s", line, call, cudaGetErrorString(error));
}

static inline double now_us()
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * double(time.tv_sec) + 1e-3 * double(time.tv_nsec);
}

static inline double median(std::vector<double> values)
{
    if (values.empty())
        fail("a median of nothing was asked for");
    std::sort(values.begin(), values.end());
    const size_t half = values.size() / 2;
    return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/* Adds a time to the table, unless this round warms up or what was run is of no worth. */
static inline void note(const std::string &variant, long parameter, double us)
{
    if (experiment.warming || experiment.spoiled)
        return;
    for (struct series &series : experiment.table)
        if (series.parameter == parameter && series.variant == variant) {
            series.us.push_back(us);
            return;
        }
    experiment.table.push_back({variant, parameter, {us}});
}

/* Leaves what was just run out of the table: until the gate closes again nothing is noted. */
static inline void leave_out(const char *why)
{
    std::printf("# a run is left out: %s\n", why);
    experiment.spoiled = true;
}

static inline void print_table()
{
    for (const struct series &series : experiment.table) {
        const auto ends = std::minmax_element(series.us.begin(), series.us.end());
        std::printf("%s,%s,%ld,%.3f,%.3f,%.3f\n", experiment.name, series.variant.c_str(),
                    series.parameter, median(series.us), *ends.first, *ends.second);
    }
    std::fflush(stdout);
    experiment.table.clear();
}

/* Repeats, as `for (rounds r(5); r.next();)`: in each round all variants are measured in turn.
 * The first round warms up, unless told otherwise. The times are printed after the last round,
 * which comes early when the program's 34 s are over. */
struct rounds {
    int count, done;
    bool begun;
    explicit rounds(int repeats, bool warm = true)
        : count(repeats), done(warm ? 0 : 1), begun(false)
    {
        if (experiment.quick)
            count = std::min(count, 2);
    }
    bool next()
    {
        const bool late = now_us() - experiment.begin_us > 34e6;
        if (done > count || (late && (!begun || !experiment.table.empty()))) {
            if (done <= count)
                std::printf("# the time is over: %d repeats instead of %d\n",
                            std::max(done - 1, 0), count);
            print_table();
            return false;
        }
        begun = true;
        experiment.warming = done++ == 0;
        return true;
    }
};

/* True if the part of this name was asked for; no name asks for all. */
static inline bool part(const char *name)
{
    const auto &parts = experiment.parts;
    return parts.empty() || std::find(parts.begin(), parts.end(), name) != parts.end();
}

/* --- time on the device
 * -------------------------------------------------------------------------- */
__device__ static inline unsigned long long device_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* When the blocks of a kernel started and ended, in nanoseconds of the device's clock. */
struct marks {
    unsigned long long first_start, last_start, first_end, last_end;
};

static __global__ void stamp(struct marks *marks)
{
    const unsigned long long now = device_ns();
    *marks = {now, now, now, now};
}

/* Keeps each block busy for `cycles` of its SM. A kernel of several blocks needs cleared marks.
 */
static __global__ void busy(struct marks *marks, long long cycles)
{
    const long long begin = clock64();
    const unsigned long long start = device_ns();
    while (clock64() - begin < cycles) {
    }
    if (threadIdx.x != 0)
        return;
    if (gridDim.x == 1) {
        const unsigned long long end = device_ns();
        *marks = {start, start, end, end};
        return;
    }
    atomicMin(&marks->first_start, start);
    atomicMax(&marks->last_start, start);
    const unsigned long long end = device_ns();
    atomicMin(&marks->first_end, end);
    atomicMax(&marks->last_end, end);
}

static inline long long busy_cycles(double us)
{
    return (long long)(us * experiment.cycles_per_us);
}

/* Microseconds since the first kernel of the program, by the device's clock. */
static inline double device_us(unsigned long long ns)
{
    return 1e-3 * double((long long)(ns - experiment.base_ns));
}

/* Marks on the device, read back when all is done. */
struct mark_list {
    struct marks *device;
    std::vector<struct marks> host;
    explicit mark_list(size_t count) : device(nullptr), host(count)
    {
        CHECK(cudaMalloc(&device, count * sizeof *device));
        clear();
    }
    ~mark_list()
    {
        cudaFree(device);
    }
    mark_list(const mark_list &) = delete;
    mark_list &operator=(const mark_list &) = delete;
    void clear()
    {
        std::fill(host.begin(), host.end(), (struct marks){~0ULL, 0, ~0ULL, 0});
        CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof *device,
                         cudaMemcpyHostToDevice));
        CHECK(cudaDeviceSynchronize());
    }
    /* Waits for the device; every mark that was asked for must be there. */
    void read(size_t count)
    {
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof *device,
                         cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < count; i++)
            if (host[i].first_start == ~0ULL || host[i].last_end < host[i].first_start)
                fail("kernel %zu of %zu did not run", i, count);
    }
    double start_us(size_t i) const
    {
        return device_us(host[i].first_start);
    }
    double end_us(size_t i) const
    {
        return device_us(host[i].last_end);
    }
};

/* --- the gate
 * ------------------------------------------------------------------------------------- */
static __global__ void gate_wait(const volatile unsigned *flag, unsigned number, unsigned *late)
{
    const long long begin = clock64();
    while (*flag < number)
        if (clock64() - begin > 1000000000LL) {
            *late = 1;
            return;
        }
}

/* Holds streams back until all that they are to do is queued, so that the host's calls cost no
 * time. What waits must be below what the driver queues, about 1000 calls, or the host waits
 * for itself. */
struct gate {
    cudaStream_t stream;
    cudaEvent_t event;
    unsigned *flag, *late, number;
    gate() : number(0)
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        CHECK(cudaHostAlloc(&flag, 2 * sizeof *flag, cudaHostAllocMapped));
        flag[0] = flag[1] = 0;
        late = flag + 1;
    }
    gate(const gate &) = delete;
    gate &operator=(const gate &) = delete;
    /* With marks the time of the opening goes there. */
    void close(const cudaStream_t *streams, int count, struct marks *marks = nullptr)
    {
        experiment.spoiled = false;
        gate_wait<<<1, 1, 0, stream>>>(flag, ++number, late);
        if (marks != nullptr)
            stamp<<<1, 1, 0, stream>>>(marks);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(event, stream));
        for (int i = 0; i < count; i++)
            CHECK(cudaStreamWaitEvent(streams[i], event, 0));
    }
    void open()
    {
        *(volatile unsigned *)flag = number;
    }
    /* Waits for the device, too. A gate that opened by itself has let nothing be measured. */
    void finish()
    {
        CHECK(cudaDeviceSynchronize());
        if (*(volatile unsigned *)late == 0)
            return;
        leave_out("the gate was shut for half a second, so too much was queued behind it");
        *(volatile unsigned *)late = 0;
    }
};

static inline std::vector<cudaStream_t> make_streams(int count)
{
    std::vector<cudaStream_t> streams(count);
    for (cudaStream_t &stream : streams)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return streams;
}

static inline void drop_streams(const std::vector<cudaStream_t> &streams)
{
    for (cudaStream_t stream : streams)
        CHECK(cudaStreamDestroy(stream));
}

/* --- data
 * ----------------------------------------------------------------------------------------- */
/* The word at a place of an array: another one at each place and for each salt. */
__host__ __device__ static inline uint32_t word_at(size_t place, uint32_t salt)
{
    uint32_t word = (uint32_t)place * 2654435761u + salt * 2246822519u;
    return word ^ word >> 15;
}

static __global__ void device_fill(uint32_t *words, size_t count, uint32_t salt)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * (size_t)blockDim.x)
        words[i] = word_at(i, salt);
}

static __global__ void device_count(const uint32_t *words, size_t count, uint32_t salt,
                                    unsigned long long *wrong)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * (size_t)blockDim.x)
        if (words[i] != word_at(i, salt))
            atomicAdd(wrong, 1ULL);
}

static inline void fill_on_device(void *words, size_t bytes, uint32_t salt)
{
    device_fill<<<1024, 256>>>((uint32_t *)words, bytes / 4, salt);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

static inline void verify_on_device(const void *words, size_t bytes, uint32_t salt,
                                    const char *what)
{
    static unsigned long long *wrong = nullptr;
    if (wrong == nullptr)
        CHECK(cudaMallocHost(&wrong, sizeof *wrong));
    *wrong = 0;
    device_count<<<1024, 256>>>((const uint32_t *)words, bytes / 4, salt, wrong);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    if (*wrong != 0)
        fail("%s: %llu of %zu words are wrong on the device", what, *wrong, bytes / 4);
}

static inline void fill_on_host(void *data, size_t bytes, uint32_t salt)
{
    uint32_t *words = (uint32_t *)data;
#pragma omp parallel for
    for (size_t i = 0; i < bytes / 4; i++)
        words[i] = word_at(i, salt);
}

static inline void poison_on_host(void *data, size_t bytes)
{
    char *at = (char *)data;
    const size_t block = 1 << 20;
#pragma omp parallel for
    for (size_t i = 0; i < bytes; i += block)
        std::memset(at + i, 0xa5, std::min(block, bytes - i));
}

static inline void verify_on_host(const void *data, size_t bytes, uint32_t salt,
                                  const char *what)
{
    const uint32_t *words = (const uint32_t *)data;
    size_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
    for (size_t i = 0; i < bytes / 4; i++)
        wrong += words[i] != word_at(i, salt);
    if (wrong != 0)
        fail("%s: %zu of %zu words are wrong on the host", what, wrong, bytes / 4);
}

static __global__ void find_step(unsigned long long *step)
{
    unsigned long long before = device_ns();
    *step = ~0ULL;
    for (int i = 0; i < 20000; i++) {
        const unsigned long long now = device_ns();
        if (now != before && now - before < *step)
            *step = now - before;
        before = now;
    }
}

/* --- the program
 * ---------------------------------------------------------------------------------- */
/* Finds how many cycles an SM makes in a microsecond, once its clock has risen, and how fine
 * the device's clock is. */
static inline void experiment_clock()
{
    struct mark_list marks(1);
    experiment.cycles_per_us = 1000;
    for (int i = 0; i < 3; i++) {
        busy<<<1, 1>>>(marks.device, 50000000);
        CHECK(cudaGetLastError());
        marks.read(1);
        const struct marks &m = marks.host[0];
        if (experiment.base_ns == 0)
            experiment.base_ns = m.first_start;
        experiment.cycles_per_us = 50e6 / (1e-3 * double(m.last_end - m.first_start));
    }
    unsigned long long *step;
    CHECK(cudaMallocHost(&step, sizeof *step));
    find_step<<<1, 1>>>(step);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::printf(
        "# an SM makes %.1f cycles in a microsecond; the device's clock steps by %llu ns\n",
        experiment.cycles_per_us, *step);
    CHECK(cudaFreeHost(step));
    if (!(experiment.cycles_per_us > 100 && experiment.cycles_per_us < 10000))
        fail("an SM makes %g cycles in a microsecond of the device's clock: that can't be",
             experiment.cycles_per_us);
}

/* Reads the arguments, opens the device and prints the head: `measures` says what is measured,
 * `parts` are the names of what may be asked for alone. Ends the program where there is no
 * device. */
static inline void experiment_begin(int argc, char **argv, const char *name,
                                    const char *measures, const std::vector<std::string> &parts)
{
    experiment.name = name;
    for (int i = 1; i < argc; i++) {
        if (std::strcmp(argv[i], "--quick") == 0)
            experiment.quick = true;
        else if (std::find(parts.begin(), parts.end(), argv[i]) != parts.end())
            experiment.parts.push_back(argv[i]);
        else {
            std::fprintf(stderr,
                         "%s: there is no part \"%s\"\nusage: %s [--quick] [PART...]; parts:",
                         name, argv[i], name);
            for (const std::string &known : parts)
                std::fprintf(stderr, " %s", known.c_str());
            std::fprintf(stderr, "\n");
            std::exit(2);
        }
    }
    /* A kernel that is loaded when it is first launched may wait for one that waits behind the
     * gate. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    int count = 0, driver = 0, runtime = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        std::fprintf(stderr, "%s: there is no CUDA device: %s\n", name,
                     error != cudaSuccess ? cudaGetErrorString(error) : "none is visible");
        std::exit(77);
    }
    experiment.begin_us = now_us();
    struct cudaDeviceProp properties;
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    experiment.sms = properties.multiProcessorCount;
    const char *connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    std::printf("# %s: %s\n", name, measures);
    std::printf("# %s, %d SMs, CUDA driver %d, runtime %d, connections: %s%s\n",
                properties.name, experiment.sms, driver, runtime,
                connections != nullptr ? connections : "default",
                experiment.quick ? ", quick: too few repeats to mean anything" : "");
    experiment_clock();
    std::printf("experiment,variant,parameter,median_us,least_us,most_us\n");
    std::fflush(stdout);
}
#endif
