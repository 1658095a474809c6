/* help.c - prints the table of options, and one row of it at length. */
#include "causes/verdict.h"
#include "options/table.h"
#include "plan/together.h"

#include <ctype.h>
#include <string.h>

enum { HELP_COLUMN = 27, TOPIC_COLUMN = 16, HELP_WIDTH = 79, HELP_TEXT = 512 };

void options_print_wrapped(FILE *out, int column, int indent, const char *text)
{
    if (column > indent - 2 && column > 0) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", indent - column, "");
    column = indent;
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > HELP_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        if (column > indent)
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
        options_print_wrapped(out, column, HELP_COLUMN, row->summary);
    }
}

/* Writes the text behind an option's name: its help, the limits worth telling and the default.
 */
static void row_text(const struct option_row *row, char text[HELP_TEXT])
{
    char least[UNITS_TEXT], most[UNITS_TEXT], limits[2 * UNITS_TEXT + 8] = "";
    const char *fallback = row->fallback != NULL ? row->fallback : row->absent;
    if (row->type == TYPE_NUMBER && row->most != UINT64_MAX) {
        if (row->suffixes)
            units_count(row->most, most);
        else
            snprintf(most, sizeof most, "%llu", (unsigned long long)row->most);
        snprintf(limits, sizeof limits, "%s to %s; ", units_count(row->least, least), most);
    }
    snprintf(text, HELP_TEXT, "%s", row->help);
    if (fallback != NULL)
        text_add(text, HELP_TEXT, " ", "(%sdefault %s)", limits, fallback);
}

/* Prints "  -t, --tiles=N|auto" and returns how many columns that takes. */
static int print_name(FILE *out, const struct option_row *row)
{
    int column = row->letter != 0 ? fprintf(out, "  -%c, --%s", row->letter, row->name)
                                  : fprintf(out, "      --%s", row->name);
    return row->placeholder != NULL ? column + fprintf(out, "=%s", row->placeholder) : column;
}

static void print_row(FILE *out, const struct option_row *row)
{
    char text[HELP_TEXT];
    int column = print_name(out, row);
    row_text(row, text);
    options_print_wrapped(out, column, HELP_COLUMN, text);
}

static void print_rows(FILE *out, enum option_scope scope)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (option_rows[i].scope == scope)
            print_row(out, &option_rows[i]);
    }
}

/* The help in short: the options that a first hour needs. */
static void print_short(FILE *out)
{
    static const enum option_id first[] = {OPTION_ELEMENTS, OPTION_TILES, OPTION_STREAMS,
                                           OPTION_WAYS,     OPTION_ORDER, OPTION_KERNEL,
                                           OPTION_DEVICE,   OPTION_FIX,   OPTION_TIMELINE};
    fputs("\nThe options to begin with:\n", out);
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        print_row(out, &option_rows[first[i]]);
    fputs(
        "\nThe others: `pipeline help all`. One of them at length: `pipeline help streams`.\n",
        out);
}

void options_print_help(FILE *out, bool all)
{
    fputs("Shows, measures and explains how copies and kernels overlap on a GPU.\n\nUsage:\n",
          out);
    print_commands(out);
    if (!all) {
        print_short(out);
        return;
    }
    fputs("\nSettings of a run, here for all runs; in a config file `name=value` under\n"
          "[global] or, for one run, under its [NAME] (a flag is then yes or no):\n",
          out);
    print_rows(out, SCOPE_RUN);
    fputs("\nOn the command line only:\n", out);
    print_rows(out, SCOPE_PROGRAM);
    fputs("\nThe command line wins over a run's section, that over [global], and that over\n"
          "the default. Exit status: 0 done and verified; 1 the run failed or its result\n"
          "is wrong; 2 usage or config error; 77 no CUDA device where one was asked for;\n"
          "of record and try the program's, or 126 and 127 where there is none to be run.\n",
          out);
}

/* --- what an option goes with --- */

/* A row of what goes together, as one of its two options sees it: what of that option, and what
 * of the other. */
struct side {
    const char *words, *partner;
};

/* Returns the side of `row` that the option called `name` is on, of none where the row has a
 * rule or is about other options. */
static struct side side_of(const struct together_row *row, const char *name)
{
    if (row->rule != NULL)
        return (struct side){NULL, NULL};
    if (strcmp(row->option, name) == 0)
        return (struct side){row->trait->words, row->other_trait->words};
    if (strcmp(row->other, name) == 0)
        return (struct side){row->other_trait->words, row->trait->words};
    return (struct side){NULL, NULL};
}

/* Adds "--pack can't be combined with --ways=1, 2 or 4, --issue=auto or ...", of all the rows
 * from the first one on that says anything of that. */
static void add_partners(const struct together_row *first, const char *name,
                         char text[OPTION_WITH])
{
    const struct side side = side_of(first, name);
    const char *last = NULL;
    const size_t begun = strlen(text) + (text[0] != '\0');
    text_add(text, OPTION_WITH, " ", "%s can't be combined with", side.words);
    text[begun] = (char)toupper((unsigned char)text[begun]);
    const size_t listed = strlen(text);
    for (const struct together_row *row = first; row->option != NULL; row++) {
        const struct side other = side_of(row, name);
        if (other.words == NULL || strcmp(other.words, side.words) != 0 ||
            strstr(text + listed, other.partner) != NULL ||
            (last != NULL && strcmp(last, other.partner) == 0))
            continue;
        if (last != NULL)
            text_add(text, OPTION_WITH, text[listed] != '\0' ? "," : "", " %s", last);
        last = other.partner;
    }
    text_add(text, OPTION_WITH, text[listed] != '\0' ? " or" : "", " %s.", last);
}

/* Returns true where a row before `row` has the same words of the option. */
static bool is_said(const struct together_row *row, const char *name)
{
    const char *words = side_of(row, name).words;
    bool said = false;
    for (const struct together_row *before = together_rows; before != row; before++) {
        const char *others = side_of(before, name).words;
        said |= others != NULL && strcmp(others, words) == 0;
    }
    return said;
}

const char *option_with(const struct option_row *option, char text[OPTION_WITH])
{
    snprintf(text, OPTION_WITH, "%s", option->with != NULL ? option->with : "");
    for (const struct together_row *row = together_rows; row->option != NULL; row++) {
        const bool about = strcmp(row->option, option->name) == 0 ||
                           (row->other != NULL && strcmp(row->other, option->name) == 0);
        if (!about)
            continue;
        if (row->rule == NULL && !is_said(row, option->name))
            add_partners(row, option->name, text);
        else if (row->rule != NULL && strstr(text, row->rule) == NULL)
            text_add(text, OPTION_WITH, " ", "%s", row->rule);
    }
    return text[0] != '\0' ? text : NULL;
}

/* --- one option, one command --- */

static void print_fact(FILE *out, const char *name, const char *text)
{
    options_print_wrapped(out, fprintf(out, "  %s:", name), TOPIC_COLUMN, text);
}

static void print_option(FILE *out, const struct option_row *row)
{
    char text[LABEL_MAX], with[OPTION_WITH];
    print_name(out, row);
    fputs("\n\n", out);
    options_print_wrapped(out, 0, 2, row->help);
    fputc('\n', out);
    if (row->placeholder != NULL)
        print_fact(out, "values", option_values(row, text));
    if (row->fallback != NULL || row->absent != NULL)
        print_fact(out, "default", row->fallback != NULL ? row->fallback : row->absent);
    text[0] = '\0';
    for (const struct command_row *command = command_rows; command->name != NULL; command++) {
        if (option_is_taken(row, command->command))
            text_add(text, LABEL_MAX, ", ", "%s", command->name);
    }
    print_fact(out, "commands", text);
    print_fact(out, "allowed in",
               row->scope == SCOPE_RUN ? "the command line and config files"
                                       : "the command line only");
    if (option_with(row, with) != NULL)
        print_fact(out, "goes with", with);
}

static void print_command(FILE *out, const struct command_row *command)
{
    fprintf(out, "pipeline %s\n\n", command->usage);
    options_print_wrapped(out, 0, 2, command->summary);
    fputs("\nIts options (`pipeline help OPTION` explains one):\n", out);
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (option_is_taken(&option_rows[i], command->command)) {
            print_name(out, &option_rows[i]);
            fputc('\n', out);
        }
    }
}

/* Prints what a cause is, and what to do about it. */
static void print_verdict(FILE *out, const struct verdict_row *row)
{
    fprintf(out, "%s\n\n", row->name);
    options_print_wrapped(out, 0, 2, row->text);
    if (row->fix[0] != '\0' || row->cuda[0] != '\0')
        fputc('\n', out);
    if (row->fix[0] != '\0')
        print_fact(out, "fix", row->fix);
    if (row->cuda[0] != '\0')
        print_fact(out, "in CUDA", row->cuda);
    if (row->torch != NULL)
        print_fact(out, "in PyTorch", row->torch);
}

void options_print_topic(FILE *out, const char *topic)
{
    const struct command_row *command = command_find(topic);
    int verdict = verdict_code_find(topic);
    const struct option_row *option = option_find(topic);
    if (command != NULL)
        print_command(out, command);
    if (command != NULL && option != NULL)
        fputc('\n', out);
    if (option != NULL)
        print_option(out, option);
    else if (command == NULL && verdict >= 0)
        print_verdict(out, &verdict_rows[verdict]);
    fputs("\nWords such as overlap, limit and tile: docs/glossary.md\n", out);
}
