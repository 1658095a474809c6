/* trace_tracks.c - the tracks of a run, and the slices on them.
 *
 * Slices of one track may lie within one another but not overlap in part (Trace Event Format;
 * the Perfetto FAQ, "Why are overlapping events in JSON traces not displayed correctly?"). On a
 * lane of an engine spans never overlap. In a stream they follow one another, but measured
 * times may be off by some ns, and a trace of another program may hold anything: there a slice
 * is drawn no earlier than the end of the one before it. Its arguments keep the true times.
 *
 * A tile's way through the engines is a flow: slices with the same `bind_id` are joined in
 * order of time, from `flow_out` to `flow_in` (google/perfetto, json_trace_parser_impl.cc:
 * MaybeAddFlow). The id is a string, since JavaScript's numbers end at 2^53. A copy to another
 * device has an arrow from its slice to the slice of what waited for it there: a flow event in
 * each ("s" and "f"), of which a slice may have any number. */
#include "writers/trace_tracks.h"

#include <stdlib.h>

struct tracks tracks_of(const struct run_report *run, uint32_t pid, uint32_t first_tid)
{
    const struct timeline *timeline = &run->timeline;
    struct tracks tracks = {
        .run = run, .pid = pid, .devices = timeline_devices(timeline), .first_tid = first_tid};
    uint32_t tid = first_tid;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        if (span->engine < ENGINE_NONE) {
            uint32_t *lanes =
                &tracks.lanes[resource_number(span_resource(span), tracks.devices)];
            *lanes = (uint32_t)later(*lanes, span->lane + 1);
        }
        if (op_in_stream(span->kind))
            tracks.streams = (uint32_t)later(tracks.streams, span->stream + 1);
    }
    for (uint32_t i = 0; i < resource_count(tracks.devices); i++) {
        tracks.engine_tid[i] = tid;
        tid += tracks.lanes[i];
    }
    tracks.stream_tid = tid;
    tid += tracks.streams;
    if (!timeline->issue_unknown && timeline->span_count > 0)
        tracks.calls_tid = tid++;
    tracks.end_tid = (uint32_t)later(tid, first_tid + 1);
    return tracks;
}

/* Return the process that an engine's tracks are of, and a stream's. */
static uint32_t engine_pid(const struct tracks *tracks, struct resource engine)
{
    return engine_of_device(engine.kind) ? tracks_device_pid(tracks, engine.device)
                                         : tracks->pid;
}

static uint32_t stream_pid(const struct tracks *tracks, uint32_t stream)
{
    return tracks_device_pid(tracks,
                             timeline_stream_home(&tracks->run->timeline, stream).device);
}

/* --- names of tracks --- */

void track_put_name(struct put *put, const struct tracks *tracks, uint32_t pid, uint32_t tid,
                    const char *name, const uint32_t *number)
{
    put->at = write_head_of(put_reserve(put, HEAD_ROOM), pid, 'M', tid);
    PUT_LITERAL(put, ",\"name\":\"thread_name\",\"args\":{\"name\":\"");
    put_string(put, name);
    if (number != NULL) {
        PUT_LITERAL(put, " ");
        put_integer(put, *number);
    }
    PUT_LITERAL(put, "\"}}");
    put->at = write_head_of(put_reserve(put, HEAD_ROOM), pid, 'M', tid);
    PUT_LITERAL(put, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":");
    put_integer(put, tid - tracks->first_tid + 1);
    PUT_LITERAL(put, "}}");
}

void tracks_put_names(struct put *put, const struct tracks *tracks)
{
    for (uint32_t i = 0; i < resource_count(tracks->devices); i++) {
        const struct resource engine = resource_at(i, tracks->devices);
        bool several = tracks->lanes[i] > 1;
        for (uint32_t lane = 0; lane < tracks->lanes[i]; lane++)
            track_put_name(put, tracks, engine_pid(tracks, engine),
                           tracks->engine_tid[i] + lane, engine_rows[engine.kind].label,
                           several ? &lane : NULL);
    }
    for (uint32_t stream = 0; stream < tracks->streams; stream++) {
        uint32_t id = timeline_stream_id(&tracks->run->timeline, stream);
        track_put_name(put, tracks, stream_pid(tracks, stream), tracks->stream_tid + stream,
                       "stream", &id);
    }
    if (tracks->calls_tid != 0)
        track_put_name(put, tracks, tracks->pid, tracks->calls_tid, "host calls", NULL);
}

/* --- names of slices --- */

static const char *stage_name(const struct timeline *timeline, const struct span *span)
{
    if (span->kind == OP_KERNEL && span->link < timeline->name_count)
        return timeline->names[span->link];
    if (span->kind == OP_ALLOC)
        return span_alloc_rows[span->link].name;
    return op_rows[span->kind].label;
}

/* Returns the span that a wait waits for; NULL where there is none, or `span` is no wait. */
static const struct span *target_of(const struct timeline *timeline, const struct span *span)
{
    return op_rows[span->kind].waits ? timeline_span((struct timeline *)timeline, span->target)
                                     : NULL;
}

/* Puts "H2D 3". Viewers choose the colour by the name without its digits. */
static void put_label(struct put *put, const struct timeline *timeline, const struct span *span)
{
    put_json_text(put, stage_name(timeline, span), false);
    if (span->tile < 0 || span->kind == OP_WAIT)
        return;
    PUT_LITERAL(put, " ");
    put_integer(put, span->tile);
}

void track_put_span_name(struct put *put, const struct timeline *timeline,
                         const struct span *span)
{
    const struct span *target = target_of(timeline, span);
    put_label(put, timeline, span);
    if (target == NULL)
        return;
    PUT_LITERAL(put, " for ");
    put_label(put, timeline, target);
}

/* Puts the beginning of a slice: track, times and name. */
static void put_slice(struct put *put, const struct tracks *tracks, const struct span *span,
                      uint32_t pid, uint32_t tid, int64_t start_ns, int64_t end_ns)
{
    char *at = write_head_of(put_reserve(put, 2 * HEAD_ROOM), pid, 'X', tid);
    at = write_times(at, start_ns, end_ns);
    put->at = WRITE_LITERAL(at, ",\"name\":\"");
    track_put_span_name(put, &tracks->run->timeline, span);
    PUT_LITERAL(put, "\",\"cat\":\"");
    put_string(put, op_kind_name(span->kind));
    PUT_LITERAL(put, "\"");
}

/* --- arguments --- */

/* The numbers among the arguments of a span, printed once for its two slices. */
struct numbers {
    char text[512], *end;
};

/* Writes the rate of a copy in GB/s, which are bytes per ns. */
static char *write_rate(char *at, const struct span *span)
{
    double length_ns = (double)span->end_ns - (double)span->start_ns;
    double mb_per_s = 1e3 * (double)span->bytes / length_ns;
    if (span->bytes == 0 || !(length_ns > 0) || mb_per_s >= 1e15)
        return at;
    at = WRITE_LITERAL(at, ",\"GB_per_s\":");
    return write_thousandths(at, (uint64_t)(mb_per_s + 0.5));
}

static void numbers_write(struct numbers *numbers, const struct tracks *tracks, uint32_t index)
{
    const struct timeline *timeline = &tracks->run->timeline;
    const struct span *span = &timeline->spans[index];
    char *at = WRITE_LITERAL(numbers->text, ",\"args\":{\"op\":");
    at = write_count(at, span->op);
    if (span->tile >= 0)
        at = write_count(WRITE_LITERAL(at, ",\"tile\":"), (uint32_t)span->tile);
    if (op_in_stream(span->kind) || (span->kind == OP_SYNC && span->stream < timeline->streams))
        at = write_count(WRITE_LITERAL(at, ",\"stream\":"),
                         timeline_stream_id(timeline, span->stream));
    if (span->engine < ENGINE_NONE)
        at = write_count(WRITE_LITERAL(at, ",\"lane\":"), span->lane);
    if (tracks->devices > 1)
        at = write_count(WRITE_LITERAL(at, ",\"device\":"), span->device);
    if (span->kind == OP_PEER && span->to != span->device)
        at = write_count(WRITE_LITERAL(at, ",\"to\":"), span->to);
    at = write_count(WRITE_LITERAL(at, ",\"bytes\":"), span->bytes);
    at = write_rate(at, span);
    if (!timeline->issue_unknown)
        at = write_integer(WRITE_LITERAL(at, ",\"issue_ns\":"), span->issue_ns);
    at = write_integer(WRITE_LITERAL(at, ",\"start_ns\":"), span->start_ns);
    at = write_integer(WRITE_LITERAL(at, ",\"end_ns\":"), span->end_ns);
    if (tracks->run->critical.on_path != NULL && tracks->run->critical.on_path[index])
        at = WRITE_LITERAL(at, ",\"critical\":true");
    numbers->end = at;
}

static void put_waited_for(struct put *put, const struct timeline *timeline,
                           const struct span *span)
{
    PUT_LITERAL(put, ",\"waited for\":\"");
    put_label(put, timeline, span);
    PUT_LITERAL(put, "\"");
}

/* Puts the reason why span `index` did not start earlier: what held it, and when that let it
 * go. */
static void put_hold(struct put *put, const struct run_report *run, uint32_t index)
{
    const struct timeline *timeline = &run->timeline;
    const struct hold *hold = &run->critical.holds[index];
    if (hold->by == HELD_BY_NOTHING && timeline->issue_unknown)
        return; /* nothing is known */
    PUT_LITERAL(put, ",\"held by\":\"");
    put_string(put, held_by_name(hold->by));
    char *at = put_reserve(put, HEAD_ROOM);
    at = WRITE_LITERAL(at, "\",\"free_ns\":");
    put->at = write_integer(at, hold->free_ns);
    if (hold->span != SPAN_NONE)
        put_waited_for(put, timeline, &timeline->spans[hold->span]);
}

/* Spans are explained in words, too, as long as somebody may read them one by one: the words
 * take a third of the time and a tenth of the file, all of which a viewer keeps in memory. */
enum { EXPLAINED_SPANS_MAX = 100000 };

static void put_reason(struct put *put, const struct run_report *run, uint32_t index)
{
    const struct timeline *timeline = &run->timeline;
    const struct span *span = &timeline->spans[index], *target = target_of(timeline, span);
    char text[CRITICAL_TEXT];
    if (target != NULL)
        put_waited_for(put, timeline, target);
    if (run->critical.holds == NULL)
        return;
    if (!op_rows[span->kind].waits)
        put_hold(put, run, index);
    if (timeline->span_count > EXPLAINED_SPANS_MAX)
        return;
    PUT_LITERAL(put, ",\"why\":\"");
    put_json_text(put, critical_explain(timeline, &run->critical, index, text), false);
    PUT_LITERAL(put, "\"");
}

/* --- slices --- */

/* A tile goes in by one copy or several, issued one behind another, then through its kernels,
 * and out by one copy: so the first and the last of its way are known without a look at the
 * others. */
static void put_flow(struct put *put, const struct tracks *tracks, uint32_t index)
{
    static const char digits[] = "0123456789abcdef";
    const struct span *span = &tracks->run->timeline.spans[index];
    if (span->tile < 0 || span->engine > ENGINE_D2H || span->kind == OP_MEMSET)
        return;
    bool first = span->kind == OP_H2D &&
                 (index == 0 || span[-1].kind != OP_H2D || span[-1].tile != span->tile);
    uint64_t id = (uint64_t)tracks->pid << 32 | (uint32_t)span->tile;
    char *at = put_reserve(put, HEAD_ROOM);
    at = WRITE_LITERAL(at, ",\"bind_id\":\"0x");
    for (int shift = 60 - __builtin_clzll(id) / 4 * 4; shift >= 0; shift -= 4)
        *at++ = digits[id >> shift & 15];
    *at++ = '"';
    if (!first)
        at = WRITE_LITERAL(at, ",\"flow_in\":true");
    if (span->kind != OP_D2H)
        at = WRITE_LITERAL(at, ",\"flow_out\":true");
    put->at = at;
}

static void put_on_engine(struct put *put, const struct tracks *tracks, uint32_t index,
                          const struct numbers *numbers)
{
    const struct span *span = &tracks->run->timeline.spans[index];
    const struct resource engine = span_resource(span);
    const uint32_t first = tracks->engine_tid[resource_number(engine, tracks->devices)];
    put_slice(put, tracks, span, engine_pid(tracks, engine), first + span->lane, span->start_ns,
              span->end_ns);
    put_flow(put, tracks, index);
    put_bytes(put, numbers->text, (size_t)(numbers->end - numbers->text));
    put_reason(put, tracks->run, index);
    PUT_LITERAL(put, "}}");
}

/* Puts the span on its stream's track. `reached` is how far that track is drawn. */
static void put_on_stream(struct put *put, const struct tracks *tracks, uint32_t index,
                          const struct numbers *numbers, int64_t *reached)
{
    const struct span *span = &tracks->run->timeline.spans[index];
    int64_t start_ns = span->start_ns > *reached ? span->start_ns : *reached;
    int64_t end_ns = span->end_ns > start_ns ? span->end_ns : start_ns;
    *reached = end_ns;
    put_slice(put, tracks, span, stream_pid(tracks, span->stream),
              tracks->stream_tid + span->stream, start_ns, end_ns);
    put_bytes(put, numbers->text, (size_t)(numbers->end - numbers->text));
    if (span->kind == OP_WAIT)
        put_reason(put, tracks->run, index);
    PUT_LITERAL(put, "}}");
}

/* --- arrows from device to device --- */

/* The latest copy from each device to each other: its index and 1; 0: there was none yet. */
struct sent {
    uint32_t spans[MACHINE_DEVICES_MAX][MACHINE_DEVICES_MAX];
};

static uint32_t *sent_to(struct sent *sent, uint32_t from, uint32_t to)
{
    return &sent->spans[from % MACHINE_DEVICES_MAX][to % MACHINE_DEVICES_MAX];
}

/* Puts the end of an arrow into the slice that is drawn on a track at that time. */
static void put_arrow_end(struct put *put, const struct tracks *tracks, char phase,
                          uint32_t pid, uint32_t tid, int64_t at_ns, uint32_t wait)
{
    char *at = write_head_of(put_reserve(put, 2 * HEAD_ROOM), pid, phase, tid);
    at = write_us(WRITE_LITERAL(at, ",\"ts\":"), at_ns);
    at = WRITE_LITERAL(at, ",\"name\":\"to device\",\"cat\":\"arrow\",\"bp\":\"e\",\"id\":\"");
    at = write_count(at, tracks->pid);
    at = write_count(WRITE_LITERAL(at, "."), wait);
    put->at = WRITE_LITERAL(at, "\"}");
}

/* Returns the copy to its own device that a wait is for; NULL where it is for none. An event
 * that a sender records once for copies to several devices stands for the last of them, while
 * each receiver needs the last one to itself. */
static const struct span *copy_waited_for(const struct timeline *timeline,
                                          const struct span *wait, struct sent *sent)
{
    const struct span *target = target_of(timeline, wait);
    if (target == NULL || target->kind != OP_PEER || target->device == wait->device)
        return NULL;
    if (target->to == wait->device)
        return target;
    const uint32_t from = *sent_to(sent, target->device, wait->device);
    return from > 0 ? &timeline->spans[from - 1] : NULL;
}

/* Returns the next op that is drawn on the wait's stream's track; NULL where none is near. */
static const struct span *next_in_stream(const struct timeline *timeline, uint32_t index)
{
    enum { NEAR = 4096 };
    const uint32_t end = (uint32_t)earlier(timeline->span_count, (int64_t)index + NEAR);
    for (uint32_t i = index + 1; i < end; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->stream == timeline->spans[index].stream && op_in_stream(span->kind) &&
            span->kind != OP_WAIT)
            return span;
    }
    return NULL;
}

/* Puts an arrow for the wait `index` from the copy that it is for to what its stream does next.
 * That slice may be drawn a little later than the op began: its middle is in it. */
static void put_arrow(struct put *put, const struct tracks *tracks, uint32_t index,
                      struct sent *sent)
{
    const struct timeline *timeline = &tracks->run->timeline;
    const struct span *wait = &timeline->spans[index];
    const struct span *copy = copy_waited_for(timeline, wait, sent);
    const struct span *next = next_in_stream(timeline, index);
    if (copy == NULL || next == NULL)
        return;
    const struct resource engine = span_resource(copy);
    put_arrow_end(put, tracks, 's', engine_pid(tracks, engine),
                  tracks->engine_tid[resource_number(engine, tracks->devices)] + copy->lane,
                  copy->start_ns, wait->op);
    put_arrow_end(put, tracks, 'f', stream_pid(tracks, wait->stream),
                  tracks->stream_tid + wait->stream,
                  next->start_ns + (next->end_ns - next->start_ns) / 2, wait->op);
}

void tracks_put_spans(struct put *put, const struct tracks *tracks)
{
    struct numbers numbers;
    struct sent sent = {{{0}}};
    int64_t *reached = malloc((tracks->streams + (size_t)1) * sizeof *reached);
    if (reached == NULL) {
        put->status = STATUS_NO_MEMORY;
        return;
    }
    for (uint32_t stream = 0; stream < tracks->streams; stream++)
        reached[stream] = INT64_MIN;
    for (uint32_t i = 0; i < tracks->run->timeline.span_count; i++) {
        const struct span *span = &tracks->run->timeline.spans[i];
        numbers_write(&numbers, tracks, i);
        if (span->engine < ENGINE_NONE)
            put_on_engine(put, tracks, i, &numbers);
        if (span->kind == OP_PEER)
            *sent_to(&sent, span->device, span->to) = i + 1;
        if (span->kind == OP_WAIT && tracks->devices > 1)
            put_arrow(put, tracks, i, &sent);
        if (op_in_stream(span->kind))
            put_on_stream(put, tracks, i, &numbers, &reached[span->stream]);
    }
    free(reached);
}
