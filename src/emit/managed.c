/* managed.c - managed memory in a program: its pages go to the device with prefetches, or
 * when a kernel touches them, and home before each run. */
#include "emit/parts.h"

#include <string.h>

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
