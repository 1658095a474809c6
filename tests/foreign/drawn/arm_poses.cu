// Where may the arm be? A particle filter moves a million poses of the joints, and scores them against the last reading.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

template <int Joints> __host__ __device__ float reach(const float *angle, float reading, int refine)
{
    float r = 0;
    for (int i = 0; i < refine; ++i)
        for (int j = 0; j < Joints; ++j)
            r = fmaf(angle[j], reading, 0.5f * r);
    return r;
}

template <int Joints> __global__ void score(const float *angles, float *scores, int poses, float reading, int refine)
{
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < poses; p += gridDim.x * blockDim.x) {
        float mine[Joints];
        for (int j = 0; j < Joints; ++j)
            mine[j] = angles[j * poses + p];
        scores[p] = reach<Joints>(mine, reading, refine);
    }
}

template <int Joints> class Filter
{
    float *angles_, *scores_, *first_;
    cudaStream_t stream_;
    int poses_, blocks_;

  public:
    static void need(cudaError_t e)
    {
        if (e != cudaSuccess)
            std::fprintf(stderr, "arm_poses: %s\n", cudaGetErrorString(e)), std::exit(1);
    }

    Filter(int poses, int blocks) : poses_(poses), blocks_(blocks)
    {
        need(cudaMalloc(&angles_, sizeof(float) * poses * Joints));
        need(cudaMalloc(&scores_, sizeof(float) * poses));
        need(cudaMallocHost(&first_, sizeof(float)));
        need(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }

    static float angle(int joint, int pose)
    {
        return float((pose * 13 + joint * 29) % 628) / 100 - 3.14f;
    }

    void load() // the map of poses comes in joint by joint
    {
        float *staging;
        need(cudaMallocHost(&staging, sizeof(float) * poses_));
        for (int j = 0; j < Joints; ++j) {
            for (int p = 0; p < poses_; ++p)
                staging[p] = angle(j, p);
            need(cudaMemcpyAsync(angles_ + size_t(j) * poses_, staging, sizeof(float) * poses_, cudaMemcpyHostToDevice, stream_));
            need(cudaStreamSynchronize(stream_));
        }
        need(cudaFreeHost(staging));
    }

    float step(float reading, int refine, int pose)
    {
        score<Joints><<<blocks_, 256, 0, stream_>>>(angles_, scores_, poses_, reading, refine);
        need(cudaGetLastError());
        need(cudaMemcpyAsync(first_, scores_ + pose, sizeof(float), cudaMemcpyDeviceToHost, stream_));
        need(cudaStreamSynchronize(stream_));
        return *first_;
    }

    float by_hand(float reading, int refine, int pose) const
    {
        float mine[Joints];
        for (int j = 0; j < Joints; ++j)
            mine[j] = angle(j, pose);
        return reach<Joints>(mine, reading, refine);
    }
};

int main()
{
    constexpr int poses = 1 << 20, readings = 250, refine = 1400;
#ifdef WRONG
    Filter<6> filter(poses, 96);
#else
    Filter<6> filter(poses, 132 * 8);
#endif
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    filter.load();
    std::array<float, readings> score;
    for (int i = 0; i < 4; ++i)
        filter.step(1.0f, refine, 0);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < readings; ++i)
        score[i] = filter.step(0.01f * i, refine, i * 4001);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    int bad = 0;
    for (int i = 0; i < readings; ++i) {
        const float off = score[i] - filter.by_hand(0.01f * i, refine, i * 4001);
        bad += !(off > -1e-3f && off < 1e-3f);
    }
    std::printf("%d readings, %d scores off\npass_ms=%.4f\n", readings, bad, took.count() / readings);
    return bad ? 1 : 0;
}
