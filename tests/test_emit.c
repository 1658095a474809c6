/* test_emit.c - see test_emit.h. */
#include "test_emit.h"

#include "emit/emit.h"
#include "fixtures.h"
#include "kernels/kernel_code.h"
#include "test_folder.h"
#include "test_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHOSEN    TESTS_FOLDER "/emit/chosen.txt"
#define LIBRARIES BUILD_FOLDER "/tests/emit/"
#define HEADER    TESTS_FOLDER "/../kernels/own_kernel.h"

char emit_settings[SETTINGS_MAX][OPTIONS_TEXT];

int emit_read_settings(void)
{
    const char *other = getenv("EMIT_SETTINGS");
    FILE *file = fopen(other != NULL ? other : CHOSEN, "r");
    int count = 0;
    while (file != NULL && count < SETTINGS_MAX &&
           fgets(emit_settings[count], OPTIONS_TEXT, file) != NULL) {
        emit_settings[count][strcspn(emit_settings[count], "\n")] = '\0';
        count++;
    }
    if (file != NULL)
        fclose(file);
    return count;
}

bool emit_is_there(const char *options)
{
    return strstr(options, "-k dgemm") == NULL || kernel_missing(kernel_find("dgemm")) == NULL;
}

/* Returns how many elements to take for `options`: a multiple of the tiles, but of 30 and 31
 * tiles, which are to be of two sizes. A scan and the reductions of the ladder have several
 * blocks to each tile, so that they have to tell one another; matrices of 100 columns have
 * whole squares, and others that are cut off. */
static int elements_for(const char *options)
{
    enum {
        EACH = 100,
        UNEVEN = 4099,
        LARGE_PARTS = 250,
        SMALL_PARTS = 10,
        BLOCKS = 25,
        ROWS = 150
    };
    const int tiles = atoi(strstr(options, "-t ") + 3);
    const int elements = tiles == 30 || tiles == 31 ? UNEVEN : EACH * tiles;
    if (strstr(options, "--columns=100") != NULL)
        return ROWS * EACH * tiles;
    if (strstr(options, "reduce-") != NULL || strstr(options, "stride-copy") != NULL)
        return BLOCKS * elements;
    if (strstr(options, "-k scan") == NULL)
        return elements;
    return strstr(options, "-k scan ") != NULL || strstr(options, "-exclusive") != NULL ||
                   strcmp(strstr(options, "-k scan"), "-k scan") == 0
               ? LARGE_PARTS * elements
               : SMALL_PARTS * elements;
}

void emit_check_lines(const char *text)
{
    enum { COLUMNS = 100 };
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n") + 1) {
        const size_t length = strcspn(at, "\n");
        ck_assert_msg(memchr(at, '@', length) == NULL, "no value: %.*s", (int)length, at);
        ck_assert_msg(length <= COLUMNS && (length == 0 || at[length - 1] != ' '), "%.*s",
                      (int)length, at);
    }
}

enum status emit_plan(const struct plan *plan, const struct settings *settings,
                      const char *file)
{
    struct error error = {0};
    FILE *out = fopen(file, "w");
    ck_assert_ptr_nonnull(out);
    const enum status status = write_program(out, plan, settings, &error);
    fclose(out);
    return status;
}

/* Runs the program with `options` and what all of them need, and with `more`. */
static void run_with(const char *options, const char *more)
{
    char line[3 * OPTIONS_TEXT];
    const char *intensity = strstr(options, "--intensity") != NULL ? "" : " --intensity=5";
    const char *device = strstr(options, "--device=") != NULL ? "" : "-d sim:h200 ";
    snprintf(line, sizeof line, "-q %s--runs=1 -n %d %s%s %s", device, elements_for(options),
             options, intensity, more);
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
}

void emit_write(const char *options)
{
    run_with(options, "--emit=tiles.cu");
    ck_assert_str_eq(program_out, "");
    char *text = test_file_text("tiles.cu");
    emit_check_lines(text);
    free(text);
}

void emit_print_plan(const char *options)
{
    run_with(options, "--dry-run --format=json");
}

void emit_nvcc_takes(const char *file, const char *options)
{
    char line[3 * OPTIONS_TEXT];
    snprintf(line, sizeof line,
             "nvcc -c -o tiles.o -Xcompiler -Wall,-Wextra,-fopenmp %s >err 2>&1", file);
    const int status = system(line);
    char *said = test_file_text("err");
    ck_assert_msg(status == 0 && said[0] == '\0', "%s: %.2000s", options, said);
    free(said);
}

void emit_check_nvcc(const char *options)
{
    emit_write(options);
    emit_nvcc_takes("tiles.cu", options);
}

/* --- kernels of users' own --- */

void emit_libraries(void)
{
    ck_assert_int_eq(system("cp -- " LIBRARIES "*.so " HEADER " ."), 0);
}
