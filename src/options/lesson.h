/* lesson.h - the lessons of configs/lessons/: config files that show one thing each.
 *
 * A lesson's title, its question, what to remember of it, what a reader may guess before it is
 * run and what it shows stand in the comments at its file's head, and nowhere else:
 *
 *     ; 02-pinned.ini - Pinned against pageable memory
 *     ; Question: Why does nothing overlap?
 *     ; Message: Pageable memory makes every call wait.
 *     ; Guess: faster pageable pinned 1,2,10,50 - How many times faster is pinned memory?
 *     ; Exit: 1                                  where a result is wrong on purpose
 *     ; Live: How slow it is depends on the host. what may go wrong before an audience
 *     ; Words: **2-way**: ...                  what the choices mean, on a slide
 *     ;
 *     ; Memory from malloc() is pageable. ...    to the end of the comment
 *
 * A guess has a kind, what that kind needs, and after " - " its question:
 *
 *     faster A B F,F,...      how many times as fast as run A is run B? time(A) / time(B)
 *     either A B              which of two runs is faster, or are they alike?
 *     fastest, slowest        which of all runs is it?
 *     cause RUN CODE,CODE...  which cause costs the run most, by its fix? its first named
 *                             verdict
 *
 * No answer stands in a head: it is what the runs give. The reader does no I/O. */
#ifndef PIPELINE_OPTIONS_LESSON_H
#define PIPELINE_OPTIONS_LESSON_H

#include "core/arena.h"
#include "core/embedded.h"
#include "core/status.h"
#include "plan/settings.h"

enum {
    LESSON_TEXT = 160,
    LESSON_MESSAGE = 81, /* a slide's title */
    LESSON_GUESSES_MAX = 4,
    LESSON_CHOICES_MAX = 6,
    LESSON_PARAGRAPH = 4096,
};

enum guess_kind {
    GUESS_FASTER,
    GUESS_EITHER,
    GUESS_FASTEST,
    GUESS_SLOWEST,
    GUESS_CAUSE,
    GUESS_KIND_COUNT
};

/* The kinds' names, as heads have them. */
extern const char *const guess_kind_names[GUESS_KIND_COUNT];

struct lesson_guess {
    enum guess_kind kind;
    char runs[2][RUN_NAME_MAX]; /* two of faster and either, one of cause */
    int run_count;
    double factors[LESSON_CHOICES_MAX]; /* faster: each a fifth or more above the last */
    int codes[LESSON_CHOICES_MAX];      /* cause: enum verdict_code, by their names */
    int choice_count;                   /* of factors or codes */
    char question[LESSON_TEXT];
    int guessed; /* the reader's choice, counted from 1; 0: none */
};

struct lesson {
    char title[LESSON_TEXT];
    char question[LESSON_TEXT];
    char message[LESSON_MESSAGE];
    struct lesson_guess guesses[LESSON_GUESSES_MAX]; /* at least one */
    int guess_count;
    int exit_code; /* of a run of it: 0, or 1 */
};

/* Reads the head of `text`, the lesson called `name` ("02-pinned"). STATUS_FAILED, and *lesson
 * untouched, where a line is missing, too long, or names a file, a run or a cause that is not
 * there. */
enum status lesson_read(struct lesson *lesson, const char *name, const char *text,
                        struct error *error);

/* Returns what the head of any config file says that its runs show, kept in `storage`; NULL: it
 * says nothing. */
const char *lesson_message(const char *text, struct arena *storage);

/* Gives `take` the rest of the head's comments, which say what a run of it shows, paragraph by
 * paragraph: each is one line without a newline, cut at LESSON_PARAGRAPH - 1 bytes. */
void lesson_explain(const char *text, void (*take)(void *context, const char *paragraph),
                    void *context);

/* The lesson that `word` means: "1", "01-serial" or "serial"; NULL: there is none. */
const struct embedded *lesson_find(const char *word);

/* The lesson's name nearest to `word`, without its number; NULL if none is near. */
const char *lesson_nearest(const char *word);

#endif
