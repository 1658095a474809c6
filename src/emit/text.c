/* text.c - lines of a program: broken where they are too long, and searched for words;
 * and types. */
#include "core/template.h"
#include "emit/parts.h"

#include <ctype.h>
#include <string.h>

enum { LINE = TEMPLATE_LINE, DEPTH = 32, INDENT = 4 };

/* Returns the column behind the innermost parenthesis or brace that is open at `length`; where
 * there is none, `none`. */
static int open_column(const char *text, size_t length, int none)
{
    int open[DEPTH] = {none}, depth = 0;
    for (size_t i = 0; i < length; i++) {
        if ((text[i] == '(' || text[i] == '{') && depth < DEPTH - 1)
            open[++depth] = (int)i + 1;
        else if ((text[i] == ')' || text[i] == '}') && depth > 0)
            depth--;
    }
    return open[depth];
}

/* Returns the length of the head of a loop that has its body on the same line; else 0. */
static size_t head_length(const char *text)
{
    int depth = 0;
    for (size_t i = 0; strncmp(text, "for (", 5) == 0 && text[i] != '\0'; i++) {
        depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        if (text[i] == ')' && depth == 0)
            return text[i + 1] == ' ' && text[i + 2] != '{' ? i + 1 : 0;
    }
    return 0;
}

/* Writes a line of code, broken behind the head of a loop or a comma where it is too long;
 * `further`: by how much the next line is indented where nothing is open. */
static void put_code(FILE *out, int indent, const char *text, int further)
{
    const size_t room = (size_t)(EMIT_COLUMNS - indent), length = strlen(text);
    const size_t head = length > room ? head_length(text) : 0;
    size_t cut = head;
    for (size_t i = 0; head == 0 && length > room && i < room; i++)
        cut = text[i] == ',' ? i + 1 : cut;
    if (cut == 0) {
        fprintf(out, "%*s%s\n", indent, "", text);
        return;
    }
    const int column = head > 0 ? INDENT : open_column(text, cut, further);
    fprintf(out, "%*s%.*s\n", indent, "", (int)cut, text);
    put_code(out, indent + column, text + cut + strspn(text + cut, " "), head > 0 ? INDENT : 0);
}

void emit_put(FILE *out, int indent, const char *comment, const char *format, ...)
{
    char text[LINE];
    PRINT_REST(text, sizeof text, format);
    if (comment == NULL || comment[0] == '\0') {
        put_code(out, indent, text, INDENT);
    } else if (indent + strlen(text) + strlen(comment) + 4 <= EMIT_COLUMNS) {
        fprintf(out, "%*s%s // %s\n", indent, "", text, comment);
    } else {
        fprintf(out, "%*s// %s\n", indent, "", comment);
        put_code(out, indent, text, INDENT);
    }
}

const char *emit_type(enum dtype dtype)
{
    return dtype == DTYPE_F32 ? "float" : dtype == DTYPE_F64 ? "double" : "unsigned";
}

/* Returns where the comment behind a line's code begins, or NULL: it has none. */
static const char *comment_of(const char *line)
{
    const char *at = strstr(line, " // ");
    return at != NULL && at != line + strspn(line, " ") - 1 ? at : NULL;
}

void emit_put_line(FILE *out, const char *line)
{
    char text[LINE];
    const int indent = (int)strspn(line, " ");
    const char *comment = comment_of(line);
    size_t length = strcspn(line, "\n");
    if (length <= EMIT_COLUMNS) {
        fputs(line, out);
        return;
    }
    if (comment != NULL) {
        fprintf(out, "%*s%.*s\n", indent, "", (int)(line + length - comment - 1), comment + 1);
        length = (size_t)(comment - line);
    }
    snprintf(text, sizeof text, "%.*s", (int)length - indent, line + indent);
    put_code(out, indent, text, INDENT);
}

/* Returns the quote that ends the string which begins at `text`. */
static const char *string_end(const char *text)
{
    const char *at = text + 1;
    while (*at != '"' && at[0] != '\0' && at[1] != '\0')
        at += *at == '\\' ? 2 : 1;
    return at;
}

bool emit_has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    bool inside = false; /* a longer word */
    for (const char *at = text; *at != '\0'; at++) {
        if (at[0] == '/' && at[1] == '/') /* a comment */
            at += strcspn(at, "\n") - 1;
        else if (*at == '"' && *(at = string_end(at)) == '\0')
            return false;
        else if (!inside && strncmp(at, word, length) == 0 &&
                 !isalnum((unsigned char)at[length]) && at[length] != '_')
            return true;
        inside = isalnum((unsigned char)*at) || *at == '_';
    }
    return false;
}

const void *emit_find_row(const void *rows, size_t count, size_t size, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        const char *row = (const char *)rows + i * size;
        if (strcmp(*(const char *const *)row, name) == 0)
            return row;
    }
    return NULL;
}

int emit_find_fact(const struct emit_fact *rows, size_t count, const char *name)
{
    const struct emit_fact *row = emit_find_row(rows, count, sizeof *rows, name);
    return row != NULL ? row->holds : -1;
}
