/* put.c - printing for the writers that print millions of spans. */
#include "writers/put.h"

#include "writers/writer.h"

#include <stdlib.h>

/* clang-format off */
#define ONES(d) d "0" d "1" d "2" d "3" d "4" d "5" d "6" d "7" d "8" d "9"
#define TENS(d) ONES(d "0") ONES(d "1") ONES(d "2") ONES(d "3") ONES(d "4") \
                ONES(d "5") ONES(d "6") ONES(d "7") ONES(d "8") ONES(d "9")
const char put_triples[] = TENS("0") TENS("1") TENS("2") TENS("3") TENS("4")
                           TENS("5") TENS("6") TENS("7") TENS("8") TENS("9") "00";
/* clang-format on */

void put_begin(struct put *put, FILE *out)
{
    put->out = out;
    put->text = put->at = put->small;
    put->end = put->small + PUT_SMALL;
}

void put_begin_large(struct put *put, FILE *out)
{
    put_begin(put, out);
    char *text = malloc(PUT_ROOM);
    if (text == NULL)
        return;
    put->text = put->at = text;
    put->end = text + PUT_ROOM;
}

void put_flush(struct put *put)
{
    fwrite_unlocked(put->text, 1, (size_t)(put->at - put->text), put->out);
    put->at = put->text;
}

void put_end(struct put *put)
{
    put_flush(put);
    if (put->text != put->small)
        free(put->text);
}

void put_long(struct put *put, const char *bytes, size_t length)
{
    while (length > 0) {
        size_t part = length < PUT_SMALL ? length : PUT_SMALL;
        put->at = write_bytes(put_reserve(put, part), bytes, part);
        bytes += part;
        length -= part;
    }
}

/* --- text --- */

/* Puts the character at *text, which is not ASCII, and steps over it. Puts U+FFFD where there
 * is no well-formed character. */
static void put_character(struct put *put, const char **text)
{
    char character[5] = "", clean[16];
    unsigned char lead = (unsigned char)**text;
    size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    length = strnlen(*text, length);
    memcpy(character, *text, length);
    writer_clean(clean, sizeof clean, character, false);
    bool whole = strcmp(character, clean) == 0;
    put_string(put, whole ? character : "\xef\xbf\xbd");
    *text += whole ? length : 1;
}

static bool is_plain_in_json(unsigned char byte, bool in_html)
{
    bool markup = byte == '<' || byte == '>' || byte == '&';
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\' && !(markup && in_html);
}

static void put_escape(struct put *put, unsigned char byte)
{
    static const char digits[] = "0123456789ABCDEF", short_forms[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    for (const char *form = short_forms; *form != '\0'; form += 2) {
        if ((unsigned char)form[0] != byte)
            continue;
        PUT_LITERAL(put, "\\");
        put_bytes(put, &form[1], 1);
        return;
    }
    PUT_LITERAL(put, "\\u00");
    put_bytes(put, &digits[byte >> 4], 1);
    put_bytes(put, &digits[byte & 15], 1);
}

void put_json_text(struct put *put, const char *text, bool in_html)
{
    for (;;) {
        const char *plain = text;
        while (is_plain_in_json((unsigned char)*text, in_html))
            text++;
        put_bytes(put, plain, (size_t)(text - plain));
        if (*text == '\0')
            return;
        if ((unsigned char)*text >= 0x80)
            put_character(put, &text);
        else
            put_escape(put, (unsigned char)*text++);
    }
}

/* Returns the first byte that CSV can't take as it is: one that is not ASCII or that asks for
 * quotes, or the end. */
static const char *csv_plain_end(const char *text)
{
    for (;; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte >= 0x80 || byte == ',' || byte == '"' || byte == '#' || byte == '\r' ||
            byte == '\n' || byte == '\0')
            return text;
    }
}

bool put_csv_is_plain(const char *text)
{
    return *csv_plain_end(text) == '\0';
}

void put_csv_field(struct put *put, const char *text)
{
    const char *plain = csv_plain_end(text);
    bool quoted = *plain != '\0' && strpbrk(plain, ",\"#\r\n") != NULL;
    if (quoted)
        PUT_LITERAL(put, "\"");
    put_bytes(put, text, (size_t)(plain - text));
    for (text = plain; *text != '\0';) {
        if ((unsigned char)*text >= 0x80) {
            put_character(put, &text);
            continue;
        }
        if (*text == '"')
            PUT_LITERAL(put, "\"");
        put_bytes(put, text++, 1);
    }
    if (quoted)
        PUT_LITERAL(put, "\"");
}

void write_csv_field(FILE *out, const char *text)
{
    struct put put;
    put_begin(&put, out);
    put_csv_field(&put, text);
    put_end(&put);
}
