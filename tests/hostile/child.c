/* child.c - starts a command under the conditions that it asks for, and sees how it ends.
 *
 * Its standard output and errors go to files without a name. It begins with a clean
 * environment, nothing on standard input, default actions of all signals, and in a process
 * group of its own; what it starts and leaves behind becomes a child of this process, which is
 * a subreaper (main.c). */
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 60000,     /* a command that takes longer hangs */
    LEFT_MS = 10000,        /* what a command has started must have ended then */
    CHILDREN_MAX = 2,       /* commands at once */
    OUTPUT_MAX = 64 * MEBI, /* bytes that are looked at */
};

/* A sanitizer's report ends the program with a code that it never gives itself. */
#define SANITIZER_EXIT "exitcode=86"

struct setting setting;

/* The commands that run, and where their output goes. */
static struct child {
    pid_t pid;
    int out, err; /* descriptors */
    int64_t start_us;
} children[CHILDREN_MAX];

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

/* --- in the child --- */

static void limit(int which, uint64_t most)
{
    const struct rlimit both = {most, most};
    setrlimit(which, &both);
}

/* Makes `fd` standard output: what the command says of it, or `kept`. */
static void open_out(const struct call *call, int kept)
{
    int fd = kept, ends[2];
    if (call->out_path != NULL && strcmp(call->out_path, "|") != 0)
        fd = open(call->out_path, O_WRONLY);
    else if (call->out_path != NULL && pipe(ends) == 0)
        close(ends[0]), fd = ends[1];
    dup2(fd, STDOUT_FILENO);
}

static void signals_begin(const struct call *call)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        signal(number, number == call->ignored ? SIG_IGN : SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void become(const struct call *call, const struct child *child)
{
    static const char asan[] = "ASAN_OPTIONS=" SANITIZER_EXIT ":allocator_may_return_null=1:"
                               "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0";
    static const char ubsan[] = "UBSAN_OPTIONS=" SANITIZER_EXIT ":print_stacktrace=1";
    static const char *const usual[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                        "HOME=.",
                                        "TMPDIR=../tmp",
                                        "LANG=C.UTF-8",
                                        "OMP_NUM_THREADS=1",
                                        "OMP_WAIT_POLICY=passive",
                                        "CUDA_VISIBLE_DEVICES=",
                                        asan,
                                        ubsan};
    enum { USUAL = sizeof usual / sizeof usual[0] };
    const char *environment[EXTRA_MAX + USUAL + 1] = {NULL};
    memcpy(environment, call->extra, sizeof call->extra); /* the first of a name counts */
    memcpy(environment + call->extra_count, usual, sizeof usual);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signals_begin(call);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    open_out(call, child->out);
    dup2(child->err, STDERR_FILENO);
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if ((call->closed >> fd & 1) != 0)
            close(fd);
    }
    close_range(STDERR_FILENO + 1, ~0u, 0);
    limit(RLIMIT_CORE, 0);
    if (!setting.sanitized)
        limit(RLIMIT_AS, call->memory_bytes > 0 ? call->memory_bytes : 4096ull * MEBI);
    if (call->file_bytes > 0)
        limit(RLIMIT_FSIZE, call->file_bytes);
    if (call->stack_bytes > 0)
        limit(RLIMIT_STACK, call->stack_bytes);
    execve(call->arguments[0], (char *const *)call->arguments, (char *const *)environment);
    _exit(127);
}

/* --- in the parent --- */

static int unnamed_file(int fd)
{
    if (fd == 0)
        return memfd_create("output", MFD_CLOEXEC);
    return ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 ? fd : -1;
}

void child_start(const struct call *call, pid_t *pid)
{
    struct child *child = children;
    while (child->pid != 0)
        child++;
    child->out = unnamed_file(child->out);
    child->err = unnamed_file(child->err);
    child->start_us = now_us();
    fflush(NULL);
    sigset_t all, before; /* no signal reaches the child before it knows what to do with it */
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    child->pid = fork();
    if (child->pid == 0)
        become(call, child);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child->pid < 0) {
        perror("hostile: fork");
        exit(EXIT_FAILURE);
    }
    *pid = child->pid;
}

/* Returns true once the process has ended; false where it has not within `us`. */
static bool ends_within(int process, int64_t us)
{
    struct pollfd wait = {.fd = process, .events = POLLIN};
    const int64_t end = now_us() + us;
    int count = 0;
    do {
        const int64_t left = end - now_us();
        if (left <= 0)
            break;
        const struct timespec timeout = {left / 1000000, left % 1000000 * 1000};
        count = ppoll(&wait, 1, &timeout, NULL);
    } while (count < 0 && errno == EINTR);
    return count > 0;
}

static char *read_output(int fd, size_t *size)
{
    struct stat about;
    fstat(fd, &about);
    *size = about.st_size < OUTPUT_MAX ? (size_t)about.st_size : OUTPUT_MAX;
    char *text = malloc(*size + 1);
    if (text == NULL || pread(fd, text, *size, 0) != (ssize_t)*size) {
        perror("hostile: reading a command's output");
        exit(EXIT_FAILURE);
    }
    text[*size] = '\0';
    return text;
}

/* Waits for what the command has left running, if anything, and ends it. Returns whether it
 * would not end by itself. Where two commands run at once it is left to the last. */
static bool end_what_is_left(void)
{
    for (int i = 0; i < CHILDREN_MAX; i++) {
        if (children[i].pid != 0)
            return false;
    }
    pid_t ended = 0;
    for (int64_t end = now_us() + LEFT_MS * INT64_C(1000); ended >= 0 && now_us() < end;) {
        ended = waitpid(-1, NULL, WNOHANG);
        if (ended == 0)
            poll(NULL, 0, 2);
    }
    if (ended < 0)
        return false;
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    FILE *file = fopen(path, "r");
    if (file != NULL && fgets(line, sizeof line, file) != NULL) {
        for (char *at = line; strtol(at, NULL, 10) > 0; strtol(at, &at, 10))
            kill((pid_t)strtol(at, NULL, 10), SIGKILL);
    }
    if (file != NULL)
        fclose(file);
    return true;
}

void child_finish(const struct call *call, pid_t pid, struct result *result)
{
    struct child *child = children;
    while (child->pid != pid)
        child++;
    const int process = pidfd_open(pid, 0);
    struct rusage usage;
    int status;
    *result = (struct result){0};
    if (call->signal != 0 && !ends_within(process, call->delay_us))
        kill(pid, call->signal);
    if (!ends_within(process, TIMEOUT_MS * INT64_C(1000))) {
        result->timed_out = true;
        kill(-pid, SIGKILL);
    }
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    close(process);
    result->us = now_us() - child->start_us;
    result->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result->peak_bytes = (size_t)usage.ru_maxrss * 1024;
    result->out = read_output(child->out, &result->out_size);
    result->err = read_output(child->err, &result->err_size);
    child->pid = 0;
    result->left_process = end_what_is_left();
}

void result_free(struct result *result)
{
    free(result->out);
    free(result->err);
}
