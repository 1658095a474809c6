/* try_tokens.h - the tokens of a source that was preprocessed: for try_rewrite.c. */
#ifndef PIPELINE_APP_TRY_TOKENS_H
#define PIPELINE_APP_TRY_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A word, a number, a string, a character, or one mark such as `<`. */
struct token {
    uint32_t at, length;
    uint32_t line;              /* in the user's source */
    uint32_t file, file_length; /* where the name of that stands */
};

/* Whoever reads sets the text, behind which stands a 0, and frees the items. */
struct tokens {
    const char *text;
    uint32_t length;
    struct token *items;
    uint32_t count;
    size_t room;
};

/* Reads the tokens of a text. False: memory ran out. */
bool tokens_read(struct tokens *t);

/* Return true where token `i` is there and is a word, one of several, or a name. */
bool token_is(const struct tokens *t, uint32_t i, const char *word);
bool token_is_any(const struct tokens *t, uint32_t i, const char *const *words);
bool token_is_name(const struct tokens *t, uint32_t i);

/* Return the token that closes the bracket at `i`, the one that opens the bracket which `i`
 * closes, and the `<` of the template's arguments that the `>` at `i` ends; or `count`. */
uint32_t tokens_end(const struct tokens *t, uint32_t i);
uint32_t tokens_begin(const struct tokens *t, uint32_t i);
uint32_t tokens_angle(const struct tokens *t, uint32_t i);

#endif
