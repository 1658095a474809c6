// Players are told apart in four cameras of a stadium, a thread for each camera; the league's table of faces is the same for all.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#define CUDA(call) check((call), __LINE__)
static void check(cudaError_t e, int line) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "stadium.cu:%d: %s\n", line, cudaGetErrorString(e));
    exit(2);
}

const int CAMERAS = 4, FRAMES = 60, BUFFERS = 2;
const uint32_t FACES = 16u << 20;                  // 64 MiB
const size_t PATCHES = 10u << 20, MARK = 1 << 16;  // 40 MiB

__global__ void recognise(const uint32_t *faces, const uint32_t *patches, size_t n, unsigned long long *found) {
    unsigned long long sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        sum += faces[patches[i] & (FACES - 1)];
    for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(found, sum);
}

struct Camera {
    int number;
    const uint32_t *table;
    cudaStream_t stream;
    cudaEvent_t taken[BUFFERS];
    uint32_t *patches[BUFFERS], *dPatches, *dFaces;
    unsigned long long *dFound, rest = 0;

    Camera(int number, const uint32_t *table) : number(number), table(table) {
        CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CUDA(cudaMalloc(&dPatches, PATCHES * 4));
        CUDA(cudaMalloc(&dFaces, FACES * 4ull));
        CUDA(cudaMalloc(&dFound, (FRAMES + 1) * 8));
        CUDA(cudaMemset(dFound, 0, (FRAMES + 1) * 8));
        for (int b = 0; b < BUFFERS; b++) {
            CUDA(cudaEventCreateWithFlags(&taken[b], cudaEventDisableTiming));
            CUDA(cudaMallocHost(&patches[b], PATCHES * 4));
            for (size_t i = 0; i < PATCHES; i++) patches[b][i] = (uint32_t)(i * 2654435761u + number * 77u) >> 5;
        }
        for (size_t i = 0; i < PATCHES; i++) if (i % MARK) rest += table[patches[0][i] & (FACES - 1)];
        CUDA(cudaMemcpy(dFaces, table, FACES * 4ull, cudaMemcpyHostToDevice));
        CUDA(cudaMemcpy(dPatches, patches[0], PATCHES * 4, cudaMemcpyHostToDevice));
        recognise<<<528, 256, 0, stream>>>(dFaces, dPatches, PATCHES, dFound + FRAMES);
        CUDA(cudaStreamSynchronize(stream));
    }

    uint32_t face(int frame) const { return (uint32_t)(frame * 7919 + number * 104729) & (FACES - 1); }

    void watch() {
        CUDA(cudaSetDevice(0));
        for (int frame = 0; frame < FRAMES; frame++) {
            const int b = frame % BUFFERS;
            if (frame >= BUFFERS) CUDA(cudaEventSynchronize(taken[b]));
            for (size_t i = 0; i < PATCHES; i += MARK) patches[b][i] = face(frame);
#ifdef WRONG
            CUDA(cudaMemcpyAsync(dFaces, table, FACES * 4ull, cudaMemcpyHostToDevice, stream));
#endif
            CUDA(cudaMemcpyAsync(dPatches, patches[b], PATCHES * 4, cudaMemcpyHostToDevice, stream));
            CUDA(cudaEventRecord(taken[b], stream));
            recognise<<<528, 256, 0, stream>>>(dFaces, dPatches, PATCHES, dFound + frame);
            CUDA(cudaGetLastError());
        }
        CUDA(cudaStreamSynchronize(stream));
    }

    bool right() const {
        std::vector<unsigned long long> found(FRAMES);
        CUDA(cudaMemcpy(found.data(), dFound, FRAMES * 8, cudaMemcpyDeviceToHost));
        for (int frame = 0; frame < FRAMES; frame++)
            if (found[frame] != rest + (PATCHES / MARK) * (unsigned long long)table[face(frame)]) return false;
        return true;
    }
};

int main() {
    // the league's table, as it was saved
    const std::string path = "/tmp/stadium-" + std::to_string(getpid());
    {
        std::vector<uint32_t> made(FACES);
        for (uint32_t i = 0; i < FACES; i++) made[i] = (i * 40503u) ^ (i >> 7);
        FILE *f = fopen(path.c_str(), "wb");
        if (!f || fwrite(made.data(), 4, FACES, f) != FACES) return 2;
        fclose(f);
    }
    uint32_t *table;
    CUDA(cudaMallocHost(&table, FACES * 4ull));
    FILE *f = fopen(path.c_str(), "rb");
    if (!f || fread(table, 4, FACES, f) != FACES) return 2;
    fclose(f);
    unlink(path.c_str());

    std::vector<Camera> cameras;
    cameras.reserve(CAMERAS);
    for (int i = 0; i < CAMERAS; i++) cameras.emplace_back(i, table);
    CUDA(cudaDeviceSynchronize());
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    CUDA(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> crew;
    for (Camera &c : cameras) crew.emplace_back([&c] { c.watch(); });
    for (std::thread &t : crew) t.join();
    CUDA(cudaDeviceSynchronize());
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / FRAMES;

    bool good = true;
    for (const Camera &c : cameras) good = good && c.right();
    printf("%s\n", good ? "good" : "WRONG");
    printf("pass_ms=%.4f\n", ms);
    return good ? 0 : 1;
}
