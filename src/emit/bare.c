/* bare.c - the bare copies beside which a program shows its time: of the same bytes, both
 * ways at once. Those of several devices are on all of them or, where these have parts of the
 * chain, in to the first and out of the last. */
#include "emit/parts.h"

#include <inttypes.h>
#include <string.h>

/* Bare copies go in pieces where an array has more bytes, so that the device has room. */
#define BARE_BYTES_MOST (UINT64_C(1) << 31)

enum { EXPRESSION = 128 };

/* Returns the bytes of a whole array of elements. */
static const char *array_bytes(const struct emit_program *program, char text[EXPRESSION])
{
    if (program->even)
        return strcpy(text, "TILES * BYTES");
    snprintf(text, EXPRESSION, "N * sizeof(%s)", emit_input_type(program));
    return text;
}

/* Returns the array that bare copies take, or leave their bytes in: managed memory's own pages
 * may be on the device. */
static const char *bare_name(const struct emit_program *program, const char *name)
{
    if (!emit_is_managed(program))
        return name;
    return name[0] == 'o' ? "bare_out" : "bare_in";
}

/* Writes the copies of `bytes` in; `from`, behind an array's name, is where they begin. */
static void put_in(FILE *out, int indent, const struct emit_program *program, const char *from,
                   const char *bytes)
{
    static const char *const names[] = {"in", "in2"};
    const struct emit_program source = emit_at(program, 0);
    char stream[EMIT_NAME];
    emit_first_stream(&source, stream);
    for (int input = 0; input < emit_inputs(program); input++)
        emit_put(out, indent, NULL,
                 "CHECK(cudaMemcpyAsync(d_all%s, %s%s, %s, cudaMemcpyHostToDevice, %s));",
                 emit_of_device(&source), bare_name(program, names[input]), from, bytes,
                 stream);
}

/* Writes bare copies in pieces, of which `d_all` holds one for each way. `sink`, `out_stream`:
 * where those out are. */
static void put_pieces(FILE *out, const struct emit_program *program,
                       const struct emit_program *sink, const char *out_stream)
{
    const char *from = emit_is_managed(program)   ? " + at"
                       : emit_in_columns(program) ? "[0][0] + at"
                       : program->even            ? "[0] + at" /* the first row's elements */
                                                  : " + at";
    emit_put(out, 8, NULL, "for (size_t at = 0; at < N; at += PIECE) {");
    if (emit_deals_devices(program))
        emit_put(out, 12, NULL, "const size_t device = at / PIECE %% DEVICES;");
    emit_put(out, 12, NULL, "const size_t bytes = std::min(PIECE, N - at) * sizeof(%s);",
             emit_input_type(program));
    put_in(out, 12, program, from, "bytes");
    if (emit_reduction(program) == NULL)
        emit_put(out, 12, NULL,
                 "CHECK(cudaMemcpyAsync(%s%s, d_all%s + PIECE, bytes, cudaMemcpyDeviceToHost, "
                 "%s));",
                 bare_name(program, "out"), from, emit_of_device(sink), out_stream);
    emit_put(out, 8, NULL, "}");
}

/* Returns true if the device's part of the array is too large to be there at once. */
static bool is_large(const struct emit_program *program)
{
    return program->plan->elements / program->devices *
               dtype_bytes(program->plan->chain[0]->in) >
           BARE_BYTES_MOST;
}

static bool in_pieces(const struct emit_program *program)
{
    return is_large(program) || emit_deals_devices(program);
}

/* Writes the elements of a piece of an array that is too large. */
static void put_large_piece(FILE *out, int indent, const struct emit_program *program)
{
    emit_put(out, indent, "of the bare copies", "const size_t PIECE = %" PRIu64 ";",
             BARE_BYTES_MOST / 2 / dtype_bytes(program->plan->chain[0]->in));
}

void emit_bare_constants(FILE *out, const struct emit_program *program)
{
    if (!emit_has_devices(program) || emit_is_product(program))
        return;
    if (is_large(program))
        put_large_piece(out, 0, program);
    else if (emit_deals_devices(program))
        fprintf(out,
                "const size_t PIECE = (N + DEVICES - 1) / DEVICES; // of the bare copies: a "
                "device's part\n");
}

void emit_bare_memory(FILE *out, const struct emit_program *program)
{
    const size_t size = dtype_bytes(program->plan->chain[0]->in);
    if (emit_is_product(program)) {
        emit_put(out, 4, NULL, "CHECK(cudaMalloc(&d_all%s, 2 * PIECE * sizeof(double)));",
                 emit_of_device(program));
        return;
    }
    if (in_pieces(program) && !emit_has_devices(program))
        put_large_piece(out, 4, program);
    const bool larger = dtype_bytes(plan_last_kernel(program->plan)->out) > size;
    emit_put(out, 4, in_pieces(program) ? "" : "for bare copies of all bytes at once",
             "CHECK(cudaMalloc(&d_all%s, %d * %s * sizeof(%s)));", emit_of_device(program),
             larger ? 3 : 2, in_pieces(program) ? "PIECE" : "N", emit_input_type(program));
}

/* Writes that each device copies as many values out as others, or one more. */
static void put_values(FILE *out, const struct emit_program *program)
{
    char stream[EMIT_NAME];
    emit_put(out, 8, NULL, "for (size_t device = 0; device < DEVICES; device++) {");
    emit_put(out, 12, NULL,
             "const size_t first = device * TILES / DEVICES, end = (device + 1) * TILES / "
             "DEVICES;");
    emit_put(out, 12, NULL,
             "CHECK(cudaMemcpyAsync(%s + first, d_all[device] + PIECE, (end - first) * "
             "sizeof(%s), cudaMemcpyDeviceToHost, %s));",
             bare_name(program, "out"), emit_output_type(program),
             emit_other_stream(program, stream));
    emit_put(out, 8, NULL, "}");
}

void emit_bare_copies(FILE *out, const struct emit_program *program)
{
    const uint32_t last_link = (uint32_t)program->plan->chain_length - 1;
    const struct emit_program sink =
        emit_on_device(program, plan_link_device(program->plan, last_link));
    char all[EXPRESSION], out_stream[EMIT_NAME];
    array_bytes(program, all);
    emit_other_stream(&sink, out_stream);
    if (emit_is_handed(program))
        fprintf(out, "        // in to the first device, and out of the last\n");
    if (in_pieces(program))
        put_pieces(out, program, &sink, out_stream);
    else
        put_in(out, 8, program, "", all);
    if (emit_reduction(program) != NULL && emit_deals_devices(program))
        put_values(out, program);
    else if (emit_reduction(program) != NULL)
        emit_put(out, 8, NULL,
                 "CHECK(cudaMemcpyAsync(%s, d_all%s + %s, TILES * sizeof(%s), "
                 "cudaMemcpyDeviceToHost, %s));",
                 bare_name(program, "out"), emit_of_device(&sink),
                 in_pieces(program) ? "PIECE" : "N", emit_output_type(program), out_stream);
    else if (!in_pieces(program))
        emit_put(out, 8, NULL,
                 "CHECK(cudaMemcpyAsync(%s, d_all%s + N, %s, cudaMemcpyDeviceToHost, %s));",
                 bare_name(program, "out"), emit_of_device(&sink), all, out_stream);
}
