/* json.h - the one encoder of JSON: a document is written value by value, so that nothing of it
 * is kept in memory.
 *
 * The encoder sees to commas, quotes, escapes and indentation; its user opens and closes
 * objects and arrays in pairs and gives each member of an object a key:
 *
 *     json_open(json, '{');
 *     json_put_count(json_key(json, "tiles"), 16);
 *     json_close(json, '}');
 *
 * A Chrome trace's events, of which there are millions, are printed by put.h alone. */
#ifndef PIPELINE_WRITERS_JSON_H
#define PIPELINE_WRITERS_JSON_H

#include "plan/settings.h"
#include "writers/put.h"

struct json {
    struct put *put;
    int indent;   /* columns per level, each value on a line of its own; 0: all on one line */
    bool in_html; /* the document stands within an HTML page: markup is escaped */
    /* The encoder's own state, which begins with zeroes. */
    int depth;   /* objects and arrays that are open */
    int flat;    /* the depth of the one that stands on one line; 0: none does */
    bool filled; /* the innermost of them has a value */
    bool keyed;  /* a key was written, and its value is still to come */
    bool absent; /* null stands in its place already */
};

/* Opens an object by '{' or an array by '['; closes it by '}' or ']'. */
void json_open(struct json *json, char bracket);
void json_close(struct json *json, char bracket);

/* Opens an object or an array that stands on one line, with all that it has. */
void json_open_flat(struct json *json, char bracket);

/* Writes a key; the value comes next. Returns `json`. */
struct json *json_key(struct json *json, const char *key);

/* Does so, and writes null where the value is not known: the one that comes next, which opens
 * no object and no array, is then left out. */
struct json *json_key_of(struct json *json, const char *key, bool known);

/* Begins a new line before the next value, where all would stand on one. */
void json_line(struct json *json);

/* Values. A real number has 15 digits, which give back every time below 11 days to the
 * nanosecond; infinity and NaN, which JSON lacks, become null. */
void json_put_text(struct json *json, const char *text);
void json_put_integer(struct json *json, int64_t value);
void json_put_count(struct json *json, uint64_t value);
void json_put_real(struct json *json, double value);
void json_put_bool(struct json *json, bool value);
void json_put_null(struct json *json);

/* Writes a number that is spelt already as JSON has it. */
void json_put_raw(struct json *json, const char *number);

/* Writes a time in ms: as a real number, and with all six decimals. */
void json_put_ms(struct json *json, int64_t ns);
void json_put_exact_ms(struct json *json, int64_t ns);

/* Writes all settings as an object. A number is one that JSON and 64 bits can hold; any other
 * (a seed of 2^63) stays a text. */
void json_put_settings(struct json *json, const struct settings *settings);

#endif
