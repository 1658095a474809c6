/* list.c - prints the tables that the other rooms keep. */
#include "app/commands.h"

#include "app/backends.h"
#include "causes/verdict.h"
#include "kernels/kernel_code.h"
#include "machine/machine.h"
#include "options/lesson.h"
#include "options/options.h"
#include "plan/mistake.h"
#include "run/backend.h"

#include <stdlib.h>
#include <string.h>

/* Prints "NAME  text", and below it "      what: text", in lines that fit a terminal. */
enum { ENTRY_COLUMN = 25, ENTRY_TEXT = 512 };

static void put_entry(FILE *out, const char *name, const char *text)
{
    options_print_wrapped(out, fprintf(out, "%s", name), ENTRY_COLUMN, text);
}

static void put_more(FILE *out, const char *what, const char *text)
{
    char line[ENTRY_TEXT];
    snprintf(line, sizeof line, "%s: %s", what, text);
    options_print_wrapped(out, 0, ENTRY_COLUMN, line);
}

static void list_kernels(FILE *out)
{
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        char types[ENTRY_TEXT];
        bool reduces = kernel->shape == KERNEL_REDUCE;
        snprintf(types, sizeof types, "%s -> %s%s", dtype_name(kernel->in),
                 dtype_name(kernel->out), reduces ? ", one value per tile" : "");
        put_entry(out, kernel->name, types);
        options_print_wrapped(out, 0, ENTRY_COLUMN, kernel->summary);
        if (kernel_missing(kernel) != NULL)
            put_more(out, "not available", kernel_missing(kernel));
    }
}

static void list_machines(FILE *out)
{
    for (const struct embedded *text = machine_texts; text->name != NULL; text++) {
        struct machine machine;
        if (machine_parse(&machine, text->text, text->name, NULL) == STATUS_OK)
            fprintf(out, "%-18s %-8s %s\n", text->name, machine.architecture, machine.summary);
    }
}

static void print_device(void *context, const char *device, const char *summary)
{
    fprintf(context, "%-18s %s\n", device, summary);
}

static void list_devices(FILE *out)
{
    for (int i = 0; backends[i] != NULL; i++) {
        if (backends[i]->missing == NULL)
            backends[i]->list(print_device, out);
    }
}

static void list_mistakes(FILE *out)
{
    for (const struct mistake_row *row = mistake_rows; row->name != NULL; row++) {
        const char *needs = row->needs != NULL   ? row->needs
                            : row->needs_streams ? "several streams"
                                                 : NULL;
        put_entry(out, row->name, row->summary);
        if (needs != NULL)
            put_more(out, "needs", needs);
        options_print_wrapped(out, 0, ENTRY_COLUMN, row->effect);
        if (row != &mistake_rows[MISTAKE_NONE])
            put_more(out, "shows on", row->shows);
    }
}

/* Prints each cause, and what to do about it; `pipeline help NAME` says more. */
static void list_verdicts(FILE *out)
{
    EACH (const struct verdict_row, row, verdict_rows, VERDICT_COUNT) {
        put_entry(out, row->name, row->text);
        if (row->fix[0] != '\0')
            put_more(out, "fix", row->fix);
    }
}

/* Prints each lesson with the command that runs it, from any folder. */
static void list_lessons(FILE *out)
{
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++) {
        struct lesson lesson;
        if (lesson_read(&lesson, text->name, text->text, NULL) != STATUS_OK)
            continue;
        put_entry(out, text->name, lesson.title);
        options_print_wrapped(out, 0, ENTRY_COLUMN, lesson.question);
        fprintf(out, "%*spipeline lesson %d\n", ENTRY_COLUMN, "", atoi(text->name));
    }
}

static const struct {
    const char *name;
    void (*print)(FILE *out);
} lists[] = {
    {"kernels", list_kernels},   {"machines", list_machines}, {"devices", list_devices},
    {"mistakes", list_mistakes}, {"verdicts", list_verdicts}, {"lessons", list_lessons},
};
enum { LIST_COUNT = sizeof lists / sizeof lists[0] };

void list_print(FILE *out, const char *what)
{
    for (int i = 0; i < LIST_COUNT; i++) {
        if (what != NULL && strcmp(what, lists[i].name) != 0)
            continue;
        if (what == NULL)
            fprintf(out, "%s%s:\n", i > 0 ? "\n" : "", lists[i].name);
        lists[i].print(out);
    }
}
