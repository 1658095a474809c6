/* check_backend.c - which backend a --device value means, and what the simulated one refuses.
 */
#include "app/backends.h"
#include "fixtures.h"
#include "plan/device.h"
#include "run/backend.h"
#include "suites.h"

#include <string.h>

START_TEST(test_select)
{
    const struct backend_ops *ops = NULL;
    const char *argument = NULL;
    struct error error = {0};
    ck_assert_int_eq(backend_select(backends, "sim:h200", &ops, &argument, &error), STATUS_OK);
    ck_assert_str_eq(ops->name, "sim");
    ck_assert_str_eq(argument, "h200");
    ck_assert_int_eq(backend_select(backends, "sim", &ops, &argument, &error), STATUS_OK);
    ck_assert_str_eq(argument, "");
    ck_assert_int_eq(backend_select(backends, "auto", &ops, &argument, &error), STATUS_OK);
    ck_assert(strcmp(ops->name, "sim") != 0 || strcmp(argument, "h200") == 0);
    ck_assert_int_eq(backend_select(backends, "simulator:h200", &ops, &argument, &error),
                     STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "sim:NAME"));
}
END_TEST

/* The list and the table of devices agree, and a backend that is not missing has every hook. */
START_TEST(test_backends_are_complete)
{
    int count = 0;
    while (device_rows[count].name != NULL)
        count++;
    for (int i = 0; i <= count; i++)
        ck_assert((backends[i] != NULL) == (i < count));
    for (int i = 0; i < count; i++) {
        ck_assert_str_eq(backends[i]->name, device_rows[i].name);
        ck_assert(backends[i]->measures == device_rows[i].real);
        if (backends[i]->missing != NULL)
            continue;
        ck_assert(backends[i]->configure && backends[i]->open && backends[i]->describe &&
                  backends[i]->prepare);
        ck_assert(backends[i]->run && backends[i]->release && backends[i]->close);
        ck_assert(backends[i]->list != NULL);
    }
}
END_TEST

static enum status open_sim(const char *machine, const struct settings *settings,
                            const struct backend_ops **ops, struct backend **backend,
                            struct error *error)
{
    const char *argument;
    ck_assert_int_eq(backend_select(backends, "sim", ops, &argument, error), STATUS_OK);
    return (*ops)->open(machine, settings, backend, error);
}

START_TEST(test_sim_refuses_what_it_cannot_do)
{
    const struct backend_ops *ops;
    struct backend *backend;
    struct error error = {0};
    struct settings settings = test_settings("scale");
    ck_assert_int_eq(open_sim("nonesuch", &settings, &ops, &backend, &error), STATUS_USAGE);
    error_clear(&error);
    settings.connections = 33;
    ck_assert_int_eq(open_sim("h200", &settings, &ops, &backend, &error), STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "32 hardware queues at most"));
}
END_TEST

START_TEST(test_sim_refuses_a_plan_beyond_its_memory)
{
    const struct backend_ops *ops;
    struct backend *backend;
    struct machine machine;
    struct error error = {0};
    struct settings settings = test_settings("scale");
    settings.ways = 1;
    settings.streams = 1;
    settings.elements = UINT64_C(1) << 36;
    ck_assert_int_eq(open_sim("h200", &settings, &ops, &backend, &error), STATUS_OK);
    ck_assert_int_eq(ops->describe(backend, &settings, &machine, &error), STATUS_OK);
    struct plan plan = test_built_on(&settings, &machine);
    struct workload workload = {.plan = &plan, .settings = &settings};
    ck_assert_int_eq(ops->prepare(backend, &workload, &error), STATUS_FAILED);
    ck_assert_msg(strstr(error.text, "512 GiB") && strstr(error.text, "140"), "%s", error.text);
    ops->release(backend);
    ops->close(backend);
    plan_free(&plan);
}
END_TEST

Suite *backend_suite(void)
{
    Suite *suite = suite_create("backend");
    TCase *tests = tcase_create("backend");
    tcase_add_test(tests, test_select);
    tcase_add_test(tests, test_backends_are_complete);
    tcase_add_test(tests, test_sim_refuses_what_it_cannot_do);
    tcase_add_test(tests, test_sim_refuses_a_plan_beyond_its_memory);
    suite_add_tcase(suite, tests);
    return suite;
}
