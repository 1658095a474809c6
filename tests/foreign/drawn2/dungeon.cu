// Levels of a game are made ready by three threads: each takes room after room of its wing, from memory that the host and the GPU share.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define G(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "dungeon.cu:%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(2); } } while (0)

constexpr int WINGS = 3, ROOMS = 400, ROUNDS = 3000;
constexpr size_t ROOM = 384 << 10;      // tiles, at most; 1.5 MiB

static size_t tilesOf(int room, int wing) { return (256 << 10) + (size_t)((room * 3 + wing) % 5) * (32 << 10); }
static uint32_t tile(int wing, int room, size_t i) { return (uint32_t)(i * 2654435761u + room * 40503u + wing * 977u); }

__host__ __device__ inline uint32_t grown(uint32_t t, int rounds) {
    for (int k = 0; k < rounds; k++) t = (t ^ (t >> 7)) * 0x85ebca6bu + k;
    return t;
}

__global__ void furnish(const uint32_t *tiles, size_t n, int rounds, uint32_t *monsters, unsigned long long *sum) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    unsigned long long t = i < n ? tiles[i] : 0;
    if (i < n) monsters[i] = grown((uint32_t)t, rounds);
    for (int o = 16; o; o >>= 1) t += __shfl_down_sync(~0u, t, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(sum, t);
}

#ifndef WRONG
// Managed memory's move to the GPU before it is used there
static void bring(const void *p, size_t bytes, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
    cudaMemLocation there = {};
    there.type = cudaMemLocationTypeDevice;
    there.id = 0;
    G(cudaMemPrefetchAsync(p, bytes, there, 0, stream));
#else
    G(cudaMemPrefetchAsync(p, bytes, 0, stream));
#endif
}
#endif

struct Wing {
    int number = 0;
    cudaStream_t stream = nullptr;
    uint32_t *tiles = nullptr, *monsters = nullptr;
    unsigned long long *sums = nullptr;
    std::vector<unsigned long long> expected;

    void build(int which) {
        number = which;
        G(cudaSetDevice(0));
        G(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        G(cudaMallocManaged(&tiles, ROOM * ROOMS * 4));
        G(cudaMalloc(&monsters, ROOM * 4));
        G(cudaMalloc(&sums, (ROOMS + 1) * 8));
        G(cudaMemset(sums, 0, (ROOMS + 1) * 8));
        expected.assign(ROOMS, 0);
        for (int r = 0; r < ROOMS; r++)
            for (size_t i = 0; i < tilesOf(r, number); i++) expected[r] += tiles[r * ROOM + i] = tile(number, r, i);
    }

    void furnishAll() {
        G(cudaSetDevice(0));
        for (int r = 0; r < ROOMS; r++) {
            const size_t n = tilesOf(r, number);
            const uint32_t *room = tiles + r * ROOM;
#ifndef WRONG
            bring(room, n * 4, stream);
#endif
            furnish<<<(n + 255) / 256, 256, 0, stream>>>(room, n, ROUNDS, monsters, sums + r);
            G(cudaGetLastError());
        }
        G(cudaStreamSynchronize(stream));
    }

    bool right() const {
        std::vector<unsigned long long> found(ROOMS);
        uint32_t monster;
        G(cudaMemcpy(found.data(), sums, ROOMS * 8, cudaMemcpyDeviceToHost));
        G(cudaMemcpy(&monster, monsters + 4321, 4, cudaMemcpyDeviceToHost));
        return found == expected && monster == grown(tile(number, ROOMS - 1, 4321), ROUNDS);
    }
};

int main() {
    Wing wings[WINGS];
    {
        std::vector<std::thread> masons;
        for (int w = 0; w < WINGS; w++) masons.emplace_back([&wings, w] { wings[w].build(w); });
        for (std::thread &m : masons) m.join();
    }
    // how long a room takes, on tiles that are there already; the game shows it as "rooms left"
    uint32_t *trial;
    cudaEvent_t from, to;
    float took = 0;
    G(cudaMalloc(&trial, ROOM * 4));
    G(cudaMemset(trial, 5, ROOM * 4));
    G(cudaEventCreate(&from));
    G(cudaEventCreate(&to));
    for (int k = 0; k < 8; k++) {
        Wing &w = wings[k % WINGS];
        G(cudaEventRecord(from, w.stream));
        furnish<<<ROOM / 256, 256, 0, w.stream>>>(trial, ROOM, ROUNDS, w.monsters, w.sums + ROOMS);
        G(cudaEventRecord(to, w.stream));
        G(cudaEventSynchronize(to));
        G(cudaEventElapsedTime(&took, from, to));
    }
    G(cudaDeviceSynchronize());
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    G(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> crew;
    for (Wing &w : wings) crew.emplace_back([&w] { w.furnishAll(); });
    for (std::thread &t : crew) t.join();
    G(cudaDeviceSynchronize());
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / ROOMS;

    bool good = true;
    for (const Wing &w : wings) good = good && w.right();
    printf("%s, a room alone takes %s\n", good ? "good" : "WRONG", took < 1 ? "less than 1 ms" : "1 ms or more");
    printf("pass_ms=%.4f\n", ms);
    return good ? 0 : 1;
}
