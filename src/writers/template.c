/* template.c - pages that are put together from the texts of plots/ and from what is written.
 */
#include "writers/template.h"
#include "core/embedded.h"
#include "core/template.h"
#include "plan/op.h"

#include <stdio.h>
#include <string.h>

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

/* What a page is put together from. */
struct page {
    struct put *put;
    const struct template_part *parts;
};

static bool put_part(void *context, const char *name, int indent)
{
    const struct page *page = context;
    const struct template_part *part = page->parts;
    (void)indent;
    while (part->name != NULL && strcmp(part->name, name) != 0)
        part++;
    if (part->name != NULL && part->write != NULL) {
        part->write(page->put, part->context);
        return true;
    }
    const char *text = part->name != NULL ? part->text : embedded_find(plot_texts, name);
    if (text != NULL)
        template_put(page->put, text, page->parts);
    else if (strcmp(name, "colors") == 0)
        put_colors(page->put);
    else
        return false;
    return true;
}

static void put_line(void *context, const char *text, size_t length)
{
    put_bytes(((const struct page *)context)->put, text, length);
}

void template_put(struct put *put, const char *text, const struct template_part *parts)
{
    struct page page = {put, parts};
    const struct template_fill fill = {.context = &page, .part = put_part, .line = put_line};
    template_fill(text, strlen(text), &fill);
}
