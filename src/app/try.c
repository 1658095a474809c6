/* try.c - see try.h. */
#include "app/try.h"

#include "app/commands.h"
#include "plan/device.h"
#include "run/backend.h"
#include "writers/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* A program that was built, and what it is run with. */
struct attempt {
    const char *name; /* "saxpy" for saxpy.cu */
    char program[PATH_MAX], recording[PATH_MAX];
    char machine[PATH_MAX], devices[16];
    char **arguments; /* ended by NULL; the first is the program */
};

/* How a run of it ended. */
struct outcome {
    enum child_end how;
    int code;
    char *output; /* what it printed */
    size_t length;
    char fault[CHILD_ERRORS], race[CHILD_ERRORS]; /* our last lines on its standard error */
};

static enum status tell(const char *name, const char *value, struct error *error)
{
    const int failed = value != NULL ? setenv(name, value, 1) : unsetenv(name);
    return failed == 0 ? STATUS_OK : error_no_memory(error, "to run the program");
}

/* Finds the machine of --device and how many devices the program shall see. */
static enum status find_machine(const struct options *options, struct attempt *attempt,
                                struct error *error)
{
    const char *value = options->part.device != NULL ? options->part.device : "sim:h200";
    const struct device_row *row = device_find(value);
    const char *argument = device_argument(value);
    const uint32_t count = device_count(value);
    struct machine machine;
    if (row == NULL || row->real || argument[0] == '\0')
        return error_set(error, STATUS_USAGE,
                         "--device=%s: a program is tried on a simulated machine: allowed are "
                         "sim:NAME, sim:FILE.ini and sim:NAME*N",
                         value);
    snprintf(attempt->machine, sizeof attempt->machine, "%.*s",
             (int)device_argument_length(argument), argument);
    const enum status status = machine_load(&machine, attempt->machine, error);
    if (status == STATUS_OK && (count < 1 || count > machine.devices))
        return error_set(error, STATUS_USAGE,
                         "--device=%s: the machine %s has %" PRIu32
                         " device%s (devices in its file)",
                         value, machine.name, machine.devices, machine.devices > 1 ? "s" : "");
    snprintf(attempt->devices, sizeof attempt->devices, "%" PRIu32, count);
    return status;
}

/* Says in the environment what the program's runtime reads. */
static enum status tell_program(const struct attempt *attempt, struct error *error)
{
    enum status status = tell("PIPELINE_TRY_TO", attempt->recording, error);
    if (status == STATUS_OK)
        status = tell("PIPELINE_TRY_MACHINE", attempt->machine, error);
    if (status == STATUS_OK)
        status = tell("PIPELINE_TRY_DEVICES", attempt->devices, error);
    return status == STATUS_OK ? tell("PIPELINE_TRY_ORDER", NULL, error) : status;
}

/* Runs the program as the user would: its standard streams and signals are its own. */
static enum status run_plainly(const struct attempt *attempt, const struct options *options,
                               struct record_end *end, struct error *error)
{
    const struct timespec now = {.tv_sec = 0};
    struct guest guest = {
        .path = attempt->program, .arguments = attempt->arguments, .keeps_output = true};
    sigset_t all;
    fflush(stdout);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &guest.mask);
    const enum child_end how = guest_run(&guest);
    while (sigtimedwait(&all, NULL, &now) > 0) /* what ended the program was not for us */
        continue;
    sigprocmask(SIG_SETMASK, &guest.mask, NULL);
    if (how == CHILD_NOT_STARTED || how == CHILD_LOST)
        return error_set(error, STATUS_FAILED, "%s can't be run: %s", attempt->name,
                         strerror(guest.code));
    if (how == CHILD_SIGNALLED)
        record_say(options->quiet, "%s was ended by signal %d (%s)", attempt->name, guest.code,
                   strsignal(guest.code));
    if (how == CHILD_SIGNALLED || guest.code != 0)
        *end = (struct record_end){.decided = true, .how = how, .code = guest.code};
    return STATUS_OK;
}

/* --- other orders --- */

static enum status run_order(const struct attempt *attempt, const char *order,
                             struct outcome *outcome, struct error *error)
{
    enum { OUTPUT_MAX = 64 << 20, SECONDS = 600 };
    struct child child = {.output_max = OUTPUT_MAX, .seconds = SECONDS};
    enum status status = tell("PIPELINE_TRY_ORDER", order, error);
    child.arguments = attempt->arguments;
    if (status != STATUS_OK)
        return status;
    *outcome = (struct outcome){.how = child_run(&child), .code = child.code};
    outcome->output = child.output;
    outcome->length = child.length;
    char *rest = child.errors;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (strncmp(line, "pipeline: ", 10) != 0)
            continue;
        line += 10;
        char *kept = strncmp(line, "race: ", 6) == 0 ? outcome->race : outcome->fault;
        snprintf(kept, sizeof outcome->fault, "%s", line);
    }
    return STATUS_OK;
}

/* Writes what is another result into `text`, or a race where there was none; returns false
 * where nothing is. */
static bool differs(const struct outcome *one, const struct outcome *other, bool prints_alike,
                    char *text, size_t room)
{
    const size_t length = one->length < other->length ? one->length : other->length;
    size_t line = 1, at = 0;
    text[0] = '\0';
    while (at < length && one->output[at] == other->output[at])
        line += one->output[at++] == '\n';
    if (strcmp(one->fault, other->fault) != 0 && other->fault[0] != '\0')
        text_add(text, room, "; ", "%s", other->fault);
    if (one->race[0] == '\0' && other->race[0] != '\0')
        text_add(text, room, "; ", "%s", other->race);
    if (other->how == CHILD_LATE)
        text_add(text, room, "; ", "it did not end within 10 minutes");
    else if (one->how != other->how || one->code != other->code)
        text_add(text, room, "; ", "it ended with %s %d, not %d",
                 other->how == CHILD_SIGNALLED ? "signal" : "exit code", other->code,
                 one->code);
    if (prints_alike && (at < one->length || at < other->length))
        text_add(text, room, "; ", "line %zu of its output is another", line);
    return text[0] != '\0';
}

/* Runs the program in other orders that CUDA allows its streams, and says what came of it. */
static enum status try_orders(const struct attempt *attempt, const struct options *options,
                              struct error *error)
{
    struct outcome first = {0}, again = {0}, other = {0};
    char order[32], text[2 * CHILD_ERRORS];
    uint32_t others = 0;
    enum status status = tell("PIPELINE_TRY_TO", NULL, error);
    if (status == STATUS_OK)
        status = run_order(attempt, "simulated", &first, error);
    if (status == STATUS_OK)
        status = run_order(attempt, "simulated", &again, error);
    if (status == STATUS_OK && first.how == CHILD_FLOODED)
        status =
            error_set(error, STATUS_FAILED,
                      "%s prints too much for its other orders to be compared", attempt->name);
    /* A program that prints the host's time, or draws at random, prints something else each
     * time. */
    const bool alike = status == STATUS_OK && !differs(&first, &again, true, text, sizeof text);
    if (status == STATUS_OK && !alike)
        record_say(options->quiet,
                   "what %s prints differs from run to run, and is not compared",
                   attempt->name);
    for (uint32_t i = 0; i < options->attempt.orders && status == STATUS_OK; i++) {
        snprintf(order, sizeof order, "%" PRIu32, i - 1);
        const char *name = i == 0 ? "first" : i == 1 ? "last" : order;
        status = run_order(attempt, name, &other, error);
        if (status == STATUS_OK && differs(&first, &other, alike, text, sizeof text)) {
            record_say(false, "with the streams' order \"%s\": %s", name, text);
            others++;
        }
        free(other.output);
        other.output = NULL;
    }
    free(first.output);
    free(again.output);
    if (status == STATUS_OK && others > 0)
        return error_set(error, STATUS_FAILED,
                         "%" PRIu32 " of %" PRIu32
                         " other orders of the streams, all of which CUDA allows, give another "
                         "result: an order is missing",
                         others, options->attempt.orders);
    if (status == STATUS_OK && first.race[0] != '\0')
        return error_set(error, STATUS_FAILED,
                         "%" PRIu32
                         " other orders of the streams give the same result, and yet "
                         "an order is missing: %s",
                         options->attempt.orders, first.race);
    if (status == STATUS_OK)
        record_say(options->quiet,
                   alike ? "%" PRIu32 " other orders of the streams give the same result"
                         : "in %" PRIu32 " other orders of the streams it ends as it did",
                   options->attempt.orders);
    return status;
}

/* --- the command --- */

/* Returns "saxpy" for "code/saxpy.cu", in the build's storage. */
static const char *name_of(struct try_build *build)
{
    const char *path = build->sources[0].path, *slash = strrchr(path, '/');
    char *name = arena_text(&build->storage, slash != NULL ? slash + 1 : path);
    char *dot = name != NULL ? strrchr(name, '.') : NULL;
    if (dot != NULL && dot != name)
        *dot = '\0';
    return name;
}

/* Reports on the recording as `pipeline view` would, and keeps it where that was asked for. */
static enum status report(const struct options *options, const struct attempt *attempt,
                          bool ended, struct output_file *output, struct error *error)
{
    struct options viewed = *options;
    const char *words[] = {attempt->recording, NULL};
    struct stat about;
    if (stat(attempt->recording, &about) != 0 || about.st_size == 0) {
        record_say(options->quiet,
                   ended ? "%s was ended before it could be reported on"
                         : "%s used no CUDA: there is nothing to report",
                   attempt->name);
        return STATUS_OK;
    }
    enum status status = STATUS_OK;
    if (options->anonymous)
        status = record_anonymise(attempt->recording, error);
    viewed.command = COMMAND_VIEW;
    viewed.words = words;
    viewed.word_count = 1;
    viewed.output = NULL;
    viewed.machine = machine_is_path(attempt->machine) ? attempt->machine : NULL;
    viewed.part.device = NULL;
    if (status == STATUS_OK)
        status = view_command(&viewed, error);
    if (output->path != NULL) {
        struct error kept = {0};
        if (output_file_take(output, attempt->recording, &kept) != STATUS_OK)
            status = error_pass(error, &kept);
    }
    return status;
}

/* Builds the program, runs it and reports. */
static enum status attempt_all(const struct options *options, struct try_build *build,
                               struct attempt *attempt, struct output_file *output,
                               struct record_end *end, struct error *error)
{
    attempt->name = name_of(build);
    snprintf(attempt->program, sizeof attempt->program, "%s/%s", build->folder, attempt->name);
    snprintf(attempt->recording, sizeof attempt->recording, "%s/%s.jsonl", build->folder,
             attempt->name);
    attempt->arguments = arena_zeros(&build->storage, (size_t)options->argument_count + 2,
                                     sizeof *attempt->arguments);
    if (build->storage.full)
        return error_no_memory(error, "to run the program");
    attempt->arguments[0] = attempt->program;
    for (int i = 0; i < options->argument_count; i++)
        attempt->arguments[i + 1] = (char *)options->arguments[i];
    build->output = attempt->program;
    enum status status = try_build(build, error);
    if (status == STATUS_OK)
        status = tell_program(attempt, error);
    if (status == STATUS_OK)
        status = run_plainly(attempt, options, end, error);
    if (status == STATUS_OK)
        status = report(options, attempt, end->how == CHILD_SIGNALLED, output, error);
    if (status == STATUS_OK && options->attempt.orders > 0)
        status = try_orders(attempt, options, error);
    return status;
}

enum status try_command(const struct options *options, struct record_end *end,
                        struct error *error)
{
    struct attempt attempt = {.name = NULL};
    struct output_file output = {.stream = NULL};
    struct try_folder folder = {.pipe = -1};
    struct try_build build = {.no_watch = options->attempt.no_watch};
    const bool builds = options->attempt.build;
    if (getauxval(AT_SECURE) != 0)
        return error_set(error, STATUS_USAGE,
                         "try runs no program with rights that its caller lacks");
    const struct timeline_writer *writer;
    enum status status = find_machine(options, &attempt, error);
    for (int i = 0; i < options->timeline_count && status == STATUS_OK; i++)
        status = timeline_writer_find(options->timelines[i], &writer, error);
    if (status == STATUS_OK)
        status = try_folder_begin(&folder, error);
    build.folder = folder.path;
    if (status == STATUS_OK)
        status = try_take_words(&build, options->words, error);
    if (status == STATUS_OK && (build.source_count == 0 || build.objects))
        status = error_set(error, STATUS_USAGE, "%s",
                           build.objects ? "try has a program run: -c is for pipeline-nvcc"
                                         : "try needs a source: `pipeline try PROGRAM.cu`");
    if (status == STATUS_OK && options->output != NULL && !builds)
        status = output_file_open(&output, options->output, error);
    if (status == STATUS_OK && builds) {
        build.output = options->output;
        status = try_build(&build, error);
    } else if (status == STATUS_OK) {
        status = attempt_all(options, &build, &attempt, &output, end, error);
    }
    output_file_discard(&output);
    try_build_free(&build);
    try_folder_end(&folder);
    return status;
}
