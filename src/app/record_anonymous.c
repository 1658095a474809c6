/* record_anonymous.c - a recording without the names that it is to leave out: `pipeline record
 * --anonymous`. Lines are changed as text: all but a few stay as they are, and a text in one is
 * no longer behind than before. */
#include "app/record.h"

#include "core/anonymous.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The lines that have names, by how they begin, and what cuts these. */
static const struct named {
    const char *begin;
    void (*cut)(char *text);
} named[] = {
    {"[\"name\",", anonymous_cut_kernel},
    {"[\"frames\",", anonymous_cut_file},
    {"[\"from\",", anonymous_cut_file},
    {"[\"line\",", anonymous_cut_file},
};

/* Returns the quote that ends the text behind `at`, or NULL. */
static char *text_end(char *at)
{
    while (*at != '"' && *at != '\0')
        at += at[0] == '\\' && at[1] != '\0' ? 2 : 1;
    return *at == '"' ? at : NULL;
}

/* A recording that is written anew. */
struct rewriting {
    FILE *out;
    char program[NAME_MAX + 1]; /* the file's name of the program, as it stands in the lines */
};

/* Writes a line whose texts behind `at` are cut; the program's own file is one of those. */
static void put_cut(const struct rewriting *rewriting, char *line, char *at,
                    void (*cut)(char *text))
{
    FILE *out = rewriting->out;
    for (char *quote, *end; (quote = strchr(at, '"')) != NULL; at = end + 1) {
        end = text_end(quote + 1);
        if (end == NULL)
            break;
        fprintf(out, "%.*s", (int)(quote + 1 - line), line);
        *end = '\0';
        cut(quote + 1);
        const bool own = strcmp(quote + 1, rewriting->program) == 0;
        fprintf(out, "%s\"", own ? ANONYMOUS_PROGRAM : quote + 1);
        line = end + 1;
    }
    fputs(line, out);
}

static void put_line(struct rewriting *rewriting, char *line)
{
    static const char program[] = "\"program\":\"";
    FILE *out = rewriting->out;
    char *found = line[0] == '{' ? strstr(line, program) : NULL;
    if (found != NULL) {
        char *text = found + strlen(program), *end = text_end(text);
        fprintf(out, "%.*s%s", (int)(text - line), line, ANONYMOUS_PROGRAM);
        fputs(end != NULL ? end : "\"}\n", out);
        if (end != NULL)
            *end = '\0';
        snprintf(rewriting->program, sizeof rewriting->program, "%s", anonymous_file(text));
        return;
    }
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        const size_t length = strlen(named[i].begin);
        if (strncmp(line, named[i].begin, length) == 0) {
            put_cut(rewriting, line, line + length, named[i].cut);
            return;
        }
    }
    fputs(line, out);
}

/* Returns 0, or an errno. */
static int rewrite(FILE *file, FILE *out)
{
    struct rewriting rewriting = {.out = out};
    char *line = NULL;
    size_t room = 0;
    errno = 0;
    while (getline(&line, &room, file) > 0)
        put_line(&rewriting, line);
    const bool whole = feof(file) && fflush(out) == 0 && !ferror(out);
    free(line);
    return whole ? 0 : errno != 0 ? errno : ENOMEM;
}

enum status record_anonymise(const char *path, struct error *error)
{
    char *other = NULL;
    FILE *file = fopen(path, "re"), *out = NULL;
    int failure = file == NULL ? errno : 0;
    if (failure == 0 && asprintf(&other, "%s.new", path) < 0) {
        other = NULL;
        failure = ENOMEM;
    }
    if (failure == 0 && (out = fopen(other, "wxe")) == NULL)
        failure = errno;
    if (failure == 0)
        failure = rewrite(file, out);
    if (out != NULL && fclose(out) != 0 && failure == 0)
        failure = errno;
    if (failure == 0 && rename(other, path) != 0)
        failure = errno;
    if (failure != 0 && out != NULL)
        unlink(other);
    if (file != NULL)
        fclose(file);
    free(other);
    return failure == 0 ? STATUS_OK
                        : error_set(error, status_of_errno(failure, STATUS_FAILED),
                                    "names can't be left out: %s", strerror(failure));
}
