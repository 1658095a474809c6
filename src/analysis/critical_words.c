/* critical_words.c - says why an op started when it did. */
#include "analysis/critical.h"

#include "core/units.h"

#include <inttypes.h>
#include <stdio.h>

/* Each reason's name in files, and the words before the holder's label and behind it. */
static const struct {
    const char *name, *before, *behind;
} words[HELD_BY_COUNT] = {
    [HELD_BY_NOTHING] = {"nothing", "had nothing to wait for", ""},
    [HELD_BY_ISSUE] = {"issue", "waited for the host to issue it", ""},
    [HELD_BY_CALL] = {"call", "waited for the host to issue it behind ", ""},
    [HELD_BY_STREAM] = {"stream", "waited for ", ", before it in its stream"},
    [HELD_BY_EVENT] = {"event", "waited by an event for ", ""},
    [HELD_BY_DEVICE] = {"device", "waited by an event for another device", ""},
    [HELD_BY_LEGACY] = {"default stream", "waited for ",
                        ": blocking streams and the default stream take turns"},
    [HELD_BY_BARRIER] = {"barrier", "waited for ",
                         ": on this GPU one of both synchronises all streams"},
    [HELD_BY_QUEUE] = {"queue", "waited in its hardware queue, behind an op that waited for ",
                       ""},
    [HELD_BY_SIGNAL] = {"signal", "waited for ",
                        ": its kernel's end was only told behind that one's"},
    [HELD_BY_ENGINE] = {"engine", "waited for its engine: ", ""},
};

const char *held_by_name(enum held_by by)
{
    return words[by].name;
}

enum {
    LABEL_TEXT = 96,
    NAME_BYTES = 48,
    UNEXPLAINED_NS = 10000, /* twice the least that a measured launch takes */
};

/* "scale 3 (stream 1)", "cpu 7". Long names, as templates have in traces, are cut. */
static void label_span(const struct timeline *timeline, const struct span *span,
                       char text[LABEL_TEXT])
{
    char own[SPAN_NAME], tile[16] = "", stream[24] = "";
    const char *name = op_is_call(span->kind) ? op_kind_name(span->kind)
                                              : timeline_span_name(timeline, span, own);
    int bytes = 0;
    while (bytes < NAME_BYTES && name[bytes] != '\0')
        bytes++;
    bool cut = name[bytes] != '\0';
    while (cut && bytes > 0 && ((unsigned char)name[bytes] & 0xc0) == 0x80)
        bytes--; /* between characters */
    if (span->tile >= 0)
        snprintf(tile, sizeof tile, " %" PRId32, span->tile);
    if (op_in_stream(span->kind))
        snprintf(stream, sizeof stream, " (stream %" PRIu32 ")",
                 timeline_stream_id(timeline, span->stream));
    snprintf(text, LABEL_TEXT, "%.*s%s%s%s", bytes, name, cut ? ".." : "", tile, stream);
}

static const char *explain_wait(const struct timeline *timeline, const struct span *span,
                                char text[CRITICAL_TEXT])
{
    char label[LABEL_TEXT];
    const struct span *target = timeline_span((struct timeline *)timeline, span->target);
    if (target == NULL)
        return op_is_sync(span->kind) ? "had nothing to wait for" : "waits for an event";
    label_span(timeline, target, label);
    snprintf(text, CRITICAL_TEXT, "waits for %s", label);
    return text;
}

const char *critical_explain(const struct timeline *timeline, const struct critical *critical,
                             uint32_t index, char text[CRITICAL_TEXT])
{
    const struct span *span = &timeline->spans[index];
    const struct hold *hold = &critical->holds[index];
    char label[LABEL_TEXT] = "", delay[UNITS_TEXT], then[UNITS_TEXT + 40] = "";
    if (op_rows[span->kind].waits)
        return explain_wait(timeline, span, text);
    if (hold->by == HELD_BY_NOTHING && timeline->issue_unknown)
        return "the trace doesn't say what it waited for";
    int64_t delay_ns = span->start_ns - hold->free_ns;
    bool unexplained = timeline->issue_unknown && delay_ns > UNEXPLAINED_NS;
    if (delay_ns > 0)
        snprintf(then, sizeof then,
                 unexplained ? "; it started %s later, and the trace doesn't say why"
                             : ", then %s to start",
                 units_time(delay_ns, delay));
    if (hold->span != SPAN_NONE)
        label_span(timeline, &timeline->spans[hold->span], label);
    bool beside = hold->by == HELD_BY_ENGINE && op_is_launch(span->kind) &&
                  timeline->spans[hold->span].end_ns > span->start_ns;
    snprintf(text, CRITICAL_TEXT, "%s%s%s%s",
             beside ? "waited for room beside: " : words[hold->by].before, label,
             words[hold->by].behind, then);
    return text;
}
