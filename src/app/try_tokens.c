/* try_tokens.c - see try_tokens.h. */
#include "app/try_tokens.h"

#include "core/items.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_' || letter == '$' ||
           (unsigned char)letter >= 0x80;
}

bool token_is(const struct tokens *t, uint32_t i, const char *word)
{
    return i < t->count && t->items[i].length == strlen(word) &&
           memcmp(t->text + t->items[i].at, word, t->items[i].length) == 0;
}

bool token_is_any(const struct tokens *t, uint32_t i, const char *const *words)
{
    while (*words != NULL && !token_is(t, i, *words))
        words++;
    return *words != NULL;
}

bool token_is_name(const struct tokens *t, uint32_t i)
{
    const char first = i < t->count ? t->text[t->items[i].at] : '\0';
    return is_word(first) && !isdigit((unsigned char)first);
}

/* Returns where the string or character ends that `at` begins; a raw one with `raw`. */
static uint32_t string_end(const struct tokens *t, uint32_t at, bool raw)
{
    const char quote = t->text[at];
    uint32_t mark = at + 1;
    while (raw && mark < t->length && t->text[mark] != '(' && t->text[mark] != '\n')
        mark++;
    const uint32_t delimiter = mark - at - 1;
    for (uint32_t end = raw ? mark : at + 1; end < t->length; end++) {
        if (raw && t->text[end] == ')' && end + delimiter + 1 < t->length &&
            memcmp(t->text + end + 1, t->text + at + 1, delimiter) == 0 &&
            t->text[end + delimiter + 1] == '"')
            return end + delimiter + 2;
        if (!raw && t->text[end] == quote)
            return end + 1;
        if (!raw && t->text[end] == '\n')
            return end;
        end += !raw && t->text[end] == '\\';
    }
    return t->length;
}

/* Returns where the word or number ends that `at` begins; 1'000 and 1e-5 are one. */
static uint32_t word_end(const struct tokens *t, uint32_t at)
{
    const bool number = isdigit((unsigned char)t->text[at]);
    uint32_t end = at + 1;
    for (; end < t->length; end++) {
        const char letter = t->text[end], before = t->text[end - 1];
        const bool part =
            letter == '.' ||
            (letter == '\'' && end + 1 < t->length && is_word(t->text[end + 1])) ||
            ((letter == '+' || letter == '-') && strchr("eEpP", before) != NULL);
        if (!is_word(letter) && !(number && part))
            break;
    }
    return end;
}

/* Returns where the comment or line ends that `at` begins; `at` where none does. */
static uint32_t blank_end(const struct tokens *t, uint32_t at, bool line_begins)
{
    const char *text = t->text + at, *end = NULL;
    const size_t left = t->length - at;
    if (left > 1 && text[0] == '/' && text[1] == '*')
        end = memmem(text + 2, left - 2, "*/", 2);
    else if ((text[0] == '#' && line_begins) || (left > 1 && text[0] == '/' && text[1] == '/'))
        end = memchr(text, '\n', left);
    else
        return at;
    return end == NULL ? t->length : (uint32_t)(end - t->text) + (*end == '*' ? 2 : 0);
}

/* Takes the place that a line `# 12 "saxpy.cu"` says the next one has. */
static void take_marker(const char *text, uint32_t at, uint32_t end, struct token *place)
{
    char *behind = NULL;
    const unsigned long line = strtoul(text + at + 1, &behind, 10);
    const size_t name = (size_t)(behind + 2 - text);
    const char *quote = NULL;
    if (behind[0] == ' ' && name < end && behind[1] == '"')
        quote = memchr(text + name, '"', end - name);
    if (quote == NULL)
        return;
    place->line = (uint32_t)line - 1; /* the newline counts */
    place->file = (uint32_t)name;
    place->file_length = (uint32_t)(quote - text - (ptrdiff_t)name);
}

bool tokens_read(struct tokens *t)
{
    struct token place = {.line = 1};
    bool line_begins = true;
    for (uint32_t at = 0; at < t->length;) {
        const char letter = t->text[at];
        uint32_t end = blank_end(t, at, line_begins);
        if (end > at || isspace((unsigned char)letter)) {
            if (letter == '#')
                take_marker(t->text, at, end, &place);
            for (end += end == at; at < end; at++) {
                line_begins = t->text[at] == '\n' || (line_begins && letter != '/');
                place.line += t->text[at] == '\n';
            }
            continue;
        }
        line_begins = false;
        if (letter == '"' || letter == '\'') {
            struct token *last = t->count > 0 ? &t->items[t->count - 1] : NULL;
            const bool raw = letter == '"' && last != NULL && last->at + last->length == at &&
                             t->text[at - 1] == 'R' && last->length <= 3;
            end = string_end(t, at, raw);
        } else {
            end = is_word(letter) ? word_end(t, at) : at + 1;
        }
        if (!ITEMS_ROOM(t->items, t->count, t->room))
            return false;
        place.at = at;
        place.length = end - at;
        t->items[t->count++] = place;
        for (; at < end; at++)
            place.line += t->text[at] == '\n';
    }
    return true;
}

uint32_t tokens_end(const struct tokens *t, uint32_t i)
{
    int depth = 0;
    for (; i < t->count; i++) {
        const char letter = t->text[t->items[i].at];
        depth += letter == '(' || letter == '[' || letter == '{';
        depth -= letter == ')' || letter == ']' || letter == '}';
        if (depth <= 0)
            return i;
    }
    return i;
}

uint32_t tokens_begin(const struct tokens *t, uint32_t i)
{
    int depth = 0;
    for (uint32_t back = i + 1; back > 0; back--) {
        const char letter = t->text[t->items[back - 1].at];
        depth += letter == ')' || letter == ']' || letter == '}';
        depth -= letter == '(' || letter == '[' || letter == '{';
        if (depth <= 0)
            return back - 1;
    }
    return t->count;
}

uint32_t tokens_angle(const struct tokens *t, uint32_t i)
{
    int depth = 0;
    for (uint32_t back = i; back > 0; back--) {
        if (token_is(t, back, ")") || token_is(t, back, "]") || token_is(t, back, "}")) {
            back = tokens_begin(t, back);
            if (back == 0 || back == t->count) /* nothing stands before, or opens it */
                break;
        } else if (token_is(t, back, ";") || token_is(t, back, "{") || token_is(t, back, "("))
            break;
        else if (token_is(t, back, ">") && !token_is(t, back - 1, "-"))
            depth++;
        else if (token_is(t, back, "<") && --depth == 0)
            return back;
    }
    return t->count;
}
