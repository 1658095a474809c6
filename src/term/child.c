/* child.c - another program, and what it prints.
 *
 * Not posix_spawn(): between fork() and exec a child has to ask for its parent's end, and
 * execvp() would give a file of unknown form to a shell. */
#include "term/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PIECE = 65536,    /* bytes that are read at once */
    LAST_PIECES = 16, /* that are in a pipe when the child has ended: it holds 1 MiB at most */
    WAIT_MS = 1000,   /* what one wait counts for at most: we may have been stopped in it */
    LOOK_MS = 20,     /* between looks where nothing tells us that the child has ended */
};

/* The child's process group, for child_kill(); 0: there is none. */
static atomic_int running;

/* The descriptors of a start. */
struct start {
    const struct child *child;
    const char *path;
    pid_t parent;
    int nowhere;
    int output[2], errors[2], failure[2]; /* pipes: where we read, where the child writes */
};

int child_file(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int failure = errno;
    close(fd);
    errno = failure;
    return moved;
}

/* --- finding --- */

static bool is_program(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return false;
    errno = EACCES;
    return S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

char *child_find(const char *name)
{
    const char *folder = getenv("PATH");
    char *path = NULL;
    int failure = ENOENT;
    if (strchr(name, '/') != NULL)
        return strdup(name);
    if (name[0] == '\0') {
        errno = ENOENT;
        return NULL;
    }
    if (folder == NULL)
        folder = "/usr/local/bin:/usr/bin:/bin";
    for (bool more = true; more;) {
        const size_t length = strcspn(folder, ":");
        if (asprintf(&path, "%.*s%s%s", (int)length, folder, length > 0 ? "/" : "./", name) < 0)
            return NULL;
        if (is_program(path))
            return path;
        if (errno == EACCES)
            failure = EACCES;
        free(path);
        more = folder[length] == ':';
        folder += length + more;
    }
    errno = failure;
    return NULL;
}

/* --- starting --- */

static bool open_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        ends[i] = child_file(ends[i]);
    return ends[0] >= 0 && ends[1] >= 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_start(struct start *start)
{
    int *const pipes[] = {start->output, start->errors, start->failure};
    for (int i = 0; i < 3; i++) {
        close_end(&pipes[i][0]);
        close_end(&pipes[i][1]);
    }
    close_end(&start->nowhere);
}

static bool open_start(struct start *start)
{
    start->nowhere = child_file(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return start->nowhere >= 0 && open_pipe(start->output) && open_pipe(start->errors) &&
           open_pipe(start->failure);
}

/* Becomes the program, with what it inherits. Called in the child, with all signals blocked, so
 * that no handler of ours runs there; what our parent had ignored stays ignored, but for the
 * signals that programs rely on. Returns where that fails, with errno. */
static void become(const struct start *start)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    struct sigaction before;
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != start->parent) { /* which ended before we could ask */
        errno = ECHILD;
        return;
    }
    for (int number = 1; number < NSIG; number++) {
        if (sigaction(number, NULL, &before) == 0 &&
            (before.sa_handler != SIG_IGN || number == SIGPIPE || number == SIGCHLD))
            sigaction(number, &usual, NULL);
    }
    if (dup2(start->nowhere, STDIN_FILENO) < 0 || dup2(start->output[1], STDOUT_FILENO) < 0 ||
        (!start->child->tells && dup2(start->errors[1], STDERR_FILENO) < 0))
        return;
    for (int i = 0; i < start->child->file_count; i++) {
        if (fcntl(start->child->files[i], F_SETFD, 0) != 0)
            return;
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(start->path, start->child->arguments);
}

/* Reads why the program could not be run: nothing, once it runs. */
static int read_failure(int fd)
{
    int failure = 0;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ssize_t count;
    do {
        poll(&ready, 1, -1);
        count = read(fd, &failure, sizeof failure);
    } while (count < 0 && (errno == EINTR || errno == EAGAIN));
    return count == sizeof failure ? failure : 0;
}

/* Starts the program. Returns 0, or an errno; sets its process, or -1 where there is none to be
 * waited for. */
static int start_program(struct start *start, pid_t *process)
{
    sigset_t all, before;
    start->parent = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    *process = fork();
    if (*process == 0) {
        become(start);
        const int failure = errno;
        const ssize_t written = write(start->failure[1], &failure, sizeof failure);
        _exit(written < 0 ? 126 : 127);
    }
    const int failure = errno;
    if (*process > 0) {
        setpgid(*process, *process); /* whoever comes first */
        atomic_store(&running, *process);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close_end(&start->output[1]);
    close_end(&start->errors[1]);
    close_end(&start->failure[1]);
    return *process > 0 ? read_failure(start->failure[0]) : failure;
}

/* --- reading --- */

/* A read gives bytes, ends, or has to wait. */
enum taken { TAKEN, NOTHING_YET, AT_END, TOO_MUCH, FAILED };

static enum taken take(int fd, char piece[PIECE], size_t *count)
{
    const ssize_t got = read(fd, piece, PIECE);
    *count = got > 0 ? (size_t)got : 0;
    if (got > 0)
        return TAKEN;
    if (got == 0)
        return AT_END;
    return errno == EAGAIN || errno == EINTR ? NOTHING_YET : FAILED;
}

static enum taken take_output(int fd, struct child *child, size_t *room)
{
    char piece[PIECE];
    size_t count;
    const enum taken taken = take(fd, piece, &count);
    if (taken == FAILED)
        child->code = errno;
    if (taken != TAKEN)
        return taken;
    if (count > child->output_max - child->length)
        return TOO_MUCH;
    if (child->length + count > *room) {
        const size_t larger = 2 * (child->length + count);
        char *output = realloc(child->output, larger);
        if (output == NULL) {
            child->code = ENOMEM;
            return FAILED;
        }
        child->output = output;
        *room = larger;
    }
    memcpy(child->output + child->length, piece, count);
    child->length += count;
    return TAKEN;
}

/* Keeps the last bytes of what the child complains of. */
static enum taken take_errors(int fd, struct child *child)
{
    char piece[PIECE];
    size_t count, used = strlen(child->errors);
    const enum taken taken = take(fd, piece, &count);
    const char *from = piece;
    for (size_t i = 0; i < count; i++)
        piece[i] = (char)(piece[i] != '\0' ? piece[i] : ' ');
    if (count > CHILD_ERRORS - 1) {
        from += count - (CHILD_ERRORS - 1);
        count = CHILD_ERRORS - 1;
    }
    if (used + count > CHILD_ERRORS - 1) {
        const size_t surplus = used + count - (CHILD_ERRORS - 1);
        memmove(child->errors, child->errors + surplus, used - surplus);
        used -= surplus;
    }
    memcpy(child->errors + used, from, count);
    child->errors[used + count] = '\0';
    return taken;
}

static long milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000L + now.tv_nsec / 1000000;
}

/* Waits until there is something to read, the child has ended or `most_ms` are over. Returns
 * true if the child has ended: it stays to be waited for, so that its number and its group's
 * are nobody else's. `end` can be polled for that; it is -1 where the system has no such
 * descriptors (Linux before 5.3, some sandboxes). */
static bool await(const struct start *start, pid_t process, int end, long most_ms)
{
    struct pollfd ready[] = {{.fd = start->output[0], .events = POLLIN},
                             {.fd = start->errors[0], .events = POLLIN},
                             {.fd = end, .events = POLLIN}};
    siginfo_t about = {.si_pid = 0};
    poll(ready, 3, end < 0 ? LOOK_MS : (int)most_ms);
    if (end >= 0)
        return ready[2].revents != 0;
    return waitid(P_PID, (id_t)process, &about, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           about.si_pid != 0;
}

/* Takes in what is there to be read. Returns TAKEN, TOO_MUCH or FAILED. */
static enum taken take_both(struct start *start, struct child *child, size_t *room)
{
    enum taken taken = TAKEN;
    if (start->output[0] >= 0)
        taken = take_output(start->output[0], child, room);
    if (taken == AT_END)
        close_end(&start->output[0]);
    if (taken == TOO_MUCH || taken == FAILED)
        return taken;
    if (start->errors[0] >= 0 && take_errors(start->errors[0], child) == AT_END)
        close_end(&start->errors[0]);
    return TAKEN;
}

/* Takes in all that the child prints, until its end, which is CHILD_EXITED here. */
static enum child_end gather(struct start *start, struct child *child, pid_t process)
{
    size_t room = 0;
    enum taken taken = TAKEN;
    bool ended = false;
    int end = (int)syscall(SYS_pidfd_open, process, 0);
    long left_ms = child->seconds * 1000L, last_ms = milliseconds();
    while (taken == TAKEN && left_ms > 0 && !ended) {
        ended = await(start, process, end, left_ms < WAIT_MS ? left_ms : WAIT_MS);
        taken = take_both(start, child, &room);
        const long now_ms = milliseconds(), passed_ms = now_ms - last_ms;
        left_ms -= passed_ms < WAIT_MS ? passed_ms : WAIT_MS;
        last_ms = now_ms;
    }
    close_end(&end);
    /* Others of its group may hold the pipes open: they are not waited for. */
    kill(-process, SIGKILL);
    kill(process, SIGKILL);
    if (taken == TAKEN && !ended)
        return CHILD_LATE;
    for (int i = 0; i < LAST_PIECES && taken == TAKEN; i++)
        taken = take_both(start, child, &room);
    if (taken == TAKEN)
        return CHILD_EXITED;
    return taken == TOO_MUCH ? CHILD_FLOODED : CHILD_LOST;
}

/* Waits for the child, which has ended or is about to. */
static enum child_end finish(struct child *child, pid_t process, enum child_end end)
{
    int ended = 0;
    pid_t waited;
    atomic_store(&running, 0); /* its number may soon be another's */
    do
        waited = waitpid(process, &ended, 0);
    while (waited < 0 && errno == EINTR);
    const int failure = errno;
    if (end != CHILD_EXITED)
        return end;
    if (waited < 0) {
        child->code = failure;
        return CHILD_LOST;
    }
    child->code = WIFSIGNALED(ended) ? WTERMSIG(ended) : WEXITSTATUS(ended);
    return WIFSIGNALED(ended) ? CHILD_SIGNALLED : CHILD_EXITED;
}

static enum child_end run_program(struct start *start, struct child *child)
{
    pid_t process;
    child->code = start_program(start, &process);
    if (process < 0)
        return CHILD_NOT_STARTED;
    return finish(child, process,
                  child->code != 0 ? CHILD_NOT_STARTED : gather(start, child, process));
}

enum child_end child_run(struct child *child)
{
    struct start start = {.child = child,
                          .nowhere = -1,
                          .output = {-1, -1},
                          .errors = {-1, -1},
                          .failure = {-1, -1}};
    enum child_end end = CHILD_NOT_STARTED;
    char *path = child_find(child->arguments[0]);
    child->output = NULL;
    child->length = 0;
    child->errors[0] = '\0';
    child->code = errno;
    start.path = path;
    if (path == NULL)
        return child->code == ENOENT ? CHILD_NOT_FOUND : CHILD_NOT_STARTED;
    if (open_start(&start))
        end = run_program(&start, child);
    else
        child->code = errno;
    close_start(&start);
    free(path);
    return end;
}

void child_kill(void)
{
    const int before = errno, group = atomic_load(&running);
    if (group > 0)
        kill(-group, SIGKILL);
    errno = before;
}
