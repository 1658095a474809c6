/* trace_rules.h - reads a Chrome trace event by event, and holds it against the spans. */
#ifndef PIPELINE_TESTS_TRACE_RULES_H
#define PIPELINE_TESTS_TRACE_RULES_H

#include "report/report.h"

#include <jansson.h>

/* An event that takes time, or none: an X or an i. */
struct trace_slice {
    json_t *json;
    uint32_t pid, tid, place; /* in the file */
    const char *track;
    int64_t start_ns, end_ns; /* read as text: a double does not hold them all */
};

struct trace_file {
    char *text;
    json_t *root, *events;
    const char **lines; /* of the events, each ended by a NUL */
    struct trace_slice *slices;
    size_t slice_count;
    const char **tracks; /* names by tid */
    size_t tid_count;
};

/* Writes `report` as a trace and reads all of it: every event is a line that parses, in a
 * process and on a named track of its own number. */
struct trace_file trace_file_read(const struct report *report);
void trace_file_free(struct trace_file *file);

/* Holds it against the spans: each is there, once, with its very times; no slices overlap in
 * part; the counters are right. */
void trace_file_check(const struct trace_file *file, const struct report *report);

/* Every tile's way is one flow, in order of time. O(n^2). */
void trace_file_check_flows(const struct trace_file *file);

/* A member of an object, which has to be there. */
json_t *trace_member(json_t *object, const char *key);
int64_t trace_integer(json_t *object, const char *key);
const char *trace_text(json_t *object, const char *key);

#endif
