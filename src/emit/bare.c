/* bare.c - what the bare copies of programs/bare.cu.in ask of a program. */
#include "emit/parts.h"

#include <inttypes.h>

/* Bare copies go in pieces where an array has more bytes, so that the device has room. */
#define BARE_BYTES_MOST (UINT64_C(1) << 31)

static size_t input_size(const struct emit_program *program)
{
    return dtype_bytes(program->plan->chain[0]->in);
}

/* Returns true if the device's part of the array is too large to be there at once. */
static bool is_large(const struct emit_program *program)
{
    return program->plan->elements / program->devices * input_size(program) > BARE_BYTES_MOST;
}

static bool in_pieces(const struct emit_program *program)
{
    return is_large(program) || emit_deals_devices(program);
}

int emit_bare_fact(const struct emit_program *program, const char *name)
{
    const struct emit_fact facts[] = {
        {"bare_large", is_large(program)},
        {"bare_pieces", in_pieces(program)},
        {"bare_wide", dtype_bytes(plan_last_kernel(program->plan)->out) > input_size(program)}};
    return emit_find_fact(facts, sizeof facts / sizeof *facts, name);
}

/* Returns the bytes of a whole array of elements. */
static const char *array_bytes(const struct emit_program *program, char text[EMIT_LINE])
{
    if (program->even)
        return "TILES * BYTES";
    snprintf(text, EMIT_LINE, "N * sizeof(%s)", emit_input_type(program));
    return text;
}

const char *emit_bare_value(const struct emit_program *program, const char *name,
                            char text[EMIT_LINE])
{
    const uint32_t last_link = (uint32_t)program->plan->chain_length - 1;
    const struct emit_program source = emit_at(program, 0);
    const struct emit_program sink =
        emit_on_device(program, plan_link_device(program->plan, last_link));
    const bool managed =
        program->plan->memory == MEMORY_MANAGED; /* its own pages may be on the device */
    char bytes[EMIT_LINE], piece[EMIT_NAME], in[EMIT_NAME], out[EMIT_NAME];
    snprintf(piece, sizeof piece, "%" PRIu64, BARE_BYTES_MOST / 2 / input_size(program));
    const struct word {
        const char *name, *value;
    } rows[] = {
        {"bare_piece", piece},
        {"bare_elements", in_pieces(program) ? "PIECE" : "N"},
        {"bare_bytes", array_bytes(program, bytes)},
        {"bare_from", managed ? " + at" : program->arrays->bare},
        {"bare_in", managed ? "bare_in" : "in"},
        {"bare_in2", managed ? "bare_in" : "in2"},
        {"bare_out", managed ? "bare_out" : "out"},
        {"source_on", emit_of_device(&source)},
        {"source_stream", emit_first_stream(&source, in)},
        {"sink_on", emit_of_device(&sink)},
        {"sink_stream", emit_other_stream(&sink, out)},
    };
    const struct word *row = EMIT_ROW(rows, name);
    if (row == NULL)
        return NULL;
    snprintf(text, EMIT_LINE, "%s", row->value);
    return text;
}
