/* pages.h - the man page, docs/options.md and the shells' completions, made from the program's
 * own tables.
 *
 * Nothing of this is part of the program: print-pages links its tables, fills the templates
 * that lie here (pipeline.1, options.md, complete.bash, complete.zsh, complete.fish) and is run
 * by the Makefile. */
#ifndef PIPELINE_PAGES_H
#define PIPELINE_PAGES_H

#include "options/table.h"

/* The kinds of values that an option may take. */
enum takes {
    TAKES_NOTHING,
    TAKES_TEXT,     /* a number or the like, or one of page_words() */
    TAKES_LIST,     /* page_words(), separated by commas */
    TAKES_FILE,     /* any */
    TAKES_TIMELINE, /* a file with one of the endings that page_words() gives */
    TAKES_MACHINE,  /* one of page_words(), or FILE.ini */
    TAKES_DEVICE,   /* one of page_words(), or sim:FILE.ini */
    TAKES_SWEEP,    /* one of page_words(), with values behind those that end in '=' */
};

enum { PAGE_TEXT = 512, PAGE_WORDS_MAX = 256 };

/* A value to choose; the summary may be empty. */
struct page_word {
    char text[64], summary[160];
};
struct page_words {
    struct page_word items[PAGE_WORDS_MAX];
    int count;
};

/* The kind of value that the option takes, and the values there are to choose from, if any. */
enum takes page_takes(const struct option_row *row);
void page_words(const struct option_row *row, struct page_words *words);

/* Writes "1 to 16M" or "depth, breadth"; nothing where the placeholder says it all. */
const char *page_limits(const struct option_row *row, char text[PAGE_TEXT]);

/* The default, or NULL. */
const char *page_fallback(const struct option_row *row);

/* The row's help with its default, for one line. */
const char *page_summary(const struct option_row *row, char text[PAGE_TEXT]);

/* The words that `pipeline list` takes. */
void page_list_words(struct page_words *words);

/* The lessons' names, and the commands and options that `pipeline help` explains. */
void page_lesson_words(struct page_words *words);
void page_topic_words(struct page_words *words);

/* A place in a template, "@name@", and the function that prints it there. A `block` stands on a
 * line of its own and prints whole lines. */
struct page_place {
    const char *name;
    bool block;
    void (*print)(FILE *out);
};
extern const struct page_place manual_places[]; /* each ended by a row with no name */
extern const struct page_place bash_places[];
extern const struct page_place zsh_places[];
extern const struct page_place fish_places[];
extern const struct page_place markdown_places[];
extern const struct page_place plot_places[];

/* The folder of the installed program, as print-pages was told it. */
extern const char *page_prefix;

#endif
