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

/* Writes a condition that says more than between which batches; returns false if it is none. */
static bool put_plain(const struct emit_program *program, const struct loop_item *item,
                      bool single, char text[EMIT_LINE])
{
    const char *index = emit_index_name(program), *all = emit_batches_name(program);
    const bool ends = item->to == program->batches, deals = emit_deals_devices(program);
    const bool once = item->relation == RELATION_ONCE || item->relation == RELATION_LAST;
    const uint32_t dealt =
        program->streams < program->batches ? program->streams : program->batches;
    if (item->from == 1 && ends && (item->carries || item->relation == RELATION_AHEAD))
        snprintf(text, EMIT_LINE, "%s > 0", index);
    else if (!deals && item->relation == RELATION_ONCE && emit_deals_streams(program) &&
             item->from == 1 && item->to == dealt)
        snprintf(text, EMIT_LINE, "%s > 0 && %s < STREAMS", index, index);
    else if (item->from == 0 && item->to + 1 == program->batches && !(deals && once))
        snprintf(text, EMIT_LINE, "%s + 1 < %s", index, all);
    else if (single && ends && item->from > 0)
        snprintf(text, EMIT_LINE, "%s == %s - 1", index, all);
    else if (single)
        snprintf(text, EMIT_LINE, "%s == %" PRIu32, index, item->from);
    else
        return false;
    return true;
}

/* Writes between which batches an item is; `from_slots` and `to_slots`: by how many slots there
 * are. Of several devices, batches begin, and end, with one of each. */
static void put_bounds(const struct emit_program *program, const struct loop_item *item,
                       bool from_slots, bool to_slots, char text[EMIT_LINE])
{
    const char *index = emit_index_name(program), *all = emit_batches_name(program);
    const uint32_t devices = program->devices;
    const bool deals = emit_deals_devices(program);
    char name[EMIT_NAME];
    const char *slots = emit_all_slots_name(program, name);
    if (deals && item->relation == RELATION_LAST && item->kind == OP_RECORD &&
        item->from + devices == program->batches)
        snprintf(text, EMIT_LINE, "%s + DEVICES >= %s", index, all);
    else if (deals && item->from == devices && program->slots > 1)
        snprintf(text, EMIT_LINE, "%s >= DEVICES", index);
    else if (from_slots)
        snprintf(text, EMIT_LINE, "%s >= %s", index, slots);
    else if (item->from > 0)
        snprintf(text, EMIT_LINE, "%s >= %" PRIu32, index, item->from);
    if (item->to == program->batches)
        return;
    if (to_slots)
        text_add(text, EMIT_LINE, " && ", "%s + %s < %s", index, slots, all);
    else if (deals && item->to == devices)
        text_add(text, EMIT_LINE, " && ", "%s < DEVICES", index);
    else if (emit_deals_streams(program) && item->to == devices * program->streams)
        text_add(text, EMIT_LINE, " && ", "%s < %sSTREAMS", index, deals ? "DEVICES * " : "");
    else
        text_add(text, EMIT_LINE, " && ", "%s < %" PRIu32, index, item->to);
}

const char *emit_when(const struct emit_program *program, char text[EMIT_LINE])
{
    const struct loop_item *item = program->item;
    const uint32_t batches = program->batches, slots = emit_all_slots(program);
    const bool deals = emit_deals_devices(program), last = item->relation == RELATION_LAST;
    const bool once = item->relation == RELATION_ONCE || last;
    /* A condition that follows from the slots is written by them, also where it comes to one
     * batch: it stays right when somebody changes how many tiles there are. */
    const bool by_slots =
        deals || ((emit_shares_slots(program) || program->slots == 1) && !last);
    const bool from_slots = by_slots && item->from == slots;
    const bool to_slots = by_slots && item->to + slots == batches && !(deals && once);
    const bool single = !deals && item->to == item->from + 1 && !from_slots && !to_slots;
    text[0] = '\0';
    if (item->relation == RELATION_ONCE && item->kind == OP_RECORD)
        condition_before(program, item, text);
    else if (!program->beside_loop && (item->from > 0 || item->to < batches) &&
             !put_plain(program, item, single, text))
        put_bounds(program, item, from_slots, to_slots, text);
    return text;
}
