/* record.c - see record.h. docs/recording.md says what the recorder is told. */
#include "app/record.h"

#include "app/commands.h"
#include "term/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static const char library_name[] = "libpipeline-record.so";

/* --- the recorder --- */

/* Finds the library beside this program, or where both are installed. */
static enum status find_library(char path[PATH_MAX], struct error *error)
{
    return process_find(library_name, path)
               ? STATUS_OK
               : error_set(error, STATUS_USAGE,
                           "there is no %s to record with, neither beside this program nor in "
                           "../lib/pipeline from there: it is built with pipeline where the "
                           "CUDA Toolkit's nvcc is found",
                           library_name);
}

/* Refuses to begin where no recording could come of it. */
static enum status check_environment(struct error *error)
{
    const char *other = getenv("CUDA_INJECTION64_PATH");
    if (getauxval(AT_SECURE) != 0)
        return error_set(error, STATUS_USAGE,
                         "record runs no program with rights that its caller lacks");
    if (other != NULL && other[0] != '\0')
        return error_set(error, STATUS_USAGE,
                         "CUDA_INJECTION64_PATH is set, to %s: CUDA loads one such library, "
                         "which would have to be the recorder: unset it",
                         other);
    return STATUS_OK;
}

static bool tell(const char *name, const char *value)
{
    return value != NULL ? setenv(name, value, 1) == 0 : unsetenv(name) == 0;
}

/* Tells the recorder what it is to do, in the environment of the program. */
static enum status tell_recorder(const struct options *options, const char *library,
                                 const char *folder, struct error *error)
{
    const struct record_part *record = &options->record;
    const char *marks = getenv("NVTX_INJECTION64_PATH");
    char limit[32];
    snprintf(limit, sizeof limit, "%" PRIu64, record->limit_bytes);
    bool told = tell("CUDA_INJECTION64_PATH", library) && tell("PIPELINE_RECORD_TO", folder) &&
                tell("PIPELINE_RECORD_START", record->start) &&
                tell("PIPELINE_RECORD_STOP", record->stop) &&
                tell("PIPELINE_RECORD_LIMIT", limit) &&
                tell("PIPELINE_RECORD_BACKTRACE", record->backtrace ? "1" : NULL);
    if (marks == NULL || marks[0] == '\0')
        told = told && tell("NVTX_INJECTION64_PATH", library);
    else
        note_print(options->quiet,
                   "NVTX_INJECTION64_PATH is set, to %s, so NVTX ranges go there and are not "
                   "recorded",
                   marks);
    return told ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory");
}

/* --- the program --- */

/* Refuses an output that is the program itself, or the recorder. */
static enum status check_output(const char *output, const char *program, const char *library,
                                struct error *error)
{
    const char *const read[] = {program, library};
    struct stat about, other;
    if (output == NULL || stat(output, &about) != 0)
        return STATUS_OK;
    for (int i = 0; i < 2; i++) {
        if (stat(read[i], &other) == 0 && other.st_dev == about.st_dev &&
            other.st_ino == about.st_ino)
            return error_set(error, STATUS_USAGE,
                             "--output=%s is %s, which is run: give another file", output,
                             read[i]);
    }
    return STATUS_OK;
}

/* Says why the program was not started, and leaves that to the exit code. */
static enum status refuse_program(const char *name, int failure, struct record_end *end,
                                  struct error *error)
{
    const bool none =
        failure == ENOENT && (strchr(name, '/') == NULL || access(name, F_OK) != 0);
    end->decided = true;
    end->how = none ? CHILD_NOT_FOUND : CHILD_NOT_STARTED;
    if (none)
        return error_set(error, STATUS_USAGE, "there is no program '%s'", name);
    return error_set(error, STATUS_USAGE, "'%s' can't be run: %s", name,
                     failure == ENOENT    ? "the interpreter that it names is not there"
                     : failure == ENOEXEC ? "it is no program, and no script that names its "
                                            "interpreter in a first line #!"
                                          : strerror(failure));
}

/* Runs the program with recordings going to `files`, which it ends. */
static enum status run(struct guest *guest, struct record_files *files,
                       const struct options *options, struct record_end *end,
                       struct error *error)
{
    const char *name = options->words[0];
    const enum child_end how = guest_run(guest);
    if (how == CHILD_NOT_STARTED) {
        record_files_discard(files);
        return refuse_program(name, guest->code, end, error);
    }
    if (how == CHILD_SIGNALLED)
        record_say(options->quiet, "%s was ended by signal %d (%s)", name, guest->code,
                   strsignal(guest->code));
    record_files_end(files, guest->process, name, options->quiet);
    if (how == CHILD_LOST)
        return error_set(error, STATUS_FAILED, "how %s ended is not known: %s", name,
                         strerror(guest->code));
    *end = (struct record_end){.decided = true, .how = how, .code = guest->code};
    return STATUS_OK;
}

enum status record_command(const struct options *options, struct record_end *end,
                           struct error *error)
{
    char library[PATH_MAX];
    sigset_t all;
    struct record_files files;
    struct guest guest = {.arguments = (char *const *)options->words};
    enum status status = check_environment(error);
    if (status == STATUS_OK)
        status = find_library(library, error);
    if (status != STATUS_OK)
        return status;
    char *path = child_find(options->words[0]);
    if (path == NULL)
        return refuse_program(options->words[0], errno, end, error);
    guest.path = path;
    sigfillset(&all); /* a signal that comes now is the program's: no handler of ours runs */
    sigprocmask(SIG_BLOCK, &all, &guest.mask);
    status = check_output(options->output, path, library, error);
    if (status == STATUS_OK)
        status = record_files_begin(&files, options->output, error);
    if (status == STATUS_OK) {
        files.lines = options->record.backtrace;
        files.anonymous = options->anonymous;
        status = tell_recorder(options, library, files.folder, error);
        if (status == STATUS_OK)
            status = run(&guest, &files, options, end, error);
        else
            record_files_discard(&files);
    }
    free(path);
    return status;
}
