/* memory.c - memory in a program beside what it takes before its runs: of the device for each
 * tile, page-locked within a run, managed memory's pages, which go to the device with
 * prefetches or when a kernel touches them, and what the CPU packs tiles into. */
#include "emit/parts.h"
#include "plan/host_layout.h"

#include <inttypes.h>

/* --- the device's memory, taken for each tile and given back ---
 *
 * There is a pointer for each slot: the loop's tile has its memory there as long as it is on
 * the device. */

static bool is_value(const struct emit_program *program, enum buffer buffer)
{
    return buffer == BUFFER_DEVICE_OUT && emit_reduction(program) != NULL;
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

/* --- page-locked memory that is taken and given back within each run --- */

/* Writes the bytes of all host arrays: by the program's constants where these are inputs and
 * results of N elements, or a value for each tile, and no more; as a number elsewhere. */
static void array_bytes(const struct emit_program *program, char text[EMIT_LINE])
{
    const struct plan *plan = program->plan;
    const struct kernel *reduction = emit_reduction(program);
    const uint64_t all = plan_host_bytes(plan), size = dtype_bytes(plan->chain[0]->in);
    const uint64_t arrays = (uint64_t)emit_inputs(program) + (reduction == NULL ? 1 : 0);
    const uint64_t values =
        reduction != NULL ? plan->tiles * (uint64_t)dtype_bytes(reduction->out) : 0;
    char times[EMIT_NAME] = "";
    if (all != arrays * plan->elements * size + values) {
        snprintf(text, EMIT_LINE, "%" PRIu64, all);
        return;
    }
    if (arrays > 1)
        snprintf(times, sizeof times, "%" PRIu64 " * ", arrays);
    const int length =
        snprintf(text, EMIT_LINE, "%sN * sizeof(%s)", times, emit_input_type(program));
    if (reduction != NULL)
        snprintf(text + length, (size_t)(EMIT_LINE - length), " + TILES * sizeof(%s)",
                 emit_output_type(program));
}

void emit_put_pin(FILE *out, int indent, const struct emit_program *program)
{
    char bytes[EMIT_LINE];
    array_bytes(program, bytes);
    emit_put(out, indent, "the mistake: page-locking takes a part of the time that counts",
             "void *memory;");
    emit_put(
        out, indent,
        "as much as the arrays have: taken once, before all runs, it would cost them nothing",
        "CHECK(cudaMallocHost(&memory, %s));", bytes);
    emit_put(out, indent, NULL, "CHECK(cudaFreeHost(memory));");
}

/* --- pages of managed memory --- */

/* Returns true if that array is there. */
static bool has_array(const struct emit_program *program, enum buffer buffer)
{
    return buffer != BUFFER_HOST_IN1 || emit_inputs(program) == 2;
}

static const enum buffer arrays[] = {BUFFER_HOST_IN0, BUFFER_HOST_IN1, BUFFER_HOST_OUT};
enum { ARRAYS = sizeof arrays / sizeof *arrays };

/* Returns the bytes of the batch's part of an array. */
static void part_bytes(const struct emit_program *program, enum buffer buffer,
                       char text[EMIT_TEXT])
{
    const struct kernel *reduction = emit_reduction(program);
    if (buffer == BUFFER_HOST_OUT && reduction != NULL)
        snprintf(text, EMIT_TEXT, "sizeof(%s)", emit_type(reduction->out));
    else if (program->even)
        snprintf(text, EMIT_TEXT, "%s", emit_bytes_name(program, buffer));
    else
        snprintf(text, EMIT_TEXT, "count * sizeof(%s)", emit_type(program->plan->chain[0]->in));
}

void emit_put_prefetches(FILE *out, int indent, const struct emit_program *program,
                         bool inwards, const char *stream)
{
    for (int i = 0; i < ARRAYS; i++) {
        char at[EMIT_TEXT], bytes[EMIT_TEXT];
        const bool result = arrays[i] == BUFFER_HOST_OUT;
        if (!has_array(program, arrays[i]) || (!inwards && !result))
            continue;
        emit_address(program, arrays[i], false, at);
        part_bytes(program, arrays[i], bytes);
        emit_put(out, indent, inwards && result ? "the kernel writes its pages there" : NULL,
                 "prefetch(%s, %s, %s, %s);", at, bytes, inwards ? "DEVICE" : "HOST", stream);
    }
}

/* --- tiles that the CPU packs into page-locked memory, and unpacks from there ---
 *
 * A slot of the host's stands for each of the device's. Before a batch is packed into a slot
 * the host takes back the one that had it: it waits for the copy out, and unpacks what came.
 * Of several devices each has such slots, and one thread packs for all. */

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
