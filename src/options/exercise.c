/* exercise.c - finds the exercises, and reads the heads of their programs. */
#include "options/exercise.h"

#include <stdio.h>
#include <string.h>

static const char ending[] = ".solution.cu";

bool exercise_next(const struct embedded **text, struct exercise *exercise)
{
    while ((*text)->name != NULL && strstr((*text)->name, ending) == NULL)
        ++*text;
    if ((*text)->name == NULL)
        return false;
    char start[EXERCISE_NAME + 3];
    const size_t length = strlen((*text)->name) - strlen(ending);
    snprintf(exercise->name, sizeof exercise->name, "%.*s", (int)length, (*text)->name);
    snprintf(start, sizeof start, "%s.cu", exercise->name);
    exercise->start = embedded_find(exercise_texts, start);
    exercise->answer = (*text)->text;
    const char *title = strchr(exercise->start, ':') + 2; /* "// Exercise 02: " */
    snprintf(exercise->title, sizeof exercise->title, "%.*s", (int)strcspn(title, "\n"), title);
    ++*text;
    return true;
}

/* A paragraph ends with a line that has nothing behind its slashes, and the last one, which
 * says how to have the program graded, begins with "To". */
void exercise_task(const struct exercise *exercise,
                   void (*put)(void *context, const char *paragraph), void *context)
{
    enum { PARAGRAPH = 2048 };
    char paragraph[PARAGRAPH] = "";
    size_t length = 0;
    const char *line = strchr(exercise->start, '\n') + 1;
    for (; strncmp(line, "//", 2) == 0; line = strchr(line, '\n') + 1) {
        const int words = (int)strcspn(line + 2, "\n");
        if (strncmp(line, "// To have it graded", 20) == 0)
            break;
        if (words > 0 && length + (size_t)words < sizeof paragraph)
            length += (size_t)sprintf(paragraph + length, "%.*s", words, line + 2);
        else if (length > 0)
            put(context, paragraph + 1), length = 0;
    }
}

void exercise_lines(struct ini_text *ini)
{
    ini_text_begin(ini, embedded_find(exercise_texts, "exercises"));
}

bool exercise_next_line(const struct exercise *exercise, struct ini_text *ini)
{
    enum ini_part part;
    while ((part = ini_text_next(ini)) != INI_END) {
        if (part == INI_KEY && strcmp(ini->section, exercise->name) == 0)
            return true;
    }
    return false;
}
