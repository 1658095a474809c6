/* check_gpu_dgemm.c - the matrix product by cuBLAS, from options to a verified result: odd
 * shapes, every way and layout, with several streams, each with a handle of its own. Without
 * cuBLAS or OpenBLAS the reason must be given. */
#include "check_gpu_dgemm.h"

#include "analysis/analysis.h"
#include "fixtures.h"
#include "kernels/kernel_code.h"
#include "run/backend.h"
#include "run/verify.h"

#include <cuda_runtime_api.h>
#include <string.h>

extern const struct backend_ops backend_cuda_ops;

static const struct backend_ops *const cuda = &backend_cuda_ops;

/* A run from options to its timeline. */
struct line {
    struct backend *backend;
    struct machine machine;
    struct plan plan;
    struct arrays arrays;
    struct timeline timeline;
};

static bool have_cublas(void)
{
    const struct kernel *kernel = kernel_find("dgemm");
    return kernel_missing(kernel) == NULL && kernel_launcher(kernel)->preload() == cudaSuccess;
}

/* Runs the line twice, the second time traced: the result must be right both times. */
static void line_run(struct line *line, const struct settings *settings)
{
    struct error error = {0};
    struct run_times times;
    *line = (struct line){0};
    line->plan = (struct plan){0};
    line->timeline = (struct timeline){0};
    test_must(cuda->open("", settings, &line->backend, &error), &error);
    test_must(cuda->describe(line->backend, settings, &line->machine, &error), &error);
    line->plan = test_built_on(settings, &line->machine);
    test_must(arrays_create(&line->arrays, &line->plan, settings, &error), &error);
    const struct workload workload = {
        .plan = &line->plan, .settings = settings, .arrays = &line->arrays};
    test_must(cuda->prepare(line->backend, &workload, &error), &error);
    for (int traced = 0; traced < 2; traced++) {
        arrays_poison(&line->arrays);
        test_must(cuda->run(line->backend, traced ? &line->timeline : NULL, &times, &error),
                  &error);
        test_must(verify_output(&line->plan, &line->arrays, &error), &error);
    }
}

static void line_free(struct line *line)
{
    cuda->release(line->backend);
    cuda->close(line->backend);
    timeline_free(&line->timeline);
    arrays_free(&line->arrays);
    plan_free(&line->plan);
}

START_TEST(test_products)
{
    static const struct {
        uint64_t rows, inner, columns;
        uint32_t tiles;
    } shapes[] = {
        {1, 1, 4, 4}, {33, 7, 30, 6}, {129, 65, 21, 7}, {500, 300, 8, 8}, {1024, 176, 512, 8}};
    if (!have_cublas())
        return;
    for (size_t i = 0; i < 8 * sizeof shapes / sizeof *shapes; i++) {
        struct settings settings = test_settings("dgemm");
        struct line line;
        settings.rows = shapes[i / 8].rows;
        settings.inner = shapes[i / 8].inner;
        settings.elements = settings.rows * shapes[i / 8].columns;
        settings.tiles = shapes[i / 8].tiles;
        settings.ways = 1 + (int)(i % 4);
        settings.streams = settings.ways == 1 ? 1 : 3;
        settings.layout = i % 8 < 4 ? LAYOUT_TILE : LAYOUT_STAGE;
        settings.seed = i;
        if (settings.ways == 4)
            settings.cpu_share = 0.5;
        line_run(&line, &settings);
        line_free(&line);
    }
}
END_TEST

/* The trace tells the work that was done: no rate beyond what any GPU has, and A goes in once.
 */
START_TEST(test_trace)
{
    struct settings settings = test_settings("dgemm");
    struct line line;
    struct analysis analysis;
    struct error error = {0};
    if (!have_cublas())
        return;
    settings.rows = 2048;
    settings.inner = 512;
    settings.elements = 2048 * 1024;
    settings.tiles = 8;
    settings.streams = 4;
    line_run(&line, &settings);
    test_must(analyse(&line.timeline, &analysis, &error), &error);
    const double flops = 2.0 * 2048 * 1024 * 512;
    ck_assert(analysis.engines[ENGINE_COMPUTE].busy_ns > 1e9 * flops / 1e15);
    ck_assert_uint_eq(analysis.engines[ENGINE_H2D].bytes,
                      8 * (2048 * 512 + 512 * 1024 + 2048 * 1024));
    line_free(&line);
}
END_TEST

/* A kernel names the library that it lacks; nothing is left behind by the attempt. */
START_TEST(test_context)
{
    const struct kernel *kernel = kernel_find("dgemm");
    char why[KERNEL_WHY];
    void *context = NULL;
    const char *failed = kernel_launcher(kernel)->context_create(NULL, &context, why);
    ck_assert((failed == NULL) == (context != NULL));
    ck_assert((kernel_launcher(kernel)->preload() == cudaSuccess) == (failed == NULL));
    if (failed != NULL)
        ck_assert_ptr_nonnull(strstr(failed, "cuBLAS"));
    else
        kernel_launcher(kernel)->context_destroy(context);
}
END_TEST

Suite *gpu_dgemm_suite(void)
{
    Suite *suite = suite_create("gpu, matrix products");
    TCase *tcase = tcase_create("dgemm");
    tcase_add_test(tcase, test_products);
    tcase_add_test(tcase, test_trace);
    tcase_add_test(tcase, test_context);
    suite_add_tcase(suite, tcase);
    return suite;
}
