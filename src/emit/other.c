/* other.c - other code that a program calls: it is no part of the pipeline and knows no
 * streams, so that what it does is in the legacy default stream. */
#include "emit/parts.h"

#include <inttypes.h>

bool emit_has_other(const struct emit_program *program)
{
    return program->plan->buffer_bytes[BUFFER_DEVICE_OTHER] > 0;
}

/* --- the text --- */

void emit_other_code(FILE *out, const struct emit_program *program)
{
    if (!emit_has_other(program))
        return;
    fprintf(out,
            "// The mistake: other code knows no streams. What names none is in the legacy "
            "default stream, which\n"
            "// waits for all that was issued before in blocking streams, and they wait for "
            "it.\n"
            "const size_t OTHER_BYTES = %" PRIu64 ";\n"
            "static char *d_other; // its own: no tile is there\n\n"
            "static void call_other_code() {\n"
            "    CHECK(cudaMemsetAsync(d_other, 0, OTHER_BYTES));\n"
            "}\n\n",
            program->plan->buffer_bytes[BUFFER_DEVICE_OTHER]);
}

void emit_other_memory(FILE *out, const struct emit_program *program)
{
    if (emit_has_other(program))
        fprintf(out, "    CHECK(cudaMalloc(&d_other, OTHER_BYTES));\n");
}

void emit_put_other(FILE *out, int indent)
{
    emit_put(out, indent, "nothing issued before it overlaps what is issued after it",
             "call_other_code();");
}
