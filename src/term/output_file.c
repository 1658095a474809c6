/* output_file.c - files that appear whole or not at all: written without a name, or under a
 * temporary one, synced, then named. */
#include "term/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- temporary names --- */

enum { NAME_TEXT = 40, OPEN_FILE_TEXT = 32, TRIES = 10000 };

struct output_name {
    struct output_name *next; /* of those in use */
    int folder;
    char text[NAME_TEXT];     /* "": not in use */
    char place[NAME_MAX + 1]; /* the name that the file is to have */
};

/* The names in use. Only who holds the gate, with all signals blocked, changes the list or
 * gives a name: a signal handler finds every temporary that there is. No handler runs in the
 * thread that is within, so whoever waits for the gate waits for another thread. */
static struct output_name *names;
static atomic_flag gate = ATOMIC_FLAG_INIT;

static void gate_enter(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
    while (atomic_flag_test_and_set(&gate))
        poll(NULL, 0, 1);
}

static void gate_leave(const sigset_t *before)
{
    atomic_flag_clear(&gate);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* The name by which an open file can be linked. */
static const char *open_file_path(int fd, char path[OPEN_FILE_TEXT])
{
    snprintf(path, OPEN_FILE_TEXT, "/proc/self/fd/%d", fd);
    return path;
}

/* Gives the open file `fd` a free name or, where it is -1, creates a file of that name. Returns
 * the file's descriptor, or -1 with errno. The name is short: where the file's own is as long
 * as any can be, no ending would fit behind it. */
static int name_give(struct output_name *name, int fd, mode_t mode)
{
    static unsigned count;
    char open_file[OPEN_FILE_TEXT];
    int made = -1;
    sigset_t before;
    open_file_path(fd, open_file);
    gate_enter(&before);
    errno = EEXIST;
    for (int i = 0; i < TRIES && made < 0 && errno == EEXIST; i++) {
        snprintf(name->text, sizeof name->text, ".pipeline-%d-%u", (int)getpid(), count++);
        if (fd < 0)
            made =
                openat(name->folder, name->text, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
        else if (linkat(AT_FDCWD, open_file, name->folder, name->text, AT_SYMLINK_FOLLOW) == 0)
            made = fd;
    }
    if (made >= 0) {
        name->next = names;
        names = name;
    } else {
        name->text[0] = '\0';
    }
    const int failure = errno;
    gate_leave(&before);
    errno = failure;
    return made;
}

/* Ends the use of a name, and removes what has it unless that has been `renamed`: another
 * machine's process of the same number may have taken it since. */
static void name_end(struct output_name *name, bool renamed)
{
    sigset_t before;
    if (name->text[0] == '\0')
        return;
    gate_enter(&before);
    if (!renamed)
        unlinkat(name->folder, name->text, 0);
    struct output_name **link = &names;
    while (*link != name)
        link = &(*link)->next;
    *link = name->next;
    name->text[0] = '\0';
    gate_leave(&before);
}

void output_files_unlink(void)
{
    const int failure = errno;
    sigset_t before;
    gate_enter(&before);
    for (const struct output_name *name = names; name != NULL; name = name->next)
        unlinkat(name->folder, name->text, 0);
    gate_leave(&before);
    errno = failure;
}

/* --- opening --- */

static enum status refuse(const char *path, const char *why, struct error *error)
{
    return error_set(error, STATUS_USAGE, "cannot write the output file '%s': %s", path, why);
}

/* Refuses `path` for the reason that errno has. */
static enum status refuse_errno(const char *path, struct error *error)
{
    return error_set(error, status_of_errno(errno, STATUS_USAGE),
                     "cannot write the output file '%s': %s", path, strerror(errno));
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

/* Frees all but the stream, which is closed, and takes a temporary name away. */
static void output_file_forget(struct output_file *file)
{
    if (file->temporary != NULL) {
        name_end(file->temporary, false);
        if (file->temporary->folder >= 0)
            close(file->temporary->folder);
    }
    free(file->temporary);
    free(file->path);
    *file = (struct output_file){0};
}

/* Makes `fd` the stream of `opened`, and this the caller's file. Where that fails, or `fd` is
 * -1, nothing is left of it, and the error says `why` or, where that is NULL, what errno does.
 */
static enum status open_end(struct output_file *file, struct output_file *opened, int fd,
                            const char *path, const char *why, struct error *error)
{
    if (fd >= 0 && opened->path != NULL)
        opened->stream = fdopen(fd, "w");
    if (opened->stream != NULL) {
        *file = *opened;
        return STATUS_OK;
    }
    enum status status = why != NULL ? refuse(path, why, error) : refuse_errno(path, error);
    if (fd >= 0)
        close(fd);
    output_file_forget(opened);
    return status;
}

/* Opens a file that exists and must stay where it is: a pipe, a device, standard output. For a
 * reader of a pipe the program would wait for ever. */
static enum status open_direct(struct output_file *file, const char *path,
                               const struct stat *about, struct error *error)
{
    const char *why = NULL;
    struct output_file opened = {.path = strdup(path)};
    const int standard = standard_descriptor(about);
    int fd = standard >= 0 ? fcntl(standard, F_DUPFD_CLOEXEC, 0)
                           : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && S_ISDIR(about->st_mode))
        why = "it is a folder";
    else if (fd < 0 && S_ISFIFO(about->st_mode) && errno == ENXIO)
        why = "it is a pipe that nobody reads";
    else if (fd >= 0 && standard < 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return open_end(file, &opened, fd, path, why, error);
}

/* Opens the folder of `path`, which is cut to that, and keeps the name there. Returns the
 * folder's descriptor, or -1 with errno. */
static int name_place(struct output_name *name, char *path)
{
    char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    snprintf(name->place, sizeof name->place, "%s", base);
    *base = '\0';
    name->folder = open(slash != NULL ? path : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return name->folder;
}

/* Returns true if only the owner of a file, or of its folder, may replace it, as in /tmp. */
static bool is_protected(int folder, const struct stat *about)
{
    struct stat around;
    const uid_t user = geteuid();
    return user != 0 && about->st_uid != user && fstat(folder, &around) == 0 &&
           (around.st_mode & S_ISVTX) != 0 && around.st_uid != user;
}

/* Opens a new file for the place `target`, which is cut. It has a regular file that will be
 * replaced, which is `old`, or is free. */
static enum status open_new(struct output_file *file, const char *path, char *target,
                            const struct stat *old, struct error *error)
{
    char why[160];
    int fd = -1;
    const mode_t mode = old != NULL ? old->st_mode & 0777 : 0666;
    struct output_file opened = {.path = strdup(path),
                                 .temporary = calloc(1, sizeof *opened.temporary)};
    if (opened.temporary != NULL)
        opened.temporary->folder = -1;
    if (opened.path == NULL || opened.temporary == NULL || target == NULL)
        return open_end(file, &opened, -1, path, NULL, error);
    const int folder = name_place(opened.temporary, target);
    if (folder >= 0 && old != NULL && is_protected(folder, old))
        return open_end(file, &opened, -1, path, "only its owner may replace it", error);
    if (folder >= 0)
        fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    if (folder >= 0 && fd < 0) /* not every file system has files without a name */
        fd = name_give(opened.temporary, -1, mode);
    if (fd < 0) {
        snprintf(why, sizeof why, "its folder takes no new file: %s", strerror(errno));
        return open_end(file, &opened, -1, path, why, error);
    }
    if (old != NULL)
        fchmod(fd, mode); /* refused by file systems without permissions, which is no harm */
    return open_end(file, &opened, fd, path, NULL, error);
}

/* Returns why no other file can take the place of a regular one, whoever asks, or NULL. */
static const char *why_fixed(const char *path)
{
    struct statx about;
    if (statx(AT_FDCWD, path, 0, 0, &about) != 0)
        return NULL;
    if ((about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
        return "it is mounted by itself, so no new file can replace it: name another file, or "
               "mount its folder instead";
    if ((about.stx_attributes & STATX_ATTR_APPEND) != 0)
        return "it can only be appended to: name another file, or clear that with chattr -a";
    return NULL;
}

/* A regular file, or the one that a symbolic link leads to, is replaced only where it could
 * have been written, and keeps its permissions. */
enum status output_file_open(struct output_file *file, const char *path, struct error *error)
{
    struct stat about;
    if (path[0] == '\0')
        return refuse(path, "its name is empty", error);
    const bool exists = stat(path, &about) == 0;
    if (exists && (!S_ISREG(about.st_mode) || standard_descriptor(&about) >= 0))
        return open_direct(file, path, &about, error);
    if (exists ? faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 : errno != ENOENT)
        return refuse_errno(path, error);
    const char *why = exists ? why_fixed(path) : NULL;
    if (why != NULL)
        return refuse(path, why, error);
    if (!exists && lstat(path, &about) == 0)
        return refuse(path, "it is a symbolic link that leads nowhere", error);
    char *target = exists ? realpath(path, NULL) : strdup(path);
    struct stat found;
    if (exists && target != NULL &&
        (stat(target, &found) != 0 || found.st_dev != about.st_dev ||
         found.st_ino != about.st_ino)) {
        free(target);
        return refuse(path, "it has no name any more", error);
    }
    enum status status = open_new(file, path, target, exists ? &about : NULL, error);
    free(target);
    return status;
}

/* --- closing --- */

/* Has all that was written reach the disk. Returns NULL, or the reason why it has not. */
static const char *stream_sync(FILE *stream)
{
    if (fflush(stream) != 0)
        return strerror(errno);
    if (ferror(stream)) /* its errno was overwritten since */
        return "an earlier write failed; is the disk full?";
    if (fsync(fileno(stream)) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
        return strerror(errno); /* the exceptions: pipes and devices, which can't sync */
    return NULL;
}

/* Copies a file that can't be given a name, as where there is no /proc, to one that has one. */
static bool copy_named(struct output_name *name, int fd)
{
    struct stat about;
    off_t done = 0;
    ssize_t part = 1;
    if (fstat(fd, &about) != 0)
        return false;
    const int copy = name_give(name, -1, about.st_mode & 0777);
    if (copy < 0)
        return false;
    fchmod(copy, about.st_mode & 0777);
    while (done < about.st_size && part > 0)
        part = sendfile(copy, fd, &done, (size_t)(about.st_size - done));
    bool copied = done == about.st_size && fsync(copy) == 0;
    const int failure = errno;
    close(copy);
    errno = failure;
    return copied;
}

/* Gives the file its name, in place of another file's. Only a free name can be given at once.
 * Returns NULL, or the reason why it has none. */
static const char *file_place(struct output_file *file)
{
    struct output_name *name = file->temporary;
    const int fd = fileno(file->stream);
    if (name->text[0] == '\0') {
        char open_file[OPEN_FILE_TEXT];
        if (linkat(AT_FDCWD, open_file_path(fd, open_file), name->folder, name->place,
                   AT_SYMLINK_FOLLOW) == 0)
            return NULL;
        if (name_give(name, fd, 0) < 0 && !copy_named(name, fd))
            return strerror(errno);
    }
    if (renameat(name->folder, name->text, name->folder, name->place) != 0)
        return strerror(errno);
    name_end(name, true);
    return NULL;
}

enum status output_file_commit(struct output_file *file, struct error *error)
{
    enum status status = STATUS_OK;
    const char *why = stream_sync(file->stream);
    if (why == NULL && file->temporary != NULL)
        why = file_place(file);
    if (fclose(file->stream) != 0 && why == NULL)
        why = strerror(errno);
    if (why != NULL)
        status = error_set(error, STATUS_FAILED, "cannot write the output file '%s': %s",
                           file->path, why);
    output_file_forget(file);
    return status;
}

/* Moves the open file `fd`, called `from`, to the place. Returns false where that can't be. */
static bool place_other(struct output_file *file, int fd, const char *from)
{
    const struct output_name *name = file->temporary;
    struct stat about;
    if (name == NULL || fstat(fileno(file->stream), &about) != 0 || fsync(fd) != 0)
        return false;
    fchmod(fd, about.st_mode & 0777); /* refused by file systems without permissions */
    return renameat(AT_FDCWD, from, name->folder, name->place) == 0;
}

static enum status copy_other(struct output_file *file, int fd, struct error *error)
{
    char piece[65536];
    ssize_t got;
    while ((got = read(fd, piece, sizeof piece)) > 0) {
        if (fwrite(piece, 1, (size_t)got, file->stream) != (size_t)got)
            break; /* output_file_commit() finds out why */
    }
    if (got >= 0)
        return output_file_commit(file, error);
    return error_set(error, STATUS_FAILED, "cannot write the output file '%s': %s", file->path,
                     strerror(errno));
}

enum status output_file_take(struct output_file *file, const char *from, struct error *error)
{
    enum status status = STATUS_OK;
    const int fd = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        status =
            error_set(error, STATUS_FAILED, "'%s' can't be read: %s", from, strerror(errno));
    } else if (!place_other(file, fd, from)) {
        status = copy_other(file, fd, error);
        if (status == STATUS_OK)
            unlink(from);
    }
    if (fd >= 0)
        close(fd);
    output_file_discard(file);
    return status;
}

void output_file_discard(struct output_file *file)
{
    if (file->stream == NULL)
        return;
    fclose(file->stream);
    output_file_forget(file);
}
