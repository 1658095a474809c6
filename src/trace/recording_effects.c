/* recording_effects.c - what is kept of lines about calls and ops. */
#include "trace/recording_draft.h"

#include <inttypes.h>
#include <string.h>

/* --- calls --- */

uint16_t draft_call_row(struct draft *draft, const char *name)
{
    for (int i = 0; i < draft->call_name_count; i++) {
        if (strcmp(draft->call_names[i].name, name) == 0)
            return draft->call_names[i].row;
    }
    uint16_t row = host_call_row(name);
    if (draft->call_name_count < DRAFT_CALL_NAMES && strlen(name) < DRAFT_CALL_NAME) {
        strcpy(draft->call_names[draft->call_name_count].name, name);
        draft->call_names[draft->call_name_count++].row = row;
    }
    return row;
}

void take_call(struct draft *draft, const struct line_value *v)
{
    if (v[1].number == DRAFT_NO_CALL)
        trace_refuse(&draft->text, "no call can have that id");
    if (v[5].number < v[4].number)
        trace_refuse(&draft->text, "the call ends before it starts");
    struct recorded_call *call = pile_add(draft, &draft->calls, sizeof *call);
    call->id = v[1].number;
    call->row = draft_call_row(draft, v[2].text);
    call->thread = draft_number(draft, &draft->threads, &v[3].number, sizeof v[3].number);
    call->start_ns = (int64_t)v[4].number;
    call->end_ns = (int64_t)v[5].number;
    call->result = signed_of(&v[6]);
    if (line_is_whole(&v[7]) && v[7].number <= UINT32_MAX)
        call->added_ns = (uint32_t)v[7].number;
    call->stream = RECORDING_NONE;
    place_add(draft, &draft->call_places, call->id, 0);
}

/* Adds what call v[1] did, in the stream that v[2] and `number` name. */
static struct recorded_call *add_effect(struct draft *draft, enum recorded_effect effect,
                                        const struct line_value *v, uint64_t number)
{
    struct recorded_call *made = pile_add(draft, &draft->effects, sizeof *made);
    made->id = v[1].number;
    made->effect = (uint8_t)effect;
    made->stream = draft_stream_of(draft, v[2].number, number);
    return made;
}

struct recorded_bytes *draft_bytes(struct draft *draft, struct recorded_call *made)
{
    struct recorded_bytes *copy = arena_zeros(&draft->recording->arena, 1, sizeof *copy);
    made->copy = copy;
    if (copy == NULL) {
        draft_no_memory(draft);
        return (struct recorded_bytes *)draft->nowhere;
    }
    copy->height = 1;
    return copy;
}

void take_effect(struct draft *draft, enum recorded_effect effect, const struct line_value *v,
                 const size_t *into, int count)
{
    struct recorded_call *made = add_effect(draft, effect, v, v[3].number);
    const bool bytes = effect == EFFECT_COPY || effect == EFFECT_SET;
    struct recorded_bytes *copy = bytes ? draft_bytes(draft, made) : NULL;
    for (int i = 0; i < count; i++)
        memcpy((bytes ? (char *)copy : (char *)made) + into[i], &v[4 + i].number,
               sizeof v[0].number);
    if (effect == EFFECT_COPY) {
        if (count == 3) /* in one piece */
            copy->to_pitch = copy->from_pitch = copy->width;
        copy->hash = line_is_whole(&v[4 + count]) ? (uint32_t)v[4 + count].number : 0;
    }
}

void take_from(struct draft *draft, const struct line_value *v)
{
    const uint16_t row = host_call_library(v[2].text);
    struct draft_maker *maker = pile_add(draft, &draft->makers, sizeof *maker);
    draft->libraries |= row != 0;
    *maker = (struct draft_maker){.call = v[1].number, .row = row};
}

void take_launch(struct draft *draft, const struct line_value *v)
{
    struct recorded_call *made = add_effect(draft, EFFECT_LAUNCH, v, v[3].number);
    if (v[4].text == NULL)
        return;
    made->touched = v[5].kind == LINE_LIST;
    draft_take_words(draft, v[made->touched ? 5 : 4].text, &made->known,
                     &made->launch.first_word, &made->launch.word_count);
    if (made->touched && made->launch.word_count % 3 != 0)
        trace_refuse(&draft->text, "what a launch touched comes in threes");
}

void take_sync(struct draft *draft, const struct line_value *v)
{
    static const struct draft_word whats[] = {{"device", EFFECT_SYNC_DEVICE},
                                              {"stream", EFFECT_SYNC_STREAM},
                                              {"event", EFFECT_SYNC_EVENT},
                                              {NULL, EFFECT_NONE}};
    const enum recorded_effect what = (enum recorded_effect)draft_meaning(v[2].text, whats);
    const bool stream = what == EFFECT_SYNC_STREAM && v[4].kind != LINE_NULL;
    if (what == EFFECT_NONE)
        draft_refuse_word(draft, "what the call waits for,", v[2].text);
    if (stream && v[4].number > RECORDING_NONE)
        trace_refuse(&draft->text, "%" PRIu64 " is no number of a stream", v[4].number);
    const struct line_value call[] = {v[0], v[1], v[3]};
    struct recorded_call *made =
        add_effect(draft, what, call, stream ? v[4].number : RECORDING_NONE);
    if (what == EFFECT_SYNC_EVENT)
        made->event = v[4].number;
}

void take_function(struct draft *draft, const struct line_value *v)
{
    const bool known = v[4].kind != LINE_NULL && v[5].kind != LINE_NULL;
    if (known && v[5].number < v[4].number)
        trace_refuse(&draft->text, "the function ends before it starts");
    struct recorded_call *made = add_effect(draft, EFFECT_FUNCTION, v, v[3].number);
    struct recorded_times *times =
        known ? arena_zeros(&draft->recording->arena, 1, sizeof *times) : NULL;
    if (times != NULL)
        *times = (struct recorded_times){(int64_t)v[4].number, (int64_t)v[5].number};
    else if (known)
        draft_no_memory(draft);
    made->known = known;
    made->function = times;
}

/* --- ops --- */

/* Adds an op with what all kinds of them have; NULL where its times are not known, or can't be.
 */
static struct draft_op *add_op(struct draft *draft, const struct line_value *call,
                               const struct line_value *stream, uint64_t node)
{
    const struct line_value *start = &stream[2], *end = &stream[3];
    if (start->kind == LINE_NULL || end->kind == LINE_NULL) {
        draft->recording->lost++;
        return NULL;
    }
    if (end->number < start->number)
        trace_refuse(&draft->text, "the op ends before it starts");
    struct draft_op *op = pile_add(draft, &draft->ops, sizeof *op);
    op->call = call->number;
    op->name = DRAFT_NO_CALL;
    op->op.start_ns = (int64_t)start->number;
    op->op.end_ns = (int64_t)end->number;
    op->op.node = node;
    op->op.name = RECORDING_NONE;
    op->op.stream = draft_stream_of(draft, stream[0].number,
                                    stream[1].kind == LINE_NULL ? 0 : stream[1].number);
    return op;
}

/* Returns what memory a copy was from or to; a word that is not known is refused. */
static uint8_t host_memory(struct draft *draft, const struct line_value *value)
{
    static const struct draft_word memories[] = {{"pageable", HOST_MEMORY_PAGEABLE},
                                                 {"pinned", HOST_MEMORY_PINNED},
                                                 {"device", HOST_MEMORY_UNKNOWN},
                                                 {"array", HOST_MEMORY_UNKNOWN},
                                                 {"managed", HOST_MEMORY_UNKNOWN},
                                                 {"unknown", HOST_MEMORY_UNKNOWN},
                                                 {NULL, -1}};
    const int memory = value->kind != LINE_NULL ? draft_meaning(value->text, memories)
                                                : (int)HOST_MEMORY_UNKNOWN;
    if (memory < 0)
        draft_refuse_word(draft, "the kind of memory", value->text);
    return (uint8_t)memory;
}

static bool is_device(const struct line_value *memory)
{
    return memory->kind != LINE_NULL && strcmp(memory->text, "device") == 0;
}

void take_op(struct draft *draft, const struct line_value *v)
{
    enum { H2H = OP_KIND_COUNT };
    static const struct draft_word kinds[] = {
        {"h2d", OP_H2D}, {"d2h", OP_D2H},   {"d2d", OP_D2D}, {"memset", OP_MEMSET},
        {"h2h", H2H},    {"peer", OP_PEER}, {NULL, -1}};
    const int kind = draft_meaning(v[2].text, kinds);
    if (kind < 0)
        draft_refuse_word(draft, "the kind of op", v[2].text);
    const uint8_t from = host_memory(draft, &v[8]), to = host_memory(draft, &v[9]);
    struct draft_op *op = add_op(draft, &v[1], &v[3], v[10].number);
    if (op == NULL)
        return;
    op->op.kind = (uint8_t)(kind < OP_KIND_COUNT ? kind : OP_KERNEL);
    op->op.bytes = v[7].number;
    op->op.from = from;
    op->op.to = to;
    op->op.h2h = kind == H2H;
    op->op.staged = op_is_copy(op->op.kind) && is_device(&v[8]) && is_device(&v[9]);
}

void take_kernel(struct draft *draft, const struct line_value *v)
{
    struct draft_op *op = add_op(draft, &v[1], &v[2], v[11].number);
    if (op == NULL)
        return;
    op->name = v[6].number;
    op->op.kind = OP_KERNEL;
    op->op.blocks = v[7].number < UINT32_MAX ? (uint32_t)v[7].number : UINT32_MAX;
    op->op.need.threads = (uint32_t)v[8].number;
    op->op.need.registers = (uint32_t)v[9].number;
    op->op.need.shared = (uint32_t)v[10].number;
}
