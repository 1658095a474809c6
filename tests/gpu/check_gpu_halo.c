/* check_gpu_halo.c - the stencil on real devices: its launcher gives the twin's bits, plans of
 * one device and, where there are two that are peers, of both are right, and it is said how
 * much of the exchange was hidden. */
#include "check_gpu_halo.h"

#include "analysis/analysis.h"
#include "fixtures.h"
#include "kernels/kernel_code.h"
#include "run/backend.h"
#include "run/verify.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct backend_ops backend_cuda_ops;

static const struct backend_ops *const cuda = &backend_cuda_ops;

static void must_cuda(cudaError_t result)
{
    ck_assert_msg(result == cudaSuccess, "%s", cudaGetErrorString(result));
}

/* --- the launcher --- */

static const struct {
    uint64_t columns, rows;
    uint32_t halo;
} shapes[] = {
    {1, 1, 1},       {1, 9000, 3},   {7, 1, 5},      {255, 33, 2},
    {256, 33, 1},    {257, 129, 4},  {1023, 77, 16}, {(1 << 20) + 1, 3, 2},
    {4096, 1025, 8}, {100, 100, 64},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* What lies before and behind the rows that may be read is NaN, which would show. */
START_TEST(test_launcher_gives_the_twins_bits)
{
    const struct kernel *kernel = kernel_find("stencil");
    const uint64_t count = shapes[_i].columns * shapes[_i].rows;
    const uint64_t all = count + 2 * shapes[_i].halo * shapes[_i].columns;
    float *in = malloc((all + 2) * sizeof *in), *out = malloc(2 * count * sizeof *out);
    float *device_in, *device_out;
    ck_assert(in != NULL && out != NULL);
    memset(in, 0xFF, (all + 2) * sizeof *in);
    for (uint64_t i = 0; i < all; i++)
        in[1 + i] = (float)(i * 2654435761u % 2001) / 1000.0f - 1;
    must_cuda(cudaMalloc((void **)&device_in, (all + 2) * sizeof *in));
    must_cuda(cudaMalloc((void **)&device_out, (count + 1) * sizeof *out));
    must_cuda(cudaMemcpy(device_in, in, (all + 2) * sizeof *in, cudaMemcpyHostToDevice));
    must_cuda(cudaMemset(device_out, 0xFF, (count + 1) * sizeof *out));
    struct kernel_args args = {
        .in = {in + 1},
        .out = out,
        .count = count,
        .blocks = 1,
        .params = {.intensity = 1, .columns = shapes[_i].columns, .halo = shapes[_i].halo}};
    kernel_code(kernel)->host(&args);
    args.in[0] = device_in + 1;
    args.out = device_out;
    must_cuda((cudaError_t)kernel_launcher(kernel)->launch(&args, NULL));
    must_cuda(cudaDeviceSynchronize());
    must_cuda(cudaMemcpy(out + count, device_out, count * sizeof *out, cudaMemcpyDeviceToHost));
    for (uint64_t i = 0; i < count; i++)
        ck_assert_msg(memcmp(&out[i], &out[count + i], sizeof *out) == 0,
                      "element %llu: %a, and %a by the twin", (unsigned long long)i,
                      (double)out[count + i], (double)out[i]);
    uint32_t behind;
    must_cuda(cudaMemcpy(&behind, device_out + count, sizeof behind, cudaMemcpyDeviceToHost));
    ck_assert_uint_eq(behind, UINT32_MAX);
    must_cuda(cudaFree(device_in));
    must_cuda(cudaFree(device_out));
    free(in);
    free(out);
}
END_TEST

/* --- plans --- */

static struct settings halo_settings(uint64_t columns, uint64_t rows, uint32_t tiles,
                                     uint32_t halo, uint32_t steps)
{
    struct settings settings = test_settings("stencil");
    settings.columns = columns;
    settings.tiles = tiles;
    settings.elements = columns * rows * tiles;
    settings.halo = halo;
    settings.steps = steps;
    return settings;
}

/* Runs a plan bare, and then traced; both results are verified. */
static struct analysis run_verified(const char *argument, const struct settings *settings)
{
    struct backend *backend;
    struct machine machine;
    struct arrays arrays;
    struct timeline timeline = {0};
    struct analysis analysis;
    struct error error = {0};
    test_must(cuda->open(argument, settings, &backend, &error), &error);
    test_must(cuda->describe(backend, settings, &machine, &error), &error);
    struct plan plan = test_built_on(settings, &machine);
    test_must(arrays_create(&arrays, &plan, settings, &error), &error);
    const struct workload workload = {.plan = &plan, .settings = settings, .arrays = &arrays};
    test_must(cuda->prepare(backend, &workload, &error), &error);
    for (int run = 0; run < 2; run++) {
        struct run_times times;
        arrays_poison(&arrays);
        test_must(cuda->run(backend, run == 1 ? &timeline : NULL, &times, &error), &error);
        test_must(verify_output(&plan, &arrays, &error), &error);
    }
    test_must(analyse(&timeline, &analysis, &error), &error);
    cuda->release(backend);
    cuda->close(backend);
    timeline_free(&timeline);
    arrays_free(&arrays);
    plan_free(&plan);
    return analysis;
}

START_TEST(test_one_device)
{
    for (uint32_t steps = 1; steps <= 9; steps += 4) {
        struct settings settings = halo_settings(1013, 37, 5, steps, steps);
        (void)run_verified("", &settings);
        settings = halo_settings(1 << 16, 3, 16, 2, steps);
        (void)run_verified("", &settings);
    }
}
END_TEST

/* Returns true if there are two devices that are peers. */
static bool has_two(void)
{
    int count = 0, can = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count >= 2 &&
           cudaDeviceCanAccessPeer(&can, 0, 1) == cudaSuccess && can;
}

START_TEST(test_two_devices)
{
    if (!has_two()) {
        puts("check-gpu: no two devices that are peers: the exchange of halos is not tested");
        return;
    }
    for (enum hide hide = HIDE_YES; hide <= HIDE_NO; hide++) {
        struct settings settings = halo_settings(1013, 37, 5, 3, 8);
        settings.device = "cuda:0,1";
        settings.devices = 2;
        settings.hide = hide;
        (void)run_verified("0,1", &settings);
    }
}
END_TEST

/* How much is hidden is a matter of time, and said alone. */
START_TEST(test_how_much_is_hidden)
{
    struct settings settings = halo_settings(1 << 16, 128, 16, 4, 30);
    if (!has_two())
        return;
    settings.device = "cuda:0,1";
    settings.devices = 2;
    const struct analysis hidden = run_verified("0,1", &settings);
    settings.hide = HIDE_NO;
    const struct analysis bare = run_verified("0,1", &settings);
    printf("check-gpu: of the exchange %.3g is hidden, and %.3g with --hide=no\n",
           hidden.peers_hidden, bare.peers_hidden);
}
END_TEST

Suite *gpu_halo_suite(void)
{
    Suite *suite = suite_create("gpu halo");
    TCase *tcase = tcase_create("halo");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, test_launcher_gives_the_twins_bits, 0, SHAPES);
    tcase_add_test(tcase, test_one_device);
    tcase_add_test(tcase, test_two_devices);
    tcase_add_test(tcase, test_how_much_is_hidden);
    suite_add_tcase(suite, tcase);
    return suite;
}
