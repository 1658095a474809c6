/* other.c - other code that a program calls: it is no part of the pipeline and knows no
 * streams, so that what it does is in the legacy default stream. */
#include "emit/parts.h"

bool emit_has_other(const struct emit_program *program)
{
    return program->plan->buffer_bytes[BUFFER_DEVICE_OTHER] > 0;
}

/* --- the text --- */

void emit_put_other(FILE *out, int indent)
{
    emit_put(out, indent, "nothing issued before it overlaps what is issued after it",
             "call_other_code();");
}
