/* check_pages_shells.c - bash, zsh and fish are asked what they complete, in a folder with
 * files of every kind. All are asked the same and must say the same. */
#include "machine/machine.h"
#include "pages_cases.h"
#include "plan/mistake.h"
#include "writers/writer.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_ROOM = 256, COMMAND_ROOM = 2048 };

/* The command that asks each shell; complete/ask.* are the scripts. */
static const struct {
    const char *shell, *template, *place, *command;
} shells[] = {
    {"bash", "complete.bash", "pipeline",
     "bash --norc --noprofile " TESTS_FOLDER "/complete/ask.bash pipeline"},
    {"zsh", "complete.zsh", "_pipeline", "zsh -f " TESTS_FOLDER "/complete/ask.zsh \"$PWD\""},
    {"fish", "complete.fish", "pipeline.fish",
     "HOME=$PWD fish --no-config " TESTS_FOLDER "/complete/ask.fish pipeline.fish"},
};
enum { SHELL_COUNT = sizeof shells / sizeof shells[0] };

/* The lines that are typed, and what the last word may become: all of `wanted`, none of
 * `unwanted` (separated by '|'). Equals signs and slashes at an end do not count. */
static const struct {
    const char *line, *wanted, *unwanted;
} questions[] = {
    {"pipeline ",
     "run|list|calibrate|bench|compare|view|record|lesson|help|ways.ini|two words.ini|sub",
     "notes.txt|trace.csv|--order"},
    {"pipeline l", "list|lesson", "run|view|ways.ini"},
    {"pipeline list ", "kernels|machines|devices|mistakes|lessons", "ways.ini|run"},
    {"pipeline lesson ", "01-serial|23-feeding", "ways.ini|run"},
    {"pipeline help ", "tiles|no-data|view|lesson", "ways.ini|01-serial"},
    {"pipeline help la", "layout", "tiles|lesson"},
    {"pipeline view ", "trace.csv|old.sqlite|sub", "ways.ini|notes.txt|run|list"},
    {"pipeline view trace.csv ", "old.sqlite|r.jsonl", "ways.ini|list"},
    {"pipeline record no", "notes.txt", "ways.ini|run"},
    {"pipeline record -q sle", "sleep", "ways.ini"},
    {"pipeline record --sto", "--stop", "--stream"},
    {"pipeline record ./own --limit tr", "trace.csv", "--stop"},
    {"pipeline run ", "ways.ini|sub", "list|view|notes.txt"},
    {"pipeline ways.ini ", "two words.ini", "list|view|notes.txt"},
    {"pipeline -n 64M vi", "view", ""},
    {"pipeline --tiles 8 --order=depth -q li", "list", ""},
    {"pipeline --tiles 8 run w", "ways.ini", ""},
    {"pipeline -o list v", "view", ""},
    {"pipeline sub/", "sub/inner.ini", "ways.ini"},
    {"pipeline tw", "two words.ini", "ways.ini"},
    {"pipeline --or", "--order", "--output|--layout"},
    {"pipeline --order b", "breadth", "depth"},
    {"pipeline --order=b", "--order=breadth", "--order=depth"},
    {"pipeline -w ", "1|2|3|4", "5|ways.ini"},
    {"pipeline --tiles=", "--tiles=auto", "--tiles=ways.ini"},
    {"pipeline -s ", "auto", "ways.ini"},
    {"pipeline --model=", "--model=none|--model=sim", ""},
    {"pipeline --machine=", "--machine=h200|--machine=c1060|--machine=ways.ini", ""},
    {"pipeline --machine=w", "--machine=ways.ini", "--machine=h200"},
    {"pipeline --machine h", "h200", "c1060|ways.ini"},
    {"pipeline --cpu-share=", "--cpu-share=auto", ""},
    {"pipeline -k s", "scale|sum", "wave"},
    {"pipeline -k scale,s", "scale,scale|scale,sum", "scale,wave|scale"},
    {"pipeline --kernel=scale,wa", "--kernel=scale,wave", "--kernel=scale,sum"},
    {"pipeline --device=", "--device=auto|--device=cuda|--device=sim:h200", ""},
    {"pipeline -d sim:", "sim:h200|sim:ways.ini|sim:sub", "sim:notes.txt|auto|cuda"},
    {"pipeline --device=sim:w", "--device=sim:ways.ini", "--device=sim:h200"},
    {"pipeline --input=n", "--input=notes.txt", "--input=ways.ini"},
    {"pipeline -o no", "notes.txt", "ways.ini"},
    {"pipeline --timeline=pic.s", "--timeline=pic.svg", "--timeline=pic.csv"},
    {"pipeline --timeline=sub/", "", "--timeline=sub/.csv"},
    {"pipeline --timeline=tr", "--timeline=trace.csv|--timeline=tr.json", ""},
    {"pipeline --sweep=st", "--sweep=streams", "--sweep=tiles"},
    {"pipeline --sweep=", "--sweep=order=depth,breadth,auto|--sweep=callbacks=no,yes",
     "--sweep=kernel|--sweep=input|--sweep=format"},
    {"pipeline --sweep=mem", "--sweep=memory=pinned,pageable,registered,mapped,managed", ""},
    {"pipeline --sweep=streams=1..8 --sw", "--sweep", ""},
    {"pipeline --timeline=a.csv --time", "--timeline", ""},
    {"pipeline -qv --or", "--order", ""},
};
enum { QUESTION_COUNT = sizeof questions / sizeof questions[0] };

/* One line per question; then one per option: its name, and what stands behind it. */
static void write_questions(void)
{
    FILE *file = fopen("questions", "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < QUESTION_COUNT; i++)
        fprintf(file, "%s\n", questions[i].line);
    for (int i = 0; i < OPTION_COUNT; i++)
        fprintf(file, "pipeline --%s\npipeline --%s=\n", option_rows[i].name,
                option_rows[i].name);
    fputs("pipeline -\npipeline --timeline=pic\npipeline -k \n", file);
    ck_assert_int_eq(fclose(file), 0);
}

static char *ask(int shell)
{
    char command[COMMAND_ROOM];
    write_questions();
    snprintf(
        command, sizeof command,
        "touch ways.ini notes.txt trace.csv old.sqlite r.jsonl 'two words.ini' && mkdir sub && "
        "touch sub/inner.ini && %s/print-pages /usr <%s/%s >%s && %s <questions",
        BUILD_FOLDER, PAGES_FOLDER, shells[shell].template, shells[shell].place,
        shells[shell].command);
    return pages_output(command, 0);
}

/* The lines that answer `line`: from one "? LINE" to the next; *end is behind them. */
static const char *answer(const char *answers, const char *line, const char **end)
{
    char title[LINE_ROOM + 8];
    int length = snprintf(title, sizeof title, "? %s\n", line);
    const char *at = strncmp(answers, title, (size_t)length) == 0 ? answers : NULL;
    if (at == NULL) {
        snprintf(title, sizeof title, "\n? %s\n", line);
        at = strstr(answers, title);
        ck_assert_msg(at != NULL, "no answer to '%s' in: %.500s", line, answers);
        length++;
    }
    at += length;
    *end = *at == '?' ? at : strstr(at, "\n? ");
    *end = *end == NULL ? at + strlen(at) : *end == at ? at : *end + 1;
    return at;
}

static size_t bare_length(const char *word, size_t length)
{
    while (length > 0 && (word[length - 1] == '=' || word[length - 1] == '/'))
        length--;
    return length;
}

static bool says(const char *answers, const char *line, const char *word)
{
    const char *end, *at = answer(answers, line, &end);
    size_t wanted = bare_length(word, strlen(word));
    while (at < end) {
        size_t length = strcspn(at, "\n");
        if (bare_length(at, length) == wanted && strncmp(at, word, wanted) == 0)
            return true;
        at += length + 1;
    }
    return false;
}

static void assert_says(const char *answers, const char *line, const char *word, bool wanted)
{
    const char *end, *at = answer(answers, line, &end);
    ck_assert_msg(says(answers, line, word) == wanted, "'%s' becomes %s'%s': %.*s", line,
                  wanted ? "not " : "", word, (int)(end - at < 500 ? end - at : 500), at);
}

static void assert_all(const char *answers, const char *line, const char *words, bool wanted)
{
    char list[LINE_ROOM];
    snprintf(list, sizeof list, "%s", words);
    for (char *word = strtok(list, "|"); word != NULL; word = strtok(NULL, "|"))
        assert_says(answers, line, word, wanted);
}

/* Looks for a row of the table: its name, its letter and its choices. */
static void assert_row(const char *answers, const struct option_row *row)
{
    char line[LINE_ROOM], word[LINE_ROOM];
    snprintf(line, sizeof line, "pipeline --%s", row->name);
    snprintf(word, sizeof word, "--%s", row->name);
    assert_says(answers, line, word, true);
    if (row->letter != 0) {
        snprintf(word, sizeof word, "-%c", row->letter);
        assert_says(answers, "pipeline -", word, true);
    }
    snprintf(line, sizeof line, "pipeline --%s=", row->name);
    for (int i = 0; row->choices != NULL && row->choices[i] != NULL; i++) {
        snprintf(word, sizeof word, "--%s=%s", row->name, row->choices[i]);
        assert_says(answers, line, word, true);
    }
}

static void assert_tables(const char *answers)
{
    char word[LINE_ROOM];
    for (int i = 0; i < OPTION_COUNT; i++)
        assert_row(answers, &option_rows[i]);
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++)
        assert_says(answers, "pipeline -k ", kernel->name, true);
    for (const struct mistake_row *row = mistake_rows; row->name != NULL; row++) {
        snprintf(word, sizeof word, "--mistake=%s", row->name);
        assert_says(answers, "pipeline --mistake=", word, true);
    }
    for (const struct embedded *text = machine_texts; text->name != NULL; text++) {
        snprintf(word, sizeof word, "sim:%s", text->name);
        assert_says(answers, "pipeline -d sim:", word, true);
    }
    for (const struct timeline_writer *row = timeline_writers; row->ending != NULL; row++) {
        snprintf(word, sizeof word, "--timeline=pic%s", row->ending);
        assert_says(answers, "pipeline --timeline=pic", word, true);
    }
}

START_TEST(test_shell_completes)
{
    if (!pages_tool_there(shells[_i].shell))
        return;
    char *answers = ask(_i);
    for (int i = 0; i < QUESTION_COUNT; i++) {
        assert_all(answers, questions[i].line, questions[i].wanted, true);
        assert_all(answers, questions[i].line, questions[i].unwanted, false);
    }
    assert_tables(answers);
    free(answers);
}
END_TEST

TCase *pages_shells_case(void)
{
    TCase *tcase = tcase_create("shells");
    tcase_set_timeout(tcase, 300);
    tcase_add_checked_fixture(tcase, pages_enter_folder, pages_leave_folder);
    tcase_add_loop_test(tcase, test_shell_completes, 0, SHELL_COUNT);
    return tcase;
}
