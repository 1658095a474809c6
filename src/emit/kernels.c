/* kernels.c - the kernels that can be written into a program: the sections of programs/ that
 * each is made of, and how far its results may be off. Each is the plain form of a kernel of
 * this program: the same results, in the fewest lines. */
#include "emit/parts.h"

#include <math.h>
#include <string.h>

enum { RIGHT = 1024, WORDS = 1024 };

#define FLOAT_ROUNDING 0x1p-24

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

#define BRANCHES(title, second)                                                                \
    {                                                                                          \
        .name = title, .sections = "branches", .reference = "branches_cpu",                    \
        .on_cpu = "branches_on_cpu", .words = "SECOND=" second, .error = scale_error,          \
        .bound = "scale_off", .scales = true, .by_place = true                                 \
    }
#define WAVES(title, section)                                                                  \
    {                                                                                          \
        .name = title, .before = "wave_once", .sections = section, .reference = "wave_cpu",    \
        .on_cpu = "wave_on_cpu", .error = wave_error, .bound = "wave_off"                      \
    }
#define REDUCES(title, type, form, term, counted, bound)                                       \
    {                                                                                          \
        .name = title, .sections = "reduction", .scratch = "scratch", .part = type,            \
        .on_cpu = form, .words = "TERM=" term "; COUNTED=" counted, .error = bound             \
    }
#define LADDER(step, text)                                                                     \
    {                                                                                          \
        .name = "reduce-" step, .sections = text, .scratch = "ladder_scratch",                 \
        .part = "unsigned", .on_cpu = "count_on_cpu", .words = "COUNTED=in[i]"                 \
    }
#define SCANS(title, each, part, flags)                                                        \
    {                                                                                          \
        .name = title, .sections = part " scan_tile", .alone = true, .items = each,            \
        .words = flags                                                                         \
    }
#define MOVES(title, text, from, flags)                                                        \
    {                                                                                          \
        .name = title, .sections = "transpose_sizes by_squares " text " " from, .alone = true, \
        .stays = sizeof from == 1, .words = flags                                              \
    }
#define SHARED(title, why, from, flags)                                                        \
    MOVES("transpose-" title, why "transpose_shared", from, flags)
#define CONFLICT_FREE "; WIDTH=SQUARE + 1; WHY=a column more: 32 of a column lie in 32 banks"

static const struct emit_kernel rows[] = {
    {.name = "scale",
     .sections = "scale",
     .reference = "scale_cpu",
     .on_cpu = "scale_on_cpu",
     .error = scale_error,
     .bound = "scale_off",
     .scales = true},
    BRANCHES("uniform", "i / 32 % 2 != 0"),
    BRANCHES("divergent", "i % 2 != 0"),
    WAVES("wave", "wave"),
    WAVES("wave-launches", "wave_launches"),
    REDUCES("sum", "double", "sum_on_cpu", "in[i]", "", sum_error),
    REDUCES("sum-int", "unsigned", "count_on_cpu", "in[i]", "in[i]", NULL),
    REDUCES("sum-double", "double", "sum_on_cpu", "in[i]", "", sum_double_error),
    REDUCES("all", "unsigned long long", "count_on_cpu", "in[i] == 0", "in[i] == 0", NULL),
    REDUCES("finite", "unsigned long long", "count_on_cpu", "!isfinite(in[i])",
            "!std::isfinite(in[i])", NULL),
    {.name = "reduce-shuffle",
     .sections = "reduce_shuffle",
     .scratch = "shuffle_scratch",
     .part = "unsigned",
     .on_cpu = "count_on_cpu",
     .words = "COUNTED=in[i]"},
    LADDER("divergent", "end_block reduce_divergent"),
    LADDER("conflicts", "end_block reduce_conflicts"),
    LADDER("sequential", "end_block reduce_sequential"),
    LADDER("first-add", "end_block reduce_first_add"),
    LADDER("last-warp", "end_block last_warp reduce_last_warp"),
    LADDER("unrolled", "end_block last_warp unrolled_sum reduce_unrolled"),
    LADDER("many", "end_block last_warp unrolled_sum reduce_many"),
    LADDER("atomic", "end_block reduce_atomic"),
    SCANS("scan", 33, "part_by_warps", "EXCLUSIVE=0"),
    SCANS("scan-exclusive", 33, "part_by_warps", "EXCLUSIVE=1"),
    SCANS("scan-naive", 1, "part_naive", ""),
    SCANS("scan-efficient", 2, "part_by_tree",
          "PADDED=0; RIGHT=x[right]; LEFT=x[right - half]; LAST=x[PART_ITEMS - 1]"),
    SCANS("scan-conflict-free", 2, "part_by_tree",
          "PADDED=1; RIGHT=tree[slot(right)]; LEFT=tree[slot(right - half)]; "
          "LAST=tree[slot(PART_ITEMS - 1)]"),
    MOVES("transpose-copy", "copy_why transpose_direct", "",
          "TO=out[(row + y + i) * COLUMNS + column + x]"),
    MOVES("transpose-naive", "naive_why transpose_direct", "from_across",
          "TO=out[(column + x) * rows + row + y + i]"),
    SHARED("shared-copy", "", "",
           "ACROSS=0; TAKEN=part[y + i][x]; CUT_OFF=0; DIAGONAL=0; WIDTH=SQUARE; "
           "WHY=costs: the way through it, and barriers"),
    SHARED("coalesced", "", "from_across",
           "ACROSS=1; TAKEN=part[x][y + i]; CUT_OFF=0; DIAGONAL=0; WIDTH=SQUARE; "
           "WHY=costs: a warp finds a column in one bank"),
    SHARED("conflict-free", "", "from_across",
           "ACROSS=1; TAKEN=part[x][y + i]; CUT_OFF=0; DIAGONAL=0" CONFLICT_FREE),
    SHARED("diagonal", "diagonal_why ", "from_across",
           "ACROSS=1; TAKEN=part[x][y + i]; CUT_OFF=0; DIAGONAL=1" CONFLICT_FREE),
    SHARED("fine", "fine_why ", "from_square",
           "ACROSS=0; TAKEN=whole ? part[x][y + i] : part[y + i][x]; FOR_ROW=i / COLUMNS; "
           "FOR_COLUMN=i % COLUMNS; CUT_OFF=fits its place only as it is.; "
           "DIAGONAL=0" CONFLICT_FREE),
    SHARED("coarse", "coarse_why ", "from_square",
           "ACROSS=1; TAKEN=whole ? part[y + i][x] : part[x][y + i]; FOR_ROW=i % rows; "
           "FOR_COLUMN=i / rows; CUT_OFF=fits its new place only transposed.; "
           "DIAGONAL=0" CONFLICT_FREE),
    {.name = "stride-copy", .sections = "stride_sizes stride_copy", .alone = true},
    {.name = "dgemm", .sections = "", .alone = true},
    {.name = "stencil", .sections = "", .alone = true},
};
_Static_assert(KERNEL_THREADS == 256, "part_naive has 8 steps");

const struct emit_kernel *emit_kernel_find(const struct kernel *kernel)
{
    return kernel->file == NULL ? EMIT_ROW(rows, kernel->name) : NULL;
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

const struct kernel *emit_scan(const struct emit_program *program)
{
    const struct kernel *kernel = program->plan->chain[0];
    return kernel->shape == KERNEL_SCAN ? kernel : NULL;
}

/* Returns true if the chain had the kernel of link `link` before that. */
static bool stood_before(const struct plan *plan, int link)
{
    for (int i = 0; i < link; i++) {
        if (plan->chain[i] == plan->chain[link])
            return true;
    }
    return false;
}

/* Returns true if `scale` is the whole chain: its reference is short enough to stand in main().
 */
static bool is_scale(const struct plan *plan)
{
    return plan->chain_length == 1 && strcmp(plan->chain[0]->name, "scale") == 0;
}

/* --- their text --- */

/* Returns what the words of a kernel's sections stand for. */
static const char *words_of(const struct emit_program *program, const struct kernel *kernel,
                            char text[WORDS])
{
    const struct emit_kernel *row = emit_kernel_find(kernel);
    const bool by_host = program->settings->carry != CARRY_DEVICE;
    char name[EMIT_NAME];
    emit_function_name(kernel, name);
    snprintf(text, WORDS,
             "NAME=%s; NAME_CPU=%s_cpu; NAME_BLOCK=%s_block; ON_CPU=%s_on_cpu; ELEMENT=%s; "
             "RESULT=%s; PART=%s; VALUE=%s; SUMS=%s; BEFORE=%s; LEAVE=%s; %s",
             name, name, name, name, emit_type(kernel->in), emit_type(kernel->out),
             row->part != NULL ? row->part : "",
             kernel->fold == KERNEL_FOLD_AND ? "mine == 0" : "mine",
             by_host ? "tile_sums" : "unsigned", by_host ? "sums->before" : "sums[0]",
             by_host ? "sums->own = sum + all - sums->before;" : "sums[1] = sum + all;",
             row->words != NULL ? row->words : "");
    return text;
}

/* Writes the sections whose names stand in `sections`, with blanks between them, for a kernel.
 */
static void put_sections(FILE *out, const struct emit_program *program,
                         const struct kernel *kernel, const char *sections)
{
    char words[WORDS], name[EMIT_NAME];
    words_of(program, kernel, words);
    for (const char *at = sections; at != NULL && *at != '\0';) {
        const int length = (int)strcspn(at, " ");
        snprintf(name, sizeof name, "%.*s", length, at);
        if (emit_fill(out, 0, program, name, words, NULL))
            fputc('\n', out);
        at += length + (int)strspn(at + length, " ");
    }
}

/* Returns true if a kernel of the chain before that begins with the same section. */
static bool begins_alike(const struct plan *plan, int link)
{
    const char *before = emit_kernel_find(plan->chain[link])->before;
    for (int i = 0; i < link; i++) {
        const struct emit_kernel *row = emit_kernel_find(plan->chain[i]);
        if (row != NULL && row->before != NULL && strcmp(row->before, before) == 0)
            return true;
    }
    return false;
}

void emit_kernels(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    for (int i = 0; i < plan->chain_length; i++) {
        const struct emit_kernel *row = emit_kernel_find(plan->chain[i]);
        if (row == NULL || stood_before(plan, i))
            continue;
        if (row->before != NULL && !begins_alike(plan, i))
            put_sections(out, program, plan->chain[i], row->before);
        put_sections(out, program, plan->chain[i], row->sections);
        if (!is_scale(plan))
            put_sections(out, program, plan->chain[i], row->reference);
    }
}

void emit_cpu_kernels(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    bool scales = false;
    for (int i = 0; i < plan->chain_length; i++) {
        const struct emit_kernel *row = emit_kernel_find(plan->chain[i]);
        if (row != NULL && row->scales && !scales)
            put_sections(out, program, plan->chain[i], "vector_units");
        scales |= row != NULL && row->scales;
    }
    for (int i = 0; i < plan->chain_length; i++) {
        if (emit_kernel_find(plan->chain[i]) != NULL && !stood_before(plan, i))
            put_sections(out, program, plan->chain[i],
                         emit_kernel_find(plan->chain[i])->on_cpu);
    }
}

void emit_bounds(FILE *out, const struct emit_program *program)
{
    static const char *const bounds[] = {"scale_off", "wave_off"};
    const struct plan *plan = program->plan;
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        for (int i = 0; i < plan->chain_length; i++) {
            const struct emit_kernel *row = emit_kernel_find(plan->chain[i]);
            if (row != NULL && row->bound != NULL && strcmp(row->bound, bounds[k]) == 0) {
                put_sections(out, program, plan->chain[i], bounds[k]);
                break;
            }
        }
    }
}

void emit_scratch(FILE *out, const struct emit_program *program)
{
    const struct kernel *last = plan_last_kernel(program->plan);
    put_sections(out, program, last, emit_kernel_find(last)->scratch);
}

/* --- the check --- */

/* The check compares with what the chain's maps make of element i. That is one expression, or
 * where it is too long for a line, steps with a kernel on each: `text` is their variable then.
 */
struct right {
    char text[RIGHT];
    char steps[RIGHT];
    double error; /* by which the GPU may be off */
};

/* Finds it. */
static void find_right(const struct emit_program *program, struct right *right)
{
    enum {
        BESIDE_VALUES = 12 + sizeof "right &= std::isfinite() ? 1 : 0;",
        BESIDE = 8 + sizeof "const double right = ;"
    };
    const struct plan *plan = program->plan;
    const bool values = emit_reduction(program) != NULL;
    const char *element = values ? program->arrays->tile_element : program->arrays->element;
    const char *place = values && program->even ? "i" : "i % TILE";
    const size_t around = values ? BESIDE_VALUES : BESIDE;
    char *text = right->text, *steps = right->steps;
    *right = (struct right){.error = 0};
    snprintf(text, RIGHT, "in%s", element);
    for (int i = 0; i < plan->chain_length; i++) {
        const struct emit_kernel *kernel = emit_kernel_find(plan->chain[i]);
        char name[EMIT_NAME], more[EMIT_NAME] = "";
        char inner[RIGHT - 2 * EMIT_NAME - sizeof "_cpu()"];
        if (kernel == NULL || kernel->reference == NULL)
            break;
        if (plan->chain[i]->inputs > 1)
            snprintf(more, sizeof more, ", in2%s", element);
        else if (kernel->by_place)
            snprintf(more, sizeof more, ", %s", place);
        emit_function_name(plan->chain[i], name);
        snprintf(inner, sizeof inner, "%.*s", (int)sizeof inner - 1, text);
        snprintf(text, RIGHT, "%s_cpu(%s%s)", name, inner, more);
        text_add(steps, RIGHT, "", "%sx = %s_cpu(%s%s);\n", i == 0 ? "double " : "", name,
                 i == 0 ? inner : "x", more);
        right->error = kernel->error(&plan->params, right->error);
    }
    if (around + strlen(text) <= EMIT_COLUMNS)
        steps[0] = '\0';
    else
        snprintf(text, RIGHT, "x");
}

void emit_right_steps(FILE *out, int indent, const struct emit_program *program)
{
    struct right right;
    find_right(program, &right);
    for (const char *at = right.steps; *at != '\0'; at += strcspn(at, "\n") + 1)
        emit_put(out, indent, NULL, "%.*s", (int)strcspn(at, "\n"), at);
}

const char *emit_right(const struct emit_program *program, char text[EMIT_LINE])
{
    struct right right;
    find_right(program, &right);
    snprintf(text, EMIT_LINE, "%.*s", EMIT_LINE - 1, right.text);
    return text;
}

const char *emit_off(const struct emit_program *program, char text[EMIT_LINE])
{
    struct right right;
    find_right(program, &right);
    snprintf(text, EMIT_LINE, "%.1g", 1.5 * right.error);
    return text;
}

const char *emit_fold_off(const struct emit_program *program, char text[EMIT_LINE])
{
    const struct emit_kernel *last = emit_kernel_find(plan_last_kernel(program->plan));
    snprintf(text, EMIT_LINE, "%.1g", last->error(&program->plan->params, 0));
    return text;
}

int emit_kernel_fact(const struct emit_program *program, const char *name)
{
    const struct plan *plan = program->plan;
    const struct emit_kernel *first = emit_kernel_find(plan->chain[0]);
    struct right right;
    bool repeats = false, scales = false;
    for (int i = 0; i < plan->chain_length; i++) {
        const struct emit_kernel *row = emit_kernel_find(plan->chain[i]);
        repeats |= plan->chain[i]->repeats;
        scales |= row != NULL && row->scales;
    }
    find_right(program, &right);
    const struct emit_fact facts[] = {{"repeats", repeats},
                                      {"scales", scales},
                                      {"scale_alone", is_scale(plan)},
                                      {"stays", first != NULL && first->stays},
                                      {"in_steps", right.steps[0] != '\0'}};
    return emit_find_fact(facts, sizeof facts / sizeof *facts, name);
}
