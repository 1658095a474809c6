/* list.c - prints the tables that the other rooms keep. */
#include "app/list.h"

#include "app/backends.h"
#include "app/lesson.h"
#include "kernels/kernel_code.h"
#include "machine/machine.h"
#include "plan/mistake.h"
#include "run/backend.h"

#include <stdlib.h>
#include <string.h>

/* Returns how wide the names are, so that what follows them is aligned. */
static int kernel_names_width(void)
{
    size_t width = 0;
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++)
        width = strlen(kernel->name) > width ? strlen(kernel->name) : width;
    return (int)width;
}

static void list_kernels(FILE *out)
{
    int width = kernel_names_width();
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        bool reduces = kernel->shape == KERNEL_REDUCE;
        fprintf(out, "%-*s %-8s -> %-8s%-9s %s\n", width, kernel->name, dtype_name(kernel->in),
                dtype_name(kernel->out), reduces ? " per tile" : "", kernel->summary);
        const char *missing = kernel_missing(kernel);
        if (missing != NULL)
            fprintf(out, "%-*s not available: %s\n", width, "", missing);
    }
}

static void list_machines(FILE *out)
{
    for (const struct embedded *text = machine_texts; text->name != NULL; text++) {
        struct machine machine;
        if (machine_parse(&machine, text->text, text->name, NULL) == STATUS_OK)
            fprintf(out, "%-16s %-8s %s\n", text->name, machine.architecture, machine.summary);
    }
}

static void print_device(void *context, const char *device, const char *summary)
{
    fprintf(context, "%-16s %s\n", device, summary);
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
        fprintf(out, "%-22s %s\n%-22s %s\n%-22s shows on: %s\n", row->name, row->summary, "",
                row->effect, "", row->shows);
        const char *needs = row->needs_streams ? "several streams" : row->needs;
        if (needs != NULL)
            fprintf(out, "%-22s needs: %s\n", "", needs);
    }
}

/* Prints each lesson with the command that runs it, from any folder. */
static void list_lessons(FILE *out)
{
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++) {
        struct lesson lesson;
        if (lesson_read(&lesson, text->name, text->text, NULL) == STATUS_OK)
            fprintf(out, "%-20s %s\n%-20s %s\n%-20s pipeline lesson %d\n", text->name,
                    lesson.title, "", lesson.question, "", atoi(text->name));
    }
}

static const struct {
    const char *name;
    void (*print)(FILE *out);
} lists[] = {
    {"kernels", list_kernels},   {"machines", list_machines}, {"devices", list_devices},
    {"mistakes", list_mistakes}, {"lessons", list_lessons},
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
