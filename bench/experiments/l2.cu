/* l2.cu - how long a kernel takes on a tile that was just copied in, just written or read by a
 * kernel, copied in with other tiles after it, or that lies in no cache. The kernel's blocks
 * note when they start and end, so that the launch is not in it. */
#include "bench/experiments/experiment.h"

static const size_t MOST = 64 << 20;
enum { THREADS = 256 };

/* Reads the tile: the sum of each warp goes to `sums`. */
static __global__ void read_tile(const uint4 *tile, size_t count, uint32_t *sums,
                                 struct marks *marks)
{
    const unsigned long long start = device_ns();
    uint32_t sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * (size_t)blockDim.x) {
        const uint4 words = tile[i];
        sum += words.x + words.y + words.z + words.w;
    }
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (threadIdx.x % 32 == 0)
        sums[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMin(&marks->first_start, start);
        atomicMax(&marks->last_end, device_ns());
    }
}

/* Reads the tile and writes it, as a tile's kernel in place does. */
static __global__ void change_tile(uint4 *tile, size_t count, uint32_t add, struct marks *marks)
{
    const unsigned long long start = device_ns();
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * (size_t)blockDim.x) {
        uint4 words = tile[i];
        words.x += add, words.y += add, words.z += add, words.w += add;
        tile[i] = words;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMin(&marks->first_start, start);
        atomicMax(&marks->last_end, device_ns());
    }
}

static __global__ void count_changed(const uint32_t *words, size_t count, uint32_t salt,
                                     uint32_t add, unsigned long long *wrong)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * (size_t)blockDim.x)
        if (words[i] != word_at(i, salt) + add)
            atomicAdd(wrong, 1ULL);
}

enum state { COPIED, COPIED_4, COPIED_16, WRITTEN, READ, COLD, COLD_DIRTY, STATES };
static const char *const state_names[] = {
    "copied-in", "copied-in-3-tiles-ago", "copied-in-15-tiles-ago", "written", "read",
    "cold",      "cold-behind-writes"};

static struct {
    uint32_t *host, *tile, *others, *sums;
    unsigned long long *wrong;
    struct mark_list *marks;
    cudaStream_t stream;
} data;

static void open_data()
{
    CHECK(cudaMallocHost(&data.host, MOST));
    CHECK(cudaMalloc(&data.tile, MOST));
    CHECK(cudaMalloc(&data.others, 16 * MOST));
    CHECK(cudaMalloc(&data.sums, sizeof *data.sums * experiment.sms * 8 * THREADS / 32));
    CHECK(cudaMallocHost(&data.wrong, sizeof *data.wrong));
    CHECK(cudaStreamCreateWithFlags(&data.stream, cudaStreamNonBlocking));
    data.marks = new mark_list(2);
}

static unsigned blocks_for(size_t bytes)
{
    return (unsigned)std::min<size_t>((bytes / 16 + THREADS - 1) / THREADS,
                                      (size_t)experiment.sms * 8);
}

/* Puts the tile's words on the device and where the state wants them. The caches are full of
 * other data before. */
static void bring(enum state state, size_t bytes, uint32_t salt)
{
    fill_on_host(data.host, bytes, salt);
    CHECK(cudaMemset(data.tile, 0xa5, bytes));
    fill_on_device(data.others, 16 * MOST, ~salt);
    if (state != WRITTEN)
        CHECK(
            cudaMemcpyAsync(data.tile, data.host, bytes, cudaMemcpyHostToDevice, data.stream));
    else
        device_fill<<<1024, 256, 0, data.stream>>>(data.tile, bytes / 4, salt);
    for (int i = 1; i < (state == COPIED_4 ? 4 : state == COPIED_16 ? 16 : 0); i++)
        CHECK(cudaMemcpyAsync((char *)data.others + i * MOST, data.host, bytes,
                              cudaMemcpyHostToDevice, data.stream));
    if (state == READ || state == COLD)
        read_tile<<<blocks_for(16 * MOST), THREADS, 0, data.stream>>>(
            (const uint4 *)data.others, 16 * MOST / 16, data.sums, data.marks->device + 1);
    if (state == COLD_DIRTY)
        device_fill<<<1024, 256, 0, data.stream>>>(data.others, 16 * MOST / 4, salt);
    if (state == READ)
        read_tile<<<blocks_for(bytes), THREADS, 0, data.stream>>>(
            (const uint4 *)data.tile, bytes / 16, data.sums, data.marks->device + 1);
    CHECK(cudaGetLastError());
}

static void verify_sum(size_t bytes, uint32_t salt)
{
    const size_t warps = blocks_for(bytes) * (size_t)THREADS / 32;
    std::vector<uint32_t> sums(warps);
    CHECK(cudaMemcpy(sums.data(), data.sums, warps * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    uint32_t sum = 0, expected = 0;
    for (uint32_t part_sum : sums)
        sum += part_sum;
#pragma omp parallel for reduction(+ : expected)
    for (size_t i = 0; i < bytes / 4; i++)
        expected += word_at(i, salt);
    if (sum != expected)
        fail("the sum of a tile of %zu bytes is %u instead of %u", bytes, sum, expected);
}

static void verify_change(size_t bytes, uint32_t salt, uint32_t add)
{
    *data.wrong = 0;
    count_changed<<<1024, 256>>>(data.tile, bytes / 4, salt, add, data.wrong);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    if (*data.wrong != 0)
        fail("%llu words of a tile of %zu bytes are wrong", *data.wrong, bytes);
}

static void measure(enum state state, bool changes, size_t bytes)
{
    static uint32_t salt;
    salt++;
    data.marks->clear();
    bring(state, bytes, salt);
    if (changes)
        change_tile<<<blocks_for(bytes), THREADS, 0, data.stream>>>(
            (uint4 *)data.tile, bytes / 16, salt, data.marks->device);
    else
        read_tile<<<blocks_for(bytes), THREADS, 0, data.stream>>>(
            (const uint4 *)data.tile, bytes / 16, data.sums, data.marks->device);
    CHECK(cudaGetLastError());
    data.marks->read(1);
    if (changes)
        verify_change(bytes, salt, salt);
    else
        verify_sum(bytes, salt);
    note(std::string(changes ? "change-" : "read-") + state_names[state], long(bytes),
         data.marks->end_us(0) - data.marks->start_us(0));
}

int main(int argc, char **argv)
{
    experiment_begin(argc, argv, "l2",
                     "a kernel on a tile by where the tile's bytes are: first start to last "
                     "end of its blocks (parameter: "
                     "bytes of the tile)",
                     {"read", "change"});
    open_data();
    for (size_t bytes = 64 << 10; bytes <= MOST; bytes *= 2)
        for (rounds r(7); r.next();)
            for (int state = 0; state < STATES; state++) {
                if (part("read"))
                    measure((enum state)state, false, bytes);
                if (part("change"))
                    measure((enum state)state, true, bytes);
            }
    return 0;
}
