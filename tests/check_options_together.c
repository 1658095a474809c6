/* check_options_together.c - what goes together: the rows, the check, the help and the refusals
 * say the same, and what a refusal says to use instead does go together. */
#include "fixtures.h"
#include "options/table.h"
#include "options_cases.h"
#include "plan/mistake.h"
#include "plan/together.h"

#include <string.h>

enum { WORDS = 16 };

/* A row names options that there are, and the help of both says something of it. */
START_TEST(rows_are_whole)
{
    for (const struct together_row *row = together_rows; row->option != NULL; row++) {
        const char *names[] = {row->option, row->other};
        for (int i = 0; i < 2 && names[i] != NULL; i++) {
            const struct option_row *option = option_find(names[i]);
            char with[OPTION_WITH];
            ck_assert_msg(option != NULL, "%s", names[i]);
            ck_assert_ptr_nonnull(option_with(option, with));
            ck_assert_msg(strlen(with) < sizeof with - 1, "%s", names[i]);
            if (row->rule != NULL)
                ck_assert_msg(strstr(with, row->rule) != NULL, "%s: %s", names[i], row->rule);
            else
                ck_assert_msg(strstr(with, row->trait->words + 1) != NULL &&
                                  strstr(with, row->other_trait->words + 1) != NULL,
                              "%s: %s, %s", names[i], row->trait->words,
                              row->other_trait->words);
        }
        ck_assert(row->rule != NULL ? row->other_trait == NULL : row->other_trait != NULL);
        ck_assert(row->allowed != NULL || row->nearest != NULL || row->devices > 0);
    }
}
END_TEST

/* Values that are likely to clash. */
static const char *const drawn[] = {
    "--ways=1",
    "--ways=2",
    "--ways=4",
    "--streams=1",
    "--streams=7",
    "--streams=600",
    "--streams=auto",
    "--cpu-share=0.5",
    "--tiles=1",
    "--tiles=3",
    "--tiles=100",
    "--tiles=auto",
    "--tiles=1M",
    "--elements=10",
    "--elements=1000",
    "--elements=64k",
    "--kernel=scan",
    "--kernel=dgemm",
    "--kernel=stencil",
    "--kernel=scale,scale",
    "--kernel=wave,wave",
    "--kernel=sum-int",
    "--kernel=finite",
    "--kernel=transpose-fine",
    "--kernel=stride-copy",
    "--kernel=wave-launches",
    "--intensity=65536",
    "--columns=7",
    "--rows=64",
    "--memory=pageable",
    "--memory=mapped",
    "--memory=managed",
    "--alloc=loop",
    "--alloc=pool",
    "--scatter",
    "--copy=2d",
    "--copy=rows",
    "--tile-width=100",
    "--carry=sync",
    "--carry=callback",
    "--order=breadth",
    "--order=auto",
    "--layout=stage",
    "--priorities=0,-1",
    "--callbacks",
    "--issue=graph",
    "--issue=batch",
    "--issue=auto",
    "--batch=3",
    "--pack",
    "--blocks=9",
    "--mistake=sync-in-loop",
    "--mistake=lazy-loading",
    "--device=sim:h200*2",
    "--device=sim:h200*8",
    "--device=cuda:0,1",
    "--device=cuda",
    "--spread=chain",
    "--share=mps",
    "--exchange=peer",
    "--exchange=host",
    "--halo=64",
    "--profile",
    "--runs=3",
    "--warmup=2",
    "--no-data",
    "--input=x.npy",
    "--output=y.npy",
};

/* Draws a line of one to `most` options. */
static void draw_line(uint64_t *random, uint32_t most, char *line[WORDS + 2])
{
    int count = 0;
    line[count++] = (char *)"pipeline";
    for (uint32_t left = 1 + test_random_below(random, most); left > 0; left--)
        line[count++] =
            (char *)drawn[test_random_below(random, sizeof drawn / sizeof drawn[0])];
    line[count] = NULL;
}

static enum status parse(char *line[WORDS + 2], struct error *error)
{
    struct options options;
    int count = 0;
    *error = (struct error){0};
    while (line[count] != NULL)
        count++;
    const enum status status = options_parse(count, line, &options, error);
    if (status == STATUS_OK)
        options_free(&options);
    return status;
}

/* Returns the line's sentence without what it says to use; the row that it is of. */
static size_t length_of_why(const struct error *error)
{
    const char *use = strstr(error->text, ": use ");
    ck_assert_msg(use != NULL, "says nothing to use: %s", error->text);
    return (size_t)(use - error->text);
}

/* What a refusal says to use: a word for each value. */
struct remedies {
    char words[WORDS][160];
    int count;
};

/* Reads ": use --memory=pinned or registered, or a --kernel such as scale". */
static void read_remedies(const struct error *error, struct remedies *remedies)
{
    char text[sizeof error->text], option[64] = "", *rest = text, *word;
    snprintf(text, sizeof text, "%s", error->text + length_of_why(error) + strlen(": use "));
    remedies->count = 0;
    while ((word = strsep(&rest, " ")) != NULL) {
        const size_t length = strlen(word);
        if (length > 0 && word[length - 1] == ',')
            word[length - 1] = '\0';
        if (strcmp(word, "or") == 0 || strcmp(word, "a") == 0 || strcmp(word, "such") == 0 ||
            strcmp(word, "as") == 0)
            continue;
        char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
        if (strncmp(word, "--", 2) == 0)
            snprintf(option, sizeof option, "%.*s",
                     equals != NULL ? (int)(equals - word) : (int)strlen(word), word);
        if (strncmp(word, "--", 2) == 0 && equals == NULL)
            continue;
        ck_assert_int_lt(remedies->count, WORDS);
        snprintf(remedies->words[remedies->count++], sizeof remedies->words[0], "%s=%s", option,
                 equals != NULL ? equals + 1 : word);
    }
    ck_assert_msg(remedies->count > 0, "%s", error->text);
}

/* Returns true where a refusal is of a row, and not of one option's value or of a file. */
static bool is_of_row(const struct error *error)
{
    return strstr(error->text, ": use ") != NULL;
}

/* Whatever is refused for what goes together says what to use. With any of that the line is
 * right, or else it is refused for another of its flaws; those are fewer each time. */
START_TEST(remedies_go_together)
{
    uint64_t random = 20261128;
    int refused = 0, right_at_once = 0;
    for (int i = 0; i < test_cases(6000); i++) {
        char *line[WORDS + 2];
        struct error error, then;
        struct remedies remedies;
        draw_line(&random, i % 3 == 0 ? 7 : 3, line);
        if (parse(line, &error) == STATUS_OK)
            continue;
        refused++;
        ck_assert_msg(is_of_row(&error), "%s", error.text);
        read_remedies(&error, &remedies);
        int count = 0, right = 0;
        while (line[count] != NULL)
            count++;
        for (int j = 0; j < remedies.count; j++) {
            line[count] = remedies.words[j];
            line[count + 1] = NULL;
            right += parse(line, &then) == STATUS_OK;
            ck_assert_msg(then.status == STATUS_OK || is_of_row(&then), "%s: then %s",
                          error.text, then.text);
            ck_assert_msg(then.status == STATUS_OK ||
                              strncmp(then.text, error.text, length_of_why(&error)) != 0,
                          "%s does not help: %s", remedies.words[j], error.text);
        }
        ck_assert_msg(right == 0 || right == remedies.count, "some do not help: %s",
                      error.text);
        right_at_once += right > 0;
    }
    ck_assert_int_gt(refused, test_cases(6000) / 4);
    ck_assert_int_gt(right_at_once, refused / 3);
}
END_TEST

/* A line whose flaws are put right one by one, by what each refusal says, is right in the end.
 */
START_TEST(remedies_lead_to_what_goes_together)
{
    uint64_t random = 43;
    for (int i = 0; i < test_cases(1500); i++) {
        char *line[WORDS + 2], *longer[2 * WORDS + 2];
        static struct remedies steps[WORDS];
        struct error error;
        int count = 0, step = 0;
        draw_line(&random, 9, line);
        for (; line[count] != NULL; count++)
            longer[count] = line[count];
        longer[count] = NULL;
        while (parse(longer, &error) != STATUS_OK) {
            ck_assert_msg(step < WORDS, "no end: %s", error.text);
            read_remedies(&error, &steps[step]);
            longer[count++] =
                steps[step].words[test_random_below(&random, (uint32_t)steps[step].count)];
            longer[count] = NULL;
            step++;
        }
    }
}
END_TEST

/* Processes that share a run are told the option as it is given, and what would do instead. */
START_TEST(ranks_are_told_options_as_they_are_given)
{
    struct settings runs[3] = {test_settings("scale"), test_settings("scale"),
                               test_settings("scale")};
    static const char *const said[] = {
        "--ways=4 has each process take all of the CPU: use --ways=1, 2 or 3",
        "--pack has each process take all of the CPU: use --pack=no",
        "--mistake=sync-in-loop is made by one process: use --mistake=none",
    };
    ck_assert_int_eq(settings_check_ranks(&runs[0], &(struct error){0}), STATUS_OK);
    runs[0].ways = 4;
    runs[1].pack = true;
    ck_assert(mistake_find("sync-in-loop", &runs[2].mistake));
    for (int i = 0; i < 3; i++) {
        struct error error = {0};
        ck_assert_int_eq(settings_check_ranks(&runs[i], &error), STATUS_USAGE);
        ck_assert_str_eq(error.text, said[i]);
    }
}
END_TEST

START_TEST(check_says_what_rows_say)
{
    uint64_t random = 7;
    int misfits = 0;
    for (int i = 0; i < test_cases(6000); i++) {
        char *line[WORDS + 2];
        struct settings settings;
        struct error error = {0};
        draw_line(&random, 5, line);
        ck_assert_int_eq(settings_set_defaults(&settings, &error), STATUS_OK);
        for (int j = 1; line[j] != NULL; j++) {
            char word[64], *equals;
            snprintf(word, sizeof word, "%s", line[j] + 2);
            equals = strchr(word, '=');
            if (equals != NULL)
                *equals = '\0';
            const struct assignment given = {option_find(word),
                                             equals != NULL ? strchr(line[j], '=') + 1 : "yes",
                                             {.source = SOURCE_COMMAND_LINE}};
            ck_assert_int_eq(options_set(&given, &settings, &error), STATUS_OK);
        }
        const struct together_row *row = settings_misfit(&settings);
        ck_assert_int_eq(settings_check(&settings, &error),
                         row == NULL ? STATUS_OK : STATUS_USAGE);
        if (row == NULL)
            continue;
        misfits++;
        ck_assert(together_clash(row, &settings));
        ck_assert_msg(strncmp(error.text, row->option, strlen(row->option)) == 0 &&
                          strstr(error.text, row->says) != NULL &&
                          strstr(error.text, row->rest) != NULL,
                      "%s %s: %s", row->option, row->says, error.text);
    }
    ck_assert_int_gt(misfits, test_cases(6000) / 5);
}
END_TEST

TCase *options_together_tcase(void)
{
    TCase *tcase = tcase_create("together");
    tcase_set_timeout(tcase, 120); /* under valgrind */
    tcase_add_test(tcase, rows_are_whole);
    tcase_add_test(tcase, remedies_go_together);
    tcase_add_test(tcase, remedies_lead_to_what_goes_together);
    tcase_add_test(tcase, ranks_are_told_options_as_they_are_given);
    tcase_add_test(tcase, check_says_what_rows_say);
    return tcase;
}
