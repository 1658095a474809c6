/* when.c - which batches do what a stage does, as a condition in the loop. */
#include "emit/parts.h"

#include <inttypes.h>

/* Writes which devices have an item of what comes before the loops: where not all have it,
 * those that get a second batch, in another stream. */
static void condition_before(const struct emit_program *program, const struct loop_item *item,
                             char text[EMIT_LINE])
{
    if (item->to == program->devices)
        return;
    if (item->to + program->devices == program->batches)
        snprintf(text, EMIT_LINE, "device + DEVICES < %s", emit_batches_name(program));
    else
        snprintf(text, EMIT_LINE, "device < %" PRIu32, item->to);
}

/* Does what emit_condition() does for several devices: their batches begin, and end, with one
 * of each. */
static void condition_on_devices(const struct emit_program *program,
                                 const struct loop_item *item, char text[EMIT_LINE])
{
    const char *index = emit_index_name(program), *all = emit_batches_name(program);
    const uint32_t devices = program->devices, in_slots = emit_all_slots(program);
    char text_of_slots[EMIT_NAME];
    const char *slots = emit_all_slots_name(program, text_of_slots);
    int length = 0;
    const bool once = item->relation == RELATION_ONCE || item->relation == RELATION_LAST;
    if (item->from == 0 && item->to + 1 == program->batches && !once) {
        snprintf(text, EMIT_LINE, "%s + 1 < %s", index, all);
        return;
    }
    if (item->relation == RELATION_LAST && item->kind == OP_RECORD &&
        item->from + devices == program->batches)
        length = snprintf(text, EMIT_LINE, "%s + DEVICES >= %s", index, all);
    else if (item->from == devices && program->slots > 1)
        length = snprintf(text, EMIT_LINE, "%s >= DEVICES", index);
    else if (item->from == in_slots)
        length = snprintf(text, EMIT_LINE, "%s >= %s", index, slots);
    else if (item->from > 0)
        length = snprintf(text, EMIT_LINE, "%s >= %" PRIu32, index, item->from);
    if (item->to == program->batches)
        return;
    const char *and = length > 0 ? " && " : "";
    char *end = text + length;
    const size_t room = (size_t)(EMIT_LINE - length);
    if (item->to + in_slots == program->batches && !once)
        snprintf(end, room, "%s%s + %s < %s", and, index, slots, all);
    else if (item->to == devices)
        snprintf(end, room, "%s%s < DEVICES", and, index);
    else if (emit_deals_streams(program) && item->to == devices * program->streams)
        snprintf(end, room, "%s%s < DEVICES * STREAMS", and, index);
    else
        snprintf(end, room, "%s%s < %" PRIu32, and, index, item->to);
}

const char *emit_when(const struct emit_program *program, char text[EMIT_LINE])
{
    const struct loop_item *item = program->item;
    const char *index = emit_index_name(program);
    const char *all = emit_batches_name(program);
    const uint32_t batches = program->batches, slots = program->slots;
    const bool shares = emit_shares_slots(program);
    const char *slots_name = slots == 1 ? "1" : emit_slots_name(program);
    /* A condition that follows from the slots is written by them, also where it comes to one
     * batch: it stays right when somebody changes how many tiles there are. */
    const bool by_slots = (shares || slots == 1) && item->relation != RELATION_LAST;
    const bool from_slots = by_slots && item->from > 0 && item->from == slots;
    const bool to_slots = by_slots && item->to < batches && item->to + slots == batches;
    const bool single = item->to == item->from + 1 && !from_slots && !to_slots;
    int length = 0;
    text[0] = '\0';
    if (item->relation == RELATION_ONCE && item->kind == OP_RECORD) {
        condition_before(program, item, text);
        return text;
    }
    if (program->beside_loop || (item->from == 0 && item->to == batches))
        return text;
    if (item->from == 1 && item->to == batches &&
        (item->carries || item->relation == RELATION_AHEAD)) {
        snprintf(text, EMIT_LINE, "%s > 0", index);
        return text;
    }
    if (emit_deals_devices(program)) {
        condition_on_devices(program, item, text);
        return text;
    }
    const uint32_t dealt = program->streams < batches ? program->streams : batches;
    if (item->relation == RELATION_ONCE && emit_deals_streams(program) && item->from == 1 &&
        item->to == dealt) {
        snprintf(text, EMIT_LINE, "%s > 0 && %s < STREAMS", index, index);
        return text;
    }
    if (item->from == 0 && item->to + 1 == batches) {
        snprintf(text, EMIT_LINE, "%s + 1 < %s", index, all);
        return text;
    }
    if (single && item->to == batches && item->from > 0) {
        snprintf(text, EMIT_LINE, "%s == %s - 1", index, all);
        return text;
    }
    if (single) {
        snprintf(text, EMIT_LINE, "%s == %" PRIu32, index, item->from);
        return text;
    }
    if (from_slots)
        length = snprintf(text, EMIT_LINE, "%s >= %s", index, slots_name);
    else if (item->from > 0)
        length = snprintf(text, EMIT_LINE, "%s >= %" PRIu32, index, item->from);
    if (item->to == batches)
        return text;
    const char *and = length > 0 ? " && " : "";
    if (to_slots)
        snprintf(text + length, (size_t)(EMIT_LINE - length), "%s%s + %s < %s", and, index,
                 slots_name, all);
    else if (emit_deals_streams(program) && item->to == program->streams)
        snprintf(text + length, (size_t)(EMIT_LINE - length), "%s%s < STREAMS", and, index);
    else
        snprintf(text + length, (size_t)(EMIT_LINE - length), "%s%s < %" PRIu32, and, index,
                 item->to);
    return text;
}
