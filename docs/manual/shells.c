/* shells.c - the parts of the completions for bash, zsh and fish that come from tables. */
#include "pages.h"

#include <string.h>

/* Too large for a stack; each function fills it anew. */
static struct page_words words;

/* Prints all texts of `words`, a blank between each two. */
static void print_words(FILE *out)
{
    for (int i = 0; i < words.count; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", words.items[i].text);
}

/* Prints `text` as one word in single quotes. bash and zsh end them and begin them anew around
 * a quote; fish takes a backslash. */
static void print_quoted(FILE *out, const char *text, bool fish)
{
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs(fish ? "\\'" : "'\\''", out);
        else if (*text == '\\' && fish)
            fputs("\\\\", out);
        else
            fputc(*text, out);
    }
    fputc('\'', out);
}

/* --- all three
 * ----------------------------------------------------------------------------------- */

static void print_commands(FILE *out)
{
    for (const struct command_row *row = command_rows; row->name != NULL; row++)
        fprintf(out, "%s%s", row == command_rows ? "" : " ", row->name);
}

static void print_lists(FILE *out)
{
    page_list_words(&words);
    print_words(out);
}

static void print_lessons(FILE *out)
{
    page_lesson_words(&words);
    print_words(out);
}

static void print_topics(FILE *out)
{
    page_topic_words(&words);
    print_words(out);
}

/* Prints the options that take a value: "-n|--elements|-i|--input", as patterns of a case, or
 * with blanks between. */
static void print_valued(FILE *out, const char *between)
{
    const char *before = "";
    for (const struct option_row *row = option_rows; row < option_rows + OPTION_COUNT; row++) {
        if (row->placeholder == NULL)
            continue;
        if (row->letter != 0)
            fprintf(out, "%s-%c", before, row->letter);
        fprintf(out, "%s--%s", row->letter != 0 ? between : before, row->name);
        before = between;
    }
}

static void print_valued_patterns(FILE *out)
{
    print_valued(out, "|");
}

static void print_valued_words(FILE *out)
{
    print_valued(out, " ");
}

/* --- bash
 * ---------------------------------------------------------------------------------------- */

static void print_bash_names(FILE *out)
{
    const char *before = "";
    for (const struct option_row *row = option_rows; row < option_rows + OPTION_COUNT; row++) {
        fprintf(out, "%s--%s%s", before, row->name, row->placeholder != NULL ? "=" : "");
        if (row->letter != 0)
            fprintf(out, " -%c", row->letter);
        before = " ";
    }
}

static const char *bash_kind(enum takes takes)
{
    static const char *const kinds[] = {
        [TAKES_TEXT] = "text",         [TAKES_LIST] = "list",     [TAKES_FILE] = "file",
        [TAKES_TIMELINE] = "timeline", [TAKES_DEVICE] = "device", [TAKES_SWEEP] = "text",
        [TAKES_MACHINE] = "machine",
    };
    return kinds[takes];
}

/* Prints a case for each option with a value: how it is completed, and from which words. */
static void print_bash_values(FILE *out)
{
    for (const struct option_row *row = option_rows; row < option_rows + OPTION_COUNT; row++) {
        if (row->placeholder == NULL)
            continue;
        fputs("    ", out);
        if (row->letter != 0)
            fprintf(out, "-%c | ", row->letter);
        fprintf(out, "--%s) kind=%s words='", row->name, bash_kind(page_takes(row)));
        page_words(row, &words);
        print_words(out);
        fputs("' ;;\n", out);
    }
}

const struct page_place bash_places[] = {
    {"commands", false, print_commands},
    {"lists", false, print_lists},
    {"lessons", false, print_lessons},
    {"topics", false, print_topics},
    {"valued-patterns", false, print_valued_patterns},
    {"valued-words", false, print_valued_words},
    {"bash-names", false, print_bash_names},
    {"bash-values", true, print_bash_values},
    {NULL, false, NULL},
};

/* --- zsh
 * ----------------------------------------------------------------------------------------- */

/* Prints "'text:summary'" on a line of its own, as _describe takes it. */
static void print_zsh_described(FILE *out, const char *text, const char *summary)
{
    char described[2 * PAGE_TEXT];
    size_t length = 0;
    for (; *text != '\0'; text++) {
        if (*text == ':' || *text == '\\')
            described[length++] = '\\';
        described[length++] = *text;
    }
    described[length++] = ':';
    snprintf(described + length, sizeof described - length, "%s", summary);
    fputs("    ", out);
    print_quoted(out, described, false);
    fputc('\n', out);
}

static void print_zsh_commands(FILE *out)
{
    for (const struct command_row *row = command_rows; row->name != NULL; row++)
        print_zsh_described(out, row->name, row->summary);
}

static void print_zsh_words(FILE *out, enum option_id id)
{
    page_words(&option_rows[id], &words);
    for (int i = 0; i < words.count; i++)
        print_zsh_described(out, words.items[i].text, words.items[i].summary);
}

static void print_zsh_kernels(FILE *out)
{
    print_zsh_words(out, OPTION_KERNEL);
}

static void print_zsh_devices(FILE *out)
{
    print_zsh_words(out, OPTION_DEVICE);
}

static void print_zsh_sweeps(FILE *out)
{
    print_zsh_words(out, OPTION_SWEEP);
}

/* Writes the action that completes the value: the end of a specification for _arguments. */
static void zsh_action(const struct option_row *row, char text[PAGE_TEXT])
{
    size_t length = 0;
    text[0] = '\0';
    switch (page_takes(row)) {
    case TAKES_NOTHING:
        break;
    case TAKES_TEXT:
        page_words(row, &words);
        for (int i = 0; i < words.count; i++)
            length += (size_t)snprintf(text + length, PAGE_TEXT - length, "%s%s",
                                       i == 0 ? "(" : " ", words.items[i].text);
        snprintf(text + length, PAGE_TEXT - length, words.count > 0 ? ")" : " ");
        break;
    case TAKES_LIST:
        snprintf(text, PAGE_TEXT, "_pipeline_kernels");
        break;
    case TAKES_FILE:
        snprintf(text, PAGE_TEXT, "_files");
        break;
    case TAKES_TIMELINE:
        snprintf(text, PAGE_TEXT, "_pipeline_timelines");
        break;
    case TAKES_DEVICE:
        snprintf(text, PAGE_TEXT, "_pipeline_devices");
        break;
    case TAKES_MACHINE:
        snprintf(text, PAGE_TEXT, "_pipeline_machines");
        break;
    case TAKES_SWEEP:
        snprintf(text, PAGE_TEXT, "_pipeline_sweeps");
        break;
    }
}

/* Copies `from` behind `text` with a backslash before each of `special`. */
static void append_escaped(char *text, size_t room, const char *from, const char *special)
{
    size_t length = strlen(text);
    for (; *from != '\0' && length + 3 < room; from++) {
        if (strchr(special, *from) != NULL)
            text[length++] = '\\';
        text[length++] = *from;
    }
    text[length] = '\0';
}

/* Writes "[help]" and ":placeholder:action". */
static void zsh_rest(const struct option_row *row, char text[4 * PAGE_TEXT])
{
    char summary[PAGE_TEXT], action[PAGE_TEXT];
    strcpy(text, "[");
    append_escaped(text, 4 * PAGE_TEXT, page_summary(row, summary), "[]\\");
    strcat(text, "]");
    if (row->placeholder == NULL)
        return;
    strcat(text, ":");
    append_escaped(text, 4 * PAGE_TEXT, row->placeholder, ":\\");
    strcat(text, ":");
    zsh_action(row, action);
    append_escaped(text, 4 * PAGE_TEXT, action, "\\");
}

/* Prints "'(-n --elements)'{-n+,--elements=}'[help]:N: '". */
static void print_zsh_row(FILE *out, const struct option_row *row)
{
    char rest[4 * PAGE_TEXT];
    bool valued = row->placeholder != NULL;
    bool repeats = row->type == TYPE_FILES || row->type == TYPE_SWEEP ||
                   row->type == TYPE_TALLY || row->type == TYPE_FAIL_ABOVE;
    zsh_rest(row, rest);
    fputs("        ", out);
    if (row->type == TYPE_COMMAND)
        fputs("'(- *)'", out);
    else if (repeats)
        fputs("'*'", out);
    else if (row->letter != 0)
        fprintf(out, "'(-%c --%s)'", row->letter, row->name);
    if (row->letter != 0)
        fprintf(out, "{-%c%s,--%s%s}", row->letter, valued ? "+" : "", row->name,
                valued ? "=" : "");
    else
        fprintf(out, "--%s%s", row->name, valued ? "=" : "");
    print_quoted(out, rest, false);
    fputs(" \\\n", out);
}

static void print_machines(FILE *out)
{
    page_words(&option_rows[OPTION_MACHINE], &words);
    print_words(out);
}

static void print_zsh_options(FILE *out)
{
    for (const struct option_row *row = option_rows; row < option_rows + OPTION_COUNT; row++)
        print_zsh_row(out, row);
}

static void print_zsh_endings(FILE *out)
{
    page_words(&option_rows[OPTION_TIMELINE], &words);
    for (int i = 0; i < words.count; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", words.items[i].text + 1); /* no dot */
}

const struct page_place zsh_places[] = {
    {"zsh-commands", true, print_zsh_commands}, {"zsh-options", true, print_zsh_options},
    {"zsh-kernels", true, print_zsh_kernels},   {"zsh-devices", true, print_zsh_devices},
    {"zsh-sweeps", true, print_zsh_sweeps},     {"machines", false, print_machines},
    {"zsh-endings", false, print_zsh_endings},  {NULL, false, NULL},
};

/* --- fish
 * ---------------------------------------------------------------------------------------- */

/* Prints a line that prints a value and its summary, as fish takes them: with a tab between. */
static void print_fish_pair(FILE *out, const char *text, const char *summary)
{
    fputs("    printf '%s\\t%s\\n' ", out);
    print_quoted(out, text, true);
    fputc(' ', out);
    print_quoted(out, summary, true);
    fputc('\n', out);
}

static void print_fish_words(FILE *out, enum option_id id)
{
    page_words(&option_rows[id], &words);
    for (int i = 0; i < words.count; i++)
        print_fish_pair(out, words.items[i].text, words.items[i].summary);
}

static void print_fish_commands(FILE *out)
{
    for (const struct command_row *row = command_rows; row->name != NULL; row++)
        print_fish_pair(out, row->name, row->summary);
}

static void print_fish_kernels(FILE *out)
{
    print_fish_words(out, OPTION_KERNEL);
}

static void print_fish_devices(FILE *out)
{
    print_fish_words(out, OPTION_DEVICE);
}

static void print_fish_sweeps(FILE *out)
{
    print_fish_words(out, OPTION_SWEEP);
}

static void print_fish_endings(FILE *out)
{
    print_fish_words(out, OPTION_TIMELINE);
}

static void print_fish_values(FILE *out, const struct option_row *row)
{
    switch (page_takes(row)) {
    case TAKES_NOTHING:
        return;
    case TAKES_TEXT:
        page_words(row, &words);
        fputs(words.count > 0 ? " -x -a '" : " -x", out);
        print_words(out);
        fputs(words.count > 0 ? "'" : "", out);
        return;
    case TAKES_LIST:
        fputs(" -x -a '(__pipeline_kernels)'", out);
        return;
    case TAKES_FILE:
        fputs(" -r -F", out);
        return;
    case TAKES_TIMELINE:
        fputs(" -x -a '(__pipeline_timelines)'", out);
        return;
    case TAKES_DEVICE:
        fputs(" -x -a '(__pipeline_devices)'", out);
        return;
    case TAKES_MACHINE:
        fputs(" -r -F -a '", out);
        print_machines(out);
        fputs("'", out);
        return;
    case TAKES_SWEEP:
        fputs(" -x -a '(__pipeline_sweeps)'", out);
        return;
    }
}

static void print_fish_options(FILE *out)
{
    char summary[PAGE_TEXT];
    for (const struct option_row *row = option_rows; row < option_rows + OPTION_COUNT; row++) {
        fputs("complete -c pipeline -n 'not __pipeline_program'", out);
        if (row->letter != 0)
            fprintf(out, " -s %c", row->letter);
        fprintf(out, " -l %s", row->name);
        print_fish_values(out, row);
        fputs(" -d ", out);
        print_quoted(out, page_summary(row, summary), true);
        fputc('\n', out);
    }
}

const struct page_place fish_places[] = {
    {"fish-commands", true, print_fish_commands},
    {"fish-options", true, print_fish_options},
    {"fish-kernels", true, print_fish_kernels},
    {"fish-devices", true, print_fish_devices},
    {"fish-sweeps", true, print_fish_sweeps},
    {"fish-endings", true, print_fish_endings},
    {NULL, false, NULL},
};
