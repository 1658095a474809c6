/* template.c - pages that are put together from the texts of plots/ and from what is written.
 */
#include "writers/template.h"
#include "core/embedded.h"
#include "plan/op.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 40 };

/* Puts the colours of the kinds of ops, and of the text on them, as rules of a page's style. */
static void put_colors(struct put *put)
{
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        const struct op_row *row = &op_rows[kind];
        char rules[256];
        int used = snprintf(rules, sizeof rules, ".%s { fill: #%06x; stroke: #%06x; }\n",
                            row->name, (unsigned)row->color, (unsigned)row->color);
        if (row->light_text)
            snprintf(rules + used, sizeof rules - (size_t)used, ".on-%s { fill: #fff; }\n",
                     row->name);
        put_string(put, rules);
    }
}

/* Reads "@NAME@" if that is all of the line; returns false if it is not. */
static bool read_name(const char *line, size_t length, char name[NAME_MAX_BYTES])
{
    if (length < 3 || length - 2 >= NAME_MAX_BYTES || line[0] != '@' || line[length - 1] != '@')
        return false;
    memcpy(name, line + 1, length - 2);
    name[length - 2] = '\0';
    return true;
}

/* Puts the part called `name`; returns false if there is none. */
static bool put_part(struct put *put, const char *name, const struct template_part *parts)
{
    const struct template_part *part = parts;
    while (part->name != NULL && strcmp(part->name, name) != 0)
        part++;
    if (part->name != NULL && part->write != NULL) {
        part->write(put, part->context);
        return true;
    }
    const char *text = part->name != NULL ? part->text : embedded_find(plot_texts, name);
    if (text != NULL)
        template_put(put, text, parts);
    else if (strcmp(name, "colors") == 0)
        put_colors(put);
    else
        return false;
    return true;
}

void template_put(struct put *put, const char *text, const struct template_part *parts)
{
    char name[NAME_MAX_BYTES];
    const char *rest = text; /* up to the next line with a name */
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        const char *next = text + length + (text[length] == '\n');
        if (read_name(text, length, name)) {
            put_bytes(put, rest, (size_t)(text - rest));
            rest = put_part(put, name, parts) ? next : text;
        }
        text = next;
    }
    put_string(put, rest);
}
