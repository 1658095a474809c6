/* check_emulator.cpp - the emulator itself: right kernels pass, and each kind of fault is found
 * in a tiny kernel that has it. Then every launcher of the table. */
#include "check_launchers.h"
#include "cpu/grid.h"
#include "cuda_runtime.h"

#include <cstdio>
#include <cstdlib>

namespace
{

enum { THREADS = 256 };

/* The kernels leave their results here, one per block or thread. */
unsigned results[4096];

template <typename... Parameters, typename... Arguments>
cudaError_t launch(unsigned blocks, void (*kernel)(Parameters...), Arguments... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = THREADS;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/* These orders find, between them, every race that the kernels below have. */
void set_order(int i)
{
    static const uint32_t live[] = {1, 2, 5, 8};
    grid_set_order((enum grid_next)(i % NEXT_COUNT), live[i % 4], (uint64_t)i);
}

/* Returns in how many of 16 orders `kernel` leaves `right` in the results of all blocks. */
template <typename Kernel> int orders_right(unsigned blocks, Kernel kernel, unsigned right)
{
    int rights = 0;
    for (int i = 0; i < 16; i++) {
        set_order(i);
        memset(results, 0, sizeof results);
        ck_assert_msg(launch(blocks, kernel) == cudaSuccess, "%s", emulator_fault());
        bool all = true;
        for (unsigned block = 0; block < blocks; block++)
            all = all && results[block] == right;
        rights += all;
    }
    return rights;
}

/* Every order must find the fault, and name all of `words`. */
template <typename Kernel>
void assert_fault(unsigned blocks, Kernel kernel, std::initializer_list<const char *> words)
{
    for (int i = 0; i < 8; i++) {
        set_order(i);
        ck_assert(launch(blocks, kernel) == cudaErrorLaunchFailure);
        const char *fault = emulator_fault();
        ck_assert_ptr_nonnull(fault);
        for (const char *word : words)
            ck_assert_msg(strstr(fault, word) != nullptr, "no \"%s\" in: %s", word, fault);
    }
}

/* ---- right kernels ---- */

/* Each thread reads its opposite's number through shared memory, and the block adds them up. */
template <bool barrier> __global__ void exchange_kernel()
{
    __shared__ unsigned numbers[THREADS], sum;
    const unsigned thread = threadIdx.x;
    if (thread == 0)
        sum = 0;
    numbers[thread] = blockIdx.x * THREADS + thread;
    if (barrier)
        __syncthreads();
    atomicAdd(&sum, numbers[THREADS - 1 - thread] - blockIdx.x * THREADS);
    __syncthreads();
    if (thread == 0)
        results[blockIdx.x] = sum;
}

START_TEST(test_barriers_and_shared_memory)
{
    const unsigned right = THREADS * (THREADS - 1) / 2;
    ck_assert_int_eq(orders_right(1, exchange_kernel<true>, right), 16);
    ck_assert_int_eq(orders_right(20, exchange_kernel<true>, right), 16);
}
END_TEST

template <typename T> __device__ T sum_of_lanes(T value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffff, value, offset);
    return value;
}

__global__ void warps_kernel()
{
    const unsigned lane = threadIdx.x % 32;
    unsigned wrong = sum_of_lanes(lane) != 496;
    wrong += sum_of_lanes(0.5 * lane) != 248;
    wrong += __shfl_sync(0xffffffff, lane, 7) != 7;
    wrong += __shfl_sync(0xffffffff, lane, 1, 8) != lane / 8 * 8 + 1;
    wrong += __shfl_up_sync(0xffffffff, lane, 3) != (lane < 3 ? lane : lane - 3);
    wrong += __shfl_down_sync(0xffffffff, lane, 3, 16) != (lane % 16 < 13 ? lane + 3 : lane);
    wrong += __ballot_sync(0xffffffff, lane % 3 == 0) != 0x49249249;
    wrong += !__any_sync(0xffffffff, lane == 31) || __all_sync(0xffffffff, lane != 31);
    if (lane < 8) /* half of the lanes take another way */
        wrong += __shfl_down_sync(0xff, lane, 1, 8) != (lane < 7 ? lane + 1 : 7);
    __syncwarp();
    atomicAdd(&results[blockIdx.x], wrong == 0);
}

START_TEST(test_warps)
{
    ck_assert_int_eq(orders_right(3, warps_kernel, THREADS), 16);
}
END_TEST

/* Blocks take numbers and pass a sum on from one to the next. */
unsigned ticket, passed[64];
__global__ void chain_kernel(bool by_ticket)
{
    __shared__ unsigned mine;
    if (threadIdx.x == 0)
        mine = by_ticket ? atomicAdd(&ticket, 1) : blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        while (mine > 0 && __ldcg(&passed[mine - 1]) == 0)
            ;
        passed[mine] = mine == 0 ? 1 : passed[mine - 1] + 1;
    }
    __syncthreads();
}

START_TEST(test_blocks_that_wait_for_one_another)
{
    for (int i = 0; i < 16; i++) {
        set_order(i);
        memset(passed, 0, sizeof passed);
        ticket = 0;
        ck_assert_msg(launch(64, chain_kernel, true) == cudaSuccess, "%s", emulator_fault());
        ck_assert_uint_eq(passed[63], 64);
    }
    /* By the blocks' own numbers it works, too, if all are live: the last block begins first.
     */
    memset(passed, 0, sizeof passed);
    grid_set_order(NEXT_HIGHEST, 64, 1);
    ck_assert_int_eq(launch(64, chain_kernel, false), cudaSuccess);
    memset(passed, 0, sizeof passed);
    grid_set_order(NEXT_HIGHEST, 63, 1);
    ck_assert_int_eq(launch(64, chain_kernel, false), cudaErrorLaunchFailure);
    ck_assert_msg(strstr(emulator_fault(), "threads 0 spin; threads 1-255 wait at") != nullptr,
                  "%s", emulator_fault());
}
END_TEST

__global__ void order_kernel(unsigned *seen)
{
    if (threadIdx.x == 0)
        seen[blockIdx.x] = atomicAdd(&ticket, 1);
}

START_TEST(test_a_seed_repeats_a_run)
{
    unsigned seen[3][100];
    for (unsigned run = 0; run < 3; run++) {
        ticket = 0;
        grid_set_order(NEXT_ANY, 8, run == 2);
        ck_assert_int_eq(launch(100, order_kernel, seen[run]), cudaSuccess);
    }
    ck_assert(memcmp(seen[0], seen[1], sizeof seen[0]) == 0);
    ck_assert(memcmp(seen[0], seen[2], sizeof seen[0]) != 0);
}
END_TEST

/* ---- wrong kernels ---- */

START_TEST(test_a_missing_barrier_is_found_by_order)
{
    const unsigned right = THREADS * (THREADS - 1) / 2;
    ck_assert_int_eq(orders_right(3, exchange_kernel<false>, right), 0);
}
END_TEST

/* The halves of a warp exchange values without __syncwarp(): right only if a warp goes on in
 * step. */
template <bool together> __global__ void warp_step_kernel()
{
    __shared__ unsigned numbers[THREADS];
    const unsigned thread = threadIdx.x;
    numbers[thread] = 1;
    __syncthreads();
    for (unsigned offset = 16; offset > 0; offset /= 2) {
        if (thread % 32 < offset)
            numbers[thread] += numbers[thread + offset];
        if (together)
            __syncwarp();
    }
    if (thread == 0)
        results[blockIdx.x] = numbers[0];
}

START_TEST(test_a_missing_syncwarp_is_found_by_order)
{
    ck_assert_int_eq(orders_right(2, warp_step_kernel<true>, 32), 16);
    ck_assert_int_lt(orders_right(2, warp_step_kernel<false>, 32), 16);
}
END_TEST

/* Only the block that comes last may read what all have left. */
__global__ void early_reader_kernel()
{
    if (threadIdx.x != 0)
        return;
    atomicAdd(&ticket, 1);
    if (blockIdx.x == gridDim.x - 1)
        results[0] = ticket;
}

START_TEST(test_a_race_of_blocks_is_found_by_order)
{
    int rights = 0;
    for (int i = 0; i < 16; i++) {
        set_order(i);
        ticket = 0;
        ck_assert_int_eq(launch(9, early_reader_kernel), cudaSuccess);
        rights += results[0] == 9;
    }
    ck_assert(rights > 0 && rights < 16);
}
END_TEST

__global__ void divergent_barrier_kernel()
{
    if (threadIdx.x < 100)
        __syncthreads();
}

__global__ void two_barriers_kernel()
{
    if (threadIdx.x % 2 == 0)
        __syncthreads();
    else
        __syncthreads();
}

START_TEST(test_divergent_barriers)
{
    assert_fault(
        3, divergent_barrier_kernel,
        {"of 3: threads 0-99 wait at __syncthreads of tests/emulator/check_emulator.cpp:",
         "; threads 100-255 have ended"});
    assert_fault(2, two_barriers_kernel,
                 {"threads 0, 2, 4, 6, ... wait at", "; threads 1, 3, 5, 7, ... wait at"});
}
END_TEST

__global__ void missing_lanes_kernel()
{
    if (threadIdx.x % 32 < 16)
        results[threadIdx.x] = __shfl_down_sync(0xffffffff, threadIdx.x, 1);
}

__global__ void unnamed_self_kernel()
{
    results[threadIdx.x] = __shfl_down_sync(0xffff, threadIdx.x, 1);
}

__global__ void unnamed_source_kernel()
{
    if (threadIdx.x < 16)
        results[threadIdx.x] = __shfl_down_sync(0xffff, threadIdx.x, 8);
}

START_TEST(test_warp_operations_without_their_lanes)
{
    assert_fault(2, missing_lanes_kernel,
                 {"__shfl_down_sync of tests/emulator/check_emulator.cpp:",
                  " uses lane 16, which has ended or is none"});
    assert_fault(2, unnamed_self_kernel, {"which its mask 0x0000ffff does not name"});
    assert_fault(2, unnamed_source_kernel,
                 {" uses lane ", "which its mask 0x0000ffff does not name"});
}
END_TEST

__global__ void misaligned_kernel(const float *in)
{
    if (threadIdx.x == 3)
        results[0] = (unsigned)reinterpret_cast<const float4 *>(in)->x;
}

__global__ void outside_kernel(unsigned past)
{
    __shared__ unsigned numbers[THREADS];
    numbers[threadIdx.x + past] = threadIdx.x;
    __syncthreads();
    results[0] = numbers[0];
}

START_TEST(test_undefined_behaviour)
{
    alignas(16) static float memory[8];
    const float *const at = memory;
    ck_assert_int_eq(launch(1, misaligned_kernel, at), cudaSuccess);
    ck_assert_int_eq(launch(1, outside_kernel, 0), cudaSuccess);
    ck_assert_int_eq(launch(1, misaligned_kernel, at + 1), cudaErrorLaunchFailure);
    ck_assert_msg(strstr(emulator_fault(), "thread 3: undefined") != nullptr, "%s",
                  emulator_fault());
    ck_assert_int_eq(launch(1, outside_kernel, 1), cudaErrorLaunchFailure);
    ck_assert_msg(strstr(emulator_fault(), "thread 255: undefined") != nullptr, "%s",
                  emulator_fault());
}
END_TEST

__global__ void endless_kernel()
{
    while (threadIdx.x == 7)
        __nanosleep(100);
    __syncthreads();
}

START_TEST(test_waiting_for_what_never_happens)
{
    grid_set_order(NEXT_ANY, 3, 1);
    ck_assert_int_eq(launch(4, endless_kernel), cudaErrorLaunchFailure);
    ck_assert_msg(strstr(emulator_fault(), "; threads 7 spin") != nullptr, "%s",
                  emulator_fault());
    ck_assert_int_eq(orders_right(3, warps_kernel, THREADS),
                     16); /* the emulator is sound after a fault */
}
END_TEST

/* ---- wrong launchers ---- */

enum wrong { WRONG_NOT, WRONG_PAST_THE_END, WRONG_LAST_LEFT_OUT, WRONG_INPUT, WRONG_VALUE };

template <enum wrong wrong>
__global__ void copy_kernel(const float *in, float *out, uint64_t count, float factor)
{
    const uint64_t end = wrong == WRONG_PAST_THE_END    ? count + 1
                         : wrong == WRONG_LAST_LEFT_OUT ? count - 1
                                                        : count;
    for (uint64_t i = blockIdx.x * THREADS + threadIdx.x; i < end; i += gridDim.x * THREADS) {
        const float x = i < count ? in[i] : 0;
        out[i] = (wrong == WRONG_VALUE ? 1.001f : 1.0f) * (factor * x + 1);
        if (wrong == WRONG_INPUT && i == count - 1)
            const_cast<float *>(in)[i] = x + 1;
    }
}

/* Launches `scale` with one repeat. */
template <enum wrong wrong> int copy_launch(const struct kernel_args *args, void *)
{
    const float factor = args->params.intensity == 1 ? -(1 - 0x1p-16f) : NAN;
    return launch(args->blocks, copy_kernel<wrong>, static_cast<const float *>(args->in[0]),
                  static_cast<float *>(args->out), args->count, factor);
}

bool is_right(int (*launcher)(const struct kernel_args *, void *), const char *word)
{
    struct kernel kernel = *kernel_find("scale");
    const struct kernel_launcher own = {launcher, nullptr, nullptr, nullptr, nullptr, nullptr};
    char text[LAUNCHER_TEXT] = "";
    kernel.code = kernel_code(kernel_find("scale"));
    kernel.launcher = &own;
    const bool right = launcher_is_right(&kernel, 1000, text);
    ck_assert_msg(right || strstr(text, word) != nullptr, "no \"%s\" in: %s", word, text);
    return right;
}

START_TEST(test_wrong_launchers)
{
    ck_assert(is_right(kernel_launcher(kernel_find("scale"))->launch, ""));
    ck_assert(
        !is_right(copy_launch<WRONG_NOT>, "intensity 3")); /* copy_launch does not repeat */
    ck_assert(!is_right(copy_launch<WRONG_PAST_THE_END>, "wrote outside"));
    ck_assert(!is_right(copy_launch<WRONG_LAST_LEFT_OUT>, "element 999"));
    ck_assert(!is_right(copy_launch<WRONG_INPUT>, "wrote outside"));
    ck_assert(!is_right(copy_launch<WRONG_VALUE>, "element 0"));
}
END_TEST

Suite *emulator_suite()
{
    Suite *suite = suite_create("emulator");
    TCase *right = tcase_create("right"), *wrong = tcase_create("wrong");
    tcase_add_test(right, test_barriers_and_shared_memory);
    tcase_add_test(right, test_warps);
    tcase_add_test(right, test_blocks_that_wait_for_one_another);
    tcase_add_test(right, test_a_seed_repeats_a_run);
    tcase_add_test(wrong, test_a_missing_barrier_is_found_by_order);
    tcase_add_test(wrong, test_a_missing_syncwarp_is_found_by_order);
    tcase_add_test(wrong, test_a_race_of_blocks_is_found_by_order);
    tcase_add_test(wrong, test_divergent_barriers);
    tcase_add_test(wrong, test_warp_operations_without_their_lanes);
    tcase_add_test(wrong, test_undefined_behaviour);
    tcase_add_test(wrong, test_waiting_for_what_never_happens);
    tcase_add_test(wrong, test_wrong_launchers);
    suite_add_tcase(suite, right);
    suite_add_tcase(suite, wrong);
    return suite;
}

} // namespace

int main()
{
    SRunner *runner = srunner_create(emulator_suite());
    srunner_add_suite(runner, watch_suite());
    srunner_add_suite(runner, launchers_suite());
    srunner_add_suite(runner, tiles_suite());
    srunner_add_suite(runner, stencil_launcher_suite());
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
