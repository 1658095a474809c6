/* recording_lines.c - what is kept of each kind of line (docs/recording.md). */
#include "trace/recording_draft.h"

#include "machine/machine.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE "a whole number"
#define SMALL "a whole number below 4294967295"
#define TIME  "a time, in ns and below 36 years"

/* The values that a line may have, by their letters; a form is a text of these. A null that may
 * be stands for a number, an empty text or no list; so does the number itself where it is too
 * large, which older recorders wrote for null. */
static const struct field {
    enum line_kind kind;
    uint64_t most; /* of numbers, without their sign */
    bool null, negative;
    uint64_t instead; /* what null stands for */
    const char *what;
} fields[] = {
    ['n'] = {LINE_NUMBER, UINT64_MAX, false, false, 0, WHOLE},
    ['N'] = {LINE_NUMBER, UINT64_MAX, true, false, 0, WHOLE},
    ['D'] = {LINE_NUMBER, UINT64_MAX, true, false, DRAFT_NO_CALL, WHOLE},
    ['u'] = {LINE_NUMBER, RECORDING_NONE - 1, false, false, 0, SMALL},
    ['Z'] = {LINE_NUMBER, RECORDING_NONE - 1, true, false, 0, SMALL},
    ['U'] = {LINE_NUMBER, RECORDING_NONE - 1, true, false, RECORDING_NONE, SMALL},
    ['I'] = {LINE_NUMBER, INT32_MAX, true, true, 0, "a whole number of 32 bits"},
    ['t'] = {LINE_NUMBER, MACHINE_NEVER_NS - 1, false, false, 0, TIME},
    ['T'] = {LINE_NUMBER, MACHINE_NEVER_NS - 1, true, false, 0, TIME},
    ['s'] = {LINE_TEXT, 0, false, false, 0, "a text"},
    ['S'] = {LINE_TEXT, 0, true, false, 0, "a text"},
    ['L'] = {LINE_LIST, 0, true, false, 0, "a list of numbers"},
};

/* --- devices, contexts, streams --- */

static void take_device(struct draft *draft, const struct line_value *v)
{
    struct recorded_device *device = pile_add(draft, &draft->devices, sizeof *device);
    device->id = (uint32_t)v[1].number;
    device->name = draft_text(draft, v[2].text);
    device->sm.major = (uint32_t)v[3].number;
    device->minor = (uint32_t)v[4].number;
    device->sms = (uint32_t)v[5].number;
    device->sm.threads = (uint32_t)v[6].number;
    device->sm.blocks = (uint32_t)v[7].number;
    device->sm.registers = (uint32_t)v[8].number;
    device->sm.shared = (uint32_t)v[9].number;
    place_add(draft, &draft->device_places, device->id, 0);
}

static void take_context(struct draft *draft, const struct line_value *v)
{
    /* The device's id is kept for its index, which is not known yet. */
    place_add(draft, &draft->contexts, v[1].number, (uint32_t)v[2].number);
}

static void take_stream(struct draft *draft, const struct line_value *v)
{
    static const struct draft_word kinds[] = {{"legacy", STREAM_LEGACY},
                                              {"per-thread", STREAM_BLOCKING},
                                              {"blocking", STREAM_BLOCKING},
                                              {"non-blocking", STREAM_NONBLOCKING},
                                              {NULL, -1}};
    const int kind = draft_meaning(v[4].text, kinds);
    if (kind < 0) {
        draft_refuse_word(draft, "the kind of stream", v[4].text);
        return;
    }
    struct draft_stream *stream =
        draft_stream(draft, draft_stream_of(draft, v[1].number, v[2].number));
    if (stream->line != 0)
        trace_refuse(&draft->text,
                     "stream %" PRIu64 " of context %" PRIu64 " has a line already",
                     v[2].number, v[1].number);
    stream->line = draft->text.line_number;
    stream->stream.handle = v[3].number;
    stream->stream.priority = signed_of(&v[5]);
    stream->stream.kind = (uint8_t)kind;
}

/* --- memory --- */

static void take_memory(struct draft *draft, const struct line_value *v)
{
    static const struct draft_word kinds[] = {
        {"device", RECORDED_DEVICE},         {"pool", RECORDED_POOL},
        {"managed", RECORDED_MANAGED},       {"pinned", RECORDED_PINNED},
        {"registered", RECORDED_REGISTERED}, {NULL, -1}};
    const int kind = draft_meaning(v[1].text, kinds);
    if (kind < 0)
        draft_refuse_word(draft, "the kind of memory", v[1].text);
    if (v[3].number > UINT64_MAX - v[4].number)
        trace_refuse(&draft->text, "the memory ends behind all addresses");
    struct recorded_memory *memory = pile_add(draft, &draft->memory, sizeof *memory);
    *memory = (struct recorded_memory){.address = v[3].number,
                                       .bytes = v[4].number,
                                       .from_ns = (int64_t)v[2].number,
                                       .until_ns = INT64_MAX,
                                       .device = (uint32_t)v[5].number,
                                       .kind = (uint8_t)kind};
}

static void take_free(struct draft *draft, const struct line_value *v)
{
    struct draft_free *given = pile_add(draft, &draft->frees, sizeof *given);
    *given = (struct draft_free){.address = v[2].number, .time_ns = (int64_t)v[1].number};
}

/* --- what later calls rest on --- */

static void take_event(struct draft *draft, const struct line_value *v)
{
    enum { NO_TIMING = 2 }; /* cudaEventDisableTiming */
    struct recorded_facts *facts = &draft->recording->facts;
    const bool timed = (v[3].number & NO_TIMING) == 0;
    struct draft_event *event = pile_add(draft, &draft->events, sizeof *event);
    *event = (struct draft_event){v[2].number, (int64_t)v[1].number, timed};
    facts->events++;
    facts->timed_events += timed;
}

static void take_peer(struct draft *draft, const struct line_value *v)
{
    (void)v;
    draft->recording->facts.reaches_peers = true;
}

static void take_threshold(struct draft *draft, const struct line_value *v)
{
    draft->recording->facts.keeps_pools |= v[3].number > 0;
}

/* Pages that a call moves are asked for. */
static void take_migration(struct draft *draft, const struct line_value *v)
{
    struct recorded_facts *facts = &draft->recording->facts;
    const bool asked = strcmp(v[6].text, "prefetch") == 0 || strcmp(v[6].text, "user") == 0;
    if (v[3].number < v[2].number)
        trace_refuse(&draft->text, "the migration ends before it starts");
    if (asked)
        return;
    facts->faults++;
    facts->fault_bytes += v[5].number;
    facts->faults_ns =
        earlier(facts->faults_ns + (int64_t)(v[3].number - v[2].number), MACHINE_NEVER_NS);
}

/* --- graphs --- */

static void take_node(struct draft *draft, const struct line_value *v)
{
    static const struct draft_word kinds[] = {{"h2d", OP_H2D},       {"d2h", OP_D2H},
                                              {"d2d", OP_D2D},       {"memset", OP_MEMSET},
                                              {"kernel", OP_KERNEL}, {"function", OP_CALLBACK},
                                              {NULL, OP_KIND_COUNT}};
    struct recorded_node *node = pile_add(draft, &draft->nodes, sizeof *node);
    node->exec = v[1].number;
    node->node = v[2].number;
    node->kind = (uint8_t)draft_meaning(v[3].text, kinds);
    struct recorded_call *made = &node->made;
    const bool set = node->kind == OP_MEMSET,
               copy = op_is_copy(node->kind) || node->kind == OP_D2D;
    if (node->kind == OP_KERNEL && v[4].kind == LINE_LIST) {
        draft_take_words(draft, v[4].text, &made->known, &made->launch.first_word,
                         &made->launch.word_count);
        made->effect = made->known ? EFFECT_LAUNCH : EFFECT_NONE;
        return;
    }
    if (!(set || copy) || !line_is_whole(&v[4]) || !line_is_whole(&v[5]) ||
        !(set || line_is_whole(&v[6])))
        return;
    struct recorded_bytes *bytes = draft_bytes(draft, made);
    made->effect = set ? EFFECT_SET : EFFECT_COPY;
    bytes->to = v[4].number;
    bytes->from = set ? 0 : v[5].number;
    bytes->width = v[set ? 5 : 6].number;
}

static void take_edge(struct draft *draft, const struct line_value *v)
{
    struct recorded_edge *edge = pile_add(draft, &draft->edges, sizeof *edge);
    *edge = (struct recorded_edge){v[1].number, v[2].number, v[3].number};
}

/* --- names, ranges, notes, the end --- */

static void take_name(struct draft *draft, const struct line_value *v)
{
    place_add(draft, &draft->name_places, v[1].number, (uint32_t)draft->names.count);
    char **name = pile_add(draft, &draft->names, sizeof *name);
    *name = draft_text(draft, v[2].text);
}

static void take_line(struct draft *draft, const struct line_value *v)
{
    struct draft_line *line = pile_add(draft, &draft->lines, sizeof *line);
    *line = (struct draft_line){.call = v[1].number, .text = draft_text(draft, v[2].text)};
}

static void take_race(struct draft *draft, const struct line_value *v)
{
    struct draft_race *race = pile_add(draft, &draft->races, sizeof *race);
    race->race.address = v[1].number;
    race->race.bytes = v[2].number;
    for (int i = 0; i < 2; i++) {
        const struct line_value *side = &v[3 + 4 * i];
        race->calls[i] = side[0].number;
        race->race.sides[i] = (struct recorded_racer){.call = RECORDING_NONE,
                                                      .node = side[1].number,
                                                      .writes = (side[2].number & 2) != 0,
                                                      .place = draft_text(draft, side[3].text)};
    }
}

static void take_range(struct draft *draft, const struct line_value *v)
{
    if (v[3].number < v[2].number)
        trace_refuse(&draft->text, "the range ends before it starts");
    struct host_range *range = pile_add(draft, &draft->ranges, sizeof *range);
    range->start_ns = (int64_t)v[2].number;
    range->end_ns = (int64_t)v[3].number;
    range->name = draft_text(draft, v[4].text);
    range->thread = draft_number(draft, &draft->threads, &v[1].number, sizeof v[1].number);
}

static void add_note(struct draft *draft, const char *text)
{
    char **note = pile_add(draft, &draft->notes, sizeof *note);
    *note = draft_text(draft, text);
}

static void take_note(struct draft *draft, const struct line_value *v)
{
    add_note(draft, v[1].text);
}

static void take_lost(struct draft *draft, const struct line_value *v)
{
    uint64_t *lost = &draft->recording->lost;
    if (__builtin_add_overflow(*lost, v[1].number, lost))
        trace_refuse(&draft->text, "more is lost than can be counted");
    if (v[2].text[0] != '\0')
        add_note(draft, v[2].text);
}

/* A kind that has no row here is one that this reader does not know. */
static struct recording_cost *cost_of(struct draft *draft, const struct line_value *v)
{
    static const struct draft_word kinds[] = {
        {"call", EFFECT_NONE},        {"copy", EFFECT_COPY},
        {"set", EFFECT_SET},          {"launch", EFFECT_LAUNCH},
        {"record", EFFECT_RECORD},    {"wait", EFFECT_WAIT},
        {"sync", EFFECT_SYNC_DEVICE}, {"function", EFFECT_FUNCTION},
        {"graph", EFFECT_GRAPH},      {NULL, -1}};
    const int kind = draft_meaning(v[1].text, kinds);
    draft->recording->costs_known = true;
    return kind >= 0 ? &draft->recording->costs[kind] : NULL;
}

static void take_cost(struct draft *draft, const struct line_value *v)
{
    struct recording_cost *cost = cost_of(draft, v);
    if (cost == NULL)
        return;
    cost->calls = v[2].number;
    cost->sum_ns = (int64_t)(v[3].number + v[4].number);
}

static void take_added(struct draft *draft, const struct line_value *v)
{
    struct recording_cost *cost = cost_of(draft, v);
    if (cost == NULL)
        return;
    cost->recorded_ns = (int64_t)(v[3].number < UINT32_MAX ? v[3].number : UINT32_MAX);
    cost->alone_ns = (int64_t)(v[4].number < UINT32_MAX ? v[4].number : UINT32_MAX);
}

static void take_end(struct draft *draft, const struct line_value *v)
{
    static const struct draft_word whys[] = {{"exit", RECORDING_EXIT},
                                             {"limit", RECORDING_LIMIT},
                                             {"stop", RECORDING_STOP},
                                             {NULL, -1}};
    const int why = draft_meaning(v[2].text, whys);
    if (why < 0)
        draft_refuse_word(draft, "the end", v[2].text);
    if (draft->ended)
        trace_refuse(&draft->text, "the recording has ended already");
    draft->ended = true;
    draft->recording->end = (enum recording_end)why;
}

/* --- all kinds --- */

#define AT(member) offsetof(struct recorded_call, member)
#define OF(member) offsetof(struct recorded_bytes, member)

static const struct form {
    const char *kind, *fields;
    void (*take)(struct draft *draft, const struct line_value *v); /* NULL: take_effect() */
    enum recorded_effect effect;
    size_t into[6];
} forms[] = {
    /* Those that there are most of come first. */
    {"call", "nsnttI", take_call, EFFECT_NONE, {0}},
    {"kernel", "DUUTTDNZZZN", take_kernel, EFFECT_NONE, {0}},
    {"op", "DsUUTTNSSN", take_op, EFFECT_NONE, {0}},
    {"launch", "DUUL", take_launch, EFFECT_NONE, {0}},
    {"copy", "DUUNNN", NULL, EFFECT_COPY, {OF(to), OF(from), OF(width)}},
    {"record", "DUUN", NULL, EFFECT_RECORD, {AT(event)}},
    {"wait", "DUUN", NULL, EFFECT_WAIT, {AT(event)}},
    {"sync", "DsUN", take_sync, EFFECT_NONE, {0}},
    {"set", "DUUNN", NULL, EFFECT_SET, {OF(to), OF(width)}},
    {"range", "ntts", take_range, EFFECT_NONE, {0}},
    {"memory", "stnnU", take_memory, EFFECT_NONE, {0}},
    {"free", "tn", take_free, EFFECT_NONE, {0}},
    {"copy2d",
     "DUUNNNNNN",
     NULL,
     EFFECT_COPY,
     {OF(to), OF(to_pitch), OF(from), OF(from_pitch), OF(width), OF(height)}},
    {"function", "DUUTT", take_function, EFFECT_NONE, {0}},
    {"graph", "DUUN", NULL, EFFECT_GRAPH, {AT(exec)}},
    {"node", "nns", take_node, EFFECT_NONE, {0}},
    {"edge", "nnn", take_edge, EFFECT_NONE, {0}},
    {"name", "ns", take_name, EFFECT_NONE, {0}},
    {"stream", "uUNsI", take_stream, EFFECT_NONE, {0}},
    {"context", "uu", take_context, EFFECT_NONE, {0}},
    {"device", "uSZZZZZZZZ", take_device, EFFECT_NONE, {0}},
    {"line", "ns", take_line, EFFECT_NONE, {0}},
    {"from", "ns", take_from, EFFECT_NONE, {0}},
    {"event", "tnn", take_event, EFFECT_NONE, {0}},
    {"peer", "tnn", take_peer, EFFECT_NONE, {0}},
    {"threshold", "tnn", take_threshold, EFFECT_NONE, {0}},
    {"migration", "sttnns", take_migration, EFFECT_NONE, {0}},
    {"race", "nnDnuSDnuS", take_race, EFFECT_NONE, {0}},
    {"cost", "sntt", take_cost, EFFECT_NONE, {0}},
    {"added", "sntt", take_added, EFFECT_NONE, {0}},
    {"lost", "nS", take_lost, EFFECT_NONE, {0}},
    {"note", "s", take_note, EFFECT_NONE, {0}},
    {"end", "Ts", take_end, EFFECT_NONE, {0}},
};

/* Returns false if a value is not what it must be. One that is null becomes what that stands
 * for. */
static bool check(struct line_value *value, const struct field *field)
{
    static char nothing[] = "";
    const bool stands_for_null = value->kind == LINE_NUMBER && !value->negative &&
                                 value->number > field->most && value->number == field->instead;
    if (field->null && (value->kind == LINE_NULL || stands_for_null)) {
        *value = (struct line_value){.kind = LINE_NULL, .number = field->instead};
        value->text = field->kind == LINE_TEXT ? nothing : NULL;
        return true;
    }
    return value->kind == field->kind && value->number <= field->most &&
           (!value->negative || value->number == 0 || field->negative);
}

void draft_take(struct draft *draft, const struct line *line)
{
    enum { LOOKED_AT = 16 };                                /* more than any form has */
    struct line_value v[LOOKED_AT] = {{.kind = LINE_NULL}}; /* what is not there stays so */
    const int there = line->count < LOOKED_AT ? line->count : LOOKED_AT;
    const struct form *form = forms, *end = forms + sizeof forms / sizeof forms[0];
    if (line->values[0].kind != LINE_TEXT) {
        trace_refuse(&draft->text, "a line's first value says of which kind it is");
        return;
    }
    while (form < end && strcmp(form->kind, line->values[0].text) != 0)
        form++;
    if (form == end)
        return;
    const int count = (int)strlen(form->fields);
    if (line->count < count + 1)
        trace_refuse(&draft->text, "a \"%s\" has %d values behind its name, not %d", form->kind,
                     count, line->count - 1);
    memcpy(v, line->values, (size_t)there * sizeof *v);
    for (int i = 1; i <= count; i++) {
        const struct field *field = &fields[(unsigned char)form->fields[i - 1]];
        if (!check(&v[i], field))
            trace_refuse(&draft->text, "value %d of this \"%s\" must be %s", i, form->kind,
                         field->what);
    }
    if (draft_failed(draft))
        return;
    if (form->take != NULL)
        form->take(draft, v);
    else
        take_effect(draft, form->effect, v, form->into, count - 3);
}
