/* check_terminal.c - the program on a terminal: widths, colours, the progress line. A pseudo
 * terminal stands for the real one. */
#include "suites.h"
#include "term/progress.h"
#include "writers/writer.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHOWN_MAX = 1 << 20, WORDS_MAX = 24 };

/* One run of the program on a terminal of our own. */
struct session {
    int columns;
    const char *const *environment; /* "NAME=value", ended by NULL */
    const char *type_at;            /* `typed` is when this has been seen; NULL: never */
    const char *typed;
    bool output_piped; /* standard output is /dev/null: only the errors are seen */
};

static void be_program(const struct session *session, char *const words[])
{
    static const char *const taken[] = {"TERM", "NO_COLOR", "COLUMNS", NULL};
    for (int i = 0; taken[i] != NULL; i++)
        unsetenv(taken[i]);
    putenv((char[]){"TERM=xterm"});
    putenv((char[]){"OMP_NUM_THREADS=1"});
    for (int i = 0; session->environment != NULL && session->environment[i] != NULL; i++)
        putenv((char *)session->environment[i]);
    if (session->output_piped)
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    execv(PIPELINE_PROGRAM, words);
    _exit(99);
}

/* Runs `pipeline WORDS` and returns all that the terminal got, to be freed. */
static char *show(const struct session *session, char *const words[], int *status)
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)session->columns};
    char *shown = calloc(1, SHOWN_MAX);
    size_t length = 0;
    int terminal;
    ck_assert_ptr_nonnull(shown);
    pid_t child = forkpty(&terminal, NULL, NULL, &size);
    ck_assert_int_ge(child, 0);
    if (child == 0)
        be_program(session, words);
    const char *until = session->type_at;
    for (ssize_t got; length < SHOWN_MAX - 1; length += (size_t)got) {
        got = read(terminal, shown + length, SHOWN_MAX - 1 - length);
        if (got <= 0) /* EIO: the program has closed its end */
            break;
        if (until == NULL || strstr(shown, until) == NULL)
            continue;
        ck_assert_int_eq(write(terminal, session->typed, strlen(session->typed)),
                         (ssize_t)strlen(session->typed));
        until = NULL;
    }
    ck_assert_int_eq(waitpid(child, status, 0), child);
    close(terminal);
    return shown;
}

#define SMALL "pipeline", "-q", "--device=sim:h200", "--elements=64k", "--tiles=8", "--no-data"

static int longest_line(const char *shown)
{
    int longest = 0, columns = 0;
    for (; *shown != '\0'; shown++) {
        if (*shown == '\033')
            shown = strchr(shown, 'm');
        else if (*shown == '\n')
            columns = 0;
        else if (*shown != '\r')
            longest = ++columns > longest ? columns : longest;
    }
    return longest;
}

/* The Gantt fills the terminal, from 40 columns on; no known width is 80. */
static const int terminals[][2] = {{0, 80},  {1, 40},    {40, 40},   {60, 60},
                                   {80, 80}, {200, 200}, {400, 400}, {1000, 400}};

START_TEST(picture_is_as_wide_as_the_terminal)
{
    const struct session session = {.columns = terminals[_i][0]};
    char *const words[] = {SMALL, NULL};
    int status;
    char *shown = show(&session, words, &status);
    ck_assert_int_eq(status, 0);
    char *picture = strstr(shown, "run: ");
    ck_assert_ptr_nonnull(picture);
    ck_assert_int_eq(longest_line(picture), terminals[_i][1]);
    free(shown);
}
END_TEST

static const struct {
    const char *environment[2];
    char *word;
    bool colored;
} colors[] = {
    {{NULL}, NULL, true},         {{"NO_COLOR="}, NULL, true},   {{"NO_COLOR=1"}, NULL, false},
    {{"TERM=dumb"}, NULL, false}, {{NULL}, "--no-color", false},
};

START_TEST(colors_are_for_terminals_that_want_them)
{
    const struct session session = {.columns = 100, .environment = colors[_i].environment};
    char *const words[] = {SMALL, colors[_i].word, NULL};
    char *const sweep[] = {SMALL, "--sweep=streams=1,2", colors[_i].word, NULL};
    int status;
    char *shown = show(&session, words, &status);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(strstr(shown, "\033[0;48;5;25;38;5;231m") != NULL, colors[_i].colored);
    ck_assert_int_eq(strchr(shown, '\033') != NULL, colors[_i].colored);
    free(shown);
    shown = show(&session, sweep, &status);
    ck_assert_int_eq(strchr(shown, '\033') != NULL, colors[_i].colored);
    free(shown);
}
END_TEST

/* A lesson asks until it has a guess, and says after its picture whether that was right; q
 * leaves; under --quiet it doesn't ask. */
START_TEST(lesson_waits_for_a_guess)
{
    const struct session session = {.columns = 80,
                                    .type_at = "Your guess?",
                                    .typed = "z\nd\nB\n"},
                         leaves = {.columns = 80, .type_at = "Your guess?", .typed = "q\n"};
    char *words[] = {"pipeline", "lesson", "1", "--no-data", NULL, NULL};
    int status;
    char *shown = show(&session, words, &status);
    const char *asked = strstr(shown, "Your guess?"), *picture = strstr(shown, "  kernel ");
    ck_assert_int_eq(status, 0);
    ck_assert_msg(asked != NULL && picture > asked, "%s", shown);
    ck_assert_msg(strstr(picture, "You said D: wrong. B: ") != NULL &&
                      strstr(picture, "You said B: right. B: ") != NULL,
                  "%s", shown);
    free(shown);
    shown = show(&leaves, words, &status);
    ck_assert_int_eq(status, 0);
    ck_assert_ptr_null(strstr(shown, "  kernel "));
    free(shown);
    words[4] = "--quiet";
    shown = show(&session, words, &status);
    ck_assert_int_eq(status, 0);
    ck_assert_ptr_null(strstr(shown, "Your guess?"));
    free(shown);
}
END_TEST

/* --- the progress line --- */

/* Takes some seconds on any machine, and is ended as soon as what is wanted has been seen. */
#define LONG                                                                                   \
    "pipeline", "--device=sim:h200", "--elements=4M", "--tiles=64", "--kernel=wave",           \
        "--intensity=65536"

START_TEST(line_appears_and_an_interrupt_clears_it)
{
    static const int widths[] = {0, 40, 80, 200};
    const struct session session = {
        .columns = widths[_i], .type_at = "3 s so far", .typed = "\003", .output_piped = true};
    char *const words[] = {LONG, "--sweep=streams=1..8", NULL};
    int status, columns = 0, most = widths[_i] > 0 ? widths[_i] : 80;
    char *shown = show(&session, words, &status);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGINT);
    ck_assert_int_eq(strncmp(shown, "\rrun 1 of 8", 11), 0);
    ck_assert_ptr_null(strchr(shown, '\033'));
    ck_assert_ptr_null(strchr(shown, '\n'));
    for (const char *byte = shown; *byte != '\0'; byte++) {
        columns = *byte == '\r' ? 0 : columns + 1;
        ck_assert_int_lt(columns, most);
    }
    /* The last thing written are blanks over the line and the ^C behind it. */
    char *end = strstr(shown, "^C\r");
    ck_assert_msg(end != NULL, "%s", shown);
    size_t blanks = strspn(end + 3, " ");
    ck_assert_str_eq(end + 3 + blanks, "\r");
    *end = '\0';
    ck_assert_uint_ge(blanks, strlen(strrchr(shown, '\r') + 1) + 2);
    free(shown);
}
END_TEST

static const struct {
    const char *environment[2];
    char *word;
} silent[] = {{{NULL}, "-q"}, {{"TERM=dumb"}, "-v"}, {{NULL}, "--dry-run"}};

/* Nothing but what would be there anyhow, and nothing at all of what is soon done. */
START_TEST(line_stays_away)
{
    const struct session session = {
        .columns = 80, .environment = silent[_i].environment, .output_piped = true};
    char *const words[] = {"pipeline",      "--device=sim:h200",    "-n1k",
                           silent[_i].word, "--sweep=streams=1..4", NULL};
    int status;
    char *shown = show(&session, words, &status);
    ck_assert_int_eq(status, 0);
    ck_assert_str_eq(shown, "");
    free(shown);
}
END_TEST

static const struct {
    struct progress_state state;
    int columns;
    const char *line;
} lines[] = {
    {{.runs = 1, .name = "run", .elapsed_s = 3}, 80, "preparing, 3 s so far"},
    {{.runs = 1, .name = "run", .repeats = 1, .elapsed_s = 4}, 80, "running, 4 s so far"},
    {{.runs = 1, .name = "run", .repeats = 1, .tiles = 0.5, .elapsed_s = 4},
     80,
     "running [###############...............], 4 s so far"},
    {{.runs = 1, .name = "run", .repeat = 2, .repeats = 8, .elapsed_s = 3, .repeats_s = 2},
     80,
     "repeat 3 of 8 [##########....................] 6 s left"},
    {{.run = 4,
      .runs = 32,
      .name = "depth streams=5",
      .repeats = 1,
      .elapsed_s = 8,
      .work = 1,
      .work_left = 27,
      .rate_s = 2},
     80,
     "run 5 of 32 [###...........................] depth streams=5, 56 s left"},
    {{.run = 4,
      .runs = 32,
      .name = "depth streams=5",
      .repeats = 1,
      .elapsed_s = 8,
      .work = 1,
      .work_left = 27,
      .rate_s = 2},
     60,
     "run 5 of 32 [#.........] depth streams=5, 56 s left"},
    {{.run = 4,
      .runs = 32,
      .name = "depth streams=5",
      .repeats = 1,
      .elapsed_s = 8,
      .work = 1,
      .work_left = 27,
      .rate_s = 200},
     40,
     "run 5 of 32, 1 h 33 min left"},
    {{.run = 4,
      .runs = 32,
      .name = "depth streams=5",
      .repeats = 1,
      .elapsed_s = 8,
      .work = 1,
      .work_left = 27,
      .rate_s = 10},
     24,
     "4 min 40 s"},
    {{.run = 1,
      .runs = 2,
      .name = "a very long name of a section streams=512",
      .repeats = 1,
      .elapsed_s = 100,
      .run_s = 50,
      .work = 1,
      .rate_s = 50},
     60,
     "run 2 of 2 [##########] a ver..reams=512, 1 s left"},
    {{.runs = 3, .name = "one", .repeats = 1, .elapsed_s = 2},
     80,
     "run 1 of 3 [..............................] one, 2 s so far"},
};

START_TEST(line_says_how_far)
{
    char text[PROGRESS_TEXT];
    double least = 0;
    ck_assert_str_eq(progress_line(&lines[_i].state, lines[_i].columns, &least, text),
                     lines[_i].line);
}
END_TEST

START_TEST(line_fits_and_never_goes_back)
{
    struct progress_state state = {.runs = 4096,
                                   .name = "a name as long as the names of runs may be at all",
                                   .repeats = 10000,
                                   .work = 1,
                                   .work_left = 4096};
    for (int columns = -1; columns < 200; columns++) {
        double least = 0, before = 0;
        for (state.run = 0; state.run < state.runs; state.run += 500) {
            char text[PROGRESS_TEXT];
            int room = columns < 16 ? 12 : columns - 4;
            state.elapsed_s = state.run * 1e3;
            state.rate_s = state.run % 3 * 1e4;
            progress_line(&state, columns, &least, text);
            ck_assert_msg((int)strlen(text) <= room, "%d columns: %s", columns, text);
            ck_assert_uint_gt(strlen(text), 0);
            ck_assert_double_ge(least, before);
            before = least;
        }
    }
}
END_TEST

/* Runs of twice the work take twice as long. */
START_TEST(time_left_goes_with_the_work)
{
    struct progress_state state = {
        .run = 1, .runs = 3, .run_s = 2, .work = 4, .work_left = 8, .rate_s = 2};
    ck_assert_double_eq(progress_left_s(&state), 6 + 16);
    state.run_s = 100; /* longer than thought */
    ck_assert_double_eq(progress_left_s(&state), 16);
    state.rate_s = 0;
    ck_assert_double_lt(progress_left_s(&state), 0);
    state = (struct progress_state){.runs = 2,
                                    .repeat = 1,
                                    .repeats = 4,
                                    .repeats_s = 5,
                                    .run_s = 7,
                                    .work = 1,
                                    .work_left = 1};
    ck_assert_double_eq(progress_left_s(&state), 15 + 22);
    state.repeat = 4;
    ck_assert_double_eq(progress_left_s(&state), 7);
}
END_TEST

/* Where there is no terminal, nothing is said of what takes less than five seconds. */
START_TEST(no_terminal_means_no_line)
{
    progress_end();
    int file = memfd_create("errors", 0), kept = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    progress_begin(2, 2, false);
    progress_next("one", 1);
    progress_repeat(0, 1);
    progress_timed(true);
    progress_tile(1, 2);
    progress_timed(false);
    progress_end();
    progress_end();
    dup2(kept, STDERR_FILENO);
    ck_assert_int_eq(lseek(file, 0, SEEK_END), 0);
    close(kept);
    close(file);
}
END_TEST

/* A longer program says how far it is, each time on a line of its own. */
START_TEST(no_terminal_means_lines)
{
    int file = memfd_create("errors", 0), kept = dup(STDERR_FILENO);
    char text[256] = "";
    dup2(file, STDERR_FILENO);
    progress_begin(3, 3, false);
    progress_next("one", 1);
    progress_next("two", 1);
    usleep(5500000);
    progress_end();
    dup2(kept, STDERR_FILENO);
    ck_assert_int_gt(pread(file, text, sizeof text - 1, 0), 0);
    ck_assert_int_eq(strncmp(text, "pipeline: run 2 of 3 ", 21), 0);
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    ck_assert_ptr_null(strchr(text, '\r'));
    close(kept);
    close(file);
}
END_TEST

/* More runs than it began with are counted: "run 2 of 3", where there was to be one. */
START_TEST(line_counts_more_runs)
{
    int ends[2], kept = dup(STDERR_FILENO);
    char text[4096];
    setenv("TERM", "xterm", 1);
    ck_assert_int_eq(openpty(&ends[0], &ends[1], NULL, NULL, NULL), 0);
    dup2(ends[1], STDERR_FILENO);
    progress_begin(1, 1, false);
    progress_next("one", 1);
    progress_more(2, 2);
    progress_next("two", 1);
    usleep(1600000);
    progress_end();
    dup2(kept, STDERR_FILENO);
    ssize_t length = read(ends[0], text, sizeof text - 1);
    ck_assert_int_gt(length, 0);
    text[length] = '\0';
    ck_assert_msg(strstr(text, "run 2 of 3") != NULL, "%s", text);
    close(kept);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

#define ADD_ALL(tcase, test, table)                                                            \
    tcase_add_loop_test(tcase, test, 0, (int)(sizeof(table) / sizeof(table)[0]))

Suite *terminal_suite(void)
{
    Suite *suite = suite_create("terminal");
    TCase *tcase = tcase_create("terminal");
    ADD_ALL(tcase, picture_is_as_wide_as_the_terminal, terminals);
    ADD_ALL(tcase, colors_are_for_terminals_that_want_them, colors);
    tcase_add_test(tcase, lesson_waits_for_a_guess);
    suite_add_tcase(suite, tcase);
    TCase *line = tcase_create("progress line");
    tcase_add_loop_test(line, line_appears_and_an_interrupt_clears_it, 0, 4);
    ADD_ALL(line, line_stays_away, silent);
    ADD_ALL(line, line_says_how_far, lines);
    tcase_add_test(line, line_fits_and_never_goes_back);
    tcase_add_test(line, time_left_goes_with_the_work);
    tcase_add_test(line, no_terminal_means_no_line);
    tcase_add_test(line, no_terminal_means_lines);
    tcase_add_test(line, line_counts_more_runs);
    suite_add_tcase(suite, line);
    return suite;
}
