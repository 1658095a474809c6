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

/* A guess being read. `words` are what is left of its line; `complaint` says what is wrong. */
struct guess_line {
    struct lesson_guess *guess;
    const char *text; /* the lesson's */
    char *words;
    char complaint[LESSON_TEXT];
};

static bool guess_refuse(struct guess_line *line, const char *why, const char *what)
{
    snprintf(line->complaint, sizeof line->complaint, "%s%.100s", why, what);
    return false;
}

/* Takes the next word; "" where there is none. */
static char *word_take(struct guess_line *line)
{
    char *word = line->words + strspn(line->words, " ");
    line->words = word + strcspn(word, " ");
    if (line->words[0] != '\0')
        *line->words++ = '\0';
    return word;
}

static bool runs_take(struct guess_line *line, int count)
{
    struct lesson_guess *guess = line->guess;
    for (; guess->run_count < count; guess->run_count++) {
        const char *name = word_take(line);
        if (name[0] == '\0')
            return guess_refuse(line, "it names too few runs", "");
        if (strlen(name) >= RUN_NAME_MAX || !run_is_there(line->text, name))
            return guess_refuse(line, "there is no run ", name);
        strcpy(guess->runs[guess->run_count], name);
    }
    if (count == 2 && strcmp(guess->runs[0], guess->runs[1]) == 0)
        return guess_refuse(line, "it names one run twice: ", guess->runs[0]);
    return true;
}

/* Two factors that are closer than a fifth could both be the answer. */
static bool factor_take(struct guess_line *line, int at, const char *word)
{
    double *factors = line->guess->factors;
    char *end;
    factors[at] = strtod(word, &end);
    if (end == word || *end != '\0' || !(factors[at] > 0 && factors[at] <= 1000))
        return guess_refuse(line, "a factor should be above 0, not ", word);
    return at == 0 || factors[at] > 1.19 * factors[at - 1] ||
           guess_refuse(line, "each factor should be a fifth above the last, not ", word);
}

/* The order of the alphabet tells nothing of the answer. */
static bool code_take(struct guess_line *line, int at, const char *word)
{
    int *codes = line->guess->codes;
    codes[at] = verdict_code_find(word);
    if (codes[at] < 0)
        return guess_refuse(line, "there is no cause ", word);
    return at == 0 || strcmp(verdict_rows[codes[at - 1]].name, word) < 0 ||
           guess_refuse(line, "causes stand in alphabetical order, not ", word);
}

static bool choices_take(struct guess_line *line,
                         bool (*take)(struct guess_line *line, int at, const char *word))
{
    struct lesson_guess *guess = line->guess;
    char *rest = NULL, *list = word_take(line);
    for (char *word = strtok_r(list, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        if (guess->choice_count == LESSON_CHOICES_MAX)
            return guess_refuse(line, "it offers too many choices", "");
        if (!take(line, guess->choice_count++, word))
            return false;
    }
    return guess->choice_count >= 2 ||
           guess_refuse(line, "it should offer two choices or more", "");
}

/* Reads what follows the name of the guess's kind. */
static bool parts_take(struct guess_line *line)
{
    switch (line->guess->kind) {
    case GUESS_FASTER:
        return runs_take(line, 2) && choices_take(line, factor_take);
    case GUESS_EITHER:
        return runs_take(line, 2);
    case GUESS_CAUSE:
        return runs_take(line, 1) && choices_take(line, code_take);
    default:
        return true;
    }
}

/* Reads the guess whose words, one line, are at `line->words`. */
static bool guess_read(struct guess_line *line)
{
    struct lesson_guess *guess = line->guess;
    char *question = strstr(line->words, " - ");
    if (question != NULL)
        *question = '\0';
    const char *name = word_take(line);
    while (guess->kind < GUESS_KIND_COUNT && strcmp(guess_kind_names[guess->kind], name) != 0)
        guess->kind++;
    if (guess->kind == GUESS_KIND_COUNT)
        return guess_refuse(line, "there is no guess of the kind ", name);
    if (!parts_take(line))
        return false;
    const char *more = word_take(line);
    if (more[0] != '\0')
        return guess_refuse(line, "it has a word too many: ", more);
    return (question != NULL &&
            line_copy(question + 3, guess->question, sizeof guess->question)) ||
           guess_refuse(line, "it has no ' - ' and a question behind that", "");
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
        struct guess_line line = {.guess = &lesson->guesses[lesson->guess_count++],
                                  .text = text,
                                  .words = words,
                                  .complaint = "it is empty or too long"};
        if (!line_copy(from, words, sizeof words) || !guess_read(&line))
            return error_set(error, STATUS_FAILED, "lesson %s: '; Guess: %.*s': %s", name,
                             (int)strcspn(from, "\n"), from, line.complaint);
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

const char *lesson_message(const char *text, struct kept_text **storage)
{
    char message[LESSON_MESSAGE];
    const char *words = head_find(text, "Message: ");
    return words != NULL && line_copy(words, message, sizeof message)
               ? kept_texts_add(storage, message)
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
