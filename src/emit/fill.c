/* fill.c - programs' texts, of the files in programs/: their sections, and what fills them.
 *
 * A section begins behind a line "//// NAME" and ends at the next such line. In a file that
 * nvcc compiles as it stands, words that are macros there stand for what differs from program
 * to program; in a template, what is between two @ (core/template.h). */
#include "core/embedded.h"
#include "core/template.h"
#include "emit/parts.h"

#include <ctype.h>
#include <string.h>

#define MARK "\n//// "

/* What fills a section. */
struct fill {
    FILE *out;
    const struct emit_program *program;
    const char *words; /* "WORD=text; WORD=text"; NULL: none */
    const char *body;  /* what names are used in, or NULL */
    int indent;
    char value[EMIT_LINE];
};

/* Returns the section's text, or NULL if there is none; sets its length. */
static const char *find_section(const char *name, size_t *length)
{
    const size_t size = strlen(name);
    for (const struct embedded *file = program_texts; file->name != NULL; file++) {
        const char *at = file->text;
        while ((at = strstr(at, MARK)) != NULL) {
            at += strlen(MARK);
            if (strncmp(at, name, size) != 0 || at[size] != '\n')
                continue;
            const char *text = at + size + 1, *end = strstr(at + size, MARK);
            *length = end != NULL ? (size_t)(end + 1 - text) : strlen(text);
            return text;
        }
    }
    return NULL;
}

bool emit_has_section(const char *name)
{
    size_t length;
    return find_section(name, &length) != NULL;
}

/* Returns what a word of `length` characters stands for, and sets how long that is; NULL: for
 * nothing. */
static const char *find_word(const char *words, const char *word, size_t length, size_t *size)
{
    for (const char *at = words; at != NULL && *at != '\0';) {
        const char *equals = strchr(at, '=');
        const char *end = strstr(at, "; ");
        *size = end != NULL ? (size_t)(end - equals - 1) : strlen(equals + 1);
        if ((size_t)(equals - at) == length && strncmp(at, word, length) == 0)
            return equals + 1;
        at = end != NULL ? end + 2 : "";
    }
    return NULL;
}

/* --- what fills a template --- */

/* Writes a line, with what its words stand for. */
static void put_line(void *context, const char *text, size_t length)
{
    const struct fill *fill = context;
    char line[TEMPLATE_LINE];
    int used = length > 1 ? snprintf(line, sizeof line, "%*s", fill->indent, "") : 0;
    for (size_t i = 0; i < length;) {
        size_t word = 0, size;
        while (i + word < length &&
               (isalnum((unsigned char)text[i + word]) || text[i + word] == '_'))
            word++;
        const char *other =
            fill->words != NULL ? find_word(fill->words, text + i, word, &size) : NULL;
        if (word == 0)
            word = 1;
        used += snprintf(line + used, sizeof line - (size_t)used, "%.*s",
                         (int)(other != NULL ? size : word), other != NULL ? other : text + i);
        if ((size_t)used >= sizeof line) /* cut, as fill_line() cuts a template's */
            used = (int)sizeof line - 1;
        i += word;
    }
    emit_put_line(fill->out, line);
}

/* Returns what is asked for by a name whose last word may stand for something. */
static const char *name_of(const struct fill *fill, const char *name, char text[TEMPLATE_NAME])
{
    size_t size;
    const char *blank = strrchr(name, ' ');
    const char *last = blank != NULL ? blank + 1 : name;
    const char *word = find_word(fill->words, last, strlen(last), &size);
    snprintf(text, TEMPLATE_NAME, "%.*s%.*s", (int)(last - name), name,
             (int)(word != NULL ? size : strlen(last)), word != NULL ? word : last);
    return text;
}

static int holds(void *context, const char *name)
{
    const struct fill *fill = context;
    char text[TEMPLATE_NAME];
    size_t size;
    const char *word = find_word(fill->words, name, strlen(name), &size);
    if (word != NULL)
        return *word != '0';
    if (strncmp(name, "uses ", strlen("uses ")) == 0)
        return emit_has_word(fill->body, name + strlen("uses "));
    return fill->program->facts->holds(fill->program, name_of(fill, name, text));
}

static const char *value(void *context, const char *name)
{
    struct fill *fill = context;
    char text[TEMPLATE_NAME];
    size_t size;
    const char *value =
        fill->program->facts->value(fill->program, name_of(fill, name, text), fill->value);
    if (value != NULL || find_word(fill->words, name, strlen(name), &size) == NULL)
        return value;
    snprintf(fill->value, sizeof fill->value, "%s",
             text); /* what the word stands for, as it is */
    return fill->value;
}

static bool fill_section(struct fill *fill, const char *name);

static bool part(void *context, const char *name, int indent)
{
    const struct fill *fill = context;
    struct fill inner = *fill;
    char section[EMIT_NAME];
    const char *blank = strchr(name, ' ');
    snprintf(section, sizeof section, "%.*s", (int)strcspn(name, " "), name);
    inner.indent += indent;
    inner.words = blank != NULL ? blank + 1 : fill->words;
    if (fill->program->facts->put_part(fill->out, inner.indent, fill->program, name))
        return true;
    size_t length;
    if (find_section(section, &length) == NULL)
        return false;
    fill_section(&inner, section);
    return true;
}

/* Fills a section; returns true if a blank line ends it, which is left out. */
static bool fill_section(struct fill *fill, const char *name)
{
    const struct template_fill how = {fill, holds, value, part, put_line};
    size_t length;
    const char *text = find_section(name, &length);
    const bool ends_blank =
        text != NULL && length > 1 && text[length - 1] == '\n' && text[length - 2] == '\n';
    if (text != NULL)
        template_fill(text, length - (ends_blank ? 1 : 0), &how);
    return ends_blank;
}

bool emit_fill(FILE *out, int indent, const struct emit_program *program, const char *section,
               const char *words, const char *body)
{
    struct fill fill = {
        .out = out, .program = program, .words = words, .body = body, .indent = indent};
    return fill_section(&fill, section);
}
