/* evidence.c - the host's calls, and the kinds of streams. */
#include "trace/build.h"

#include "core/compare.h"

#include <stdlib.h>
#include <string.h>

enum {
    JITTER_NS = 1000, /* of a measured time against another */
    TURNS_MIN = 4,    /* fewer changes between streams may lie so by chance */
};

/* --- calls --- */

static int compare_calls(const void *a, const void *b)
{
    const struct host_call *x = a, *y = b;
    const int order = COMPARE_MEMBERS(thread, start_ns);
    return COMPARE_ELSE(order, COMPARE(y->end_ns, x->end_ns)); /* the outer one first */
}

COMPARE_BY(compare_starts, struct host_call, start_ns, thread);

void trace_calls_take(struct timeline *timeline, const struct host_call *calls, size_t count,
                      int64_t first_ns)
{
    int64_t until_ns = timeline_time_ns(timeline);
    uint32_t kept = 0;
    struct host_call *inside = arena_zeros(&timeline->arena, count, sizeof *inside);
    if (inside == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        struct host_call call = calls[i];
        call.start_ns -= first_ns;
        call.end_ns -= first_ns;
        if (call.end_ns > 0 && call.start_ns < until_ns)
            inside[kept++] = call;
    }
    qsort(inside, kept, sizeof *inside, compare_calls);
    uint32_t outer = 0;
    for (uint32_t i = 0; i < kept; i++) {
        const struct host_call *last = outer > 0 ? &inside[outer - 1] : NULL;
        bool within = last != NULL && last->thread == inside[i].thread &&
                      inside[i].end_ns <= last->end_ns && inside[i].start_ns >= last->start_ns;
        if (!within)
            inside[outer++] = inside[i];
    }
    qsort(inside, outer, sizeof *inside, compare_starts);
    struct host_capture capture = {.on = false};
    for (uint32_t i = 0; i < outer; i++)
        inside[i].row = host_call_captured(&capture, inside[i].thread, inside[i].row);
    timeline->calls = inside;
    timeline->call_count = outer;
}

/* --- kinds --- */

/* Turns that the ops of the default stream and all others take beside each other. */
struct turns {
    uint32_t count; /* changes from one side to the other */
    uint32_t ahead; /* of these, those whose next op the host had issued before the change */
    bool beside;    /* ops of both sides ran at once */
    bool others_beside; /* ops of several of the others did */
};

static struct turns turns_of(const struct timeline *timeline)
{
    struct turns turns = {0};
    int64_t ends[2] = {INT64_MIN, INT64_MIN};
    uint32_t last_other = UINT32_MAX;
    int side_before = -1;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        int side = timeline->stream_ids[span->stream] == TRACE_DEFAULT_STREAM;
        bool runs_on = ends[!side] != INT64_MIN && span->start_ns < ends[!side] - JITTER_NS;
        turns.beside |= runs_on;
        if (side == 0 && last_other != UINT32_MAX && last_other != span->stream &&
            span->start_ns < ends[0] - JITTER_NS)
            turns.others_beside = true;
        if (side_before >= 0 && side != side_before) {
            turns.count++;
            turns.ahead += !timeline->issue_unknown && span->issue_ns < ends[!side];
        }
        if (span->end_ns > ends[side]) {
            ends[side] = span->end_ns;
            last_other = side == 0 ? span->stream : last_other;
        }
        side_before = side;
    }
    return turns;
}

/* Returns true if the default stream's ops and the others' take turns as its rule asks, and not
 * because the host waits: it is ahead with issuing, or ops of other streams do run at once. */
static bool takes_turns(const struct timeline *timeline)
{
    const struct turns turns = turns_of(timeline);
    if (turns.beside || turns.count < TURNS_MIN)
        return false;
    return timeline->issue_unknown ? turns.others_beside : 2 * turns.ahead > turns.count;
}

static bool one_context(const struct trace_part *part)
{
    const struct recorded_stream *streams = part->recording->streams;
    for (size_t i = 1; i < part->stream_count; i++) {
        if (streams[part->streams[i]].context != streams[part->streams[0]].context)
            return false;
    }
    return true;
}

void trace_kinds_take(struct timeline *timeline, const struct trace_part *part)
{
    timeline->stream_kinds = arena_zeros(&timeline->arena, timeline->streams, 1);
    if (timeline->stream_kinds == NULL)
        return;
    bool likely = one_context(part) && takes_turns(timeline);
    for (uint32_t i = 0; i < timeline->streams; i++) {
        struct recorded_stream *stream = &part->recording->streams[part->streams[i]];
        bool is_default = stream->number == TRACE_DEFAULT_STREAM;
        uint8_t kind = stream->kind;
        if (kind == STREAM_KIND_COUNT) {
            kind = !likely ? STREAM_NONBLOCKING : is_default ? STREAM_LEGACY : STREAM_BLOCKING;
            timeline->legacy_likely |= likely && is_default;
        }
        timeline->stream_kinds[i] = kind;
        if (part->recording->traced_by != NULL)
            stream->kind = kind;
    }
}

/* --- events --- */

COMPARE_POINTERS_BY(compare_issues, struct span, stream, issue_ns);

COMPARE_BY(compare_waits, struct stream_wait, op);

/* Ops, as events look for them: a timeline's spans, and other devices' ops. */
struct issued {
    const struct trace_part *part;
    struct span **spans; /* in order of stream and issue */
    uint32_t span_count;
    struct elsewhere {
        uint32_t stream; /* of the recording */
        int64_t issue_ns, end_ns;
    } * elsewhere; /* likewise */
    size_t elsewhere_count;
};

COMPARE_BY(compare_elsewhere, struct elsewhere, stream, issue_ns);

static void list_elsewhere(struct issued *issued, struct arena *arena)
{
    const struct recording *recording = issued->part->recording;
    if (recording->device_count < 2)
        return;
    issued->elsewhere = arena_zeros(arena, recording->op_count, sizeof *issued->elsewhere);
    if (issued->elsewhere == NULL)
        return;
    EACH (const struct recorded_op, op, recording->ops, recording->op_count) {
        if (op->call != RECORDING_NONE &&
            recording->streams[op->stream].device != issued->part->device)
            issued->elsewhere[issued->elsewhere_count++] =
                (struct elsewhere){op->stream, recording->calls[op->call].start_ns, op->end_ns};
    }
    qsort(issued->elsewhere, issued->elsewhere_count, sizeof *issued->elsewhere,
          compare_elsewhere);
}

/* Returns when the last op ended that was issued to another device's stream before an event was
 * recorded there; INT64_MIN: none was. */
static int64_t elsewhere_before(const struct issued *issued, const struct recorded_call *record)
{
    const struct elsewhere key = {.stream = record->stream, .issue_ns = record->start_ns};
    BISECT(at, i, 0, issued->elsewhere_count,
           compare_elsewhere(&issued->elsewhere[i], &key) < 0);
    bool found = at > 0 && issued->elsewhere[at - 1].stream == record->stream;
    return found ? issued->elsewhere[at - 1].end_ns : INT64_MIN;
}

/* Returns the number that a call's stream has in the timeline; RECORDING_NONE: none. */
static uint32_t stream_of(const struct issued *issued, const struct recorded_call *call)
{
    const struct trace_part *part = issued->part;
    return part->recording->streams[call->stream].device == part->device
               ? part->numbers[call->stream]
               : RECORDING_NONE;
}

/* Returns the last op that was issued to `stream` before `issue_ns`, or the first behind;
 * UINT32_MAX: none. */
static uint32_t issued_around(const struct issued *issued, uint32_t stream, int64_t issue_ns,
                              bool behind)
{
    const struct span key = {.stream = stream, .issue_ns = issue_ns}, *wanted = &key;
    BISECT(at, i, 0, issued->span_count, compare_issues(&issued->spans[i], &wanted) < 0);
    const size_t place = behind ? at : at - 1; /* wraps around where none is before */
    bool found = place < issued->span_count && issued->spans[place]->stream == stream;
    return found ? issued->spans[place]->op : UINT32_MAX;
}

/* Makes waits of events: those for nothing that is known, or behind which nothing ran, are left
 * out. */
static void find_waits(struct timeline *timeline, const struct issued *issued,
                       const struct recorded_call *const *events, size_t count,
                       int64_t first_ns)
{
    const struct recorded_call *record = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct recorded_call *event = events[i];
        if (event->effect != EFFECT_WAIT) {
            record = event;
            continue;
        }
        if (record == NULL || record->event != event->event)
            continue;
        const uint32_t op =
            issued_around(issued, stream_of(issued, event), event->start_ns - first_ns, true);
        const uint32_t target = issued_around(issued, stream_of(issued, record),
                                              record->start_ns - first_ns, false);
        const int64_t elsewhere_ns = elsewhere_before(issued, record);
        if (op != UINT32_MAX && (target != UINT32_MAX || elsewhere_ns != INT64_MIN))
            timeline->waits[timeline->wait_count++] = (struct stream_wait){
                .op = op,
                .target = target,
                .elsewhere_ns = target == UINT32_MAX ? elsewhere_ns - first_ns : 0};
    }
}

void trace_waits_take(struct timeline *timeline, const struct trace_part *part,
                      const struct recorded_call *const *events, size_t count, int64_t first_ns)
{
    struct arena arena = {0};
    struct issued issued = {
        .part = part,
        .spans = arena_zeros(&arena, timeline->span_count, sizeof(struct span *)),
        .span_count = timeline->span_count};
    list_elsewhere(&issued, &arena);
    timeline->waits = arena_zeros(&timeline->arena, count, sizeof *timeline->waits);
    timeline->arena.full |= arena.full;
    if (!timeline->arena.full) {
        for (uint32_t i = 0; i < timeline->span_count; i++)
            issued.spans[i] = &timeline->spans[i];
        qsort(issued.spans, issued.span_count, sizeof(struct span *), compare_issues);
        find_waits(timeline, &issued, events, count, first_ns);
        qsort(timeline->waits, timeline->wait_count, sizeof *timeline->waits, compare_waits);
    }
    arena_free(&arena);
}
