/* emit_transpose.c - transposes in a program: each tile is a matrix of COLUMNS to a row.
 *
 * They are written alone, and not in chains: what they make of an element is its place. */
#include "writers/emit_parts.h"

#include <inttypes.h>
#include <string.h>

/* The head of each: a block takes squares in turn, and a thread the elements of every
 * THREADS / SQUARE-th row of it. */
#define HEAD(name, shared)                                                                     \
    "// Each block takes a square of the matrix at a time; a warp's threads lie along a row "  \
    "of it.\n"                                                                                 \
    "static __global__ void " name "(const float *in, float *out, size_t count) {\n" shared    \
    "    const size_t rows = count / COLUMNS, x = threadIdx.x % SQUARE, y = threadIdx.x / "    \
    "SQUARE;\n"                                                                                \
    "    const size_t across = (COLUMNS + SQUARE - 1) / SQUARE, down = (rows + SQUARE - 1) / " \
    "SQUARE;\n"                                                                                \
    "    for (size_t square = blockIdx.x; square < down * across; square += gridDim.x) {\n"    \
    "        const size_t row = square / across * SQUARE, column = square % across * "         \
    "SQUARE;\n"
#define EACH_ROW                                                                               \
    "#pragma unroll\n"                                                                         \
    "        for (int i = 0; i < SQUARE; i += THREADS / SQUARE)\n"
#define IN  "in[(row + y + i) * COLUMNS + column + x]"
#define HAS "            if (row + y + i < rows && column + x < COLUMNS)\n"

#define DIRECT(name, to)                                                                       \
    HEAD(name, "")                                                                             \
    EACH_ROW HAS "                " to " =\n"                                                  \
                 "                    " IN ";\n"                                               \
                 "    }\n"                                                                     \
                 "}\n"
#define SHARED(name, why, width)                                                               \
    HEAD(name, "    __shared__ float part[SQUARE][" width "]; // " why "\n")                   \
    EACH_ROW HAS "                part[y + i][x] = " IN ";\n"                                  \
                 "        __syncthreads();\n" EACH_ROW                                         \
                 "            if (column + y + i < COLUMNS && row + x < rows)\n"               \
                 "                out[(column + y + i) * rows + row + x] = part[x][y + i];\n"  \
                 "        __syncthreads(); // all have read it: the next square may come\n"    \
                 "    }\n"                                                                     \
                 "}\n"

static const struct transpose {
    const char *name, *source;
    bool copies; /* elements stay where they are */
} transposes[] = {
    {"transpose-copy", DIRECT("transpose_copy", "out[(row + y + i) * COLUMNS + column + x]"),
     true},
    {"transpose-naive", DIRECT("transpose_naive", "out[(column + x) * rows + row + y + i]"),
     false},
    {"transpose-coalesced",
     SHARED("transpose_coalesced", "a warp that reads a column finds it in one bank", "SQUARE"),
     false},
    {"transpose-conflict-free",
     SHARED("transpose_conflict_free", "a column more: 32 of a column lie in 32 banks",
            "SQUARE + 1"),
     false},
};

static const struct transpose *find(const struct kernel *kernel)
{
    for (size_t i = 0; i < sizeof transposes / sizeof *transposes; i++) {
        if (strcmp(transposes[i].name, kernel->name) == 0)
            return &transposes[i];
    }
    return NULL;
}

bool emit_is_transpose(const struct emit_program *program)
{
    return find(program->plan->chain[0]) != NULL;
}

void emit_transpose_kernel(FILE *out, const struct emit_program *program)
{
    fprintf(out,
            "const size_t COLUMNS = %" PRIu64 "; // of a tile's matrix\n"
            "const int SQUARE = 64;\n\n%s\n",
            program->plan->params.columns, find(program->plan->chain[0])->source);
}

void emit_transpose_check(FILE *out, const struct emit_program *program)
{
    if (find(program->plan->chain[0])->copies)
        fputs("    for (size_t i = 0; i < N; i++)\n"
              "        wrong += out[i / TILE][i % TILE] != in[i / TILE][i % TILE];\n",
              out);
    else
        fputs("    const size_t ROWS = TILE / COLUMNS;\n"
              "    for (size_t tile = 0; tile < TILES; tile++)\n"
              "        for (size_t i = 0; i < TILE; i++)\n"
              "            wrong += out[tile][i] != in[tile][i % ROWS * COLUMNS + i / ROWS];\n",
              out);
}
