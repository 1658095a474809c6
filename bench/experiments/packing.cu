/* packing.cu - what it costs that the CPU packs tiles for copies: packs by their size, by how
 * much memory they go through and beside copies; and copies of what the CPU has just packed,
 * which lies in its cores' caches, against copies of what lies in memory. */
#include "bench/experiments/experiment.h"

#include <omp.h>

static const size_t MOST = size_t(1) << 30, SLOT = 128 << 20, KIB = 1 << 10, MIB = 1 << 20;

static char *user, *slots, *other_in, *other_out, *device;
static cudaStream_t copies_in, copies_out;
static cudaEvent_t begun, ended;

/* Copies by all cores but two, as `pipeline --pack` does. */
static void pack(char *to, const char *from, size_t bytes)
{
    const int most = std::max(1, omp_get_num_procs() - 2);
    const int team = int(std::min(size_t(most), 1 + bytes / (32 * KIB)));
#pragma omp parallel num_threads(team)
    {
        const size_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
        const size_t first = bytes / threads * thread,
                     last = thread + 1 == threads ? bytes : bytes / threads * (thread + 1);
        std::memcpy(to + first, from + first, last - first);
    }
}

/* The next part of an array that is gone through in turn. */
static size_t next(size_t *at, size_t bytes, size_t array)
{
    const size_t here = *at + bytes <= array ? *at : 0;
    *at = here + bytes;
    return here;
}

/* Puts copies both ways that take longer than `packs` packs of so many bytes. */
static void copy_beside(bool in, bool out, size_t bytes, int packs)
{
    const int count = int(bytes * packs * 3 / (64 * MIB)) + 2;
    for (int i = 0; i < count; i++) {
        if (in)
            CHECK(
                cudaMemcpyAsync(device, other_in, 64 * MIB, cudaMemcpyHostToDevice, copies_in));
        if (out)
            CHECK(cudaMemcpyAsync(other_out, device + SLOT, 64 * MIB, cudaMemcpyDeviceToHost,
                                  copies_out));
    }
}

/* Packs one behind another, as fast as they go: the mean time of one. */
static void measure_packs(const char *name, size_t bytes, size_t array, size_t ring, bool in,
                          bool out)
{
    const int packs = int(std::max(size_t(4), std::min(size_t(200), 256 * MIB / bytes)));
    static size_t from_at, to_at;
    copy_beside(in, out, bytes, packs);
    if (in || out)
        for (const double begin = now_us(); now_us() - begin < 200;)
            continue;
    const double begin = now_us();
    for (int i = 0; i < packs; i++) {
        const size_t from = next(&from_at, bytes, array), to = next(&to_at, bytes, ring);
        pack(slots + to, user + from, bytes);
    }
    note(name, long(bytes), (now_us() - begin) / packs);
    CHECK(cudaDeviceSynchronize());
}

/* One copy, by the device's clock, after `prepare` has touched the slot. */
template <typename P>
static void measure_copy(const char *name, size_t bytes, bool in, P prepare)
{
    static size_t at;
    const size_t to = next(&at, bytes, 3 * bytes <= SLOT ? 3 * bytes : SLOT);
    prepare(slots + to);
    CHECK(cudaEventRecord(begun, copies_in));
    if (in)
        CHECK(cudaMemcpyAsync(device, slots + to, bytes, cudaMemcpyHostToDevice, copies_in));
    else
        CHECK(cudaMemcpyAsync(slots + to, device, bytes, cudaMemcpyDeviceToHost, copies_in));
    CHECK(cudaEventRecord(ended, copies_in));
    CHECK(cudaEventSynchronize(ended));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begun, ended));
    note(name, long(bytes), 1e3 * ms);
}

static volatile long sink;

static void read_all(const char *from, size_t bytes)
{
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(std::max(1, omp_get_num_procs() - 2))
    for (size_t i = 0; i < bytes; i += 64)
        sum += from[i];
    sink = sum;
}

/* A step as a pack of one stream has it: pack, copy in, wait, copy out, wait, unpack. */
static void measure_step(size_t bytes)
{
    static size_t at;
    const size_t from = next(&at, bytes, MOST);
    const double t0 = now_us();
    pack(slots, user + from, bytes);
    const double t1 = now_us();
    CHECK(cudaMemcpyAsync(device, slots, bytes, cudaMemcpyHostToDevice, copies_in));
    CHECK(cudaStreamSynchronize(copies_in));
    const double t2 = now_us();
    CHECK(cudaMemcpyAsync(slots + SLOT / 2, device, bytes, cudaMemcpyDeviceToHost, copies_in));
    CHECK(cudaStreamSynchronize(copies_in));
    const double t3 = now_us();
    pack(user + from, slots + SLOT / 2, bytes);
    const double t4 = now_us();
    note("step-pack", long(bytes), t1 - t0);
    note("step-in", long(bytes), t2 - t1);
    note("step-out", long(bytes), t3 - t2);
    note("step-unpack", long(bytes), t4 - t3);
}

int main(int argc, char **argv)
{
    experiment_begin(
        argc, argv, "packing",
        "packs by the CPU's cores, and copies of what they packed (parameter: bytes)",
        {"packs", "copies", "steps"});
    user = (char *)std::aligned_alloc(2 << 20, MOST);
    if (user == nullptr)
        fail("there is no memory");
    std::memset(user, 1, MOST);
    CHECK(cudaMallocHost(&slots, 2 * SLOT));
    CHECK(cudaMallocHost(&other_in, 64 * MIB));
    CHECK(cudaMallocHost(&other_out, 64 * MIB));
    CHECK(cudaMalloc(&device, 2 * SLOT));
    std::memset(slots, 2, 2 * SLOT);
    std::memset(other_in, 3, 64 * MIB);
    std::memset(other_out, 4, 64 * MIB);
    CHECK(cudaStreamCreateWithFlags(&copies_in, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&copies_out, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&begun));
    CHECK(cudaEventCreate(&ended));
    const size_t sizes[] = {64 * KIB, 256 * KIB, MIB,      2 * MIB, 4 * MIB,
                            8 * MIB,  16 * MIB,  32 * MIB, 64 * MIB};
    for (rounds r(5); r.next();)
        for (const size_t bytes : sizes) {
            if (part("packs")) {
                const size_t ring = std::min(3 * bytes, 2 * SLOT);
                measure_packs("pack-of-1GiB-in-3-slots", bytes, MOST, ring, false, false);
                measure_packs("pack-of-1GiB-in-3-slots-beside-in", bytes, MOST, ring, true,
                              false);
                measure_packs("pack-of-1GiB-in-3-slots-beside-both", bytes, MOST, ring, true,
                              true);
                measure_packs("pack-of-64MiB-in-3-slots-beside-both", bytes, 64 * MIB, ring,
                              true, true);
                measure_packs("pack-of-128MiB-in-128MiB-beside-both", bytes, SLOT, SLOT, true,
                              true);
                measure_packs("pack-of-1GiB-in-256MiB-beside-both", bytes, MOST, 2 * SLOT, true,
                              true);
            }
            if (part("copies")) {
                static size_t at;
                const size_t from = next(&at, bytes, MOST);
                const auto packed = [&](char *to) { pack(to, user + from, bytes); };
                measure_copy("in-packed", bytes, true, packed);
                measure_copy("in-packed-by-one", bytes, true,
                             [&](char *to) { std::memcpy(to, user + from, bytes); });
                measure_copy("in-packed-then-others-read", bytes, true, [&](char *to) {
                    packed(to);
                    read_all(user, 512 * MIB);
                });
                measure_copy("in-read", bytes, true, [&](char *to) {
                    read_all(user, 512 * MIB);
                    read_all(to, bytes);
                });
                measure_copy("in-untouched", bytes, true,
                             [&](char *) { read_all(user, 512 * MIB); });
                measure_copy("out-packed", bytes, false, packed);
                measure_copy("out-untouched", bytes, false,
                             [&](char *) { read_all(user, 512 * MIB); });
            }
            if (part("steps") && bytes <= SLOT / 2)
                for (int i = 0; i < 3; i++)
                    measure_step(bytes);
        }
    return 0;
}
