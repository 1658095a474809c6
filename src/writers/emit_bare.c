/* emit_bare.c - the bare copies that a program's time stands beside: as many bytes both ways,
 * at once. */
#include "writers/emit_parts.h"

#include <inttypes.h>
#include <string.h>

/* Bare copies go in pieces where an array has more bytes, so that the device has room. */
#define BARE_BYTES_MOST (UINT64_C(1) << 31)

enum { EXPRESSION = 128 };

static const char *input_type(const struct emit_program *program)
{
    return emit_type(program->plan->chain[0]->in);
}

static const char *output_type(const struct emit_program *program)
{
    return emit_type(plan_last_kernel(program->plan)->out);
}

/* Returns the bytes of a whole array of elements. */
static const char *array_bytes(const struct emit_program *program, char text[EXPRESSION])
{
    if (program->even)
        return strcpy(text, "TILES * BYTES");
    snprintf(text, EXPRESSION, "N * sizeof(%s)", input_type(program));
    return text;
}

/* Returns another stream than the first, by name. */
static const char *other_stream(const struct emit_program *program)
{
    if (emit_streams_by_stage(program))
        return "out_stream";
    return emit_deals_streams(program) ? "stream[1]" : "other";
}

/* Returns the array that bare copies take, or leave their bytes in: managed memory's own pages
 * may be on the device. */
static const char *bare_name(const struct emit_program *program, const char *name)
{
    if (!emit_is_managed(program))
        return name;
    return name[0] == 'o' ? "bare_out" : "bare_in";
}

/* Writes bare copies in pieces, of which `d_all` holds one for each way. */
static void put_pieces(FILE *out, const struct emit_program *program)
{
    const char *from = emit_is_managed(program)   ? " + at"
                       : emit_in_columns(program) ? "[0][0] + at"
                       : program->even            ? "[0] + at" /* the first row's elements */
                                                  : " + at";
    emit_put(out, 8, NULL, "for (size_t at = 0; at < N; at += PIECE) {");
    emit_put(out, 12, NULL, "const size_t bytes = std::min(PIECE, N - at) * sizeof(%s);",
             input_type(program));
    emit_put(out, 12, NULL,
             "CHECK(cudaMemcpyAsync(d_all, %s%s, bytes, cudaMemcpyHostToDevice, %s));",
             bare_name(program, "in"), from, emit_first_stream(program));
    if (emit_inputs(program) == 2)
        emit_put(out, 12, NULL,
                 "CHECK(cudaMemcpyAsync(d_all, %s%s, bytes, cudaMemcpyHostToDevice, %s));",
                 bare_name(program, "in2"), from, emit_first_stream(program));
    if (emit_reduction(program) == NULL)
        emit_put(out, 12, NULL,
                 "CHECK(cudaMemcpyAsync(%s%s, d_all + PIECE, bytes, cudaMemcpyDeviceToHost, "
                 "%s));",
                 bare_name(program, "out"), from, other_stream(program));
    emit_put(out, 8, NULL, "}");
}

static bool in_pieces(const struct emit_program *program)
{
    return program->plan->elements * dtype_bytes(program->plan->chain[0]->in) > BARE_BYTES_MOST;
}

void emit_bare_memory(FILE *out, const struct emit_program *program)
{
    const size_t size = dtype_bytes(program->plan->chain[0]->in);
    if (emit_is_product(program)) {
        fprintf(out, "    CHECK(cudaMalloc(&d_all, 2 * PIECE * sizeof(double)));\n");
        return;
    }
    if (in_pieces(program))
        fprintf(out, "    const size_t PIECE = %" PRIu64 "; // of the bare copies\n",
                BARE_BYTES_MOST / 2 / size);
    const bool larger = dtype_bytes(plan_last_kernel(program->plan)->out) > size;
    fprintf(out, "    CHECK(cudaMalloc(&d_all, %d * %s * sizeof(%s)));%s\n", larger ? 3 : 2,
            in_pieces(program) ? "PIECE" : "N", input_type(program),
            in_pieces(program) ? "" : " // for bare copies of all bytes at once");
}

void emit_bare_copies(FILE *out, const struct emit_program *program)
{
    char all[EXPRESSION];
    array_bytes(program, all);
    if (emit_is_product(program)) {
        emit_product_bare(out, emit_first_stream(program), other_stream(program));
        return;
    }
    if (in_pieces(program)) {
        put_pieces(out, program);
    } else {
        emit_put(out, 8, NULL,
                 "CHECK(cudaMemcpyAsync(d_all, %s, %s, cudaMemcpyHostToDevice, %s));",
                 bare_name(program, "in"), all, emit_first_stream(program));
        if (emit_inputs(program) == 2)
            emit_put(out, 8, NULL,
                     "CHECK(cudaMemcpyAsync(d_all, %s, %s, cudaMemcpyHostToDevice, %s));",
                     bare_name(program, "in2"), all, emit_first_stream(program));
    }
    if (emit_reduction(program) != NULL)
        emit_put(out, 8, NULL,
                 "CHECK(cudaMemcpyAsync(%s, d_all + %s, TILES * sizeof(%s), "
                 "cudaMemcpyDeviceToHost, %s));",
                 bare_name(program, "out"), in_pieces(program) ? "PIECE" : "N",
                 output_type(program), other_stream(program));
    else if (!in_pieces(program))
        emit_put(out, 8, NULL,
                 "CHECK(cudaMemcpyAsync(%s, d_all + N, %s, cudaMemcpyDeviceToHost, %s));",
                 bare_name(program, "out"), all, other_stream(program));
}
