/* plots.c - the part of the pictures' scripts that repeats a table of the program:
 * plots/ops.gp, which `make ops` writes anew and a test compares with what this prints. */
#include "pages.h"

#include "plan/op.h"

#include <stdio.h>

/* Begins the definition of a gnuplot string: one word per row, separated by blanks. */
static void begin_words(FILE *out, const char *name)
{
    fprintf(out, "%s = \"", name);
}

static void print_texts(FILE *out, const char *name, const char *const texts[], int count)
{
    begin_words(out, name);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", texts[i]);
    fputs("\"\n", out);
}

static void print_engines(FILE *out)
{
    const char *names[ENGINE_COUNT], *labels[ENGINE_COUNT];
    for (int i = 0; i < ENGINE_COUNT; i++) {
        names[i] = engine_rows[i].name;
        labels[i] = engine_rows[i].label;
    }
    print_texts(out, "engine_names", names, ENGINE_COUNT);
    print_texts(out, "engine_labels", labels, ENGINE_COUNT);
}

static void print_kinds(FILE *out)
{
    const char *names[OP_KIND_COUNT], *labels[OP_KIND_COUNT], *engines[OP_KIND_COUNT];
    for (int i = 0; i < OP_KIND_COUNT; i++) {
        names[i] = op_rows[i].name;
        labels[i] = op_rows[i].label;
        engines[i] = engine_rows[op_rows[i].engine].name;
    }
    print_texts(out, "kind_names", names, OP_KIND_COUNT);
    print_texts(out, "kind_labels", labels, OP_KIND_COUNT);
    print_texts(out, "kind_engines", engines, OP_KIND_COUNT);
    begin_words(out, "kind_letters");
    for (int i = 0; i < OP_KIND_COUNT; i++)
        fprintf(out, "%s%c", i > 0 ? " " : "", op_rows[i].letter);
    fputs("\"\n", out);
    begin_words(out, "kind_colors");
    for (int i = 0; i < OP_KIND_COUNT; i++)
        fprintf(out, "%s0x%06X", i > 0 ? " " : "", (unsigned)op_rows[i].color);
    fputs("\"\n", out);
    begin_words(out, "kind_inks");
    for (int i = 0; i < OP_KIND_COUNT; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", op_rows[i].light_text ? "0xFFFFFF" : "0x000000");
    fputs("\"\n", out);
    begin_words(out, "kind_in_stream");
    for (int i = 0; i < OP_KIND_COUNT; i++)
        fprintf(out, "%s%d", i > 0 ? " " : "", op_rows[i].in_stream);
    fputs("\"\n", out);
}

static void print_ops(FILE *out)
{
    fputs(
        "# ops.gp - the kinds of ops and the engines: names, letters, colours. One word each.\n"
        "#\n"
        "# Made from op_rows in src/plan/op.c: `make ops` writes it anew.\n\n",
        out);
    print_engines(out);
    print_kinds(out);
}

const struct page_place plot_places[] = {
    {"plot-ops", true, print_ops},
    {NULL, false, NULL},
};
