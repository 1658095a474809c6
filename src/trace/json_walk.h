/* json_walk.h - JSON (RFC 8259) of any size on its way through a reader: values are found in
 * the text as it is, one at a time, and nothing is made of what nobody asks for.
 *
 * A trace of PyTorch's profiler has gigabytes, most of them in values that no reader wants, and
 * all of it may stand on one line: a library that makes a tree of a text, or calls for each
 * value, takes several times as long and as much memory. */
#ifndef PIPELINE_TRACE_JSON_WALK_H
#define PIPELINE_TRACE_JSON_WALK_H

#include "trace/input.h"

/* A value as it stands in the text: an object with its brackets, a text with its quotes. It
 * holds until the next is taken. */
struct walk_value {
    const char *at;
    size_t length; /* 0: there is none */
};

/* Zero-initialise but for `input`. */
struct walk_text {
    struct trace_input *input;
    uint64_t lines; /* that ended before input->at */
    bool no_memory; /* for a value */
    bool ended;     /* the text ends within a value */
    bool too_large; /* a value has over 64 MiB */
};

/* Returns the number of the line that comes next; a newline that ends the text begins none. */
uint64_t walk_line(const struct walk_text *text);

/* Returns the next byte that is no space, which is not taken; '\0': the text has ended. */
char walk_peek(struct walk_text *text);

/* Takes the byte `wanted`, with spaces before it. False: there is another. */
bool walk_take(struct walk_text *text, char wanted);

/* Takes the value that comes next. False: the text ends within it, or it is none. */
bool walk_take_value(struct walk_text *text, struct walk_value *value);

/* Takes the next member of an object out of what is left of it, which begins as the whole: a
 * key without its quotes, and its value. False: there are no more, or it is damaged, which is
 * what *damaged is set for. */
bool walk_member(struct walk_value *left, struct walk_value *key, struct walk_value *value,
                 bool *damaged);

/* Takes the next item of an array likewise. */
bool walk_item(struct walk_value *left, struct walk_value *item, bool *damaged);

/* Returns true if the value, a key or a text, is `word`. */
bool walk_is(const struct walk_value *value, const char *word);

/* Reads a number, which may stand in quotes and have decimals that are zeroes. False: it is
 * none, is negative, or has over 64 bits. */
bool walk_whole(const struct walk_value *value, uint64_t *number);

/* Reads a number of thousands as what it is in ones, exactly: "1.5" is 1500, and what is behind
 * three decimals is cut off. False: it is none, or does not fit. */
bool walk_thousands(const struct walk_value *value, int64_t *ones);

/* Copies a text, without its quotes and escapes, into `text` of `size` bytes: what is no UTF-8
 * or does not fit is left out. Of any other value it is "". */
const char *walk_string(const struct walk_value *value, char *text, size_t size);

/* Finds `count` members of an object by their names; of several of one name the first counts,
 * and one that is not there has no length. False: it is damaged. */
bool walk_find(struct walk_value object, const char *const *names, int count,
               struct walk_value *values);

/* Returns a whole number; `instead` where it is none, or larger than `most`. */
uint64_t walk_whole_or(const struct walk_value *value, uint64_t most, uint64_t instead);

#endif
