/* lesson.c - reads the comments at the head of a lesson's file. */
#include "app/lesson.h"

#include "options/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { EXPLANATION_TEXT = 4096 };

/* Copies the rest of the line at `from`. Returns false where that is nothing, or too long. */
static bool line_copy(const char *from, char copy[LESSON_TEXT])
{
    size_t length = strcspn(from, "\n");
    if (length == 0 || length >= LESSON_TEXT)
        return false;
    memcpy(copy, from, length);
    copy[length] = '\0';
    return true;
}

/* Finds the comment of the head that begins with `key`, and returns the text behind that; NULL:
 * there is none. */
static const char *head_find(const char *text, const char *key)
{
    const char *line = text;
    while (line != NULL && line[0] == ';') {
        if (strncmp(line, "; ", 2) == 0 && strncmp(line + 2, key, strlen(key)) == 0)
            return line + 2 + strlen(key);
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return NULL;
}

enum status lesson_read(struct lesson *lesson, const char *name, const char *text,
                        struct error *error)
{
    char first[LESSON_TEXT];
    struct lesson read = {0};
    int length = snprintf(first, sizeof first, "%s.ini - ", name);
    const char *title = head_find(text, first), *question = head_find(text, "Question: ");
    const char *code = head_find(text, "Exit: ");
    if (length < 0 || (size_t)length >= sizeof first || title == NULL ||
        title != text + 2 + length || !line_copy(title, read.title))
        return error_set(error, STATUS_FAILED,
                         "lesson %s: its first line should be '; %s.ini - TITLE'", name, name);
    if (question == NULL || !line_copy(question, read.question))
        return error_set(error, STATUS_FAILED,
                         "lesson %s: its head has no line '; Question: ...'", name);
    if (code != NULL && strncmp(code, "1\n", 2) != 0)
        return error_set(error, STATUS_FAILED,
                         "lesson %s: '; Exit:' is of results that are wrong: allowed is 1",
                         name);
    read.exit_code = code != NULL;
    *lesson = read;
    return STATUS_OK;
}

/* Returns the first line of the head's explanation, which is behind its question and its exit
 * code. NULL: there is none. */
static const char *explanation_find(const char *text)
{
    const char *line = head_find(text, "Question: ");
    while (line != NULL) {
        line = strchr(line, '\n');
        if (line == NULL || line[1] != ';')
            return NULL;
        line++;
        if (strncmp(line, "; ", 2) == 0 && strncmp(line + 2, "Exit: ", 6) != 0)
            return line;
    }
    return NULL;
}

void lesson_print_explanation(FILE *out, const char *text)
{
    char paragraph[EXPLANATION_TEXT] = "";
    size_t length = 0;
    const char *line = explanation_find(text);
    fputs(line != NULL ? "What to see:\n" : "", out);
    for (; line != NULL && line[0] == ';'; line += strcspn(line, "\n") + 1) {
        size_t rest = strcspn(line, "\n");
        if (rest > 2 && length + rest < sizeof paragraph)
            length += (size_t)snprintf(paragraph + length, sizeof paragraph - length, "%s%.*s",
                                       length > 0 ? " " : "", (int)(rest - 2), line + 2);
        bool ends = rest <= 2 || line[rest] == '\0' || line[rest + 1] != ';';
        if (ends && length > 0) {
            options_print_wrapped(out, 0, 2, paragraph);
            length = 0;
        }
        if (line[rest] == '\0')
            break;
    }
}
