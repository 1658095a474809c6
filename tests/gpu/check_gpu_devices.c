/* check_gpu_devices.c - plans on several real devices, from options to verified results, and
 * timelines that say which device did each op. */
#include "check_gpu_devices.h"

#include "check_contract_timeline.h"
#include "fixtures.h"
#include "kernels/kernel_code.h"
#include "options/options.h"
#include "plan/build.h"
#include "plan/device.h"
#include "run/backend.h"
#include "run/verify.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct backend_ops backend_cuda_ops;

static const struct backend_ops *const cuda = &backend_cuda_ops;

/* The devices and the plan of one case; globals, so that the end of a test frees them. */
static struct {
    struct options options;
    struct settings settings;
    struct backend *backend;
    struct machine machine;
    struct plan plan;
    struct arrays arrays;
    struct timeline timeline;
    struct workload workload;
    uint32_t tiles_told;
} at;

static void must(enum status status, const struct error *error)
{
    if (status != STATUS_OK)
        ck_abort_msg("%s: %s", at.settings.device, error->text);
}

static int devices_here(void)
{
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

static void tell(void *context, int32_t tile)
{
    (void)context, (void)tile;
    at.tiles_told++;
}

static void end_case(void)
{
    if (at.backend != NULL) {
        cuda->release(at.backend);
        cuda->close(at.backend);
    }
    timeline_free(&at.timeline);
    arrays_free(&at.arrays);
    plan_free(&at.plan);
    if (at.options.runs != NULL)
        options_free(&at.options);
    memset(&at, 0, sizeof at);
}

/* Prepares what a command line asks for. */
static void begin_case(const char *arguments)
{
    enum { WORDS = 32 };
    static char text[512];
    char *argv[WORDS + 1] = {"pipeline"}, *rest = NULL;
    struct error error = {0};
    int count = 1;
    memset(&at, 0, sizeof at);
    at.plan = (struct plan){0};
    at.timeline = (struct timeline){0};
    snprintf(text, sizeof text, "%s", arguments);
    for (char *word = strtok_r(text, " ", &rest); word != NULL && count < WORDS;
         word = strtok_r(NULL, " ", &rest))
        argv[count++] = word;
    must(options_parse(count, argv, &at.options, &error), &error);
    at.settings = at.options.runs[0];
    must(cuda->open(device_argument(at.settings.device), &at.settings, &at.backend, &error),
         &error);
    must(cuda->describe(at.backend, &at.settings, &at.machine, &error), &error);
    must(plan_build(&at.settings, &at.machine, &at.plan, &error), &error);
    must(arrays_create(&at.arrays, &at.plan, &at.settings, &error), &error);
    arrays_poison(&at.arrays);
    at.workload = (struct workload){
        .plan = &at.plan, .settings = &at.settings, .arrays = &at.arrays, .on_tile = tell};
    must(cuda->prepare(at.backend, &at.workload, &error), &error);
}

/* Runs once, and verifies the result. */
static void run_once(bool traced)
{
    struct error error = {0};
    struct run_times times;
    at.tiles_told = 0;
    arrays_poison(&at.arrays);
    must(cuda->run(at.backend, traced ? &at.timeline : NULL, &times, &error), &error);
    must(verify_output(&at.plan, &at.arrays, &error), &error);
}

/* Every op has a span, on the device of its stream, and those of all devices are in the run. */
static void check_spans(const char *shown)
{
    uint32_t on[MACHINE_DEVICES_MAX] = {0};
    for (uint32_t i = 0; i < at.timeline.span_count; i++) {
        const struct span *span = &at.timeline.spans[i];
        if (!op_on_device((enum op_kind)span->kind))
            continue;
        const struct op *op = &at.plan.ops[span->op];
        ck_assert_uint_eq(span->device, plan_stream_home(&at.plan, op->stream).device);
        if (op->kind == OP_KERNEL && at.plan.batch <= 1 && !at.plan.by_link)
            ck_assert_uint_eq(span->device, (uint32_t)op->tile % at.plan.devices);
        ck_assert_int_ge(span->start_ns, span->issue_ns);
        ck_assert_int_ge(span->end_ns, span->start_ns);
        on[span->device]++;
    }
    for (uint32_t i = 0; i < at.plan.devices; i++)
        ck_assert_msg(on[i] > 0, "%s: no span of device %u", shown, i);
}

static const char *const cases[] = {
    "-k scale",
    "-k scale --order=breadth",
    "-k scale,scale,sum --order=breadth",
    "-k wave --layout=stage",
    "-k wave,sum --layout=stage --order=breadth --callbacks",
    "-k reduce-shuffle",
    "-k all --order=breadth",
    "-w 1",
    "-w 2 -s 3",
    "-w 4 --cpu-share=0.4",
    "--memory=pageable",
    "--memory=pageable --order=breadth",
    "--memory=registered --priorities=0,-1",
    "--callbacks",
    "--callbacks --scatter",
    "--scatter --order=breadth --layout=stage",
    "--issue=batch -t 200",
    "--issue=batch -t 200 --scatter",
    "--pack -t 200",
    "--pack -t 200 --scatter",
    "--copy=2d --tile-width=64 -n 1M -t 16",
    "--copy=rows --tile-width=256 -n 1M -t 16 -k wave --order=breadth",
    "--copy=2d --tile-width=64 -n 1M -t 256 --pack",
    "-k scan --carry=callback",
    "-k scan-exclusive --carry=callback --order=breadth",
    "-k scan-exclusive --carry=sync -w 2",
    "-k wave-launches,scale --intensity=3",
    "-k dgemm -n 1M --rows=1024 --inner=64 -t 16",
    "-t 4",
    "--spread=chain -k scale,scale,scale,scale",
    "--spread=chain -k scale,scale,scale,scale,sum --order=breadth",
    "--spread=chain -k wave,scale,scale,scale --layout=stage --callbacks",
    "--spread=chain -k scale,scale,scale,scale --exchange=host",
    "--spread=chain -k scale,scale,scale,scale --exchange=host --order=breadth --scatter",
    "--spread=chain -k scale,scale,scale,scale --ways=4 --cpu-share=0.3",
    "--spread=chain -k scale,scale,scale,scale --memory=pageable",
    "--spread=chain -k scan,scan,scan,scan-exclusive --carry=callback",
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* Whatever goes with several devices gives the right bytes, run after run, in both orders of
 * the devices. */
START_TEST(test_results_and_times)
{
    static const char *const devices[] = {"0,1", "1,0", "0,1,2,3"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        char line[256];
        if (devices_here() < (i < 2 ? 2 : 4))
            continue;
        snprintf(line, sizeof line, "-q -d cuda:%s -n 1M -t 13 --intensity=1 %s", devices[i],
                 cases[_i]);
        if (strstr(line, "dgemm") != NULL && kernel_missing(kernel_find("dgemm")) != NULL)
            continue; /* its twin needs OpenBLAS */
        begin_case(line);
        run_once(false);
        run_once(true);
        check_spans(line);
        ck_assert_msg(strstr(at.timeline.driver, "did not match") == NULL, "%s: %s", line,
                      at.timeline.driver);
        if (at.settings.callbacks && at.plan.batch <= 1)
            ck_assert_uint_eq(at.tiles_told, at.plan.tiles);
        run_once(false);
        end_case();
    }
}
END_TEST

/* A larger run, whose devices are busy at the same time: on one clock their copies overlap. */
START_TEST(test_devices_overlap)
{
    int64_t first[2] = {INT64_MAX, INT64_MAX}, last[2] = {0, 0};
    if (devices_here() < 2)
        return;
    begin_case("-q -d cuda:0,1 -n 64M -t 32 --intensity=1");
    run_once(false);
    run_once(true);
    printf("check-gpu: two devices, times from %s (%s)\n", timeline_timing(&at.timeline),
           at.timeline.driver);
    check_spans("two devices");
    for (uint32_t i = 0; i < at.timeline.span_count; i++) {
        const struct span *span = &at.timeline.spans[i];
        if (!op_on_device((enum op_kind)span->kind))
            continue;
        first[span->device] =
            span->start_ns < first[span->device] ? span->start_ns : first[span->device];
        last[span->device] =
            span->end_ns > last[span->device] ? span->end_ns : last[span->device];
    }
    const int64_t both =
        (last[0] < last[1] ? last[0] : last[1]) - (first[0] > first[1] ? first[0] : first[1]);
    const int64_t whole =
        (last[0] > last[1] ? last[0] : last[1]) - (first[0] < first[1] ? first[0] : first[1]);
    ck_assert_msg((double)both > 0.5 * (double)whole, "%lld of %lld ns", (long long)both,
                  (long long)whole);
    ck_assert_uint_eq(at.machine.devices, 2);
    printf("check-gpu: the host's memory gives two devices %.4g, %.4g and %.4g GB/s at most\n",
           1e-9 * at.machine.host_h2d_bytes_per_s, 1e-9 * at.machine.host_d2h_bytes_per_s,
           1e-9 * at.machine.host_joint_bytes_per_s);
    end_case();
}
END_TEST

/* A call that CUDA refuses names its op and its device, and the devices are as good as before.
 */
START_TEST(test_refused_op_names_the_device)
{
    struct error error = {0};
    struct run_times times;
    uint32_t bad = 0;
    if (devices_here() < 2)
        return;
    begin_case("-q -d cuda:0,1 -n 1M -t 8 --intensity=1");
    cuda->release(at.backend);
    while (at.plan.ops[bad].kind != OP_D2H ||
           plan_stream_home(&at.plan, at.plan.ops[bad].stream).device != 1)
        bad++;
    at.plan.ops[bad].copy.device.offset = (uint64_t)1 << 50;
    must(cuda->prepare(at.backend, &at.workload, &error), &error);
    ck_assert_int_eq(cuda->run(at.backend, NULL, &times, &error), STATUS_FAILED);
    ck_assert_msg(strstr(error.text, "cudaMemcpyAsync failed on op ") != NULL &&
                      strstr(error.text, " on cuda:1: ") != NULL,
                  "%s", error.text);
    end_case();
    begin_case("-q -d cuda:0,1 -n 1M -t 8 --intensity=1");
    run_once(false);
    end_case();
}
END_TEST

/* After a run on several devices one alone is as ever, whichever it is. */
START_TEST(test_one_after_several)
{
    static const char *const lines[] = {"-q -d cuda:1,0 -n 1M -t 8", "-q -d cuda:0 -n 1M -t 8",
                                        "-q -d cuda:1 -n 1M -t 8", "-q -d cuda:0,1 -n 1M -t 8"};
    for (size_t i = 0; devices_here() >= 2 && i < sizeof lines / sizeof lines[0]; i++) {
        begin_case(lines[i]);
        run_once(false);
        run_once(true);
        end_case();
    }
}
END_TEST

START_TEST(test_absent_device)
{
    struct settings settings = test_settings("scale");
    struct error error = {0};
    struct backend *backend = NULL;
    settings.devices = 2;
    ck_assert_int_eq(cuda->open("0,9999", &settings, &backend, &error), STATUS_NO_DEVICE);
    ck_assert_msg(strstr(error.text, "no cuda:9999: ") != NULL, "%s", error.text);
    ck_assert_ptr_null(backend);
}
END_TEST

Suite *gpu_devices_suite(void)
{
    Suite *suite = suite_create("gpu, several devices");
    TCase *tests = tcase_create("devices");
    tcase_add_checked_fixture(tests, NULL, end_case);
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, test_results_and_times, 0, CASES);
    tcase_add_test(tests, test_devices_overlap);
    tcase_add_test(tests, test_refused_op_names_the_device);
    tcase_add_test(tests, test_one_after_several);
    tcase_add_test(tests, test_absent_device);
    suite_add_tcase(suite, tests);
    if (devices_here() < 2)
        puts("check-gpu: there is one device: the suite of several checks nothing");
    return suite;
}
