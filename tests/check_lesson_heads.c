/* check_lesson_heads.c - the head of a lesson's file is read, or refused with a reason. */
#include "causes/verdict.h"
#include "options/lesson.h"
#include "suites.h"

#include <stdio.h>
#include <string.h>

enum { PARAGRAPHS_MAX = 768 };

#define TITLE "; 1-a.ini - Title\n"
#define ASKED TITLE "; Question: What?\n; Message: This.\n"
#define RUNS  "\n[global]\ntiles = 4\n[one]\n[two]\n"

START_TEST(test_bad_heads)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "first line"},
        {"[global]\n" ASKED "; Guess: fastest\n", "first line"},
        {";\n" ASKED "; Guess: fastest\n", "first line"},
        {"; 1-b.ini - Title\n; Question: What?\n", "first line"},
        {"; 1-a.ini - \n; Question: What?\n", "first line"},
        {TITLE ";\n[a]\n; Question: What?\n", "Question"},
        {TITLE "; Question: \n", "Question"},
        {TITLE "; Question: What?\n", "Message"},
        {TITLE "; Question: What?\n; Message: \n", "Message"},
        {TITLE "; Question: What?\n; Message: This, which is one byte longer than the title of "
               "a slide may ever be, at 80 of them.\n",
         "Message: ...' of at most 80"},
        {ASKED RUNS, "no line '; Guess:"},
        {ASKED "[one]\n; Guess: fastest\n", "no line '; Guess:"},
        {ASKED "; Guess: \n" RUNS, "empty or too long"},
        {ASKED "; Guess: quickest\n" RUNS,
         "'; Guess: quickest': there is no guess of that kind"},
        {ASKED "; Guess:  - Which?\n" RUNS, "no guess of that kind"},
        {ASKED "; Guess: fastest one\n" RUNS, "a word too many"},
        {ASKED "; Guess: fastest - \n" RUNS, "no ' - ' and a question"},
        {ASKED "; Guess: fastest\n" RUNS, "no ' - ' and a question"},
        {ASKED "; Guess: either one\n" RUNS, "too few runs"},
        {ASKED "; Guess: either one one\n" RUNS, "one run twice"},
        {ASKED "; Guess: either one three\n" RUNS, "a run that is not there"},
        {ASKED "; Guess: either one tw\n" RUNS, "a run that is not there"},
        {ASKED "; Guess: either one global\n" RUNS, "a run that is not there"},
        {ASKED "; Guess: either one two 1\n" RUNS, "a word too many"},
        {ASKED "; Guess: faster one two\n" RUNS, "two choices or more"},
        {ASKED "; Guess: faster one two 1\n" RUNS, "two choices or more"},
        {ASKED "; Guess: faster one two 0,2\n" RUNS, "above 0"},
        {ASKED "; Guess: faster one two nan,2\n" RUNS, "above 0"},
        {ASKED "; Guess: faster one two 1,2x\n" RUNS, "above 0"},
        {ASKED "; Guess: faster one two 2,2\n" RUNS, "a fifth above the last"},
        {ASKED "; Guess: faster one two 2,2.3\n" RUNS, "a fifth above the last"},
        {ASKED "; Guess: faster one two 1,2,3,4,5,6,8\n" RUNS, "too many choices"},
        {ASKED "; Guess: faster one two 1,2 3\n" RUNS, "a word too many"},
        {ASKED "; Guess: cause one\n" RUNS, "two choices or more"},
        {ASKED "; Guess: cause one one-queue\n" RUNS, "two choices or more"},
        {ASKED "; Guess: cause one one-queue,queues\n" RUNS, "a cause that is not there"},
        {ASKED "; Guess: cause one one-queue,one-queue\n" RUNS, "alphabetical order"},
        {ASKED "; Guess: cause one one-queue,few-tiles\n" RUNS, "alphabetical order"},
        {ASKED "; Guess: cause three one-queue,few-tiles\n" RUNS, "a run that is not there"},
        {ASKED
         "; Guess: fastest - 1\n; Guess: slowest - 2\n; Guess: fastest - 3\n; Guess: fastest - "
         "4\n; Guess: fastest - 5\n" RUNS,
         "more than 4 lines"},
        {ASKED "; Guess: fastest - Which?\n; Exit: 2\n", "Exit"},
        {ASKED "; Guess: fastest - Which?\n; Exit: 10\n", "Exit"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct lesson lesson = {.title = "untouched"};
        struct error error = {0};
        ck_assert_msg(lesson_read(&lesson, "1-a", bad[i].text, &error) == STATUS_FAILED,
                      "%zu: should be refused: %s", i, bad[i].words);
        ck_assert_msg(strstr(error.text, bad[i].words) != NULL, "%zu: %s", i, error.text);
        ck_assert_str_eq(lesson.title, "untouched");
    }
    char line[2 * LESSON_TEXT];
    snprintf(line, sizeof line, "; 1-a.ini - %0*d\n; Question: What?\n", LESSON_TEXT, 0);
    struct lesson lesson;
    ck_assert_int_eq(lesson_read(&lesson, "1-a", line, NULL), STATUS_FAILED);
}
END_TEST

/* A head's parts may stand in any order. */
START_TEST(test_good_heads)
{
    static const struct {
        const char *line, *question;
    } guesses[] = {
        {"faster one two 0.5,1,4 - How fast?", "How fast?"},
        {"either two one - Why?", "Why?"},
        {"slowest - Which?", "Which?"},
        {"cause one one-queue,small-tiles - What?", "What?"},
    };
    char text[1024];
    snprintf(text, sizeof text,
             TITLE ";\n; Guess: %s\n; Exit: 1\n; Guess: %s\n; Message: %080d\n; Guess: %s\n; "
                   "Guess: %s\n; Question: What?" RUNS,
             guesses[0].line, guesses[1].line, 0, guesses[2].line, guesses[3].line);
    struct lesson lesson;
    struct error error = {0};
    ck_assert_msg(lesson_read(&lesson, "1-a", text, &error) == STATUS_OK, "%s", error.text);
    ck_assert_str_eq(lesson.title, "Title");
    ck_assert_str_eq(lesson.question, "What?");
    ck_assert_uint_eq(strlen(lesson.message), 80);
    ck_assert_int_eq(lesson.exit_code, 1);
    ck_assert_int_eq(lesson.guess_count, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_str_eq(lesson.guesses[i].question, guesses[i].question);
    ck_assert_int_eq(lesson.guesses[0].choice_count, 3);
    ck_assert_double_eq(lesson.guesses[0].factors[0], 0.5);
    ck_assert_double_eq(lesson.guesses[0].factors[2], 4);
    ck_assert_str_eq(lesson.guesses[1].runs[1], "one");
    ck_assert_int_eq(lesson.guesses[3].choice_count, 2);
    ck_assert_int_eq(lesson.guesses[3].codes[0], VERDICT_ONE_QUEUE);
}
END_TEST

static void take_paragraph(void *context, const char *paragraph)
{
    char *all = context;
    size_t length = strlen(all);
    snprintf(all + length, PARAGRAPHS_MAX - length, "<%s>", paragraph);
}

/* The explanation is what stands behind the keys and an empty line, a line for each paragraph.
 */
START_TEST(test_explanations)
{
    static const struct {
        const char *text, *paragraphs;
    } cases[] = {
        {ASKED "; Guess: fastest\n;\n; One\n; two.\n;\n; Three.\n\n; not this\n" RUNS,
         "<One two.><Three.>"},
        {ASKED "; Exit: 1\n; Guess: fastest\n;\n; One.", "<One.>"},
        {ASKED "; Guess: fastest\n;\n;\n" RUNS, ""},
        {ASKED, ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char all[PARAGRAPHS_MAX] = "";
        lesson_explain(cases[i].text, take_paragraph, all);
        ck_assert_str_eq(all, cases[i].paragraphs);
    }
}
END_TEST

Suite *lesson_heads_suite(void)
{
    Suite *suite = suite_create("lesson_heads");
    TCase *tests = tcase_create("lesson_heads");
    tcase_add_test(tests, test_bad_heads);
    tcase_add_test(tests, test_good_heads);
    tcase_add_test(tests, test_explanations);
    suite_add_tcase(suite, tests);
    return suite;
}
