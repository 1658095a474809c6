/* pin.c - page-locked memory that a program takes and gives back within each run, as much
 * as its arrays have. */
#include "emit/parts.h"
#include "plan/host_layout.h"

#include <inttypes.h>

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
