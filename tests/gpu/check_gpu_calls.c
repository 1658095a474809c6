/* check_gpu_calls.c - a plan by hand with an op of each kind that no built plan has, in streams
 * of every kind, on a real device: its bytes come out right only in the right order, and the
 * times must show that order. */
#include "check_gpu_calls.h"

#include "check_contract_timeline.h"
#include "fixtures.h"
#include "run/backend.h"

#include <stdio.h>
#include <string.h>

extern const struct backend_ops backend_cuda_ops;

static const struct backend_ops *const cuda = &backend_cuda_ops;

enum { MIDDLE = 0x5A, LAST = 0xA5 };

/* The device and the plan of one case. */
static struct {
    struct backend *backend;
    struct machine machine;
    struct settings settings;
    struct plan plan;
    struct arrays arrays;
    struct timeline timeline;
    struct workload workload;
} at;

/* in0 goes in and is copied to out on the device; the middle half of that is set; it comes out,
 * and then all of it is set. No two of these are in one stream, and no event orders them: a
 * sync, the legacy default stream and the blocking ones do. */
static struct plan plan_by_hand(uint64_t bytes)
{
    static const enum stream_kind kinds[] = {STREAM_NONBLOCKING, STREAM_BLOCKING, STREAM_LEGACY,
                                             STREAM_BLOCKING, STREAM_NONBLOCKING};
    struct error error = {0};
    struct hazard hazard;
    size_t hazards;
    struct plan plan = test_plan(5, 1, 1, bytes / sizeof(float));
    test_stream_kinds(&plan, kinds);
    test_h2d(&plan, 0, 0, 0, bytes);
    test_sync(&plan, 0);
    test_d2d(&plan, 1, 0, bytes);
    test_memset(&plan, 2, bytes / 4, bytes / 2, MIDDLE);
    test_alloc(&plan, bytes, false);
    test_alloc(&plan, bytes, true);
    test_d2h(&plan, 3, 0, 0, bytes);
    test_record(&plan, 2, 0); /* stands for the blocking streams, too */
    test_wait(&plan, 4, 0);
    test_memset(&plan, 4, 0, bytes, LAST);
    test_sync(&plan, 2);
    test_sync(&plan, 5);
    test_must(plan_validate(&plan, &error), &error);
    test_must(plan_hazards(&plan, &hazard, 1, &hazards, &error), &error);
    ck_assert_uint_eq(hazards, 0);
    return plan;
}

static void begin(uint64_t bytes)
{
    struct error error = {0};
    memset(&at, 0, sizeof at);
    at.timeline = (struct timeline){0};
    at.settings = test_settings("scale");
    at.settings.tiles = at.settings.streams = 1;
    at.plan = plan_by_hand(bytes);
    at.settings.elements = at.plan.elements;
    test_must(cuda->open("", &at.settings, &at.backend, &error), &error);
    test_must(cuda->describe(at.backend, &at.settings, &at.machine, &error), &error);
    test_must(arrays_create(&at.arrays, &at.plan, &at.settings, &error), &error);
    at.workload =
        (struct workload){.plan = &at.plan, .settings = &at.settings, .arrays = &at.arrays};
    test_must(cuda->prepare(at.backend, &at.workload, &error), &error);
}

static void end(void)
{
    cuda->release(at.backend);
    cuda->close(at.backend);
    timeline_free(&at.timeline);
    arrays_free(&at.arrays);
    plan_free(&at.plan);
}

static void assert_bytes(uint64_t bytes)
{
    const uint8_t *in = at.arrays.host[BUFFER_HOST_IN0], *out = at.arrays.host[BUFFER_HOST_OUT];
    for (uint64_t i = 0; i < bytes; i++) {
        uint8_t expected = i >= bytes / 4 && i < bytes / 4 + bytes / 2 ? MIDDLE : in[i];
        if (out[i] != expected)
            ck_abort_msg("byte %llu of %llu is %d, not %d", (unsigned long long)i,
                         (unsigned long long)bytes, out[i], expected);
    }
}

/* A sync returns once what it waited for is over, and nothing behind it starts earlier. */
static void assert_syncs(void)
{
    enum { TOLERANCE_NS = 20000 }; /* the precision with which the two clocks are tied */
    for (uint32_t i = 0; i < at.timeline.span_count; i++) {
        const struct span *sync = &at.timeline.spans[i];
        if (sync->kind != OP_SYNC)
            continue;
        const struct span *target = timeline_span(&at.timeline, sync->target);
        ck_assert_ptr_nonnull(target);
        ck_assert_int_ge(sync->end_ns, target->end_ns - TOLERANCE_NS);
        for (uint32_t j = i + 1; j < at.timeline.span_count; j++)
            ck_assert_int_ge(at.timeline.spans[j].start_ns, sync->end_ns);
    }
}

/* Sizes are odd, too; large ones take their time, so that what is not ordered overlaps. */
START_TEST(test_bytes_and_order)
{
    static const uint64_t sizes[] = {64, 4100, 1 << 20, 64 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char shown[64];
        struct error error = {0};
        struct run_times times;
        snprintf(shown, sizeof shown, "%llu bytes", (unsigned long long)sizes[i]);
        begin(sizes[i]);
        for (int traced = 0; traced <= 1; traced++) {
            memset(at.arrays.host[BUFFER_HOST_OUT], 0, sizes[i]);
            test_must(cuda->run(at.backend, traced ? &at.timeline : NULL, &times, &error),
                      &error);
            assert_bytes(sizes[i]);
        }
        printf("check-gpu: calls, %s: times from %s (%s)\n", shown,
               timeline_timing(&at.timeline), at.timeline.driver);
        ck_assert_ptr_null(strstr(at.timeline.driver, "did not match"));
        contract_check_timeline(&at.plan, &at.timeline, at.machine.copy_engines, true, shown);
        assert_syncs();
        end();
    }
}
END_TEST

/* A call that CUDA refuses names itself and its op. */
START_TEST(test_refused_allocation)
{
    struct error error = {0};
    struct run_times times;
    begin(4096);
    cuda->release(at.backend);
    at.plan.ops[4].alloc.bytes = UINT64_C(1) << 50;
    test_must(cuda->prepare(at.backend, &at.workload, &error), &error);
    ck_assert_int_eq(cuda->run(at.backend, NULL, &times, &error), STATUS_FAILED);
    ck_assert_msg(strstr(error.text, "cudaMalloc or cudaFree failed on op 4 (alloc device)"),
                  "%s", error.text);
    end();
}
END_TEST

Suite *gpu_calls_suite(void)
{
    Suite *suite = suite_create("gpu_calls");
    TCase *tests = tcase_create("gpu_calls");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_bytes_and_order);
    tcase_add_test(tests, test_refused_allocation);
    suite_add_tcase(suite, tests);
    return suite;
}
