/* lab.c - the lab page: the viewer of plots/ with what src/lab/ adds to it, and the words of
 * the lessons, for browsers that can't simulate them. It stands alone because the page's own
 * simulator is linked without the page. */
#include "core/embedded.h"
#include "options/lesson.h"
#include "writers/put.h"
#include "writers/writer.h"

#include <stdlib.h>

/* Puts `text` as the content of an element called `tag`. */
static void put_element(struct put *put, const char *tag, const char *text)
{
    put_string(put, "<");
    put_string(put, tag);
    put_string(put, ">");
    for (; *text != '\0'; text++) {
        if (*text == '<')
            put_string(put, "&lt;");
        else if (*text == '&')
            put_string(put, "&amp;");
        else
            put_bytes(put, text, 1);
    }
    put_string(put, "</");
    put_string(put, tag);
    put_string(put, ">\n");
}

static void put_paragraph(void *put, const char *paragraph)
{
    put_element(put, "p", paragraph);
}

static void put_lessons(struct put *put, const void *context)
{
    (void)context;
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++) {
        struct lesson lesson;
        if (lesson_read(&lesson, text->name, text->text, NULL) != STATUS_OK)
            continue;
        put_string(put, "<details>");
        put_element(put, "summary", lesson.title);
        put_paragraph(put, lesson.question);
        lesson_explain(text->text, put_paragraph, put);
        put_element(put, "strong", lesson.message);
        put_string(put, "</details>\n");
    }
}

enum status write_lab(FILE *out)
{
    struct put put;
    size_t count = 0;
    while (lab_texts[count].name != NULL)
        count++;
    struct template_part *parts = calloc(count + 2, sizeof *parts);
    if (parts == NULL)
        return STATUS_NO_MEMORY;
    parts[0] = (struct template_part){.name = "lessons", .write = put_lessons};
    for (size_t i = 0; i < count; i++) {
        parts[i + 1].name = lab_texts[i].name;
        parts[i + 1].text = lab_texts[i].text;
    }
    put_begin_large(&put, out);
    template_put(&put, embedded_find(lab_texts, "lab.html"), parts);
    free(parts);
    return put_end(&put);
}
