/* csv_line.c - a line of CSV cut into its fields, and a field as it was before it was written.
 */
#include "trace/input.h"

#include "core/escape.h"

#include <stddef.h>
#include <stdint.h>
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

int csv_line_split(char *line, char separator, char *fields[], int most, const char **why)
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
            if (*at != separator && *at != '\0')
                return 0;
        } else {
            at += strcspn(at, (const char[]){separator, '\0'});
        }
        if (*at == '\0')
            return count;
        *at++ = '\0';
    }
}

bool csv_split(struct csv_text *csv)
{
    const char *why;
    csv->field_count =
        csv_line_split(csv->text.line, csv->separator, csv->fields, CSV_FIELDS_MAX, &why);
    if (csv->field_count == 0)
        trace_refuse(&csv->text, "%s", why);
    return csv->field_count > 0;
}

bool csv_check_count(const struct csv_text *csv)
{
    if (csv->field_count != csv->header_fields)
        trace_refuse(&csv->text, "%d field%s where the header has %d: cut short?",
                     csv->field_count, csv->field_count == 1 ? "" : "s", csv->header_fields);
    return csv->field_count == csv->header_fields;
}

enum status csv_refuse(const struct csv_text *csv, const char *name, const char *value,
                       const char *why)
{
    char shown[TRACE_SHOWN];
    return trace_refuse(&csv->text, "%s '%s' %s", name, trace_shown(value, shown), why);
}

/* Takes the escape at *from, a backslash, and writes what it stands for; what is no escape
 * stays as it is. Returns the end of what was written, which is no longer. */
static char *unescape(const char **from, char *to)
{
    static const char letters[] = "n\nr\rt\t\\\\";
    const char *at = *from + 1;
    uint32_t value;
    for (const char *letter = letters; *letter != '\0'; letter += 2) {
        if (*at != letter[0])
            continue;
        *from = at + 1;
        *to = letter[1];
        return to + 1;
    }
    if (*at == 'x' && escape_hex(at + 1, 2, &value) && value != 0) {
        *from = at + 3;
        *to = (char)value;
        return to + 1;
    }
    if (*at == 'u' && escape_hex(at + 1, 4, &value) && value >= 0x80) {
        *from = at + 5;
        return escape_put_utf8(to, value);
    }
    *to = *(*from)++;
    return to + 1;
}

const char *csv_unmark(char *field)
{
    char *to = field;
    if (*field != '\'')
        return field;
    for (const char *from = field + 1; *from != '\0';) {
        if (*from == '\\')
            to = unescape(&from, to);
        else
            *to++ = *from++;
    }
    *to = '\0';
    return field;
}
