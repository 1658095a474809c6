/* guest.c - another program, run in our place: it has all that we were given, and is told what
 * we are told. All signals are blocked while the program runs and are taken one by one, so that
 * no handler of ours is ever called. */
#include "app/record.h"

#include "app/commands.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- starting --- */

/* Becomes the program, in the child. Returns where that fails, with errno. */
static void become(const struct guest *guest, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) { /* which was killed before we could ask */
        errno = ECHILD;
        return;
    }
    process_give_back();
    sigprocmask(SIG_SETMASK, &guest->mask, NULL);
    execv(guest->path, guest->arguments);
}

/* Starts the program. Returns 0, or an errno. */
static int start(struct guest *guest)
{
    int ends[2], failure = 0;
    const pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    guest->process = fork();
    if (guest->process == 0) {
        become(guest, parent);
        failure = errno;
        _exit(write(ends[1], &failure, sizeof failure) < 0 ? 126 : 127);
    }
    if (guest->process < 0)
        failure = errno;
    close(ends[1]);
    while (guest->process > 0 && read(ends[0], &failure, sizeof failure) < 0 && errno == EINTR)
        continue;
    close(ends[0]);
    if (guest->process > 0 && failure != 0)
        waitpid(guest->process, NULL, 0);
    return failure;
}

/* Closes what we were given open: all that a program inherits, but standard error and, where we
 * keep that, standard output. */
static void let_go(bool keeps_output)
{
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        const int fd = atoi(entry->d_name), flags = fcntl(fd, F_GETFD);
        if (fd > STDERR_FILENO && flags >= 0 && (flags & FD_CLOEXEC) == 0)
            close(fd);
    }
    if (folder != NULL)
        closedir(folder);
    if (nowhere >= 0) {
        dup2(nowhere, STDIN_FILENO);
        if (!keeps_output)
            dup2(nowhere, STDOUT_FILENO);
        close(nowhere);
    }
}

/* --- signals --- */

/* Returns true if a signal that we got is to be passed on. One that the kernel sends for a
 * terminal has reached the whole process group, but a hang-up the session's leader alone; an
 * alarm may have been set before we were started. One that the program itself sent was for its
 * group. One that another process sends to the group reaches the program twice: nothing tells
 * it from one for us alone. */
static bool is_for_guest(const struct guest *guest, const siginfo_t *info)
{
    if (info->si_signo == SIGCHLD)
        return false;
    if (info->si_code <= 0) /* sent by a process */
        return info->si_pid != guest->process && info->si_pid != getpid();
    return info->si_signo == SIGALRM || (info->si_signo == SIGHUP && getsid(0) == getpid());
}

static void pass(const struct guest *guest, const siginfo_t *info)
{
    if (info->si_code == SI_QUEUE)
        sigqueue(guest->process, info->si_signo, info->si_value);
    else
        kill(guest->process, info->si_signo);
}

/* Returns true if the terminal is our process group's. */
static bool is_in_front(void)
{
    const int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0)
        return false;
    const bool front = tcgetpgrp(terminal) == getpgrp();
    close(terminal);
    return front;
}

/* Stops as the program was stopped, so that the shell sees it. Behind a SIGSTOP somebody may
 * have meant the program alone, and will continue it alone. */
static void stop(int number)
{
    sigset_t one;
    if (number == SIGSTOP && !is_in_front())
        return;
    sigemptyset(&one);
    sigaddset(&one, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* we are stopped here, until a SIGCONT */
    sigprocmask(SIG_BLOCK, &one, NULL);
}

/* --- waiting --- */

/* Waits for the program's end. Returns false with errno where that can't be known. */
static bool await(const struct guest *guest, int *ended)
{
    sigset_t all;
    siginfo_t info;
    sigfillset(&all);
    for (;;) {
        const pid_t waited = waitpid(guest->process, ended, WNOHANG | WUNTRACED);
        if (waited < 0 && errno != EINTR)
            return false;
        if (waited > 0 && !WIFSTOPPED(*ended))
            return true;
        if (waited > 0)
            stop(WSTOPSIG(*ended));
        else if (sigwaitinfo(&all, &info) > 0 && is_for_guest(guest, &info))
            pass(guest, &info);
    }
}

enum child_end guest_run(struct guest *guest)
{
    int ended = 0;
    guest->code = start(guest);
    if (guest->code != 0)
        return CHILD_NOT_STARTED;
    let_go(guest->keeps_output);
    if (!await(guest, &ended)) {
        guest->code = errno;
        return CHILD_LOST;
    }
    guest->code = WIFSIGNALED(ended) ? WTERMSIG(ended) : WEXITSTATUS(ended);
    return WIFSIGNALED(ended) ? CHILD_SIGNALLED : CHILD_EXITED;
}
