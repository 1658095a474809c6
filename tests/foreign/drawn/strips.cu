// A front moves over six strips of a country: a strip's hour needs its own last one, and the western strip's same hour.
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

#define STRIPS 6
#define POINTS (66 * 256)
#define DAYS 160
#define WORK 24000

struct Forecast { // a day's forcing, which a thread of its own makes ready
    int hours;
    float forcing;
};

class Forcing
{
    std::deque<Forecast> ready_;
    std::mutex m_;
    std::condition_variable c_;
    std::thread maker_;

  public:
    static Forecast of(int day) { return {18 + 2 * (day % 3), 0.001f * (1 + day % 7)}; }
    Forcing(int days) : maker_([this, days] {
        for (int d = 0; d < days; d++) {
            std::lock_guard<std::mutex> hold(m_);
            ready_.push_back(of(d));
            c_.notify_one();
        }
    }) {}
    ~Forcing() { maker_.join(); }
    Forecast next()
    {
        std::unique_lock<std::mutex> hold(m_);
        c_.wait(hold, [this] { return !ready_.empty(); });
        Forecast f = ready_.front();
        ready_.pop_front();
        return f;
    }
};

static void T(cudaError_t e)
{
    if (e)
        std::fprintf(stderr, "strips: %s\n", cudaGetErrorString(e)), std::exit(1);
}

__host__ __device__ static float hour(float mine, float west, float forcing, int n)
{
    float v = fmaf(0.5f, west, 0.5f * mine);
    for (int i = 0; i < n; i++)
        v = fmaf(v, 0.9995f, forcing);
    return v;
}

__global__ void move_front(const float *mine, const float *west, float *next, float forcing, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    next[i] = hour(mine[i], west[i], forcing, n);
}

int main()
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
    float *air[STRIPS][2], *sea;
    cudaStream_t stream[STRIPS];
    cudaEvent_t past[STRIPS][2];
    for (int s = 0; s < STRIPS; s++) {
        T(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
        for (int i = 0; i < 2; i++) {
#ifdef WRONG
            T(cudaEventCreate(&past[s][i]));
#else
            T(cudaEventCreateWithFlags(&past[s][i], cudaEventDisableTiming));
#endif
            T(cudaMalloc(&air[s][i], POINTS * sizeof(float)));
            T(cudaMemset(air[s][i], 0, POINTS * sizeof(float)));
        }
    }
    T(cudaMalloc(&sea, POINTS * sizeof(float)));
    T(cudaMemset(sea, 0, POINTS * sizeof(float)));
    T(cudaDeviceSynchronize());
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    int issued = 0; // hours since the beginning
    auto day = [&](Forecast f) {
        for (int wave = 0; wave < f.hours + STRIPS - 1; wave++)
            for (int s = 0; s < STRIPS; s++) {
                int h = wave - s;
                if (h < 0 || h >= f.hours)
                    continue;
                int to = (issued + h + 1) % 2, from = !to;
                if (s > 0)
                    T(cudaStreamWaitEvent(stream[s], past[s - 1][to], 0));
                if (s + 1 < STRIPS)
                    T(cudaStreamWaitEvent(stream[s], past[s + 1][to], 0)); // it has read what is overwritten now
                move_front<<<POINTS / 256, 256, 0, stream[s]>>>(air[s][from], s ? air[s - 1][to] : sea, air[s][to], f.forcing, WORK);
                T(cudaEventRecord(past[s][to], stream[s]));
            }
        issued += f.hours;
    };
    {
        Forcing forcing(3);
        Forecast all = {0, 0.002f}; // spin-up: three days in one go
        for (int d = 0; d < 3; d++)
            all.hours += forcing.next().hours;
        day(all);
        T(cudaDeviceSynchronize());
    }
    timespec t[2];
    {
        Forcing forcing(DAYS);
        clock_gettime(CLOCK_MONOTONIC, &t[0]);
        for (int d = 0; d < DAYS; d++)
            day(forcing.next());
        T(cudaDeviceSynchronize());
        clock_gettime(CLOCK_MONOTONIC, &t[1]);
    }

    float v[STRIPS] = {}, got;
    int bad = 0;
    for (int d = -1; d < DAYS; d++) {
        Forecast f = d < 0 ? Forecast{60, 0.002f} : Forcing::of(d);
        if (d >= 0 && d < DAYS - 3)
            continue; // a day forgets what was before it
        for (int h = 0; h < f.hours; h++)
            for (int s = 0; s < STRIPS; s++)
                v[s] = hour(v[s], s ? v[s - 1] : 0, f.forcing, WORK);
    }
    for (int s = 0; s < STRIPS; s++) {
        T(cudaMemcpy(&got, air[s][issued % 2] + 1000 * s, sizeof got, cudaMemcpyDeviceToHost));
        bad += !(std::fabs(got - v[s]) < 1e-2f);
    }
    std::printf("%d days, %d strips astray\n", DAYS, bad);
    std::printf("pass_ms=%.4f\n", ((t[1].tv_sec - t[0].tv_sec) * 1e3 + (t[1].tv_nsec - t[0].tv_nsec) * 1e-6) / DAYS);
    return bad != 0;
}
