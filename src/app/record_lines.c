/* record_lines.c - the program's source lines that calls were made from, found from the frames
 * that a recording has with --backtrace. Calls in a loop have the same frames, so what is
 * looked for is each chain of frames once. */
#include "app/record.h"

#include "core/arena.h"
#include "core/compare.h"
#include "core/items.h"
#include "core/names.h"
#include "trace/recording_line.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char frames[] = "[\"frames\",";

struct lines {
    FILE *file, *out;    /* the recording, to be read and to be written */
    off_t end;           /* where it ends */
    char *last;          /* the line that says so, or NULL */
    struct names chains; /* the text behind the id of calls, as it stands there */
    const char *
        *chain_lines; /* by chain, of its innermost frame that has one; NULL: none has */
    struct source_place *places;
    size_t place_count, place_room;
    struct arena arena; /* what has the names of the places' files, and chain_lines */
};

/* --- chains --- */

/* Returns the text behind the call's id in a line of frames, and sets *call; NULL: it is no
 * such line. */
static char *frames_of(char *line, uint64_t *call)
{
    char *text = NULL;
    if (strncmp(line, frames, strlen(frames)) != 0)
        return NULL;
    *call = strtoull(line + strlen(frames), &text, 10);
    return *text == ',' ? text + 1 : NULL;
}

/* Calls `each` for every line of frames before the end. Returns 0, or an errno. */
static int each_frames(struct lines *lines, bool (*each)(struct lines *, char *, uint64_t))
{
    char *line = NULL;
    size_t room = 0;
    bool good = true;
    uint64_t call;
    rewind(lines->file);
    errno = ENOMEM;
    for (off_t at = 0; good && at < lines->end;) {
        const ssize_t length = getline(&line, &room, lines->file);
        if (length <= 0) { /* the end, or no memory for a line, of which ferror() is silent */
            good = feof(lines->file) != 0;
            break;
        }
        at += length;
        line[length - 1] = line[length - 1] == '\n' ? '\0' : line[length - 1];
        char *text = at <= lines->end ? frames_of(line, &call) : NULL;
        good = text == NULL || each(lines, text, call);
    }
    const int failure = good ? 0 : errno;
    free(line);
    return failure;
}

static bool take_frames(struct lines *lines, char *text, uint64_t call)
{
    uint32_t number;
    (void)call;
    return names_number(&lines->chains, text, strlen(text), &number);
}

/* --- places --- */

static int compare_places(const void *one, const void *other)
{
    const struct source_place *a = one, *b = other;
    const int order = strcmp(a->file, b->file);
    return COMPARE_ELSE(order, COMPARE(a->offset, b->offset));
}

/* Reads the frames of a chain, ["file",place,"file",place,...]; none where they are malformed.
 * Returns their text, to be freed behind them; NULL: no memory. */
static char *chain_read(const struct names_item *chain, struct line *frames_read)
{
    char *text = NULL;
    frames_read->count = 0;
    if (asprintf(&text, "[%s", chain->text) < 0)
        return NULL;
    if (line_scan(text, strlen(text), frames_read) != NULL)
        frames_read->count = 0;
    return text;
}

/* Sets the place of frame i of a chain. Returns false where there is none that is the
 * program's: the innermost frames are the recorder's. */
static bool frame_read(const struct line *chain, int i, struct source_place *place)
{
    static const char recorder[] = "/libpipeline-record.so";
    const struct line_value *file = &chain->values[i], *offset = &chain->values[i + 1];
    if (file->kind != LINE_TEXT || offset->kind != LINE_NUMBER)
        return false;
    const size_t length = strlen(file->text), tail = strlen(recorder);
    *place = (struct source_place){.file = file->text, .offset = offset->number};
    return length < tail || strcmp(place->file + length - tail, recorder) != 0;
}

static bool place_add(struct lines *lines, const struct source_place *place)
{
    struct source_place *added =
        ITEMS_ADD(lines->places, lines->place_count, lines->place_room);
    if (added == NULL)
        return false;
    *added = *place;
    added->file = arena_text(&lines->arena, place->file);
    return added->file != NULL;
}

/* Lists the places of all chains, each once, by file, and makes room for their lines. Returns
 * false without memory. */
static bool list_places(struct lines *lines)
{
    lines->chain_lines =
        arena_zeros(&lines->arena, lines->chains.count, sizeof *lines->chain_lines);
    bool good = lines->chain_lines != NULL;
    for (size_t i = 0; good && i < lines->chains.count; i++) {
        struct line chain;
        struct source_place place;
        char *text = chain_read(lines->chains.items[i], &chain);
        good = text != NULL;
        for (int k = 0; good && k + 1 < chain.count; k += 2)
            good = !frame_read(&chain, k, &place) || place_add(lines, &place);
        free(text);
    }
    if (lines->place_count > 0)
        qsort(lines->places, lines->place_count, sizeof lines->places[0], compare_places);
    size_t kept = 0;
    for (size_t i = 0; i < lines->place_count; i++) {
        if (kept == 0 || compare_places(&lines->places[kept - 1], &lines->places[i]) != 0)
            lines->places[kept++] = lines->places[i];
    }
    lines->place_count = kept;
    return good;
}

/* Gives each chain the line of its innermost place that has one. */
static void settle_chains(struct lines *lines)
{
    for (size_t i = 0; i < lines->chains.count; i++) {
        struct line chain;
        struct source_place place;
        char *text = chain_read(lines->chains.items[i], &chain);
        for (int k = 0; lines->chain_lines[i] == NULL && k + 1 < chain.count; k += 2) {
            const struct source_place *found = NULL;
            if (frame_read(&chain, k, &place) && lines->place_count > 0)
                found = bsearch(&place, lines->places, lines->place_count, sizeof place,
                                compare_places);
            if (found != NULL)
                lines->chain_lines[i] = found->line;
        }
        free(text);
    }
}

/* --- the file --- */

/* Reads the line that the recording ends with, if it has one. */
static bool open_lines(struct lines *lines, const char *path)
{
    bool ended;
    size_t room = 0;
    lines->file = fopen(path, "r+e");
    if (lines->file == NULL)
        return false;
    lines->end = record_end(lines->file, &ended);
    return !ended || (fseeko(lines->file, lines->end, SEEK_SET) == 0 &&
                      getline(&lines->last, &room, lines->file) > 0);
}

static bool put_line(struct lines *lines, char *text, uint64_t call)
{
    const struct names_item *chain = names_find(&lines->chains, text, strlen(text));
    const char *place = chain != NULL ? lines->chain_lines[chain->number] : NULL;
    json_t *line = NULL;
    if (place != NULL)
        line = json_pack("[sIs]", "line", (json_int_t)call, place);
    if (line == NULL) /* or the path is no UTF-8 */
        return true;
    const bool put =
        json_dumpf(line, lines->out, JSON_COMPACT) == 0 && putc('\n', lines->out) > 0;
    json_decref(line);
    return put;
}

/* Writes the lines in place of the last one, and that behind them. Returns 0, or an errno: the
 * recording then ends as it did. */
static int write_lines(struct lines *lines, const char *path)
{
    const char *last = lines->last != NULL ? lines->last : "";
    int failure = errno = 0;
    lines->out = fopen(path, "r+e");
    if (lines->out == NULL || fseeko(lines->out, lines->end, SEEK_SET) != 0)
        return errno;
    failure = each_frames(lines, put_line);
    if (failure == 0 && (fputs(last, lines->out) < 0 || fflush(lines->out) != 0 ||
                         ftruncate(fileno(lines->out), ftello(lines->out)) != 0))
        failure = errno;
    if (failure != 0) {
        const int fd = fileno(lines->out);
        const bool cut = ftruncate(fd, lines->end) == 0;
        if (!cut || pwrite(fd, last, strlen(last), lines->end) < 0)
            return errno;
    }
    return failure;
}

static void lines_free(struct lines *lines)
{
    EACH (struct source_place, place, lines->places, lines->place_count)
        free(place->line);
    names_free(&lines->chains);
    arena_free(&lines->arena);
    free(lines->places);
    free(lines->last);
    if (lines->file != NULL)
        fclose(lines->file);
    if (lines->out != NULL)
        fclose(lines->out);
}

enum status record_lines_add(const char *path, struct error *error)
{
    struct lines lines = {.file = NULL};
    enum status status = STATUS_OK, found = STATUS_OK;
    int failure = open_lines(&lines, path) ? each_frames(&lines, take_frames) : errno;
    if (failure == 0 && !list_places(&lines))
        failure = ENOMEM;
    if (failure == 0) {
        found = source_lines_find(lines.places, lines.place_count, error);
        settle_chains(&lines);
        failure = write_lines(&lines, path);
    }
    if (failure != 0)
        status = error_set(error, status_of_errno(failure, STATUS_FAILED),
                           "calls have no source lines: %s", strerror(failure));
    lines_free(&lines);
    return status != STATUS_OK ? status : found;
}
