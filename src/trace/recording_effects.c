/* recording_effects.c - what is kept of lines about calls and ops. */
#include "trace/recording_draft.h"

#include <inttypes.h>
#include <string.h>

/* --- calls --- */

/* Returns the row of a call: a program makes few kinds of them, each many times. */
static uint16_t row_of(struct draft *draft, const char *name)
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

enum status take_call(struct draft *draft, const struct line_value *v)
{
    struct recorded_call *call;
    uint32_t thread;
    if (v[1].number == DRAFT_NO_CALL)
        return trace_refuse(&draft->text, "no call can have that id");
    if (v[5].number < v[4].number)
        return trace_refuse(&draft->text, "the call ends before it starts");
    if (!names_number(&draft->threads, &v[3].number, sizeof v[3].number, &thread))
        return draft_no_memory(draft);
    ADD(call, draft->calls);
    call->id = v[1].number;
    call->row = row_of(draft, v[2].text);
    call->thread = thread;
    call->start_ns = (int64_t)v[4].number;
    call->end_ns = (int64_t)v[5].number;
    call->result = signed_of(&v[6]);
    call->stream = RECORDING_NONE;
    return place_add(draft, &draft->call_places, call->id, 0);
}

/* Adds what call v[1] did, in the stream that v[2] and `number` name. */
static enum status add_effect(struct draft *draft, enum recorded_effect effect,
                              const struct line_value *v, uint64_t number,
                              struct recorded_call **made)
{
    struct recorded_call *item = *made = pile_add(&draft->effects, sizeof *item);
    if (item == NULL)
        return draft_no_memory(draft);
    item->id = v[1].number;
    item->effect = (uint8_t)effect;
    return draft_stream_of(draft, v[2].number, number, &item->stream);
}

struct recorded_bytes *draft_bytes(struct draft *draft, struct recorded_call *made)
{
    struct recorded_bytes *copy = arena_zeros(&draft->recording->arena, 1, sizeof *copy);
    if (copy != NULL)
        copy->height = 1;
    made->copy = copy;
    return copy;
}

enum status take_effect(struct draft *draft, enum recorded_effect effect,
                        const struct line_value *v, const size_t *into, int count)
{
    struct recorded_call *made;
    enum status status = add_effect(draft, effect, v, v[3].number, &made);
    const bool bytes = effect == EFFECT_COPY || effect == EFFECT_SET;
    if (status != STATUS_OK)
        return status;
    struct recorded_bytes *copy = bytes ? draft_bytes(draft, made) : NULL;
    if (bytes && copy == NULL)
        return draft_no_memory(draft);
    for (int i = 0; i < count; i++)
        memcpy((bytes ? (char *)copy : (char *)made) + into[i], &v[4 + i].number,
               sizeof v[0].number);
    if (effect == EFFECT_COPY) {
        if (count == 3) /* in one piece */
            copy->to_pitch = copy->from_pitch = copy->width;
        copy->hash = line_is_whole(&v[4 + count]) ? (uint32_t)v[4 + count].number : 0;
    }
    return STATUS_OK;
}

enum status take_from(struct draft *draft, const struct line_value *v)
{
    const uint16_t row = host_call_library(v[2].text);
    struct draft_maker *maker;
    ADD(maker, draft->makers);
    draft->libraries |= row != 0;
    *maker = (struct draft_maker){.call = v[1].number, .row = row};
    return STATUS_OK;
}

enum status take_launch(struct draft *draft, const struct line_value *v)
{
    struct recorded_call *made;
    enum status status = add_effect(draft, EFFECT_LAUNCH, v, v[3].number, &made);
    if (status != STATUS_OK || v[4].text == NULL)
        return status;
    made->launch.touched = v[5].kind == LINE_LIST;
    status = draft_take_words(draft, v[made->launch.touched ? 5 : 4].text, &made->known,
                              &made->launch.first_word, &made->launch.word_count);
    if (status == STATUS_OK && made->launch.touched && made->launch.word_count % 3 != 0)
        return trace_refuse(&draft->text, "what a launch touched comes in threes");
    return status;
}

enum status take_sync(struct draft *draft, const struct line_value *v)
{
    static const struct draft_word whats[] = {{"device", EFFECT_SYNC_DEVICE},
                                              {"stream", EFFECT_SYNC_STREAM},
                                              {"event", EFFECT_SYNC_EVENT},
                                              {NULL, EFFECT_NONE}};
    struct recorded_call *made;
    const enum recorded_effect what = (enum recorded_effect)draft_meaning(v[2].text, whats);
    if (what == EFFECT_NONE)
        return draft_refuse_word(draft, "what the call waits for,", v[2].text);
    bool stream = what == EFFECT_SYNC_STREAM;
    if (stream && v[4].kind != LINE_NULL && v[4].number > RECORDING_NONE)
        return trace_refuse(&draft->text, "%" PRIu64 " is no number of a stream", v[4].number);
    const struct line_value call[] = {v[0], v[1], v[3]};
    enum status status =
        add_effect(draft, what, call,
                   stream && v[4].kind != LINE_NULL ? v[4].number : RECORDING_NONE, &made);
    if (status == STATUS_OK && what == EFFECT_SYNC_EVENT)
        made->event = v[4].number;
    return status;
}

enum status take_function(struct draft *draft, const struct line_value *v)
{
    struct recorded_call *made;
    bool known = v[4].kind != LINE_NULL && v[5].kind != LINE_NULL;
    if (known && v[5].number < v[4].number)
        return trace_refuse(&draft->text, "the function ends before it starts");
    enum status status = add_effect(draft, EFFECT_FUNCTION, v, v[3].number, &made);
    if (status != STATUS_OK || !known)
        return status;
    struct recorded_times *times = arena_zeros(&draft->recording->arena, 1, sizeof *times);
    if (times == NULL)
        return draft_no_memory(draft);
    *times = (struct recorded_times){(int64_t)v[4].number, (int64_t)v[5].number};
    made->known = true;
    made->function = times;
    return STATUS_OK;
}

/* --- ops --- */

/* Adds an op with what all kinds of them have; *op is NULL where its times are not known. */
static enum status add_op(struct draft *draft, const struct line_value *call,
                          const struct line_value *stream, uint64_t node, struct draft_op **op)
{
    const struct line_value *start = &stream[2], *end = &stream[3];
    *op = NULL;
    if (start->kind == LINE_NULL || end->kind == LINE_NULL) {
        draft->recording->lost++;
        return STATUS_OK;
    }
    if (end->number < start->number)
        return trace_refuse(&draft->text, "the op ends before it starts");
    ADD(*op, draft->ops);
    (*op)->call = call->number;
    (*op)->name = DRAFT_NO_CALL;
    (*op)->op.start_ns = (int64_t)start->number;
    (*op)->op.end_ns = (int64_t)end->number;
    (*op)->op.node = node;
    (*op)->op.name = RECORDING_NONE;
    return draft_stream_of(draft, stream[0].number,
                           stream[1].kind == LINE_NULL ? 0 : stream[1].number,
                           &(*op)->op.stream);
}

/* Returns what memory a copy was from or to; -1: a word that is not known. */
static int host_memory(const struct line_value *value)
{
    static const struct draft_word memories[] = {{"pageable", HOST_MEMORY_PAGEABLE},
                                                 {"pinned", HOST_MEMORY_PINNED},
                                                 {"device", HOST_MEMORY_UNKNOWN},
                                                 {"array", HOST_MEMORY_UNKNOWN},
                                                 {"managed", HOST_MEMORY_UNKNOWN},
                                                 {"unknown", HOST_MEMORY_UNKNOWN},
                                                 {NULL, -1}};
    return value->kind != LINE_NULL ? draft_meaning(value->text, memories)
                                    : HOST_MEMORY_UNKNOWN;
}

enum status take_op(struct draft *draft, const struct line_value *v)
{
    enum { H2H = OP_KIND_COUNT };
    static const struct draft_word kinds[] = {
        {"h2d", OP_H2D}, {"d2h", OP_D2H},   {"d2d", OP_D2D}, {"memset", OP_MEMSET},
        {"h2h", H2H},    {"peer", OP_PEER}, {NULL, -1}};
    struct draft_op *op;
    const int kind = draft_meaning(v[2].text, kinds), from = host_memory(&v[8]),
              to = host_memory(&v[9]);
    if (kind < 0)
        return draft_refuse_word(draft, "the kind of op", v[2].text);
    if (from < 0 || to < 0)
        return draft_refuse_word(draft, "the kind of memory", from < 0 ? v[8].text : v[9].text);
    enum status status = add_op(draft, &v[1], &v[3], v[10].number, &op);
    if (status != STATUS_OK || op == NULL)
        return status;
    op->op.kind = (uint8_t)(kind < OP_KIND_COUNT ? kind : OP_KERNEL);
    op->op.bytes = v[7].number;
    op->op.from = (uint8_t)from;
    op->op.to = (uint8_t)to;
    op->op.h2h = kind == H2H;
    return STATUS_OK;
}

enum status take_kernel(struct draft *draft, const struct line_value *v)
{
    struct draft_op *op;
    enum status status = add_op(draft, &v[1], &v[2], v[11].number, &op);
    if (status != STATUS_OK || op == NULL)
        return status;
    op->name = v[6].number;
    op->op.kind = OP_KERNEL;
    op->op.blocks = v[7].number < UINT32_MAX ? (uint32_t)v[7].number : UINT32_MAX;
    op->op.need.threads = (uint32_t)v[8].number;
    op->op.need.registers = (uint32_t)v[9].number;
    op->op.need.shared = (uint32_t)v[10].number;
    return STATUS_OK;
}
