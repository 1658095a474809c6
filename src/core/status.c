/* status.c - the first error wins, and exit codes. It stands alone: all rooms need it, and no
 * other file of this one is about errors. */
#include "core/status.h"

#include "core/escape.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum status error_set(struct error *error, enum status status, const char *format, ...)
{
    if (error == NULL || error->status != STATUS_OK)
        return status;
    char text[sizeof error->text];
    PRINT_REST(text, sizeof text, format);
    escape_text(error->text, sizeof error->text, text);
    error->status = status;
    return status;
}

void text_add(char *text, size_t room, const char *separator, const char *format, ...)
{
    size_t used = strlen(text);
    if (used > 0)
        snprintf(text + used, room - used, "%s", separator);
    used += strlen(text + used);
    PRINT_REST(text + used, room - used, format);
}

enum status error_no_memory(struct error *error, const char *format, ...)
{
    char what[sizeof error->text];
    PRINT_REST(what, sizeof what, format);
    return error_set(error, STATUS_NO_MEMORY, "no memory %s", what);
}

enum status error_pass(struct error *error, const struct error *why)
{
    return error_set(error, why->status, "%s", why->text);
}

enum status status_of_errno(int number, enum status usual)
{
    return number == ENOMEM ? STATUS_NO_MEMORY : usual;
}

void error_clear(struct error *error)
{
    error->status = STATUS_OK;
    error->text[0] = '\0';
}

int status_exit_code(enum status status)
{
    static const int codes[] = {[STATUS_OK] = 0,
                                [STATUS_FAILED] = 1,
                                [STATUS_NO_MEMORY] = 1,
                                [STATUS_USAGE] = 2,
                                [STATUS_NO_DEVICE] = 77};
    return codes[status];
}
