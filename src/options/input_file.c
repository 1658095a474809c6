/* input_file.c - opens what the program reads: a file or a pipe, and nothing that has no end.
 */
#include "options/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { PATIENCE_MS = 2000 };

/* Returns what keeps a file of this kind from being read, or NULL. */
static const char *kind_complaint(mode_t mode)
{
    if (S_ISREG(mode) || S_ISFIFO(mode))
        return NULL;
    return S_ISDIR(mode)                    ? "it is a folder"
           : S_ISCHR(mode) || S_ISBLK(mode) ? "it is a device: allowed are files and pipes"
                                            : "it is neither a file nor a pipe";
}

/* Waits for the first byte of a named pipe; one without a name has its writer already. Returns
 * false where no program has it open. *first is a byte that was read, or EOF. */
static bool pipe_has_writer(int fd, int *first)
{
    struct statfs system;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    unsigned char byte;
    *first = EOF;
    if ((fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC) ||
        poll(&ready, 1, PATIENCE_MS) != 0)
        return true;
    ssize_t got = read(fd, &byte, 1); /* 0 where there is no writer, else EAGAIN */
    if (got == 1)
        *first = byte;
    return got != 0;
}

/* Makes a stream of `fd`, which waits for its bytes from here on; NULL with errno. */
static FILE *open_stream(int fd, int first)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
        return NULL;
    FILE *file = fdopen(fd, "r");
    if (file != NULL && first != EOF)
        ungetc(first, file);
    return file;
}

/* Without O_NONBLOCK the open itself would wait for a pipe's writer, for ever. */
enum status input_open(const char *path, FILE **file, bool *regular, char why[INPUT_WHY])
{
    struct stat about;
    int first = EOF, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const char *complaint = NULL;
    enum status status = STATUS_USAGE;
    FILE *opened = NULL;
    if (fd < 0 || fstat(fd, &about) != 0)
        complaint = strerror(errno);
    else
        complaint = kind_complaint(about.st_mode);
    if (complaint == NULL && S_ISFIFO(about.st_mode) && !pipe_has_writer(fd, &first))
        complaint = "it is a pipe into which no program writes";
    if (complaint == NULL) {
        opened = open_stream(fd, first);
        status = opened == NULL ? status_of_errno(errno, status) : status;
        complaint = opened == NULL ? strerror(errno) : NULL;
    }
    if (complaint != NULL) {
        snprintf(why, INPUT_WHY, "%s", complaint);
        if (fd >= 0)
            close(fd);
        return status;
    }
    *regular = S_ISREG(about.st_mode);
    *file = opened;
    return STATUS_OK;
}

enum status input_text(const char *path, char **text, size_t *length, char why[INPUT_WHY])
{
    FILE *file;
    bool regular;
    enum status status = input_open(path, &file, &regular, why);
    if (status != STATUS_OK)
        return status;
    char *content = malloc(INPUT_TEXT_MAX + 2);
    size_t count = content != NULL ? fread(content, 1, INPUT_TEXT_MAX + 1, file) : 0;
    if (content == NULL) {
        snprintf(why, INPUT_WHY, "no memory");
        status = STATUS_NO_MEMORY;
    } else if (ferror(file)) {
        snprintf(why, INPUT_WHY, "%s", strerror(errno));
        status = STATUS_USAGE;
    } else if (count > INPUT_TEXT_MAX) {
        snprintf(why, INPUT_WHY, "it is larger than 1 MiB");
        status = STATUS_USAGE;
    }
    fclose(file);
    if (status != STATUS_OK) {
        free(content);
        return status;
    }
    content[count] = '\0';
    *text = content;
    *length = count;
    return STATUS_OK;
}
