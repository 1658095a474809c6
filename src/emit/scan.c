/* scan.c - scans in a program: what they carry from tile to tile.
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
