/* hostile_texts.c - texts that no writer, reader or terminal may break on. */
#include "hostile_cases.h"

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
