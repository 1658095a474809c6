/* try_folder.c - a folder for a while, which is gone when we are, however we end: a process of
 * its own waits for that and removes it. */
#include "app/try.h"

#include "term/child.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about, (void)kind, (void)place;
    remove(path);
    return 0;
}

/* Waits until we have closed the other end of `pipe`. What a compiler of ours is still writing
 * comes a little later. */
static void wait_and_remove(const char *folder, int pipe)
{
    enum { TRIES = 50 };
    const struct timespec pause = {.tv_nsec = 20000000};
    char nothing;
    while (read(pipe, &nothing, 1) < 0 && errno == EINTR)
        continue;
    for (int i = 0; i < TRIES && access(folder, F_OK) == 0; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

enum status try_folder_begin(struct try_folder *folder, struct error *error)
{
    const char *around = getenv("TMPDIR");
    int ends[2];
    sigset_t all, before;
    *folder = (struct try_folder){.pipe = -1};
    if (asprintf(&folder->path, "%s/pipeline-try-XXXXXX",
                 around != NULL && around[0] != '\0' ? around : "/tmp") < 0) {
        folder->path = NULL;
        return error_no_memory(error, "to compile");
    }
    if (mkdtemp(folder->path) == NULL)
        return error_set(error, STATUS_USAGE,
                         "there can be no new folder %s: %s: name another place in TMPDIR",
                         folder->path, strerror(errno));
    if (pipe2(ends, O_CLOEXEC) != 0) {
        rmdir(folder->path);
        return error_set(error, STATUS_FAILED, "no pipe can be opened: %s", strerror(errno));
    }
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    folder->remover = fork();
    if (folder->remover == 0) {
        setsid(); /* a terminal's signals are not for it */
        close(ends[1]);
        wait_and_remove(folder->path, ends[0]);
        _exit(0);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[0]);
    folder->pipe = ends[1];
    return STATUS_OK;
}

void try_folder_end(struct try_folder *folder)
{
    if (folder->pipe >= 0) {
        close(folder->pipe);
        if (folder->remover > 0)
            waitpid(folder->remover, NULL, 0);
        else
            wait_and_remove(folder->path, -1);
    }
    free(folder->path);
    *folder = (struct try_folder){.pipe = -1};
}
