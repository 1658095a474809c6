/* writer_cases.h - the report that the writers' tests show, and what they read it back with. */
#ifndef PIPELINE_TESTS_WRITER_CASES_H
#define PIPELINE_TESTS_WRITER_CASES_H

#include "report/report.h"
#include "writers/writer.h"

#include <check.h>

enum { TEST_RUNS_MAX = 30, TEST_SPANS_MAX = 64 };

/* A report and all that it points to. */
struct test_report {
    struct report report;
    struct run_report runs[TEST_RUNS_MAX];
    struct settings settings[TEST_RUNS_MAX];
    struct span spans[TEST_RUNS_MAX][TEST_SPANS_MAX];
};

/* Serial, 2-, 3- and 4-way with 4 tiles, laid out by hand: copies of 100 us, kernels of 50.
 * With more runs than four they are repeated under other names. Free with free(). */
struct test_report *test_report_new(int runs);

/* Appends a span to a run of such a report; on the lane 0, of no bytes. */
struct span *test_report_span(struct test_report *test, int run, enum op_kind kind,
                              uint32_t stream, int32_t tile, int64_t start_ns, int64_t end_ns);

/* Each returns the text that a writer makes of a report, to be freed. */
char *test_text(const struct report *report, const struct writer_style *style);
char *test_gantt(const struct report *report, const struct writer_style *style);
char *test_written(const struct report *report, report_writer *write);

/* Names that no output may break on; ended by NULL. */
extern const char *const test_names[];

TCase *writer_data_case(void);
TCase *writer_predictions_case(void);
TCase *writer_gantt_case(void);
TCase *writer_marks_case(void);
void writer_gantt_add_foreign(TCase *gantt);

/* Copies `text` into `clean` (of `room` bytes, at least 1) as valid UTF-8: what is not becomes
 * U+FFFD. Cut between characters where there is no room. Returns `clean`. */
const char *utf8_of(char *clean, size_t room, const char *text);

/* No line is wider than `width`, in characters, nor holds a control character. */
void test_lines(const char *text, int width);

#endif
