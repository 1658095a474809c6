/* own.c - `pipeline kernel new`. */
#include "app/commands.h"

#include "core/embedded.h"
#include "kernels/kernel.h"
#include "term/output_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 64 };

/* Takes the kernel's name from that of its file: what is before the ending. */
static enum status take_name(const char *path, char name[NAME_BYTES], struct error *error)
{
    const char *slash = strrchr(path, '/'), *file = slash != NULL ? slash + 1 : path;
    const size_t length = strlen(file);
    const bool ends = length > 3 && strcmp(file + length - 3, ".cu") == 0;
    snprintf(name, NAME_BYTES, "%.*s", ends ? (int)(length - 3) : 0, file);
    if (!kernel_is_name(name) || strlen(name) + 3 != length)
        return error_set(error, STATUS_USAGE,
                         "kernel new %.200s: the file gives the kernel its name: allowed are 1 "
                         "to 31 letters, digits, - and _, and then .cu",
                         path);
    if (kernel_find(name) != NULL)
        return error_set(error, STATUS_USAGE,
                         "kernel new %.200s: %s is a kernel of pipeline's: give yours another "
                         "name",
                         path, name);
    return STATUS_OK;
}

/* Writes `text`, in which the word "mine" stands for `name` (NULL: for itself). */
static enum status write_text(const char *path, const char *text, const char *name,
                              struct error *error)
{
    struct output_file file;
    enum status status = output_file_open(&file, path, error);
    if (status != STATUS_OK)
        return status;
    for (const char *at = text, *next; *at != '\0'; at = next) {
        const char *found = name != NULL ? strstr(at, "mine") : NULL;
        next = found != NULL ? found + 4 : at + strlen(at);
        fprintf(file.stream, "%.*s%s", (int)((found != NULL ? found : next) - at), at,
                found != NULL ? name : "");
    }
    status = output_file_commit(&file, error);
    output_file_discard(&file);
    return status;
}

/* Returns true if the file is there and holds this text. */
static bool holds(const char *path, const char *text)
{
    struct stat about;
    FILE *file = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "re") : NULL;
    int byte = EOF;
    while (file != NULL && (byte = getc(file)) == (unsigned char)*text && *text != '\0')
        text++;
    const bool same = file != NULL && byte == EOF && *text == '\0' && !ferror(file);
    if (file != NULL)
        fclose(file);
    return same;
}

static enum status refuse_present(const char *path, const char *what, struct error *error)
{
    if (access(path, F_OK) != 0)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE, "kernel new: %.300s is there already%s", path, what);
}

/* Writes pipeline/kernel.h, as sources include it, into the folder of `path`. One that is there
 * and says the same will do. */
static enum status write_header(const char *path, struct error *error)
{
    const char *slash = strrchr(path, '/'), *text = embedded_find(own_texts, "own_kernel.h");
    char folder[PATH_MAX], header[PATH_MAX + 16];
    snprintf(folder, sizeof folder, "%.*spipeline", slash != NULL ? (int)(slash + 1 - path) : 0,
             path);
    snprintf(header, sizeof header, "%s/kernel.h", folder);
    if (holds(header, text))
        return STATUS_OK;
    enum status status =
        refuse_present(header, ", and is of another version: remove it", error);
    if (status == STATUS_OK && mkdir(folder, 0777) != 0 && errno != EEXIST)
        status =
            error_set(error, STATUS_USAGE, "%.300s can't be made: %s", folder, strerror(errno));
    return status == STATUS_OK ? write_text(header, text, NULL, error) : status;
}

static enum status make_new(const struct options *options, struct error *error)
{
    const char *path = options->words[1];
    char name[NAME_BYTES];
    if (strlen(path) >= PATH_MAX - NAME_BYTES)
        return error_set(error, STATUS_USAGE, "kernel new: the path is too long");
    enum status status = take_name(path, name, error);
    if (status == STATUS_OK)
        status = refuse_present(path, "", error);
    if (status == STATUS_OK)
        status = write_header(path, error);
    if (status == STATUS_OK)
        status = write_text(path, embedded_find(own_texts, "mine.cu"), name, error);
    if (status != STATUS_OK || options->quiet)
        return status;
    const int stem = (int)strlen(path) - 3;
    const char *here = strchr(path, '/') == NULL ? "./" : "";
    printf(
        "%s: a kernel that works, and pipeline/kernel.h beside it. To build and to try it:\n\n"
        "    nvcc -O3 -shared -Xcompiler -fPIC -arch=native -o %.*s.so %s\n"
        "    pipeline kernel check %s%.*s.so\n\n"
        "Without nvcc, for simulated machines:\n\n"
        "    gcc -O2 -shared -fPIC -x c -o %.*s.so %s -lm\n",
        path, stem, path, path, here, stem, path, stem, path, path);
    return STATUS_OK;
}

enum status own_command(const struct options *options, struct error *error)
{
    return strcmp(options->words[0], "new") == 0 ? make_new(options, error)
                                                 : own_check(options, error);
}
