/* exchange.c - the calls of the stencil in a program for several devices: tiles that are
 * copied in and out, and steps in which neighbours exchange their outer rows. They are those of
 * plan/build_halo.c. */
#include "emit/parts.h"

static bool is_dealt_evenly(const struct emit_program *program)
{
    return program->plan->tiles % program->devices == 0;
}

/* Returns the stream that sends edges and waits for those of the neighbours. */
static const char *edge_stream(const struct emit_program *program)
{
    return emit_hides(program) ? "edge_stream[device]" : "stream[device]";
}

/* --- before the steps, and behind them --- */

static void put_clear(FILE *out, const struct emit_program *program)
{
    fputs(
        "// What lies outside the array is 0, in all steps: above the first device's rows, and "
        "below the\n"
        "// last one's.\n"
        "static void clear_outside(size_t device) {\n"
        "    const size_t row = device == 0 ? 0 : end_row(device);\n",
        out);
    if (program->devices > 2)
        emit_put(out, 4, "it has a neighbour on both sides",
                 "if (device > 0 && device + 1 < DEVICES) return;");
    emit_enter_device(out, 4, program, NULL);
    if (emit_repeats_steps(program))
        emit_put(out, 4, NULL, "for (Row *array : {d_in[device], d_out[device]})");
    emit_put(out, emit_repeats_steps(program) ? 8 : 4, NULL,
             "CHECK(cudaMemsetAsync(%s[row], 0, HALO_BYTES, stream[device]));",
             emit_repeats_steps(program) ? "array" : "d_in[device]");
    fputs("}\n\n", out);
}

static void put_copy_in(FILE *out)
{
    fputs("// A device's first and last tile bring the neighbours' rows beside them: the first "
          "step's halo.\n"
          "static void copy_in(size_t device, size_t tile) {\n"
          "    const bool is_first = tile == first_tile(device), is_last = tile + 1 == "
          "first_tile(device + 1);\n"
          "    const size_t above = is_first && device > 0 ? HALO : 0;\n"
          "    const size_t below = is_last && device + 1 < DEVICES ? HALO : 0;\n",
          out);
    emit_put(out, 4, NULL,
             "CHECK(cudaMemcpyAsync(d_in[device][tile_row(device, tile) - above], in[tile] - "
             "above * COLUMNS, (above + TILE_ROWS + below) * sizeof(Row), "
             "cudaMemcpyHostToDevice, stream[device]));");
    fputs("}\n\n", out);
}

static void put_copy_out(FILE *out)
{
    fputs("static void copy_out(size_t device, size_t tile, Row **from) {\n", out);
    emit_put(out, 4, NULL,
             "CHECK(cudaMemcpyAsync(out[tile], from[device][tile_row(device, tile)], BYTES, "
             "cudaMemcpyDeviceToHost, stream[device]));");
    fputs("}\n\n", out);
}

/* Writes the loops that copy tiles, of each device in turn. */
static void put_tiles(FILE *out, const struct emit_program *program, const char *copy)
{
    int indent = 8;
    emit_put(out, 4, "the devices' copies in turn: all links are busy",
             "for (size_t i = 0; i < SHARE; i++)");
    emit_put(out, indent, NULL, "for (size_t device = 0; device < DEVICES; device++)");
    indent += 4;
    if (!is_dealt_evenly(program)) {
        emit_put(out, indent, NULL, "if (first_tile(device) + i < first_tile(device + 1))");
        indent += 4;
    }
    emit_put(out, indent, NULL, "%s", copy);
}

/* --- the parts of a step --- */

static void put_step_rows(FILE *out)
{
    fputs("// A step on the rows [first, end) of a device, in as many blocks as they need.\n"
          "static void step_rows(Row *now, Row *next, size_t first, size_t end, cudaStream_t "
          "where) {\n"
          "    const size_t count = (end - first) * COLUMNS, block = ITEMS * THREADS;\n",
          out);
    emit_put(out, 4, NULL,
             "stencil<<<(count + block - 1) / block, THREADS, 0, where>>>(now[first], "
             "next[first], count, COLUMNS, HALO);");
    fputs("    CHECK(cudaGetLastError());\n"
          "}\n\n",
          out);
}

/* Writes that a device waits for a neighbour's edge and, where that is on the host, takes it.
 */
static void put_receive(FILE *out, const struct emit_program *program, bool above)
{
    const char *from = above ? "device - 1" : "device + 1";
    const char *when = above ? "device > 0" : "device + 1 < DEVICES";
    emit_put(out, 4, above ? "the halo above its rows" : "the halo below them",
             program->plan->by_host ? "if (%s) {" : "if (%s)", when);
    emit_put(out, 8, NULL, "CHECK(cudaStreamWaitEvent(%s, sent[%s], 0));", edge_stream(program),
             from);
    if (!program->plan->by_host)
        return;
    emit_put(out, 8, NULL,
             "CHECK(cudaMemcpyAsync(now[%s], exchange[%s][%d][(step - 1) %% 2], HALO_BYTES, "
             "cudaMemcpyHostToDevice, %s));",
             above ? "device][0" : "device][end_row(device)", from, above ? 1 : 0,
             edge_stream(program));
    emit_put(out, 4, NULL, "}");
}

static const char *receive_arguments(const struct emit_program *program, bool declared)
{
    if (!program->plan->by_host)
        return declared ? "size_t device" : "device";
    return declared ? "size_t device, Row **now, int step" : "device, now, step";
}

static void put_receives(FILE *out, const struct emit_program *program)
{
    if (!emit_exchanges(program))
        return;
    fprintf(out,
            "// A device's outer rows need those of its neighbours, as the step before left "
            "them%s.\n"
            "static void receive(%s) {\n",
            program->plan->by_host
                ? ": on the\n// host, each one's at its index 0 for the device above "
                  "it, and at 1 for the one below"
                : "",
            receive_arguments(program, true));
    put_receive(out, program, true);
    put_receive(out, program, false);
    fputs("}\n\n", out);
}

/* Writes the copy of an edge to a neighbour's halo, or to the host. */
static void put_send(FILE *out, const struct emit_program *program, bool above)
{
    const char *to = above ? "device - 1" : "device + 1";
    const char *edge = above ? "HALO" : "end_row(device) - HALO";
    char number[EMIT_NAME], own[EMIT_NAME];
    emit_put(out, 4, NULL, "if (%s)", above ? "device > 0" : "device + 1 < DEVICES");
    if (program->plan->by_host)
        emit_put(out, 8, NULL,
                 "CHECK(cudaMemcpyAsync(exchange[device][%d][step %% 2], next[device][%s], "
                 "HALO_BYTES, cudaMemcpyDeviceToHost, %s));",
                 above ? 0 : 1, edge, edge_stream(program));
    else
        emit_put(out, 8, NULL,
                 "CHECK(cudaMemcpyPeerAsync(next[%s][%s], %s, next[device][%s], %s, "
                 "HALO_BYTES, %s));",
                 to, above ? "end_row(device - 1)" : "0",
                 emit_device_number(program, to, number), edge,
                 emit_device_number(program, "device", own), edge_stream(program));
}

static void put_sends(FILE *out, const struct emit_program *program)
{
    if (!emit_exchanges(program))
        return;
    if (program->plan->by_host)
        fputs("// A device leaves its edges on the host. Nobody takes there what was left two "
              "steps ago: the\n"
              "// neighbour took it before it sent the edges for which this device has waited "
              "since.\n"
              "static void send_edges(size_t device, Row **next, int step) {\n",
              out);
    else
        fputs("// A device's edges go into its neighbours' halos. Nobody reads these any more: "
              "the neighbour did\n"
              "// before it sent its own edges, for which this device has waited.\n"
              "static void send_edges(size_t device, Row **next) {\n",
              out);
    emit_enter_device(out, 4, program, NULL);
    put_send(out, program, true);
    put_send(out, program, false);
    emit_put(out, 4, "the neighbours' next step waits for it",
             "CHECK(cudaEventRecord(sent[device], %s));", edge_stream(program));
    fputs("}\n\n", out);
}

/* Writes a whole step of a device, where it does not begin with the edges. */
static void put_whole_step(FILE *out, const struct emit_program *program)
{
    fputs("static void make_rows(size_t device, Row **now, Row **next) {\n", out);
    emit_enter_device(out, 4, program, "kernels go to the current device");
    emit_put(out, 4, NULL,
             "step_rows(now[device], next[device], HALO, end_row(device), stream[device]);");
    fputs("}\n\n", out);
}

static void put_parts(FILE *out, const struct emit_program *program)
{
    fputs("// The edges come first, so that they are on their way while the inner rows are "
          "made.\n"
          "static void make_edges(size_t device, Row **now, Row **next) {\n",
          out);
    emit_enter_device(out, 4, program, "kernels go to the current device");
    fputs(
        "    const size_t end = end_row(device);\n"
        "    if (device > 0)\n"
        "        step_rows(now[device], next[device], HALO, 2 * HALO, edge_stream[device]);\n"
        "    if (device + 1 < DEVICES)\n"
        "        step_rows(now[device], next[device], end - HALO, end, edge_stream[device]);\n",
        out);
    emit_put(out, 4, "for the inner rows of the next step, and the copies out",
             "CHECK(cudaEventRecord(edges_done[device], edge_stream[device]));");
    fputs("}\n\n"
          "static void make_inside(size_t device, Row **now, Row **next) {\n"
          "    const size_t first = device > 0 ? 2 * HALO : HALO; // behind the edge\n"
          "    const size_t end = end_row(device) - (device + 1 < DEVICES ? HALO : 0);\n",
          out);
    emit_enter_device(out, 4, program, NULL);
    fputs("    step_rows(now[device], next[device], first, end, stream[device]);\n", out);
    emit_put(out, 4, "for the edges of the next step",
             "CHECK(cudaEventRecord(inside_done[device], stream[device]));");
    fputs("}\n\n", out);
}

/* Writes the waits between the two streams of a device. */
static void put_joins(FILE *out, const struct emit_program *program)
{
    emit_put(out, 12, "edges read the rows beside them, and write where those were read",
             "CHECK(cudaStreamWaitEvent(edge_stream[device], inside_done[device], 0));");
    if (!emit_repeats_steps(program))
        return;
    emit_put(out, 12, "inner rows read the edges beside them, and write where these were read",
             "if (step > 0)");
    emit_put(out, 16, NULL,
             "CHECK(cudaStreamWaitEvent(stream[device], edges_done[device], 0));");
}

/* Writes a loop over the devices around one call, or, where that is "", its head with the brace
 * that opens a block. */
static void put_each(FILE *out, int indent, const char *call)
{
    emit_put(out, indent, NULL, "for (size_t device = 0; device < DEVICES; device++)%s%s",
             call[0] != '\0' ? " " : " {", call);
}

static void put_waits(FILE *out, const struct emit_program *program)
{
    char receive[EMIT_TEXT];
    if (!emit_exchanges(program) && !emit_hides(program))
        return;
    fputs(
        "        // All devices wait before any of them records anew: a wait is for the latest "
        "record.\n",
        out);
    snprintf(receive, sizeof receive, "if (step > 0) receive(%s);",
             receive_arguments(program, false));
    put_each(out, 8, emit_hides(program) ? "" : receive);
    if (!emit_hides(program))
        return;
    if (emit_exchanges(program))
        emit_put(out, 12, NULL, "%s", receive);
    put_joins(out, program);
    emit_put(out, 8, NULL, "}");
}

static void put_steps(FILE *out, const struct emit_program *program)
{
    const char *send = program->plan->by_host ? "send_edges(device, next, step);"
                                              : "send_edges(device, next);";
    emit_put(out, 4, NULL, "for (int step = 0; step < STEPS; step++) {");
    put_waits(out, program);
    put_each(out, 8,
             emit_hides(program) ? "make_edges(device, now, next);"
                                 : "make_rows(device, now, next);");
    if (emit_exchanges(program)) {
        emit_put(out, 8, "nobody needs what the last step leaves",
                 "for (size_t device = 0; device < DEVICES && step + 1 < STEPS; device++)");
        emit_put(out, 12, NULL, "%s", send);
    }
    if (emit_hides(program))
        put_each(out, 8, "make_inside(device, now, next);");
    emit_put(out, 8, NULL, "std::swap(now, next);");
    emit_put(out, 4, NULL, "}");
}

/* --- all of it --- */

static void put_functions(FILE *out, const struct emit_program *program)
{
    emit_rows_places(out, program);
    put_clear(out, program);
    put_copy_in(out);
    put_step_rows(out);
    put_receives(out, program);
    if (emit_hides(program))
        put_parts(out, program);
    else
        put_whole_step(out, program);
    put_sends(out, program);
    put_copy_out(out);
}

void emit_exchange_issue(FILE *out, const struct emit_program *program)
{
    put_functions(out, program);
    fputs("static void issue_tiles() {\n"
          "    Row **now = d_in, **next = d_out; // a step reads what the one before has "
          "written\n",
          out);
    put_each(out, 4, "clear_outside(device);");
    put_tiles(out, program, "copy_in(device, first_tile(device) + i);");
    if (emit_hides(program)) {
        put_each(out, 4, "");
        emit_enter_device(out, 8, program, NULL);
        emit_put(out, 8, "for the first step's edges: all rows are there",
                 "CHECK(cudaEventRecord(inside_done[device], stream[device]));");
        emit_put(out, 4, NULL, "}");
    }
    put_steps(out, program);
    if (emit_hides(program)) {
        emit_put(out, 4, "the copies out take the edges, too",
                 "for (size_t device = 0; device < DEVICES; device++)");
        emit_put(out, 8, NULL,
                 "CHECK(cudaStreamWaitEvent(stream[device], edges_done[device], 0));");
    }
    put_tiles(out, program, "copy_out(device, first_tile(device) + i, now);");
    fputs("}\n\n", out);
}
