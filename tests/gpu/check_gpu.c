/* check_gpu.c - the tests that need a CUDA device: the contract, by CUPTI's times and by
 * events', every kernel on the device at odd sizes, and what only a real device can get wrong.
 * Exits 77 when there is none. One process, since a CUDA context does not survive a fork. */
#include "check_gpu_calls.h"
#include "check_gpu_devices.h"
#include "check_gpu_dgemm.h"
#include "check_gpu_graph.h"
#include "check_gpu_halo.h"
#include "check_gpu_latency.h"
#include "check_gpu_marks.h"
#include "check_gpu_mistakes.h"
#include "check_gpu_scan.h"
#include "check_gpu_tiles.h"
#include "fixtures.h"
#include "kernels/kernel_code.h"
#include "run/backend.h"
#include "run/verify.h"
#include "suites.h"

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NO_DEVICE = 77, GUARD_BYTES = 256, GUARD = 0xAB };

extern const struct backend_ops backend_cuda_ops;

static const struct backend_ops *const cuda = &backend_cuda_ops;

/* The device and the plan of one case; globals, so that the end of a test frees them. */
static struct {
    struct backend *backend;
    struct machine machine;
    struct settings settings;
    struct plan plan;
    struct arrays arrays;
    struct timeline timeline;
    struct workload workload;
} at;

static void setup(void)
{
    memset(&at, 0, sizeof at);
    at.plan = (struct plan){0};
    at.timeline = (struct timeline){0};
}

static void end_case(void)
{
    if (at.backend != NULL)
        cuda->release(at.backend);
    timeline_free(&at.timeline);
    arrays_free(&at.arrays);
    plan_free(&at.plan);
}

static void teardown(void)
{
    end_case();
    if (at.backend != NULL)
        cuda->close(at.backend);
    at.backend = NULL;
}

static void must_cuda(cudaError_t result)
{
    ck_assert_msg(result == cudaSuccess, "%s", cudaGetErrorString(result));
}

/* Opens the device and takes the plan and the arrays of `settings`. */
static void begin_case(const struct settings *settings)
{
    struct error error = {0};
    at.settings = *settings;
    if (at.backend == NULL)
        test_must(cuda->open("", &at.settings, &at.backend, &error), &error);
    test_must(cuda->describe(at.backend, &at.settings, &at.machine, &error), &error);
    at.plan = test_built_on(&at.settings, &at.machine);
    test_must(arrays_create(&at.arrays, &at.plan, &at.settings, &error), &error);
    arrays_poison(&at.arrays);
    at.workload =
        (struct workload){.plan = &at.plan, .settings = &at.settings, .arrays = &at.arrays};
}

/* --- kernels, launched one by one --- */

/* A device array with guard bytes around it. */
struct guarded {
    char *memory, *data;
    uint64_t bytes, offset;
};

static struct guarded guarded_take(uint64_t bytes, uint64_t offset)
{
    struct guarded array = {.bytes = bytes, .offset = offset};
    must_cuda(cudaMalloc((void **)&array.memory, bytes + offset + 2 * GUARD_BYTES));
    must_cuda(cudaMemset(array.memory, GUARD, bytes + offset + 2 * GUARD_BYTES));
    array.data = array.memory + GUARD_BYTES + offset;
    return array;
}

static void guarded_check(const struct guarded *array, const char *shown)
{
    unsigned char guard[2][GUARD_BYTES];
    must_cuda(
        cudaMemcpy(guard[0], array->data - GUARD_BYTES, GUARD_BYTES, cudaMemcpyDeviceToHost));
    must_cuda(
        cudaMemcpy(guard[1], array->data + array->bytes, GUARD_BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < GUARD_BYTES; i++) {
        if (guard[0][i] != GUARD || guard[1][i] != GUARD)
            ck_abort_msg("%s: it wrote outside its array", shown);
    }
}

/* Launches on the tile's data `offset` elements off alignment, and verifies the result. */
static void launch_once(const struct kernel *kernel, struct guarded *in, struct guarded *out,
                        struct guarded *scratch, uint32_t blocks, uint32_t threads,
                        const char *shown)
{
    struct error error = {0};
    uint64_t count = at.plan.elements;
    struct kernel_args args = {.out = out->data,
                               .scratch = scratch->data,
                               .count = count,
                               .blocks = blocks,
                               .threads = threads,
                               .params = at.plan.params};
    for (int input = 0; input < kernel->inputs; input++)
        args.in[input] = in[input].data;
    for (; args.repeat < kernel_launches(kernel, &args.params); args.repeat++)
        must_cuda((cudaError_t)kernel_launcher(kernel)->launch(&args, NULL));
    must_cuda(cudaDeviceSynchronize());
    arrays_poison(&at.arrays);
    must_cuda(cudaMemcpy(at.arrays.host[BUFFER_HOST_OUT], out->data, out->bytes,
                         cudaMemcpyDeviceToHost));
    if (verify_output(&at.plan, &at.arrays, &error) != STATUS_OK)
        ck_abort_msg("%s: %s", shown, error.text);
    guarded_check(out, shown);
    guarded_check(scratch, shown);
}

/* Launches with all the blocks that the kernel can be told to have. The scratch is used again
 * in the state that the last launch left. */
static void launch_on_grid(const struct kernel *kernel, struct guarded *in, struct guarded *out,
                           struct guarded *scratch, uint32_t blocks, uint64_t offset)
{
    for (uint32_t threads = 0; threads <= KERNEL_THREADS_MAX;
         threads = threads ? 2 * threads : 32) {
        char shown[128];
        snprintf(shown, sizeof shown,
                 "%s of %" PRIu64 " elements, offset %" PRIu64 ", %" PRIu32
                 " blocks of %" PRIu32 " threads",
                 kernel->name, at.plan.elements, offset, blocks, threads);
        launch_once(kernel, in, out, scratch, blocks, threads, shown);
        if (!kernel->any_threads)
            return;
    }
}

static void check_launches(const struct kernel *kernel, uint64_t count, uint32_t intensity,
                           uint64_t offset)
{
    struct settings settings = test_settings(kernel->name);
    settings.elements = count;
    settings.tiles = settings.streams = 1;
    settings.intensity = intensity;
    settings.seed = count + offset;
    settings.columns = 1 + count % 1000;
    settings.stride = (uint32_t)(1 + count % 100);
    begin_case(&settings);
    struct guarded in[KERNEL_INPUTS_MAX] = {0};
    const uint64_t size = dtype_bytes(kernel->in), out_size = dtype_bytes(kernel->out);
    for (int input = 0; input < kernel->inputs; input++) {
        in[input] = guarded_take(size * count, size * offset);
        must_cuda(cudaMemcpy(in[input].data, at.arrays.host[BUFFER_HOST_IN0 + input],
                             size * count, cudaMemcpyHostToDevice));
    }
    bool reduces = kernel->shape == KERNEL_REDUCE;
    struct guarded out = guarded_take(out_size * (reduces ? 1 : count), out_size * offset);
    struct guarded scratch = guarded_take(kernel_scratch_bytes(kernel, count), 0);
    must_cuda(cudaMemset(scratch.data, 0, scratch.bytes));
    /* These are the planned grid, and grids no plan would have, where the kernel lets itself be
     * told. The scratch is used again in the state that the last launch left. */
    const uint32_t grids[] = {
        kernel_blocks(kernel, count, machine_resident_blocks(&at.machine)), 1, 3,
        KERNEL_BLOCKS_MAX};
    for (size_t i = 0; i < (kernel->whole_grid ? 1 : sizeof grids / sizeof *grids); i++)
        launch_on_grid(kernel, in, &out, &scratch, grids[i], offset);
    for (int input = 0; input < kernel->inputs; input++)
        must_cuda(cudaFree(in[input].memory));
    must_cuda(cudaFree(out.memory));
    must_cuda(cudaFree(scratch.memory));
    end_case();
}

START_TEST(test_kernel_sizes)
{
    static const uint64_t counts[] = {
        1,    2,    3,    5,    31,   32,    33,    127,     255,     256,           257,
        1023, 1024, 1025, 4095, 4097, 65537, 99991, 1000003, 1 << 22, (1 << 22) + 1, 16777259};
    const struct kernel *kernel = &kernel_table[_i];
    if (kernel->rated)
        return; /* matrix products have check_gpu_dgemm.c */
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t offsets = counts[i] < 1000000 ? 4 : 1; /* the largest take a while to verify */
        for (uint64_t offset = 0; offset < offsets; offset++)
            check_launches(kernel, counts[i], 1, offset);
    }
    check_launches(kernel, 100003, 2, 0);
    check_launches(kernel, 100003, 33, 1);
}
END_TEST

/* Runs chains on tiles of odd sizes all the way from options to a verified result. */
START_TEST(test_chains)
{
    static const char *const chains[] = {
        "scale,scale",
        "scale,sum",
        "wave,scale",
        "wave,sum",
        "scale,wave,sum",
        "scale,scale,scale,sum",
        "wave",
        "reduce-shuffle",
        "reduce-divergent",
        "reduce-many",
        "sum-double",
        "all",
        "scale,finite",
        "scan",
        "scan,scan-exclusive,reduce-shuffle",
        "scan-naive,scan-efficient,scan-conflict-free",
        "uniform,divergent",
        "wave-launches,scale",
        "stride-copy",
        "transpose-naive,wave",
    };
    static const uint64_t counts[] = {5, 1000003, 5000011};
    for (size_t i = 0; i < 3 * sizeof chains / sizeof *chains; i++) {
        struct settings settings = test_settings(chains[i / 3]);
        settings.elements = counts[i % 3];
        settings.tiles = i % 3 == 0 ? 5 : 7;
        settings.streams = 3;
        settings.intensity = (uint32_t)i % 3 + 1;
        settings.columns = settings.stride = 97;
        settings.seed = i;
        struct error error = {0};
        struct run_times times;
        begin_case(&settings);
        test_must(cuda->prepare(at.backend, &at.workload, &error), &error);
        test_must(cuda->run(at.backend, NULL, &times, &error), &error);
        test_must(verify_output(&at.plan, &at.arrays, &error), &error);
        end_case();
    }
}
END_TEST

static void put_element(uint64_t at_element, double value)
{
    void *in = at.arrays.host[BUFFER_HOST_IN0];
    if (at.plan.chain[0]->in == DTYPE_F64)
        ((double *)in)[at_element] = value;
    else if (at.plan.chain[0]->in == DTYPE_F32)
        ((float *)in)[at_element] = (float)value;
    else
        ((int32_t *)in)[at_element] = isfinite(value) ? (int32_t)value : 0;
}

/* With infinity and NaN among the elements, or a zero among ints, the device gives the same as
 * the oracle, wherever they are. */
START_TEST(test_special_values)
{
    static const char *const chains[] = {"scale",        "sum", "scale,sum", "finite",
                                         "scale,finite", "all", "sum-double"};
    const double specials[] = {INFINITY, (double)NAN, -INFINITY};
    const uint64_t places[] = {54321, 0, 100002};
    for (size_t i = 0; i < 3 * sizeof chains / sizeof *chains; i++) {
        struct settings settings = test_settings(chains[i / 3]);
        settings.elements = 100003;
        struct error error = {0};
        struct run_times times;
        begin_case(&settings);
        put_element(places[i % 3], specials[i % 3]);
        test_must(cuda->prepare(at.backend, &at.workload, &error), &error);
        test_must(cuda->run(at.backend, NULL, &times, &error), &error);
        test_must(verify_output(&at.plan, &at.arrays, &error), &error);
        end_case();
    }
}
END_TEST

/* --- the sources of times --- */

static void trace_once(void)
{
    struct settings settings = test_settings("scale");
    settings.elements = 1 << 20;
    settings.tiles = 8;
    struct error error = {0};
    struct run_times times;
    begin_case(&settings);
    test_must(cuda->prepare(at.backend, &at.workload, &error), &error);
    test_must(cuda->run(at.backend, &at.timeline, &times, &error), &error);
    test_must(verify_output(&at.plan, &at.arrays, &error), &error);
}

START_TEST(test_events_when_told)
{
    setenv("PIPELINE_NO_CUPTI", "1", 1);
    trace_once();
    unsetenv("PIPELINE_NO_CUPTI");
    ck_assert_int_eq(at.timeline.timing, TIMING_EVENTS);
    ck_assert_ptr_nonnull(strstr(at.timeline.driver, "PIPELINE_NO_CUPTI"));
}
END_TEST

/* CUPTI may be missing; where it can be opened its records must account for every op. */
START_TEST(test_cupti_when_there)
{
    trace_once();
    printf("check-gpu: times from %s (%s)\n", timeline_timing(&at.timeline),
           at.timeline.driver);
    ck_assert_ptr_null(strstr(at.timeline.driver, "did not match"));
    ck_assert_ptr_null(strstr(at.timeline.driver, "lost records"));
}
END_TEST

/* --- refusals and errors --- */

START_TEST(test_no_such_device)
{
    struct settings settings = test_settings("scale");
    struct error error = {0};
    ck_assert_int_eq(cuda->open("9999", &settings, &at.backend, &error), STATUS_NO_DEVICE);
    ck_assert_ptr_nonnull(strstr(error.text, "cuda:9999"));
    ck_assert_ptr_nonnull(strstr(error.text, "CUDA device"));
}
END_TEST

START_TEST(test_connections_once)
{
    struct settings settings = test_settings("scale");
    struct error error = {0};
    begin_case(&settings);
    settings.connections = 5;
    struct backend *second = NULL;
    ck_assert_int_eq(cuda->open("", &settings, &second, &error), STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "--connections"));
    ck_assert_ptr_null(second);
}
END_TEST

START_TEST(test_no_data_refused)
{
    struct settings settings = test_settings("scale");
    struct error error = {0};
    begin_case(&settings);
    at.workload.arrays = NULL;
    ck_assert_int_eq(cuda->prepare(at.backend, &at.workload, &error), STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "--no-data"));
}
END_TEST

/* A call that CUDA refuses names itself and its op, and the backend is as good as before. */
START_TEST(test_refused_op)
{
    struct settings settings = test_settings("scale");
    settings.ways = 4; /* the CPU is at work meanwhile */
    settings.cpu_share = 0.5;
    struct error error = {0};
    struct run_times times;
    begin_case(&settings);
    uint32_t bad = 0;
    while (at.plan.ops[bad].kind != OP_D2H)
        bad++;
    at.plan.ops[bad].copy.device.offset = (uint64_t)1 << 50;
    test_must(cuda->prepare(at.backend, &at.workload, &error), &error);
    ck_assert_int_eq(cuda->run(at.backend, NULL, &times, &error), STATUS_FAILED);
    char expected[64];
    snprintf(expected, sizeof expected, "cudaMemcpyAsync failed on op %" PRIu32 " (d2h ", bad);
    ck_assert_msg(strstr(error.text, expected) != NULL, "%s", error.text);
    ck_assert_msg(strstr(error.text, "cudaErrorInvalidValue") != NULL, "%s", error.text);
    end_case();
    error_clear(&error);
    settings.ways = 3;
    begin_case(&settings);
    test_must(cuda->prepare(at.backend, &at.workload, &error), &error);
    test_must(cuda->run(at.backend, NULL, &times, &error), &error);
    test_must(verify_output(&at.plan, &at.arrays, &error), &error);
}
END_TEST

/* The context is lost, in a process of its own: a kernel writes to an address where there is no
 * memory. It is the last one, which no warm-up runs by itself: so the error comes to light when
 * all is waited for, and the message can't know the op. The run must fail, and the release must
 * end. */
START_TEST(test_lose_context)
{
    struct settings settings = test_settings("scale");
    struct error error = {0};
    struct run_times times;
    begin_case(&settings);
    uint32_t bad = at.plan.op_count - 1;
    while (at.plan.ops[bad].kind != OP_KERNEL)
        bad--;
    at.plan.ops[bad].kernel.ranges->out.offset = (uint64_t)1 << 45;
    test_must(cuda->prepare(at.backend, &at.workload, &error), &error);
    ck_assert_int_eq(cuda->run(at.backend, NULL, &times, &error), STATUS_FAILED);
    printf("check-gpu: as it should: %s\n", error.text);
    ck_assert_ptr_nonnull(strstr(error.text, "or one before it"));
}
END_TEST

START_TEST(test_lost_context)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        alarm(60); /* ends the process if the release hangs */
        execl("/proc/self/exe", "check-gpu", "--lose-context", (char *)NULL);
        _exit(2);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d",
                  status);
}
END_TEST

static int count_kernels(void)
{
    int count = 0;
    while (kernel_table[count].name != NULL)
        count++;
    return count;
}

static Suite *gpu_suite(void)
{
    Suite *suite = suite_create("gpu");
    TCase *tcase = tcase_create("gpu");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, test_kernel_sizes, 0, count_kernels());
    tcase_add_test(tcase, test_chains);
    tcase_add_test(tcase, test_special_values);
    tcase_add_test(tcase, test_events_when_told);
    tcase_add_test(tcase, test_cupti_when_there);
    tcase_add_test(tcase, test_no_such_device);
    tcase_add_test(tcase, test_connections_once);
    tcase_add_test(tcase, test_no_data_refused);
    tcase_add_test(tcase, test_refused_op);
    tcase_add_test(tcase, test_lost_context);
    suite_add_tcase(suite, tcase);
    return suite;
}

static Suite *lost_suite(void)
{
    Suite *suite = suite_create("gpu, a lost context");
    TCase *tcase = tcase_create("lost");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, test_lose_context);
    suite_add_tcase(suite, tcase);
    return suite;
}

static int run_suites(Suite *first, Suite *second)
{
    SRunner *runner = srunner_create(first);
    if (second != NULL)
        srunner_add_suite(runner, second);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed;
}

int main(int argc, char *argv[])
{
    struct settings settings = {0};
    struct error error = {0};
    struct backend *backend;
    if (cuda->open("", &settings, &backend, &error) != STATUS_OK) {
        fprintf(stderr, "check-gpu: %s\n", error.text);
        return error.status == STATUS_NO_DEVICE ? EXIT_NO_DEVICE : EXIT_FAILURE;
    }
    cuda->close(backend);
    if (argc == 2 && strcmp(argv[1], "--lose-context") == 0)
        return run_suites(lost_suite(), NULL) > 0 ? EXIT_FAILURE : EXIT_SUCCESS;

    int failed = run_suites(gpu_suite(), contract_suite("cuda"));
    failed += run_suites(gpu_marks_suite(), gpu_calls_suite());
    failed += run_suites(gpu_scan_suite(), gpu_dgemm_suite());
    failed += run_suites(gpu_mistakes_suite(), gpu_graph_suite());
    failed += run_suites(gpu_latency_suite(), gpu_tiles_suite());
    failed += run_suites(gpu_devices_suite(), gpu_halo_suite());
    setenv("PIPELINE_NO_CUPTI", "1", 1);
    puts("check-gpu: again, with times from events:");
    failed += run_suites(gpu_devices_suite(), NULL);
    failed += run_suites(contract_suite("cuda:0"), gpu_calls_suite());
    failed += run_suites(gpu_mistakes_suite(), NULL);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
