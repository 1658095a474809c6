/* help.c - prints the table of options. */
#include "options/table.h"

#include <string.h>

enum { HELP_COLUMN = 27, HELP_WIDTH = 79, HELP_TEXT = 512 };

/* Prints `text` from column HELP_COLUMN on, breaking lines at blanks; the cursor is in
 * `column`. */
static void print_wrapped(FILE *out, int column, const char *text)
{
    if (column > HELP_COLUMN - 2) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    column = HELP_COLUMN;
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
            fprintf(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        }
        if (column > HELP_COLUMN)
            column += fprintf(out, " ");
        column += fprintf(out, "%.*s", length, text);
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_commands(FILE *out)
{
    for (const struct command_row *row = command_rows; row->name != NULL; row++) {
        int column = fprintf(out, "  pipeline %s", row->usage);
        print_wrapped(out, column, row->summary);
    }
}

/* "1 to 16M; ", or nothing where there is no limit worth telling. */
static void limits_text(const struct option_row *row, char text[HELP_TEXT])
{
    char least[UNITS_TEXT], most[UNITS_TEXT];
    text[0] = '\0';
    if (row->type != TYPE_NUMBER || row->most == UINT64_MAX)
        return;
    units_count(row->least, least);
    if (row->suffixes)
        units_count(row->most, most);
    else
        snprintf(most, sizeof most, "%llu", (unsigned long long)row->most);
    snprintf(text, HELP_TEXT, "%s to %s; ", least, most);
}

/* The text behind an option's name: its help, its limits and its default. */
static void row_text(const struct option_row *row, char text[HELP_TEXT])
{
    char limits[HELP_TEXT];
    limits_text(row, limits);
    const char *fallback = row->fallback != NULL ? row->fallback : row->absent;
    int length = snprintf(text, HELP_TEXT, "%s", row->help);
    if (fallback != NULL)
        snprintf(text + length, (size_t)(HELP_TEXT - length), " (%sdefault %s)", limits,
                 fallback);
}

static void print_rows(FILE *out, enum option_scope scope)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_rows[i];
        if (row->scope != scope)
            continue;
        int column = row->letter != 0 ? fprintf(out, "  -%c, --%s", row->letter, row->name)
                                      : fprintf(out, "      --%s", row->name);
        if (row->placeholder != NULL)
            column += fprintf(out, "=%s", row->placeholder);
        char text[HELP_TEXT];
        row_text(row, text);
        print_wrapped(out, column, text);
    }
}

void options_print_help(FILE *out)
{
    fputs("Shows, measures and explains how copies and kernels overlap on a GPU.\n\nUsage:\n",
          out);
    print_commands(out);
    fputs("\nSettings of a run, here for all runs; in a config file `name=value` under\n"
          "[global] or, for one run, under its [NAME] (a flag is then yes or no):\n",
          out);
    print_rows(out, SCOPE_RUN);
    fputs("\nOn the command line only:\n", out);
    print_rows(out, SCOPE_PROGRAM);
    fputs("\nThe command line wins over a run's section, that over [global], and that over\n"
          "the default. Exit status: 0 done and verified; 1 the run failed or its result\n"
          "is wrong; 2 usage or config error; 77 no CUDA device where one was asked for.\n",
          out);
}
