/* csv_line.c - a line of CSV cut into its fields. */
#include "trace/csv_line.h"

#include <stddef.h>
#include <string.h>

/* Takes the quotes off a field; returns what follows it, or NULL when it isn't closed. */
static char *unquote(char *field)
{
    char *to = field, *from = field + 1;
    for (; *from != '\0'; from++) {
        if (*from == '"' && from[1] != '"')
            break;
        from += *from == '"';
        *to++ = *from;
    }
    char *end = *from == '"' ? from + 1 : NULL;
    *to = '\0';
    return end;
}

int csv_line_split(char *line, char *fields[], int most, const char **why)
{
    char *at = line;
    for (int count = 0;;) {
        *why = "too many fields for a trace";
        if (count == most)
            return 0;
        fields[count++] = at;
        if (*at == '"') {
            at = unquote(at);
            *why = "a quote is not closed";
            if (at == NULL)
                return 0;
            *why = "something stands behind a closing quote";
            if (*at != ',' && *at != '\0')
                return 0;
        } else {
            at += strcspn(at, ",");
        }
        if (*at == '\0')
            return count;
        *at++ = '\0';
    }
}
