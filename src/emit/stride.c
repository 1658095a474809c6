/* stride.c - `stride-copy` in a program: neighbours read STRIDE elements apart. */
#include "emit/parts.h"

#include <inttypes.h>
#include <string.h>

/* Places in larger tiles need 64 bits. */
#define PLACES_MOST (UINT64_C(1) << 31)

#define KERNEL                                                                                 \
    "// A tile is rows of STRIDE elements. A pass reads one of each row, and writes them one " \
    "behind the\n"                                                                             \
    "// other; there is a pass for each column. A pass is STEP columns further than the one "  \
    "before:\n"                                                                                \
    "// of neighbouring columns the cache would still have the memory.\n"                      \
    "// What costs: memory is read 32 bytes at a time; from stride 8 on one float of them is " \
    "wanted.\n"                                                                                \
    "static __global__ void stride_copy(const float *in, float *out, size_t count) {\n"        \
    "    const place rows = count / STRIDE, whole = rows * STRIDE;\n"                          \
    "    const place first = (place)blockIdx.x * EACH * THREADS + threadIdx.x;\n"              \
    "    float mine[EACH] = {};\n"                                                             \
    "    if (first < whole) { // so there are rows\n"                                          \
    "        place row = first % rows, column = first / rows * STEP % STRIDE;\n"               \
    "#pragma unroll // so that several loads are under way at once\n"                          \
    "        for (int i = 0; i < EACH; i++) {\n"                                               \
    "            if (first + i * THREADS < whole)\n"                                           \
    "                mine[i] = in[row * STRIDE + column];\n"                                   \
    "            for (row += THREADS; row >= rows; row -= rows) // a later pass\n"             \
    "                column = (column + STEP) % STRIDE;\n"                                     \
    "        }\n"                                                                              \
    "    }\n"                                                                                  \
    "#pragma unroll\n"                                                                         \
    "    for (int i = 0; i < EACH; i++) {\n"                                                   \
    "        const place to = first + i * THREADS;\n"                                          \
    "        if (to < count)\n"                                                                \
    "            out[to] = to < whole ? mine[i] : in[to]; // behind the last whole row they "  \
    "stay\n"                                                                                   \
    "    }\n"                                                                                  \
    "}\n\n"                                                                                    \
    "// Returns where in its tile the element at place i of the result was.\n"                 \
    "static size_t comes_from(size_t i, size_t count) {\n"                                     \
    "    const size_t rows = count / STRIDE;\n"                                                \
    "    return i < rows * STRIDE ? i % rows * STRIDE + i / rows * STEP % STRIDE : i;\n"       \
    "}\n\n"

bool emit_is_stride_copy(const struct emit_program *program)
{
    return strcmp(program->plan->chain[0]->name, "stride-copy") == 0;
}

void emit_stride_kernel(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    const struct kernel *kernel = plan->chain[0];
    const uint32_t stride = plan->params.stride;
    fprintf(out, "const unsigned STRIDE = %" PRIu32 ", STEP = %" PRIu32 ";\n", stride,
            kernel_stride_step(stride));
    fprintf(out, "const int EACH = %" PRIu32 "; // elements of a thread\n",
            (uint32_t)kernel->per_thread);
    emit_put(out, 0,
             plan->elements / plan->tiles < PLACES_MOST
                 ? "in a tile; with 64 bits divisions would be slow"
                 : "in a tile",
             "typedef %s place;",
             plan->elements / plan->tiles < PLACES_MOST ? "unsigned" : "size_t");
    fputs("\n" KERNEL, out);
}
