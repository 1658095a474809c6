/* put.h - printing for the writers that print millions of spans.
 *
 * Text goes to the FILE a block at a time, so that stdio's locks and copies are paid for once
 * per block. A write_...() function prints at a place in memory that the caller keeps in a
 * register and has made room for; a put_...() function makes room itself. */
#ifndef PIPELINE_WRITERS_PUT_H
#define PIPELINE_WRITERS_PUT_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- at a place in memory: each function returns the end of the text that it wrote --- */

/* Bytes for any number, its sign and point, and bytes written beyond. */
enum { WRITE_NUMBER_ROOM = 32 };

/* Writes a string literal. */
#define WRITE_LITERAL(at, literal)                                                             \
    ((char *)memcpy((at), (literal), sizeof(literal) - 1) + (sizeof(literal) - 1))

static inline char *write_bytes(char *at, const char *bytes, size_t length)
{
    memcpy(at, bytes, length);
    return at + length;
}

/* "000001002...999": three digits at a time are looked up, not computed. Four bytes are copied
 * at a time, and the last is overwritten by the next text: so the table has two more. */
extern const char put_triples[3 * 1000 + 3];

/* Writes a number below 1000 in three digits. */
static inline char *write_triple(char *at, uint32_t value)
{
    memcpy(at, &put_triples[3 * value], 4);
    return at + 3;
}

/* Writes a number below 1000 without zeros in front. */
static inline char *write_first(char *at, uint32_t value)
{
    int digits = 1 + (value >= 10) + (value >= 100);
    memcpy(at, &put_triples[3 * value + 3 - (uint32_t)digits], 4);
    return at + digits;
}

/* Writes a number below 10^9 in nine digits. */
static inline char *write_nine(char *at, uint32_t value)
{
    at = write_triple(at, value / 1000000);
    at = write_triple(at, value / 1000 % 1000);
    return write_triple(at, value % 1000);
}

/* Writes a number below 10^9 without zeros in front. */
static inline char *write_short(char *at, uint32_t value)
{
    if (value < 1000)
        return write_first(at, value);
    if (value >= 1000000)
        at = write_triple(write_first(at, value / 1000000), value / 1000 % 1000);
    else
        at = write_first(at, value / 1000);
    return write_triple(at, value % 1000);
}

static inline char *write_count(char *at, uint64_t value)
{
    enum { BILLION = 1000000000 };
    if (value < BILLION)
        return write_short(at, (uint32_t)value);
    uint64_t high = value / BILLION;
    if (high < BILLION) {
        at = write_short(at, (uint32_t)high);
    } else { /* 2^64 has 20 digits */
        at = write_short(at, (uint32_t)(high / BILLION));
        at = write_nine(at, (uint32_t)(high % BILLION));
    }
    return write_nine(at, (uint32_t)(value % BILLION));
}

/* Writes the sign of a negative number and returns its size. */
static inline uint64_t write_sign(char **at, int64_t value)
{
    if (value >= 0)
        return (uint64_t)value;
    *(*at)++ = '-';
    return -(uint64_t)value;
}

static inline char *write_integer(char *at, int64_t value)
{
    uint64_t size = write_sign(&at, value);
    return write_count(at, size);
}

/* Writes value / 1000 with three decimals: nothing is rounded. */
static inline char *write_thousandths(char *at, uint64_t value)
{
    at = write_count(at, value / 1000);
    *at = '.';
    return write_triple(at + 1, (uint32_t)(value % 1000));
}

/* --- into a FILE --- */

enum {
    PUT_SMALL = 4096,   /* bytes of room that need no memory beside the struct itself */
    PUT_ROOM = 1 << 18, /* the larger a block, the less time the system takes for each byte */
};

/* Text on its way to `out`. Errors stay with the FILE, where ferror() finds them; that memory
 * ran out for a part of the text is kept in `status`, which whoever lacked it sets. */
struct put {
    FILE *out;
    char *at;         /* place of the next byte */
    char *text, *end; /* the block that is being filled */
    enum status status;
    char small[PUT_SMALL];
};

/* Begins with no text, and with little room: for a few fields. `out` is not owned. */
void put_begin(struct put *put, FILE *out);

/* Begins with room for large blocks, or with little where there is no memory for it. */
void put_begin_large(struct put *put, FILE *out);

/* Writes what has gathered. */
void put_flush(struct put *put);

/* Writes what is left and gives the room back. Returns the status, which is then the writer's:
 * STATUS_OK or STATUS_NO_MEMORY. Text that goes to the FILE by other ways goes before
 * put_begin(), after put_flush() or after this. */
enum status put_end(struct put *put);

/* Returns the place of the next byte, with room for `length` more, at most PUT_SMALL. Bytes
 * that are written there count once put->at is set to their end. */
static inline char *put_reserve(struct put *put, size_t length)
{
    if ((size_t)(put->end - put->at) < length)
        put_flush(put);
    return put->at;
}

/* Puts `length` bytes as they are, even if they are more than the block holds. */
void put_long(struct put *put, const char *bytes, size_t length);
static inline void put_bytes(struct put *put, const char *bytes, size_t length)
{
    if ((size_t)(put->end - put->at) < length)
        put_long(put, bytes, length);
    else
        put->at = write_bytes(put->at, bytes, length);
}

static inline void put_string(struct put *put, const char *text)
{
    put_bytes(put, text, strlen(text));
}

/* Puts a string literal. */
#define PUT_LITERAL(put, literal) put_bytes((put), (literal), sizeof(literal) - 1)

static inline void put_integer(struct put *put, int64_t value)
{
    put->at = write_integer(put_reserve(put, WRITE_NUMBER_ROOM), value);
}

/* Puts the part of a JSON string (RFC 8259) between its quotes. Bytes that are not valid UTF-8
 * become U+FFFD, what a terminal would obey (core/escape.h) its escapes. With `in_html` <, >
 * and & become escapes, too, so that no text can end the element that it stands in. */
void put_json_text(struct put *put, const char *text, bool in_html);

/* Puts a CSV field, by the rules of write_csv_field() (writers/writer.h). */
void put_csv_field(struct put *put, const char *text);

/* --- pages, put together from the texts of plots/ and from what is written --- */

/* A part of a page that is no file of plots/: a text, or what `write` puts there, which is then
 * given `context`. The text and the context are the caller's; one of `text` and `write` is
 * NULL. */
struct template_part {
    const char *name, *text;
    void (*write)(struct put *put, const void *context);
    const void *context;
};

/* Puts `text`, in which a line that is nothing but "@NAME@" gives way to the part of that name
 * in `parts`, which ends with a row without a name, or else to the file NAME of plots/, or, if
 * the name is "colors", to rules with the colours of the kinds of ops. Texts that are put so
 * may have such lines, too; what a function writes is left alone. A name that nobody knows
 * stays as it is. */
void template_put(struct put *put, const char *text, const struct template_part *parts);

#endif
