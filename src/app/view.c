/* view.c - `pipeline view`: what other programs did. */
#include "trace/view.h"
#include "app/commands.h"
#include "app/job.h"
#include "app/outputs.h"
#include "writers/writer.h"

#include <stdlib.h>

/* Prints the plans that recordings show. */
static enum status print_recorded_plans(const struct options *options,
                                        const struct report *report, struct error *error)
{
    struct plan_list plans = {.out = stdout};
    enum status status = STATUS_OK;
    for (int i = 0; i < report->run_count && status == STATUS_OK; i++) {
        const struct run_report *run = &report->runs[i];
        if (run->plan == NULL)
            status = error_set(error, STATUS_USAGE,
                               "--dry-run: %s is no whole recording of `pipeline record`, and "
                               "shows no plan",
                               run->settings->name);
        else if (options->format == FORMAT_JSON)
            plan_list_add(&plans, run->plan, run->settings, run);
        else if (write_plan(stdout, run->plan, run->settings) != STATUS_OK)
            status = error_no_memory(error, "to write the plan");
    }
    plan_list_end(&plans);
    return status;
}

enum status view_command(const struct options *options, struct error *error)
{
    struct outputs outputs = {0};
    struct view view = {0};
    struct calibration *here = NULL;
    enum status status = outputs_open(options, &outputs, error);
    process_keep_memory(16 << 20); /* what a trace is read into grows, and is large */
    if (status == STATUS_OK && options->calibrate)
        status = measured_device(options, &here, error);
    if (status == STATUS_OK)
        status = view_read(options, here != NULL ? &here->machine : NULL, &view, error);
    if (status == STATUS_OK && options->dry_run) {
        status = print_recorded_plans(options, &view.report, error);
    } else if (status == STATUS_OK) {
        status = outputs_write(options, &outputs, &view.report, error);
        if (status == STATUS_OK)
            status = report_fail_above(&view.report, options, error);
    }
    outputs_discard(options, &outputs);
    view_free(&view);
    free(here);
    return status;
}
