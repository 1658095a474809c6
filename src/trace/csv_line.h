/* csv_line.h - a line of CSV cut into its fields. Quoting is RFC 4180's. */
#ifndef PIPELINE_TRACE_CSV_LINE_H
#define PIPELINE_TRACE_CSV_LINE_H

/* Cuts `line`, which is changed, into at most `most` fields. Returns how many they are; 0: the
 * line is no CSV, for the reason set in *why. */
int csv_line_split(char *line, char *fields[], int most, const char **why);

/* Changes a field of this program's CSV to what it was before write_csv_field() marked it
 * by a '; a field without that mark stays as it is. Returns `field`. */
const char *csv_unmark(char *field);

#endif
