/* embedded.c - looks a file up among those that are part of the program. */
#include "core/embedded.h"

#include <stddef.h>
#include <string.h>

const char *embedded_find(const struct embedded *list, const char *name)
{
    while (list->name != NULL && strcmp(list->name, name) != 0)
        list++;
    return list->text;
}
