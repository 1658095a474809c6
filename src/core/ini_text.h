/* ini_text.h - takes INI text apart, line by line: [section], key = value and comments.
 *
 * A line that begins with ';' or '#' is a comment, and so is what follows a ';' behind a blank.
 * A ':' may stand for the '='. Blanks around sections, keys and values don't count. Nothing but
 * a comment may stand behind a section's ']'. */
#ifndef PIPELINE_CORE_INI_TEXT_H
#define PIPELINE_CORE_INI_TEXT_H

#include <stdbool.h>

enum { INI_LINE_MAX = 199 }; /* characters of a line */

enum ini_part {
    INI_END,
    INI_SECTION,  /* `section` is new */
    INI_KEY,      /* `key` and `value` are new */
    INI_TOO_LONG, /* the line has more than INI_LINE_MAX characters */
    INI_NEITHER,  /* the line is neither a section nor a key with a value */
};

/* A text that is being read. The strings hold until the next call. */
struct ini_text {
    const char *next;  /* where the next line begins */
    const char *begin; /* where the line that was read last begins, in the whole text */
    int line;          /* number of the line that was read last, from 1 */
    const char *key, *value;
    char section[INI_LINE_MAX + 1]; /* empty before the first one */
    bool followed; /* words that are no comment stand behind the section's bracket */
    char words[INI_LINE_MAX + 1]; /* the line itself; `key` and `value` point into it */
};

/* Begins to read `text`, which must outlive the reading. */
void ini_text_begin(struct ini_text *ini, const char *text);

/* Reads up to the next line that is not empty and no comment, and says what it is. */
enum ini_part ini_text_next(struct ini_text *ini);

#endif
