/* markdown.c - the option table as tables in Markdown, for docs/options.md. */
#include "pages.h"

/* Prints a cell's text, in which a bar would end the cell. */
static void print_cell(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        fprintf(out, "%s%c", *text == '|' ? "\\" : "", *text);
}

/* Prints the commands that take the option: "run, compare, lesson", or "all". */
static void print_takers(FILE *out, const struct option_row *row)
{
    int takers = 0, commands = 0;
    for (const struct command_row *command = command_rows; command->name != NULL; command++) {
        takers += option_is_taken(row, command->command);
        commands++;
    }
    const char *before = "";
    for (const struct command_row *command = command_rows; command->name != NULL; command++) {
        if (takers == commands || !option_is_taken(row, command->command))
            continue;
        fprintf(out, "%s%s", before, command->name);
        before = ", ";
    }
    fputs(takers == commands ? "all" : "", out);
}

static void print_row(FILE *out, const struct option_row *row)
{
    char limits[PAGE_TEXT], with[OPTION_WITH];
    fputs("| `", out);
    if (row->letter != 0)
        fprintf(out, "-%c`, `", row->letter);
    fprintf(out, "--%s", row->name);
    if (row->placeholder != NULL) {
        fputc('=', out);
        print_cell(out, row->placeholder);
    }
    fputs("` | ", out);
    print_cell(out, page_fallback(row) != NULL ? page_fallback(row) : "");
    fputs(" | ", out);
    print_cell(out, row->help);
    fputc('.', out);
    /* The placeholder has all choices, and no limit is as good as the largest number. */
    bool limited = row->type != TYPE_CHOICE && row->most != UINT64_MAX;
    if (limited && page_limits(row, limits)[0] != '\0') {
        fputs(" Allowed: ", out);
        print_cell(out, limits);
        fputc('.', out);
    }
    if (option_with(row, with) != NULL) {
        fputc(' ', out);
        print_cell(out, with);
    }
    fputs(" | ", out);
    print_takers(out, row);
    fputs(" |\n", out);
}

static void print_rows(FILE *out, enum option_scope scope)
{
    fputs("| option | default | meaning | commands |\n|---|---|---|---|\n", out);
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (option_rows[i].scope == scope)
            print_row(out, &option_rows[i]);
    }
}

static void print_run_options(FILE *out)
{
    print_rows(out, SCOPE_RUN);
}

static void print_program_options(FILE *out)
{
    print_rows(out, SCOPE_PROGRAM);
}

static void print_commands(FILE *out)
{
    fputs("| command | what it does |\n|---|---|\n", out);
    for (const struct command_row *row = command_rows; row->name != NULL; row++) {
        fputs("| `pipeline ", out);
        print_cell(out, row->usage);
        fputs("` | ", out);
        print_cell(out, row->summary);
        fputs(" |\n", out);
    }
}

const struct page_place markdown_places[] = {
    {"md-run-options", true, print_run_options},
    {"md-program-options", true, print_program_options},
    {"md-commands", true, print_commands},
    {NULL, false, NULL},
};
