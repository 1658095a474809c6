/* transpose.c - transposes in a program: each tile is a matrix of COLUMNS to a row.
 *
 * They are written alone, and not in chains: what they make of an element is its place, and the
 * check asks where each comes from. */
#include "emit/parts.h"

#include <inttypes.h>
#include <string.h>

/* The head of each: a block takes squares in turn, and a thread the elements of every
 * THREADS / SQUARE-th row of it. */
#define HEAD(name, cost, shared, order)                                                        \
    "// Each block takes a square of the matrix at a time; a warp's threads lie along a row "  \
    "of it.\n" cost "static __global__ void " name                                             \
    "(const float *in, float *out, size_t count) {\n" shared                                   \
    "    const size_t rows = count / COLUMNS, x = threadIdx.x % SQUARE, y = threadIdx.x / "    \
    "SQUARE;\n"                                                                                \
    "    const size_t across = (COLUMNS + SQUARE - 1) / SQUARE, down = (rows + SQUARE - 1) / " \
    "SQUARE;\n"                                                                                \
    "    for (size_t square = blockIdx.x; square < down * across; square += gridDim.x) "       \
    "{\n" order
#define BY_ROWS                                                                                \
    "        const size_t row = square / across * SQUARE, column = square % across * "         \
    "SQUARE;\n"
#define BY_DIAGONALS                                                                           \
    "        const unsigned number = square, high = down; // 32 bits: divisions are fast\n"    \
    "        const size_t row = number % high * (size_t)SQUARE;\n"                             \
    "        const size_t column = (number / high + number % high) % across * SQUARE;\n"
#define EACH_ROW                                                                               \
    "#pragma unroll\n"                                                                         \
    "        for (int i = 0; i < SQUARE; i += THREADS / SQUARE)\n"
#define IN  "in[(row + y + i) * COLUMNS + column + x]"
#define HAS "            if (row + y + i < rows && column + x < COLUMNS)\n"

#define DIRECT(name, cost, to)                                                                 \
    HEAD(name, cost, "", BY_ROWS)                                                              \
    EACH_ROW HAS "                " to " =\n"                                                  \
                 "                    " IN ";\n"                                               \
                 "    }\n"                                                                     \
                 "}\n"
#define SHARED(name, cost, why, width, order, store)                                           \
    HEAD(name, cost, "    __shared__ float part[SQUARE][" width "]; // " why "\n", order)      \
    EACH_ROW HAS "                part[y + i][x] = " IN ";\n"                                  \
                 "        __syncthreads();\n" store                                            \
                 "        __syncthreads(); // all have read it: the next square may come\n"    \
                 "    }\n"                                                                     \
                 "}\n"

/* A square goes back to its place, or across the diagonal. */
#define BACK(what)                                                                             \
    EACH_ROW HAS "                out[(row + y + i) * COLUMNS + column + x] = " what ";\n"
#define ACROSS(what)                                                                           \
    EACH_ROW "            if (column + y + i < COLUMNS && row + x < rows)\n"                   \
             "                out[(column + y + i) * rows + row + x] = " what ";\n"
#define IS_WHOLE(why)                                                                          \
    "        // A square that is cut off " why "\n"                                            \
    "        const bool whole = row + SQUARE <= rows && column + SQUARE <= COLUMNS;\n"
#define PADDED "a column more: 32 of a column lie in 32 banks"

/* Where an element comes from: in the transpose, and where whole squares are turned in their
 * places, or left as they are. */
#define FROM(text)                                                                             \
    "// Returns where in its tile the element at place i of the result was.\n"                 \
    "static size_t comes_from(size_t i, size_t count) {\n"                                     \
    "    const size_t rows = count / COLUMNS;\n" text "}\n"
#define FROM_ACROSS FROM("    return i % rows * COLUMNS + i / rows;\n")
#define FROM_SQUARE(row, column)                                                               \
    FROM("    const size_t row = " row ", column = " column                                    \
         ", x = column % SQUARE, y = row % SQUARE;\n"                                          \
         "    if (row - y + SQUARE > rows || column - x + SQUARE > COLUMNS)\n"                 \
         "        return row * COLUMNS + column; // of a square that is cut off\n"             \
         "    return (row - y + x) * COLUMNS + column - x + y;\n")

static const struct transpose {
    const char *name, *source;
    const char *from; /* NULL: elements stay where they are */
} transposes[] = {
    {"transpose-copy",
     DIRECT("transpose_copy", "// Rows are read, and rows are written: as fast as it gets.\n",
            "out[(row + y + i) * COLUMNS + column + x]"),
     NULL},
    {"transpose-shared-copy",
     SHARED("transpose_shared_copy", "", "costs: the way through it, and barriers", "SQUARE",
            BY_ROWS, BACK("part[y + i][x]")),
     NULL},
    {"transpose-naive",
     DIRECT("transpose_naive",
            "// What costs: a warp writes a column, and so touches 32 pieces of memory.\n",
            "out[(column + x) * rows + row + y + i]"),
     FROM_ACROSS},
    {"transpose-coalesced",
     SHARED("transpose_coalesced", "", "costs: a warp finds a column in one bank", "SQUARE",
            BY_ROWS, ACROSS("part[x][y + i]")),
     FROM_ACROSS},
    {"transpose-conflict-free",
     SHARED("transpose_conflict_free", "", PADDED, "SQUARE + 1", BY_ROWS,
            ACROSS("part[x][y + i]")),
     FROM_ACROSS},
    {"transpose-fine",
     SHARED("transpose_fine",
            "// Half a transpose: squares are transposed, and stay where they are.\n", PADDED,
            "SQUARE + 1", BY_ROWS,
            IS_WHOLE("fits its place only as it is.")
                BACK("whole ? part[x][y + i] : part[y + i][x]")),
     FROM_SQUARE("i / COLUMNS", "i % COLUMNS")},
    {"transpose-coarse",
     SHARED("transpose_coarse",
            "// The other half: squares change places, and stay as they are inside.\n", PADDED,
            "SQUARE + 1", BY_ROWS,
            IS_WHOLE("fits its new place only transposed.")
                ACROSS("whole ? part[y + i][x] : part[x][y + i]")),
     FROM_SQUARE("i % rows", "i / rows")},
    {"transpose-diagonal",
     SHARED(
         "transpose_diagonal",
         "// Squares come along diagonals: those that are worked on at once lie in different "
         "columns.\n"
         "// GPUs before 2010 had partitions of memory that were all busy only so; now "
         "addresses are hashed.\n",
         PADDED, "SQUARE + 1", BY_DIAGONALS, ACROSS("part[x][y + i]")),
     FROM_ACROSS},
};

static const struct transpose *find(const struct emit_program *program)
{
    for (size_t i = 0; i < sizeof transposes / sizeof *transposes; i++) {
        if (strcmp(transposes[i].name, program->plan->chain[0]->name) == 0)
            return &transposes[i];
    }
    return NULL;
}

bool emit_is_transpose(const struct emit_program *program)
{
    return find(program) != NULL;
}

bool emit_stays(const struct emit_program *program)
{
    return find(program) != NULL && find(program)->from == NULL;
}

void emit_transpose_kernel(FILE *out, const struct emit_program *program)
{
    const struct transpose *row = find(program);
    fprintf(out,
            "const size_t COLUMNS = %" PRIu64 "; // of a tile's matrix\n"
            "const int SQUARE = 64;\n\n%s\n",
            program->plan->params.columns, row->source);
    if (row->from != NULL)
        fprintf(out, "%s\n", row->from);
}
