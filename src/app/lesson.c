/* lesson.c - a lesson in the terminal: what it asks, and what its runs answered. The slides
 * take questions, choices and answers from what is printed here (scripts/lecture.sh). */
#include "app/commands.h"

#include "causes/verdict.h"
#include "core/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Times within a hundredth are alike, and a factor is the answer within a twelfth. */
static const double alike_at_most = 1.01, near_at_most = 1.0833;

static void print_paragraph(void *out, const char *paragraph)
{
    options_print_wrapped(out, 0, 2, paragraph);
}

/* Returns choice `i` of a guess, which may be kept in `text`; NULL: it has fewer. */
static const char *choice_text(const struct options *options, const struct lesson_guess *guess,
                               int i, char text[LESSON_TEXT])
{
    switch (guess->kind) {
    case GUESS_FASTER:
        if (i >= guess->choice_count)
            return NULL;
        snprintf(text, LESSON_TEXT, "%gx", guess->factors[i]);
        return guess->factors[i] == 1 ? "about the same" : text;
    case GUESS_CAUSE:
        return i < guess->choice_count ? verdict_rows[guess->codes[i]].fix : NULL;
    case GUESS_EITHER:
        return i < 2 ? guess->runs[i] : i == 2 ? "no difference" : NULL;
    default:
        return i < options->run_count ? options->runs[i].name : NULL;
    }
}

/* Asks until one of `count` choices is taken, or none. Returns false where the reader leaves.
 */
static bool guess_take(struct lesson_guess *guess, int count)
{
    char line[LESSON_TEXT];
    for (;;) {
        printf("  Your guess? A to %c, Enter without one, q to leave: ", 'A' + count - 1);
        fflush(stdout);
        if (fgets(line, sizeof line, stdin) == NULL) {
            putchar('\n'); /* the terminal wrote none */
            return true;
        }
        guess->guessed = (line[0] | 0x20) - 'a' + 1; /* either case */
        if (line[0] == 'q' || line[0] == 'Q')
            return false;
        if (guess->guessed >= 1 && guess->guessed <= count && line[1] == '\n')
            return true;
        guess->guessed = 0;
        if (line[0] == '\n')
            return true;
    }
}

enum status lesson_begin(const struct options *options, struct lesson *lesson, bool *leaves,
                         struct error *error)
{
    const struct embedded *file = options->lesson;
    enum status status = lesson_read(lesson, file->name, file->text, error);
    if (status != STATUS_OK)
        return status;
    if (options->sweep.axis_count > 0)
        lesson->guess_count = 0; /* a sweep has other runs than those that it asks about */
    const bool waits = !options->quiet && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    printf("Lesson %d: %s\n\n%s\n\n", atoi(file->name), lesson->title, lesson->question);
    for (int i = 0; i < lesson->guess_count; i++) {
        char text[LESSON_TEXT];
        const char *choice;
        print_paragraph(stdout, lesson->guesses[i].question);
        int k = 0;
        for (; (choice = choice_text(options, &lesson->guesses[i], k, text)) != NULL; k++)
            printf("    %c  %s\n", 'A' + k, choice);
        if (waits && !guess_take(&lesson->guesses[i], k)) {
            *leaves = true;
            return STATUS_OK;
        }
    }
    if (options->gantt == GANTT_NONE)
        putchar('\n'); /* a picture begins with one */
    return STATUS_OK;
}

/* --- answers --- */

static const struct run_report *run_called(const struct report *report, const char *name)
{
    const struct run_report *run = report->runs;
    while (strcmp(run->settings->name, name) != 0)
        run++;
    return run;
}

/* Says in `text` which run is the fastest, or the slowest, and returns its number. */
static int answer_first(const struct lesson_guess *guess, const struct report *report,
                        char text[LESSON_TEXT])
{
    const int sign = guess->kind == GUESS_FASTEST ? 1 : -1;
    int first = 0;
    for (int i = 1; i < report->run_count; i++) {
        if (sign * report->runs[i].median_ns < sign * report->runs[first].median_ns)
            first = i;
    }
    char time[UNITS_TEXT];
    snprintf(text, LESSON_TEXT, "%s is %s: %s", report->runs[first].settings->name,
             guess_kind_names[guess->kind], units_time(report->runs[first].median_ns, time));
    return first;
}

/* Says in `text` how two runs compare, and returns which choice that is; -1: none. */
static int answer_pair(const struct lesson_guess *guess, const struct report *report,
                       char text[LESSON_TEXT])
{
    const struct run_report *runs[] = {run_called(report, guess->runs[0]),
                                       run_called(report, guess->runs[1])};
    double ratio = (double)runs[0]->median_ns / (double)runs[1]->median_ns;
    const bool either = guess->kind == GUESS_EITHER;
    const int subject = either && ratio < 1 ? 0 : 1;
    if (subject == 0)
        ratio = 1 / ratio;
    snprintf(text, LESSON_TEXT, "%s is %.*fx as fast as %s", guess->runs[subject],
             ratio < 10 ? 2 : 1, ratio, guess->runs[1 - subject]);
    if (runs[0]->verified == VERIFIED_NO || runs[1]->verified == VERIFIED_NO)
        text_add(text, LESSON_TEXT, ", ", "WRONG RESULT");
    if (either)
        return ratio <= alike_at_most ? 2 : subject;
    for (int i = 0; i < guess->choice_count; i++) {
        if (fabs(log(ratio / guess->factors[i])) <= log(near_at_most))
            return i;
    }
    return -1;
}

/* Says what cost the run most, and returns which choice takes that away; -1: none. */
static int answer_cause(const struct lesson_guess *guess, const struct report *report,
                        char text[LESSON_TEXT])
{
    const struct verdicts *verdicts = &run_called(report, guess->runs[0])->verdicts;
    const struct verdict *first = &verdicts->items[0];
    char cost[UNITS_TEXT];
    if (verdicts->named == 0) {
        snprintf(text, LESSON_TEXT, "nothing costs %s much", guess->runs[0]);
        return -1;
    }
    snprintf(text, LESSON_TEXT, "%s (%s costs %s)", verdict_rows[first->code].fix,
             verdict_rows[first->code].name, units_time(first->cost_ns, cost));
    for (int i = 0; i < guess->choice_count; i++) {
        if (guess->codes[i] == (int)first->code)
            return i;
    }
    return -1;
}

/* Each says in `text` what the runs gave, and returns which choice that is; -1: none. */
static int (*const answers[GUESS_KIND_COUNT])(const struct lesson_guess *guess,
                                              const struct report *report,
                                              char text[LESSON_TEXT]) = {
    [GUESS_FASTER] = answer_pair,   [GUESS_EITHER] = answer_pair,
    [GUESS_FASTEST] = answer_first, [GUESS_SLOWEST] = answer_first,
    [GUESS_CAUSE] = answer_cause,
};

void lesson_end(const struct options *options, const struct lesson *lesson,
                const struct report *report)
{
    if (lesson->guess_count > 0)
        puts("\nAnswers:");
    for (int i = 0; i < lesson->guess_count; i++) {
        char text[LESSON_TEXT];
        const struct lesson_guess *guess = &lesson->guesses[i];
        const int right = answers[guess->kind](guess, report, text);
        const int guessed = guess->guessed;
        fputs("  ", stdout);
        if (guessed > 0)
            printf("You said %c: %s", 'A' + guessed - 1,
                   guessed == right + 1 ? "right. " : "wrong. ");
        if (right < 0)
            printf("none of these: %s\n", text);
        else
            printf("%c: %s\n", 'A' + right, text);
    }
    puts("\nWhat to see:");
    lesson_explain(options->lesson->text, print_paragraph, stdout);
    puts("\nTo remember:");
    print_paragraph(stdout, lesson->message);
    const int number = atoi(options->lesson->name);
    putchar('\n');
    if (!options->all)
        printf("These times are %s. Settings, devices, tables and causes: pipeline lesson %d "
               "--all\n",
               timeline_source(&report->runs[0].timeline), number);
    printf("How to do it: docs/lessons/%s.md; as CUDA programs: pipeline lesson %d "
           "--emit=-\n",
           options->lesson->name, number);
    if (options->lesson[1].name != NULL)
        printf("Next: pipeline lesson %d\n", number + 1);
}
