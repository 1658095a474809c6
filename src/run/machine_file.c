/* machine_file.c - machine files from disk. */
#include "run/machine_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MACHINE_FILE_MAX = 1 << 20 };

static enum status file_text(const char *path, char **text, struct error *error)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return error_set(error, STATUS_USAGE, "%s: the machine file can't be read: %s", path,
                         strerror(errno));
    enum status status = STATUS_OK;
    char *content = malloc(MACHINE_FILE_MAX);
    size_t length = content != NULL ? fread(content, 1, MACHINE_FILE_MAX - 1, file) : 0;
    if (content == NULL)
        status = error_set(error, STATUS_FAILED, "no memory to read %s", path);
    else if (ferror(file))
        status = error_set(error, STATUS_USAGE, "%s: the machine file can't be read: %s", path,
                           strerror(errno));
    else if (length == MACHINE_FILE_MAX - 1 || memchr(content, '\0', length) != NULL)
        status = error_set(error, STATUS_USAGE, "%s: is no machine file", path);
    fclose(file);
    if (status != STATUS_OK) {
        free(content);
        return status;
    }
    content[length] = '\0';
    *text = content;
    return STATUS_OK;
}

/* Names a machine after its file: "mine" for "dir/mine.ini". */
static void name_from_path(char name[MACHINE_TEXT], const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(name, MACHINE_TEXT, "%s", slash != NULL ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name)
        *dot = '\0';
}

enum status machine_load(struct machine *machine, const char *name, struct error *error)
{
    if (!machine_is_path(name))
        return machine_built_in(machine, name, error);
    char *text = NULL;
    enum status status = file_text(name, &text, error);
    if (status == STATUS_OK)
        status = machine_parse(machine, text, name, error);
    free(text);
    if (status == STATUS_OK)
        name_from_path(machine->name, name);
    return status;
}
