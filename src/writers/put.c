/* put.c - printing for the writers that print millions of spans, and pages that are put
 * together from the texts of plots/ and from what is written. */
#include "writers/put.h"

#include "core/embedded.h"
#include "core/escape.h"
#include "core/template.h"
#include "plan/op.h"
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
    put->status = STATUS_OK;
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

enum status put_end(struct put *put)
{
    put_flush(put);
    if (put->text != put->small)
        free(put->text);
    return put->status;
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
 * is no well-formed character, and an escape where a terminal would obey it. */
static void put_character(struct put *put, const char **text)
{
    uint32_t character;
    char escape[8];
    size_t length = escape_utf8(*text, &character);
    if (length == 0)
        PUT_LITERAL(put, "\xef\xbf\xbd");
    else if (!escape_is_needed(character))
        put_bytes(put, *text, length);
    else
        put_bytes(put, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04X", character));
    *text += length > 0 ? length : 1;
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

/* Returns true if `text` is a decimal number, with which a spreadsheet does nothing else. */
static bool is_decimal(const char *text)
{
    char *end;
    if (text[strspn(text, "+-.0123456789eE")] != '\0')
        return false;
    strtod(text, &end);
    return end > text && *end == '\0';
}

/* Returns true if a field is to be marked: a spreadsheet would take it for a formula, a
 * terminal would obey it, it is no UTF-8, or it looks marked already. */
static bool is_marked(const char *text)
{
    if (*text == '\'' || (*text != '\0' && strchr("=+-@", *text) != NULL && !is_decimal(text)))
        return true;
    for (size_t length; *text != '\0'; text += length) {
        uint32_t character;
        length = escape_utf8(text, &character);
        if (length == 0 || escape_is_needed(character))
            return true;
    }
    return false;
}

/* Returns true if `text` is a field as it stands: ASCII, nothing to be quoted or marked. */
static bool is_plain_in_csv(const char *text)
{
    if (*text != '\0' && strchr("'=+-@", *text) != NULL)
        return false;
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f || *text == ',' ||
            *text == '"' || *text == '#')
            return false;
    }
    return true;
}

/* Puts the next part of a field and steps over it: all that is plain, or one character. */
static void put_csv_part(struct put *put, const char **text, bool marked, bool quoted)
{
    char piece[ESCAPE_ROOM];
    const char *plain = *text;
    while (**text >= 0x20 && **text < 0x7f && **text != '"' && **text != '\\')
        ++*text;
    put_bytes(put, plain, (size_t)(*text - plain));
    if (**text == '\0')
        return;
    if ((**text == '"' && quoted) || (**text == '\\' && marked))
        put_bytes(put, *text, 1);
    put_bytes(put, piece, escape_next(text, piece));
}

static void put_csv_text(struct put *put, const char *text, bool quoted)
{
    bool marked = is_marked(text);
    if (marked)
        PUT_LITERAL(put, "'");
    while (*text != '\0')
        put_csv_part(put, &text, marked, quoted);
}

void put_csv_field(struct put *put, const char *text)
{
    if (is_plain_in_csv(text)) { /* as all but a few are */
        put_string(put, text);
        return;
    }
    bool quoted = strpbrk(text, ",\"#") != NULL;
    if (quoted)
        PUT_LITERAL(put, "\"");
    put_csv_text(put, text, quoted);
    if (quoted)
        PUT_LITERAL(put, "\"");
}

void write_csv_line(FILE *out, const char *text)
{
    struct put put;
    put_begin(&put, out);
    put_csv_text(&put, text, false);
    put_end(&put);
}

void write_csv_field(FILE *out, const char *text)
{
    struct put put;
    put_begin(&put, out);
    put_csv_field(&put, text);
    put_end(&put);
}

/* --- pages --- */

/* Puts the colours of the kinds of ops, and of the text on them, as rules of a page's style. */
static void put_colors(struct put *put)
{
    EACH (const struct op_row, row, op_rows, OP_KIND_COUNT) {
        char rules[256];
        int used = snprintf(rules, sizeof rules, ".%s { fill: #%06x; stroke: #%06x; }\n",
                            row->name, (unsigned)row->color, (unsigned)row->color);
        if (row->light_text)
            snprintf(rules + used, sizeof rules - (size_t)used, ".on-%s { fill: #fff; }\n",
                     row->name);
        put_string(put, rules);
    }
}

/* A page is put together from a template and from what its parts are written by. */
struct page {
    struct put *put;
    const struct template_part *parts;
};

static bool put_part(void *context, const char *name, int indent)
{
    const struct page *page = context;
    const struct template_part *part = page->parts;
    (void)indent;
    while (part->name != NULL && strcmp(part->name, name) != 0)
        part++;
    if (part->name != NULL && part->write != NULL) {
        part->write(page->put, part->context);
        return true;
    }
    const char *text = part->name != NULL ? part->text : embedded_find(plot_texts, name);
    if (text != NULL)
        template_put(page->put, text, page->parts);
    else if (strcmp(name, "colors") == 0)
        put_colors(page->put);
    else
        return false;
    return true;
}

static void put_line(void *context, const char *text, size_t length)
{
    put_bytes(((const struct page *)context)->put, text, length);
}

void template_put(struct put *put, const char *text, const struct template_part *parts)
{
    struct page page = {put, parts};
    const struct template_fill fill = {.context = &page, .part = put_part, .line = put_line};
    template_fill(text, strlen(text), &fill);
}
