/* check_own.c - kernels of users' own, from libraries: alone and in chains, under every way,
 * and what no such library is. */
#include "fixtures.h"
#include "kernels/kernel_code.h"
#include "kernels/own.h"
#include "kernels/own_kernel.h"
#include "kernels/own_parts.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN BUILD_FOLDER "/tests/own/"

static const char *const right[] = {
    "-k " OWN "SOFT.so",
    "-k " OWN "SOFT.so --order=breadth --layout=stage --callbacks",
    "-k " OWN "SOFT.so -w 1",
    "-k " OWN "SOFT.so -w 2",
    "-k " OWN "SOFT.so -w 4 --cpu-share=0.3",
    "-k " OWN "SOFT.so --issue=graph",
    "-k " OWN "SOFT.so --issue=batch --batch=3",
    "-k " OWN "SOFT.so --memory=mapped",
    "-k " OWN "SOFT.so --alloc=async --memory=pageable",
    "-k " OWN "SOFT.so -d sim:h200*3",
    "-k " OWN "SOFT.so --scatter",
    "-k " OWN "AXPY.so",
    "-k " OWN "AXPY.so --scatter --order=breadth",
    "-k " OWN "TOTAL.so",
    "-k " OWN "TOTAL.so -w 4 --cpu-share=0.5",
    "-k scan," OWN "TOTAL.so",
    "-k " OWN "DOUBLES.so",
    "-k scale," OWN "SOFT.so,sum",
    "-k " OWN "AXPY.so," OWN "SOFT.so,scale," OWN "AXPY.so",
    "-k wave," OWN "SOFT.so -d sim:h200*2 --spread=chain",
    "-k " OWN "AXPY.so -w 4 --cpu-share=0.5 -t 2", /* tiles that threads share */
    "-k " OWN "TOTAL.so -w 4 --cpu-share=0.5 -t 2",
    "-k scan," OWN "TOTAL.so -t 1",
    "-k " OWN "DOUBLES.so -t 1",
    /* as many as a chain has room for */
    "-k " OWN "SOFT.so," OWN "SOFT.so," OWN "SOFT.so," OWN "SOFT.so," OWN "SOFT.so," OWN
    "SOFT.so," OWN "SOFT.so," OWN "SOFT.so",
    "-k " OWN "SOFT.so --tiles=auto --streams=auto",
};
START_TEST(results_are_right)
{
    char line[1024];
    snprintf(line, sizeof line, "-q -d sim:h200 -n 100003 -t 13 --intensity=2 --format=json %s",
             right[_i]);
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
    assert_has(program_out, "\"verified\": true");
    assert_has(program_out,
               OWN); /* the settings name the library, so that they can be used again */
}
END_TEST

/* Reports and pictures have the kernel's own name. */
START_TEST(reports_name_it)
{
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M --gantt=none -k scale," OWN "SOFT.so"),
                     0);
    assert_has(program_out, "scale,mine");
}
END_TEST

/* A result that depends on the tiles is none. */
START_TEST(places_are_told)
{
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M -t 8 --gantt=none -k " OWN "PLACE.so"),
                     1);
    assert_has(program_err, "wrong result: tile 0, element 1 ");
}
END_TEST

static const struct {
    const char *library, *words;
} refused[] = {
    {OWN "NONE.so", "it defines no pipeline_kernel"},
    {OWN "NEWER.so", "version 2 of pipeline/kernel.h, and this program has version 1"},
    {OWN "NONAME.so", "its name is not"},
    {OWN "SPACED.so", "its name is not"},
    {OWN "TAKEN.so", "its name is that of a kernel of pipeline's"},
    {OWN "TWINLESS.so", "it has neither a launcher nor a CPU twin"},
    {OWN "BLIND.so", "mine has no CPU twin, and simulated machines run that: with --no-data"},
    {OWN "BLIND.so --no-data -w 4", "no CPU can do its share"},
    {OWN "INPUTS.so", "it reads neither 1 array nor 2"},
    {OWN "TYPES.so", "its types"},
    {OWN "COST.so", "its cost"},
    {OWN "PAIR.so", "a reduction reads one array"},
    {OWN "WIDE.so", "its tolerance"},
    {OWN "MISSING.so", "can't be opened as a library"},
    {"missing.so", "can't be opened as a library"},
    {"./", "can't be opened as a library"},
    {"/dev/null", "/dev/null can't be opened as a library: it is no regular file"},
    {TESTS_FOLDER "/check_own.c", "can't be opened as a library"},
    {OWN "LEAVES.so", "LEAVES.so: code that runs when it is opened ended the program"},
    {OWN "QUITS.so", "QUITS.so: code that runs when it is opened ended the program"},
    {OWN "FALLS.so", "FALLS.so: code that runs when it is opened crashed: Segmentation fault"},
    {OWN "LEAVES_LATE.so",
     "LEAVES_LATE.so: code that runs when it is closed ended the program"},
    {OWN "QUITS_LATE.so", "QUITS_LATE.so: code that runs when it is closed ended the program"},
    {OWN "FALLS_LATE.so", "code that runs when it is closed crashed: Segmentation fault"},
    {"scale," OWN "TOTAL.so", "leaves float32, mine takes int32"},
    {OWN "TOTAL.so,scale", "leaves one value per tile"},
    {OWN "SOFT.so -o " OWN "SOFT.so", "SOFT.so, which is read: give another file"},
    {OWN "SOFT.so --emit=" OWN "SOFT.so", "which is read: give another file"},
    {OWN "DOUBLES.so,sum-double", "work in place, and mine makes float64 of float32"},
    {OWN "BLIND.so --no-data --emit=-", "mine has no CPU twin, which the program compares"},
    {"scale," OWN "DOUBLES.so", "work in place, and mine makes float64 of float32"},
};
START_TEST(others_are_refused)
{
    char line[1024];
    snprintf(line, sizeof line, "-q -d sim:h200 -n 1M -k %s", refused[_i].library);
    ck_assert_msg(program_run(line) == 2, "%s: %s", line, program_out);
    assert_has(program_err, refused[_i].words);
    ck_assert_ptr_eq(strchr(program_err, '\n'), program_err + strlen(program_err) - 1);
}
END_TEST

/* Whose code it was that crashed is said, and with which signal. */
START_TEST(crashes_are_told)
{
    ck_assert_int_ne(program_run("-q -d sim:h200 -n 1M -k " OWN "CRASH.so"), 0);
    assert_has(program_err, "pipeline: " OWN "CRASH.so: the CPU twin of your kernel crashed: "
                            "Segmentation fault. That is the library's own code\n");
    ck_assert_str_eq(program_out, "");
    ck_assert_int_ne(program_run("-q -d sim:h200 -n 1M -k " OWN "GARBLED.so"), 0);
    assert_has(program_err,
               "GARBLED.so: what it calls pipeline_kernel is none: reading it crashed");
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M -k " OWN "EXIT.so"), 1);
    assert_has(program_err, "pipeline: the library of your kernel ended the program\n");
    ck_assert_str_eq(program_out, "");
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M -k " OWN "QUITS_BESIDE.so"), 1);
    assert_has(program_err, "pipeline: the library of your kernel ended the program\n");
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M -k " OWN "QUIT.so"), 1);
    assert_has(program_err, "pipeline: the library of your kernel ended the program\n");
}
END_TEST

/* A library that never comes back has its time, and a second is enough to see that; one that
 * somebody would have to write into has none. */
START_TEST(hangs_are_told)
{
    struct error error = {0};
    ck_assert_int_eq(own_try(OWN "HANGS.so", 1, &error), STATUS_USAGE);
    assert_has(error.text,
               "HANGS.so: code that runs when it is opened had not ended after 1 s");
    error = (struct error){0};
    ck_assert_int_eq(own_try(OWN "HANGS_LATE.so", 1, &error), STATUS_USAGE);
    assert_has(error.text, "code that runs when it is closed had not ended after 1 s");
    ck_assert_int_eq(own_try(OWN "SOFT.so", 1, &error), STATUS_OK);
    ck_assert_int_eq(own_try(OWN "MISSING.so", 1, &error), STATUS_OK);
    ck_assert_int_eq(mkfifo("fifo.so", 0600), 0);
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M -k ./fifo.so"), 2);
    assert_has(program_err, "fifo.so can't be opened as a library: it is no regular file");
    ck_assert_int_eq(program_run("kernel check ./fifo.so"), 2);
    remove("fifo.so");
}
END_TEST

/* Files lie where they were asked for, whatever folder a library goes to. */
START_TEST(folders_stay)
{
    remove("here.csv");
    ck_assert_int_eq(system("cp '" OWN "ELSEWHERE.so' ."), 0);
    ck_assert_msg(
        program_run("-q -d sim:h200 -n 1k -t 2 --timeline=here.csv -k ./ELSEWHERE.so") == 0,
        "%s", program_err);
    ck_assert_int_eq(access("here.csv", R_OK), 0);
}
END_TEST

/* A destructor does not end a run that failed as if it had not. */
START_TEST(failures_stay)
{
    ck_assert_int_eq(
        program_run("-q -d sim:h200 -n 1M -t 8 --gantt=none -k " OWN "LEAVES_USED.so"), 1);
    assert_has(program_err, "wrong result: tile 0, element 1 ");
}
END_TEST

/* A kernel that only its launcher knows has times on a simulated machine. */
START_TEST(launchers_have_times)
{
    ck_assert_int_eq(
        program_run("-q -d sim:h200 -n 1M --gantt=none --no-data -k " OWN "BLIND.so"), 0);
    assert_has(program_out, "mine");
}
END_TEST

/* --- pipeline kernel --- */

static const struct {
    const char *library;
    int exit_code;
    const char *words;
} checked[] = {
    {"SOFT", 0,
     "SOFT.so: mine, float32 -> float32, tried on sim:h200|ok         twin      102 trials|"
     "not tried  launcher  that takes a CUDA device|ok         run       -n 1 -t 1\n|"
     "--issue=graph\n|--kernel=@,scale,@\n|All 26 are right"},
    {"AXPY", 0, "All 26 are right"},
    {"DOUBLES", 0, "float32 -> float64|ok         twin      51 trials|All 23 are right"},
    {"TOTAL", 0, "int32 -> int32, one value per tile|All 23 are right"},
    {"PLACE", 1,
     "WRONG      twin      with 2 elements, 1 block: gives 0.511770368 for element 1, "
     "where the twin, in pieces of 509 elements, gives -0.488229632\n|not tried  run "},
    {"WILD", 1, "with 1 element, 1 block: writes outside its output: 0 bytes behind it"},
    {"MEDDLER", 1, "with 1 element, 1 block: writes into input 0, at element 0"},
    {"LAZY", 1, "with 257 elements, 1 block: does not write element 256"},
    {"CRASH", 1, "CRASH.so: the CPU twin of your kernel crashed: Segmentation fault"},
    {"PARITY", 1, "with 2 elements, 1 block: gives"},
    {"QUIT", 1, "WRONG      twin      the library of your kernel ended the program"},
    {"TALKER", 1, "WRONG      twin      the program was ended, and not by itself"},
    {"EXIT", 1, "the library of your kernel ended the program"},
    {"NEWER", 2, ""},
    {"BLIND", 77, ""},
};
START_TEST(checks_tell)
{
    char line[512];
    snprintf(line, sizeof line, "kernel check " OWN "%s.so -d sim:h200", checked[_i].library);
    ck_assert_msg(program_run(line) == checked[_i].exit_code, "%s: %s", line, program_err);
    assert_shown(program_out, checked[_i].words);
    if (checked[_i].exit_code == 1)
        assert_has(program_err, "1 of 1 tries went wrong\n");
}
END_TEST

static const struct {
    const char *words, *error;
} wrong_words[] = {
    {"kernel", "allowed are `pipeline kernel new FILE.cu`"},
    {"kernel chek x.so", "kernel chek: allowed are"},
    {"kernel new", "needs the name of a file to write"},
    {"kernel check", "needs the name of a library"},
    {"kernel new x.cu y.cu", "y.cu is one word too many"},
    {"kernel check x.so twin y", "y is one word too many"},
    {"kernel check x.so all", "has no part all: allowed are twin, launcher, cost"},
    {"kernel check x.so", "can't be opened as a library"},
    {"kernel check " OWN "AXPY.so launcher", "there is no launcher"},
    {"kernel check " OWN "SOFT.so cost -d sim:h200", "sim:h200 is a simulated machine"},
    {"kernel check " OWN "SOFT.so -d sim:nope", "there is no machine 'nope'"},
    {"kernel check " OWN "../own/SOFT,.so", "can't be opened"},
    {"kernel new x.c", "and then .cu"},
    {"kernel new scale.cu", "scale is a kernel of pipeline's"},
    {"kernel new none/x.cu", "none/pipeline can't be made"},
    {"kernel new x.cu -t 4", "--tiles=4 is not for `pipeline kernel`"},
};
START_TEST(words_are_refused)
{
    ck_assert_msg(program_run(wrong_words[_i].words) == 2, "%s", wrong_words[_i].words);
    assert_has(program_err, wrong_words[_i].error);
    ck_assert_str_eq(program_out, "");
}
END_TEST

/* Where a GPU is named and a library has nothing for it, no simulated machine takes its place.
 */
START_TEST(a_gpu_is_no_simulated_machine)
{
    const int code = program_run("kernel check " OWN "AXPY.so -d cuda");
    ck_assert_msg(code == 2 || code == 77, "%s", program_out);
    assert_has(program_err, code == 2 ? "has no launcher, so that nothing of it runs on a GPU"
                                      : "this program was built without CUDA");
    ck_assert_str_eq(program_out, "");
}
END_TEST

/* The source that is written names the kernel as its file, and is built and run as it says. */
START_TEST(new_sources_work)
{
    ck_assert_int_eq(program_run("kernel new halved.cu"), 0);
    assert_has(program_out, "    gcc -O2 -shared -fPIC -x c -o halved.so halved.cu -lm\n");
    ck_assert_int_eq(
        system("cc -O2 -Wall -Wextra -Werror -shared -fPIC -x c -o halved.so halved.cu -lm"),
        0);
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M -k ./halved.so --format=json"), 0);
    assert_has(program_out, "\"verified\": true");
    ck_assert_int_eq(program_run("kernel new halved.cu"), 2);
    assert_has(program_err, "halved.cu is there already");
    ck_assert_int_eq(program_run("kernel new other.cu -q"), 0); /* the same header will do */
    ck_assert_str_eq(program_out, "");
    ck_assert_int_eq(system("echo >pipeline/kernel.h"), 0);
    ck_assert_int_eq(program_run("kernel new third.cu"), 2);
    assert_has(program_err,
               "pipeline/kernel.h is there already, and is of another version: remove it");
    ck_assert_int_eq(system("rm -r pipeline halved.* other.cu && test ! -e third.cu"), 0);
}
END_TEST

/* What a file was written for is told from it, and opens no library: nothing that came from
 * elsewhere is run because somebody looks at it. */
START_TEST(files_open_none)
{
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M --gantt=none --timeline=own.csv "
                                 "--timeline=own.html -k " OWN "SOFT.so"),
                     0);
    ck_assert_int_eq(program_run("-q view own.csv"), 0);
    assert_has(program_out, "kernel");
    remove("own.csv");
    remove("own.html");
}
END_TEST

static void negate(const struct pipeline_work *work)
{
    const float *in = work->in[0];
    float *out = work->out;
    for (uint64_t i = 0; i < work->count; i++)
        out[i] = -in[i];
}

/* A kernel of the program's is opened by its path as a library's is, and refused as one is. */
START_TEST(programs_may_add_some)
{
    struct pipeline_kernel own = {
        .version = PIPELINE_KERNEL_VERSION, .inputs = 1, .name = "minus", .host = negate};
    const float in = 3;
    float out = 0;
    const struct kernel_args args = {.in = {&in}, .out = &out, .count = 1, .blocks = 1};
    struct error error = {0};
    char path[32];
    ck_assert_int_eq(kernel_own_add("minus.so", &own, &error), STATUS_OK);
    const struct kernel *kernel = kernel_own_open("./minus.so", &error);
    ck_assert_ptr_nonnull(kernel);
    ck_assert_str_eq(kernel->name, "minus");
    kernel_code(kernel)->host(&args);
    ck_assert(out == -3);
    own.name = "scale";
    ck_assert_int_eq(kernel_own_add("minus.so", &own, &error), STATUS_OK); /* it is known */
    ck_assert_ptr_eq(kernel_own_open("minus.so", &error), kernel);
    ck_assert_str_eq(kernel->name, "minus");
    ck_assert_int_eq(kernel_own_add("a/scale.so", &own, &error), STATUS_USAGE);
    assert_has(error.text, "a/scale.so: its name is that of a kernel of pipeline's");
    own.name = "minus";
    error = (struct error){0};
    int added = 0;
    do
        snprintf(path, sizeof path, "a/%d.so", added++);
    while (kernel_own_add(path, &own, &error) == STATUS_OK);
    ck_assert_int_eq(added, 8);
    assert_has(error.text, "a/7.so is one library too many: at most 8");
}
END_TEST

Suite *own_suite(void)
{
    Suite *suite = suite_create("own");
    TCase *tests = tcase_create("own");
    tcase_add_checked_fixture(tests, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(tests, results_are_right, 0, sizeof right / sizeof right[0]);
    tcase_add_test(tests, reports_name_it);
    tcase_add_test(tests, places_are_told);
    tcase_add_loop_test(tests, others_are_refused, 0, sizeof refused / sizeof refused[0]);
    tcase_add_test(tests, crashes_are_told);
    tcase_add_test(tests, hangs_are_told);
    tcase_add_test(tests, failures_stay);
    tcase_add_test(tests, folders_stay);
    tcase_add_test(tests, launchers_have_times);
    tcase_add_loop_test(tests, checks_tell, 0, sizeof checked / sizeof checked[0]);
    tcase_add_test(tests, a_gpu_is_no_simulated_machine);
    tcase_add_loop_test(tests, words_are_refused, 0,
                        sizeof wrong_words / sizeof wrong_words[0]);
    tcase_add_test(tests, new_sources_work);
    tcase_add_test(tests, files_open_none);
    tcase_add_test(tests, programs_may_add_some);
    suite_add_tcase(suite, tests);
    return suite;
}
