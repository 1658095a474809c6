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

static bool is_legacy(const struct emit_program *program)
{
    return program->legacy != EMIT_NO_LEGACY &&
           program->stages[KERNEL_STAGE].stream == program->legacy;
}

/* Returns true if kernels are in several streams, each of which has a handle. */
static bool has_handles(const struct emit_program *program)
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
    const char *place = has_handles(program) ? strchr(stream, '[') : on;
    emit_address(program, BUFFER_DEVICE_IN1, false, b);
    emit_address(program, BUFFER_DEVICE_IN0, false, c);
    emit_put(out, indent,
             is_legacy(program) ? "the mistake: the handle has no stream"
                                : "in place: C += A B",
             "CUBLAS(cublasDgemm_64(blas%s, CUBLAS_OP_N, CUBLAS_OP_N, ROWS, COLUMNS, INNER, "
             "&ONE, d_a%s, ROWS, %s, INNER, &ONE, %s, ROWS));",
             place, on, b, c);
}

/* --- the head, sizes and arrays --- */

void emit_product_head(FILE *out)
{
    fprintf(out, "#include <cublas_v2.h> // of CUDA 12 or later\n"
                 "#define CUBLAS(call) do if (cublasStatus_t status = (call)) { \\\n"
                 "    fprintf(stderr, \"line %%d: %%s\\n\", __LINE__, "
                 "cublasGetStatusString(status)); exit(1); } while (0)\n");
}

void emit_product_sizes(FILE *out, const struct emit_program *program)
{
    enum { PIECE_MOST = 1 << 27 }; /* elements of a bare copy: a GiB */
    const struct plan *plan = program->plan;
    const uint64_t share = (plan->elements + program->devices - 1) / program->devices;
    fprintf(out,
            "// Matrices lie column by column. A tile is whole columns of C, and as many of "
            "B.\n");
    emit_put(out, 0, NULL,
             "const size_t ROWS = %" PRIu64 ", INNER = %" PRIu64
             ", COLUMNS = TILE / ROWS, A = ROWS * INNER;",
             plan->params.rows, plan->params.inner);
    fprintf(out, "const size_t B_TILE = INNER * COLUMNS, B_BYTES = B_TILE * sizeof(double);\n");
    emit_put(out, 0, "elements of a bare copy", "const size_t PIECE = %" PRIu64 ";",
             share < PIECE_MOST ? share : (uint64_t)PIECE_MOST);
    fprintf(out, "const double ONE = 1; // C = ONE * A B + ONE * C\n");
}

/* Returns the declarator of a device buffer: rows, or a pointer for each slot. */
static const char *declarator(const struct emit_program *program, enum buffer buffer,
                              const char *row, char text[EMIT_TEXT])
{
    const char *name = emit_buffer_name(program, buffer);
    if (emit_takes(program, buffer))
        emit_pointers(program, name, text);
    else
        snprintf(text, EMIT_TEXT, "(*%s%s)[%s]", name, emit_each_device(program), row);
    return text;
}

void emit_product_arrays(FILE *out, const struct emit_program *program)
{
    char b[EMIT_TEXT], c[EMIT_TEXT];
    const char *each = emit_each_device(program);
    emit_put(out, 0, "C goes in as c0, and comes out as c",
             "static double (*c0)[TILE], (*c)[TILE], %s;",
             declarator(program, BUFFER_DEVICE_IN0, "TILE", c));
    emit_put(out, 0, NULL, "static double *a, *d_a%s, (*b)[B_TILE], %s, *d_all%s;", each,
             declarator(program, BUFFER_DEVICE_IN1, "B_TILE", b), each);
    emit_put(out, 0,
             has_handles(program)        ? "each calls into its stream"
             : emit_has_devices(program) ? "each calls into its device's stream"
                                         : NULL,
             "static cublasHandle_t blas%s%s;", each, has_handles(program) ? "[STREAMS]" : "");
}

/* --- functions --- */

/* A workspace is taken away where the stream is set, so that this comes first. */
static void put_handle(FILE *out, const struct emit_program *program)
{
    fprintf(
        out,
        "// A handle has memory of its own to work in: shared, it would be a race of streams."
        "\n"
        "static void create_blas(cublasHandle_t *handle%s) {\n"
        "    const size_t bytes = 32 << 20; // what cuBLAS asks for on Hopper\n"
        "    void *workspace;\n"
        "    CHECK(cudaMalloc(&workspace, bytes));\n"
        "    CUBLAS(cublasCreate(handle));\n"
        "%s"
        "    CUBLAS(cublasSetWorkspace(*handle, workspace, bytes));\n"
        "}\n\n",
        is_legacy(program) ? "" : ", cudaStream_t stream",
        is_legacy(program) ? ""
                           : "    CUBLAS(cublasSetStream(*handle, stream)); // before the "
                             "workspace, which this takes away\n");
}

#define DATA                                                                                   \
    "// Returns a number in [-1/2, 1/2), as if by chance, and another one for each i below "   \
    "2^32.\n"                                                                                  \
    "static double number(size_t i) {\n"                                                       \
    "    unsigned x = (unsigned)i * 2654435761u;\n"                                            \
    "    x = (x ^ x >> 15) * 2246822519u;\n"                                                   \
    "    return (x ^ x >> 13) / 4294967296.0 - 0.5;\n"                                         \
    "}\n\n"

/* The bound: with u the rounding of a number, half of DBL_EPSILON, an element of C is within
 * (INNER + 1) u (|A||B| + |C0|) of the exact one in whatever order it was added up, to first
 * order (Higham, "Accuracy and Stability of Numerical Algorithms", 3.1 and 3.5). The sums of
 * the check round each term ROWS + INNER + 4 times at most. Together that is less than (ROWS +
 * 2 INNER + 8) u times the sum of all terms' sizes, of which the program allows 2 (ROWS + INNER
 * + 8) u: what is right never fails. */
#define CHECKED                                                                                \
    "// Returns how many columns of C are wrong, and does not multiply again (Freivalds).\n"   \
    "// For weights y of the rows, y'C must be (y'A)B + y'C0. An element of C was rounded "    \
    "INNER + 1\n"                                                                              \
    "// times, and a term of these sums ROWS + INNER + 4 times, each by half of DBL_EPSILON "  \
    "at most.\n"                                                                               \
    "static size_t wrong_columns() {\n"                                                        \
    "    std::vector<double> y(ROWS), ya(INNER), size(INNER); // y'A, and |y'||A|\n"           \
    "    for (size_t i = 0; i < ROWS; i++) y[i] = number(A + i) + copysign(0.5, number(A + "   \
    "i));\n"                                                                                   \
    "    for (size_t i = 0; i < A; i++) {\n"                                                   \
    "        ya[i / ROWS] += y[i % ROWS] * a[i];\n"                                            \
    "        size[i / ROWS] += fabs(y[i % ROWS] * a[i]);\n"                                    \
    "    }\n"                                                                                  \
    "    size_t wrong = 0;\n"                                                                  \
    "    for (size_t column = 0; column < TILES * COLUMNS; column++) {\n"                      \
    "        const size_t tile = column / COLUMNS, place = column % COLUMNS;\n"                \
    "        const double *before = c0[tile] + place * ROWS, *after = c[tile] + place * "      \
    "ROWS;\n"                                                                                  \
    "        const double *factor = b[tile] + place * INNER;\n"                                \
    "        double off = 0, sizes = 0; // y'(C - C0) - (y'A)B, and its terms without signs\n" \
    "        for (size_t i = 0; i < ROWS; i++) {\n"                                            \
    "            off += y[i] * (after[i] - before[i]);\n"                                      \
    "            sizes += fabs(y[i]) * (fabs(after[i]) + fabs(before[i]));\n"                  \
    "        }\n"                                                                              \
    "        for (size_t i = 0; i < INNER; i++) {\n"                                           \
    "            off -= ya[i] * factor[i];\n"                                                  \
    "            sizes += size[i] * fabs(factor[i]);\n"                                        \
    "        }\n"                                                                              \
    "        wrong += !(fabs(off) <= (ROWS + INNER + 8) * DBL_EPSILON * sizes);\n"             \
    "    }\n"                                                                                  \
    "    return wrong;\n"                                                                      \
    "}\n\n"

static void put_bare(FILE *out, const struct emit_program *program)
{
    const char *on = emit_of_device(program);
    fprintf(out, "// Copies an array in or out, in pieces: the device has room for one each "
                 "way.\n");
    emit_put(out, 0, NULL,
             "static void copy_bare(%sdouble *array, size_t count, cudaMemcpyKind way, "
             "cudaStream_t stream) {",
             emit_has_devices(program) ? "size_t device, " : "");
    fprintf(out,
            "    for (size_t at = 0; at < count; at += PIECE) {\n"
            "        const size_t bytes = std::min(PIECE, count - at) * sizeof(double);\n"
            "        if (way == cudaMemcpyHostToDevice)\n"
            "            CHECK(cudaMemcpyAsync(d_all%s, array + at, bytes, way, stream));\n"
            "        else\n"
            "            CHECK(cudaMemcpyAsync(array + at, d_all%s + PIECE, bytes, way, "
            "stream));\n"
            "    }\n"
            "}\n\n",
            on, on);
}

void emit_product_functions(FILE *out, const struct emit_program *program)
{
    put_handle(out, program);
    fputs(DATA, out);
    put_bare(out, program);
    fputs(CHECKED, out);
}

/* --- main() --- */

void emit_product_handles(FILE *out, const struct emit_program *program)
{
    char stream[EMIT_TEXT];
    const char *on = emit_of_device(program);
    if (has_handles(program))
        emit_put(out, 4, emit_has_devices(program) ? "handles are the current device's" : NULL,
                 "for (size_t i = 0; i < STREAMS; i++) create_blas(&blas%s[i], stream%s[i]);",
                 on, on);
    else if (is_legacy(program))
        fprintf(out, "    create_blas(&blas); // it calls into the legacy default stream\n");
    else
        emit_put(
            out, 4, emit_has_devices(program) ? "the handle is the current device's" : NULL,
            "create_blas(&blas%s, %s);", on, emit_stream_name(program, KERNEL_STAGE, stream));
}

void emit_product_data(FILE *out)
{
    fprintf(out, "    for (size_t i = 0; i < A; i++) a[i] = number(i);\n");
    emit_put(
        out, 4, "tiles differ",
        "for (size_t i = 0; i < TILES * B_TILE; i++) b[i / B_TILE][i %% B_TILE] = number(2 "
        "* i + 1);");
    emit_put(out, 4, NULL,
             "for (size_t i = 0; i < N; i++) c0[i / TILE][i %% TILE] = number(3 * i + 2);");
}

/* Writes the copies of a device's part of the tiles: each needs all of A. */
static void put_bare_parts(FILE *out, const char *in_stream, const char *out_stream)
{
    static const char *const arrays[][2] = {
        {"a", "A"}, {"b[first]", "tiles * B_TILE"}, {"c0[first]", "tiles * TILE"}};
    emit_put(out, 8, "all of A, and a part of the tiles",
             "for (size_t device = 0; device < DEVICES; device++) {");
    emit_put(out, 12, NULL, "const size_t first = device * TILES / DEVICES;");
    emit_put(out, 12, NULL, "const size_t tiles = (device + 1) * TILES / DEVICES - first;");
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        emit_put(out, 12, NULL, "copy_bare(device, %s, %s, cudaMemcpyHostToDevice, %s);",
                 arrays[i][0], arrays[i][1], in_stream);
    emit_put(out, 12, NULL,
             "copy_bare(device, c[first], tiles * TILE, cudaMemcpyDeviceToHost, %s);",
             out_stream);
    emit_put(out, 8, NULL, "}");
}

void emit_product_bare(FILE *out, const struct emit_program *program, const char *in_stream,
                       const char *out_stream)
{
    static const char *const arrays[][2] = {
        {"a", "A"}, {"b[0]", "TILES * B_TILE"}, {"c0[0]", "N"}};
    if (emit_has_devices(program)) {
        put_bare_parts(out, in_stream, out_stream);
        return;
    }
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        emit_put(out, 8, NULL, "copy_bare(%s, %s, cudaMemcpyHostToDevice, %s);", arrays[i][0],
                 arrays[i][1], in_stream);
    emit_put(out, 8, NULL, "copy_bare(c[0], N, cudaMemcpyDeviceToHost, %s);", out_stream);
}
