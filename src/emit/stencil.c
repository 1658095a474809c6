/* stencil.c - the stencil in a program: rows that stay on the device for all steps.
 *
 * Its plan is no loop over tiles. They are copied in, then each step is one launch on the rows
 * of all, and then they are copied out: so the loops are written here, as
 * plan/build_halo.c has them. On one device all of that is in one stream, which keeps the
 * order, and there are no events. Those of several devices are in exchange.c; the kernel and
 * the check are here. */
#include "emit/parts.h"

#include <inttypes.h>

/* --- the head, constants and arrays --- */

void emit_stencil_head(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    if (emit_has_devices(program)) {
        emit_rows_head(out, program);
        return;
    }
    fprintf(out,
            "// %" PRIu32 " step%s of stencil on %" PRIu32
            " tile%s, which stay%s on the device until the last. In one stream.\n",
            plan->params.steps, emit_repeats_steps(program) ? "s" : "", plan->tiles,
            plan->tiles == 1 ? "" : "s", plan->tiles == 1 ? "s" : "");
}

/* Returns what a neighbour's weight is 1 of, as kernels/stencil.cu has it: a power of two of
 * which 4 * halo are a half at most. */
static unsigned weight_of(uint32_t halo)
{
    unsigned of = 8;
    for (uint32_t room = 1; room < halo; room *= 2)
        of *= 2;
    return of;
}

void emit_stencil_constants(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    char blocks[EMIT_NAME] = "";
    emit_put(out, 0, NULL,
             "const size_t N = %" PRIu64 ", TILES = %" PRIu32
             ", TILE = N / TILES, BYTES = TILE * sizeof(float);",
             plan->elements, plan->tiles);
    fprintf(out,
            "// A tile is whole rows. An element has neighbours up to HALO rows and columns "
            "away.\n");
    emit_put(out, 0, NULL,
             "const size_t COLUMNS = %" PRIu64 ", ROWS = N / COLUMNS, TILE_ROWS = ROWS / TILES"
             ", HALO = %" PRIu32 ";",
             plan->params.columns, plan->params.halo);
    fprintf(out,
            "const size_t HALO_BYTES = HALO * COLUMNS * sizeof(float); // above, and as many "
            "below\n");
    if (emit_has_devices(program))
        emit_rows_constants(out, program);
    else
        snprintf(blocks, sizeof blocks, "BLOCKS = %" PRIu32 ", ", emit_blocks(program));
    emit_put(out, 0, "ITEMS: of a thread",
             "const int THREADS = %d, ITEMS = %d, %sSTEPS = %" PRIu32 ", RUNS = %" PRIu32 ";",
             KERNEL_THREADS, EMIT_STENCIL_BLOCK / KERNEL_THREADS, blocks, plan->params.steps,
             program->settings->runs + 1);
    fprintf(out,
            "constexpr float WEIGHT = 1 / %u.0f; // of a neighbour: all %" PRIu32
            " are a half at most\n",
            weight_of(plan->params.halo), 4 * plan->params.halo);
}

void emit_stencil_arrays(FILE *out, const struct emit_program *program)
{
    if (emit_has_devices(program)) {
        emit_rows_arrays(out, program);
        return;
    }
    fputs("static float (*in)[TILE], (*out)[TILE], *d_all;\n"
          "// On the device there are HALO rows before the array's own, and as many behind "
          "them.\n"
          "static float (*d_in)[COLUMNS], (*d_out)[COLUMNS];\n",
          out);
}

/* --- the kernel --- */

/* It takes columns and halo as arguments, as the kernel in kernels/stencil.cu does: a compiler
 * that knew them would unroll the loop, and the program would take another time. */
#define KERNEL                                                                                 \
    "// A block makes ITEMS * THREADS elements that follow one another. Threads side by side " \
    "have\n"                                                                                   \
    "// elements side by side, and a thread's own are THREADS apart. `in` and `out` are at "   \
    "the "                                                                                     \
    "first\n"                                                                                  \
    "// row of the array: what lies above and below it is read, too.\n"                        \
    "static __global__ void stencil(const float *in, float *out, size_t count, unsigned "      \
    "columns,\n"                                                                               \
    "                               unsigned halo) {\n"                                        \
    "    size_t i = (size_t)blockIdx.x * ITEMS * THREADS + threadIdx.x;\n"                     \
    "    unsigned column = i % columns;\n"                                                     \
    "    for (int item = 0; item < ITEMS && i < count; item++) {\n"                            \
    "        const float *x = in + i;\n"                                                       \
    "        float own = *x, sum = 0;\n"                                                       \
    "        for (unsigned k = 1; k <= halo; k++) {\n"                                         \
    "            const size_t rows = (size_t)k * columns;\n"                                   \
    "            const float left = column >= k ? *(x - k) : 0; // beside a row is 0\n"        \
    "            const float right = columns - column > k ? x[k] : 0;\n"                       \
    "            sum += *(x - rows) + x[rows] + (left + right);\n"                             \
    "        }\n"                                                                              \
    "        out[i] = 0.5f * own + WEIGHT * sum;\n"                                            \
    "        i += THREADS;\n"                                                                  \
    "        column += THREADS;\n"                                                             \
    "        if (column >= columns) // its row has ended: only then it divides again\n"        \
    "            column %= columns;\n"                                                         \
    "    }\n"                                                                                  \
    "}\n\n"

#define ON_CPU                                                                                 \
    "// A step in double. Each thread of the CPU has its part of the rows.\n"                  \
    "static void step_cpu(const std::vector<double> &in, std::vector<double> &out) {\n"        \
    "    const auto at = [&](size_t row, size_t column) { // 0 outside; 0 - 1 is a large "     \
    "number\n"                                                                                 \
    "        return row < ROWS && column < COLUMNS ? in[row * COLUMNS + column] : 0;\n"        \
    "    };\n"                                                                                 \
    "    const auto make_rows = [&](size_t row, size_t end) {\n"                               \
    "        for (; row < end; row++)\n"                                                       \
    "            for (size_t column = 0; column < COLUMNS; column++) {\n"                      \
    "                double sum = 0;\n"                                                        \
    "                for (size_t k = 1; k <= HALO; k++)\n"                                     \
    "                    sum += at(row - k, column) + at(row + k, column) +\n"                 \
    "                           at(row, column - k) + at(row, column + k);\n"                  \
    "                out[row * COLUMNS + column] = 0.5 * at(row, column) + WEIGHT * sum;\n"    \
    "            }\n"                                                                          \
    "    };\n"                                                                                 \
    "    std::vector<std::thread> threads(std::max(1u, "                                       \
    "std::thread::hardware_concurrency()));\n"                                                 \
    "    const size_t count = threads.size();\n"                                               \
    "    for (size_t i = 0; i < count; i++)\n"                                                 \
    "        threads[i] = std::thread(make_rows, i * ROWS / count, (i + 1) * ROWS / count);\n" \
    "    for (std::thread &each : threads) each.join();\n"                                     \
    "}\n\n"

void emit_stencil_functions(FILE *out)
{
    fputs(KERNEL ON_CPU, out);
}

/* --- the calls --- */

void emit_stencil_issue(FILE *out, const struct emit_program *program)
{
    if (emit_has_devices(program)) {
        emit_exchange_issue(out, program);
        return;
    }
    const bool both = emit_repeats_steps(program);
    const int indent = both ? 8 : 4;
    const char *array = both ? "array" : "now", *why = "what lies outside the array is 0";
    fprintf(out, "static void issue_tiles() {\n"
                 "    float (*now)[COLUMNS] = d_in, (*next)[COLUMNS] = d_out; // a step reads "
                 "and writes\n");
    if (both)
        emit_put(out, 4, "what lies outside the array is 0, in all steps",
                 "for (float (*array)[COLUMNS] : {now, next}) {");
    emit_put(out, indent, both ? NULL : why,
             "CHECK(cudaMemsetAsync(%s[0], 0, HALO_BYTES, stream));", array);
    emit_put(out, indent, NULL,
             "CHECK(cudaMemsetAsync(%s[HALO + ROWS], 0, HALO_BYTES, stream));", array);
    if (both)
        fprintf(out, "    }\n");
    fprintf(out, "    for (size_t tile = 0; tile < TILES; tile++)\n");
    emit_put(out, 8, NULL,
             "CHECK(cudaMemcpyAsync(now[HALO + tile * TILE_ROWS], in[tile], BYTES, "
             "cudaMemcpyHostToDevice, stream));");
    fputs("    // A tile's outer rows need the next tiles' rows: a step comes behind all "
          "copies in, "
          "and a\n"
          "    // copy out behind all steps. A step reads what the one before has written, and "
          "writes where\n"
          "    // that has read. All are in one stream, which keeps that order: they need no "
          "events.\n"
          "    for (int step = 0; step < STEPS; step++) {\n"
          "        stencil<<<BLOCKS, THREADS, 0, stream>>>(now[HALO], next[HALO], N, COLUMNS, "
          "HALO);\n"
          "        CHECK(cudaGetLastError());\n"
          "        std::swap(now, next);\n"
          "    }\n"
          "    for (size_t tile = 0; tile < TILES; tile++)\n",
          out);
    emit_put(out, 8, NULL,
             "CHECK(cudaMemcpyAsync(out[tile], now[HALO + tile * TILE_ROWS], BYTES, "
             "cudaMemcpyDeviceToHost, stream));");
    fprintf(out, "}\n\n");
}

/* --- main() --- */

void emit_stencil_memory(FILE *out, const struct emit_program *program)
{
    if (emit_has_devices(program)) {
        emit_rows_memory(out);
        return;
    }
    fputs("    const size_t device_bytes = N * sizeof(float) + 2 * HALO_BYTES;\n"
          "    CHECK(cudaMalloc(&d_in, device_bytes)); CHECK(cudaMalloc(&d_out, "
          "device_bytes));\n",
          out);
}

void emit_stencil_poison(FILE *out, const struct emit_program *program)
{
    if (emit_has_devices(program)) {
        emit_rows_poison(out, program);
        return;
    }
    emit_put(out, 8, "no zeros are left around the array",
             "for (float (*array)[COLUMNS] : {d_in, d_out})");
    emit_put(out, 12, NULL, "CHECK(cudaMemset(array, 0xFF, device_bytes));");
}

/* The bound: no input is negative, so that sums lose nothing, and each rounding moves a result
 * by half of FLT_EPSILON of it at most. In a step an element of the nearest neighbours is
 * rounded HALO + 2 times: twice in their own sum, HALO - 1 times as others are added to it, and
 * once with the element itself. (Products with powers of two are exact, and so it does not
 * matter whether a compiler joins them with an addition.) After S steps that is a factor of
 * (1 + u)^(S (HALO + 2)) at most, which is below exp(S (HALO + 3) u). The one that is added to
 * HALO + 2 is room for the roundings of the reference. FLT_MIN is room for what underflows: no
 * step loses more than a few of the smallest floats, and there are 10000 steps at most. */
void emit_stencil_check(FILE *out)
{
    fputs("    std::vector<double> right(N), next(N);\n"
          "    for (size_t i = 0; i < N; i++) right[i] = in[i / TILE][i % TILE];\n"
          "    for (int step = 0; step < STEPS; step++) {\n"
          "        step_cpu(right, next);\n"
          "        right.swap(next);\n"
          "    }\n"
          "    // No element is negative. A step rounds HALO + 2 times, by half of FLT_EPSILON "
          "at "
          "most.\n"
          "    const double off = expm1(STEPS * (HALO + 3.0) * FLT_EPSILON / 2);\n"
          "    for (size_t i = 0; i < N; i++)\n"
          "        wrong += !(fabs(out[i / TILE][i % TILE] - right[i]) <= off * right[i] + "
          "FLT_MIN);\n",
          out);
}
