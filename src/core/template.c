/* template.c - texts with places to be filled. */
#include "core/template.h"

#include <ctype.h>
#include <string.h>

enum { DEPTH = 16 };

/* Conditions that are open: of lines, or within one. */
struct conditions {
    struct {
        bool holds;   /* what comes now is there */
        bool is_done; /* a branch before it was */
        bool is_own;  /* the text's own: its lines stay */
    } at[DEPTH];
    int depth;
};

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* --- conditions --- */

/* Returns whether one name holds, which "!" may stand before, and moves on behind it; -1:
 * nobody knows it. What stands behind its blank is a part of the name. */
static int read_name(const char **text, const struct template_fill *fill)
{
    char name[TEMPLATE_NAME];
    size_t length = 0;
    bool negated = false;
    const char *at = *text;
    for (; *at == ' ' || *at == '!'; at++)
        negated ^= *at == '!';
    while ((is_name(*at) || (*at == ' ' && is_name(at[1]))) && length < sizeof name - 1)
        name[length++] = *at++;
    name[length] = '\0';
    *text = at;
    const int holds = length > 0 ? fill->holds(fill->context, name) : -1;
    return holds < 0 ? holds : negated != (holds > 0);
}

/* Returns whether a condition holds; -1: nobody knows what it names. */
static int holds(const char *text, const struct template_fill *fill)
{
    int any = 0, all = 1;
    for (;;) {
        const int one = read_name(&text, fill);
        if (one < 0)
            return -1;
        all &= one;
        text += strspn(text, " ");
        if (strncmp(text, "||", 2) == 0) {
            any |= all;
            all = 1;
        } else if (strncmp(text, "&&", 2) != 0) {
            return any | all;
        }
        text += 2;
    }
}

static bool is_there(const struct conditions *open)
{
    for (int i = 0; i < open->depth; i++) {
        if (!open->at[i].holds)
            return false;
    }
    return true;
}

/* Takes an "if", an "elif", an "else" or an "end"; returns false if that is the text's own. */
static bool take_condition(struct conditions *open, const char *word, const char *what,
                           const struct template_fill *fill)
{
    const int result = is_there(open) && strcmp(word, "if") == 0 ? holds(what, fill) : 0;
    if (strcmp(word, "if") == 0) {
        if (open->depth < DEPTH)
            open->depth++;
        open->at[open->depth - 1].holds = result != 0;
        open->at[open->depth - 1].is_done = result != 0;
        open->at[open->depth - 1].is_own = result < 0;
        return result >= 0;
    }
    if (open->depth == 0 || open->at[open->depth - 1].is_own) {
        open->depth -= open->depth > 0 && strncmp(word, "end", 3) == 0;
        return false;
    }
    const int last = open->depth - 1;
    if (strncmp(word, "end", 3) == 0) {
        open->depth--;
        return true;
    }
    open->at[last].holds = true; /* as if outside, for what is asked now */
    open->at[last].holds =
        !open->at[last].is_done &&
        (strcmp(word, "else") == 0 || (is_there(open) && holds(what, fill) > 0));
    open->at[last].is_done |= open->at[last].holds;
    return true;
}

/* Takes a line that is "#if WHAT" or the like; returns false if it is none, or the text's own.
 */
static bool take_line(struct conditions *open, const char *line,
                      const struct template_fill *fill)
{
    static const char *const words[] = {"if", "elif", "else", "endif"};
    for (size_t i = 0; fill->holds != NULL && line[0] == '#' && i < 4; i++) {
        const size_t length = strlen(words[i]);
        if (strncmp(line + 1, words[i], length) == 0 && !is_name(line[1 + length]))
            return take_condition(open, words[i], line + 1 + length, fill);
    }
    return false;
}

/* --- lines --- */

/* Reads "@NAME@" at `text`. Returns the place behind it, or NULL if there is none. */
static const char *read_place(const char *text, char name[TEMPLATE_NAME])
{
    const size_t length = text[0] == '@' ? strcspn(text + 1, "@\n") : 0;
    if (length == 0 || length >= TEMPLATE_NAME || text[1 + length] != '@')
        return NULL;
    memcpy(name, text + 1, length);
    name[length] = '\0';
    return text + length + 2;
}

/* Returns the length of a line, with its end and with those that go on in it. */
static size_t line_length(const char *text)
{
    size_t length = strcspn(text, "\n");
    while (length > 1 && text[length] != '\0' && text[length - 1] == '\\' &&
           text[length - 2] == '@')
        length += 1 + strcspn(text + length + 1, "\n");
    return length + (text[length] == '\n');
}

/* Writes what stands at a place in a line: a value, if it is there and anybody knows it, and
 * nothing where conditions begin or end. Returns false if it is the text's own. */
static bool fill_place(char *name, struct conditions *open, char *filled, size_t *length,
                       const struct template_fill *fill)
{
    char *what = strchr(name, ' ');
    if (strncmp(name, "if ", 3) == 0 || strcmp(name, "else") == 0 || strcmp(name, "end") == 0) {
        if (what != NULL)
            *what++ = '\0';
        return take_condition(open, name, what, fill);
    }
    if (!is_there(open))
        return true;
    const char *value = fill->value(fill->context, name);
    const size_t size = value != NULL ? strlen(value) : 0;
    if (*length + size + 1 < TEMPLATE_LINE && size > 0) { /* a line's end stays */
        memcpy(filled + *length, value, size);
        *length += size;
    }
    return value != NULL;
}

/* Writes a line with its values. */
static void fill_line(const char *line, size_t size, const struct template_fill *fill)
{
    struct conditions open = {.depth = 0};
    char name[TEMPLATE_NAME], filled[TEMPLATE_LINE];
    size_t length = 0;
    for (const char *at = line; at < line + size;) {
        const char *behind = read_place(at, name);
        if (strncmp(at, "@\\\n", 3) == 0) {
            at += 3 + strspn(at + 3, " ");
        } else if (behind != NULL && fill_place(name, &open, filled, &length, fill)) {
            at = behind;
        } else {
            if (is_there(&open) && length + (*at != '\n') < TEMPLATE_LINE)
                filled[length++] = *at;
            at++;
        }
    }
    fill->line(fill->context, filled, length);
}

/* Writes a part if a line is nothing but its name; returns false if it is not. */
static bool fill_part(const char *line, size_t length, const struct template_fill *fill)
{
    char name[TEMPLATE_NAME];
    const size_t indent = strspn(line, " ");
    const char *behind = read_place(line + indent, name);
    return behind != NULL && behind + (*behind == '\n') == line + length &&
           fill->part(fill->context, name, (int)indent);
}

void template_fill(const char *text, size_t length, const struct template_fill *fill)
{
    struct conditions open = {.depth = 0};
    for (const char *end = text + length; text < end;) {
        const size_t line = line_length(text);
        if (!take_line(&open, text, fill) && is_there(&open) && !fill_part(text, line, fill)) {
            if (fill->value != NULL && memchr(text, '@', line) != NULL)
                fill_line(text, line, fill);
            else
                fill->line(fill->context, text, line);
        }
        text += line;
    }
}
