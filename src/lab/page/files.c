/* files.c - stands for options/input_file.c on a page: the one file there is was dropped there.
 */
#include "lab/page/files.h"

#include "options/input_file.h"

static struct {
    const void *bytes;
    size_t length;
} dropped;

void lab_drop(const void *bytes, size_t length)
{
    dropped.bytes = bytes;
    dropped.length = length;
}

enum status input_open(const char *path, FILE **file, bool *regular, char why[INPUT_WHY])
{
    (void)path;
    FILE *opened = NULL;
    if (dropped.bytes != NULL)
        opened = fmemopen((void *)(uintptr_t)dropped.bytes, dropped.length, "r");
    if (opened == NULL) {
        snprintf(why, INPUT_WHY, "%s",
                 dropped.bytes == NULL ? "a page reads only what is dropped on it"
                 : dropped.length == 0 ? "it is empty"
                                       : "no memory");
        return dropped.bytes == NULL || dropped.length == 0 ? STATUS_USAGE : STATUS_NO_MEMORY;
    }
    *regular = true;
    *file = opened;
    return STATUS_OK;
}

enum status input_text(const char *path, char **text, size_t *length, char why[INPUT_WHY])
{
    (void)path;
    (void)text;
    (void)length;
    snprintf(why, INPUT_WHY, "a page reads only what is dropped on it");
    return STATUS_USAGE;
}
