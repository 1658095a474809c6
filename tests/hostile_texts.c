/* hostile_texts.c - texts that no writer, reader or terminal may break on. */
#include "hostile_cases.h"

#include <string.h>

const char *const hostile_texts[] = {
    "",
    " ",
    "\"",
    "\"quoted\", and more",
    ",",
    "a,b,,\"",
    "'single' `back` $(id) ${x} %s%n%d",
    "line\nbreak\r\nand\rreturn\n",
    "\ttab\vvertical\ffeed",
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>--><![CDATA[",
    "&amp;&lt;&#0;<b>&",
    "\\ \\\\ \\u0000 \\\" \\n",
    "# a comment?",
    "=1+1",
    "-1",
    "\x01\x02\x03\x07\x08\x0e\x1b[31mred\x1b]0;title\x07\x1b[2J\x7f",
    "\xc2\x85\xc2\x9b"
    "31m\xc2\x80", /* C1 controls in UTF-8 */
    "\x80",
    "\xff\xfe",
    "\xc0\xaf \xe0\x80\xaf",    /* overlong */
    "\xed\xa0\x80\xed\xbf\xbf", /* surrogates */
    "\xf4\x90\x80\x80\xf8\x88", /* beyond the last character */
    "cut \xe2\x82",             /* in the middle of one */
    "cut \xf0\x9f\x98",
    "\xe2\x80\xa8 and \xe2\x80\xa9", /* line separators, which JavaScript once minded */
    "\xe2\x80\xae"
    "rtl\xef\xbb\xbf",
    "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
    "a name that is exactly as long as the name of a run can be, 63!",
    NULL,
};

/* The bytes of the character at `text`, as RFC 3629 has it; 0 where it is not well-formed. */
static size_t decode(const unsigned char *text, size_t size, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = text[0] < 0x80   ? 1
                          : text[0] < 0xc0 ? 0
                          : text[0] < 0xe0 ? 2
                          : text[0] < 0xf0 ? 3
                          : text[0] < 0xf8 ? 4
                                           : 0;
    *character = length == 1 ? text[0] : text[0] & (0xffu >> (length + 1));
    if (length == 0 || length > size)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        *character = *character << 6 | (text[i] & 0x3f);
    }
    bool surrogate = *character >= 0xd800 && *character <= 0xdfff;
    return *character < least[length] || *character > 0x10ffff || surrogate ? 0 : length;
}

const char *hostile_text_why(const char *text, size_t size, const char *allowed)
{
    uint32_t character;
    for (size_t at = 0, length; at < size; at += length) {
        length = decode((const unsigned char *)text + at, size - at, &character);
        if (length == 0)
            return "has bytes that are no UTF-8";
        bool control = character < 0x20 || (character >= 0x7f && character <= 0x9f);
        if (control && allowed != NULL &&
            (character == 0 || character > 0x7f || strchr(allowed, (int)character) == NULL))
            return "has a raw control character";
    }
    return NULL;
}
