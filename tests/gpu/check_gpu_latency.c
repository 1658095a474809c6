/* check_gpu_latency.c - on a real device: tiles of an urgent stream are told apart, and right.
 * How much sooner they are done is printed, and measured by configs/lessons/21-priorities.ini.
 */
#include "check_gpu_latency.h"

#include "analysis/analysis.h"
#include "fixtures.h"
#include "run/backend.h"
#include "run/verify.h"

#include <stdio.h>

extern const struct backend_ops backend_cuda_ops;

static const struct backend_ops *const cuda = &backend_cuda_ops;

/* Settings with one urgent stream in four, or none. */
static struct settings heavy_settings(bool urgent)
{
    struct settings settings = test_settings("scale");
    settings.elements = 16 << 20;
    settings.tiles = 16;
    settings.streams = 4;
    settings.intensity = 4000;
    settings.priorities[0] = -5;
    settings.priority_count = urgent ? 4 : 0;
    return settings;
}

/* Returns the latency of the most urgent tiles of a run whose result is right; the device's
 * first run is left out. */
static struct latency latency_of(const struct settings *settings)
{
    struct error error = {0};
    struct backend *backend;
    struct machine machine;
    struct arrays arrays;
    struct timeline timeline = {0};
    struct run_times times;
    struct latency latency = {0};
    test_must(cuda->open("", settings, &backend, &error), &error);
    test_must(cuda->describe(backend, settings, &machine, &error), &error);
    struct plan plan = test_built_on(settings, &machine);
    test_must(arrays_create(&arrays, &plan, settings, &error), &error);
    struct workload workload = {.plan = &plan, .settings = settings, .arrays = &arrays};
    test_must(cuda->prepare(backend, &workload, &error), &error);
    test_must(cuda->run(backend, NULL, &times, &error), &error);
    test_must(cuda->run(backend, &timeline, &times, &error), &error);
    test_must(verify_output(&plan, &arrays, &error), &error);
    test_must(latency_find(&timeline, plan.priorities, 1, &latency, &error), &error);
    cuda->release(backend);
    cuda->close(backend);
    timeline_free(&timeline);
    arrays_free(&arrays);
    plan_free(&plan);
    return latency;
}

START_TEST(test_urgent_tiles_are_told_apart)
{
    struct settings plain = heavy_settings(false), urgent = heavy_settings(true);
    struct latency before = latency_of(&plain), after = latency_of(&urgent);
    const struct latency_group *all = &before.groups[0], *few = &after.groups[0];
    printf("check-gpu: urgent tiles took %.3f ms in the median, all alike %.3f ms\n",
           (double)few->median_ns / 1e6, (double)all->median_ns / 1e6);
    ck_assert_uint_eq(before.group_count, 1);
    ck_assert_uint_eq(all->count, 16);
    ck_assert_int_gt(all->min_ns, 0);
    if (after.group_count == 2) { /* a device without priorities has one group */
        ck_assert_int_lt(few->priority, after.groups[1].priority);
        ck_assert_uint_eq(few->count, 4);
        ck_assert_uint_eq(after.groups[1].count, 12);
    }
    ck_assert_int_gt(few->min_ns, 0);
    latency_free(&before);
    latency_free(&after);
}
END_TEST

Suite *gpu_latency_suite(void)
{
    Suite *suite = suite_create("gpu, priorities");
    TCase *tcase = tcase_create("priorities");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_urgent_tiles_are_told_apart);
    suite_add_tcase(suite, tcase);
    return suite;
}
