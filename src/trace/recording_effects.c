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
    struct draft_effect *item;
    *made = NULL;
    ADD(item, draft->effects);
    item->call = v[1].number;
    item->made.effect = (uint8_t)effect;
    *made = &item->made;
    return draft_stream_of(draft, v[2].number, number, &item->made.stream);
}

enum status draft_take_effect(struct draft *draft, enum recorded_effect effect,
                              const struct line_value *v, const size_t *into, int count)
{
    struct recorded_call *made;
    enum status status = add_effect(draft, effect, v, v[3].number, &made);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        memcpy((char *)made + into[i], &v[4 + i].number, sizeof v[0].number);
    return status;
}

enum status take_copy(struct draft *draft, const struct line_value *v)
{
    struct recorded_call *made;
    enum status status = add_effect(draft, EFFECT_COPY, v, v[3].number, &made);
    if (status == STATUS_OK) {
        made->copy.to = v[4].number;
        made->copy.from = v[5].number;
        made->copy.width = made->copy.to_pitch = made->copy.from_pitch = v[6].number;
        made->copy.height = 1;
        made->copy.hash = line_is_whole(&v[7]) ? (uint32_t)v[7].number : 0;
    }
    return status;
}

enum status take_copy2d(struct draft *draft, const struct line_value *v)
{
    struct recorded_call *made;
    enum status status = add_effect(draft, EFFECT_COPY, v, v[3].number, &made);
    if (status == STATUS_OK) {
        made->copy.to = v[4].number;
        made->copy.to_pitch = v[5].number;
        made->copy.from = v[6].number;
        made->copy.from_pitch = v[7].number;
        made->copy.width = v[8].number;
        made->copy.height = v[9].number;
        made->copy.hash = line_is_whole(&v[10]) ? (uint32_t)v[10].number : 0;
    }
    return status;
}

enum status take_from(struct draft *draft, const struct line_value *v)
{
    const uint16_t row = host_call_library(v[2].text);
    struct draft_maker *maker;
    if (row == 0)
        return STATUS_OK;
    ADD(maker, draft->makers);
    *maker = (struct draft_maker){.call = v[1].number, .row = row};
    return STATUS_OK;
}

enum status take_launch(struct draft *draft, const struct line_value *v)
{
    struct recorded_call *made;
    enum status status = add_effect(draft, EFFECT_LAUNCH, v, v[3].number, &made);
    if (status != STATUS_OK || v[4].text == NULL)
        return status;
    return draft_take_words(draft, v[4].text, &made->known, &made->launch.first_word,
                            &made->launch.word_count);
}

enum status take_sync(struct draft *draft, const struct line_value *v)
{
    static const char *const whats[] = {"device", "stream", "event", NULL};
    static const enum recorded_effect effects[] = {EFFECT_SYNC_DEVICE, EFFECT_SYNC_STREAM,
                                                   EFFECT_SYNC_EVENT};
    struct recorded_call *made;
    int what = draft_word_of(v[2].text, whats);
    if (what < 0)
        return draft_refuse_word(draft, "what the call waits for,", v[2].text);
    bool stream = effects[what] == EFFECT_SYNC_STREAM;
    if (stream && v[4].kind != LINE_NULL && v[4].number > RECORDING_NONE)
        return trace_refuse(&draft->text, "%" PRIu64 " is no number of a stream", v[4].number);
    const struct line_value call[] = {v[0], v[1], v[3]};
    enum status status =
        add_effect(draft, effects[what], call,
                   stream && v[4].kind != LINE_NULL ? v[4].number : RECORDING_NONE, &made);
    if (status == STATUS_OK && effects[what] == EFFECT_SYNC_EVENT)
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
    if (status == STATUS_OK && known) {
        made->known = true;
        made->function.start_ns = (int64_t)v[4].number;
        made->function.end_ns = (int64_t)v[5].number;
    }
    return status;
}

/* --- ops --- */

static const char *const memories[] = {"pageable", "pinned",  "device", "array",
                                       "managed",  "unknown", NULL};

static uint8_t host_memory(int kind)
{
    return (uint8_t)(kind == 0   ? HOST_MEMORY_PAGEABLE
                     : kind == 1 ? HOST_MEMORY_PINNED
                                 : HOST_MEMORY_UNKNOWN);
}

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

enum status take_op(struct draft *draft, const struct line_value *v)
{
    static const char *const kinds[] = {"h2d", "d2h", "d2d", "memset", "h2h", "peer", NULL};
    static const uint8_t known[] = {OP_H2D, OP_D2H, OP_D2D, OP_MEMSET, OP_KERNEL, OP_KERNEL};
    struct draft_op *op;
    int kind = draft_word_of(v[2].text, kinds), from = draft_word_of(v[8].text, memories),
        to = draft_word_of(v[9].text, memories);
    if (kind < 0)
        return draft_refuse_word(draft, "the kind of op", v[2].text);
    if ((from < 0 && v[8].kind != LINE_NULL) || (to < 0 && v[9].kind != LINE_NULL))
        return draft_refuse_word(draft, "the kind of memory", from < 0 ? v[8].text : v[9].text);
    enum status status = add_op(draft, &v[1], &v[3], v[10].number, &op);
    if (status != STATUS_OK || op == NULL)
        return status;
    op->op.kind = known[kind];
    op->op.bytes = v[7].number;
    op->op.from = host_memory(from);
    op->op.to = host_memory(to);
    op->op.h2h = kind == 4;
    op->op.peer = kind == 5;
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
    op->op.threads = (uint32_t)v[8].number;
    op->op.registers = (uint32_t)v[9].number;
    op->op.shared = (uint32_t)v[10].number;
    return STATUS_OK;
}
