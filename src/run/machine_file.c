/* machine_file.c - machine files from disk. */
#include "run/machine_file.h"

#include "options/input_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status file_text(const char *path, char **text, struct error *error)
{
    char *content, why[INPUT_WHY];
    size_t length;
    enum status status = input_text(path, &content, &length, why);
    if (status != STATUS_OK)
        return error_set(error, status, "%s: the machine file can't be read: %s", path, why);
    if (strlen(content) < length) {
        free(content);
        return error_set(error, STATUS_USAGE, "%s: is no machine file", path);
    }
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
