/* pack.c - tiles that the CPU packs into page-locked memory, and unpacks from there: that
 * in a program, between the calls of its loop.
 *
 * A slot of the host's stands for each of the device's. Before a batch is packed into a slot
 * the host takes back the one that had it: it waits for the copy out, and unpacks what came.
 * Of several devices each has such slots, and one thread packs for all. */
#include "emit/parts.h"

bool emit_packs(const struct emit_program *program)
{
    return program->plan->packs;
}

bool emit_unpacks(const struct emit_program *program)
{
    return emit_packs(program) && emit_reduction(program) == NULL;
}

/* Returns true if a batch is several pieces of the host's memory: tiles, or their rows. */
bool emit_packs_pieces(const struct emit_program *program)
{
    return emit_in_columns(program) || (emit_in_places(program) && emit_in_batches(program));
}

/* --- the calls --- */

/* Writes that a batch goes from `from` to `to`, of which one is packed. */
static void put_move(FILE *out, int indent, const struct emit_program *program,
                     enum buffer host, enum buffer packed)
{
    const bool inwards = host != BUFFER_HOST_OUT;
    char at[EMIT_TEXT], slot[EMIT_TEXT];
    emit_address(program, packed, false, slot);
    if (emit_packs_pieces(program)) {
        const char *array = emit_buffer_name(program, host);
        emit_put(out, indent, NULL, "%s(%s, %s, %s%s, %s);", inwards ? "pack" : "unpack",
                 inwards ? slot : array, inwards ? array : slot, emit_index_name(program),
                 emit_in_batches(program) ? " * BATCH" : "",
                 emit_in_batches(program) ? "tiles" : "1");
        return;
    }
    emit_address(program, host, false, at);
    emit_put(out, indent, NULL, "copy_on_host(%s, %s, %s);", inwards ? slot : at,
             inwards ? at : slot,
             !program->even             ? "count"
             : emit_in_batches(program) ? "tiles * TILE"
                                        : "TILE");
}

void emit_put_pack(FILE *out, int indent, const struct emit_program *program)
{
    for (int input = 0; input < emit_inputs(program); input++)
        put_move(out, indent, program, (enum buffer)(BUFFER_HOST_IN0 + input),
                 (enum buffer)(BUFFER_HOST_PACK_IN0 + input));
}

void emit_put_take_back(FILE *out, int indent, const struct emit_program *program)
{
    char event[EMIT_TEXT];
    emit_event_name(program, program->stage_count - 1, RELATION_OWN, event);
    emit_put(out, indent, "the host waits until the copy out has ended",
             "CHECK(cudaEventSynchronize(%s));", event);
    if (emit_unpacks(program))
        put_move(out, indent, program, BUFFER_HOST_OUT, BUFFER_HOST_PACK_OUT);
}

void emit_put_rest(FILE *out, const struct emit_program *program)
{
    const char *index = emit_index_name(program), *all = emit_batches_name(program);
    char first[EMIT_TEXT] = "0", slots[EMIT_NAME];
    if (!emit_packs(program))
        return;
    if (emit_all_slots(program) < program->batches)
        snprintf(first, sizeof first, "%s - %s", all, emit_all_slots_name(program, slots));
    emit_put(out, 4, "those still under way",
             "for (size_t %s = %s; %s < %s; %s++) take_back(%s);", index, first, index, all,
             index, index);
}
