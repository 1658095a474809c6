/* test_run.c - see test_run.h. */
#include "test_run.h"
#include "app/backends.h"
#include "plan/build.h"
#include "run/verify.h"

#include <check.h>
#include <inttypes.h>

static void must(const struct test_run *run, enum status status, const struct error *error)
{
    const struct settings *settings = &run->settings;
    if (status != STATUS_OK)
        ck_abort_msg("-w %d --order=%s --layout=%s -n %" PRIu64 " -t %" PRIu32 " -s %" PRIu32
                     " on %s: %s",
                     settings->ways, order_names[settings->order],
                     layout_names[settings->layout], settings->elements, settings->tiles,
                     settings->streams, settings->device, error->text);
}

void test_run_begin(struct test_run *run, const struct settings *settings)
{
    const char *argument;
    struct error error = {0};
    *run = (struct test_run){.settings = *settings};
    run->workload = (struct workload){
        .plan = &run->plan, .settings = &run->settings, .arrays = &run->arrays};
    settings = &run->settings;
    must(run, settings_check(settings, &error), &error);
    must(run, backend_select(backends, settings->device, &run->ops, &argument, &error), &error);
    must(run, run->ops->open(argument, settings, &run->backend, &error), &error);
    must(run, run->ops->describe(run->backend, settings, &run->machine, &error), &error);
    must(run, plan_build(settings, &run->machine, &run->plan, &error), &error);
    must(run, arrays_create(&run->arrays, &run->plan, settings, &error), &error);
}

void test_run_prepare(struct test_run *run)
{
    struct error error = {0};
    must(run, run->ops->prepare(run->backend, &run->workload, &error), &error);
    run->prepared = true;
}

int64_t test_run_go(struct test_run *run)
{
    struct error error = {0};
    struct run_times times;
    arrays_poison(&run->arrays);
    if (!run->prepared)
        test_run_prepare(run);
    must(run, run->ops->run(run->backend, NULL, &times, &error), &error);
    return times.time_ns;
}

struct error test_run_wrong(const struct test_run *run)
{
    struct error error = {0};
    verify_output(&run->plan, &run->arrays, &error);
    return error;
}

void test_run_assert_right(const struct test_run *run)
{
    const struct error wrong = test_run_wrong(run);
    must(run, wrong.status, &wrong);
}

char *test_run_output(const struct test_run *run, size_t *size)
{
    char *bytes = NULL;
    struct error error = {0};
    FILE *stream = open_memstream(&bytes, size);
    ck_assert_ptr_nonnull(stream);
    must(run, arrays_write_output(&run->arrays, &run->plan, stream, "memory", 1, &error),
         &error);
    ck_assert_int_eq(fclose(stream), 0);
    return bytes;
}

void test_run_end(struct test_run *run)
{
    run->ops->release(run->backend);
    run->ops->close(run->backend);
    arrays_free(&run->arrays);
    plan_free(&run->plan);
}
