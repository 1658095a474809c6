/* input.h - a trace's text on its way to a reader, from a file or a pipe, also one that gzip
 * packed: each byte is read once, and no more of it is held than the line that is read, or a
 * MiB ahead of it. Private to the readers of traces. */
#ifndef PIPELINE_TRACE_INPUT_H
#define PIPELINE_TRACE_INPUT_H

#include "core/status.h"
#include "core/units.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Copies `raw`, escaped, into `text` as a line for a message, cut where it is long. */
enum { TRACE_SHOWN = 96 };
const char *trace_shown(const char *raw, char text[TRACE_SHOWN]);

/* Reads a whole number that is not negative, up to the end of `text`. False: it is none, or
 * larger than `most`. */
bool trace_read_whole(const char *text, uint64_t most, uint64_t *value);

/* Zero-initialise but for `file`, which is not owned; free with trace_input_free(). */
struct trace_input {
    FILE *file;
    char *text; /* what was read and not yet taken is from `at` up to `end` */
    size_t at, end, room;
    uint64_t line;         /* number of the line that was taken last; 0: none yet */
    bool over, failed;     /* the file has ended; it can't be read, with the reason in `why` */
    bool cut;              /* it ends within what gzip packed */
    bool begun;            /* something was read of it */
    const char *why;       /* a constant, or of strerror() */
    struct gunzip *packed; /* NULL: it is not */
};

/* Reads on until `wanted` bytes from `at` on are there, or the file has ended. Returns false
 * where there is no memory. Bytes before `at` are gone, and the others may have moved. */
bool trace_input_fill(struct trace_input *input, size_t wanted);

void trace_input_free(struct trace_input *input);

/* A text on its way through a reader, which goes by its lines. */
struct trace_text {
    const char *path; /* what errors call the file */
    struct trace_input *input;
    struct error *error; /* the caller's */
    uint64_t line_number;
    char *line; /* in the input's memory, with a NUL behind its `length` bytes */
    size_t length;
    bool whole; /* the line has an end */
};

/* Takes the next line, without its end and without a byte order mark at the beginning of the
 * file; it holds until the next call. Returns false at the end of the file, or where that can't
 * be read: text->input->failed tells; and where the line is refused, as it has more than
 * INPUT_TEXT_MAX bytes, or memory runs out. */
bool trace_next_line(struct trace_text *text);

/* Refuses the line that is read, saying "path:line: why": STATUS_USAGE. */
__attribute__((format(printf, 2, 3))) enum status trace_refuse(const struct trace_text *text,
                                                               const char *why, ...);

/* Passes on what went wrong with what the line says: STATUS_USAGE gets the line's number. */
enum status trace_pass(const struct trace_text *text, const struct error *why);

/* --- csv_line.c: a line of CSV cut into its fields. Quoting is RFC 4180's; a comma, a
 * semicolon or a tabulator parts them --- */

enum { CSV_FIELDS_MAX = 64 };

/* CSV on its way through a reader of traces. */
struct csv_text {
    struct trace_text text;
    char separator;               /* between fields */
    char *fields[CSV_FIELDS_MAX]; /* of the line, which they point into */
    int field_count;
    int header_fields; /* of the line with the columns' names, as the reader sets it */
};

/* Cuts the line that was read into its fields. False: it is no CSV, and refused. */
bool csv_split(struct csv_text *csv);

/* Refuses a line that has another number of fields than the header: false. */
bool csv_check_count(const struct csv_text *csv);

/* Refuses the line for the value of what is called `name`: "stream 'x' is no id". */
enum status csv_refuse(const struct csv_text *csv, const char *name, const char *value,
                       const char *why);

/* Cuts `line`, which is changed, into at most `most` fields. Returns how many they are; 0: the
 * line is no CSV, for the reason set in *why. */
int csv_line_split(char *line, char separator, char *fields[], int most, const char **why);

/* Changes a field of this program's CSV to what it was before write_csv_field() marked it
 * by a '; a field without that mark stays as it is. Returns `field`. */
const char *csv_unmark(char *field);

/* --- csv_number.c: numbers as programs of any country write them: "1234.5", "1,234.5",
 * "1.234,5", "1 234,5", "1'234.5" --- */

/* How a file writes them, as far as those seen tell. */
struct csv_notation {
    char decimal;              /* a point or a comma, before decimals; '\0': not known */
    char likely;               /* the same, since its unit has no parts */
    char unclear[TRACE_SHOWN]; /* the first that may be either, as 1.234 may; "": none */
};

/* Learns from one number. Where `commas` part the fields, a lone point is before decimals; and
 * `whole` units have none. */
void csv_notation_learn(struct csv_notation *notation, const char *number, bool commas,
                        bool whole);

/* Reads a number in units of `unit`, rounded to a whole one, at most INT64_MAX; `text` is
 * changed to how a program writes it. *decimals grows to the number of its decimals. */
enum units_result csv_number(char *text, char decimal, uint64_t unit, int64_t *value,
                             int *decimals);

#endif
