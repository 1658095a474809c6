/* record_words.c - what `pipeline record` says on standard error of what was recorded. */
#include "app/record.h"

#include "core/escape.h"
#include "core/status.h"
#include "core/units.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

enum { LINE_ROOM = 2 * PATH_MAX + 1024, COUNTS_ROOM = 256 };

void record_say(bool quiet, const char *format, ...)
{
    char raw[LINE_ROOM], text[LINE_ROOM];
    if (quiet)
        return;
    PRINT_REST(raw, sizeof raw, format);
    fprintf(stderr, "pipeline: %s\n", escape_text(text, sizeof text, raw));
}

/* Appends "97 kernels" to the list in `text`. */
static void add_count(char text[COUNTS_ROOM], uint64_t count, const char *one)
{
    const char *plural = count == 1 ? "" : one[strlen(one) - 1] == 'y' ? "ies" : "s";
    const int stem = (int)strlen(one) - (plural[0] == 'i');
    if (count > 0)
        text_add(text, COUNTS_ROOM, ", ", "%" PRIu64 " %.*s%s", count, stem, one, plural);
}

/* Writes "97 kernels, 192 copies and 301 calls in 5.7 ms". */
static void counts_text(const struct record_tally *tally, char text[COUNTS_ROOM])
{
    char time[UNITS_TEXT];
    add_count(text, tally->kernels, "kernel");
    add_count(text, tally->copies, "copy");
    add_count(text, tally->memsets, "memset");
    if (text[0] != '\0')
        text_add(text, COUNTS_ROOM, " in ", "%s",
                 units_time(tally->last_ns - tally->first_ns, time));
    else
        snprintf(text, COUNTS_ROOM, "nothing that ran on a GPU; %" PRIu64 " calls to CUDA",
                 tally->calls);
}

/* Writes `path` as a word that a shell and `pipeline view` take for a file. */
static const char *word_text(const char *path, char text[LINE_ROOM])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./,:@%+=";
    const char *here = path[0] == '-' ? "./" : "";
    if (path[strspn(path, plain)] == '\0') {
        snprintf(text, LINE_ROOM, "%s%s", here, path);
        return text;
    }
    size_t length = (size_t)snprintf(text, LINE_ROOM, "'%s", here);
    for (; *path != '\0' && length + 8 < LINE_ROOM; path++)
        length += (size_t)snprintf(text + length, LINE_ROOM - length, "%.*s",
                                   *path == '\'' ? 4 : 1, *path == '\'' ? "'\\''" : path);
    snprintf(text + length, LINE_ROOM - length, "'");
    return text;
}

void record_say_tally(bool quiet, const char *place, const struct record_tally *tally,
                      bool viewable)
{
    char counts[COUNTS_ROOM] = "", word[LINE_ROOM];
    if (!tally->headed) {
        record_say(quiet, "%s: it has no whole line, so there is nothing to see in it", place);
        return;
    }
    counts_text(tally, counts);
    const bool shown = viewable && tally->kernels + tally->copies + tally->memsets > 0;
    record_say(quiet, "%s: %s%s%s", place, counts, shown ? "; see it with: pipeline view " : "",
               shown ? word_text(place, word) : "");
    for (int i = 0; i < tally->note_count; i++)
        record_say(quiet, "%s: %s", place, tally->notes[i]);
    if (tally->more_notes > 0)
        record_say(quiet, "%s: %" PRIu64 " more such notes are in it", place,
                   tally->more_notes);
    if (!tally->ended)
        record_say(quiet,
                   "%s: the program ended without closing it, as in a crash: its last moments "
                   "may be missing",
                   place);
    if (tally->limited)
        record_say(quiet, "%s: it ends where it reached --limit, and the program went on",
                   place);
}

void record_say_nothing(bool quiet, const char *program, const char *output)
{
    record_say(quiet,
               "nothing was recorded%s%s: CUDA did not load the recorder. So %s did not use "
               "CUDA, or found no driver here, or used CUDA in a process without the "
               "environment that it was given",
               output != NULL ? ", and there is no new " : "", output != NULL ? output : "",
               program);
}
