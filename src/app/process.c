/* process.c - what the process makes sure of before anything else: environment, descriptors and
 * signals. */
#include "app/process.h"

#include "term/child.h"
#include "term/output_file.h"
#include "term/progress.h"

#include <fcntl.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

/* A file would be opened as the descriptor that is closed, and have in it what is printed. */
static bool open_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            return false;
    }
    return true;
}

/* Has as many files open as the system lets us: each run of a config file may have an output.
 */
static void allow_many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
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
    unsetenv("GNUTERM"); /* gnuplot would begin with that terminal, and end where it has none */
}

/* More threads than processors make nothing faster, and OpenMP's library crashes when it is to
 * start very many. */
static void bound_threads(void)
{
    if (omp_get_max_threads() > omp_get_num_procs())
        omp_set_num_threads(omp_get_num_procs());
}

bool process_begin(void)
{
    static const int ending[] = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGPIPE,   SIGALRM,
                                 SIGUSR1, SIGUSR2, SIGXCPU,  SIGABRT, SIGSEGV,   SIGBUS,
                                 SIGFPE,  SIGILL,  SIGSYS,   SIGTRAP, SIGVTALRM, SIGPROF,
                                 SIGPOLL, SIGPWR,  SIGSTKFLT};
    forget_environment();
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        handle(ending[i], on_ending);
    handle(SIGXFSZ, on_file_size);
    /* Where SIGCHLD is ignored nobody can learn how a child ended. */
    signal(SIGCHLD, SIG_DFL);
    atexit(output_files_unlink); /* OpenMP ends the program when it gets no thread */
    bound_threads();
    allow_many_files();
    return open_standard_descriptors();
}
