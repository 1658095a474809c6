/* cpu.c - the fourth way in a program: the tiles that the CPU works on, beside the loops.
 *
 * Its threads take pieces of these tiles in turn. A piece goes through the whole chain in plain
 * functions, which work in float as the CPU twins do. A repeat of `scale` is a product and a
 * sum, which the compiler makes one where the vector units can: fmaf() is a slow library call
 * where they can't. The check's bounds allow both.
 */
#include "emit/parts.h"

#include <string.h>

/* --- the kernels --- */

/* Repeats of a*x + b on blocks of elements; `before` is what comes before all blocks, `more`
 * and `term` what a block gets beside its elements. That the repeats are a function with their
 * number keeps the compiler from having one element go through all of them alone: GCC 13 does,
 * where it may change the order of the two loops. */
#define BLOCKS_ON_CPU(name, parameter, before, more, term)                                     \
    "// A block's elements don't wait for one another: they stay in the vector units through " \
    "all repeats.\n"                                                                           \
    "VECTOR_UNITS static void " name "_block(float *x, " parameter "int repeats) {\n"          \
    "    for (int repeat = 0; repeat < repeats; repeat++)\n"                                   \
    "        for (int i = 0; i < BLOCK; i++) x[i] = FACTOR * x[i] + " term ";\n"               \
    "}\n\n"                                                                                    \
    "static void " name "_on_cpu(const float *in, float *out, size_t count) {\n" before        \
    "    for (size_t first = 0; first < count; first += BLOCK) {\n"                            \
    "        const size_t size = std::min<size_t>(BLOCK, count - first);\n"                    \
    "        float x[BLOCK] = {};\n"                                                           \
    "        memcpy(x, in + first, size * sizeof(float));\n"                                   \
    "        " name "_block(x, " more "INTENSITY);\n"                                          \
    "        memcpy(out + first, x, size * sizeof(float));\n"                                  \
    "    }\n"                                                                                  \
    "}\n\n"

/* The branches differ in the sign of b alone. */
#define BRANCHES_ON_CPU(name, second)                                                          \
    BLOCKS_ON_CPU(name, "const float *term, ",                                                 \
                  "    float term[BLOCK]; // of each element: no branch is needed; pieces "    \
                  "begin at whole blocks\n"                                                    \
                  "    for (int i = 0; i < BLOCK; i++) term[i] = " second " ? -1 : 1;\n",      \
                  "term, ", "term[i]")

#define WAVE_ON_CPU(name)                                                                      \
    "// As the kernel does it, with the functions of the C library.\n"                         \
    "static void " name                                                                        \
    "_on_cpu(const float *x, const float *y, float *out, size_t count) {\n"                    \
    "    for (size_t i = 0; i < count; i++) {\n"                                               \
    "        float v = 0;\n"                                                                   \
    "        for (int repeat = 0; repeat < INTENSITY; repeat++) {\n"                           \
    "            const float u = x[i] + 0.25f * v;\n"                                          \
    "            v = sinf(cosf(sinf(sqrtf(powf(cosf(u * u + y[i] * y[i]), 2)))));\n"           \
    "        }\n"                                                                              \
    "        out[i] = v;\n"                                                                    \
    "    }\n"                                                                                  \
    "}\n\n"

/* Sums of floats and doubles: the compiler may not reorder additions, so the program does. */
#define SUM_ON_CPU(name, type)                                                                 \
    "static double " name "_on_cpu(const " type " *in, size_t count) {\n"                      \
    "    const size_t LANES = 8, whole = count / LANES * LANES;\n"                             \
    "    double lane[LANES] = {}, sum = 0; // an addition waits for the one before in its "    \
    "lane alone\n"                                                                             \
    "    for (size_t first = 0; first < whole; first += LANES)\n"                              \
    "        for (size_t i = 0; i < LANES; i++) lane[i] += in[first + i];\n"                   \
    "    for (size_t i = whole; i < count; i++) sum += in[i];\n"                               \
    "    for (double each : lane) sum += each;\n"                                              \
    "    return sum;\n"                                                                        \
    "}\n\n"

#define COUNT_ON_CPU(name, in, type, term)                                                     \
    "static " type " " name "_on_cpu(const " in " *in, size_t count) {\n"                      \
    "    " type " sum = 0;\n"                                                                  \
    "    for (size_t i = 0; i < count; i++) sum += " term ";\n"                                \
    "    return sum;\n"                                                                        \
    "}\n\n"

/* The steps of the ladder differ on a GPU alone. */
#define LADDER_ON_CPU(step, function)                                                          \
    {                                                                                          \
        "reduce-" step, COUNT_ON_CPU("reduce_" function, "unsigned", "unsigned", "in[i]"),     \
            "sum", false                                                                       \
    }

/* A kernel's form on the CPU. */
static const struct cpu_kernel {
    const char *name, *source;
    const char *result; /* of reductions: what a tile's sum gives */
    bool uses_vectors;
} rows[] = {
    {"scale", BLOCKS_ON_CPU("scale", "", "", "", "1"), NULL, true},
    {"wave", WAVE_ON_CPU("wave"), NULL, false},
    {"wave-launches", WAVE_ON_CPU("wave_launches"), NULL, false},
    {"uniform", BRANCHES_ON_CPU("uniform", "i / 32 % 2 != 0"), NULL, true},
    {"divergent", BRANCHES_ON_CPU("divergent", "i % 2 != 0"), NULL, true},
    {"sum", SUM_ON_CPU("sum", "float"), "sum", false},
    {"sum-int", COUNT_ON_CPU("sum_int", "unsigned", "unsigned", "in[i]"), "sum", false},
    {"sum-double", SUM_ON_CPU("sum_double", "double"), "sum", false},
    {"all", COUNT_ON_CPU("all", "unsigned", "unsigned long long", "in[i] == 0"), "sum == 0",
     false},
    {"finite", COUNT_ON_CPU("finite", "float", "unsigned long long", "!std::isfinite(in[i])"),
     "sum == 0", false},
    LADDER_ON_CPU("shuffle", "shuffle"),
    LADDER_ON_CPU("divergent", "divergent"),
    LADDER_ON_CPU("conflicts", "conflicts"),
    LADDER_ON_CPU("sequential", "sequential"),
    LADDER_ON_CPU("first-add", "first_add"),
    LADDER_ON_CPU("last-warp", "last_warp"),
    LADDER_ON_CPU("unrolled", "unrolled"),
    LADDER_ON_CPU("many", "many"),
    LADDER_ON_CPU("atomic", "atomic"),
};
enum { ROWS = sizeof rows / sizeof *rows };

static const struct cpu_kernel *find(const struct kernel *kernel)
{
    for (int i = 0; i < ROWS; i++) {
        if (kernel->file == NULL && strcmp(rows[i].name, kernel->name) == 0)
            return &rows[i];
    }
    return NULL;
}

enum status emit_check_cpu(const struct emit_program *program, struct error *error)
{
    const struct plan *plan = program->plan;
    if (plan->cpu_tiles == 0)
        return STATUS_OK;
    if (plan->cpu_tiles == plan->tiles)
        return error_set(error, STATUS_USAGE,
                         "--emit: a run whose tiles are all the CPU's can't be written as a "
                         "program: allowed are shares that leave the GPU a tile");
    for (int i = 0; i < plan->chain_length; i++) {
        if (plan->chain[i]->file == NULL && find(plan->chain[i]) == NULL)
            return error_set(error, STATUS_USAGE,
                             "--emit: the CPU's part of the kernel %s can't be written as a "
                             "program: allowed are ways 1, 2 and 3",
                             plan->chain[i]->name);
    }
    return STATUS_OK;
}

/* --- the text --- */

void emit_cpu_constants(FILE *out, const struct emit_program *program)
{
    if (!emit_has_cpu(program))
        return;
    fprintf(out, "// The CPU has the last tiles. A core's cache holds a piece of one.\n");
    emit_put(out, 0, NULL,
             "const size_t CPU_PIECE = %d, CPU_PIECES = (TILE + CPU_PIECE - 1) / CPU_PIECE;",
             EMIT_CPU_PIECE);
}

static void put_kernels(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    bool uses_vectors = false;
    for (int i = 0; i < plan->chain_length; i++)
        uses_vectors |= find(plan->chain[i]) != NULL && find(plan->chain[i])->uses_vectors;
    if (uses_vectors)
        fprintf(out, "#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)\n"
                     "// A form for each kind of vector units: the best one is taken when the "
                     "program starts.\n"
                     "#define VECTOR_UNITS __attribute__((target_clones(\"avx512f\", \"avx2\", "
                     "\"default\")))\n"
                     "#else\n"
                     "#define VECTOR_UNITS\n"
                     "#endif\n"
                     "const int BLOCK = 256;\n\n");
    for (int i = 0; i < plan->chain_length; i++) {
        if (find(plan->chain[i]) != NULL && !emit_stood_before(plan, i))
            fputs(find(plan->chain[i])->source, out);
    }
}

/* Returns the place of the piece in a host array. */
static const char *piece_of(const struct emit_program *program, const char *array,
                            char text[EMIT_TEXT])
{
    const bool apart = emit_in_places(program);
    if (program->even)
        snprintf(text, EMIT_TEXT, apart ? "%s[place[tile]] + from" : "%s[tile] + from", array);
    else
        snprintf(text, EMIT_TEXT, apart ? "%s + placed(from)" : "%s + from", array);
    return text;
}

/* Writes what a link does with a piece: the first one reads the input, the others work in
 * place, and a reduction leaves its part of the tile's value. */
static void put_link(FILE *out, const struct emit_program *program, int link)
{
    const struct plan *plan = program->plan;
    const struct kernel *kernel = plan->chain[link];
    const bool reduces = kernel->shape == KERNEL_REDUCE, alone = plan->chain_length == 1;
    char name[EMIT_NAME], work[EMIT_NAME] = "work";
    char in[EMIT_TEXT] = "x", in2[EMIT_TEXT] = "", to[EMIT_TEXT] = "x";
    if (link == 0)
        piece_of(program, "in", in);
    if (kernel->inputs == 2)
        piece_of(program, "in2", in2);
    if (alone && !reduces)
        piece_of(program, "out", to);
    if (kernel->file != NULL) {
        if (!alone)
            snprintf(work, sizeof work, "work_%d", link + 1);
        emit_put(out, 8, NULL, "const pipeline_work %s = {{%s, %s}, %s, count, 1};", work, in,
                 in2[0] != '\0' ? in2 : "NULL", reduces ? "&found" : to);
        emit_put(out, 8, NULL, "%s->host(&%s);", emit_own_name(program, link, name), work);
        return;
    }
    emit_function_name(kernel, name);
    if (reduces)
        emit_put(out, 8, NULL, "found = %s_on_cpu(%s, count);", name, in);
    else
        emit_put(out, 8, NULL, "%s_on_cpu(%s%s%s, %s, count);", name, in,
                 in2[0] != '\0' ? ", " : "", in2, to);
}

/* Returns the type of what a piece leaves of a tile's value. */
static const char *part_type(const struct kernel *reduction)
{
    return reduction->file != NULL ? emit_type(reduction->out)
                                   : emit_kernel_find(reduction)->part;
}

static void put_thread(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    const struct kernel *reduction = emit_reduction(program);
    const char *type = emit_type(plan->chain[0]->in);
    char piece[EMIT_TEXT];
    fprintf(out,
            "// A thread of the CPU: takes the next piece until none is left.\n"
            "static void take_pieces() {\n"
            "    for (size_t piece; (piece = next_piece++) < CPU_TILES * CPU_PIECES;) {\n");
    emit_put(out, 8, NULL, "const size_t tile = GPU_TILES + piece / CPU_PIECES;");
    emit_put(out, 8, NULL, "const size_t from = %spiece %% CPU_PIECES * CPU_PIECE;",
             program->even ? "" : "tile * N / TILES + ");
    emit_put(out, 8, NULL, "const size_t count = std::min(CPU_PIECE, %s - from);",
             program->even ? "TILE" : "(tile + 1) * N / TILES");
    if (!program->even)
        emit_put(out, 8, "a smaller tile may have a piece less", "if (count == 0) continue;");
    if (reduction != NULL)
        emit_put(out, 8, NULL, "%s &found = cpu_found[tile - GPU_TILES][piece %% CPU_PIECES];",
                 part_type(reduction));
    if (plan->chain_length > 1 && reduction != NULL)
        emit_put(out, 8, "what is between the kernels", "%s x[CPU_PIECE];", type);
    else if (plan->chain_length > 1)
        emit_put(out, 8, "the first kernel brings it there", "%s *const x = %s;", type,
                 piece_of(program, "out", piece));
    for (int i = 0; i < plan->chain_length; i++)
        put_link(out, program, i);
    fprintf(out, "    }\n"
                 "}\n\n");
}

/* Writes how the pieces' parts become the tiles' values. */
static void put_fold(FILE *out, const struct emit_program *program)
{
    const struct kernel *reduction = emit_reduction(program);
    const struct cpu_kernel *row = find(reduction);
    fprintf(out,
            "    for (size_t tile = GPU_TILES; tile < TILES; tile++) {\n"
            "        %s sum = 0;\n"
            "        for (%s part : cpu_found[tile - GPU_TILES]) sum += part;\n"
            "        out[tile] = %s;\n"
            "    }\n",
            reduction->out == DTYPE_I32 ? part_type(reduction) : "double", part_type(reduction),
            row != NULL ? row->result : "sum");
}

void emit_cpu(FILE *out, const struct emit_program *program)
{
    if (!emit_has_cpu(program))
        return;
    put_kernels(out, program);
    fprintf(out, "static std::atomic<size_t> next_piece; // of the CPU's tiles\n");
    if (emit_reduction(program) != NULL)
        emit_put(out, 0, "the pieces' parts of the tiles' values",
                 "static %s cpu_found[CPU_TILES][CPU_PIECES];",
                 part_type(emit_reduction(program)));
    fprintf(out, "\n");
    put_thread(out, program);
    fprintf(out, "// The fourth way: the CPU works on its tiles, which no stream knows of. "
                 "This thread and\n"
                 "// the others leave two cores to the thread that issues the GPU's tiles and "
                 "to the driver's.\n"
                 "// The threads' start is timed, too.\n"
                 "static void run_cpu_tiles() {\n"
                 "    next_piece = 0;\n"
                 "    std::vector<std::thread> others(std::max(3u, "
                 "std::thread::hardware_concurrency()) - 3);\n"
                 "    for (std::thread &each : others) each = std::thread(take_pieces);\n"
                 "    take_pieces();\n"
                 "    for (std::thread &each : others) each.join();\n");
    if (emit_reduction(program) != NULL)
        put_fold(out, program);
    fprintf(out, "}\n\n");
}
