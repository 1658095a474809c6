/* manual.c - the parts of the man page that come from tables, in roff with the macros of
 * man(7).
 */
#include "core/version.h"
#include "machine/machine.h"
#include "pages.h"
#include "writers/writer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Prints one character of a text. '\-' is the minus that is typed, a bare '-' a
 * hyphen at which a line may break. */
static void print_character(FILE *out, char c, bool literal)
{
    if (c == '\\')
        fputs("\\e", out);
    else if (c == '-' && literal)
        fputs("\\-", out);
    else if (c == '\'')
        fputs("\\(aq", out);
    else if (c == '^' || c == '~')
        fputs(c == '^' ? "\\(ha" : "\\(ti", out);
    else
        fputc(c, out);
}

/* Prints prose: words between backticks are bold, and options are printed as they are typed.
 * The text begins in the middle of an output line or behind "\&", so that no dot is a request.
 */
static void print_text(FILE *out, const char *text)
{
    bool quoted = false, option = false;
    char before = ' ';
    for (; *text != '\0'; before = *text++) {
        if (*text == '`') {
            quoted = !quoted;
            fputs(quoted ? "\\fB" : "\\fR", out);
            continue;
        }
        if (*text == ' ')
            option = false;
        else if (*text == '-' && strchr(" (", before) != NULL)
            option = true;
        print_character(out, *text, quoted || option);
    }
}

static void print_literal(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        print_character(out, *text, true);
}

/* Prints a sentence: with a full stop, and with a capital unless the first word is one that is
 * typed ("auto: ..."). */
static void print_sentence(FILE *out, const char *text)
{
    char sentence[PAGE_TEXT];
    size_t letters = strspn(text, "abcdefghijklmnopqrstuvwxyz");
    snprintf(sentence, sizeof sentence, "%s", text);
    if (text[letters] == ' ')
        sentence[0] = (char)toupper((unsigned char)sentence[0]);
    fputs("\\&", out);
    print_text(out, sentence);
    fputs(".\n", out);
}

/* Prints words that are typed in bold, and words in capitals, which stand for others, in
 * italics. */
static void print_placeholder(FILE *out, const char *text)
{
    while (*text != '\0') {
        size_t capitals = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        size_t others = strcspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ[]|., ");
        size_t length = capitals > 0 ? capitals : others > 0 ? others : 1;
        fputs(capitals > 0 ? "\\fI" : others > 0 ? "\\fB" : "", out);
        for (size_t i = 0; i < length; i++)
            print_character(out, text[i], true);
        fputs(capitals > 0 || others > 0 ? "\\fR" : "", out);
        text += length;
    }
}

static void print_tagged(FILE *out, const char *tag, const char *text)
{
    fputs(".TP\n\\fB", out);
    print_literal(out, tag);
    fputs("\\fR\n", out);
    print_sentence(out, text);
}

static void print_version(FILE *out)
{
    fputs(PIPELINE_VERSION, out);
}

/* Prints the date of the page's sources, never that of the build: SOURCE_DATE_EPOCH is seconds
 * since 1970, as reproducible-builds.org has it. Prints nothing without it. */
static void print_date(FILE *out)
{
    char text[32], *end;
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    if (epoch == NULL || *epoch == '\0')
        return;
    time_t seconds = (time_t)strtoll(epoch, &end, 10);
    struct tm day;
    if (*end == '\0' && gmtime_r(&seconds, &day) != NULL &&
        strftime(text, sizeof text, "%Y-%m-%d", &day) > 0)
        fputs(text, out);
}

static void print_prefix(FILE *out)
{
    print_literal(out, page_prefix);
}

/* Writes a command's usage, for `list` with all its words. */
static void usage_text(const struct command_row *row, char text[PAGE_TEXT])
{
    static struct page_words words;
    snprintf(text, PAGE_TEXT, "%s", row->usage);
    if (row->command != COMMAND_LIST)
        return;
    page_list_words(&words);
    size_t length = (size_t)snprintf(text, PAGE_TEXT, "%s [", row->name);
    for (int i = 0; i < words.count; i++)
        length += (size_t)snprintf(text + length, PAGE_TEXT - length, "%s%s", i > 0 ? "|" : "",
                                   words.items[i].text);
    snprintf(text + length, PAGE_TEXT - length, "]");
}

static void print_usage(FILE *out, const struct command_row *row)
{
    char usage[PAGE_TEXT];
    usage_text(row, usage);
    fputs("\\fBpipeline\\fR ", out);
    print_placeholder(out, usage);
    fputc('\n', out);
}

static void print_synopsis(FILE *out)
{
    for (const struct command_row *row = command_rows; row->name != NULL; row++) {
        fputs(row == command_rows ? "" : ".br\n", out);
        print_usage(out, row);
    }
}

static void print_commands(FILE *out)
{
    for (const struct command_row *row = command_rows; row->name != NULL; row++) {
        fputs(".TP\n", out);
        print_usage(out, row);
        print_sentence(out, row->summary);
    }
}

static void print_row(FILE *out, const struct option_row *row)
{
    char limits[PAGE_TEXT];
    const char *placeholder = row->placeholder != NULL ? row->placeholder : "";
    fputs(".TP\n", out);
    if (row->letter != 0) {
        fprintf(out, "\\fB\\-%c\\fR%s", row->letter, placeholder[0] != '\0' ? " " : "");
        print_placeholder(out, placeholder);
        fputs(", ", out);
    }
    fputs("\\fB\\-\\-", out);
    print_literal(out, row->name);
    fprintf(out, "%s\\fR", placeholder[0] != '\0' ? "=" : "");
    print_placeholder(out, placeholder);
    fputc('\n', out);
    print_sentence(out, row->help);
    if (page_limits(row, limits)[0] != '\0') {
        fputs("Allowed: ", out);
        print_text(out, limits);
        fputs(".\n", out);
    }
    if (page_fallback(row) != NULL) {
        fputs("Default: ", out);
        print_text(out, page_fallback(row));
        fputs(".\n", out);
    }
}

static void print_rows(FILE *out, enum option_scope scope)
{
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

static void print_kernels(FILE *out)
{
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++)
        print_tagged(out, kernel->name, kernel->summary);
}

static void print_machines(FILE *out)
{
    static struct page_words words;
    page_words(&option_rows[OPTION_DEVICE], &words);
    for (int i = 0; i < words.count; i++) {
        if (words.items[i].summary[0] != '\0')
            print_tagged(out, words.items[i].text, words.items[i].summary);
    }
}

static void print_timelines(FILE *out)
{
    for (const struct timeline_writer *row = timeline_writers; row->ending != NULL; row++)
        print_tagged(out, row->ending, row->summary);
}

const struct page_place manual_places[] = {
    {"version", false, print_version},
    {"date", false, print_date},
    {"prefix", false, print_prefix},
    {"man-synopsis", true, print_synopsis},
    {"man-commands", true, print_commands},
    {"man-run-options", true, print_run_options},
    {"man-program-options", true, print_program_options},
    {"man-kernels", true, print_kernels},
    {"man-machines", true, print_machines},
    {"man-timelines", true, print_timelines},
    {NULL, false, NULL},
};
