/* bench_run.c - a run as the program makes it: options, device, plan, arrays. */
#include "app/backends.h"
#include "bench/bench.h"

#include "plan/build.h"
#include "run/verify.h"

#include <string.h>

/* What is measured here is copies and calls, so the kernel is a light one unless the arguments
 * say otherwise. */
int bench_split(char *arguments, char *argv[], int most)
{
    int count = 0;
    argv[count++] = "pipeline";
    argv[count++] = "--intensity=1";
    char *rest = NULL;
    for (char *word = strtok_r(arguments, " ", &rest); word != NULL && count + 1 < most;
         word = strtok_r(NULL, " ", &rest))
        argv[count++] = word;
    argv[count] = NULL;
    return count;
}

static enum status open_device(struct bench_run *run, struct error *error)
{
    const char *argument;
    enum status status =
        backend_select(backends, run->settings.device, &run->ops, &argument, error);
    if (status == STATUS_OK)
        status = run->ops->open(argument, &run->settings, &run->backend, error);
    if (status == STATUS_OK)
        status = run->ops->describe(run->backend, &run->settings, &run->machine, error);
    return status;
}

static enum status take_arrays(struct bench_run *run, struct error *error)
{
    run->workload = (struct workload){.plan = &run->plan, .settings = &run->settings};
    if (run->settings.no_data)
        return STATUS_OK;
    run->workload.arrays = &run->arrays;
    return arrays_create(&run->arrays, &run->plan, &run->settings, error);
}

enum status bench_run_describe(struct bench_run *run, const char *arguments,
                               struct error *error)
{
    enum { WORDS = 64 };
    char text[512], *argv[WORDS];
    *run = (struct bench_run){0};
    run->plan = (struct plan){0};
    strncpy(text, arguments, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    enum status status =
        options_parse(bench_split(text, argv, WORDS), argv, &run->options, error);
    if (status != STATUS_OK)
        return status;
    run->settings = run->options.runs[0];
    return open_device(run, error);
}

enum status bench_run_prepare(struct bench_run *run, struct error *error)
{
    enum status status = plan_build(&run->settings, &run->machine, &run->plan, error);
    if (status == STATUS_OK)
        status = take_arrays(run, error);
    if (status == STATUS_OK)
        status = run->ops->prepare(run->backend, &run->workload, error);
    return status;
}

enum status bench_run_open(struct bench_run *run, const char *arguments, struct error *error)
{
    enum status status = bench_run_describe(run, arguments, error);
    return status == STATUS_OK ? bench_run_prepare(run, error) : status;
}

/* One run, and where its times go. */
struct attempt {
    struct bench_run *run;
    struct timeline *timeline;
    struct run_times *times;
};

static enum status attempt_run(void *context, struct error *error)
{
    struct attempt *attempt = context;
    struct bench_run *run = attempt->run;
    return run->ops->run(run->backend, attempt->timeline, attempt->times, error);
}

enum status bench_run_once(struct bench_run *run, struct timeline *timeline,
                           struct run_times *times, struct error *error)
{
    *times = (struct run_times){0};
    struct attempt attempt = {run, timeline, times};
    struct judgement judgement;
    if (run->workload.arrays == NULL)
        return attempt_run(&attempt, error);
    enum status status =
        verify_run(&run->plan, &run->arrays, attempt_run, &attempt, NULL, &judgement, error);
    return status == STATUS_OK ? error_pass(error, &judgement.wrong) : status;
}

void bench_run_close(struct bench_run *run)
{
    if (run->backend != NULL) {
        run->ops->release(run->backend);
        run->ops->close(run->backend);
    }
    arrays_free(&run->arrays);
    plan_free(&run->plan);
    if (run->options.runs != NULL)
        options_free(&run->options);
    *run = (struct bench_run){0};
}
