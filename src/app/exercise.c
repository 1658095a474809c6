/* exercise.c - `pipeline exercise`: programs to be made faster, from programs/exercises/. */
#include "app/commands.h"

#include "options/exercise.h"
#include "term/output_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_meant(const struct exercise *exercise, const char *word)
{
    const bool number = word[0] != '\0' && word[strspn(word, "0123456789")] == '\0';
    return strcmp(word, exercise->name) == 0 || strcmp(word, exercise->name + 3) == 0 ||
           (number && strtoul(word, NULL, 10) == strtoul(exercise->name, NULL, 10));
}

/* Writes a program to a file that is not there yet, or to standard output. */
static enum status write_program(const char *text, const char *path, struct error *error)
{
    struct output_file file;
    if (path == NULL || strcmp(path, "-") == 0) {
        fputs(text, stdout);
        return STATUS_OK;
    }
    if (access(path, F_OK) == 0)
        return error_set(error, STATUS_USAGE, "exercise: %.300s is there already", path);
    enum status status = output_file_open(&file, path, error);
    if (status != STATUS_OK)
        return status;
    fputs(text, file.stream);
    status = output_file_commit(&file, error);
    output_file_discard(&file);
    return status;
}

enum status exercise_command(const struct options *options, struct error *error)
{
    struct exercise exercise;
    const bool checks = options->word_count == 3; /* check N FILE */
    const char *word = options->word_count > 0 ? options->words[checks ? 1 : 0] : NULL;
    if (options->format == FORMAT_CSV || (!checks && options->format != FORMAT_TEXT))
        return error_set(error, STATUS_USAGE,
                         checks ? "exercise check: --format=csv: a grade is text or json"
                                : "exercise: only `exercise check` has a --format");
    if (word == NULL && (options->answer || options->output != NULL))
        return error_set(error, STATUS_USAGE,
                         "exercise: which one? `pipeline exercise N --answer -o FILE.cu`");
    for (const struct embedded *text = exercise_texts; exercise_next(&text, &exercise);) {
        if (word == NULL)
            printf("%.2s  %s\n", exercise.name, exercise.title);
        else if (is_meant(&exercise, word))
            return checks ? exercise_check(&exercise, options->words[2], options, error)
                          : write_program(options->answer ? exercise.answer : exercise.start,
                                          options->output, error);
    }
    return word == NULL ? STATUS_OK
                        : error_set(error, STATUS_USAGE,
                                    "there is no exercise %.100s: `pipeline exercise` lists "
                                    "them",
                                    word);
}
