/* record.c - the library's beginning and end, in a program that does not know of it. */
#include "record/places.h"

#include "core/version.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;
static bool has_ended;

/* --- the end --- */

/* Measures what recording costs, by calls of which nothing is written; not where other threads
 * have made calls just now, since CUPTI would be taken away from them. One that calls less
 * often than that, or begins later, is seen only if it calls before CUPTI is left. */
static void measure(void)
{
    enum { QUIET_NS = 10000000 }; /* about as long as it takes until CUPTI is left */
    if (!entries_quiet(record_now_ns() - QUIET_NS))
        return;
    file_silence(true);
    record_again();
    added_measure();
    record_end();
    file_silence(false);
    added_write();
}

/* Writes all that is still held, and the last line; other threads may still be calling. */
static void finish(const char *why, bool at_exit, bool measures)
{
    record_end();
    record_lock(&end_lock);
    if (!has_ended) {
        has_ended = true;
        functions_end();
        while (entries_write(at_exit))
            ;
        costs_write();
        if (measures)
            measure();
        file_close(why);
    }
    record_unlock(&end_lock);
}

static void put_note(const char *note)
{
    FILE_LINE("note", note);
}

/* Returns true if CUDA has descriptors of its devices. */
static bool cuda_has_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    bool found = false;
    while (!found && folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[64];
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, path, sizeof path - 1);
        path[length > 0 ? length : 0] = '\0';
        found = strncmp(path, "/dev/nvidia", 11) == 0 || strcmp(path, "/dev/dxg") == 0;
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

/* Has seen CUDA's descriptors. A program that has closed them since may have files of its own
 * under their numbers, to which CUDA would write when it is asked for the last ops. */
static atomic_bool had_descriptors;

/* The signals that the program blocked when it first used CUDA. */
static sigset_t blocked;

/* Returns true if the thread may be in a signal's handler, in which that signal is blocked: it
 * may have interrupted anything, so that nothing must be asked of CUDA that need not be. */
static bool handles_signal(void)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int number = 1; number < NSIG; number++) {
        if (sigismember(&now, number) == 1 && sigismember(&blocked, number) != 1)
            return true;
    }
    return false;
}

/* A signal's handler, or a function of the host's, may end the program within a call of CUDA's,
 * or within this library: what would wait for that call is left out then. */
static void program_ends(void)
{
    if (record_is_child() || record_holds_lock())
        return;
    bool is_whole = false;
    if (calls_run_here() || functions_run_here())
        put_note("the program ended within a call of CUDA's: its latest ops may be missing");
    else if (atomic_load(&had_descriptors) && !cuda_has_descriptors())
        put_note("the program closed CUDA's descriptors: its latest ops may be missing");
    else if ((is_whole = atomic_load(&record_on)))
        ops_end();
    finish(record_part_is_over() ? "stop" : "exit", true, is_whole && !handles_signal());
}

/* Turns entries into lines, a few times a second. */
static void *write_on(void *unused)
{
    const struct timespec pause = {0, 100000000};
    bool full = false, more = false;
    while (atomic_load(&record_on) && !full) {
        if (!atomic_load(&had_descriptors))
            atomic_store(&had_descriptors, cuda_has_descriptors());
        if (!more)
            nanosleep(&pause, NULL);
        record_lock(&end_lock);
        if (!has_ended) {
            more = entries_write(false);
            file_flush(&full);
        }
        record_unlock(&end_lock);
    }
    if (full)
        finish("limit", false, false);
    return unused;
}

/* The library's thread takes none of the program's signals. */
static bool start_writer(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, write_on, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

/* --- the beginning --- */

static void put_header(void)
{
    char line[512];
    int driver = 0;
    uint32_t cupti = 0;
    const char *connections = record_variable("CUDA_DEVICE_MAX_CONNECTIONS");
    const char *blocking = record_variable("CUDA_LAUNCH_BLOCKING");
    const char *loading = record_variable("CUDA_MODULE_LOADING");
    long queues = connections != NULL ? strtol(connections, NULL, 10) : 0;
    char queues_text[24] = "null";
    if (queues > 0)
        snprintf(queues_text, sizeof queues_text, "%ld", queues);
    if (record_api.driver_version != NULL)
        record_api.driver_version(&driver);
    if (record_api.version != NULL)
        record_api.version(&cupti);
    snprintf(line, sizeof line,
             ",\"pid\":%d,\"parent\":%d,\"begin_ns\":%lld,\"driver\":%d,\"cupti\":%u,"
             "\"launch_blocking\":%s,\"connections\":%s,\"lazy\":%s}\n",
             (int)getpid(), (int)getppid(), (long long)record_now_ns(), driver, cupti,
             blocking != NULL && strcmp(blocking, "0") != 0 ? "true" : "false", queues_text,
             loading != NULL && strcmp(loading, "EAGER") == 0 ? "false" : "true");
    file_header("{\"pipeline_recording\":1,\"version\":\"" PIPELINE_VERSION "\",\"program\":",
                program_invocation_short_name, line);
}

/* Returns NULL, or the reason why nothing can be recorded. */
static const char *begin(void)
{
    if (!api_find_cupti())
        return "libcupti.so was not found, or is too old: it comes with the CUDA Toolkit";
    const char *why = calls_begin();
    return why != NULL ? why : ops_begin();
}

/* CUDA calls this when the program first uses it. A name that is told elsewhere (the functions
 * that CUDA and NVTX look for) is all that the library shows. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
    const char *limit = record_variable("PIPELINE_RECORD_LIMIT");
    const char *folder = record_folder();
    if (folder == NULL || record_is_told_again())
        return 1;
    if (!file_open(folder, program_invocation_short_name,
                   limit != NULL ? strtoull(limit, NULL, 10) : 0))
        return 1;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    record_frames = record_variable("PIPELINE_RECORD_BACKTRACE") != NULL;
    frames_begin();
    api_find_driver();
    entries_begin();
    const char *why = begin();
    put_header();
    bool full;
    file_flush(&full); /* a program that ends at once leaves a recording, too */
    if (why != NULL) {
        put_note(why);
        file_close("exit");
        return 1;
    }
    pthread_atfork(NULL, NULL, record_child_begins);
    record_begin();
    if (atexit(program_ends) != 0 || at_quick_exit(program_ends) != 0)
        put_note("the program's end can't be seen: its latest calls may be missing");
    if (!start_writer())
        put_note("no thread could be started: all is written at the program's end");
    return 1;
}
