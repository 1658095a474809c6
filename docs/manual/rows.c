/* rows.c - the values of an option, as the tables have them. */
#include "core/units.h"
#include "machine/machine.h"
#include "pages.h"
#include "plan/mistake.h"
#include "writers/writer.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *page_prefix;

enum takes page_takes(const struct option_row *row)
{
    if (row->placeholder == NULL)
        return TAKES_NOTHING;
    if (row == &option_rows[OPTION_SWEEP])
        return TAKES_SWEEP;
    if (row->type == TYPE_CHAIN)
        return TAKES_LIST;
    if (row == &option_rows[OPTION_MACHINE])
        return TAKES_MACHINE;
    if (row->type == TYPE_FILE)
        return TAKES_FILE;
    if (row->type == TYPE_FILES)
        return TAKES_TIMELINE;
    return row->type == TYPE_DEVICE ? TAKES_DEVICE : TAKES_TEXT;
}

static void add(struct page_words *words, const char *text, const char *summary)
{
    if (words->count == PAGE_WORDS_MAX) {
        fprintf(stderr, "print-pages: more than %d values to choose from\n", PAGE_WORDS_MAX);
        exit(EXIT_FAILURE);
    }
    struct page_word *word = &words->items[words->count++];
    snprintf(word->text, sizeof word->text, "%s", text);
    snprintf(word->summary, sizeof word->summary, "%s", summary);
}

/* Copies the part of a placeholder up to the next '|', and returns the rest; NULL at the end.
 */
static const char *next_part(const char *rest, char part[PAGE_TEXT])
{
    if (rest == NULL || *rest == '\0')
        return NULL;
    size_t length = strcspn(rest, "|");
    snprintf(part, PAGE_TEXT, "%.*s", (int)length, rest);
    return rest[length] == '|' ? rest + length + 1 : rest + length;
}

/* Adds the words of a placeholder that are typed as they are, in small letters or digits:
 * "auto" and "cuda" of "auto|sim:NAME|cuda[:I]". */
static void add_literals(const struct option_row *row, struct page_words *words)
{
    char part[PAGE_TEXT];
    for (const char *rest = row->placeholder; (rest = next_part(rest, part)) != NULL;) {
        part[strcspn(part, "[")] = '\0';
        const char *capital = part;
        while (*capital != '\0' && !isupper((unsigned char)*capital))
            capital++;
        if (part[0] != '\0' && *capital == '\0')
            add(words, part, "");
    }
}

static void add_choices(const struct option_row *row, struct page_words *words)
{
    for (int i = 0; row->choices[i] != NULL; i++)
        add(words, row->choices[i], "");
}

/* Adds the machines' names behind `prefix`. */
static void add_machines(struct page_words *words, const char *prefix)
{
    for (const struct embedded *row = machine_texts; row->name != NULL; row++) {
        struct machine machine;
        char name[64];
        snprintf(name, sizeof name, "%s%s", prefix, row->name);
        if (machine_parse(&machine, row->text, row->name, NULL) == STATUS_OK)
            add(words, name, machine.summary);
    }
}

static void add_kernels(struct page_words *words)
{
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++)
        add(words, kernel->name, kernel->summary);
}

static void add_mistakes(struct page_words *words)
{
    for (const struct mistake_row *row = mistake_rows; row->name != NULL; row++)
        add(words, row->name, row->summary);
}

static void add_endings(struct page_words *words)
{
    for (const struct timeline_writer *row = timeline_writers; row->ending != NULL; row++)
        add(words, row->ending, row->summary);
}

/* Adds "tiles=", or "order=depth,breadth" where the values are few. */
static void add_sweep(struct page_words *words, const struct option_row *row)
{
    static const char *const flags[] = {"no", "yes", NULL};
    char values[PAGE_TEXT / 2] = "", range[PAGE_TEXT];
    const char *const *list = row->type == TYPE_FLAG ? flags : row->choices;
    for (; list != NULL && *list != NULL; list++)
        text_add(values, sizeof values, ",", "%s", *list);
    snprintf(range, sizeof range, "%s=%s", row->name, values);
    add(words, range, row->help);
}

static void add_sweeps(struct page_words *words)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (option_is_sweepable(&option_rows[i]))
            add_sweep(words, &option_rows[i]);
    }
}

void page_words(const struct option_row *row, struct page_words *words)
{
    words->count = 0;
    if (row->type == TYPE_CHAIN)
        add_kernels(words);
    else if (row->type == TYPE_MISTAKE)
        add_mistakes(words);
    else if (row->type == TYPE_FILES)
        add_endings(words);
    else if (row == &option_rows[OPTION_SWEEP])
        add_sweeps(words);
    else if (row->choices != NULL)
        add_choices(row, words);
    else if (row->placeholder != NULL)
        add_literals(row, words);
    if (row->type == TYPE_DEVICE)
        add_machines(words, "sim:");
    if (row == &option_rows[OPTION_MACHINE])
        add_machines(words, "");
}

const char *page_limits(const struct option_row *row, char text[PAGE_TEXT])
{
    char least[UNITS_TEXT], most[UNITS_TEXT], label[LABEL_MAX];
    text[0] = '\0';
    if (row->placeholder == NULL || row->type == TYPE_FILE || row->type == TYPE_FILES ||
        row->type == TYPE_NAME)
        return text;
    if (row->type == TYPE_NUMBER && row->suffixes) {
        snprintf(text, PAGE_TEXT, "%s to %s", units_count(row->least, least),
                 units_count(row->most, most));
        return text;
    }
    snprintf(text, PAGE_TEXT, "%s", option_values(row, label));
    return text;
}

const char *page_fallback(const struct option_row *row)
{
    return row->fallback != NULL ? row->fallback : row->absent;
}

const char *page_summary(const struct option_row *row, char text[PAGE_TEXT])
{
    const char *fallback = page_fallback(row);
    if (fallback != NULL)
        snprintf(text, PAGE_TEXT, "%s (default %s)", row->help, fallback);
    else
        snprintf(text, PAGE_TEXT, "%s", row->help);
    return text;
}

void page_list_words(struct page_words *words)
{
    words->count = 0;
    for (int i = 0; list_words[i] != NULL; i++)
        add(words, list_words[i], "");
}

void page_lesson_words(struct page_words *words)
{
    words->count = 0;
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++)
        add(words, text->name, "");
}

void page_topic_words(struct page_words *words)
{
    words->count = 0;
    for (const struct command_row *row = command_rows; row->name != NULL; row++)
        add(words, row->name, row->summary);
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (command_find(option_rows[i].name) == NULL)
            add(words, option_rows[i].name, option_rows[i].help);
    }
}
