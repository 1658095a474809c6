/* check_gpu_scan.c - the scans' launchers on a real device: a carry goes from one launch to the
 * next, in place and to an output that lies otherwise in its lines, on grids no plan would
 * have, with scratch that is used again as it was left. */
#include "check_gpu_scan.h"

#include "kernels/kernel_code.h"
#include "run/arrays.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void must_cuda(cudaError_t result)
{
    ck_assert_msg(result == cudaSuccess, "%s", cudaGetErrorString(result));
}

static void *take(uint64_t bytes, bool device)
{
    void *memory = NULL;
    if (device)
        must_cuda(cudaMalloc(&memory, bytes));
    else
        memory = malloc(bytes);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* An array in two parts, the second with the first one's carry, on the device and by the twin.
 */
struct work {
    const struct kernel *kernel;
    uint64_t count, first_count;
    uint64_t apart; /* elements by which the output lies otherwise in its lines than the input;
                       0: the work is done in place */
    bool own;       /* each part's own total is carried out */
    uint32_t *host, *device, *device_out, *device_carry, *scratch;
    uint32_t host_carry[2];
};

static void work_begin(struct work *work)
{
    uint64_t bytes = work->count * sizeof *work->host;
    uint64_t lines = (work->count / KERNEL_LINE + 1) * KERNEL_LINE;
    uint64_t scratch_bytes = kernel_scratch_bytes(work->kernel, work->count);
    work->host = take(bytes, false);
    work->device = take((2 * lines + work->apart) * sizeof *work->device, true);
    work->device_out = work->device + (work->apart > 0 ? lines + work->apart : 0);
    work->device_carry = take(sizeof work->host_carry, true);
    work->scratch = take(scratch_bytes, true);
    must_cuda(cudaMemset(work->scratch, 0, scratch_bytes));
}

static void work_end(struct work *work)
{
    free(work->host);
    must_cuda(cudaFree(work->device));
    must_cuda(cudaFree(work->device_carry));
    must_cuda(cudaFree(work->scratch));
}

/* Does one part, on the device or by the twin. */
static void part_do(struct work *work, int part, uint32_t blocks, bool device)
{
    uint32_t *in = device ? work->device : work->host;
    uint32_t *out = device ? work->device_out : work->host;
    uint32_t *carry = device ? work->device_carry : work->host_carry;
    struct kernel_args args = {
        .in = {in + (part ? work->first_count : 0)},
        .out = out + (part ? work->first_count : 0),
        .scratch = device ? work->scratch : NULL,
        .carry_in = part ? carry : NULL,
        .carry_out = carry + part,
        .carry_own = work->own,
        .count = part ? work->count - work->first_count : work->first_count,
        .blocks = blocks,
        .params = {.intensity = 1},
    };
    if (device)
        must_cuda((cudaError_t)kernel_launcher(work->kernel)->launch(&args, NULL));
    else
        kernel_code(work->kernel)->host(&args);
}

static void work_check(struct work *work, uint64_t seed, uint32_t blocks)
{
    uint64_t bytes = work->count * sizeof *work->host;
    uint32_t carry[2], *left = take(bytes, false);
    arrays_generate(DTYPE_I32, seed, 0, 0, work->count, work->host);
    must_cuda(cudaMemcpy(work->device, work->host, bytes, cudaMemcpyHostToDevice));
    for (int part = 0; part < 2; part++) {
        part_do(work, part, blocks, true);
        part_do(work, part, blocks, false);
    }
    must_cuda(cudaMemcpy(left, work->device_out, bytes, cudaMemcpyDeviceToHost));
    must_cuda(cudaMemcpy(carry, work->device_carry, sizeof carry, cudaMemcpyDeviceToHost));
    for (uint64_t i = 0; i < work->count; i++) {
        if (left[i] != work->host[i])
            ck_abort_msg(
                "%s of %" PRIu64 " elements in two parts, the first of %" PRIu64 ", %" PRIu64
                " apart, %" PRIu32 " blocks: element %" PRIu64 " is wrong",
                work->kernel->name, work->count, work->first_count, work->apart, blocks, i);
    }
    ck_assert_uint_eq(carry[0], work->host_carry[0]);
    ck_assert_uint_eq(carry[1], work->host_carry[1]);
    free(left);
}

START_TEST(test_carries)
{
    static const uint64_t counts[][2] = {{2, 1},       {1000, 999},     {8192, 4096},
                                         {100003, 37}, {1000003, 4097}, {9000000, 8388608}};
    static const uint32_t grids[] = {1, 2, 1000, KERNEL_BLOCKS_MAX};
    static const uint64_t aparts[] = {0, 4, 1};
    const size_t cases = sizeof counts / sizeof *counts;
    for (size_t i = 0; i < 3 * cases; i++) {
        struct work work = {.kernel = &kernel_table[_i],
                            .count = counts[i % cases][0],
                            .first_count = counts[i % cases][1],
                            .apart = aparts[i / cases]};
        if (work.kernel->shape != KERNEL_SCAN)
            return;
        work_begin(&work);
        for (size_t j = 0; j < 2 * (sizeof grids / sizeof *grids); j++) {
            work.own = j % 2;
            work_check(&work, i + j, grids[j / 2]);
        }
        work_end(&work);
    }
}
END_TEST

/* A scan's blocks wait for each other: many launches bring many of their orders up. */
START_TEST(test_again_and_again)
{
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        struct work work = {.kernel = kernel, .count = 1 << 20, .first_count = 1 << 19};
        if (kernel->shape != KERNEL_SCAN)
            continue;
        work_begin(&work);
        for (uint32_t i = 0; i < 200; i++)
            work_check(&work, i, 1 + i * 7);
        work_end(&work);
    }
}
END_TEST

Suite *gpu_scan_suite(void)
{
    int rows = 0;
    while (kernel_table[rows].name != NULL)
        rows++;
    Suite *suite = suite_create("gpu, scans");
    TCase *tcase = tcase_create("scans");
    tcase_add_loop_test(tcase, test_carries, 0, rows);
    tcase_add_test(tcase, test_again_and_again);
    suite_add_tcase(suite, tcase);
    return suite;
}
