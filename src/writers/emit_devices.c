/* emit_devices.c - what a program has for each of several devices, and how it goes from one to
 * the next. One thread issues to all: batches are dealt over them in turn, or devices have
 * parts of the chain (emit_chain.c). */
#include "writers/emit_parts.h"

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

void emit_preparation(FILE *out, const struct emit_program *program)
{
    if (!emit_has_devices(program))
        return;
    fprintf(out, "static void prepare(size_t device) {\n");
    emit_enter_device(out, 4, program,
                      "memory, streams and events are made on the current device");
    if (emit_is_handed(program))
        emit_reach_others(out, program);
    emit_device_objects(out, program);
    fprintf(out, "}\n\n");
}

void emit_make_devices(FILE *out, const struct emit_program *program)
{
    if (emit_has_devices(program))
        fprintf(out,
                "    for (size_t device = 0; device < DEVICES; device++) prepare(device);\n");
    else
        emit_device_objects(out, program);
}

void emit_poison(FILE *out, const struct emit_program *program)
{
    if (emit_is_stencil(program)) {
        emit_stencil_poison(out);
    } else if (emit_has_devices(program)) {
        fprintf(out, "        for (size_t device = 0; device < DEVICES; device++) {\n");
        emit_enter_device(out, 12, program, "");
        emit_object_poison(out, 12, program);
        fprintf(out, "        }\n");
    } else {
        emit_object_poison(out, 8, program);
    }
}

void emit_clock(FILE *out, const struct emit_program *program)
{
    if (emit_has_devices(program)) {
        fprintf(out,
                "static double now_ms() { // once all devices have done all that was issued\n"
                "    for (size_t device = 0; device < DEVICES; device++) {\n");
        emit_enter_device(out, 8, program, "");
        fprintf(out, "        CHECK(cudaDeviceSynchronize()); // it waits for the current one "
                     "alone\n"
                     "    }\n");
    } else {
        fprintf(out,
                "static double now_ms() { // once the device has done all that was issued\n"
                "    CHECK(cudaDeviceSynchronize());\n");
    }
    fprintf(out, "    return std::chrono::steady_clock::now().time_since_epoch() / "
                 "std::chrono::nanoseconds(1) / 1e6;\n"
                 "}\n\n");
}
