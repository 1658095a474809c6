/* list.c - prints the tables that the other rooms keep. */
#include "app/list.h"

#include "app/lesson.h"
#include "kernels/kernel_code.h"
#include "machine/machine.h"
#include "plan/mistake.h"
#include "run/backend.h"

#include <string.h>

static void list_kernels(FILE *out)
{
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        bool reduces = kernel->shape == KERNEL_REDUCE;
        fprintf(out, "%-18s %-8s -> %-8s%-14s %s\n", kernel->name, dtype_name(kernel->in),
                dtype_name(kernel->out), reduces ? " per tile" : "", kernel->summary);
        const char *missing = kernel_missing(kernel);
        if (missing != NULL)
            fprintf(out, "%-18s not available: %s\n", "", missing);
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
    for (int i = 0; backends[i] != NULL; i++)
        backends[i]->list(print_device, out);
}

static void list_mistakes(FILE *out)
{
    for (const struct mistake_row *row = mistake_rows; row->name != NULL; row++)
        fprintf(out, "%-22s %s\n%-22s %s\n%-22s shows on: %s\n", row->name, row->summary, "",
                row->effect, "", row->shows);
}

/* Each with the command that runs it from here. */
static void list_lessons(FILE *out)
{
    char file[LESSON_TEXT], path[LESSON_PATH];
    const char *folder = "configs/lessons";
    bool found = true;
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++) {
        struct lesson lesson;
        if (lesson_read(&lesson, text->name, text->text, NULL) != STATUS_OK)
            continue;
        snprintf(file, sizeof file, "%s.ini", text->name);
        if (text == lesson_texts) {
            const char *there = lesson_folder(file, path);
            found = there != NULL;
            folder = found ? there : folder;
        }
        fprintf(out, "%-20s %s\n%-20s %s\n%-20s pipeline %s/%s\n", text->name, lesson.title, "",
                lesson.question, "", folder, file);
    }
    if (!found)
        fprintf(out, "(in the sources: the files are neither here nor beside this program)\n");
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
