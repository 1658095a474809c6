/* process.c - what the process makes sure of before anything else: environment, descriptors and
 * signals. */
#include "app/commands.h"

#include "core/c_locale.h"
#include "kernels/own.h"
#include "term/child.h"
#include "term/output_file.h"
#include "term/progress.h"

#include <fcntl.h>
#include <malloc.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

/* These limits are raised, because the system often allows more than it gives at first. */
enum { FILES, STACK, LIMITS };
static const struct {
    __rlimit_resource_t resource;
    rlim_t most;
} limits[LIMITS] = {
    [FILES] = {RLIMIT_NOFILE, RLIM_INFINITY}, /* each run of a file may have an output */
    [STACK] = {RLIMIT_STACK, 8 << 20},
};

/* Properties that this process was given and has changed for itself. */
static struct {
    unsigned long processors[128]; /* a bit for each that it may run on */
    bool processors_known;
    bool closed[STDERR_FILENO + 1]; /* standard descriptors */
    bool ignores_children;          /* SIGCHLD */
    bool limit_known[LIMITS];
    struct rlimit limit[LIMITS];
} given;

/* Where OMP_PROC_BIND is set, OpenMP's library takes all processors but a few away before
 * main() begins. Functions of this section run before any library's; sanitizers are not ready
 * then. */
__attribute__((no_sanitize("address", "undefined"))) static void keep_processors(void)
{
    given.processors_known =
        sched_getaffinity(0, sizeof given.processors, (cpu_set_t *)given.processors) == 0;
}
__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(void) = keep_processors;

/* A file would be opened as the descriptor that is closed, and have in it what is printed. */
static enum status open_standard_descriptors(struct error *error)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        given.closed[fd] = fcntl(fd, F_GETFD) < 0;
        if (given.closed[fd] && open("/dev/null", O_RDWR) != fd)
            return error_set(error, STATUS_FAILED, "/dev/null can't be opened");
    }
    return STATUS_OK;
}

static void raise_limits(void)
{
    for (int i = 0; i < LIMITS; i++) {
        struct rlimit limit;
        given.limit_known[i] = getrlimit(limits[i].resource, &limit) == 0;
        given.limit[i] = limit;
        const rlim_t most = limit.rlim_max < limits[i].most ? limit.rlim_max : limits[i].most;
        if (!given.limit_known[i] || limit.rlim_cur >= most)
            continue;
        limit.rlim_cur = most;
        setrlimit(limits[i].resource, &limit);
    }
}

/* Fails where there is too little stack: the system would end us without a word. What is on it
 * already, arguments and environment among that, begins with the path that we were called by.
 */
static enum status check_stack(struct error *error)
{
    enum { NEEDED = 192 << 10 };
    struct rlimit limit;
    const rlim_t used = getauxval(AT_EXECFN) - (uintptr_t)__builtin_frame_address(0);
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= used + NEEDED)
        return STATUS_OK;
    return error_set(error, STATUS_FAILED,
                     "the stack may have %llu KiB (ulimit -s): needed are %llu",
                     (unsigned long long)limit.rlim_cur >> 10,
                     (unsigned long long)(used + NEEDED + 1023) >> 10);
}

/* Ends the program, and the one that it runs, as the signal would have: the shell sees which
 * one it was. */
static void on_ending(int number)
{
    child_kill();
    progress_abort();
    output_files_unlink();
    signal(number, SIG_DFL);
    raise(number);
}

/* A handler that does nothing lets the write fail, and is not inherited by other programs. */
static void on_file_size(int number)
{
    (void)number;
}

/* Handles a signal that would have its default effect. One that is ignored, as by nohup, stays
 * so, and one that a tool handles (a sanitizer) is the tool's. */
static void handle(int number, void (*handler)(int))
{
    struct sigaction before, action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(number, &action, NULL);
}

/* Run with rights that its caller lacks, the program forgets the caller's environment: this is
 * the one place where that is decided, for what the program reads itself and for the libraries
 * that it opens and the programs that it starts, which load what some variables name. */
static void forget_environment(void)
{
    if (getauxval(AT_SECURE) != 0)
        clearenv();
}

/* More threads than processors make nothing faster, and OpenMP's library crashes when it is to
 * start very many. */
static void bound_threads(void)
{
    if (omp_get_max_threads() > omp_get_num_procs())
        omp_set_num_threads(omp_get_num_procs());
}

bool process_find(const char *name, char path[PATH_MAX])
{
    static const char *const folders[] = {"", "../lib/pipeline/"};
    char here[PATH_MAX] = "";
    const ssize_t length = readlink("/proc/self/exe", here, sizeof here - 1);
    char *slash = length > 0 ? strrchr(here, '/') : NULL;
    if (slash != NULL)
        slash[1] = '\0';
    for (size_t i = 0; slash != NULL && i < sizeof folders / sizeof folders[0]; i++) {
        const int written = snprintf(path, PATH_MAX, "%s%s%s", here, folders[i], name);
        if (written < PATH_MAX && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

void process_keep_memory(int largest_bytes)
{
    enum { KEPT_BYTES = 1 << 30 };
    mallopt(M_MMAP_THRESHOLD, largest_bytes);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

enum status process_begin(struct error *error)
{
    static const int ending[] = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGPIPE,   SIGALRM,
                                 SIGUSR1, SIGUSR2, SIGXCPU,  SIGABRT, SIGSEGV,   SIGBUS,
                                 SIGFPE,  SIGILL,  SIGSYS,   SIGTRAP, SIGVTALRM, SIGPROF,
                                 SIGPOLL, SIGPWR,  SIGSTKFLT};
    forget_environment();
    c_locale_enter();
    process_keep_memory(256 << 20);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        handle(ending[i], on_ending);
    handle(SIGXFSZ, on_file_size);
    /* Where SIGCHLD is ignored nobody can learn how a child ended. */
    given.ignores_children = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
    atexit(output_files_unlink); /* OpenMP ends the program when it gets no thread */
    kernel_own_on_end(output_files_unlink);
    bound_threads();
    raise_limits();
    const enum status status = check_stack(error);
    return status == STATUS_OK ? open_standard_descriptors(error) : status;
}

void process_give_back(void)
{
    struct sigaction action;
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) {
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaction(number, &usual, NULL);
    }
    if (given.ignores_children)
        signal(SIGCHLD, SIG_IGN);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (given.closed[fd])
            close(fd);
    }
    for (int i = 0; i < LIMITS; i++) {
        if (given.limit_known[i])
            setrlimit(limits[i].resource, &given.limit[i]);
    }
    if (given.processors_known)
        sched_setaffinity(0, sizeof given.processors, (const cpu_set_t *)given.processors);
}
