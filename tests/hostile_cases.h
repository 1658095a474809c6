/* hostile_cases.h - reports that no writer may break on. */
#ifndef PIPELINE_TESTS_HOSTILE_CASES_H
#define PIPELINE_TESTS_HOSTILE_CASES_H

#include "report/report.h"
#include "trace/trace.h"
#include "writers/writer.h"

#include <stdio.h>

enum { HOSTILE_RUNS_MAX = 8 };

/* A report and all that it points to but what it owns. Zero-initialise; hostile_end() it. */
struct hostile {
    struct report report;
    struct run_report runs[HOSTILE_RUNS_MAX];
    struct settings settings[HOSTILE_RUNS_MAX];
    struct trace traces[HOSTILE_RUNS_MAX];
    struct sweep sweep;
};

/* A case: what it is called, and what fills the report with runs, whose analysis is then made.
 */
struct hostile_case {
    const char *name;
    void (*build)(struct hostile *hostile);
};
extern const struct hostile_case hostile_cases[];
extern const int hostile_case_count;

void hostile_begin(struct hostile *hostile, const struct hostile_case *given);
void hostile_end(struct hostile *hostile);

/* Texts that end a string, a field, a line, an element; that are no UTF-8; or that a terminal
 * obeys. Ended by NULL. */
extern const char *const hostile_texts[];

/* Returns what is wrong with a text: that it is no UTF-8, or has a control character that is
 * not `allowed`, which a terminal might obey. NULL: nothing. Where `allowed` is NULL, all are.
 */
const char *hostile_text_why(const char *text, size_t size, const char *allowed);

/* Returns the text that `write` makes of a report, to be freed. */
char *hostile_written(const struct report *report, report_writer *write, size_t *length);

/* Read what was written of `hostile`, as others would, and fail where that can't be done or
 * says something else; `text` may be changed. */
void hostile_check_text(const struct hostile *hostile, char *text);
void hostile_check_colored(const struct hostile *hostile, char *text);
void hostile_check_gantt(const struct hostile *hostile, char *text);
void hostile_check_colored_gantt(const struct hostile *hostile, char *text);
void hostile_check_csv_report(const struct hostile *hostile, char *text);
void hostile_check_csv_timeline(const struct hostile *hostile, char *text);
void hostile_check_json(const struct hostile *hostile, char *text);
void hostile_check_trace(const struct hostile *hostile, char *text);
void hostile_check_html(const struct hostile *hostile, char *text);

#endif
