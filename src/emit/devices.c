/* devices.c - what a program has for each of several devices, and how it waits for all.
 * One thread issues to all: batches are dealt over them in turn, or devices have parts of the
 * chain (chain.c) or of the rows (rows.c). */
#include "emit/parts.h"

void emit_preparation(FILE *out, const struct emit_program *program)
{
    if (!emit_has_devices(program))
        return;
    fprintf(out, "static void prepare(size_t device) {\n");
    emit_enter_device(out, 4, program,
                      "memory, streams and events are made on the current device");
    emit_reach_others(out, program);
    if (emit_is_handed(program))
        emit_put(out, 4, NULL,
                 "// Each has the same, also what its part of the chain does without.");
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
        emit_stencil_poison(out, program);
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
        emit_enter_device(out, 8, program, NULL);
        emit_put(out, 8, "it waits for the current one alone",
                 "CHECK(cudaDeviceSynchronize());");
        fprintf(out, "    }\n");
    } else {
        fprintf(out,
                "static double now_ms() { // once the device has done all that was issued\n"
                "    CHECK(cudaDeviceSynchronize());\n");
    }
    fprintf(out, "    return std::chrono::steady_clock::now().time_since_epoch() / "
                 "std::chrono::nanoseconds(1) / 1e6;\n"
                 "}\n\n");
}
