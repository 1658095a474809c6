/* enter.c - by which numbers a program knows its devices, and how it goes from one to the
 * next. */
#include "emit/parts.h"

#include <inttypes.h>

void emit_device_numbers(FILE *out, const struct emit_program *program)
{
    int numbers[MACHINE_DEVICES_MAX];
    if (!emit_has_devices(program) || !emit_named_numbers(program, numbers))
        return;
    fprintf(out, "const int NUMBERS[DEVICES] = {");
    for (uint32_t i = 0; i < plan_devices(program->plan); i++)
        fprintf(out, "%s%d", i > 0 ? ", " : "", numbers[i]);
    fprintf(out, "}; // of the devices, as CUDA counts them\n");
}

void emit_enter_device(FILE *out, int indent, const struct emit_program *program,
                       const char *why)
{
    char number[EMIT_NAME];
    if (emit_has_devices(program))
        emit_put(out, indent, why, "CHECK(cudaSetDevice(%s));",
                 emit_device_number(program, "device", number));
}
