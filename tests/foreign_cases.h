/* foreign_cases.h - shared by the parts of the suite `foreign`: runs, exported and judged. */
#ifndef PIPELINE_TESTS_FOREIGN_CASES_H
#define PIPELINE_TESTS_FOREIGN_CASES_H

#include "causes/verdict.h"
#include "fixtures.h"
#include "nsys_export.h"
#include "trace/trace.h"

struct ran {
    struct machine machine;
    struct plan plan;
    struct timeline timeline;
    struct settings settings;
    int64_t time_ns; /* to the end of the device's last op */
};

/* Simulates `settings`; false where they don't go together. */
bool foreign_run(const char *machine, const struct settings *settings, struct ran *ran);
void foreign_ran_free(struct ran *ran);

/* FORM_OLD is a database of an older version, which knows of no streams and events; FORM_CHROME
 * what PyTorch's profiler writes; FORM_OWN is our own timeline as CSV. */
enum form { FORM_CSV, FORM_SQLITE, FORM_OLD, FORM_CHROME, FORM_OWN, FORM_COUNT };

/* Writes the run to test_trace_path, less what `leaves` says, and a database changed by the
 * statements `more`; false where there is no SQLite. */
bool foreign_export(const struct ran *ran, enum form form, unsigned leaves, const char *more);

/* Reads the trace in test_trace_path and judges its only device. Asserts that the costs add up,
 * that none is negative, and that every cause says what it rests on. */
void foreign_judge(struct verdicts *verdicts);

TCase *foreign_input_case(void);

#endif
