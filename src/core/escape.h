/* escape.h - text from outside, made fit to be shown.
 *
 * File names, names in traces and values that somebody typed may hold bytes that a terminal
 * obeys: escape sequences, other control characters (as bytes and as U+0080 to U+009F), and
 * characters that turn the direction of writing or break a line. They are shown as C spells
 * them: \x1b, \n, \u202e; a byte that is no UTF-8 as \xff. What is left is valid UTF-8 on one
 * line. Text that was escaped stays as it is when it is escaped again. */
#ifndef PIPELINE_CORE_ESCAPE_H
#define PIPELINE_CORE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the bytes of the UTF-8 character at `text`, and sets *character to it; 0 where there
 * is no well-formed one. Reads no further than the first byte that does not fit, hence never
 * beyond a terminating NUL. Not to be called at the end of a text. */
size_t escape_utf8(const char *text, uint32_t *character);

/* Writes a character in UTF-8, of at most four bytes and without a NUL. Returns its end. */
char *escape_put_utf8(char *to, uint32_t character);

/* Reads `digits` hexadecimal digits. Returns false where there are fewer. */
bool escape_hex(const char *text, int digits, uint32_t *value);

/* Returns true for a character that must not reach a terminal. */
bool escape_is_needed(uint32_t character);

/* Takes the next character of *text, which is not at its end, and writes what shows it into
 * `shown`, without a NUL. Returns its bytes. */
enum { ESCAPE_ROOM = 6 };
size_t escape_next(const char **text, char shown[ESCAPE_ROOM]);

/* Copies `text`, escaped, into `shown` (of `room` bytes, at least 1). What there is no room for
 * is left out from a character on. Returns `shown`. */
const char *escape_text(char *shown, size_t room, const char *text);

/* Does so with at most `columns` characters; `dots` at the end shows a cut. */
const char *escape_fit(char *shown, size_t room, const char *text, int columns,
                       const char *dots);

#endif
