/* walk.c - issues a plan to nothing: every op's range begins and ends, as around a CUDA call,
 * and the CPU's worker does its share. Shows what marks a tool gets to see where there is no
 * device.
 *
 *     nvtx-walk OPTIONS-OF-PIPELINE
 *
 * Prints "on" or "off": whether a tool listens. */
#include "app/backends.h"
#include "options/options.h"
#include "plan/build.h"
#include "run/arrays.h"
#include "run/backend.h"
#include "run/cpu_worker.h"
#include "term/marks.h"

#include <inttypes.h>
#include <stdio.h>

static void walk_ops(const struct plan *plan)
{
    marks_begin("walk");
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind == OP_CPU)
            continue;
        marks_issue_begin(op, op->kind == OP_KERNEL ? plan->chain[op->kernel.link] : NULL);
        marks_end();
    }
    marks_end();
}

/* Tells a tool a name for each stream; no device gave the handles. */
static void name_streams(const struct plan *plan)
{
    char name[32];
    for (uint32_t i = 0; i < plan->streams; i++) {
        snprintf(name, sizeof name, "walk stream %" PRIu32, i);
        marks_name_stream((void *)(uintptr_t)(i + 1), name);
    }
}

static enum status walk_cpu(const struct plan *plan, const struct settings *settings,
                            struct error *error)
{
    struct arrays arrays = {0};
    struct cpu_worker *worker = NULL;
    void *host[BUFFER_FIRST_DEVICE];
    enum status status = arrays_create(&arrays, plan, settings, error);
    for (int b = 0; b < BUFFER_FIRST_DEVICE; b++)
        host[b] = arrays.host[b];
    if (status == STATUS_OK)
        status = cpu_worker_create(&worker, plan, host, error);
    if (status == STATUS_OK) {
        cpu_worker_start(worker, NULL);
        cpu_worker_wait(worker);
        cpu_worker_free(worker);
    }
    arrays_free(&arrays);
    return status;
}

/* Makes a plan as the program does: the device, its description, the plan. */
static enum status make_plan(const struct settings *settings, struct plan *plan,
                             struct error *error)
{
    const struct backend_ops *ops;
    const char *argument;
    struct backend *backend = NULL;
    struct machine machine;
    enum status status = backend_select(backends, settings->device, &ops, &argument, error);
    if (status == STATUS_OK)
        status = ops->open(argument, settings, &backend, error);
    if (status == STATUS_OK)
        status = ops->describe(backend, settings, &machine, error);
    if (status == STATUS_OK)
        status = plan_build(settings, &machine, plan, error);
    if (backend != NULL)
        ops->close(backend);
    return status;
}

int main(int argc, char *argv[])
{
    struct options options;
    struct plan plan = {0};
    struct error error = {0};
    if (options_parse(argc, argv, &options, &error) != STATUS_OK) {
        fprintf(stderr, "nvtx-walk: %s\n", error.text);
        return status_exit_code(error.status);
    }
    enum status status = make_plan(&options.runs[0], &plan, &error);
    if (status == STATUS_OK) {
        puts(marks_on() ? "on" : "off");
        marks_name_thread("walk");
        name_streams(&plan);
        walk_ops(&plan);
        if (plan.cpu_tiles > 0)
            status = walk_cpu(&plan, &options.runs[0], &error);
    }
    if (status != STATUS_OK)
        fprintf(stderr, "nvtx-walk: %s\n", error.text);
    plan_free(&plan);
    options_free(&options);
    return status_exit_code(status);
}
