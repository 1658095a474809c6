/* lesson.c - finds the lessons, and reads the comments at the head of a lesson's file. */
#include "options/lesson.h"

#include "causes/verdict.h"
#include "core/names.h"
#include "options/table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const guess_kind_names[GUESS_KIND_COUNT] = {
    [GUESS_FASTER] = "faster",   [GUESS_EITHER] = "either", [GUESS_FASTEST] = "fastest",
    [GUESS_SLOWEST] = "slowest", [GUESS_CAUSE] = "cause",
};

/* --- the list --- */

/* A lesson's name without its number: "serial" of "01-serial". */
static const char *lesson_word(const struct embedded *lesson)
{
    return lesson->name + strcspn(lesson->name, "-") + 1;
}

const struct embedded *lesson_find(const char *word)
{
    bool is_number = word[0] != '\0' && word[strspn(word, "0123456789")] == '\0';
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++) {
        if (strcmp(word, text->name) == 0 || strcmp(word, lesson_word(text)) == 0 ||
            (is_number && strtoul(word, NULL, 10) == strtoul(text->name, NULL, 10)))
            return text;
    }
    return NULL;
}

const char *lesson_nearest(const char *word)
{
    struct nearest nearest = nearest_begin(word);
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++)
        nearest_offer(&nearest, lesson_word(text));
    return nearest.best;
}

/* --- lines of a head --- */

/* Copies the rest of the line at `from`. Returns false where that is nothing, or does not fit.
 */
static bool line_copy(const char *from, char *copy, size_t size)
{
    size_t length = strcspn(from, "\n");
    if (length == 0 || length >= size)
        return false;
    memcpy(copy, from, length);
    copy[length] = '\0';
    return true;
}

/* Returns the text behind "; " and `key` where `line` begins with them, else NULL. */
static const char *line_says(const char *line, const char *key)
{
    size_t length = strlen(key);
    return strncmp(line, "; ", 2) == 0 && strncmp(line + 2, key, length) == 0
               ? line + 2 + length
               : NULL;
}

/* Returns the line behind the one at `line` where it belongs to the head as well, else NULL. */
static const char *line_next(const char *line)
{
    line = strchr(line, '\n');
    return line != NULL && line[1] == ';' ? line + 1 : NULL;
}

/* Finds the first comment of the head, from the line at `line` on, that begins with `key`, and
 * returns the text behind that; NULL: there is none. */
static const char *head_find(const char *line, const char *key)
{
    for (line = line[0] == ';' ? line : NULL; line != NULL; line = line_next(line)) {
        const char *words = line_says(line, key);
        if (words != NULL)
            return words;
    }
    return NULL;
}

/* Returns whether the lesson has a section of that name. */
static bool run_is_there(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (; text != NULL; text = strchr(text, '\n')) {
        text += text[0] == '\n';
        if (text[0] == '[' && strncmp(text + 1, name, length) == 0 && text[1 + length] == ']')
            return strcmp(name, "global") != 0;
    }
    return false;
}

/* --- guesses --- */

/* Takes `word` as choice `at`, or returns what is wrong with it. Two factors that are closer
 * than a fifth could both be the answer. */
static const char *factor_take(struct lesson_guess *guess, int at, const char *word)
{
    double *factor = &guess->factors[at];
    char *end;
    *factor = strtod(word, &end);
    if (*end != '\0' || !(*factor > 0 && *factor <= 1000))
        return "a factor should be above 0";
    return at > 0 && *factor <= 1.19 * factor[-1]
               ? "each factor should be a fifth above the last"
               : NULL;
}

/* Does the same with a cause. The order of the alphabet tells nothing of the answer. */
static const char *code_take(struct lesson_guess *guess, int at, const char *word)
{
    int *code = &guess->codes[at];
    *code = verdict_code_find(word);
    if (*code < 0)
        return "it names a cause that is not there";
    return at > 0 && strcmp(verdict_rows[code[-1]].name, word) >= 0
               ? "its causes should stand in alphabetical order"
               : NULL;
}

/* How many runs a guess of each kind names, and what takes the choices behind them. */
static const struct {
    int runs;
    const char *(*take)(struct lesson_guess *guess, int at, const char *word);
} shapes[GUESS_KIND_COUNT] = {
    [GUESS_FASTER] = {2, factor_take},
    [GUESS_EITHER] = {2, NULL},
    [GUESS_CAUSE] = {1, code_take},
};

/* Reads the guess of lesson `text` whose line is `words`. Returns what is wrong with it, or
 * NULL.
 */
static const char *guess_read(struct lesson_guess *guess, const char *text, char *words)
{
    char *question = strstr(words, " - "), *rest = NULL;
    if (question != NULL)
        *question = '\0';
    const char *word = strtok_r(words, " ", &rest), *wrong = NULL;
    while (guess->kind < GUESS_KIND_COUNT &&
           (word == NULL || strcmp(guess_kind_names[guess->kind], word) != 0))
        guess->kind++;
    if (guess->kind == GUESS_KIND_COUNT)
        return "there is no guess of that kind";
    for (; guess->run_count < shapes[guess->kind].runs; guess->run_count++) {
        word = strtok_r(NULL, " ", &rest);
        if (word == NULL)
            return "it names too few runs";
        if (strlen(word) >= RUN_NAME_MAX || !run_is_there(text, word))
            return "it names a run that is not there";
        strcpy(guess->runs[guess->run_count], word);
    }
    if (guess->run_count == 2 && strcmp(guess->runs[0], guess->runs[1]) == 0)
        return "it names one run twice";
    if (shapes[guess->kind].take != NULL) {
        char *choices = strtok_r(NULL, " ", &rest), *others = NULL;
        for (word = choices != NULL ? strtok_r(choices, ",", &others) : NULL; word != NULL;
             word = strtok_r(NULL, ",", &others)) {
            if (guess->choice_count == LESSON_CHOICES_MAX)
                return "it offers too many choices";
            wrong = shapes[guess->kind].take(guess, guess->choice_count++, word);
            if (wrong != NULL)
                return wrong;
        }
        if (guess->choice_count < 2)
            return "it should offer two choices or more";
    }
    if (strtok_r(NULL, " ", &rest) != NULL)
        return "it has a word too many";
    return question != NULL && line_copy(question + 3, guess->question, sizeof guess->question)
               ? NULL
               : "it has no ' - ' and a question behind that";
}

static enum status guesses_read(struct lesson *lesson, const char *name, const char *text,
                                struct error *error)
{
    const char *from = text;
    while ((from = head_find(from, "Guess: ")) != NULL) {
        char words[2 * LESSON_TEXT];
        if (lesson->guess_count == LESSON_GUESSES_MAX)
            return error_set(error, STATUS_FAILED, "lesson %s: more than %d lines '; Guess:'",
                             name, LESSON_GUESSES_MAX);
        const char *wrong =
            line_copy(from, words, sizeof words)
                ? guess_read(&lesson->guesses[lesson->guess_count++], text, words)
                : "it is empty or too long";
        if (wrong != NULL)
            return error_set(error, STATUS_FAILED, "lesson %s: '; Guess: %.*s': %s", name,
                             (int)strcspn(from, "\n"), from, wrong);
        from += strcspn(from, "\n");
        from += from[0] == '\n';
    }
    return lesson->guess_count > 0
               ? STATUS_OK
               : error_set(error, STATUS_FAILED,
                           "lesson %s: its head has no line '; Guess: ...'", name);
}

/* --- the head --- */

/* Reads the line "; KEY: WORDS" into `copy`. */
static enum status words_read(const char *name, const char *text, const char *key, char *copy,
                              size_t size, struct error *error)
{
    char start[LESSON_TEXT];
    snprintf(start, sizeof start, "%s: ", key);
    const char *words = head_find(text, start);
    if (words == NULL || !line_copy(words, copy, size))
        return error_set(error, STATUS_FAILED,
                         "lesson %s: its head has no line '; %s: ...' of at most %zu bytes",
                         name, key, size - 1);
    return STATUS_OK;
}

enum status lesson_read(struct lesson *lesson, const char *name, const char *text,
                        struct error *error)
{
    char first[LESSON_TEXT];
    struct lesson read = {0};
    int length = snprintf(first, sizeof first, "%s.ini - ", name);
    const char *title =
        length > 0 && (size_t)length < sizeof first ? line_says(text, first) : NULL;
    const char *code = head_find(text, "Exit: ");
    if (title == NULL || !line_copy(title, read.title, sizeof read.title))
        return error_set(error, STATUS_FAILED,
                         "lesson %s: its first line should be '; %s.ini - TITLE'", name, name);
    enum status status =
        words_read(name, text, "Question", read.question, sizeof read.question, error);
    if (status == STATUS_OK)
        status = words_read(name, text, "Message", read.message, sizeof read.message, error);
    if (status == STATUS_OK)
        status = guesses_read(&read, name, text, error);
    if (status == STATUS_OK && code != NULL && strncmp(code, "1\n", 2) != 0)
        status =
            error_set(error, STATUS_FAILED,
                      "lesson %s: '; Exit:' is of results that are wrong: allowed is 1", name);
    read.exit_code = code != NULL;
    if (status == STATUS_OK)
        *lesson = read;
    return status;
}

const char *lesson_message(const char *text, struct arena *storage)
{
    char message[LESSON_MESSAGE];
    const char *words = head_find(text, "Message: ");
    return words != NULL && line_copy(words, message, sizeof message)
               ? arena_text(storage, message)
               : NULL;
}

/* --- the explanation --- */

/* Returns the empty line before the head's explanation, the first one behind its question.
 * NULL: there is none. */
static const char *explanation_find(const char *text)
{
    const char *line = head_find(text, "Question: ");
    while (line != NULL && (line = line_next(line)) != NULL && line[1] != '\n')
        ;
    return line;
}

void lesson_explain(const char *text, void (*take)(void *context, const char *paragraph),
                    void *context)
{
    char paragraph[LESSON_PARAGRAPH] = "";
    for (const char *line = explanation_find(text), *next; line != NULL; line = next) {
        size_t rest = strcspn(line, "\n");
        next = line_next(line);
        if (rest > 2 && strlen(paragraph) + rest < sizeof paragraph)
            text_add(paragraph, sizeof paragraph, " ", "%.*s", (int)(rest - 2), line + 2);
        if ((rest <= 2 || next == NULL) && paragraph[0] != '\0') {
            take(context, paragraph);
            paragraph[0] = '\0';
        }
    }
}
