/* own_try.c - a library is opened and closed in a process of its own before it is opened in
 * this one: what its constructors and destructors do, crash, end the program or never return,
 * they do there. */
#include "kernels/own_parts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* How far the other process is; it sends a byte when it gets farther. */
enum stage { OPENING, CLOSING, CLOSED };

static void send_stage(int to)
{
    const char byte = 0;
    if (write(to, &byte, 1) != 1)
        _exit(1);
}

/* This process prints nothing: the parent opens the library again, which then prints what it
 * has to, and says why one can't be opened. */
static void open_and_close(const char *path, pid_t parent, int to)
{
    const int nowhere = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (dup2(nowhere, fd) < 0)
            _exit(1);
    }
    if (getppid() != parent) /* which ended before we could ask to end with it */
        _exit(1);
    void *library = own_open(path);
    if (library != NULL)
        dlsym(library, OWN_SYMBOL);
    send_stage(to);
    if (library != NULL)
        dlclose(library);
    send_stage(to);
    _exit(0);
}

/* Returns how far the other process has come when it ends, or has had its seconds. One in which
 * we were stopped counts once, however long that was. A process that it has started may hold
 * the pipe for longer, and it may close the pipe itself: its end is told by `child`. */
static enum stage await(int child, int from, int *seconds)
{
    enum stage stage = OPENING;
    struct pollfd ready[] = {{.fd = from, .events = POLLIN}, {.fd = child, .events = POLLIN}};
    while (stage != CLOSED && *seconds > 0) {
        char byte;
        const int count = poll(ready, 2, 1000);
        if (count == 0)
            *seconds -= 1;
        else if (count < 0)
            continue; /* a signal came */
        else if (ready[0].revents != 0 && read(from, &byte, 1) == 1)
            stage++;
        else if (ready[1].revents != 0)
            break;
        else
            ready[0].fd = -1; /* nobody writes to it any more */
    }
    return stage;
}

static enum status judge(const char *path, enum stage stage, int most, int left, int ended,
                         struct error *error)
{
    const char *when = stage == OPENING ? "opened" : "closed";
    if (stage == CLOSED)
        return STATUS_OK;
    if (left == 0)
        return error_set(error, STATUS_USAGE,
                         "%.200s: code that runs when it is %s had not ended after %d s", path,
                         when, most);
    if (!WIFSIGNALED(ended))
        return error_set(error, STATUS_USAGE,
                         "%.200s: code that runs when it is %s ended the program", path, when);
    const char *what = sigdescr_np(WTERMSIG(ended));
    return error_set(error, STATUS_USAGE, "%.200s: code that runs when it is %s crashed: %s",
                     path, when, what != NULL ? what : "a signal");
}

enum status own_try(const char *path, int seconds, struct error *error)
{
    struct stat about;
    int pipe[2], ended = 0, left = seconds;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return error_set(error, STATUS_USAGE,
                         "%.200s can't be opened as a library: it is no regular file", path);
    if (pipe2(pipe, O_CLOEXEC) != 0)
        return error_set(error, STATUS_FAILED, "no pipe to try a library with");
    const pid_t parent = getpid(), child = fork();
    if (child == 0)
        open_and_close(path, parent, pipe[1]);
    close(pipe[1]);
    const int end = child > 0 ? pidfd_open(child, 0) : -1;
    const enum stage stage = end >= 0 ? await(end, pipe[0], &left) : OPENING;
    close(pipe[0]);
    if (end >= 0)
        close(end);
    if (child < 0 || end < 0) {
        if (child > 0)
            kill(child, SIGKILL);
        return error_set(error, STATUS_FAILED, "no process to try a library in");
    }
    kill(child, SIGKILL); /* one that has ended keeps the end that it had */
    waitpid(child, &ended, 0);
    return judge(path, stage, seconds, left, ended, error);
}
