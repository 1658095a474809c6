/* scan.c - scans in a program: what they carry from tile to tile, and their check.
 *
 * On the device a tile's kernel reads what comes before the tile where the kernel ahead has
 * left it. By way of the host the tile's own sum is copied out, a host function adds it up, and
 * what that leaves is copied in for the next tile: so it is on several devices, for there the
 * tile ahead is on another one. Each device has a place for each tile, of which it uses those
 * of its own. */
#include "emit/parts.h"

/* --- what a plan has --- */

const struct kernel *emit_scan(const struct emit_program *program)
{
    const struct kernel *kernel = program->plan->chain[0];
    return kernel->shape == KERNEL_SCAN ? kernel : NULL;
}

static bool goes_by_host(const struct emit_program *program)
{
    return program->settings->carry != CARRY_DEVICE;
}

/* --- calls --- */

/* Returns true if an item of a stage stands beside `item`, carries, too, and is for the same
 * batches: one condition is for both. */
static bool joins(const struct loop_stage *stage, const struct loop_item *item, int step)
{
    const ptrdiff_t other = item - stage->items + step;
    return other >= 0 && other < stage->item_count && stage->items[other].carries &&
           stage->items[other].from == item->from && stage->items[other].to == item->to;
}

static void put_call(FILE *out, int indent, const struct emit_program *program,
                     const struct loop_item *item, const char *stream)
{
    const char *on = emit_of_device(program);
    switch (item->kind) {
    case OP_H2D:
        emit_put(out, indent, NULL,
                 "CHECK(cudaMemcpyAsync(&d_sums%s[tile].before, &sums[tile].before, "
                 "sizeof(unsigned), cudaMemcpyHostToDevice, %s));",
                 on, stream);
        break;
    case OP_D2H:
        emit_put(out, indent, NULL,
                 "CHECK(cudaMemcpyAsync(&sums[tile].own, &d_sums%s[tile].own, "
                 "sizeof(unsigned), cudaMemcpyDeviceToHost, %s));",
                 on, stream);
        break;
    case OP_CALLBACK:
        emit_put(out, indent, NULL, "CHECK(cudaLaunchHostFunc(%s, feed_next, &sums[tile]));",
                 stream);
        break;
    default:
        emit_put(out, indent, "--carry=sync: the host waits here; the event would do alone",
                 "CHECK(cudaStreamSynchronize(%s));", stream);
        break;
    }
}

void emit_put_carry(FILE *out, int indent, const struct emit_program *program, uint32_t stage,
                    const struct loop_item *item, const char *when)
{
    char stream[EMIT_TEXT];
    const struct loop_stage *all = &program->stages[stage];
    const bool first = !joins(all, item, -1), last = !joins(all, item, 1);
    if (first)
        emit_put(out, indent,
                 item->kind == OP_H2D
                     ? "the sum of all tiles before, as the host has added it up"
                     : "the host adds this tile's sum for the next tile",
                 "if (%s)%s", when, last ? "" : " {");
    put_call(out, indent + 4, program, item, emit_stream_name(program, stage, stream));
    if (last && !first)
        emit_put(out, indent, NULL, "}");
}

const char *emit_scan_arguments(const struct emit_program *program, char text[EMIT_TEXT])
{
    const char *on = emit_of_device(program);
    snprintf(text, EMIT_TEXT, ", d_sums%s + %s, d_scratch%s%s%s", on,
             emit_in_batches(program) ? "batch * BATCH + i" : "tile", on,
             program->slots == 1 ? "" : " + ",
             program->slots == 1 ? "" : emit_slot_name(program));
    return text;
}

/* --- variables and memory --- */

#define FEED                                                                                   \
    "\n// The driver calls this on a thread of its own, and holds the stream up until it "     \
    "returns.\n"                                                                               \
    "static void CUDART_CB feed_next(void *tile) {\n"                                          \
    "    tile_sums *of = (tile_sums *)tile;\n"                                                 \
    "    of[1].before = of->before + of->own;\n"                                               \
    "}\n"

void emit_scan_variables(FILE *out, const struct emit_program *program)
{
    const char *each = emit_each_device(program);
    fprintf(out,
            "const int ITEMS = %d, PART_ITEMS = ITEMS * THREADS; // of a thread; of a part, "
            "which a block scans\n"
            "static struct scratch { // of a slot: what a launch's blocks tell one another\n"
            "    unsigned taken, ended, launch; // parts taken, blocks that ended, launches "
            "before\n"
            "    unsigned long long told[(TILE + PART_ITEMS - 1) / PART_ITEMS]; // by each "
            "part: see below\n"
            "} *d_scratch%s;\n",
            emit_scan_items(program), each);
    if (!goes_by_host(program)) {
        fprintf(out,
                "static unsigned *d_sums; // of each tile: the sum of all tiles before it\n");
        return;
    }
    fprintf(out,
            "static struct tile_sums { // of each tile: the sum of all tiles before it, "
            "and its own\n"
            "    unsigned before, own;\n"
            "} *sums, *d_sums%s;\n",
            each);
    if (program->plan->tiles > 1) /* else there is none to feed */
        fputs(FEED, out);
}

void emit_scan_host_memory(FILE *out, const struct emit_program *program)
{
    if (goes_by_host(program))
        emit_put(
            out, 4,
            "page-locked: a copy reads it when its stream comes there, not as it is issued",
            "CHECK(cudaMallocHost(&sums, TILES * sizeof(tile_sums)));");
}

void emit_scan_memory(FILE *out, const struct emit_program *program)
{
    const char *slots = emit_slot_count(program), *times = slots[0] != '\0' ? " * " : "";
    const char *on = emit_of_device(program);
    fprintf(out,
            "    CHECK(cudaMalloc(&d_scratch%s, %s%ssizeof(scratch)));\n"
            "    CHECK(cudaMemset(d_scratch%s, 0, %s%ssizeof(scratch)));\n",
            on, slots, times, on, slots, times);
    if (!goes_by_host(program)) {
        fprintf(out, "    CHECK(cudaMalloc(&d_sums, (TILES + 1) * sizeof(unsigned)));\n"
                     "    CHECK(cudaMemset(d_sums, 0, sizeof(unsigned))); // nothing comes "
                     "before the first tile\n");
        return;
    }
    emit_put(out, 4, emit_has_devices(program) ? "by tile, as on the host" : NULL,
             "CHECK(cudaMalloc(&d_sums%s, TILES * sizeof(tile_sums)));", on);
}

void emit_scan_poison(FILE *out, const struct emit_program *program)
{
    if (!goes_by_host(program)) {
        emit_put(out, 8, "what a tile hands on, too",
                 "CHECK(cudaMemset(d_sums + 1, 0xA5, TILES * sizeof(unsigned)));");
        return;
    }
    emit_put(out, 8, "what tiles hand on, too", "for (size_t i = 0; i < TILES; i++) {");
    emit_put(out, 12, NULL, "sums[i] = {i > 0 ? 0xA5A5A5A5u : 0, 0xA5A5A5A5u};");
    fprintf(out, "        }\n");
    if (emit_has_devices(program))
        emit_put(out, 8, NULL, "for (auto each : d_sums)");
    emit_put(out, emit_has_devices(program) ? 12 : 8, NULL,
             "CHECK(cudaMemcpy(%s, sums, TILES * sizeof(tile_sums), cudaMemcpyHostToDevice));",
             emit_has_devices(program) ? "each" : "d_sums");
}

/* --- the check --- */

void emit_scan_check(FILE *out, const struct emit_program *program)
{
    const char *element = emit_element(program);
    const bool exclusive = emit_scan(program)->exclusive;
    fprintf(out, "    unsigned sum = 0;\n"
                 "    for (size_t i = 0; i < N; i++) {\n");
    if (exclusive)
        fprintf(out, "        wrong += out%s != sum;\n", element);
    fprintf(out, "        sum += in%s;\n", element);
    if (!exclusive)
        fprintf(out, "        wrong += out%s != sum;\n", element);
    fprintf(out, "    }\n");
}
