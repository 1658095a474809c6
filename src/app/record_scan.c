/* record_scan.c - see record_scan.h. */
#include "app/record_scan.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a line that are looked at: all of any that matters here. */
enum { LINE_ROOM = 4096 };

/* More than the recorder writes in one line. */
enum { TAIL_ROOM = 65536 };

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* Counts an op whose start is in place `place` of the line, the line's kind being place 0. */
static void count_span(struct record_tally *tally, const char *line, int place)
{
    for (; place > 0 && line != NULL; place--)
        line = strchr(line + 1, ',');
    if (line == NULL)
        return;
    char *behind;
    const int64_t start = strtoll(line + 1, &behind, 10);
    if (*behind != ',')
        return;
    const int64_t end = strtoll(behind + 1, NULL, 10);
    const bool first = tally->kernels + tally->copies + tally->memsets == 1;
    if (first || start < tally->first_ns)
        tally->first_ns = start;
    if (first || end > tally->last_ns)
        tally->last_ns = end;
}

static void add_note(struct record_tally *tally, const char *text, json_int_t lost)
{
    if (tally->note_count == RECORD_NOTES_MAX) {
        tally->more_notes++;
        return;
    }
    char *note = tally->notes[tally->note_count++];
    if (lost > 0)
        snprintf(note, RECORD_NOTE_ROOM, "%lld records are missing: %s", (long long)lost, text);
    else
        snprintf(note, RECORD_NOTE_ROOM, "%s", text);
}

/* Takes a line of a kind that there are few of. */
static void take_rare(struct record_tally *tally, const char *line)
{
    const char *text;
    json_int_t number;
    json_t *value = json_loads(line, 0, NULL);
    if (begins(line, "[\"lost\"") && json_unpack(value, "[sIs]", &text, &number, &text) == 0)
        add_note(tally, text, number);
    if (begins(line, "[\"note\"") && json_unpack(value, "[ss]", &text, &text) == 0)
        add_note(tally, text, 0);
    json_decref(value);
}

static void take_line(struct record_tally *tally, const char *line)
{
    if (begins(line, "[\"kernel\",")) {
        tally->kernels++;
        count_span(tally, line, 4);
    } else if (begins(line, "[\"op\",")) {
        const char *kind = strchr(line + 6, ',');
        const bool memset = kind != NULL && begins(kind, ",\"memset\"");
        tally->memsets += memset;
        tally->copies += !memset;
        count_span(tally, line, 5);
    } else if (begins(line, "[\"call\",")) {
        tally->calls++;
    } else if (begins(line, "[\"end\",")) {
        tally->ended = true;
        tally->limited = strstr(line, ",\"limit\"") != NULL;
    } else if (begins(line, "[\"lost\"") || begins(line, "[\"note\"")) {
        take_rare(tally, line);
    }
}

bool record_scan(FILE *file, struct record_tally *tally)
{
    char line[LINE_ROOM];
    bool whole = true, first = true;
    *tally = (struct record_tally){.headed = false};
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL) {
        const bool begun = whole;
        whole = strchr(line, '\n') != NULL;
        if (!begun)
            continue; /* the rest of a long line */
        if (first)
            tally->headed = begins(line, "{\"pipeline_recording\":");
        else if (whole) /* a last line without an end was cut while it was written */
            take_line(tally, line);
        first = false;
    }
    return !ferror(file);
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
