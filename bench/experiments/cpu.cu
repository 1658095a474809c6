/* cpu.cu - how fast the CPU works, alone and beside copies: a loop that memory bounds and one
 * that arithmetic bounds, by the number of threads; and what the loops do to the copies. */
#include "bench/experiments/experiment.h"

#include <atomic>
#include <chrono>
#include <omp.h>
#include <thread>

static const size_t COPY = 64 << 20;
enum { IN, OUT, AHEAD = 4, LANES = 16, TURNS = 2000 };

/* --- copies that go on until they are told to stop
 * ------------------------------------------------ */
struct copier {
    int way;
    char *host, *device;
    cudaStream_t stream;
    cudaEvent_t events[AHEAD];
    std::atomic<bool> stop;
    std::atomic<long> done;
    double first_us, last_us;
};

static void open_copier(struct copier *copier, int way)
{
    copier->way = way;
    CHECK(cudaMallocHost(&copier->host, COPY));
    CHECK(cudaMalloc(&copier->device, COPY));
    CHECK(cudaStreamCreateWithFlags(&copier->stream, cudaStreamNonBlocking));
    for (cudaEvent_t &event : copier->events)
        CHECK(cudaEventCreateWithFlags(&event, cudaEventBlockingSync | cudaEventDisableTiming));
}

/* The thread that copies sleeps while it waits, and so takes next to nothing of the CPU. */
static void copy_on(struct copier *copier)
{
    CHECK(cudaSetDevice(0));
    for (long i = 0; !copier->stop || i % AHEAD != 0; i++) {
        cudaEvent_t event = copier->events[i % AHEAD];
        if (i >= AHEAD) {
            CHECK(cudaEventSynchronize(event));
            copier->last_us = now_us();
            if (copier->done++ == 0)
                copier->first_us = copier->last_us;
        }
        if (copier->way == IN)
            CHECK(cudaMemcpyAsync(copier->device, copier->host, COPY, cudaMemcpyHostToDevice,
                                  copier->stream));
        else
            CHECK(cudaMemcpyAsync(copier->host, copier->device, COPY, cudaMemcpyDeviceToHost,
                                  copier->stream));
        CHECK(cudaEventRecord(event, copier->stream));
    }
    CHECK(cudaStreamSynchronize(copier->stream));
}

/* --- the CPU's work
 * ------------------------------------------------------------------------------- */
struct work {
    const char *name;
    size_t count; /* words or blocks of lanes */
    uint32_t *in, *out;
};

static void pass_memory(const struct work *work, uint32_t salt, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < work->count; i++)
        work->out[i] = work->in[i] * 3 + salt;
}

static uint32_t compute_lane(uint32_t seed)
{
    uint32_t x = seed;
    for (int turn = 0; turn < TURNS; turn++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    return x;
}

/* Lanes that the compiler puts side by side; they stay in registers. */
static void pass_compute(const struct work *work, uint32_t salt, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t block = 0; block < work->count; block++) {
        uint32_t x[LANES];
        for (int lane = 0; lane < LANES; lane++)
            x[lane] = word_at(block * LANES + lane, salt) | 1;
        for (int turn = 0; turn < TURNS; turn++)
            for (int lane = 0; lane < LANES; lane++) {
                x[lane] ^= x[lane] << 13;
                x[lane] ^= x[lane] >> 17;
                x[lane] ^= x[lane] << 5;
            }
        for (int lane = 0; lane < LANES; lane++)
            work->out[block * LANES + lane] = x[lane];
    }
}

static void verify_work(const struct work *work, bool compute, uint32_t salt)
{
    size_t wrong = 0;
    if (compute) {
#pragma omp parallel for reduction(+ : wrong)
        for (size_t i = 0; i < work->count * LANES; i += 61)
            wrong += work->out[i] != compute_lane(word_at(i, salt) | 1);
    } else {
#pragma omp parallel for reduction(+ : wrong)
        for (size_t i = 0; i < work->count; i++)
            wrong += work->out[i] != word_at(i, 5) * 3 + salt;
    }
    if (wrong != 0)
        fail("%s: %zu words are wrong", work->name, wrong);
}

static uint32_t salt_now = 100;

/* New data and poison. Nothing may copy meanwhile, for this waits for the device. */
static void prepare_copier(struct copier *copier, uint32_t salt)
{
    if (copier->way == IN) {
        fill_on_host(copier->host, COPY, salt);
        CHECK(cudaMemset(copier->device, 0xa5, COPY));
    } else {
        fill_on_device(copier->device, COPY, salt);
        poison_on_host(copier->host, COPY);
    }
    CHECK(cudaDeviceSynchronize());
    copier->stop = false;
    copier->done = 0;
}

static void verify_copier(const struct copier *copier, uint32_t salt, const std::string &name,
                          int threads)
{
    if (copier->way == IN)
        verify_on_device(copier->device, COPY, salt, "copies in beside the CPU");
    else
        verify_on_host(copier->host, COPY, salt, "copies out beside the CPU");
    if (copier->done > 1)
        note(name + (copier->way == IN ? "-h2d-of-64M" : "-d2h-of-64M"), threads,
             (copier->last_us - copier->first_us) / double(copier->done - 1));
}

/* Passes of the work for 40 ms, beside the copies whose bits are in `beside`; without work, the
 * copies alone. */
static void measure(const struct work *work, bool compute, int threads, int beside,
                    struct copier *copiers)
{
    static const char *const besides[] = {"alone", "beside-h2d", "beside-d2h", "beside-both"};
    const std::string name =
        std::string(work != nullptr ? work->name : "no-work") + "-" + besides[beside];
    std::thread thread[2];
    const uint32_t salt = ++salt_now;
    double least = 1e18, begin = now_us();
    if (work != nullptr)
        poison_on_host(work->out, (compute ? LANES : 1) * work->count * 4);
    for (int way : {IN, OUT})
        if (beside & 1 << way)
            prepare_copier(&copiers[way], salt + way);
    for (int way : {IN, OUT})
        if (beside & 1 << way)
            thread[way] = std::thread(copy_on, &copiers[way]);
    for (int way : {IN, OUT})
        while (beside & 1 << way && copiers[way].done == 0)
            if (now_us() - begin > 10e6)
                fail("no copy came to its end in 10 s");
    begin = now_us();
    std::vector<double> passes;
    while (now_us() - begin < 40e3 || passes.size() < 3) {
        const double start = now_us();
        if (work == nullptr)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        else if (compute)
            pass_compute(work, salt, threads);
        else
            pass_memory(work, salt, threads);
        passes.push_back(now_us() - start);
        least = std::min(least, passes.back());
    }
    for (int way : {IN, OUT})
        copiers[way].stop = true;
    for (int way : {IN, OUT})
        if (beside & 1 << way)
            thread[way].join();
    for (int way : {IN, OUT})
        if (beside & 1 << way)
            verify_copier(&copiers[way], salt + way, name, threads);
    if (work == nullptr)
        return;
    verify_work(work, compute, salt);
    note(name + "-pass", threads, median(passes));
    note(name + "-least-pass", threads, least);
}

int main(int argc, char **argv)
{
    experiment_begin(argc, argv, "cpu",
                     "a pass of the CPU over 128 MiB in and 128 MiB out (memory) or over "
                     "arithmetic in registers (compute), and "
                     "copies of 64 MiB beside it (parameter: threads)",
                     {"memory", "compute"});
    static struct copier copiers[2];
    for (int way : {IN, OUT})
        open_copier(&copiers[way], way);
    struct work memory = {"memory", 32 << 20, nullptr, nullptr},
                compute = {"compute", 2048, nullptr, nullptr};
    CHECK(cudaMallocHost(&memory.in, memory.count * 4));
    CHECK(cudaMallocHost(&memory.out, memory.count * 4));
    CHECK(cudaMallocHost(&compute.out, compute.count * LANES * 4));
    fill_on_host(memory.in, memory.count * 4, 5);
    const int most = omp_get_max_threads();
    std::printf("# processors: %d; the arrays are page-locked\n", omp_get_num_procs());
    for (int threads : {1, 2, 4, 8, 12, 14, 16, 32, 64}) {
        if (threads > 1 && threads > most)
            continue;
        for (rounds r(3); r.next();)
            for (int beside = 0; beside < 4; beside++) {
                if (part("memory"))
                    measure(&memory, false, threads, beside, copiers);
                if (part("compute"))
                    measure(&compute, true, threads, beside, copiers);
                if (threads == 1 && beside > 0)
                    measure(nullptr, false, 0, beside, copiers);
            }
    }
    return 0;
}
