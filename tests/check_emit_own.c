/* check_emit_own.c - programs of --emit with kernels of users' own: they load the libraries,
 * call their launchers, hold the results against their twins, and say what is wrong with a
 * library.
 *
 * The libraries are those of tests/emit/own.cu, compiled for the CPU as the programs are. */
#include "fixtures.h"
#include "suites.h"
#include "test_emit.h"
#include "test_folder.h"
#include "test_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void enter(void)
{
    test_folder_enter();
    emit_libraries();
}

/* What a launcher, or a graph of them, leaves wrong is counted: a value in each tile. */
START_TEST(wrong_results_are_told)
{
    static const struct emit_trial trials[] = {
        {"-t 16 -s 4 -k ./halfoff.so", NULL, NULL, "%; 16 wrong\n", 1},
        {"-t 16 -s 4 -k ./half.so,./halfoff.so --order=breadth", NULL, NULL, "%; 16 wrong\n",
         1},
        {"-t 16 -s 4 -k ./halfoff.so,scale,./half.so --intensity=3", NULL, NULL,
         "%; 16 wrong\n", 1},
        {"-t 16 -s 4 -k ./lost.so --issue=graph", NULL, NULL, "%; 16 wrong\n", 1},
        {"-t 16 -s 4 -k ./intsoff.so", NULL, NULL, "%; 16 wrong\n", 1},
        {"-t 31 -s 4 -k ./totaloff.so", NULL, NULL, "%; 31 wrong\n", 1},
        {"-t 16 -s 4 -k ./half.so,./totaloff.so", NULL, NULL, "%; 16 wrong\n", 1},
        {"-t 16 -s 4 -k ./intsoff.so,./count.so", NULL, NULL, "%; 16 wrong\n", 1},
        {"-t 16 -s 4 -k ./ints.so,./countoff.so --issue=batch --batch=4", NULL, NULL,
         "%; 16 wrong\n", 1},
        {"-t 16 -s 4 -k ./intsoff.so,sum-int", NULL, NULL, "%; 16 wrong\n", 1},
    };
    emit_try(trials, sizeof trials / sizeof *trials);
}
END_TEST

/* A finite result where there has to be none, and one that depends on the tiles. */
START_TEST(hidden_mistakes_are_told)
{
    static const char *const some[] = {"-t 16 -s 4 -k ./edgeoff.so", "-t 16 -s 4 -k ./place.so",
                                       "-t 8 -k ./place.so -n 4072", /* tiles of a part */
                                       "-t 1 -k ./place.so -n 500",
                                       "-t 32 -k ./weighted.so -n 3200"};
    struct emit_trial trials[5];
    for (int i = 0; i < 5; i++)
        trials[i] = (struct emit_trial){some[i], NULL, NULL, " wrong", 1};
    emit_try(trials, 5);
}
END_TEST

/* The library is another one by the time that the program runs: one line says why it won't do.
 */
START_TEST(libraries_are_looked_at)
{
    static const char *const cases[][2] = {
        {"rm half.so", "cannot open shared object file"},
        {"echo no library >half.so", "half.so"},
        {"cp none.so half.so", "it defines no pipeline_kernel"},
        {"cp newer.so half.so", "it has another version of the header"},
        {"cp blind.so half.so", "it has no launcher"},
        {"cp retyped.so half.so", "its arrays are not those of the plan"},
        {"cp axpy.so half.so", "its arrays are not those of the plan"},
        {"cp total.so half.so", "its arrays are not those of the plan"},
        {"cp fails.so half.so", "invalid argument"}, /* what the launcher returns */
    };
    const int share = emit_share(), count = sizeof cases / sizeof *cases;
    emit_write("-t 4 -k ./half.so");
    for (int i = 0; share > 0 && i < count; i += share) {
        if (i == 0)
            ck_assert_int_eq(emit_run_on_cpu("-t 4 -k ./half.so"), 0);
        ck_assert_int_eq(system(cases[i][0]), 0);
        ck_assert_int_eq(emit_run(0, NULL), 1);
        char *said = test_file_text("said");
        assert_has(said, cases[i][1]);
        ck_assert_ptr_eq(strchr(said, '\n') + 1, strchr(said, '\0'));
        free(said);
    }
}
END_TEST

/* A library may have any name that a file can have. */
START_TEST(paths_are_any)
{
    static const char *const paths[] = {
        "a\"b\\\\c*/d//e.so",
        "?\?/?\?'x\ny\tz%s%n.so",
        "STREAMS BATCHES // \xc3\xa4\xff\x01"
        "1.so",
        "a/very/long/path/that/goes/on/and/on/for/more/than/a/line/of/the/program/and/one/more/"
        "and/then/another/one/of/them/so/that/there/are/three/half.so",
    };
    char path[512], *text;
    snprintf(path, sizeof path, "./%s", paths[_i]);
    /* Folders on the way, then the library itself. */
    for (char *at = strchr(path + 2, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (access(path, F_OK) != 0)
            ck_assert_int_eq(mkdir(path, 0700), 0);
        *at = '/';
    }
    ck_assert_int_eq(rename("half.so", path), 0);
    ck_assert_int_eq(setenv("OWN", path, 1), 0);
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1600 -t 16 -k \"$OWN\" --emit=tiles.cu"),
                     0);
    text = test_file_text("tiles.cu");
    emit_check_lines(text);
    ck_assert_ptr_null(strstr(text, "?\?")); /* a trigraph begins so */
    for (const char *at = text; *at != '\0'; at++)
        ck_assert(*at == '\n' || (*at >= ' ' && *at <= '~'));
    free(text);
    if (emit_share() > 0)
        ck_assert_int_eq(emit_run_on_cpu(path), 0);
}
END_TEST

START_TEST(others_are_refused)
{
    static const char *const cases[][2] = {
        {"-k scan,./count.so", "the kernel scan can't"},
        {"-k ./widened.so",
         "the kernel half, which makes float64 of float32, can't be written"},
    };
    char line[OPTIONS_TEXT];
    snprintf(line, sizeof line, "-d sim:h200 %s --emit=tiles.cu", cases[_i][0]);
    ck_assert_int_eq(program_run(line), 2);
    ck_assert_str_eq(program_out, "");
    assert_has(program_err, cases[_i][1]);
    ck_assert_ptr_eq(strchr(program_err, '\n') + 1, strchr(program_err, '\0'));
}
END_TEST

START_TEST(a_simple_program_is_short)
{
    ck_assert_int_eq(program_run("-d sim:h200 -k ./half.so --emit=-"), 0);
    int lines = 0;
    emit_check_lines(program_out);
    for (const char *at = program_out; *at != '\0'; at++)
        lines += *at == '\n';
    ck_assert_int_le(lines, 112);
    assert_shown(program_out, "#include \"pipeline/kernel.h\"|load_own(\"./half.so\", 1,|"
                              "{{d_in + slot * TILE, NULL}, d_out + slot * TILE, TILE,||"
                              "own_half->launch(&work, stream[slot])|own_half->host(&work)");
    ck_assert_ptr_null(strstr(program_out, "THREADS"));
}
END_TEST

/* A launcher is told as many blocks as the plan has, whatever those of the chain's others are.
 */
START_TEST(grids_are_those_of_the_plan)
{
    ck_assert_int_eq(program_run("-d sim:h200 -n 1600000 -t 16 -k scale,./half.so,./total.so "
                                 "--dry-run --format=json"),
                     0);
    char *plan = test_file_text("out");
    int blocks[3] = {0};
    for (int link = 0; link < 3; link++) {
        char mark[48];
        snprintf(mark, sizeof mark, "\"id\":%d,\"kind\":\"kernel\"", 1 + link);
        const char *op = strstr(plan, mark);
        ck_assert_ptr_nonnull(op);
        ck_assert_int_eq(sscanf(strstr(op, "\"blocks\":"), "\"blocks\":%d", &blocks[link]), 1);
    }
    free(plan);
    ck_assert_int_ne(blocks[0], blocks[1]);
    ck_assert_int_eq(blocks[1], blocks[2]);
    ck_assert_int_eq(program_run("-d sim:h200 -n 1600000 -t 16 -k scale,./half.so,./total.so "
                                 "--emit=-"),
                     0);
    char words[256];
    snprintf(
        words, sizeof words,
        " BLOCKS = %d, MAP_BLOCKS = %d, |scale<<<MAP_BLOCKS, |"
        "{{d_in + slot * TILE, NULL}, d_in + slot * TILE, TILE,|d_out + slot, TILE, BLOCKS};",
        blocks[2], blocks[0]);
    assert_shown(program_out, words);
    ck_assert_int_eq(program_run("-d sim:h200 -n 1600000 -t 16 -k scale,./half.so --emit=-"),
                     0);
    snprintf(words, sizeof words, " BLOCKS = %d, |d_out + slot * TILE, TILE, %d};", blocks[0],
             blocks[1]);
    assert_shown(program_out, words);
}
END_TEST

/* --- nvcc --- */

/* The command that the program's head gives compiles it, with the header beside it under either
 * of its names. */
START_TEST(the_command_compiles_it)
{
    char command[256] = "";
    char *text;
    if (_i == 1)
        ck_assert_int_eq(system("mkdir pipeline && mv own_kernel.h pipeline/kernel.h"), 0);
    ck_assert_int_eq(program_run("-q -d sim:h200 -k scale,./half.so,./total.so --emit=THIS.cu"),
                     0);
    text = test_file_text("THIS.cu");
    const char *begin = strstr(text, "run: nvcc"), *end = strstr(text, " && ./a.out\n");
    ck_assert(begin != NULL && end != NULL && end > begin);
    snprintf(command, sizeof command, "%.*s -Xcompiler -Wall,-Wextra >err 2>&1",
             (int)(end - begin - 5), begin + 5);
    free(text);
    const int status = system(command);
    text = test_file_text("err");
    ck_assert_msg(status == 0 && text[0] == '\0', "%s: %.2000s", command, text);
    ck_assert_int_eq(access("a.out", X_OK), 0);
    free(text);
}
END_TEST

Suite *emit_own_suite(void)
{
    Suite *suite = suite_create("emit_own");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_checked_fixture(all, enter, test_folder_leave);
    tcase_add_test(all, wrong_results_are_told);
    tcase_add_test(all, hidden_mistakes_are_told);
    tcase_add_test(all, libraries_are_looked_at);
    tcase_add_loop_test(all, paths_are_any, 0, 4);
    tcase_add_loop_test(all, others_are_refused, 0, 2);
    tcase_add_test(all, a_simple_program_is_short);
    tcase_add_test(all, grids_are_those_of_the_plan);
    if (system("nvcc --version >/dev/null 2>&1") == 0)
        tcase_add_loop_test(all, the_command_compiles_it, 0, 2);
    suite_add_tcase(suite, all);
    return suite;
}
