/* output_file.c - files that appear whole or not at all: written under a temporary name,
 * synced, then renamed. */
#include "term/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char temporary_suffix[] = ".XXXXXX";

enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_NAMED };

/* The temporaries that are open, for output_files_unlink(). Fixed buffers and lock-free states:
 * a signal handler can't wait for anyone, and a name must outlive its file. */
static struct slot {
    atomic_int state;
    char path[PATH_MAX];
} slots[OUTPUT_FILES_MAX];

/* Takes a free slot and returns its number, or -1. */
static int slot_take(void)
{
    for (int i = 0; i < OUTPUT_FILES_MAX; i++) {
        int expected = SLOT_FREE;
        if (atomic_compare_exchange_strong(&slots[i].state, &expected, SLOT_TAKEN))
            return i;
    }
    return -1;
}

static void slot_release(int slot)
{
    atomic_store(&slots[slot].state, SLOT_FREE);
}

static enum status refuse(const char *path, const char *why, struct error *error)
{
    return error_set(error, STATUS_USAGE, "cannot write the output file '%s': %s", path, why);
}

/* Returns the descriptor, of standard output or error, that `about` describes, or -1. Such a
 * file is written through that descriptor: opened again it would be written from its start,
 * over what is there already. */
static int standard_descriptor(const struct stat *about)
{
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat standard;
        if (fstat(fd, &standard) == 0 && standard.st_dev == about->st_dev &&
            standard.st_ino == about->st_ino)
            return fd;
    }
    return -1;
}

/* Makes `fd` the stream of `file`, whose place is `path`. Closes it where that fails. */
static enum status stream_begin(struct output_file *file, const char *path, int fd,
                                struct error *error)
{
    struct output_file opened = {.path = strdup(path), .stream = fdopen(fd, "w")};
    if (opened.path != NULL && opened.stream != NULL) {
        *file = opened;
        return STATUS_OK;
    }
    refuse(path, strerror(errno), error);
    if (opened.stream != NULL)
        fclose(opened.stream);
    else
        close(fd);
    free(opened.path);
    return STATUS_USAGE;
}

/* Opens a file that exists and must stay where it is: a pipe, a device, standard output. */
static enum status open_direct(struct output_file *file, const char *path,
                               const struct stat *about, struct error *error)
{
    const int standard = standard_descriptor(about);
    const int fd = standard >= 0 ? fcntl(standard, F_DUPFD_CLOEXEC, 0)
                                 : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? refuse(path, strerror(errno), error) : stream_begin(file, path, fd, error);
}

/* Returns the permissions of a new file. The mask can only be read by setting it: to one that
 * gives a file which another thread creates just now too few permissions rather than too many.
 */
static mode_t new_file_mode(void)
{
    const mode_t mask = umask(077);
    umask(mask);
    return 0666 & ~mask;
}

/* Creates the temporary of `path` in `slot`. A signal must not come between its creation and
 * its registration. Returns its descriptor, or -1 with errno. */
static int create_temporary(const char *path, mode_t mode, struct slot *slot)
{
    const size_t length = strlen(path);
    if (length + sizeof temporary_suffix > sizeof slot->path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(slot->path, path, length);
    memcpy(slot->path + length, temporary_suffix, sizeof temporary_suffix);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int fd = mkostemp(slot->path, O_CLOEXEC);
    const int failure = errno;
    if (fd >= 0) {
        fchmod(fd, mode); /* refused by file systems without permissions, which is no harm */
        atomic_store(&slot->state, SLOT_NAMED);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = failure;
    return fd;
}

/* Opens a temporary beside `path`, which is free or a regular file that will be replaced. */
static enum status open_beside(struct output_file *file, const char *path, mode_t mode,
                               struct error *error)
{
    const int number = slot_take();
    if (number < 0)
        return error_set(error, STATUS_FAILED,
                         "cannot write the output file '%s': %d others are open", path,
                         OUTPUT_FILES_MAX);
    struct slot *slot = &slots[number];
    const int fd = create_temporary(path, mode, slot);
    enum status status = STATUS_OK;
    if (fd < 0) {
        status =
            error_set(error, STATUS_USAGE,
                      "cannot write the output file '%s': its folder takes no new file: %s",
                      path, strerror(errno));
    } else {
        status = stream_begin(file, path, fd, error);
        if (status != STATUS_OK)
            unlink(slot->path);
    }
    if (status != STATUS_OK) {
        slot_release(number);
        return status;
    }
    file->slot = number;
    file->temporary = slot->path;
    return STATUS_OK;
}

/* Opens a temporary for a regular file that exists. The file, or the one that a symbolic link
 * leads to, is replaced only where it could have been written, and keeps its permissions. */
static enum status open_replacing(struct output_file *file, const char *path,
                                  const struct stat *about, struct error *error)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return refuse(path, strerror(errno), error);
    close(fd);
    char *target = realpath(path, NULL);
    if (target == NULL)
        return refuse(path, strerror(errno), error);
    enum status status = open_beside(file, target, about->st_mode & 0777, error);
    free(target);
    return status;
}

enum status output_file_open(struct output_file *file, const char *path, struct error *error)
{
    struct stat about;
    if (path[0] == '\0')
        return refuse(path, "its name is empty", error);
    if (stat(path, &about) == 0) {
        if (!S_ISREG(about.st_mode) || standard_descriptor(&about) >= 0)
            return open_direct(file, path, &about, error);
        return open_replacing(file, path, &about, error);
    }
    if (errno != ENOENT)
        return refuse(path, strerror(errno), error);
    if (lstat(path, &about) == 0)
        return refuse(path, "it is a symbolic link that leads nowhere", error);
    return open_beside(file, path, new_file_mode(), error);
}

/* Closes `stream`, after it has reached the disk. Returns NULL, or the reason why it has not.
 */
static const char *stream_finish(FILE *stream)
{
    const char *why = NULL;
    if (fflush(stream) != 0)
        why = strerror(errno);
    else if (ferror(stream)) /* its errno was overwritten since */
        why = "an earlier write failed; is the disk full?";
    else if (fsync(fileno(stream)) != 0 && errno != EINVAL && errno != ENOTSUP &&
             errno != EROFS)
        why = strerror(errno); /* the exceptions: pipes and devices, which can't sync */
    if (fclose(stream) != 0 && why == NULL)
        why = strerror(errno);
    return why;
}

/* Frees all but the stream, which is closed. */
static void output_file_forget(struct output_file *file)
{
    if (file->temporary != NULL)
        slot_release(file->slot);
    free(file->path);
    *file = (struct output_file){0};
}

enum status output_file_commit(struct output_file *file, struct error *error)
{
    enum status status = STATUS_OK;
    const char *why = stream_finish(file->stream);
    if (why == NULL && file->temporary != NULL && rename(file->temporary, file->path) != 0)
        why = strerror(errno);
    if (why != NULL) {
        status = error_set(error, STATUS_FAILED, "cannot write the output file '%s': %s",
                           file->path, why);
        if (file->temporary != NULL)
            unlink(file->temporary);
    }
    output_file_forget(file);
    return status;
}

void output_file_discard(struct output_file *file)
{
    if (file->stream == NULL)
        return;
    fclose(file->stream);
    if (file->temporary != NULL)
        unlink(file->temporary);
    output_file_forget(file);
}

void output_files_unlink(void)
{
    const int before = errno;
    for (int i = 0; i < OUTPUT_FILES_MAX; i++) {
        if (atomic_load(&slots[i].state) == SLOT_NAMED)
            unlink(slots[i].path);
    }
    errno = before;
}
