/* check_anonymous.c - what --anonymous leaves out of files that are handed on. */
#include "core/anonymous.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *left;
} kernels[] = {
    {"scale", "scale"},
    {"", ""},
    {"void scale<float>(float*)", "void scale(float*)"},
    {"void a<b<c>, 4>::d<e>(f<g>, int)", "void a::d(f, int)"},
    {"void h<int, &C::operator->, SECRET>(int)", "void h(int)"},
    {"void h<&C::operator<, SECRET, &C::operator>>=, 3>(int)", "void h(int)"},
    {"S<SECRET, ((5)>(3))> g<SECRET, 5>(int)", "S g(int)"},
    {"lost<float", "lost"},
    {"a->b>c", "a->b>c"},
    {"_Z5scaleIfEvPf", "scale"},
    {"_ZN2my5scaleIfEvPf", "scale"},
    {"_ZSt9transformIiEvv", "transform"},
    {"_Z", "_Z"},
    {"_Z99999999999999999999x", "_Z"},
    {"_Z3ab", "_Z"},
};
START_TEST(test_kernels)
{
    char name[64];
    strcpy(name, kernels[_i].name);
    anonymous_cut_kernel(name);
    ck_assert_str_eq(name, kernels[_i].left);
}
END_TEST

START_TEST(test_files)
{
    char path[] = "/home/me/fit.cu:88";
    ck_assert_str_eq(anonymous_file("secret/in.npy"), "in.npy");
    ck_assert_str_eq(anonymous_file("in.npy"), "in.npy");
    anonymous_cut_file(path);
    ck_assert_str_eq(path, "fit.cu:88");
}
END_TEST

static void run(const char *line)
{
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
}

/* Fails where one of the files, or what was printed, has the word. */
static void assert_nowhere(const char *word, const char *files)
{
    char line[512];
    ck_assert_msg(strstr(program_out, word) == NULL, "%s", program_out);
    snprintf(line, sizeof line, "grep -l '%s' %s", word, files);
    ck_assert_msg(system(line) != 0, "%s", line);
}

#define OWN_RUN                                                                                \
    " -d sim:secret/mine.ini*2 -n 4k -t 4 -k scale,secret/SOFT.so -i secret/in.raw -o "        \
    "secret/out.raw --timeline=a.csv --timeline=a.json --timeline=a.html"

/* Settings of a run have no folders. */
START_TEST(test_runs)
{
    static const char *const formats[] = {"json", "csv", "text"};
    ck_assert_int_eq(
        system("mkdir secret && cp '" TESTS_FOLDER
               "/../configs/machines/h200.ini' secret/mine.ini && cp '" BUILD_FOLDER
               "/tests/own/SOFT.so' secret && head -c 16384 /dev/zero >secret/in.raw"),
        0);
    run("-q --format=json" OWN_RUN);
    assert_has(program_out, "secret/SOFT.so");
    ck_assert_int_eq(system("grep -q secret a.csv && grep -q secret a.json && grep -q secret "
                            "a.html"),
                     0);
    for (int i = 0; i < 3; i++) {
        char line[512];
        snprintf(line, sizeof line, "-q --anonymous --format=%s" OWN_RUN, formats[i]);
        run(line);
        assert_nowhere("secret", "a.csv a.json a.html");
        if (i == 0)
            assert_shown(program_out, "scale,SOFT.so|\"in.raw\"|\"sim:mine.ini*2\"");
    }
    run("-q --anonymous --dry-run --format=json" OWN_RUN);
    assert_nowhere("secret", "/dev/null");
    run("compare -q --anonymous -d sim:h200 --machine=secret/mine.ini -n 4k --format=json");
    assert_nowhere("secret", "/dev/null");
    run("-q --anonymous -d sim:secret/mine.ini -n 4k --sweep=tiles=1,2 --format=csv");
    assert_nowhere("secret", "/dev/null");
}
END_TEST

/* What another program did is told without that program's names. */
START_TEST(test_views)
{
    static const char *const formats[] = {"json", "csv", "text"};
    ck_assert_int_eq(
        system(
            "sed 's|^.\"end\".*|[\"line\",11,\"/home/secret/fit.cu:88\"]\\n&|' '" TESTS_FOLDER
            "/recordings/good.jsonl' >secret.jsonl && grep -q secret secret.jsonl"),
        0);
    for (int i = 0; i < 3; i++) {
        char line[256];
        snprintf(line, sizeof line,
                 "view -q --anonymous --format=%s --timeline=a.csv --timeline=a.json "
                 "--timeline=a.html secret.jsonl",
                 formats[i]);
        run(line);
        assert_nowhere("secret", "a.csv a.json a.html");
        assert_nowhere("scale<", "a.csv a.json a.html");
        assert_nowhere("saxpy", "a.csv a.json a.html");
        ck_assert_int_eq(system("grep -q fit.cu:88 a.html && grep -q scale a.csv"), 0);
    }
    run("view -q --anonymous --format=csv secret.jsonl secret.jsonl");
    assert_shown(program_out, "program 1|program 2");
    run("view -q --anonymous --dry-run secret.jsonl");
    assert_nowhere("scale<", "/dev/null");
}
END_TEST

/* Nor does the recording itself have them. The recorder of the tests writes what it is told. */
START_TEST(test_recordings)
{
    ck_assert_int_eq(system("{ ln '" PIPELINE_PROGRAM "' . || cp '" PIPELINE_PROGRAM
                            "' .; } && cp '" BUILD_FOLDER
                            "/record-guest' secret-guest && cp '" BUILD_FOLDER
                            "/tests/record/libpipeline-record.so' ."),
                     0);
    program_path = "./pipeline";
    run("record -q --backtrace ./secret-guest exit 0");
    ck_assert_int_eq(system("grep -q 'scale<float>' secret-guest.*.jsonl && grep -q "
                            "'\"frames\",2,\"/nope\",3' secret-guest.*.jsonl && "
                            "rm secret-guest.*.jsonl"),
                     0);
    run("record -q --anonymous --backtrace ./secret-guest exit 0");
    ck_assert_int_eq(
        system("set -- program.*.jsonl && [ $# = 1 ] && ! grep -e 'scale<' -e '/' $1 && "
               "grep -q '\"program\":\"program\",\"pid\"' $1 && "
               "grep -q '\"frames\",2,\"nope\",3' $1 && tail -n 1 $1 | grep -q '\"end\"' && "
               "[ -z \"$(find . -name '*.new')\" ]"),
        0);
}
END_TEST

Suite *anonymous_suite(void)
{
    Suite *suite = suite_create("anonymous");
    TCase *tests = tcase_create("anonymous");
    tcase_add_checked_fixture(tests, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(tests, test_kernels, 0, sizeof kernels / sizeof kernels[0]);
    tcase_add_test(tests, test_files);
    tcase_add_test(tests, test_runs);
    tcase_add_test(tests, test_views);
    tcase_add_test(tests, test_recordings);
    suite_add_tcase(suite, tests);
    return suite;
}
