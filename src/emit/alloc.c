/* alloc.c - device memory that a program takes for each tile and gives back, in the loop.
 *
 * There is a pointer for each slot: the loop's tile has its memory there as long as it is on
 * the device. */
#include "emit/parts.h"

enum { ALIGNMENT = 256 /* of a plan's slots, which cudaMalloc() gives by itself */ };

static bool is_value(const struct emit_program *program, enum buffer buffer)
{
    return buffer == BUFFER_DEVICE_OUT && emit_reduction(program) != NULL;
}

/* --- the proof --- */

/* Returns the bytes that a plan has for a slot: those of the largest tile, rounded up. */
static uint64_t slot_bytes(const struct emit_program *program, enum buffer buffer)
{
    const struct plan *plan = program->plan;
    const uint64_t tile = (plan->elements + plan->tiles - 1) / plan->tiles;
    const uint64_t bytes = is_value(program, buffer) ? dtype_bytes(plan_last_kernel(plan)->out)
                                                     : emit_elements(program, buffer, tile) *
                                                           dtype_bytes(plan->chain[0]->in);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

bool emit_deed_fits(const struct emit_program *program, const struct op *op,
                    const struct emit_item *item, uint32_t batch, uint32_t stream)
{
    const struct plan *plan = program->plan;
    const bool ordered = plan->alloc != ALLOC_LOOP;
    const struct range *range = &op->alloc.range;
    const uint64_t bytes = slot_bytes(program, item->buffer);
    return op->kind == OP_ALLOC && op->tile == (int32_t)plan_batch(plan, batch).first &&
           op->alloc.deed == item->deed && range->buffer == item->buffer &&
           range->offset == batch % program->slots * bytes && range->bytes == bytes &&
           op->alloc.bytes == bytes && op->alloc.ordered == ordered &&
           (!ordered || op->alloc.stream == stream);
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
static const char *why(const struct emit_program *program, enum alloc_deed deed,
                       enum buffer buffer)
{
    const enum alloc alloc = program->plan->alloc;
    if (buffer != BUFFER_DEVICE_IN0)
        return NULL;
    if (alloc == ALLOC_LOOP)
        return deed == ALLOC_TAKE ? "the tile's own memory"
                                  : "it waits for all that the device does: nothing overlaps";
    if (deed == ALLOC_GIVE)
        return "it goes back behind what the stream has done before";
    return alloc == ALLOC_POOL ? "in the stream's order, from a pool that keeps what comes back"
                               : "in the stream's order: the host goes on";
}

void emit_put_deed(FILE *out, int indent, const struct emit_program *program,
                   const struct emit_item *item, const char *stream)
{
    char at[EMIT_TEXT], bytes[EMIT_TEXT];
    const enum alloc alloc = program->plan->alloc;
    const char *comment = why(program, item->deed, item->buffer);
    emit_address(program, item->buffer, false, at);
    snprintf(bytes, sizeof bytes, "%s", emit_bytes_name(program, item->buffer));
    if (is_value(program, item->buffer))
        snprintf(bytes, sizeof bytes, "sizeof(%s)",
                 emit_type(plan_last_kernel(program->plan)->out));
    else if (!program->even)
        snprintf(bytes, sizeof bytes, "TILE * sizeof(%s)",
                 emit_type(program->plan->chain[0]->in));
    if (item->deed == ALLOC_GIVE && alloc == ALLOC_LOOP)
        emit_put(out, indent, comment, "CHECK(cudaFree(%s));", at);
    else if (item->deed == ALLOC_GIVE)
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

void emit_pool_declaration(FILE *out, const struct emit_program *program)
{
    if (program->plan->alloc == ALLOC_POOL)
        fprintf(out, "static cudaMemPool_t pool; // of device memory\n");
}

void emit_pool_creation(FILE *out, const struct emit_program *program)
{
    if (program->plan->alloc != ALLOC_POOL)
        return;
    fprintf(out,
            "    cudaMemPoolProps properties = {};\n"
            "    properties.allocType = cudaMemAllocationTypePinned; // it is never moved\n"
            "    properties.location.type = cudaMemLocationTypeDevice;\n"
            "    properties.location.id = 0;\n"
            "    CHECK(cudaMemPoolCreate(&pool, &properties));\n"
            "    unsigned long long keep = ~0ull; // bytes: else they leave the pool whenever "
            "the host waits\n"
            "    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, "
            "&keep));\n");
}
