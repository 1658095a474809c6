/* watch.cpp - kernels as users write them on the grid of src/cpu: launches of every form,
 * faults by name, and what is seen of their accesses. This file is compiled with
 * -fsanitize=thread, as users' are. */
#include "check_launchers.h"
#include "cpu/cpu.h"
#include "cpu/grid.h"
#include "cuda_runtime.h"

#include <cassert>

namespace
{

enum { COUNT = 4096 };
float *data[3]; /* not variables, which kernels may read */
unsigned results[COUNT];

/* As the front end rewrites <<<>>>. */
#define LAUNCH(kernel, ...)                                                                    \
    ::pipeline::configured(#kernel, "watch.cu", __LINE__, __VA_ARGS__)(                        \
        [=](auto... a) -> decltype(kernel(a...)) { kernel(a...); })

void setup()
{
    grid_set_order(NEXT_LOWEST, 4, 0);
    for (int i = 0; i < 3; i++) {
        data[i] = static_cast<float *>(aligned_alloc(256, 2 * COUNT * sizeof(float)));
        memset(data[i], 0, COUNT * sizeof(float));
        emulator_blocks[i] = {(uintptr_t)data[i], COUNT * sizeof(float), CPU_DEVICE, 0, false};
    }
    memset(results, 0, sizeof results);
}

void teardown()
{
    for (float *memory : data)
        free(memory);
}

void assert_fault(cudaError_t error, std::initializer_list<const char *> words)
{
    ck_assert_int_eq(error, cudaErrorLaunchFailure);
    for (const char *word : words)
        ck_assert_msg(strstr(emulator_fault(), word) != nullptr, "no \"%s\" in: %s", word,
                      emulator_fault());
}

void assert_right(cudaError_t error)
{
    ck_assert_msg(error == cudaSuccess, "%s", emulator_fault());
}

/* ---- launches ---- */

__global__ void number_kernel(const float *none, unsigned wrong)
{
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    results[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
    assert(none == nullptr && block * 1000 + thread != wrong);
}

START_TEST(test_three_dimensions)
{
    assert_right(LAUNCH(number_kernel, dim3(2, 3, 4), dim3(5, 4, 3))(NULL, 99999));
    for (unsigned block = 0; block < 24; block++)
        for (unsigned thread = 0; thread < 60; thread++)
            ck_assert_uint_eq(results[block * 60 + thread], block * 1000 + thread);
    assert_fault(LAUNCH(number_kernel, dim3(2, 3, 4), dim3(5, 4, 3))(NULL, 23059),
                 {"block (1,2,3) of (2,3,4): thread (4,3,2): ", "assertion `none == nullptr",
                  "watch.cpp:"});
}
END_TEST

template <typename T> __global__ void reverse_kernel(T *out)
{
    T *numbers = (T *)pipeline_shared();
    numbers[threadIdx.x] = (T)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x];
}

START_TEST(test_dynamic_shared_memory)
{
    assert_right(LAUNCH(reverse_kernel, 2, 1024, 4096)(data[0]));
    for (int i = 0; i < 1024; i++)
        ck_assert_float_eq(data[0][i], (float)(1023 - i));
}
END_TEST

__global__ void together_kernel()
{
    const unsigned lane = threadIdx.x % 32;
    unsigned wrong = __syncthreads_count(lane < 5) != 10;
    wrong +=
        __syncthreads_or(threadIdx.x == 40) == 0 || __syncthreads_and(threadIdx.x != 40) != 0;
    wrong += __match_any_sync(0xffffffff, lane / 8) != 0xffu << lane / 8 * 8;
    wrong += __reduce_max_sync(0xffffffff, lane) != 31;
    if (lane % 2 == 0)
        wrong += __activemask() != 0x55555555;
    else
        wrong += __activemask() != 0xaaaaaaaa;
    atomicAdd(&results[0], wrong);
}

START_TEST(test_threads_together)
{
    assert_right(LAUNCH(together_kernel, 1, 64)());
    ck_assert_uint_eq(results[0], 0);
}
END_TEST

START_TEST(test_words_of_arguments)
{
    struct {
        float *pointer;
        int number;
    } both = {data[1], 5};
    struct cpu_launch launch = {};
    pipeline::hold(
        &launch, [](auto...) {}, data[0], 7, both);
    ck_assert_uint_ge(launch.word_count, 2);
    ck_assert_uint_eq(launch.words[0], (uintptr_t)data[0]);
    ck_assert_uint_eq(launch.words[1], (uintptr_t)data[1]);
    launch.release(launch.arguments);
}
END_TEST

/* ---- faults ---- */

__global__ void wild_kernel(float *at)
{
    if (threadIdx.x == 9)
        *(volatile float *)at = 1;
}

__device__ int deep(int level)
{
    volatile char room[1024];
    room[level % 1024] = 1;
    return level == 0 ? room[0] : deep(level - 1) + room[level % 1024];
}

__global__ void deep_kernel()
{
    results[0] = (unsigned)deep(1 << 20);
}

START_TEST(test_no_memory)
{
    assert_fault(LAUNCH(wild_kernel, 1, 32)((float *)8), {"block 0 of 1: thread 9: "});
    assert_fault(LAUNCH(deep_kernel, 1, 1)(), {"its stack is full"});
}
END_TEST

#ifdef __SANITIZE_THREAD__

/* ---- what is seen ---- */

__global__ void stride_kernel(const float *in, float *out, int stride, int count)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        out[i * stride] = in[i] + 1;
}

START_TEST(test_ranges_bytes_and_sectors)
{
    assert_right(LAUNCH(stride_kernel, 8, 128)(data[0], data[1], 1, 1000));
    const struct cpu_did *did = emulator_did();
    ck_assert_uint_eq(did->range_count, 2);
    ck_assert_uint_eq(did->ranges[0].from, (uintptr_t)data[0]);
    ck_assert_uint_eq(did->ranges[0].bytes, 4000);
    ck_assert(did->ranges[0].reads && !did->ranges[0].writes);
    ck_assert(!did->ranges[1].reads && did->ranges[1].writes);
    ck_assert_uint_eq(did->read_bytes, 4000);
    ck_assert_uint_eq(did->written_bytes, 4000);
    ck_assert_uint_eq(did->sectors, 250);
    ck_assert_uint_eq(did->fresh_sectors, 125);

    assert_right(LAUNCH(stride_kernel, 8, 64)(data[0], data[1], 8, 512));
    ck_assert_uint_eq(emulator_did()->range_count, 513);
    ck_assert_uint_eq(emulator_did()->ranges[512].from, (uintptr_t)&data[1][511 * 8]);
    ck_assert_uint_eq(emulator_did()->ranges[512].bytes, 4);
    ck_assert_uint_eq(emulator_did()->sectors, 64 + 512);

    /* In place, and less than before. */
    assert_right(LAUNCH(stride_kernel, 1, 32)(data[2], data[2], 1, 20));
    ck_assert_uint_eq(emulator_did()->range_count, 1);
    ck_assert_uint_eq(emulator_did()->ranges[0].bytes, 80);
    ck_assert(emulator_did()->ranges[0].reads && emulator_did()->ranges[0].writes);
}
END_TEST

/* Each thread reads what its neighbours do, and shared memory with bank conflicts. */
__global__ void compute_kernel(const float *in, double *out)
{
    __shared__ float mine[32 * 32];
    float sum = 0;
    for (int i = 0; i < 32; i++)
        sum += 2.5f * in[(threadIdx.x + (unsigned)i) % 32];
    mine[32 * threadIdx.x] = sum;
    __syncthreads();
    out[threadIdx.x] = 0.5 * mine[32 * (31 - threadIdx.x)];
}

START_TEST(test_arithmetic_and_caches)
{
    assert_right(LAUNCH(compute_kernel, 1, 32)(data[0], (double *)data[1]));
    const struct cpu_did *did = emulator_did();
    ck_assert_uint_eq(did->flops, 2 * 32 * 32); /* a product and a sum are one FMA */
    ck_assert_uint_eq(did->flops_double, 2 * 32);
    ck_assert_uint_eq(did->sectors, 32 * 4 + 8);
    ck_assert_uint_eq(did->fresh_sectors, 4);
    ck_assert_uint_eq(did->written_sectors, 8);
    ck_assert_uint_ge(did->turns, 32 * 4 + 2 * 32); /* 2 of shared memory */
}
END_TEST

START_TEST(test_accesses_outside)
{
    float *pageable = static_cast<float *>(malloc(COUNT));
    assert_fault(
        LAUNCH(stride_kernel, 33, 128)(data[1], data[0], 1, COUNT + 1),
        {"block 32 of 33: thread 0: reads 4 bytes at byte 16384 of memory that has 16384 "
         "bytes, in tests/emulator/watch.cpp:"});
    assert_fault(LAUNCH(stride_kernel, 1, 32)(data[0], pageable, 1, 32),
                 {"thread 0: writes 4 bytes at address 0x", "pageable"});
    assert_fault(LAUNCH(stride_kernel, 1, 32)(NULL, data[1], 1, 32), {"a pointer is NULL"});
    emulator_blocks[0].device = 1;
    assert_fault(LAUNCH(stride_kernel, 1, 32)(data[0], data[1], 1, 32),
                 {"reads 4 bytes of memory of device 1, on device 0"});
    free(pageable);
}
END_TEST

enum race { NO_BARRIER, NO_SYNCWARP, READ_FIRST, RIGHT, SAME_VALUE, LOCKED, ATOMIC };

template <enum race race> __global__ void race_kernel()
{
    __shared__ unsigned numbers[64], lock, sum;
    const unsigned thread = threadIdx.x;
    numbers[thread] = race == READ_FIRST ? 1 : thread;
    lock = 0;
    sum = 0; /* all write the same */
    if (race == NO_SYNCWARP ? thread < 32 : race != NO_BARRIER)
        race == NO_SYNCWARP ? __syncwarp() : __syncthreads();
    if (race == NO_SYNCWARP && thread % 32 < 16)
        numbers[thread] += numbers[thread + 16], numbers[thread] += numbers[thread + 8];
    if (race == READ_FIRST)
        numbers[thread] += numbers[63 - thread] + thread + 1;
    if (race == LOCKED) {
        while (atomicCAS(&lock, 0, 1) != 0)
            ;
        sum += numbers[63 - thread];
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    if (race == ATOMIC)
        atomicAdd(&sum, numbers[63 - thread]);
    if (race == NO_BARRIER || race == RIGHT)
        results[thread] = numbers[63 - thread];
    __syncthreads();
    if (thread == 0 && (race == LOCKED || race == ATOMIC))
        results[0] = sum;
}

START_TEST(test_races_in_shared_memory)
{
    assert_fault(LAUNCH(race_kernel<NO_BARRIER>, 2, 64)(),
                 {"a race: it writes", "that thread 31 has read in tests/emulator/watch.cpp:",
                  "with no barrier in between, in tests/emulator/watch.cpp:"});
    assert_fault(LAUNCH(race_kernel<NO_SYNCWARP>, 2, 64)(), {"a race: it "});
    assert_fault(LAUNCH(race_kernel<READ_FIRST>, 2, 64)(), {"a race: it reads", "written"});
    assert_right(LAUNCH(race_kernel<RIGHT>, 2, 64)());
    assert_right(LAUNCH(race_kernel<SAME_VALUE>, 2, 64)());
    assert_right(LAUNCH(race_kernel<LOCKED>, 2, 64)());
    ck_assert_uint_eq(results[0], 63 * 32);
    assert_right(LAUNCH(race_kernel<ATOMIC>, 2, 64)());
    ck_assert_uint_eq(results[0], 63 * 32);
}
END_TEST

#endif

} // namespace

Suite *watch_suite(void)
{
    Suite *suite = suite_create("watch");
    TCase *tcase = tcase_create("watch");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, test_three_dimensions);
    tcase_add_test(tcase, test_dynamic_shared_memory);
    tcase_add_test(tcase, test_threads_together);
    tcase_add_test(tcase, test_words_of_arguments);
    tcase_add_test(tcase, test_no_memory);
#ifdef __SANITIZE_THREAD__
    tcase_add_test(tcase, test_ranges_bytes_and_sectors);
    tcase_add_test(tcase, test_arithmetic_and_caches);
    tcase_add_test(tcase, test_accesses_outside);
    tcase_add_test(tcase, test_races_in_shared_memory);
#endif
    suite_add_tcase(suite, tcase);
    return suite;
}
