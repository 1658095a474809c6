/* check_pages.c - the man page and the completions say what the option table says; the shells
 * themselves are asked what they complete. */
#include "causes/verdict.h"
#include "core/version.h"
#include "options/table.h"
#include "pages_cases.h"
#include "suites.h"
#include "test_folder.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMAND_MAX = 2048, NAME_ROOM = 128 };

static char folder[64]; /* the test's own, its working directory */

void pages_enter_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/pipeline-pages-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

void pages_leave_folder(void)
{
    char command[NAME_ROOM];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(system(command), 0);
}

char *pages_output(const char *command, int code)
{
    size_t length = 0, room = 1 << 20;
    char *text = malloc(room);
    ck_assert_ptr_nonnull(text);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    length = fread(text, 1, room - 1, pipe);
    ck_assert_uint_lt(length, room - 1);
    text[length] = '\0';
    int status = pclose(pipe);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == code, "%.500s: status %d: %.500s",
                  command, status, text);
    return text;
}

/* Fills a template of docs/manual/ for `prefix`. */
static char *page(const char *template, const char *prefix)
{
    char command[COMMAND_MAX];
    snprintf(command, sizeof command, "SOURCE_DATE_EPOCH=1234567890 %s/print-pages '%s' <%s/%s",
             BUILD_FOLDER, prefix, PAGES_FOLDER, template);
    return pages_output(command, 0);
}

bool pages_tool_there(const char *name)
{
    char command[NAME_ROOM];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
    if (system(command) == 0)
        return true;
    fprintf(stderr, "check_pages: skipped: there is no %s here\n", name);
    return false;
}

/* --- what stands in the pages
 * ---------------------------------------------------------------------------------------- */

/* The text before an option's name in each page, and the characters of which one must follow.
 */
static const struct {
    const char *template, *before, *after;
} forms[] = {
    {"pipeline.1", "\\fB\\-\\-", "\\="}, {"options.md", "`--", "=`"},
    {"complete.bash", "--", "= "},       {"complete.zsh", "--", "='}"},
    {"complete.fish", " -l ", " "},
};
enum { FORM_COUNT = sizeof forms / sizeof forms[0] };

/* The name as the page has it: roff wants a backslash before a hyphen. */
static void name_text(int form, const char *name, char text[NAME_ROOM])
{
    int length = snprintf(text, NAME_ROOM, "%s", forms[form].before);
    for (; *name != '\0' && length < NAME_ROOM - 2; name++) {
        if (*name == '-' && form == 0)
            text[length++] = '\\';
        text[length++] = *name;
    }
    text[length] = '\0';
}

static bool holds_option(int form, const char *text, const char *name)
{
    char wanted[NAME_ROOM];
    name_text(form, name, wanted);
    for (const char *at = text; (at = strstr(at, wanted)) != NULL; at++) {
        char next = at[strlen(wanted)];
        if (next != '\0' && strchr(forms[form].after, next) != NULL)
            return true;
    }
    return false;
}

START_TEST(test_every_option_is_in_every_page)
{
    char *text = page(forms[_i].template, "/usr/local");
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_rows[i];
        ck_assert_msg(holds_option(_i, text, row->name), "%s: --%s is not there",
                      forms[_i].template, row->name);
    }
    free(text);
}
END_TEST

/* docs/options.md is committed, and is what the table gives. */
START_TEST(test_options_page_is_up_to_date)
{
    char *now = page("options.md", "/usr/local");
    char *committed = pages_output("cat " PAGES_FOLDER "/../options.md", 0);
    ck_assert_msg(strcmp(now, committed) == 0,
                  "docs/options.md is out of date: run `make docs`");
    free(committed);
    free(now);
}
END_TEST

/* docs/verdicts.md explains every cause, in its tables or beside them. */
START_TEST(test_every_cause_is_explained)
{
    char *text = pages_output("cat " PAGES_FOLDER "/../verdicts.md", 0);
    for (int code = 0; code < VERDICT_COUNT; code++) {
        char name[NAME_ROOM];
        snprintf(name, sizeof name, "`%s`", verdict_rows[code].name);
        ck_assert_msg(strstr(text, name) != NULL, "docs/verdicts.md has no %s", name);
    }
    free(text);
}
END_TEST

START_TEST(test_every_command_and_kernel_is_in_the_manual)
{
    char *text = page("pipeline.1", "/usr/local");
    char wanted[2 * NAME_ROOM];
    for (const struct command_row *row = command_rows; row->name != NULL; row++) {
        snprintf(wanted, sizeof wanted, "\\fBpipeline\\fR \\fB%s\\fR", row->name);
        bool there = row->command == COMMAND_RUN || strstr(text, wanted) != NULL;
        ck_assert_msg(there, "no %s", row->name);
    }
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        char name[NAME_ROOM];
        name_text(0, kernel->name, name);
        snprintf(wanted, sizeof wanted, "\n\\fB%s\\fR\n", name + strlen(forms[0].before));
        ck_assert_msg(strstr(text, wanted) != NULL, "no %s", kernel->name);
    }
    free(text);
}
END_TEST

/* Each row's help and limits, as a reader sees them. */
START_TEST(test_manual_says_what_the_table_says)
{
    if (!pages_tool_there("mandoc"))
        return;
    char *source = page("pipeline.1", "/usr/local");
    test_file_put("pipeline.1", source);
    free(source);
    char *text = pages_output(
        "mandoc -T ascii -O width=1000 pipeline.1 | sed 's/.\b//g' | tr -s ' '", 0);
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_rows[i];
        char help[512] = "";
        int length = 0;
        for (const char *c = row->help + 1; *c != '\0'; c++) /* its first letter may be large */
            length += *c != '`' ? snprintf(help + length, sizeof help - length, "%c", *c) : 0;
        ck_assert_msg(strstr(text, help) != NULL, "--%s: %s", row->name, help);
    }
    static const char *const wanted[] = {
        "-t N|auto, --tiles=N|auto\n",
        "--machine=NAME|FILE.ini\n",
        "Default: the one of the device's name.",
        "Allowed: none, sim. Default: none.",
        "Allowed: 1 to 16M. Default: 32.",
        "Default: the driver's.",
        "Default: generated.",
        "--cpu-share=F|auto\n",
        "Allowed: depth, breadth, auto.",
        ("pipeline " PIPELINE_VERSION),
        "2009-02-13",
        "-d auto|sim:NAME[*N]|cuda[:I[,J...]], --device=auto|sim:NAME[*N]|cuda[:I[,J...]]\n",
        "a*x + b",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        ck_assert_msg(strstr(text, wanted[i]) != NULL, "no \"%s\"", wanted[i]);
    free(text);
}
END_TEST

START_TEST(test_manual_is_valid)
{
    char command[COMMAND_MAX]; /* no prefix breaks the page */
    snprintf(command, sizeof command,
             "SOURCE_DATE_EPOCH=1 %s/print-pages '/opt/-.a\\b' <%s/pipeline.1 >pipeline.1",
             BUILD_FOLDER, PAGES_FOLDER);
    free(pages_output(command, 0));
    if (pages_tool_there("mandoc")) {
        char *text = pages_output("mandoc -T lint -W warning pipeline.1 2>&1", 0);
        ck_assert_str_eq(text, "");
        free(text);
    }
    if (pages_tool_there("groff")) {
        char *text = pages_output("groff -man -Tutf8 -ww -z pipeline.1 2>&1", 0);
        ck_assert_str_eq(text, "");
        free(text);
    }
}
END_TEST

START_TEST(test_date_is_never_that_of_the_build)
{
    static const struct {
        const char *given, *wanted;
    } cases[] = {
        {"SOURCE_DATE_EPOCH=0", "\"1970-01-01\""}, {"SOURCE_DATE_EPOCH=", "PIPELINE 1 \"\""},
        {"-u SOURCE_DATE_EPOCH", "1 \"\""},        {"SOURCE_DATE_EPOCH=soon", "1 \"\""},
        {"SOURCE_DATE_EPOCH=9e99", "1 \"\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char command[COMMAND_MAX];
        snprintf(command, sizeof command, "env %s %s/print-pages /usr <%s/pipeline.1",
                 cases[i].given, BUILD_FOLDER, PAGES_FOLDER);
        char *text = pages_output(command, 0);
        ck_assert_msg(strstr(text, cases[i].wanted) != NULL, "%s", cases[i].given);
        free(text);
    }
}
END_TEST

START_TEST(test_unknown_place_is_refused)
{
    free(pages_output("echo '@no-such-place@' | " BUILD_FOLDER "/print-pages /usr 2>/dev/null",
                      1));
    char *text =
        pages_output("echo 'a@b ${x[@]} @ @@ @-' | " BUILD_FOLDER "/print-pages /usr", 0);
    ck_assert_str_eq(text, "a@b ${x[@]} @ @@ @-\n");
    free(text);
    free(pages_output(BUILD_FOLDER "/print-pages 2>/dev/null", 2));
}
END_TEST

/* Each variable that the sources read from the environment is in the manual. The recorder's are
 * what `pipeline record` sets, and docs/recording.md has them. */
START_TEST(test_manual_names_the_environment)
{
    char *text = page("pipeline.1", "/usr");
    glob_t files;
    int count = 0;
    ck_assert_int_eq(glob(TESTS_FOLDER "/../src/*/*.c", 0, NULL, &files), 0);
    ck_assert_int_eq(glob(TESTS_FOLDER "/../kernels/*.c", GLOB_APPEND, NULL, &files), 0);
    ck_assert_int_eq(glob(TESTS_FOLDER "/../bench/*.c", GLOB_APPEND, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char line[1024], name[NAME_ROOM], wanted[2 * NAME_ROOM];
        if (strstr(files.gl_pathv[i], "/src/record/") != NULL)
            continue;
        FILE *file = fopen(files.gl_pathv[i], "r");
        ck_assert_ptr_nonnull(file);
        while (fgets(line, sizeof line, file) != NULL) {
            char *at = line;
            while ((at = strstr(at, "getenv(\"")) != NULL) {
                at += strlen("getenv(\"");
                snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
                snprintf(wanted, sizeof wanted, "\n.TP\n.B %s\n", name);
                ck_assert_msg(strstr(text, wanted) != NULL, "%s: %s is not in the manual",
                              files.gl_pathv[i], name);
                count++;
            }
        }
        fclose(file);
    }
    ck_assert_int_ge(count, 4);
    globfree(&files);
    free(text);
}
END_TEST

/* Takes the roff out of a line of an example. */
static void unescape(char *line)
{
    char *to = line;
    for (const char *from = line; *from != '\0' && *from != '\n'; from++) {
        if (*from != '\\')
            *to++ = *from;
    }
    *to = '\0';
}

/* Each command of the examples, and the config file, as far as --dry-run goes. */
START_TEST(test_examples_work)
{
    int count = 0;
    bool example = false;
    free(pages_output(
        "mkdir -p share/pipeline && cp -r " TESTS_FOLDER "/../configs share/pipeline", 0));
    free(pages_output(PIPELINE_PROGRAM " -q --device=sim:h200 -n 64k -o in.npy", 0));
    char *text = page("pipeline.1", folder);
    FILE *config = fopen("example.ini", "w");
    ck_assert_ptr_nonnull(config);
    for (char *next, *line = text; line != NULL && *line != '\0'; line = next) {
        char command[COMMAND_MAX];
        next = strchr(line, '\n');
        next = next != NULL ? next + 1 : NULL;
        if (strncmp(line, ".E", 2) == 0) {
            example = line[2] == 'X';
            continue;
        }
        if (!example)
            continue;
        unescape(line);
        if (strncmp(line, "pipeline ", 9) != 0) {
            fprintf(config, "%s\n", line);
            continue;
        }
        /* A program of the reader's, and its recording, are not here. */
        if (strncmp(line + 9, "record ", 7) == 0 || strncmp(line + 9, "view ", 5) == 0 ||
            strncmp(line + 9, "try ", 4) == 0)
            continue;
        bool simulated = strstr(line, "--device") != NULL;
        bool calibrates = strncmp(line + 9, "calibrate ", 10) == 0; /* has nothing to show */
        bool measures = strncmp(line + 9, "bench ", 6) == 0;
        bool explains = strncmp(line + 9, "help ", 5) == 0;
        snprintf(command, sizeof command, "%s %s %s %s", PIPELINE_PROGRAM,
                 measures     ? "--quick --runs=1"
                 : explains   ? ""
                 : simulated  ? "--dry-run"
                 : calibrates ? "--device=sim:h200"
                              : "--device=sim:h200 --dry-run",
                 line + 9, strchr(line, '>') != NULL ? "" : ">/dev/null");
        free(pages_output(command, 0));
        count++;
    }
    ck_assert_int_eq(fclose(config), 0);
    ck_assert_int_ge(count, 5);
    char *plan = pages_output(PIPELINE_PROGRAM " --dry-run --device=sim:h200 example.ini", 0);
    ck_assert_ptr_nonnull(strstr(plan, "3-way"));
    free(plan);
    free(text);
}
END_TEST

Suite *pages_suite(void)
{
    Suite *suite = suite_create("pages");
    TCase *tcase = tcase_create("text");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, pages_enter_folder, pages_leave_folder);
    tcase_add_loop_test(tcase, test_every_option_is_in_every_page, 0, FORM_COUNT);
    tcase_add_test(tcase, test_options_page_is_up_to_date);
    tcase_add_test(tcase, test_every_cause_is_explained);
    tcase_add_test(tcase, test_every_command_and_kernel_is_in_the_manual);
    tcase_add_test(tcase, test_manual_says_what_the_table_says);
    tcase_add_test(tcase, test_manual_is_valid);
    tcase_add_test(tcase, test_date_is_never_that_of_the_build);
    tcase_add_test(tcase, test_unknown_place_is_refused);
    tcase_add_test(tcase, test_manual_names_the_environment);
    tcase_add_test(tcase, test_examples_work);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, pages_shells_case());
    return suite;
}
