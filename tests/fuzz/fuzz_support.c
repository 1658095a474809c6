/* fuzz_support.c - files for the readers, and what holds for all of them. */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_TEXT = 128 };

static char folder[PATH_TEXT / 2];
static int lowest_fd; /* that was free when the latest file had been written */

_Noreturn void fuzz_abort(const char *condition, const char *text, const char *file, int line)
{
    fprintf(stderr, "%s:%d: broken promise: %s%s%s\n", file, line, condition,
            *text != '\0' ? ": " : "", text);
    abort();
}

static void folder_remove(void)
{
    char command[PATH_TEXT];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "%s was not removed\n", folder);
}

/* In memory where it can be had: thousands of files are written in a second. */
static void folder_make(void)
{
    static const char *const places[] = {"/dev/shm/pipeline-fuzz-XXXXXX",
                                         "/tmp/pipeline-fuzz-XXXXXX"};
    bool made = false;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !made; i++) {
        snprintf(folder, sizeof folder, "%s", places[i]);
        made = mkdtemp(folder) != NULL;
    }
    FUZZ_REQUIRE(made);
    atexit(folder_remove);
}

static const char *folder_path(const char *name)
{
    static char path[PATH_TEXT];
    if (folder[0] == '\0')
        folder_make();
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The lowest file descriptor that is free: higher while a file is open that was not before. */
static int free_fd(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0);
    close(fd);
    return fd;
}

const char *fuzz_file(const char *name, const void *data, size_t size)
{
    const char *path = folder_path(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_REQUIRE_TEXT(fd >= 0, path);
    for (size_t done = 0; done < size;) {
        ssize_t part = write(fd, (const char *)data + done, size - done);
        FUZZ_REQUIRE_TEXT(part > 0, path);
        done += (size_t)part;
    }
    close(fd);
    lowest_fd = free_fd();
    return path;
}

void fuzz_file_remove(const char *name)
{
    unlink(folder_path(name));
}

void fuzz_require_refusal(enum status status, const struct error *error, const char *file)
{
    FUZZ_REQUIRE_TEXT(status == STATUS_USAGE, error->text);
    FUZZ_REQUIRE_TEXT(error->status == status, error->text);
    FUZZ_REQUIRE_TEXT(strstr(error->text, file) != NULL, error->text);
    FUZZ_REQUIRE(memchr(error->text, '\0', sizeof error->text) != NULL);
    for (const char *byte = error->text; *byte != '\0'; byte++)
        FUZZ_REQUIRE_TEXT((unsigned char)*byte >= ' ' && *byte != 0x7f, error->text);
}

void fuzz_require_line(const struct error *error, const char *file, const uint8_t *data,
                       size_t size)
{
    long lines = 1;
    if (strstr(error->text, ": can't be read: ") !=
        NULL) /* of what gzip packed, no line is known */
        return;
    for (size_t i = 0; i + 1 < size; i++)
        lines += data[i] == '\n';
    const char *place = strstr(error->text, file);
    FUZZ_REQUIRE_TEXT(place != NULL && place[strlen(file)] == ':', error->text);
    char *end;
    const char *digits = place + strlen(file) + 1;
    long line = strtol(digits, &end, 10);
    FUZZ_REQUIRE_TEXT(end > digits && line >= 1 && line <= lines, error->text);
}

void fuzz_require_closed(void)
{
    FUZZ_REQUIRE(free_fd() == lowest_fd);
}

bool fuzz_is_filled(const void *bytes, size_t size, int byte)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        if (at[i] != (unsigned char)byte)
            return false;
    }
    return true;
}
