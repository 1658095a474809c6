/* alloc.c - device memory that a program takes for each tile and gives back, in the loop.
 *
 * There is a pointer for each slot: the loop's tile has its memory there as long as it is on
 * the device. */
#include "emit/parts.h"

static bool is_value(const struct emit_program *program, enum buffer buffer)
{
    return buffer == BUFFER_DEVICE_OUT && emit_reduction(program) != NULL;
}

/* --- the text --- */

void emit_pointers(const struct emit_program *program, const char *name, char text[EMIT_TEXT])
{
    snprintf(text, EMIT_TEXT, "*%s[%s]", name,
             program->slots == 1          ? "1"
             : emit_shares_slots(program) ? emit_slots_name(program)
                                          : emit_tiles_name(program));
}

/* Returns why memory is taken or given back there; it is said once, of the first buffer. */
static const char *why(const struct emit_program *program, enum alloc_action action,
                       enum buffer buffer)
{
    const enum alloc alloc = program->plan->alloc;
    if (buffer != BUFFER_DEVICE_IN0)
        return NULL;
    if (alloc == ALLOC_LOOP)
        return action == ALLOC_TAKE ? "the tile's own memory"
                                    : "it waits for all that the device does: nothing overlaps";
    if (action == ALLOC_GIVE)
        return "it goes back behind what the stream has done before";
    return alloc == ALLOC_POOL ? "in the stream's order, from a pool that keeps what comes back"
                               : "in the stream's order: the host goes on";
}

void emit_put_action(FILE *out, int indent, const struct emit_program *program,
                     const struct loop_item *item, const char *stream)
{
    char at[EMIT_TEXT], bytes[EMIT_TEXT];
    const enum alloc alloc = program->plan->alloc;
    const char *comment = why(program, item->action, item->buffer);
    emit_address(program, item->buffer, false, at);
    snprintf(bytes, sizeof bytes, "%s", emit_bytes_name(program, item->buffer));
    if (is_value(program, item->buffer))
        snprintf(bytes, sizeof bytes, "sizeof(%s)",
                 emit_type(plan_last_kernel(program->plan)->out));
    else if (!program->even)
        snprintf(bytes, sizeof bytes, "TILE * sizeof(%s)",
                 emit_type(program->plan->chain[0]->in));
    if (item->action == ALLOC_GIVE && alloc == ALLOC_LOOP)
        emit_put(out, indent, comment, "CHECK(cudaFree(%s));", at);
    else if (item->action == ALLOC_GIVE)
        emit_put(out, indent, comment, "CHECK(cudaFreeAsync(%s, %s));", at, stream);
    else if (alloc == ALLOC_LOOP)
        emit_put(out, indent, comment, "CHECK(cudaMalloc(&%s, %s));", at, bytes);
    else if (alloc == ALLOC_ASYNC)
        emit_put(out, indent, comment, "CHECK(cudaMallocAsync(&%s, %s, %s));", at, bytes,
                 stream);
    else
        emit_put(out, indent, comment, "CHECK(cudaMallocFromPoolAsync(&%s, %s, pool, %s));", at,
                 bytes, stream);
}
