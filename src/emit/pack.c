/* pack.c - tiles that the CPU packs into page-locked memory, and unpacks from there: that
 * in a program, between the calls of its loop.
 *
 * A slot of the host's stands for each of the device's. Before a batch is packed into a slot
 * the host takes back the one that had it: it waits for the copy out, and unpacks what came.
 * Of several devices each has such slots, and one thread packs for all. */
#include "emit/parts.h"

enum { AT_A_TIME = 65536 /* bytes that a core copies at a time, about */ };

bool emit_packs(const struct emit_program *program)
{
    return program->plan->packs;
}

bool emit_unpacks(const struct emit_program *program)
{
    return emit_packs(program) && emit_reduction(program) == NULL;
}

/* Returns true if a batch is several pieces of the host's memory: tiles, or their rows. */
static bool goes_in_pieces(const struct emit_program *program)
{
    return emit_in_columns(program) || (emit_in_places(program) && emit_in_batches(program));
}

/* --- the functions --- */

/* Writes what a core takes at a time, and how many cores share: to wake them all for a few
 * pieces takes many times as long as packing. */
static void put_share(FILE *out, const struct emit_program *program)
{
    fprintf(out,
            "const size_t CHUNK = %zu; // elements that a core packs in the time that "
            "waking another takes\n",
            AT_A_TIME / dtype_bytes(program->plan->chain[0]->in));
    fprintf(out, "inline int cores_for(size_t count) {\n"
                 "    const size_t cores = std::thread::hardware_concurrency(); // 0: unknown\n"
                 "    return std::max<size_t>(1, std::min(cores, count / CHUNK + 1));\n"
                 "}\n\n");
}

/* Writes a function that copies a batch's tiles, or their rows, one way. */
static void put_pieces(FILE *out, const struct emit_program *program, bool inwards)
{
    const char *type = emit_type(program->plan->chain[0]->in);
    const bool columns = emit_in_columns(program);
    char host[EMIT_TEXT], packed[EMIT_TEXT];
    snprintf(host, sizeof host, columns ? "%s[row][first + i]" : "%s[place[first + i]] + at",
             inwards ? "from" : "to");
    snprintf(packed, sizeof packed,
             columns ? "%s + (i * ROWS + row) * WIDTH" : "%s + i * TILE + at",
             inwards ? "to" : "from");
    if (inwards)
        emit_put(out, 0, NULL,
                 "static void pack(%s *to, %s (*from)%s, size_t first, size_t tiles) {", type,
                 type, emit_host_row(program));
    else
        emit_put(out, 0, NULL,
                 "static void unpack(%s (*to)%s, const %s *from, size_t first, size_t tiles) {",
                 type, emit_host_row(program), type);
    fprintf(out, "#pragma omp parallel for collapse(2) num_threads(cores_for(tiles * TILE))\n");
    emit_put(out, 4, NULL, "for (size_t i = 0; i < tiles; i++)");
    emit_put(out, 8, NULL,
             columns ? "for (size_t row = 0; row < ROWS; row++)"
                     : "for (size_t at = 0; at < TILE; at += CHUNK)");
    emit_put(out, 12, NULL, "memcpy(%s, %s,%s", inwards ? packed : host,
             inwards ? host : packed, columns ? " ROW);" : "");
    if (!columns)
        emit_put(out, 19, NULL, "std::min(CHUNK, TILE - at) * sizeof(%s));", type);
    fprintf(out, "}\n\n");
}

/* Writes the function for batches that are one piece of the host's memory. */
static void put_piece(FILE *out, const struct emit_program *program)
{
    const char *type = emit_type(program->plan->chain[0]->in);
    emit_put(out, 0, NULL, "static void copy_on_host(%s *to, const %s *from, size_t count) {",
             type, type);
    fprintf(out, "#pragma omp parallel for num_threads(cores_for(count))\n"
                 "    for (size_t at = 0; at < count; at += CHUNK)\n");
    emit_put(out, 8, NULL,
             "memcpy(to + at, from + at, std::min(CHUNK, count - at) * sizeof(%s));", type);
    fprintf(out, "}\n\n");
}

void emit_pack_functions(FILE *out, const struct emit_program *program)
{
    if (!emit_packs(program))
        return;
    put_share(out, program);
    fprintf(out,
            "// The CPU's cores share in this, with -fopenmp. Meanwhile what was issued before "
            "goes on.\n");
    if (!goes_in_pieces(program)) {
        put_piece(out, program);
        return;
    }
    put_pieces(out, program, true);
    if (emit_unpacks(program))
        put_pieces(out, program, false);
}

/* The arrays of packed tiles. */
static const struct {
    const char *name;
    enum buffer buffer;
} arrays[] = {{"packed_in", BUFFER_HOST_PACK_IN0},
              {"packed_in2", BUFFER_HOST_PACK_IN1},
              {"packed_out", BUFFER_HOST_PACK_OUT}};
enum { ARRAYS = sizeof arrays / sizeof *arrays };

static bool has_array(const struct emit_program *program, enum buffer buffer)
{
    return buffer == BUFFER_HOST_PACK_IN1   ? emit_inputs(program) == 2
           : buffer == BUFFER_HOST_PACK_OUT ? emit_unpacks(program)
                                            : emit_packs(program);
}

void emit_pack_variables(FILE *out, const struct emit_program *program)
{
    const char *each = emit_each_device(program);
    char text[EMIT_LINE];
    if (!emit_packs(program))
        return;
    int length =
        snprintf(text, sizeof text, "static %s", emit_type(program->plan->chain[0]->in));
    for (int i = 0; i < ARRAYS; i++) {
        if (has_array(program, arrays[i].buffer))
            length += snprintf(text + length, sizeof text - (size_t)length,
                               program->even ? "%s(*%s%s)[TILE]" : "%s*%s%s",
                               i > 0 ? ", " : " ", arrays[i].name, each);
    }
    char why[EMIT_LINE];
    snprintf(why, sizeof why, "%slots that the CPU packs tiles into%s",
             emit_has_devices(program) ? "each device's s" : "s",
             emit_unpacks(program) ? ", and unpacks from" : "");
    emit_put(out, 0, why, "%s;", text);
}

void emit_pack_memory(FILE *out, const struct emit_program *program, const char *bytes)
{
    for (int i = 0; i < ARRAYS && emit_packs(program); i++) {
        if (has_array(program, arrays[i].buffer))
            emit_put(out, 4, i == 0 ? "page-locked, whatever the arrays are" : NULL,
                     "CHECK(cudaMallocHost(&%s%s, %s));", arrays[i].name,
                     emit_of_device(program), bytes);
    }
}

void emit_pack_poison(FILE *out, int indent, const struct emit_program *program,
                      const char *bytes)
{
    for (int i = 0; i < ARRAYS && emit_packs(program); i++) {
        if (has_array(program, arrays[i].buffer))
            emit_put(out, indent, i == 0 ? "what the run before has packed is gone" : NULL,
                     "memset(%s%s, 0xFF, %s);", arrays[i].name, emit_of_device(program), bytes);
    }
}

/* --- the calls --- */

/* Writes that a batch goes from `from` to `to`, of which one is packed. */
static void put_move(FILE *out, int indent, const struct emit_program *program,
                     enum buffer host, enum buffer packed)
{
    const bool inwards = host != BUFFER_HOST_OUT;
    char at[EMIT_TEXT], slot[EMIT_TEXT];
    emit_address(program, packed, false, slot);
    if (goes_in_pieces(program)) {
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
