/* rows.c - what the devices have for a stencil in a program: each has tiles that follow
 * one another, with rows of its neighbours around them; streams, events, and the memory of all.
 */
#include "emit/parts.h"

#include <inttypes.h>

/* Returns true if neighbours exchange rows by way of the host's memory. */
static bool exchanges_by_host(const struct emit_program *program)
{
    return emit_exchanges(program) && program->plan->by_host;
}

/* --- the head, constants and variables --- */

void emit_rows_head(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    fprintf(out,
            "// %" PRIu32 " step%s of stencil on %" PRIu32 " tiles, which stay on %" PRIu32
            " devices until the last.\n",
            plan->params.steps, emit_repeats_steps(program) ? "s" : "", plan->tiles,
            program->devices);
    if (emit_exchanges(program))
        fprintf(out, "// Neighbours exchange their outer rows%s, %s.\n",
                plan->by_host ? " by way of the host" : "",
                emit_hides(program) ? "hidden behind the inner ones" : "after each step");
}

void emit_rows_constants(FILE *out, const struct emit_program *program)
{
    emit_put(out, 0, "tiles of a device, at most",
             "const size_t DEVICES = %" PRIu32 ", SHARE = (TILES + DEVICES - 1) / DEVICES;",
             program->devices);
    emit_put(out, 0, "of each of a device's two arrays",
             "const size_t DEVICE_BYTES = (SHARE * TILE_ROWS + 2 * HALO) * COLUMNS * "
             "sizeof(float);");
    emit_device_numbers(out, program);
    emit_bare_constants(out, program);
}

void emit_rows_arrays(FILE *out, const struct emit_program *program)
{
    fputs("using Row = float[COLUMNS];\n"
          "static float (*in)[TILE], (*out)[TILE], *d_all[DEVICES];\n"
          "// A device's own rows lie between HALO rows that it has from its neighbours. What "
          "has no\n"
          "// neighbour is outside the array: zeros.\n"
          "static Row *d_in[DEVICES], *d_out[DEVICES];\n",
          out);
    if (exchanges_by_host(program))
        fputs(
            "// Where a device leaves its edges for the one above and the one below. Each has "
            "two places,\n"
            "// which steps use in turn: the one is taken while the other is filled.\n"
            "static float (*exchange)[2][2][HALO * COLUMNS];\n",
            out);
}

void emit_rows_streams(FILE *out)
{
    fputs("static cudaStream_t stream[DEVICES];      // of the inner rows, and of all tiles' "
          "copies\n"
          "static cudaStream_t edge_stream[DEVICES]; // of the edges, and of their exchange\n",
          out);
}

void emit_rows_events(FILE *out, const struct emit_program *program)
{
    if (emit_hides(program))
        fputs("static cudaEvent_t inside_done[DEVICES], edges_done[DEVICES]; // join the two\n",
              out);
    if (emit_exchanges(program))
        emit_put(out, 0,
                 emit_hides(program) ? "joins a device's streams and its neighbours'"
                                     : "the neighbours' streams wait for it",
                 "static cudaEvent_t sent[DEVICES];");
}

/* --- which rows are whose --- */

void emit_rows_places(FILE *out, const struct emit_program *program)
{
    const bool even = program->plan->tiles % program->devices == 0;
    fputs("// Each device has tiles that follow one another.\n", out);
    emit_put(out, 0, NULL, "static size_t first_tile(size_t device) {");
    emit_put(out, 4, even ? NULL : "some have one more",
             even ? "return device * SHARE;"
                  : "return (device * TILES + DEVICES - 1) / DEVICES;");
    fputs("}\n\n"
          "// Returns the row behind a device's own, which begin behind those of the halo "
          "above.\n"
          "static size_t end_row(size_t device) {\n"
          "    return HALO + (first_tile(device + 1) - first_tile(device)) * TILE_ROWS;\n"
          "}\n\n"
          "static size_t tile_row(size_t device, size_t tile) {\n"
          "    return HALO + (tile - first_tile(device)) * TILE_ROWS;\n"
          "}\n\n",
          out);
}

/* --- what is made on a device, and main() --- */

void emit_rows_memory(FILE *out)
{
    fputs("    for (Row **array : {&d_in[device], &d_out[device]})\n"
          "        CHECK(cudaMalloc(array, DEVICE_BYTES));\n",
          out);
}

void emit_rows_stream_creation(FILE *out, const struct emit_program *program)
{
    static const char *const names[] = {"stream", "edge_stream"};
    const int *priorities = program->plan->priorities;
    for (int i = 0; i < 2; i++) {
        if (priorities != NULL)
            emit_put(out, 4, i == 0 ? "" : "edges don't wait for the inner rows' blocks",
                     "CHECK(cudaStreamCreateWithPriority(&%s[device], cudaStreamNonBlocking, "
                     "%d));",
                     names[i], priorities[i]);
        else
            emit_put(out, 4, NULL,
                     "CHECK(cudaStreamCreateWithFlags(&%s[device], cudaStreamNonBlocking));",
                     names[i]);
    }
}

void emit_rows_event_creation(FILE *out, const struct emit_program *program)
{
    if (emit_hides(program)) {
        emit_put(out, 4, NULL,
                 "for (cudaEvent_t *each : {%s&inside_done[device], &edges_done[device]})",
                 emit_exchanges(program) ? "&sent[device], " : "");
        emit_put(out, 8, NULL,
                 "CHECK(cudaEventCreateWithFlags(each, cudaEventDisableTiming));");
    } else if (emit_exchanges(program)) {
        emit_put(out, 4, NULL,
                 "CHECK(cudaEventCreateWithFlags(&sent[device], cudaEventDisableTiming));");
    }
}

void emit_rows_host(FILE *out, const struct emit_program *program)
{
    if (exchanges_by_host(program))
        emit_put(out, 4, "page-locked, whatever the arrays are",
                 "CHECK(cudaMallocHost(&exchange, DEVICES * sizeof *exchange));");
}

void emit_rows_poison(FILE *out, const struct emit_program *program)
{
    emit_put(out, 8, NULL, "for (size_t device = 0; device < DEVICES; device++) {");
    emit_enter_device(out, 12, program, "");
    emit_put(out, 12, "no old rows and no zeros are left there",
             "for (Row *array : {d_in[device], d_out[device]})");
    emit_put(out, 16, NULL, "CHECK(cudaMemset(array, 0xFF, DEVICE_BYTES));");
    emit_put(out, 8, NULL, "}");
    if (exchanges_by_host(program))
        emit_put(out, 8, "nor edges", "memset(exchange, 0xFF, DEVICES * sizeof *exchange);");
}
