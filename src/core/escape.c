/* escape.c - text from outside, made fit to be shown. */
#include "core/escape.h"

#include <stdio.h>
#include <string.h>

/* Well-formed UTF-8 by its first two bytes (The Unicode Standard, table 3-7). */
static const struct {
    unsigned char first_low, first_high, second_low, second_high, length;
} utf8_forms[] = {
    {0x01, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

static size_t form_length(unsigned char first, unsigned char second)
{
    for (size_t i = 0; i < sizeof utf8_forms / sizeof utf8_forms[0]; i++) {
        if (first < utf8_forms[i].first_low || first > utf8_forms[i].first_high)
            continue;
        bool follows =
            second >= utf8_forms[i].second_low && second <= utf8_forms[i].second_high;
        return utf8_forms[i].length == 1 || follows ? utf8_forms[i].length : 0;
    }
    return 0;
}

size_t escape_utf8(const char *text, uint32_t *character)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = form_length(bytes[0], bytes[0] < 0x80 ? 0 : bytes[1]);
    *character = length > 1 ? bytes[0] & (0xffu >> (length + 1)) : bytes[0];
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        *character = *character << 6 | (bytes[i] & 0x3fu);
    }
    return length;
}

char *escape_put_utf8(char *to, uint32_t character)
{
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const int length = character < 0x80      ? 1
                       : character < 0x800   ? 2
                       : character < 0x10000 ? 3
                                             : 4;
    for (int i = length - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (character & 0x3f));
        character >>= 6;
    }
    to[0] = (char)(leads[length] | character);
    return to + length;
}

bool escape_hex(const char *text, int digits, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < digits; i++) {
        const char lower = (char)(text[i] | 0x20);
        const bool digit = text[i] >= '0' && text[i] <= '9';
        if (!digit && (lower < 'a' || lower > 'f'))
            return false;
        *value = 16 * *value + (uint32_t)(digit ? text[i] - '0' : lower - 'a' + 10);
    }
    return true;
}

/* C0, DEL and C1 move a cursor; the others break a line, or turn the direction of writing so
 * that a text reads as another. */
bool escape_is_needed(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character <= 0x9f) || character == 0x61c ||
           character == 0x200e || character == 0x200f ||
           (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069);
}

static size_t write_escape(char shown[ESCAPE_ROOM], char letter, uint32_t value, int digits)
{
    static const char hex[] = "0123456789abcdef";
    shown[0] = '\\';
    shown[1] = letter;
    for (int i = 0; i < digits; i++)
        shown[2 + i] = hex[value >> (4 * (digits - 1 - i)) & 15];
    return 2 + (size_t)digits;
}

size_t escape_next(const char **text, char shown[ESCAPE_ROOM])
{
    const char *from = *text;
    uint32_t character;
    size_t length = escape_utf8(from, &character);
    *text += length != 0 ? length : 1;
    if (length == 0)
        return write_escape(shown, 'x', (unsigned char)*from, 2);
    if (character == '\n' || character == '\r' || character == '\t')
        return write_escape(shown,
                            character == '\n'   ? 'n'
                            : character == '\r' ? 'r'
                                                : 't',
                            0, 0);
    if (escape_is_needed(character))
        return write_escape(shown, character < 0x80 ? 'x' : 'u', character,
                            character < 0x80 ? 2 : 4);
    memcpy(shown, from, length);
    return length;
}

const char *escape_text(char *shown, size_t room, const char *text)
{
    size_t used = 0;
    while (*text != '\0') {
        char piece[ESCAPE_ROOM];
        size_t length = escape_next(&text, piece);
        if (used + length >= room)
            break;
        memcpy(shown + used, piece, length);
        used += length;
    }
    shown[used] = '\0';
    return shown;
}

/* Returns how many columns a piece takes: an escape one for each byte, any other text one. */
static int piece_columns(const char *piece, size_t length)
{
    return piece[0] == '\\' ? (int)length : 1;
}

const char *escape_fit(char *shown, size_t room, const char *text, int columns,
                       const char *dots)
{
    const int dots_length = (int)strlen(dots);
    size_t used = 0, cut = 0; /* where the dots go, should the text be too long */
    int taken = 0;
    while (*text != '\0') {
        char piece[ESCAPE_ROOM];
        size_t length = escape_next(&text, piece);
        taken += piece_columns(piece, length);
        if (taken > columns || used + length >= room) {
            snprintf(shown + cut, room - cut, "%s", dots);
            return shown;
        }
        memcpy(shown + used, piece, length);
        used += length;
        if (taken <= columns - dots_length && used + (size_t)dots_length < room)
            cut = used;
    }
    shown[used] = '\0';
    return shown;
}
