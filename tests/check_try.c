/* check_try.c - `pipeline try`: what only CUDA's compiler knows becomes C++, in its place; and
 * which words are whose. */
#include "app/try.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rewrites `text`, as line 7 of "a b.cu", and gives it without what says where it goes on. */
static char *rewritten(const char *text, struct error *error)
{
    char source[1024], *out = NULL;
    size_t bytes = 0;
    snprintf(source, sizeof source, "# 7 \"a b.cu\" 2\n%s", text);
    if (try_rewrite(source, strlen(source), &out, &bytes, error) != STATUS_OK)
        return NULL;
    char *plain = calloc(bytes + 1, 1);
    size_t length = 0;
    ck_assert_ptr_nonnull(plain);
    for (size_t i = 15; i < bytes; i++) {
        if (out[i] == '\n' && i + 2 < bytes && out[i + 1] == '#') {
            for (i += 2; out[i] != '\n'; i++)
                continue;
            while (i + 1 < bytes && out[i + 1] == ' ')
                i++;
        } else {
            plain[length++] = out[i];
        }
    }
    free(out);
    return plain;
}

/* Begins a launch of `name`, and ends the part before its arguments. */
#define CONFIGURED(name) "::pipeline::configured(\"" name "\", \"a b.cu\", 7, "
#define WITH_ARGUMENTS(name)                                                                   \
    ")([=](auto... pipeline_a) -> decltype(" name "(pipeline_a...)) {" name                    \
    "(pipeline_a...); })"
#define LAUNCH(name, inside) CONFIGURED(name) inside WITH_ARGUMENTS(name)

static const struct {
    const char *from, *to;
} cases[] = {
    {"k<<<1, 2>>>(a, b);", LAUNCH("k", "1, 2") "(a, b);"},
    {"if (x) k<<<n >> 2, f<A<3>>(n), 0, s>>>(a);",
     "if (x) " LAUNCH("k", "n >> 2, f<A<3>>(n), 0, s") "(a);"},
    {"::a::k<int, (3 > 2), B<C<2>>><<<{1, 2}, d>>>(x);",
     LAUNCH("::a::k<int, (3 > 2), B<C<2>>>", "{1, 2}, d") "(x);"},
    {"else (*f)<< <1, 2>> >(x);", "else " LAUNCH("(*f)", "1, 2") "(x);"},
    {"if (x) (*f)<<<1, 2>>>(x);", "if (x) " LAUNCH("(*f)", "1, 2") "(x);"},
    {"t[i](3)<<<1, 2>>>(x), p->m.k<<<1, 2>>>();",
     LAUNCH("t[i](3)", "1, 2") "(x), " LAUNCH("p->m.k", "1, 2") "();"},
    {"k<<<1, 2>>>(__null, f(__null)); __null",
     LAUNCH("k", "1, 2") "(nullptr, f(nullptr)); __null"},
    {"\"k<<<1\" '<' R\"x(<<<)\")x\" /* <<< */ 1'0 << 2 // <<<",
     "\"k<<<1\" '<' R\"x(<<<)\")x\" /* <<< */ 1'0 << 2 // <<<"},
    {"operator<< <int>(a); #pragma", "operator<< <int>(a); #pragma"},
    {"extern static thread_local float s[];", "float *s = (float *)pipeline_shared();"},
    {"extern static thread_local __attribute__((aligned(8))) T<int> s[][3];",
     "T < int > (*s)[3] = (T < int > (*)[3])pipeline_shared();"},
    {"p = (void *)k; struct pipeline_address; p = (void *)k<3>, &(const void *)&k;",
     "p = (void *)k; struct pipeline_address; p = ::pipeline_address<void *>{}->*k<3>, "
     "&::pipeline_address<const void *>{}->*&k;"},
    {"struct pipeline_address; reinterpret_cast<const void *>(k)",
     "struct pipeline_address; ::pipeline_address<const void *>{}(k)"},
    {"struct pipeline_address; void f(void *) override; n = sizeof(void *) * n, !(void *)n, "
     "(void *)0;",
     "struct pipeline_address; void f(void *) override; n = sizeof(void *) * n, !(void *)n, "
     "(void *)0;"},
    {"extern int n[3]; extern \"C\" { static int s[3]; }",
     "extern int n[3]; extern \"C\" { static int s[3]; }"},
};

START_TEST(test_rewritten)
{
    struct error error = {0};
    char *out = rewritten(cases[_i].from, &error);
    ck_assert_msg(out != NULL, "%s: %s", cases[_i].from, error.text);
    ck_assert_str_eq(out, cases[_i].to);
    free(out);
}
END_TEST

/* Where a launch goes on, lines and columns are the user's. */
START_TEST(test_places)
{
    static const char source[] = "# 3 \"a.cu\"\n  k\n  <<<1,\n   2>>>(\n";
    char text[sizeof source + 8], *out = NULL;
    size_t bytes = 0;
    snprintf(text, sizeof text, "%sa);", source);
    ck_assert_int_eq(try_rewrite(text, strlen(text), &out, &bytes, NULL), STATUS_OK);
    out[bytes - 1] = '\0';
    assert_has(out, "\"a.cu\", 4, \n# 4 \"a.cu\"\n     1,\n   2)(");
    assert_has(out, "{\n# 3 \"a.cu\"\n  k(pipeline_a...); })\n# 5 \"a.cu\"\n       (\na)");
    free(out);
}
END_TEST

START_TEST(test_refused)
{
    static const struct {
        const char *text, *says;
    } refused[] = {
        {"k<<<1, 2>>>;", "a b.cu:7: a launch is"}, {"\nk<<<1, 2(x);", "a b.cu:8: a launch is"},
        {"k<<<>>>(x);", "needs a grid"},           {"= <<<1, 2>>>(x);", "no kernel stands"},
        {"return<<<1, 2>>>(x);", "no kernel"},     {"k<<<1, 2>>>(x", "a launch is"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct error error = {0};
        char *out = rewritten(refused[i].text, &error);
        ck_assert_msg(out == NULL, "%s", refused[i].text);
        assert_has(error.text, refused[i].says);
    }
}
END_TEST

/* Whatever a source is cut to, it is rewritten or refused. */
START_TEST(test_cut)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t length = 0; length < strlen(cases[i].from); length++) {
            char text[256];
            struct error error = {0};
            snprintf(text, sizeof text, "%.*s", (int)length, cases[i].from);
            char *out = rewritten(text, &error);
            ck_assert(out != NULL || error.status == STATUS_USAGE);
            free(out);
        }
    }
}
END_TEST

START_TEST(test_words)
{
    static const struct {
        const char *words, *says;
    } refused[] = {
        {"", "try needs a PROGRAM.cu"},
        {"-- none.cu", "try needs a PROGRAM.cu"},
        {"none.cu", "none.cu can't be read"},
        {"--build /dev/null", "--build needs"},
        {"--build -o x a.cu -- y", "--build runs nothing"},
        {"/dev/null", "is not known by its name"},
        {"a.cu --device=cuda:0", "allowed are sim:NAME"},
        {"a.cu --device=sim:h200*99", "has 4 devices"},
        {"a.cu --device=sim:none", "no machine 'none'"},
        {"--foo a.cu", "is neither an option"},
        {"-Q", "-Q is neither an option"},
        {"-lcufft", "-lcufft: there is no such library"},
        {"-std", "-std needs a value"},
        {"-c", "-c is for pipeline-nvcc"},
        {"-lm", "try needs a source"},
        {"--format=xml a.cu", "xml"},
        {"--fix --window=1ms..2ms a.cu", "--fix needs the whole"},
        {"-o /none/x a.cu", "a.cu can't be read"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char words[256];
        snprintf(words, sizeof words, "try %s", refused[i].words);
        ck_assert_msg(program_run(words) == 2, "%s: %s", words, program_err);
        assert_says(program_err, refused[i].says);
    }
}
END_TEST

/* Calls answer what they answer on a GPU, errors included: the texts are an H200's. */
#ifndef SANITIZED /* there is no libpipeline-cpu.a */
static const char *const answering[] = {"calls", "graphs", "blas"};

START_TEST(test_answers)
{
    char words[512], path[512], text[sizeof program_out];
    snprintf(words, sizeof words, "try -q %s/cpu/%s.cu", TESTS_FOLDER, answering[_i]);
    snprintf(path, sizeof path, "%s/cpu/%s.txt", TESTS_FOLDER, answering[_i]);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    ck_assert_msg(program_run(words) == 0, "%s", program_err);
    program_out[strlen(text)] = '\0'; /* the report follows */
    ck_assert_str_eq(program_out, text);
}
END_TEST

START_TEST(test_freed)
{
    char words[512];
    snprintf(words, sizeof words, "try -q %s/cpu/freed.cu", TESTS_FOLDER);
    ck_assert_msg(program_run(words) == 0, "%s", program_err);
    assert_says(program_err,
                "kernel set: block 0 of 1: thread 0: writes 4 bytes of memory that "
                "was given back in ");
    assert_says(program_err, "freed.cu:12, in ");
    assert_says(program_err, "freed.cu:5");
}
END_TEST
#endif

Suite *try_suite(void)
{
    Suite *suite = suite_create("try");
    TCase *tests = tcase_create("try");
    tcase_add_checked_fixture(tests, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(tests, test_rewritten, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, test_places);
    tcase_add_test(tests, test_refused);
    tcase_add_test(tests, test_cut);
    tcase_add_test(tests, test_words);
    suite_add_tcase(suite, tests);
#ifndef SANITIZED
    TCase *answers = tcase_create("answers");
    tcase_add_checked_fixture(answers, test_folder_enter, test_folder_leave);
    tcase_set_timeout(answers, 120);
    tcase_add_loop_test(answers, test_answers, 0, sizeof answering / sizeof *answering);
    tcase_add_test(answers, test_freed);
    suite_add_tcase(suite, answers);
#endif
    return suite;
}
