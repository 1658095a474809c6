/* record_scan.c - what a recording holds, counted line by line: it may be larger than the
 * memory that the reader of whole recordings, trace/recording.h, would take. */
#include "app/record.h"

#include "trace/recording_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* More than the recorder writes in one line. */
enum { TAIL_ROOM = 65536 };

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* Counts an op, whose start and end are the two values at `times`. */
static void count_span(struct record_tally *tally, const struct line_value *times)
{
    if (times[0].kind != LINE_NUMBER || times[1].kind != LINE_NUMBER)
        return;
    const int64_t start = (int64_t)times[0].number, end = (int64_t)times[1].number;
    const bool first = tally->kernels + tally->copies + tally->memsets == 1;
    if (first || start < tally->first_ns)
        tally->first_ns = start;
    if (first || end > tally->last_ns)
        tally->last_ns = end;
}

static void add_note(struct record_tally *tally, const char *text, uint64_t lost)
{
    if (tally->note_count == RECORD_NOTES_MAX) {
        tally->more_notes++;
        return;
    }
    char *note = tally->notes[tally->note_count++];
    if (lost > 0)
        snprintf(note, RECORD_NOTE_ROOM, "%" PRIu64 " records are missing: %s", lost, text);
    else
        snprintf(note, RECORD_NOTE_ROOM, "%s", text);
}

/* Counts a line by its kind, the first of its values. */
static void take_line(struct record_tally *tally, char *text, size_t length)
{
    struct line line;
    const struct line_value *v = line.values;
    if (line_scan(text, length, &line) != NULL || v[0].kind != LINE_TEXT)
        return;
    tally->lines += strcmp(v[0].text, "end") != 0;
    if (strcmp(v[0].text, "kernel") == 0 && line.count > 5) {
        tally->kernels++;
        count_span(tally, &v[4]);
    } else if (strcmp(v[0].text, "op") == 0 && line.count > 6) {
        const bool memset = v[2].kind == LINE_TEXT && strcmp(v[2].text, "memset") == 0;
        tally->memsets += memset;
        tally->copies += !memset;
        count_span(tally, &v[5]);
    } else if (strcmp(v[0].text, "call") == 0) {
        tally->calls++;
    } else if (strcmp(v[0].text, "end") == 0 && line.count > 2) {
        tally->ended = true;
        tally->limited = v[2].kind == LINE_TEXT && strcmp(v[2].text, "limit") == 0;
    } else if (strcmp(v[0].text, "lost") == 0 && line.count > 2 && v[2].kind == LINE_TEXT) {
        add_note(tally, v[2].text, v[1].number);
    } else if (strcmp(v[0].text, "note") == 0 && line.count > 1 && v[1].kind == LINE_TEXT) {
        add_note(tally, v[1].text, 0);
    }
}

bool record_scan(FILE *file, struct record_tally *tally)
{
    char *line = NULL;
    size_t room = 0;
    *tally = (struct record_tally){.headed = false};
    rewind(file);
    errno = 0;
    for (bool first = true;; first = false) {
        const ssize_t length = getline(&line, &room, file);
        if (length <= 0)
            break;
        if (first)
            tally->headed = begins(line, "{\"pipeline_recording\":");
        else if (line[length - 1] == '\n') { /* one without was cut while it was written */
            line[length - 1] = '\0';
            take_line(tally, line, (size_t)length - 1);
        }
    }
    free(line);
    return feof(file) != 0;
}

off_t record_end(FILE *file, bool *ended)
{
    char tail[TAIL_ROOM];
    if (fseeko(file, -(off_t)(sizeof tail - 1), SEEK_END) != 0)
        rewind(file); /* it is shorter */
    const off_t begin = ftello(file);
    size_t length = fread(tail, 1, sizeof tail - 1, file);
    while (length > 0 && tail[length - 1] != '\n')
        length--;
    tail[length > 0 ? length - 1 : 0] = '\0';
    const char *before = strrchr(tail, '\n');
    const char *last = before != NULL ? before + 1 : tail;
    *ended = begins(last, "[\"end\",");
    return begin + (*ended ? last - tail : (off_t)length);
}
