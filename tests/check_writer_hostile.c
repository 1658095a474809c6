/* check_writer_hostile.c - every writer is given the same hostile reports, and what it writes
 * is read by a real parser; and each is given a file that fails. */
#include "hostile_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "writers/writer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- what the writers write
 * ---------------------------------------------------------------------------------------- */

/* All that is written of a report in one form; `check` is given the text and may change it. */
struct form {
    const char *name;
    report_writer *write;
    void (*check)(const struct hostile *hostile, char *text);
    bool (*fits)(const struct report *report); /* NULL: every report */
};

static bool is_foreign(const struct report *report)
{
    return report->run_count > 0 && report->runs[0].foreign;
}

static bool is_view(const struct report *report)
{
    return is_foreign(report);
}

static bool is_own(const struct report *report)
{
    return !is_foreign(report) && report->sweep == NULL;
}

static bool is_sweep(const struct report *report)
{
    return report->sweep != NULL;
}

static bool has_timelines(const struct report *report)
{
    for (int i = 0; i < report->run_count; i++) {
        if (report->runs[i].profiled)
            return false;
    }
    return report->sweep == NULL;
}

static const struct writer_style narrow = {.width = 0, .gantt = GANTT_ENGINES};
static const struct writer_style usual = {.width = 80, .gantt = GANTT_ENGINES};
static const struct writer_style wide = {.width = 500, .gantt = GANTT_STREAMS, .verbose = 2};
static const struct writer_style colored = {.color = true, .width = 80, .verbose = 1};

#define WITH_STYLE(name, writer, style)                                                        \
    static enum status name(FILE *out, const struct report *report)                            \
    {                                                                                          \
        writer(out, report, &(style));                                                         \
        return STATUS_OK;                                                                      \
    }
WITH_STYLE(text_narrow, write_text, narrow)
WITH_STYLE(text_usual, write_text, usual)
WITH_STYLE(text_wide, write_text, wide)
WITH_STYLE(text_colored, write_text, colored)
WITH_STYLE(gantt_narrow, write_gantt, narrow)
WITH_STYLE(gantt_usual, write_gantt, usual)
WITH_STYLE(gantt_wide, write_gantt, wide)
WITH_STYLE(gantt_colored, write_gantt, colored)
WITH_STYLE(view_narrow, write_view, narrow)
WITH_STYLE(view_usual, write_view, usual)
WITH_STYLE(view_wide, write_view, wide)
WITH_STYLE(view_colored, write_view, colored)
WITH_STYLE(sweep_narrow, write_sweep, narrow)
WITH_STYLE(sweep_usual, write_sweep, usual)
WITH_STYLE(sweep_wide, write_sweep, wide)
WITH_STYLE(sweep_colored, write_sweep, colored)

/* --- all of them
 * ---------------------------------------------------------------------------------------- */

static const struct form forms[] = {
    {"text, narrow", text_narrow, hostile_check_text, is_own},
    {"text", text_usual, hostile_check_text, is_own},
    {"text, wide", text_wide, hostile_check_text, is_own},
    {"text, colored", text_colored, hostile_check_colored, is_own},
    {"gantt, narrow", gantt_narrow, hostile_check_gantt, has_timelines},
    {"gantt", gantt_usual, hostile_check_gantt, has_timelines},
    {"gantt, wide", gantt_wide, hostile_check_gantt, has_timelines},
    {"gantt, colored", gantt_colored, hostile_check_colored_gantt, has_timelines},
    {"view, narrow", view_narrow, hostile_check_text, is_view},
    {"view", view_usual, hostile_check_text, is_view},
    {"view, wide", view_wide, hostile_check_text, is_view},
    {"view, colored", view_colored, hostile_check_colored, is_view},
    {"sweep, narrow", sweep_narrow, hostile_check_text, is_sweep},
    {"sweep", sweep_usual, hostile_check_text, is_sweep},
    {"sweep, wide", sweep_wide, hostile_check_text, is_sweep},
    {"sweep, colored", sweep_colored, hostile_check_colored, is_sweep},
    {"CSV report", write_csv_report, hostile_check_csv_report, NULL},
    {"CSV timeline", write_csv_timeline, hostile_check_csv_timeline, NULL},
    {"JSON report", write_json, hostile_check_json, NULL},
    {"trace", write_trace, hostile_check_trace, NULL},
    {"HTML", write_html, hostile_check_html, NULL},
};
enum { FORM_COUNT = sizeof forms / sizeof forms[0] };

/* check says in which case a test failed, not of which form: HOSTILE_SAY=1 does. */
static bool form_begin(const struct form *form, const struct hostile *hostile, const char *name)
{
    if (form->fits != NULL && !form->fits(&hostile->report))
        return false;
    if (getenv("HOSTILE_SAY") != NULL)
        fprintf(stderr, "hostile: %s: %s\n", name, form->name);
    return true;
}

START_TEST(test_every_form_parses)
{
    struct hostile hostile;
    hostile_begin(&hostile, &hostile_cases[_i]);
    for (int i = 0; i < FORM_COUNT; i++) {
        size_t length;
        if (!form_begin(&forms[i], &hostile, hostile_cases[_i].name))
            continue;
        char *text = hostile_written(&hostile.report, forms[i].write, &length);
        forms[i].check(&hostile, text);
        free(text);
    }
    hostile_end(&hostile);
}
END_TEST

/* A full disk: no writer minds, and its file's owner sees it. */
START_TEST(test_every_form_survives_a_full_disk)
{
    struct hostile hostile;
    char buffer[64];
    if (access("/dev/full", W_OK) != 0)
        return;
    hostile_begin(&hostile, &hostile_cases[_i]);
    for (int i = 0; i < FORM_COUNT; i++) {
        size_t length;
        if (!form_begin(&forms[i], &hostile, hostile_cases[_i].name))
            continue;
        char *text = hostile_written(&hostile.report, forms[i].write, &length);
        FILE *out = fopen("/dev/full", "w");
        ck_assert_ptr_nonnull(out);
        setvbuf(out, buffer, _IOFBF, sizeof buffer);
        forms[i].write(out, &hostile.report);
        bool failed = fflush(out) != 0 || ferror(out) != 0;
        ck_assert_msg(failed == (length > 0), "%s: %s", hostile_cases[_i].name, forms[i].name);
        fclose(out);
        free(text);
    }
    hostile_end(&hostile);
}
END_TEST

/* Reads pages whose names and numbers of runs are its arguments. */
static const char html_reader[] =
    "import html.parser, json, sys\n"
    "class Reader(html.parser.HTMLParser):\n"
    "    void = {'meta', 'link', 'br', 'hr', 'img', 'input'}\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.open, self.scripts, self.data = [], 0, ''\n"
    "    def handle_starttag(self, tag, attributes):\n"
    "        self.scripts += tag == 'script'\n"
    "        if tag not in self.void:\n"
    "            self.open.append((tag, attributes))\n"
    "    def handle_data(self, data):\n"
    "        if self.open and ('id', 'data') in self.open[-1][1]:\n"
    "            self.data += data\n"
    "    def handle_endtag(self, tag):\n"
    "        assert self.open.pop()[0] == tag, (tag, self.getpos())\n"
    "for page, runs in zip(sys.argv[1::2], sys.argv[2::2]):\n"
    "    reader = Reader()\n"
    "    reader.feed(open(page, 'rb').read().decode('utf-8'))\n"
    "    reader.close()\n"
    "    assert not reader.open and reader.scripts == 2, (page, reader.open)\n"
    "    assert len(json.loads(reader.data)['runs']) == int(runs), page\n";

/* Another reader of HTML: pages are balanced, and have the scripts that they should. */
START_TEST(test_html_is_balanced)
{
    struct hostile hostile;
    char folder[] = "/tmp/pipeline-hostile-XXXXXX", command[4096];
    if (system("python3 -c 'import html.parser' 2>/dev/null") != 0) {
        fputs("check_writer_hostile: skipped: there is no python3 here\n", stderr);
        return;
    }
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    test_file_put("reader.py", html_reader);
    int length = snprintf(command, sizeof command, "python3 reader.py");
    for (int i = 0; i < hostile_case_count; i++) {
        char page[32];
        hostile_begin(&hostile, &hostile_cases[i]);
        snprintf(page, sizeof page, "%d.html", i);
        length += snprintf(command + length, sizeof command - (size_t)length, " %s %d", page,
                           hostile.report.run_count);
        FILE *file = fopen(page, "w");
        ck_assert_ptr_nonnull(file);
        write_html(file, &hostile.report);
        ck_assert_int_eq(fclose(file), 0);
        hostile_end(&hostile);
    }
    ck_assert_int_eq(system(command), 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

Suite *writer_hostile_suite(void)
{
    Suite *suite = suite_create("writer_hostile");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, test_every_form_parses, 0, hostile_case_count);
    tcase_add_loop_test(tcase, test_every_form_survives_a_full_disk, 0, hostile_case_count);
    tcase_add_test(tcase, test_html_is_balanced);
    suite_add_tcase(suite, tcase);
    return suite;
}
