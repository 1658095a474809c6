/* csv_line.h - a line of CSV cut into its fields. Quoting is RFC 4180's. */
#ifndef PIPELINE_TRACE_CSV_LINE_H
#define PIPELINE_TRACE_CSV_LINE_H

#include "trace/input.h"

enum { CSV_FIELDS_MAX = 64 };

/* CSV on its way through a reader of traces. */
struct csv_text {
    struct trace_text text;
    char *fields[CSV_FIELDS_MAX]; /* of the line, which they point into */
    int field_count;
    int header_fields; /* of the line with the columns' names, as the reader sets it */
};

/* Cuts the line that was read into its fields. STATUS_USAGE: it is no CSV. */
enum status csv_split(struct csv_text *csv);

/* Refuses a line that has another number of fields than the header. */
enum status csv_check_count(const struct csv_text *csv);

/* Refuses the line for the value of what is called `name`: "stream 'x' is no id". */
enum status csv_refuse(const struct csv_text *csv, const char *name, const char *value,
                       const char *why);

/* Cuts `line`, which is changed, into at most `most` fields. Returns how many they are; 0: the
 * line is no CSV, for the reason set in *why. */
int csv_line_split(char *line, char *fields[], int most, const char **why);

/* Changes a field of this program's CSV to what it was before write_csv_field() marked it
 * by a '; a field without that mark stays as it is. Returns `field`. */
const char *csv_unmark(char *field);

#endif
