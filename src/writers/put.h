/* put.h - printing for the writers that print millions of spans.
 *
 * Text gathers in a buffer of its own and goes to the FILE in large blocks, so that stdio's
 * locks and copies are paid for once per block. write_...() print at a place in memory that the
 * caller keeps in a register, with room seen to beforehand; put_...() see to the room
 * themselves. */
#ifndef PIPELINE_WRITERS_PUT_H
#define PIPELINE_WRITERS_PUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- at a place in memory: each returns the end of what it wrote --- */

enum {
    WRITE_NUMBER_ROOM = 32
}; /* any number, its sign and point, and what is written beyond */

/* A string literal. */
#define WRITE_LITERAL(at, literal)                                                             \
    ((char *)memcpy((at), (literal), sizeof(literal) - 1) + (sizeof(literal) - 1))

static inline char *write_bytes(char *at, const char *bytes, size_t length)
{
    memcpy(at, bytes, length);
    return at + length;
}

/* "000001002...999": three digits at a time are looked up, not computed. 4 bytes are copied,
 * the last of them to be overwritten: hence two more at the end. */
extern const char put_triples[3 * 1000 + 3];

/* Below 1000, in all 3 digits. */
static inline char *write_triple(char *at, uint32_t value)
{
    memcpy(at, &put_triples[3 * value], 4);
    return at + 3;
}

/* Below 1000, without zeros in front. */
static inline char *write_first(char *at, uint32_t value)
{
    int digits = 1 + (value >= 10) + (value >= 100);
    memcpy(at, &put_triples[3 * value + 3 - (uint32_t)digits], 4);
    return at + digits;
}

/* Below 10^9, in all 9 digits. */
static inline char *write_nine(char *at, uint32_t value)
{
    at = write_triple(at, value / 1000000);
    at = write_triple(at, value / 1000 % 1000);
    return write_triple(at, value % 1000);
}

/* Below 10^9, without zeros in front. */
static inline char *write_short(char *at, uint32_t value)
{
    if (value < 1000)
        return write_first(at, value);
    if (value < 1000000)
        return write_triple(write_first(at, value / 1000), value % 1000);
    at = write_first(at, value / 1000000);
    at = write_triple(at, value / 1000 % 1000);
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

/* The size of a number, whose sign it writes. */
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

/* value / 1000, with all three decimals: nothing is rounded. */
static inline char *write_thousandths(char *at, uint64_t value)
{
    at = write_count(at, value / 1000);
    *at = '.';
    return write_triple(at + 1, (uint32_t)(value % 1000));
}

/* --- into a FILE --- */

enum { PUT_ROOM = 1 << 18 }; /* the larger a block, the less the system takes for a byte */

/* Text on its way to `out`. Errors stay with the FILE, as ferror() tells. */
struct put {
    FILE *out;
    char *at; /* where the next byte goes */
    char text[PUT_ROOM];
};

/* Begins with no text. `out` is not owned. */
void put_begin(struct put *put, FILE *out);

/* Writes what is left. Whatever goes to the FILE by other ways goes before put_begin() or after
 * this. */
void put_end(struct put *put);

/* The place of the next byte, with room for `length` more, at most PUT_ROOM. What is written
 * there counts once put->at is set to its end. */
static inline char *put_reserve(struct put *put, size_t length)
{
    if ((size_t)(put->text + PUT_ROOM - put->at) < length)
        put_end(put);
    return put->at;
}

/* Puts `length` bytes, as they are; also more than the buffer holds. */
void put_long(struct put *put, const char *bytes, size_t length);
static inline void put_bytes(struct put *put, const char *bytes, size_t length)
{
    if ((size_t)(put->text + PUT_ROOM - put->at) < length)
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

/* Puts what stands between the quotes of a JSON string (RFC 8259). What is not valid UTF-8
 * becomes U+FFFD, a control character (DEL too) its escape. */
void put_json_text(struct put *put, const char *text);

/* Whether `text` is a CSV field as it stands: ASCII, with nothing to be quoted. */
bool put_csv_is_plain(const char *text);

/* Puts a CSV field: what write_csv_field() (writers/writer.h) says of one. */
void put_csv_field(struct put *put, const char *text);

#endif
