/* input.c - a trace's text on its way to a reader. */
#include "trace/input.h"

#include "core/escape.h"
#include "options/input_file.h"
#include "trace/gunzip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16 };

const char *trace_shown(const char *raw, char text[TRACE_SHOWN])
{
    return escape_fit(text, TRACE_SHOWN, raw, TRACE_SHOWN, "..");
}

bool trace_read_whole(const char *text, uint64_t most, uint64_t *value)
{
    *value = 0;
    if (*text == '\0')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*text - '0'), value))
            return false;
    }
    return *text == '\0' && *value <= most;
}

/* Moves what is left to the beginning of room for `wanted` bytes and a NUL. */
static bool make_room(struct trace_input *input, size_t wanted)
{
    size_t left = input->end - input->at;
    if (wanted + BLOCK + 1 > input->room) {
        size_t room = 2 * (wanted + BLOCK);
        char *text = malloc(room);
        if (text == NULL)
            return false;
        if (left > 0)
            memcpy(text, input->text + input->at, left);
        free(input->text);
        input->text = text;
        input->room = room;
    } else if (left > 0) {
        memmove(input->text, input->text + input->at, left);
    }
    input->at = 0;
    input->end = left;
    return true;
}

/* Reads a block behind what is there. Returns its bytes; a smaller one is the last. */
static size_t read_block(struct trace_input *input)
{
    static const char magic[] = "\x1f\x8b"; /* ID1 and ID2 of RFC 1952 */
    char *to = input->text + input->end;
    const char *why = NULL;
    size_t got = 0;
    if (input->packed == NULL) {
        got = fread(to, 1, BLOCK, input->file);
        if (ferror(input->file))
            why = strerror(errno);
        else if (!input->begun && got > 2 && memcmp(to, magic, 2) == 0) {
            input->packed = gunzip_create(to, got, &why);
            got = 0;
        }
    }
    input->begun = true;
    if (input->packed != NULL)
        got = gunzip_read(input->packed, input->file, to, BLOCK, &why);
    input->cut = input->packed != NULL && got < BLOCK && !gunzip_ended(input->packed);
    input->failed = why != NULL;
    input->why = why;
    return got;
}

bool trace_input_fill(struct trace_input *input, size_t wanted)
{
    if (input->end - input->at >= wanted || input->over)
        return true;
    if (!make_room(input, wanted))
        return false;
    while (input->end < wanted && !input->over) {
        size_t got = read_block(input);
        input->end += got;
        input->over = got < BLOCK || input->failed;
    }
    return true;
}

void trace_input_free(struct trace_input *input)
{
    gunzip_free(input->packed);
    free(input->text);
    *input = (struct trace_input){.file = input->file};
}

/* --- texts --- */

enum status trace_refuse(const struct trace_text *text, const char *why, ...)
{
    char said[320], path[TRACE_SHOWN];
    PRINT_REST(said, sizeof said, why);
    return error_set(text->error, STATUS_USAGE, "%s:%" PRIu64 ": %s",
                     trace_shown(text->path, path), text->line_number, said);
}

enum status trace_pass(const struct trace_text *text, const struct error *why)
{
    if (why->status == STATUS_USAGE)
        return trace_refuse(text, "%s", why->text);
    return why->status == STATUS_OK ? STATUS_OK : error_pass(text->error, why);
}

/* Finds the end of the line at `at`, reading on as far as it goes. */
static bool find_end(struct trace_text *text)
{
    struct trace_input *input = text->input;
    for (size_t seen = 0;;) {
        const char *begin = input->text + input->at;
        size_t left = input->end - input->at;
        const char *end = left > seen ? memchr(begin + seen, '\n', left - seen) : NULL;
        const bool found = end != NULL || input->over;
        text->length = end != NULL ? (size_t)(end - begin) : left;
        if (text->length > INPUT_TEXT_MAX)
            trace_refuse(text, "the line is longer than 1 MiB");
        else if (!found && !trace_input_fill(input, left + 1))
            error_no_memory(text->error, "for the trace");
        if (found || text->error->status != STATUS_OK)
            return text->error->status == STATUS_OK;
        seen = left;
    }
}

bool trace_next_line(struct trace_text *text)
{
    struct trace_input *input = text->input;
    if (!trace_input_fill(input, 1))
        error_no_memory(text->error, "for the trace");
    const bool more = input->at < input->end;
    text->line_number = input->line += more;
    if (!more || !find_end(text))
        return false;
    text->line = input->text + input->at;
    input->at += text->length;
    text->whole = input->at < input->end;
    input->at += text->whole;
    while (text->length > 0 && text->line[text->length - 1] == '\r')
        text->length--;
    text->line[text->length] = '\0';
    if (input->line == 1 && text->length >= 3 && memcmp(text->line, "\xef\xbb\xbf", 3) == 0) {
        text->line += 3;
        text->length -= 3;
    }
    return true;
}
