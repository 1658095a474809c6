/* main.c - the commands, and the only owner of exit codes. */
#include "app/backends.h"
#include "app/commands.h"
#include "app/outputs.h"
#include "app/record.h"
#include "app/try.h"
#include "bench/bench.h"
#include "calibrate/calibrate.h"
#include "core/version.h"
#include "kernels/own.h"
#include "mpi/ranks.h"
#include "options/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fails where part of the report could not be written to standard output. */
static enum status check_stdout(struct error *error)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return STATUS_OK;
    return error_set(error, STATUS_FAILED, "standard output can't be written: %s",
                     strerror(errno));
}

/* --- the program --- */

static enum status execute(const struct options *options, struct record_end *end,
                           struct error *error)
{
    if (!ranks_speak() && options->command != COMMAND_RUN)
        return STATUS_OK;
    switch (options->command) {
    case COMMAND_HELP:
        if (options->topic != NULL)
            options_print_topic(stdout, options->topic);
        else
            options_print_help(stdout, options->all);
        break;
    case COMMAND_VERSION:
        printf("pipeline %s\n", PIPELINE_VERSION);
        break;
    case COMMAND_LIST:
        list_print(stdout, options->list_what);
        break;
    case COMMAND_LESSON:
    case COMMAND_RUN:
    case COMMAND_COMPARE:
        return runs_all(options, error);
    case COMMAND_VIEW:
        return view_command(options, error);
    case COMMAND_CALIBRATE:
        return calibrate_command(options, backends, stdout, error);
    case COMMAND_BENCH:
        return bench_command(options, stdout, error);
    case COMMAND_RECORD:
        return record_command(options, end, error);
    case COMMAND_TRY:
        return try_command(options, end, error);
    case COMMAND_LAB:
        return lab_command(options, error);
    case COMMAND_EXERCISE:
        return exercise_command(options, error);
    case COMMAND_KERNEL:
        return own_command(options, error);
    }
    return STATUS_OK;
}

/* Returns the exit code: that of a program which was recorded, as a shell has it, or ours. */
static int exit_code(enum status status, const struct record_end *end)
{
    if (!end->decided)
        return status_exit_code(status);
    switch (end->how) {
    case CHILD_EXITED:
        return end->code;
    case CHILD_SIGNALLED:
        return 128 + end->code;
    case CHILD_NOT_FOUND:
        return 127;
    default:
        return 126;
    }
}

int main(int argc, char *argv[])
{
    struct error error = {0};
    struct options options;
    struct record_end end = {.decided = false};
    enum status status = process_begin(&error);
    if (status != STATUS_OK) {
        fprintf(stderr, "pipeline: %s\n", error.text);
        return status_exit_code(status);
    }
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    if (argc > 0 && strcmp(slash != NULL ? slash + 1 : argv[0], "pipeline-nvcc") == 0) {
        status = try_nvcc(argv + 1, &error);
        if (status != STATUS_OK)
            fprintf(stderr, "pipeline-nvcc: %s\n", error.text);
        return status_exit_code(status);
    }
    status = ranks_begin(&argc, &argv, &error);
    options_set_processes(ranks_count());
    options_open_kernels(kernel_own_open);
    if (status == STATUS_OK)
        status = options_parse(argc, argv, &options, &error);
    options_open_kernels(NULL); /* a file that is read later opens none */
    const bool parsed = status == STATUS_OK;
    status = ranks_agree(status, &error);
    if (status == STATUS_OK)
        status = ranks_take(&options, backends_measure, &error);
    if (status == STATUS_OK && options.fix && options.command != COMMAND_VIEW &&
        options.command != COMMAND_TRY)
        status = fix_add_runs(&options, &error);
    if (status == STATUS_OK)
        status = execute(&options, &end, &error);
    if (status == STATUS_OK)
        status = check_stdout(&error);
    if (parsed)
        options_free(&options);
    status = ranks_end(status, &error);
    fflush(stdout); /* where both go to one file, the error stands after the report */
    if (status != STATUS_OK && ranks_speak())
        fprintf(stderr, "pipeline: %s\n", error.text);
    kernel_own_end(exit_code(status, &end));
    return exit_code(status, &end);
}
