/* test_program.c - runs of the program itself. */
#include "test_program.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

char program_out[65536], program_err[4096];
const char *program_path = PIPELINE_PROGRAM;

static void read_file(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "no %s", path);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

int program_run(const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof command, "%s %s >out 2>err </dev/null", program_path, arguments);
    int status = system(command);
    ck_assert(WIFEXITED(status));
    read_file("out", program_out, sizeof program_out);
    read_file("err", program_err, sizeof program_err);
    return WEXITSTATUS(status);
}

void assert_has(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "\"%s\" is not in: %s", words, text);
}
