/* dgemm.c - the matrix product in a program: C = A B + C by cuBLAS, in panels of columns.
 *
 * A is resident: one copy brings it to each device before the loops, and it stays. A tile is a
 * panel of whole columns of C and as many of B. On the device the product replaces the panel of
 * C that came in, so that the panel's copy out takes what its copy in has brought. Handles are
 * a device's: each device has its own. */
#include "emit/parts.h"

#include <inttypes.h>
#include <string.h>

/* --- the calls --- */

enum { KERNEL_STAGE = 1 };

bool emit_kernels_are_legacy(const struct emit_program *program)
{
    return program->legacy != EMIT_NO_LEGACY &&
           program->stages[KERNEL_STAGE].stream == program->legacy;
}

/* Returns true if kernels are in several streams, each of which has a handle. */
bool emit_has_handles(const struct emit_program *program)
{
    return program->stages[KERNEL_STAGE].stream == STREAM_DEALT;
}

/* Returns true if A's copy has an event: kernels are in other streams than it, too. */
static bool has_event(const struct emit_program *program)
{
    const struct loop_stage *prologue = &program->stages[program->stage_count];
    return prologue->item_count > 0 &&
           prologue->items[prologue->item_count - 1].kind == OP_RECORD;
}

void emit_put_upload(FILE *out, int indent, const struct emit_program *program)
{
    char stream[EMIT_TEXT];
    const bool sure = !has_event(program) && program->settings->mistake == 0;
    emit_put(
        out, indent,
        !sure                       ? "every tile needs A, which stays"
        : emit_has_devices(program) ? "every tile needs A, which stays: all the device's "
                                      "kernels come behind this copy"
                                    : "every tile needs A, which stays: all kernels come "
                                      "behind this copy",
        "CHECK(cudaMemcpyAsync(d_a%s, a, A * sizeof(double), cudaMemcpyHostToDevice, %s));",
        emit_of_device(program), emit_stream_name(program, program->stage_count, stream));
}

void emit_put_product(FILE *out, int indent, const struct emit_program *program,
                      uint32_t kernel)
{
    char text[EMIT_TEXT], b[EMIT_TEXT], c[EMIT_TEXT];
    const char *stream = emit_stream_name(program, kernel, text);
    const char *on = emit_of_device(program);
    const char *place = emit_has_handles(program) ? strchr(stream, '[') : on;
    emit_address(program, BUFFER_DEVICE_IN1, false, b);
    emit_address(program, BUFFER_DEVICE_IN0, false, c);
    emit_put(out, indent,
             emit_kernels_are_legacy(program) ? "the mistake: the handle has no stream"
                                              : "in place: C += A B",
             "CUBLAS(cublasDgemm_64(blas%s, CUBLAS_OP_N, CUBLAS_OP_N, ROWS, COLUMNS, INNER, "
             "&ONE, d_a%s, ROWS, %s, INNER, &ONE, %s, ROWS));",
             place, on, b, c);
}
