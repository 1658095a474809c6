/* lesson.c - prints what stands around a lesson's report. */
#include "app/lesson.h"

#include "options/options.h"

#include <stdlib.h>

void lesson_print_question(FILE *out, const struct embedded *text, const struct lesson *lesson)
{
    fprintf(out, "Lesson %d: %s\nQuestion: %s\n\n", atoi(text->name), lesson->title,
            lesson->question);
}

static void print_paragraph(void *out, const char *paragraph)
{
    options_print_wrapped(out, 0, 2, paragraph);
}

void lesson_print_explanation(FILE *out, const struct embedded *text,
                              const struct lesson *lesson)
{
    fputs("\nWhat to see:\n", out);
    lesson_explain(text->text, print_paragraph, out);
    fputs("\nTo remember:\n", out);
    print_paragraph(out, lesson->message);
}
