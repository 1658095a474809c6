/* recording_line.h - one line of a recording, taken apart: a flat JSON array (RFC 8259), or the
 * header, a flat object. `pipeline record` reads what it counts and completes by it, too.
 *
 * A general reader of JSON takes several times as long, and recordings have millions of lines.
 */
#ifndef PIPELINE_TRACE_RECORDING_LINE_H
#define PIPELINE_TRACE_RECORDING_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum line_kind {
    LINE_NULL,
    LINE_NUMBER, /* a whole one, of at most 64 bits */
    LINE_TEXT,
    LINE_LIST, /* of numbers and nulls */
    LINE_BOOL, /* `number` is 1 for true */
    LINE_OTHER /* another number */
};

struct line_value {
    enum line_kind kind;
    bool negative;   /* numbers */
    uint64_t number; /* without its sign */
    char *text;      /* texts: in UTF-8, without a NUL in it; lists: for line_next() */
};

static inline bool line_is_whole(const struct line_value *value)
{
    return value->kind == LINE_NUMBER && (!value->negative || value->number == 0);
}

/* The first values of a line; those behind are checked, and left out. An object's are its keys,
 * each before its value. A call's frames are most: two values each of at most 24. */
enum { LINE_VALUES = 64 };
struct line {
    struct line_value values[LINE_VALUES];
    int count;
};

/* Takes `text` apart, which has a NUL behind its `length` bytes and is changed: values point
 * into it. Returns NULL, or what is malformed. */
const char *line_scan(char *text, size_t length, struct line *line);
const char *line_scan_object(char *text, size_t length, struct line *line);

/* Takes the text behind a quotation mark, of what ends in a NUL and is changed. Returns its
 * end; NULL: it is malformed. */
const char *line_text(char *at, struct line_value *value);

/* Returns the value of `key` in an object; NULL: it is not there, or null. */
const struct line_value *line_member(const struct line *line, const char *key);

/* Takes the next value of a list, which `text` then leaves behind; LINE_OTHER is a number that
 * is no whole one. Returns false at the list's end. */
bool line_next(const char **text, struct line_value *value);

#endif
