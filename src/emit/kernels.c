/* kernels.c - the kernels that can be written into a program, and their references.
 *
 * Each is the plain form of a kernel of this program: the same results, in the fewest lines. */
#include "emit/parts.h"

#include <math.h>
#include <string.h>

#define FLOAT_ROUNDING 0x1p-24

/* The head of a kernel's loop: every thread takes each gridDim.x * blockDim.x-th element. */
#define EACH_ELEMENT                                                                           \
    "    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; "                   \
    "i += gridDim.x * blockDim.x)"

#define REPEATS "for (int repeat = 0; repeat < INTENSITY; repeat++) "

/* a*x + b, again and again: each repeat rounds twice, and the error of the one before hardly
 * shrinks, but in all there are never more than 2^-7 of it (kernels/scale.cu). */
static double scale_error(const struct kernel_params *params, double before)
{
    const double rounding = fmin(2 * FLOAT_ROUNDING * params->intensity, 0x1p-7);
    return before + 4 * rounding + 1e-6;
}

/* No function of the chain is steeper than 2|x|, and each is right to a few bits. */
static double wave_error(const struct kernel_params *params, double before)
{
    (void)params;
    return 4 * before + 1e-5;
}

/* Relative errors: elements are added in double, in another order than the reference's. */
static double sum_error(const struct kernel_params *params, double before)
{
    (void)params, (void)before;
    return 1e-6;
}

static double sum_double_error(const struct kernel_params *params, double before)
{
    (void)params, (void)before;
    return 1e-9;
}

/* Two branches of `scale` in a kernel; `second` says which elements take the other one. */
#define BRANCHES(name, second)                                                                 \
    "static __global__ void " name                                                             \
    "(const float *in, float *out, size_t count) {\n" EACH_ELEMENT " {\n"                      \
    "        float x = in[i];\n"                                                               \
    "        if (" second ")\n"                                                                \
    "            " REPEATS "x = fmaf(FACTOR, x, -1);\n"                                        \
    "        else\n"                                                                           \
    "            " REPEATS "x = fmaf(FACTOR, x, 1);\n"                                         \
    "        out[i] = x;\n"                                                                    \
    "    }\n"                                                                                  \
    "}\n"
#define BRANCHES_CPU(name, second)                                                             \
    "static double " name                                                                      \
    "_cpu(double x, size_t i) { // all repeats are one step a*x + b, too\n"                    \
    "    static const double a = pow(FACTOR, INTENSITY), b = (1 - a) / (1.0 - FACTOR);\n"      \
    "    return a * x + (" second " ? -b : b);\n"                                              \
    "}\n"

#define WAVE_ONCE                                                                              \
    "static __device__ float wave_once(float x, float y) {\n"                                  \
    "    return sinf(cosf(sinf(sqrtf(powf(cosf(x * x + y * y), 2)))));\n"                      \
    "}\n\n"
#define WAVE_CPU(name)                                                                         \
    "static double " name "_cpu(double x, double y) {\n"                                       \
    "    double v = 0;\n"                                                                      \
    "    for (int repeat = 0; repeat < INTENSITY; repeat++)\n"                                 \
    "        v = sin(cos(sin(fabs(cos(pow(x + 0.25 * v, 2) + y * y)))));\n"                    \
    "    return v;\n"                                                                          \
    "}\n"

/* A reduction in one launch. `term` is what element i adds, `result` what their sum gives. */
#define REDUCTION(name, in, out, type, term, result)                                           \
    "// Returns the sum of all threads' x to each of the block's threads.\n"                   \
    "static __device__ " type " block_sum(" type " x) {\n"                                     \
    "    __shared__ " type " part[THREADS];\n"                                                 \
    "    part[threadIdx.x] = x;\n"                                                             \
    "    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {\n"                        \
    "        __syncthreads();\n"                                                               \
    "        if (threadIdx.x < half)\n"                                                        \
    "            part[threadIdx.x] += part[threadIdx.x + half];\n"                             \
    "    }\n"                                                                                  \
    "    __syncthreads();\n"                                                                   \
    "    return part[0];\n"                                                                    \
    "}\n\n"                                                                                    \
    "// Each block adds up its share; the last one to end adds up what all have found.\n"      \
    "static __global__ void " name "(const " in " *in, " out " *out, scratch *found, "         \
    "size_t count) {\n"                                                                        \
    "    __shared__ bool last;\n"                                                              \
    "    " type " mine = 0;\n"                                                                 \
    "#pragma unroll 8 // so that several loads are under way at once\n" EACH_ELEMENT "\n"      \
    "        mine += " term ";\n"                                                              \
    "    mine = block_sum(mine);\n"                                                            \
    "    if (threadIdx.x == 0) {\n"                                                            \
    "        found->part[blockIdx.x] = mine;\n"                                                \
    "        __threadfence(); // the part is seen before the count\n"                          \
    "        last = atomicInc(&found->ended, gridDim.x - 1) == gridDim.x - 1; "                \
    "// then it is 0 again\n"                                                                  \
    "    }\n"                                                                                  \
    "    __syncthreads();\n"                                                                   \
    "    if (!last)\n"                                                                         \
    "        return;\n"                                                                        \
    "    __threadfence(); // the count was seen before the parts\n"                            \
    "    mine = 0;\n"                                                                          \
    "    for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x)\n"         \
    "        mine += found->part[block];\n"                                                    \
    "    __syncthreads(); // all threads have read the block's sum\n"                          \
    "    mine = block_sum(mine);\n"                                                            \
    "    if (threadIdx.x == 0)\n"                                                              \
    "        *out = " result ";\n"                                                             \
    "}\n"

/* How far a result may be off where x is any number, and off by `before` itself, as
 * kernels/scale.cu and kernels/wave.cu show it. */
#define SCALE_OFF                                                                              \
    "static double scale_off(double x, double before) { // rounding, and what x is off by\n"   \
    "    return before + fmin(5e-7 * INTENSITY, 0.03) * (fabs(x) + before + 1);\n"             \
    "}\n"
#define WAVE_OFF                                                                               \
    "static double wave_off(double x, double y, double before) { // the same for wave\n"       \
    "    double v = 0, off = 0;\n"                                                             \
    "    for (int repeat = 0; repeat < INTENSITY; repeat++) {\n"                               \
    "        const double u = x + 0.25 * v, s = u * u + y * y;\n"                              \
    "        const double u_off = (before + 0.25 * off) * (1 + 6e-8) + 6e-8 * fabs(u);\n"      \
    "        const double s_off = u_off * (2 * fabs(u) + u_off) * (1 + 1.2e-7) + 1.2e-7 * "    \
    "s;\n"                                                                                     \
    "        off = fmin(0.336 * (fmin(s_off, 1) + 6e-7) + 4.8e-7, 0.2234); // its slope, its " \
    "width\n"                                                                                  \
    "        v = sin(cos(sin(fabs(cos(s)))));\n"                                               \
    "    }\n"                                                                                  \
    "    return off;\n"                                                                        \
    "}\n"

static const struct emit_kernel rows[] = {
    {"scale",
     "static __global__ void scale(const float *in, float *out, size_t count) {\n" EACH_ELEMENT
     " {\n"
     "        float x = in[i];\n"
     "        " REPEATS "x = fmaf(FACTOR, x, 1);\n"
     "        out[i] = x;\n"
     "    }\n"
     "}\n",
     NULL,
     "static double scale_cpu(double x) { // all repeats are one step a*x + b, too\n"
     "    static const double a = pow(FACTOR, INTENSITY), b = (1 - a) / (1.0 - FACTOR);\n"
     "    return a * x + b;\n"
     "}\n",
     scale_error, false, "scale_off"},
    {"wave",
     WAVE_ONCE "static __global__ void wave(const float *x, const float *y, float *out, size_t "
               "count) {\n" EACH_ELEMENT " {\n"
               "        float v = 0;\n"
               "        " REPEATS "v = wave_once(x[i] + 0.25f * v, y[i]);\n"
               "        out[i] = v;\n"
               "    }\n"
               "}\n",
     NULL, WAVE_CPU("wave"), wave_error, false, "wave_off"},
    {"wave-launches",
     WAVE_ONCE
     "// One repeat: what the launch before has left in `out` goes in again.\n"
     "static __global__ void wave_launches(const float *x, const float *y, float *out, "
     "size_t count,\n"
     "                                     bool first) {\n" EACH_ELEMENT "\n"
     "        out[i] = wave_once(x[i] + (first ? 0 : 0.25f * out[i]), y[i]);\n"
     "}\n",
     NULL, WAVE_CPU("wave_launches"), wave_error, false, "wave_off"},
    {"uniform", BRANCHES("uniform", "i / 32 % 2 != 0"), NULL,
     BRANCHES_CPU("uniform", "i / 32 % 2 != 0"), scale_error, true, "scale_off"},
    {"divergent", BRANCHES("divergent", "i % 2 != 0"), NULL,
     BRANCHES_CPU("divergent", "i % 2 != 0"), scale_error, true, "scale_off"},
    {"sum", REDUCTION("sum", "float", "float", "double", "in[i]", "mine"), "double", NULL,
     sum_error, false, NULL},
    {"sum-int", REDUCTION("sum_int", "unsigned", "unsigned", "unsigned", "in[i]", "mine"),
     "unsigned", NULL, NULL, false, NULL},
    {"sum-double", REDUCTION("sum_double", "double", "double", "double", "in[i]", "mine"),
     "double", NULL, sum_double_error, false, NULL},
    {"all",
     REDUCTION("all", "unsigned", "unsigned", "unsigned long long", "in[i] == 0", "mine == 0"),
     "unsigned long long", NULL, NULL, false, NULL},
    {"finite",
     REDUCTION("finite", "float", "unsigned", "unsigned long long", "!isfinite(in[i])",
               "mine == 0"),
     "unsigned long long", NULL, NULL, false, NULL},
    {"scan", NULL, NULL, NULL, NULL, false, NULL},
    {"scan-exclusive", NULL, NULL, NULL, NULL, false, NULL},
    {"scan-naive", NULL, NULL, NULL, NULL, false, NULL},
    {"scan-efficient", NULL, NULL, NULL, NULL, false, NULL},
    {"scan-conflict-free", NULL, NULL, NULL, NULL, false, NULL},
    {"transpose-copy", NULL, NULL, NULL, NULL, false, NULL},
    {"transpose-naive", NULL, NULL, NULL, NULL, false, NULL},
    {"transpose-coalesced", NULL, NULL, NULL, NULL, false, NULL},
    {"transpose-conflict-free", NULL, NULL, NULL, NULL, false, NULL},
    {"transpose-shared-copy", NULL, NULL, NULL, NULL, false, NULL},
    {"transpose-fine", NULL, NULL, NULL, NULL, false, NULL},
    {"transpose-coarse", NULL, NULL, NULL, NULL, false, NULL},
    {"transpose-diagonal", NULL, NULL, NULL, NULL, false, NULL},
    {"stride-copy", NULL, NULL, NULL, NULL, false, NULL},
    {"dgemm", NULL, NULL, NULL, NULL, false, NULL},
    {"stencil", NULL, NULL, NULL, NULL, false, NULL},
};

const struct emit_kernel *emit_kernel_find(const struct kernel *kernel)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, kernel->name) == 0)
            return &rows[i];
    }
    return emit_ladder_find(kernel);
}

const char *emit_function_name(const struct kernel *kernel, char text[EMIT_NAME])
{
    snprintf(text, EMIT_NAME, "%s%s", kernel->file != NULL ? "own_" : "", kernel->name);
    for (char *at = text; *at != '\0'; at++)
        *at = *at == '-' ? '_' : *at;
    return text;
}

const struct kernel *emit_reduction(const struct emit_program *program)
{
    const struct kernel *last = plan_last_kernel(program->plan);
    return last->shape == KERNEL_REDUCE ? last : NULL;
}

bool emit_stood_before(const struct plan *plan, int link)
{
    for (int i = 0; i < link; i++) {
        if (plan->chain[i] == plan->chain[link])
            return true;
    }
    return false;
}

/* Returns true if `scale` is the whole chain. */
static bool is_scale(const struct plan *plan)
{
    return plan->chain_length == 1 && strcmp(plan->chain[0]->name, "scale") == 0;
}

void emit_kernels(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    bool waves = false;
    for (int i = 0; i < plan->chain_length; i++) {
        const struct emit_kernel *kernel = emit_kernel_find(plan->chain[i]);
        if (kernel == NULL || kernel->source == NULL || emit_stood_before(plan, i))
            continue;
        /* Two kernels begin with the same function, which a program has once. */
        const bool wave = strncmp(kernel->source, WAVE_ONCE, strlen(WAVE_ONCE)) == 0;
        fprintf(out, "%s\n", kernel->source + (wave && waves ? strlen(WAVE_ONCE) : 0));
        waves |= wave;
        if (kernel->cpu != NULL && !is_scale(plan))
            fprintf(out, "%s\n", kernel->cpu);
    }
}

void emit_bounds(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    static const char *const sources[][2] = {{"scale_off", SCALE_OFF}, {"wave_off", WAVE_OFF}};
    for (size_t k = 0; k < sizeof sources / sizeof *sources; k++) {
        bool asked = false;
        for (int i = 0; i < plan->chain_length; i++) {
            const struct emit_kernel *kernel = emit_kernel_find(plan->chain[i]);
            asked |= kernel != NULL && kernel->bound != NULL &&
                     strcmp(kernel->bound, sources[k][0]) == 0;
        }
        if (asked)
            fprintf(out, "%s\n", sources[k][1]);
    }
}

/* --- the check --- */

enum { RIGHT = 1024 };

/* The check compares with what the chain's maps make of element i. That is one expression, or
 * where it is too long for a line, steps with a kernel on each: `text` is their variable then.
 */
struct right {
    char text[RIGHT];
    char steps[RIGHT];
    double error; /* by which the GPU may be off */
};

/* Finds it, for a line in which `around` characters stand beside it. */
static void find_right(const struct emit_program *program, const char *element,
                       const char *place, size_t around, struct right *right)
{
    const struct plan *plan = program->plan;
    char *text = right->text, *steps = right->steps;
    size_t length = 0;
    right->error = 0;
    snprintf(text, RIGHT, "in%s", element);
    for (int i = 0; i < plan->chain_length; i++) {
        const struct emit_kernel *kernel = emit_kernel_find(plan->chain[i]);
        char name[EMIT_NAME], more[EMIT_NAME] = "";
        char inner[RIGHT - 2 * EMIT_NAME - sizeof "_cpu()"];
        if (kernel->cpu == NULL)
            break;
        if (plan->chain[i]->inputs > 1)
            snprintf(more, sizeof more, ", in2%s", element);
        else if (kernel->by_place)
            snprintf(more, sizeof more, ", %s", place);
        emit_function_name(plan->chain[i], name);
        snprintf(inner, sizeof inner, "%.*s", (int)sizeof inner - 1, text);
        snprintf(text, RIGHT, "%s_cpu(%s%s)", name, inner, more);
        length += (size_t)snprintf(steps + length, RIGHT - length, "%sx = %s_cpu(%s%s);\n",
                                   i == 0 ? "double " : "", name, i == 0 ? inner : "x", more);
        right->error = kernel->error(&plan->params, right->error);
    }
    if (around + strlen(text) <= EMIT_COLUMNS)
        steps[0] = '\0';
    else
        snprintf(text, RIGHT, "x");
}

/* Writes the steps, a line each. */
static void put_steps(FILE *out, int indent, const char *steps)
{
    for (; *steps != '\0'; steps += strcspn(steps, "\n") + 1)
        emit_put(out, indent, NULL, "%.*s", (int)strcspn(steps, "\n"), steps);
}

/* Writes the check of a kernel that moves elements within a tile. */
static void check_moved(FILE *out, const struct emit_program *program)
{
    const bool stays = emit_stays(program);
    fprintf(out, "    for (size_t tile = 0; tile < TILES; tile++) {\n");
    if (program->even) {
        fprintf(out,
                "        for (size_t i = 0; i < TILE; i++)\n"
                "            wrong += out[tile][i] != in[tile][%s];\n",
                stays ? "i" : "comes_from(i, TILE)");
    } else {
        emit_put(out, 8, NULL,
                 "const size_t begin = tile * N / TILES, count = (tile + 1) * N / TILES - "
                 "begin;");
        fprintf(out,
                "        for (size_t i = 0; i < count; i++)\n"
                "            wrong += out[begin + i] != in[begin + %s];\n",
                stays ? "i" : "comes_from(i, count)");
    }
    fprintf(out, "    }\n");
}

/* Writes the check of a reduction, whose tiles leave a value each. */
static void check_values(FILE *out, const struct emit_program *program)
{
    enum { AROUND = 12 + sizeof "right &= std::isfinite() ? 1 : 0;" };
    const char *place = program->even ? "i" : "i % TILE";
    struct right right = {0};
    find_right(program, emit_tile_element(program), place, AROUND, &right);
    const double error = right.error;
    const bool steps = right.steps[0] != '\0';
    const struct kernel *last = emit_reduction(program);
    const struct emit_kernel *kernel = emit_kernel_find(last);
    const bool whole = last->out == DTYPE_I32;
    const char *begin = program->even ? "0" : "tile * N / TILES";
    const char *end = program->even ? "TILE" : "(tile + 1) * N / TILES";
    fprintf(out,
            "    for (size_t tile = 0; tile < TILES; tile++) {\n"
            "        %s right = %d;\n"
            "        for (size_t i = %s; i < %s; i++)%s\n",
            whole ? "unsigned" : "double", last->fold == KERNEL_FOLD_AND ? 1 : 0, begin, end,
            steps ? " {" : "");
    put_steps(out, 12, right.steps);
    emit_put(out, 12, NULL,
             last->in == DTYPE_F32 && whole  ? "right &= std::isfinite(%s) ? 1 : 0;"
             : last->fold == KERNEL_FOLD_AND ? "right &= %s != 0;"
                                             : "right += %s;",
             right.text);
    if (steps)
        fprintf(out, "        }\n");
    if (whole)
        fprintf(out, "        wrong += out[tile] != right;\n");
    else if (error > 0)
        fprintf(out,
                "        wrong += !(fabs(out[tile] - right) <= %.1g * fabs(right) + %.1g * "
                "TILE);\n",
                kernel->error(&program->plan->params, 0), 1.5 * error);
    else
        fprintf(out, "        wrong += !(fabs(out[tile] - right) <= %.1g * fabs(right));\n",
                kernel->error(&program->plan->params, 0));
    fprintf(out, "    }\n");
}

/* Writes the check of `scale` alone, whose reference is short enough to stand in main(). */
static void check_scale(FILE *out, const struct emit_program *program)
{
    const char *element = emit_element(program);
    const double error = 1.5 * scale_error(&program->plan->params, 0);
    fprintf(out,
            "    const double a = pow(FACTOR, INTENSITY), b = (1 - a) / (1.0 - FACTOR); // "
            "all repeats: a*x + b\n");
    if (strlen(element) > strlen("[i / TILE][i % TILE]"))
        fprintf(out,
                "    for (size_t i = 0; i < N; i++) {\n"
                "        const double right = a * in%s + b;\n"
                "        wrong += !(fabs(out%s - right) <= %.1g);\n"
                "    }\n",
                element, element, error);
    else
        fprintf(out,
                "    for (size_t i = 0; i < N; i++)\n"
                "        wrong += !(fabs(out%s - (a * in%s + b)) <= %.1g);\n",
                element, element, error);
}

void emit_check(FILE *out, const struct emit_program *program)
{
    enum { AROUND = 8 + sizeof "const double right = ;" };
    const char *element = emit_element(program);
    struct right right = {0};
    if (is_scale(program->plan)) {
        check_scale(out, program);
        return;
    }
    if (program->plan->chain[0]->gathers) {
        check_moved(out, program);
        return;
    }
    if (emit_reduction(program) != NULL) {
        check_values(out, program);
        return;
    }
    find_right(program, element, "i % TILE", AROUND, &right);
    fprintf(out, "    for (size_t i = 0; i < N; i++) {\n");
    put_steps(out, 8, right.steps);
    emit_put(out, 8, NULL, "const double right = %s;", right.text);
    emit_put(out, 8, NULL, "wrong += !(fabs(out%s - right) <= %.1g);", element,
             1.5 * right.error);
    fprintf(out, "    }\n");
}
