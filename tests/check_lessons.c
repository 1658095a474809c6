/* check_lessons.c - every lesson runs, is right (or wrong where that is what it is about),
 * shows what it claims, and its page has the figures that it gives. */
#include "causes/verdict.h"
#include "core/embedded.h"
#include "core/units.h"
#include "fixtures.h"
#include "options/lesson.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_MAX = 768, NAME_MAX_HERE = 64 };

/* Lessons claim that `slow` takes `least` to `most` times as long as `fast`. The bounds keep
 * the lesson's text true; the simulator's figures lie well within them. */
static const struct claim {
    const char *lesson, *slow, *fast;
    double least, most;
} claims[] = {
    {"01-serial", "16-tiles", "one-piece", 1, 1.2},
    {"02-pinned", "pageable", "pinned", 4, INFINITY},
    {"03-pinning", "pinned-in-the-run", "pageable", 1.5, INFINITY},
    {"03-pinning", "pageable", "pinned-before", 4, INFINITY},
    {"04-streams", "1-stream", "2-streams", 1.5, INFINITY},
    {"04-streams", "2-streams", "3-streams", 1.05, 1.5},
    {"04-streams", "3-streams", "8-streams", 0.97, 1.03},
    {"05-one-direction", "1-stream", "2-streams", 1.1, INFINITY},
    {"05-one-direction", "2-streams", "8-streams", 0.97, 1.03},
    {"06-full-gpu", "large-1-stream", "large-8-streams", 1.2, 1.6},
    {"06-full-gpu", "small-1-stream", "small-8-streams", 6, 8},
    {"07-two-way", "serial", "2-way", 1.3, 1.5},
    {"08-three-way", "serial", "3-way", 2.2, 3},
    {"08-three-way", "2-way", "3-way", 1.5, 2},
    {"09-bound", "balanced", "copy-bound", 1, 1.1},
    {"09-bound", "kernel-bound", "balanced", 1.5, 2},
    {"10-four-way", "3-way", "4-way", 1.1, 1.2},
    {"11-few-tiles", "1", "2", 1.4, 1.6}, /* (1 + 2) / 1 steps against (2 + 2) / 2, and so on */
    {"11-few-tiles", "2", "4", 1.2, 1.4},
    {"11-few-tiles", "4", "8", 1.1, 1.3},
    {"11-few-tiles", "8", "16", 1.05, 1.2},
    {"11-few-tiles", "16", "32", 1.02, 1.1},
    {"12-tiles", "1", "16", 1.5, INFINITY},
    {"12-tiles", "4", "16", 1.05, INFINITY},
    {"12-tiles", "64", "16", 1.05, INFINITY},
    {"12-tiles", "512", "64", 2, INFINITY},
    {"12-tiles", "512", "1", 1.2, INFINITY},
    {"13-orders", "c1060-depth", "c1060-breadth", 1.4, 1.6},
    {"13-orders", "c2050-breadth", "c2050-depth", 1.25, 1.45},
    {"13-orders", "k20c-breadth", "k20c-depth", 0.97, 1.03},
    {"13-orders", "now-breadth", "now-depth", 0.97, 1.03},
    {"14-one-queue", "1-queue-depth", "1-queue-breadth", 4, INFINITY},
    {"14-one-queue", "1-queue-depth", "8-queues-depth", 4, INFINITY},
    {"14-one-queue", "8-queues-depth", "8-queues-breadth", 0.9, 1.1},
    {"15-many-streams", "8-queues-depth", "32-queues-depth", 1.8, INFINITY},
    {"15-many-streams", "8-queues-depth", "8-queues-breadth", 1.8, INFINITY},
    {"16-default-stream", "default-stream", "non-blocking-streams", 1.15, INFINITY},
    {"16-default-stream", "blocking-streams", "non-blocking-streams", 1.5, INFINITY},
    {"17-blocking-calls", "k20c-alloc", "k20c-nothing", 1.5, INFINITY},
    {"17-blocking-calls", "k20c-pinned-alloc", "k20c-nothing", 1.5, INFINITY},
    {"17-blocking-calls", "k20c-memset", "k20c-nothing", 1.5, INFINITY},
    {"17-blocking-calls", "now-alloc", "now-nothing", 1.5, INFINITY},
    {"17-blocking-calls", "now-pinned-alloc", "now-nothing", 1.5, INFINITY},
    {"17-blocking-calls", "now-memset", "now-nothing", 1, 1.1},
    {"18-sync-in-loop", "sync-in-the-loop", "sync-once", 1.5, INFINITY},
    {"19-events", "a-stream-per-tile", "a-stream-per-stage", 0.97, 1.03},
    {"19-events", "one-slot", "a-stream-per-stage", 1.2, INFINITY},
    {"20-missing-wait", "right", "a-wait-is-missing", 1.02, INFINITY},
    {"21-priorities", "kernels-urgent", "kernels-alike", 0.99, 1.01},
    {"21-priorities", "copies-urgent", "copies-alike", 0.99, 1.01},
    {"22-callbacks", "folds-a-result", "none", 0.97, 1.06},
    {"22-callbacks", "slow", "none", 2, INFINITY},
    {"23-feeding", "the-host-waits", "a-callback-feeds", 1.2, INFINITY},
    {"23-feeding", "a-callback-feeds", "on-the-device", 1.1, INFINITY},
    {"24-launch-blocking", "set", "not-set", 1.3, INFINITY},
    {"25-lazy-loading", "first-launch-timed", "warmed-up", 1.02, INFINITY},
    {"26-graph", "small-streams", "small-graph", 1.1, INFINITY},
    {"26-graph", "large-streams", "large-graph", 0.97, 1.03},
    {"27-mapped", "small-copied", "small-mapped", 1.5, INFINITY},
    {"27-mapped", "large-mapped", "large-copied", 1, 1.2},
    {"28-profiler", "small-tiles", "large-tiles", 2, INFINITY},
    {"29-apart", "one-by-one", "graph", 1.1, INFINITY},
    {"29-apart", "graph", "packed", 1.1, INFINITY},
    {"29-apart", "packed", "batches", 1.5, INFINITY},
    {"29-apart", "batches", "gathered", 1, INFINITY},
    {"29-apart", "gathered", "side-by-side", 1, 1.2},
    {"30-two-gpus", "1-gpu", "2-gpus", 1.4, 1.8},
    {"30-two-gpus", "2-gpus", "4-gpus", 1.05, 1.3},
    {"30-two-gpus", "heavy-1-gpu", "heavy-4-gpus", 3.4, 4},
    {"31-switch", "2-gpus", "1-gpu", 0.99, 1.01},
    {"31-switch", "1-slot", "2-slots", 1.9, 2},
    {"31-switch", "heavy-1-gpu", "heavy-2-gpus", 1.9, 2},
    {"32-chain", "1-gpu", "2-gpus", 1.4, 1.55},
    {"32-chain", "1-gpu", "3-gpus", 2.55, 2.85},
    {"32-chain", "light-1-gpu", "light-3-gpus", 1.02, 1.2},
    {"33-peers", "by-the-host", "as-peers", 1.2, 1.5},
    {"33-peers", "heavy-by-the-host", "heavy-as-peers", 1, 1.05},
    {"34-halo", "1-gpu", "hidden", 1.85, 2},
    {"34-halo", "not-hidden", "hidden", 1.07, 1.2},
    {"34-halo", "thin-not-hidden", "thin-hidden", 1.15, 1.35},
    {"35-allocation", "loop", "once", 3, 6},
    {"35-allocation", "in-order", "once", 1.01, 1.1},
    {"35-allocation", "small-in-order", "small-once", 1.2, 2},
    {"36-columns", "row-by-row", "by-2d-copies", 20, 45},
    {"36-columns", "by-2d-copies", "tile-behind-tile", 1.3, 1.7},
    {"36-columns", "packed", "by-2d-copies", 1.2, 2.2},
    {"37-managed", "page-faults", "prefetched", 1.6, 2},
    {"37-managed", "prefetched", "copied", 5, 6},
    {"37-managed", "mapped", "copied", 1, 1.15},
    {"38-processes", "in-slices", "one-process", 3.3, 4},
    {"38-processes", "in-slices", "under-mps", 3.6, 4.4},
    {"39-ranks", "tiles-of-ranks", "tiles-of-peers", 1.3, 1.6},
    {"39-ranks", "halos-of-ranks", "halos-of-peers", 0.99, 1.01},
};
enum { CLAIM_COUNT = sizeof claims / sizeof claims[0] };

/* --- runs of lessons --- */

static void enter(void)
{
    test_folder_enter();
    setenv("CUDA_VISIBLE_DEVICES", "", 1); /* a GPU that is there gives other times */
}

static void leave(void)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    test_folder_leave();
}

static size_t lesson_count(void)
{
    size_t count = 0;
    while (lesson_texts[count].name != NULL)
        count++;
    return count;
}

static int lesson_run(const char *name, const char *options)
{
    char command[COMMAND_MAX];
    snprintf(command, sizeof command, "-q %s %s/../configs/lessons/%s.ini", options,
             TESTS_FOLDER, name);
    return program_run(command);
}

/* Returns the runs of lesson `name` from its JSON report, which the caller releases. They run
 * without data, on which no time depends. */
static const json_t *lesson_runs(const char *name, json_t **report)
{
    int code = lesson_run(name, "--no-data --format=json --timeline=spans.csv");
    ck_assert_msg(code == 0, "%s: exit %d: %s", name, code, program_err);
    *report = json_load_file("out", 0, NULL);
    ck_assert_ptr_nonnull(*report);
    return json_object_get(*report, "runs");
}

static double figure(const json_t *run, const char *key)
{
    const json_t *value = json_object_get(run, key);
    ck_assert_msg(json_is_number(value), "no %s", key);
    return json_number_value(value);
}

static double span_ms(const char *lesson, const json_t *runs, const char *name)
{
    size_t i;
    json_t *run;
    json_array_foreach(runs, i, run)
    {
        if (strcmp(json_string_value(json_object_get(run, "name")), name) == 0)
            return json_real_value(json_object_get(run, "time_ms"));
    }
    ck_abort_msg("%s has no run %s", lesson, name);
}

START_TEST(test_claims)
{
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++) {
        json_t *report;
        const json_t *runs = lesson_runs(text->name, &report);
        int found = 0;
        for (int i = 0; i < CLAIM_COUNT; i++) {
            const struct claim *claim = &claims[i];
            if (strcmp(claim->lesson, text->name) != 0)
                continue;
            double ratio =
                span_ms(text->name, runs, claim->slow) / span_ms(text->name, runs, claim->fast);
            ck_assert_msg(ratio >= claim->least && ratio <= claim->most,
                          "%s: %s takes %.3f times as long as %s, claimed: %g to %g",
                          claim->lesson, claim->slow, ratio, claim->fast, claim->least,
                          claim->most);
            found++;
        }
        json_decref(report);
        ck_assert_msg(found > 0, "%s claims nothing", text->name);
    }
}
END_TEST

/* Returns when the last tile of `stream` is done, in ms, by the timeline that was written last.
 */
static double stream_end_ms(const char *run, int stream)
{
    char *text = test_file_text("spans.csv"), name[NAME_MAX_HERE];
    long long issue, start, end, last = 0;
    int in;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (sscanf(line, "%63[^,],%*d,%*[^,],%*[^,],%*d,%d,%*[^,],%*[^,],%*d,%lld,%lld,%lld",
                   name, &in, &issue, &start, &end) == 5 &&
            strcmp(name, run) == 0 && in == stream && end > last)
            last = end;
    }
    free(text);
    ck_assert_msg(last > 0, "no spans of %s in stream %d", run, stream);
    return (double)last / 1e6;
}

START_TEST(test_priorities_help_kernels_alone)
{
    json_t *report;
    lesson_runs("21-priorities", &report);
    json_decref(report);
    ck_assert_double_lt(stream_end_ms("kernels-urgent", 3),
                        0.85 * stream_end_ms("kernels-alike", 3));
    ck_assert_double_gt(stream_end_ms("kernels-urgent", 2), stream_end_ms("kernels-alike", 2));
    ck_assert_double_eq_tol(stream_end_ms("copies-urgent", 3), stream_end_ms("copies-alike", 3),
                            0.01);
}
END_TEST

/* --- guesses --- */

/* Two times are alike within the first, and differ beyond the second: what lies between is no
 * clear answer. */
static const double alike_at_most = 0.01, differ_at_least = 0.02;

/* One of the factors is the answer, within a twelfth. */
static void assert_faster(const char *lesson, const struct lesson_guess *guess,
                          const json_t *runs)
{
    double answer =
        span_ms(lesson, runs, guess->runs[0]) / span_ms(lesson, runs, guess->runs[1]);
    int near = 0;
    for (int i = 0; i < guess->choice_count; i++)
        near += fabs(log(answer / guess->factors[i])) < log(13. / 12);
    ck_assert_msg(near == 1, "%s: %s: %g is not among the choices", lesson, guess->question,
                  answer);
}

static void assert_either(const char *lesson, const struct lesson_guess *guess,
                          const json_t *runs)
{
    double answer =
        span_ms(lesson, runs, guess->runs[0]) / span_ms(lesson, runs, guess->runs[1]);
    double apart = fmax(answer, 1 / answer) - 1;
    ck_assert_msg(apart <= alike_at_most || apart > differ_at_least,
                  "%s: %s: %g is neither alike nor different", lesson, guess->question, answer);
}

/* The fastest run, or the slowest, is so by a margin to the next. */
static void assert_one_winner(const char *lesson, const struct lesson_guess *guess,
                              const json_t *runs)
{
    double best = INFINITY, second = INFINITY;
    size_t i;
    json_t *run;
    json_array_foreach(runs, i, run)
    {
        double ms = figure(run, "time_ms");
        double cost = guess->kind == GUESS_FASTEST ? ms : 1 / ms;
        second = fmin(second, fmax(cost, best));
        best = fmin(best, cost);
    }
    ck_assert_msg(isfinite(second) && second / best > 1 + differ_at_least,
                  "%s: %s: only %g times to the next", lesson, guess->question, second / best);
}

static void assert_cause(const char *lesson, const struct lesson_guess *guess,
                         const json_t *runs)
{
    const json_t *verdict = NULL;
    size_t i, k;
    json_t *run, *each;
    json_array_foreach(runs, i, run)
    {
        if (strcmp(json_string_value(json_object_get(run, "name")), guess->runs[0]) != 0)
            continue;
        json_array_foreach(json_object_get(run, "verdicts"), k, each)
        {
            if (verdict == NULL && json_is_true(json_object_get(each, "named")))
                verdict = each;
        }
    }
    ck_assert_msg(verdict != NULL, "%s: %s has no named cause", lesson, guess->runs[0]);
    const char *code = json_string_value(json_object_get(verdict, "code"));
    int found = 0;
    for (int c = 0; c < guess->choice_count; c++)
        found += strcmp(verdict_rows[guess->codes[c]].name, code) == 0;
    ck_assert_msg(found == 1, "%s: %s: the answer is %s", lesson, guess->question, code);
    ck_assert_msg(figure(verdict, "share") > 0.1, "%s: %s costs little", lesson, code);
}

/* `pipeline lesson` offers choices, and says which of them was right, a letter for each guess.
 */
static void assert_letters(const char *name, const struct lesson *lesson)
{
    char command[COMMAND_MAX], offer[NAME_MAX_HERE];
    snprintf(command, sizeof command, "lesson %s -q --no-data --gantt=none", name);
    ck_assert_int_eq(program_run(command), 0);
    const char *line = strstr(program_out, "\nAnswers:\n");
    ck_assert_msg(line != NULL, "%s: %s", name, program_out);
    line += strlen("\nAnswers:\n");
    for (int i = 0; i < lesson->guess_count; i++, line = strchr(line, '\n') + 1) {
        ck_assert_msg(strspn(line, " ABCDEFGH") == 3 && line[3] == ':',
                      "%s: the answer is not among the choices: %s", name, line);
        snprintf(offer, sizeof offer, "\n    %c  ", line[2]);
        assert_has(program_out, offer);
    }
}

/* Each lesson's guesses have a clear answer in what it runs. */
START_TEST(test_guesses_have_answers)
{
    static void (*const asserts[GUESS_KIND_COUNT])(const char *, const struct lesson_guess *,
                                                   const json_t *) = {
        [GUESS_FASTER] = assert_faster,      [GUESS_EITHER] = assert_either,
        [GUESS_FASTEST] = assert_one_winner, [GUESS_SLOWEST] = assert_one_winner,
        [GUESS_CAUSE] = assert_cause,
    };
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++) {
        struct lesson lesson;
        struct error error = {0};
        ck_assert_msg(lesson_read(&lesson, text->name, text->text, &error) == STATUS_OK, "%s",
                      error.text);
        json_t *report;
        const json_t *runs = lesson_runs(text->name, &report);
        for (int i = 0; i < lesson.guess_count; i++)
            asserts[lesson.guesses[i].kind](text->name, &lesson.guesses[i], runs);
        json_decref(report);
        assert_letters(text->name, &lesson);
    }
}
END_TEST

/* --- the pages --- */

/* Returns the page of lesson `name`, to be freed. */
static char *lesson_page(const char *name)
{
    char path[COMMAND_MAX];
    snprintf(path, sizeof path, "%s/../docs/lessons/%s.md", TESTS_FOLDER, name);
    return test_file_text(path);
}

/* Returns the report that `page` shows of a lesson: what stands there behind "$ pipeline
 * --gantt=none configs/lessons/NAME.ini". It is a part of `page`, which ends with it. */
static const char *report_shown(char *page, const char *name)
{
    char command[COMMAND_MAX];
    snprintf(command, sizeof command, "$ pipeline --gantt=none configs/lessons/%s.ini\n", name);
    char *report = strstr(page, command);
    ck_assert_msg(report != NULL, "the page of %s has no report", name);
    report += strlen(command);
    char *end = strstr(report, "```");
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    return report;
}

static double unit_ms(const char *unit)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ms;
    }
    return 0;
}

/* Returns what follows the name of run `name` in the row that starts with its time, which goes
 * into `ms`. The other tables' rows go on with no time. */
static const char *row_of_times(const char *report, const char *name, double *ms)
{
    size_t length = strlen(name);
    for (const char *line = report; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        char unit[3];
        int end = 0;
        if (strncmp(line, name, length) == 0 && line[length] == ' ' &&
            sscanf(line + length, " %lf %2s%n", ms, unit, &end) == 2 && unit_ms(unit) > 0) {
            *ms *= unit_ms(unit);
            return line + length + end;
        }
    }
    ck_abort_msg("the page has no times of %s in\n%s", name, report);
}

/* Fails unless `shown`, printed with `step` as its last digit, is `value` rounded. */
static void assert_rounded(const char *lesson, const char *run, double shown, double value,
                           double step)
{
    ck_assert_msg(fabs(shown - value) <= 0.51 * step,
                  "%s: its page shows %g of %s, which has %g (make lessons)", lesson, shown,
                  run, value);
}

/* Each run's row on the page has its time, its speed-up and its part of the limit. The wording
 * around them is compared by scripts/lessons.sh, in `make test-deep`. */
START_TEST(test_page_has_the_figures_of_runs)
{
    const char *lesson = lesson_texts[_i].name;
    json_t *report, *run;
    const json_t *runs = lesson_runs(lesson, &report);
    char *page = lesson_page(lesson);
    const char *shown = report_shown(page, lesson);
    size_t i;
    json_array_foreach(runs, i, run)
    {
        const char *name = json_string_value(json_object_get(run, "name"));
        double shown_ms, value, ms = figure(run, "time_ms");
        char line[COMMAND_MAX], mark;
        sscanf(row_of_times(shown, name, &shown_ms), "%767[^\n]", line);
        assert_rounded(lesson, name, shown_ms, ms, pow(10, floor(log10(ms)) - 2));
        for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " ")) {
            if (sscanf(word, "%lf%c", &value, &mark) != 2)
                continue;
            if (mark == 'x')
                assert_rounded(lesson, name, value, figure(run, "speedup"), 0.01);
            else if (mark == '%')
                assert_rounded(lesson, name, value, 100 * figure(run, "limit_ratio"), 0.1);
        }
    }
    json_decref(report);
    free(page);
}
END_TEST

/* A lesson about a wrong result needs the data for it, and its exit code says so. */
START_TEST(test_wrong_results_show)
{
    int wrong = 0;
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++) {
        struct lesson lesson;
        ck_assert_int_eq(lesson_read(&lesson, text->name, text->text, NULL), STATUS_OK);
        if (lesson.exit_code == 0)
            continue;
        int code = lesson_run(text->name, "--gantt=none -n 4M");
        ck_assert_msg(code == lesson.exit_code, "%s: exit %d, not %d: %s", text->name, code,
                      lesson.exit_code, program_err);
        assert_has(program_out, "  WRONG\n");
        char *page = lesson_page(text->name);
        assert_has(report_shown(page, text->name), "  WRONG\n");
        free(page);
        wrong++;
    }
    ck_assert_int_gt(wrong, 0);
}
END_TEST

/* Each picture has the spans that runs give now. */
START_TEST(test_pictures_show_what_runs_give)
{
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++) {
        char path[COMMAND_MAX], span[UNITS_TEXT];
        snprintf(path, sizeof path, "%s/../docs/lessons/%s.svg", TESTS_FOLDER, text->name);
        char *picture = test_file_text(path);
        json_t *report, *run;
        const json_t *runs = lesson_runs(text->name, &report);
        size_t i;
        json_array_foreach(runs, i, run)
        {
            double ms = json_real_value(json_object_get(run, "time_ms"));
            units_time(llround(ms * 1e6), span);
            ck_assert_msg(strstr(picture, span) != NULL, "%s shows no %s (make lessons)", path,
                          span);
        }
        json_decref(report);
        free(picture);
    }
}
END_TEST

/* --- heads, and the list --- */

START_TEST(test_heads)
{
    char listed[COMMAND_MAX];
    char *page = test_file_text(TESTS_FOLDER "/../docs/lessons.md");
    ck_assert_int_eq(program_run("list lessons"), 0);
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++) {
        struct lesson lesson;
        struct error error = {0};
        enum status status = lesson_read(&lesson, text->name, text->text, &error);
        ck_assert_msg(status == STATUS_OK, "%s", error.text);
        ck_assert_msg(atoi(text->name) == text - lesson_texts + 1, "%s is not number %td",
                      text->name, text - lesson_texts + 1);
        ck_assert_msg(strlen(lesson.message) <= 80 &&
                          lesson.message[strlen(lesson.message) - 1] == '.',
                      "%s: a message is a sentence: %s", text->name, lesson.message);
        assert_says(program_out, lesson.question);
        assert_says(program_out, lesson.title);
        snprintf(listed, sizeof listed, " pipeline lesson %d\n", atoi(text->name));
        assert_has(program_out, listed);
        snprintf(listed, sizeof listed, "\n| [%d. %s](lessons/%s.md) | %s | %s |\n",
                 atoi(text->name), lesson.title, text->name, lesson.question, lesson.message);
        ck_assert_msg(strstr(page, listed) != NULL, "docs/lessons.md doesn't list %s", listed);
    }
    free(page);
}
END_TEST

/* Returns how many lessons `page` names behind `before`, all of which there are, and frees it.
 */
static int lessons_named(char *page, const char *before)
{
    int found = 0;
    char name[NAME_MAX_HERE];
    for (const char *at = page; (at = strstr(at, before)) != NULL;) {
        at += strlen(before);
        if (sscanf(at, "%2[0-9]", name) != 1 || sscanf(at, "%63[0-9a-z-]", name) != 1 ||
            strchr(name, '-') == NULL)
            continue;
        ck_assert_msg(embedded_find(lesson_texts, name) != NULL, "there is no lesson %s", name);
        found++;
    }
    free(page);
    return found;
}

START_TEST(test_pages_name_lessons_that_there_are)
{
    static const char *const pages[] = {
        "README.md",        "docs/lessons.md",  "docs/reading.md", "docs/running.md",
        "docs/glossary.md", "docs/accuracy.md", "docs/verdicts.md"};
    int found = 0, in_lessons = 0;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        char path[COMMAND_MAX];
        snprintf(path, sizeof path, "%s/../%s", TESTS_FOLDER, pages[i]);
        found += lessons_named(test_file_text(path), "lessons/");
    }
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++)
        in_lessons += lessons_named(lesson_page(text->name), "](");
    ck_assert_int_gt(found, (int)lesson_count());
    ck_assert_int_gt(in_lessons, (int)lesson_count()); /* a picture each, and links */
}
END_TEST

/* Both lists of pages say how many lessons there are. */
START_TEST(test_pages_count_lessons)
{
    static const char *const pages[] = {"README.md", "docs/README.md"};
    char path[COMMAND_MAX], words[2][NAME_MAX_HERE];
    snprintf(words[0], sizeof words[0], "%zu [lessons]", lesson_count());
    snprintf(words[1], sizeof words[1], "%zu lessons", lesson_count());
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/../%s", TESTS_FOLDER, pages[i]);
        char *page = test_file_text(path);
        assert_has(page, words[i]);
        free(page);
    }
}
END_TEST

/* A lesson is found by number and by name, from a folder without it, and its report stands
 * between its question and its explanation; a report in another form stands alone. */
START_TEST(test_lesson_command)
{
    static const char *const words[] = {"2", "02", "pinned", "02-pinned"};
    struct lesson lesson;
    const char *text = embedded_find(lesson_texts, "02-pinned");
    ck_assert_int_eq(lesson_read(&lesson, "02-pinned", text, NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char command[COMMAND_MAX];
        snprintf(command, sizeof command, "lesson %s -q --no-data --gantt=none", words[i]);
        ck_assert_int_eq(program_run(command), 0);
        const char *title = strstr(program_out, lesson.title);
        const char *question = strstr(program_out, lesson.question);
        const char *report = strstr(program_out, "pageable: ");
        const char *explanation = strstr(program_out, "  Memory from malloc() is pageable.");
        ck_assert_msg(title != NULL && question > title && report > question &&
                          explanation > report,
                      "lesson %s: %s", words[i], program_out);
        ck_assert_ptr_null(strstr(explanation, "[global]"));
        ck_assert_ptr_null(strstr(explanation, "Guess:"));
        const char *remember = strstr(explanation, "To remember:\n  ");
        ck_assert_msg(remember != NULL && strstr(remember, lesson.message) != NULL,
                      "lesson %s: %s", words[i], program_out);
    }
    ck_assert_int_eq(program_run("lesson 2 -q --no-data --format=json --tiles=8"), 0);
    json_t *report = json_loads(program_out, 0, NULL);
    ck_assert_ptr_nonnull(report);
    json_decref(report);
    ck_assert_int_eq(program_run("lesson 2 -q --no-data --sweep=tiles=4,8"), 0);
    ck_assert_ptr_null(strstr(program_out, "Answers:")); /* its guesses are of other runs */
    assert_has(program_out, "What to see:");
    ck_assert_int_eq(program_run("lesson 20 -q -n 1M"), 1); /* wrong on purpose */
    assert_has(program_out, "x as fast as right, WRONG RESULT\n");
    assert_has(program_out, "What to see:");
    ck_assert_ptr_null(strstr(program_out, "bound by")); /* no table, and no causes */
    ck_assert_ptr_null(strstr(program_out, "\nwhy\n"));
    ck_assert_int_eq(program_run("lesson 2 -q --no-data --all"), 0);
    const char *picture = strstr(program_out, "  kernel "),
               *table = strstr(program_out, "bound by");
    ck_assert_msg(picture != NULL && table > picture && strstr(table, "\nwhy\n") != NULL, "%s",
                  program_out);
}
END_TEST

Suite *lessons_suite(void)
{
    Suite *suite = suite_create("lessons");
    TCase *tests = tcase_create("lessons");
    tcase_add_checked_fixture(tests, enter, leave);
    tcase_add_test(tests, test_claims);
    tcase_add_test(tests, test_guesses_have_answers);
    tcase_add_test(tests, test_priorities_help_kernels_alone);
    tcase_add_loop_test(tests, test_page_has_the_figures_of_runs, 0,
                        test_cases((int)lesson_count()));
    tcase_add_test(tests, test_wrong_results_show);
    tcase_add_test(tests, test_pictures_show_what_runs_give);
    tcase_add_test(tests, test_heads);
    tcase_add_test(tests, test_pages_name_lessons_that_there_are);
    tcase_add_test(tests, test_pages_count_lessons);
    tcase_add_test(tests, test_lesson_command);
    suite_add_tcase(suite, tests);
    return suite;
}
