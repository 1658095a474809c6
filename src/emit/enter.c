/* enter.c - by which numbers a program knows its devices, and how it goes from one to the
 * next. */
#include "emit/parts.h"

#include <inttypes.h>

void emit_first_device(FILE *out, const struct emit_program *program)
{
    int numbers[MACHINE_DEVICES_MAX];
    if (emit_named_numbers(program, numbers) && numbers[0] != 0)
        emit_put(out, 4, "all that has no other device is on this one",
                 "CHECK(cudaSetDevice(%d));", numbers[0]);
}

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

/* Returns true if devices copy to each other at once. */
static bool reaches(const struct emit_program *program)
{
    return (emit_is_handed(program) || emit_exchanges(program)) && !program->plan->by_host;
}

void emit_reach_function(FILE *out, const struct emit_program *program)
{
    char device[EMIT_NAME], other[EMIT_NAME];
    if (!reaches(program))
        return;
    fprintf(out, "// Lets a device, which is the current one, reach another's memory where it "
                 "can: copies between them\n"
                 "// then take no way by the host's.\n"
                 "static void reach(size_t device, size_t other) {\n"
                 "    int can;\n");
    emit_device_number(program, "device", device);
    emit_device_number(program, "other", other);
    emit_put(out, 4, NULL, "CHECK(cudaDeviceCanAccessPeer(&can, %s, %s));", device, other);
    emit_put(out, 4, NULL, "if (can) CHECK(cudaDeviceEnablePeerAccess(%s, 0));", other);
    fprintf(out, "}\n\n");
}

void emit_reach_others(FILE *out, const struct emit_program *program)
{
    if (!reaches(program))
        return;
    emit_put(out, 4,
             emit_is_stencil(program) ? "rows go to the devices beside it, and come from them"
                                      : "tiles go from each device to the next",
             "if (device > 0) reach(device, device - 1);");
    emit_put(out, 4, NULL, "if (device + 1 < DEVICES) reach(device, device + 1);");
}
