/* test_program.c - runs of the program itself. */
#include "test_program.h"
#include "test_folder.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

char program_out[65536], program_err[4096];
const char *program_path = PIPELINE_PROGRAM;

int program_run(const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof command, "%s %s >out 2>err </dev/null", program_path, arguments);
    int status = system(command);
    ck_assert(WIFEXITED(status));
    test_file_read("out", program_out, sizeof program_out);
    test_file_read("err", program_err, sizeof program_err);
    return WEXITSTATUS(status);
}

/* Check gives up on longer messages. */
enum { SHOWN = 4000 };

void assert_has(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "\"%.*s\" is not in: %.*s", SHOWN / 4, words,
                  SHOWN, text);
}

void assert_shown(const char *text, const char *words)
{
    char list[512];
    snprintf(list, sizeof list, "%s", words);
    for (char *word = strtok(list, "|"); word != NULL; word = strtok(NULL, "|"))
        assert_has(text, word);
}

/* Returns `text` with one blank for any number of blanks and ends of lines. To be freed. */
static char *on_one_line(const char *text)
{
    char *line = malloc(strlen(text) + 1), *to = line;
    ck_assert_ptr_nonnull(line);
    for (; *text != '\0'; text++) {
        bool blank = *text == ' ' || *text == '\n';
        if (!blank || to == line || to[-1] != ' ')
            *to++ = blank ? ' ' : *text;
    }
    *to = '\0';
    return line;
}

void assert_says(const char *text, const char *words)
{
    char *line = on_one_line(text), *wanted = on_one_line(words);
    assert_has(line, wanted);
    free(line);
    free(wanted);
}
