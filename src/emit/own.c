/* own.c - kernels of users' own in a program: it opens their libraries, calls their
 * launchers, and holds the results against their CPU twins, as kernels/own.c does. */
#include "kernels/own.h"
#include "emit/parts.h"
#include "kernels/kernel_code.h"

#include <ctype.h>
#include <string.h>

static bool is_own(const struct kernel *kernel)
{
    return kernel->file != NULL;
}

bool emit_has_own(const struct emit_program *program)
{
    for (int i = 0; i < program->plan->chain_length; i++) {
        if (is_own(program->plan->chain[i]))
            return true;
    }
    return false;
}

bool emit_has_ours(const struct emit_program *program)
{
    for (int i = 0; i < program->plan->chain_length; i++) {
        if (!is_own(program->plan->chain[i]))
            return true;
    }
    return false;
}

enum status emit_own_check_types(const struct emit_program *program, struct error *error)
{
    for (int i = 0; i < program->plan->chain_length; i++) {
        const struct kernel *kernel = program->plan->chain[i];
        if (is_own(kernel) && kernel->shape == KERNEL_MAP && kernel->in != kernel->out)
            return error_set(error, STATUS_USAGE,
                             "--emit: the kernel %s, which makes %s of %s, can't be written as "
                             "a program: allowed are maps that keep the type",
                             kernel->name, dtype_name(kernel->out), dtype_name(kernel->in));
        if (is_own(kernel) && kernel_lacks_twin(kernel))
            return error_set(
                error, STATUS_USAGE,
                "--emit: the kernel %s has no CPU twin, which the program compares "
                "its results with",
                kernel->name);
    }
    return STATUS_OK;
}

/* --- names --- */

/* Returns the first link of the chain that has the kernel of link `link`. */
static int first_link(const struct plan *plan, int link)
{
    int first = 0;
    while (plan->chain[first] != plan->chain[link])
        first++;
    return first;
}

/* Returns true if two libraries of the chain have kernels of one name in the program. */
static bool names_clash(const struct plan *plan)
{
    char one[EMIT_NAME], other[EMIT_NAME];
    for (int i = 0; i < plan->chain_length; i++) {
        for (int k = 0; k < i; k++) {
            if (is_own(plan->chain[i]) && is_own(plan->chain[k]) &&
                plan->chain[i] != plan->chain[k] &&
                strcmp(emit_function_name(plan->chain[i], one),
                       emit_function_name(plan->chain[k], other)) == 0)
                return true;
        }
    }
    return false;
}

const char *emit_own_name(const struct emit_program *program, int link, char text[EMIT_NAME])
{
    const int first = first_link(program->plan, link);
    emit_function_name(program->plan->chain[link], text);
    const size_t length = strlen(text);
    if (names_clash(program->plan))
        snprintf(text + length, EMIT_NAME - length, "_%d", first + 1);
    return text;
}

/* Returns the type of an element as a twin has it: the program's whole numbers have no sign. */
static const char *twin_type(enum dtype dtype)
{
    return dtype == DTYPE_I32 ? "int" : emit_type(dtype);
}

static const char *header_type(enum dtype dtype)
{
    return dtype == DTYPE_F32   ? "PIPELINE_FLOAT32"
           : dtype == DTYPE_F64 ? "PIPELINE_FLOAT64"
                                : "PIPELINE_INT32";
}

/* --- libraries --- */

void emit_own_includes(FILE *out)
{
    fprintf(out, "#include <dlfcn.h>\n"
                 "#if __has_include(\"pipeline/kernel.h\")\n"
                 "#include \"pipeline/kernel.h\" // as `pipeline kernel new` writes it, or as "
                 "it is installed\n"
                 "#elif __has_include(\"own_kernel.h\") // its name in the sources of "
                 "pipeline\n"
                 "#include \"own_kernel.h\"\n"
                 "#else\n"
                 "#error there is no pipeline/kernel.h here: \"pipeline kernel new x.cu\" "
                 "writes it\n"
                 "#endif\n");
}

void emit_own_variables(FILE *out, const struct emit_program *program)
{
    char text[EMIT_LINE] = "static const struct pipeline_kernel", name[EMIT_NAME];
    const char *before = " ";
    for (int i = 0; i < program->plan->chain_length; i++) {
        const size_t length = strlen(text);
        if (!is_own(program->plan->chain[i]) || first_link(program->plan, i) < i)
            continue;
        snprintf(text + length, sizeof text - length, "%s*%s", before,
                 emit_own_name(program, i, name));
        before = ", ";
    }
    emit_put(out, 0, NULL, "%s;", text);
}

/* Writes a text as a string, broken into several where it is long. What is no plain character,
 * or could begin a trigraph, goes as an octal number, which no digit behind it changes. Returns
 * the column behind it, where it begins in column `indent`. */
static int put_string(FILE *out, const char *text, int indent)
{
    enum { CHARACTER = 4 }; /* columns of one, at most */
    int length = 0;
    fputc('"', out);
    for (const char *at = text; *at != '\0'; at++) {
        if (indent + length + CHARACTER + 3 > EMIT_COLUMNS) { /* two quotes and a comma */
            fprintf(out, "\"\n%*s\"", indent, "");
            length = 0;
        }
        if (isascii((unsigned char)*at) &&
            (isalnum((unsigned char)*at) || strchr(" !#$&'()*+,-./:;<=>@[]^_`{|}~", *at)))
            length += fprintf(out, "%c", *at);
        else
            length += fprintf(out, "\\%03o", (unsigned)(unsigned char)*at);
    }
    fputc('"', out);
    return indent + length + 2;
}

void emit_own_opening(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    char name[EMIT_NAME];
    for (int i = 0; i < plan->chain_length; i++) {
        const struct kernel *kernel = plan->chain[i];
        if (!is_own(kernel) || first_link(plan, i) < i)
            continue;
        char rest[EMIT_TEXT];
        snprintf(rest, sizeof rest, "%d, %s, %s, %d);", kernel->inputs, header_type(kernel->in),
                 header_type(kernel->out), kernel->shape == KERNEL_REDUCE ? 1 : 0);
        const int column = fprintf(out, "    %s = load_own(", emit_own_name(program, i, name));
        const int end = put_string(out, kernel->file, column);
        if (end + (int)strlen(rest) + 2 > EMIT_COLUMNS)
            fprintf(out, ",\n%*s%s\n", column, "", rest);
        else
            fprintf(out, ", %s\n", rest);
    }
}

/* --- the twins --- */

/* Returns true if the chain is one map, which goes into the check without bounds. */
static bool is_one_map(const struct emit_program *program)
{
    return program->plan->chain_length == 1 && emit_reduction(program) == NULL;
}

static bool has_own_map(const struct emit_program *program)
{
    for (int i = 0; i < program->plan->chain_length; i++) {
        if (is_own(program->plan->chain[i]) && program->plan->chain[i]->shape == KERNEL_MAP)
            return true;
    }
    return false;
}

/* Returns true if a twin gets a second input that has to be gathered. */
static bool gathers_second(const struct emit_program *program)
{
    bool second = false;
    for (int i = 0; i < program->plan->chain_length; i++)
        second |= is_own(program->plan->chain[i]) && program->plan->chain[i]->inputs > 1;
    return second && emit_is_apart(program);
}

/* Writes how far a result may be from the twin's, as a share of it. */
static void put_tolerance(FILE *out, const char *kernel, enum dtype dtype, bool sums)
{
    if (dtype == DTYPE_I32)
        fprintf(out, "    const double tolerance = 0; // whole numbers are exact\n");
    else
        emit_put(out, 4, NULL,
                 "const double tolerance = %s->tolerance > 0 ? %s->tolerance : %d * "
                 "%s_EPSILON;",
                 kernel, kernel, sums && dtype == DTYPE_F64 ? OWN_SUM_ROUNDINGS : OWN_ROUNDINGS,
                 dtype == DTYPE_F32 ? "FLT" : "DBL");
}

/* Writes the function that has a map's twin work on values that may be off. */
static void put_ask(FILE *out, const struct emit_program *program)
{
    const enum dtype dtype = program->plan->chain[0]->in;
    fprintf(
        out,
        "// Has a twin work on values, and on the ends of their bounds, which become those "
        "of its results.\n"
        "// Twice what these show: one that jumps in between may go twice as far as at the "
        "ends.\n"
        "static void ask_twin(const struct pipeline_kernel *kernel, const void *second, size_t "
        "count,\n"
        "                     double *value, double *bound) {\n"
        "    %s from[PART], to[3][PART];\n"
        "    for (int side = 0; side < 3; side++) {\n"
        "        for (size_t i = 0; i < count; i++)\n"
        "            from[i] = value[i] + (side == 0 ? 0 : side == 1 ? -bound[i] : "
        "bound[i]);\n"
        "        const pipeline_work work = {{from, second}, to[side], count, 1};\n"
        "        kernel->host(&work);\n"
        "    }\n",
        twin_type(dtype));
    put_tolerance(out, "kernel", dtype, false);
    fprintf(out, "    for (size_t i = 0; i < count; i++) {\n"
                 "        value[i] = to[0][i];\n"
                 "        const double off = fmax(fabs(to[1][i] - value[i]), fabs(to[2][i] - "
                 "value[i]));\n"
                 "        bound[i] = fmax(0, 2 * off) + tolerance * fabs(value[i]);\n"
                 "        bound[i] = std::isfinite(bound[i]) ? bound[i] : 0;\n"
                 "    }\n"
                 "}\n\n");
}

void emit_own_functions(FILE *out, const struct emit_program *program)
{
    const struct kernel *last = plan_last_kernel(program->plan);
    fprintf(
        out,
        "// Opens a library, and takes its kernel if that is what the plan was made for.\n"
        "static const struct pipeline_kernel *load_own(const char *path, uint32_t inputs, "
        "pipeline_type in,\n"
        "                                              pipeline_type out, uint32_t "
        "reduces) {\n"
        "    const auto need = [=](bool holds, const char *why) {\n"
        "        if (!holds) { printf(\"%%s: %%s\\n\", path, why); exit(1); }\n"
        "    };\n"
        "    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL); // the names of others stay "
        "apart\n"
        "    need(library != NULL, dlerror());\n"
        "    const auto kernel = (const struct pipeline_kernel *)dlsym(library, "
        "\"pipeline_kernel\");\n"
        "    need(kernel != NULL, \"it defines no pipeline_kernel\");\n"
        "    need(kernel->version == PIPELINE_KERNEL_VERSION, \"it has another version of the "
        "header\");\n"
        "    need(kernel->launch != NULL, \"it has no launcher\");\n"
        "    need(kernel->host != NULL, \"it has no CPU twin\");\n"
        "    need(kernel->inputs == inputs && kernel->in == in && kernel->out == out &&\n"
        "         kernel->reduces == reduces, \"its arrays are not those of the plan\");\n"
        "    return kernel;\n"
        "}\n\n");
    emit_bounds(out, program);
    if (has_own_map(program) && !is_one_map(program))
        put_ask(out, program);
    if (emit_is_apart(program) && (is_one_map(program) || gathers_second(program)))
        emit_gather(out, program);
    if (last->shape != KERNEL_REDUCE || last->out != DTYPE_I32)
        fprintf(out, "static bool is_right(double result, double value, double bound) {\n"
                     "    return result == value || (std::isnan(result) && std::isnan(value)) "
                     "||\n"
                     "           (std::isfinite(value) && fabs(result - value) <= bound);\n"
                     "}\n\n");
}

/* --- the check --- */

/* Returns "(int)" where the program's elements have no sign and the twin's do. */
static const char *signed_cast(enum dtype dtype)
{
    return dtype == DTYPE_I32 ? "(int)" : "";
}

/* Begins the loop over the parts that twins get: a result that depends on the tiles is found.
 */
static void put_parts(FILE *out)
{
    fputs("    // twins get other pieces than the tiles, the first of one element: none must "
          "matter\n"
          "    for (size_t first = 0, count = 1; first < N;\n"
          "         first += count, count = std::min(PART, N - first)) {\n",
          out);
}

static void check_one_map(FILE *out, const struct emit_program *program)
{
    char name[EMIT_NAME];
    const enum dtype dtype = program->plan->chain[0]->in;
    emit_own_name(program, 0, name);
    put_tolerance(out, name, dtype, false);
    put_parts(out);
    if (emit_is_apart(program))
        emit_put(out, 8, "the inputs", "%s x[PART]%s;", emit_type(dtype),
                 gathers_second(program) ? ", y[PART]" : "");
    emit_put(out, 8, NULL, "%s right[PART];", twin_type(dtype));
    emit_put(out, 8, NULL, "const pipeline_work work = {{%s, %s}, right, count, 1};",
             emit_input_of(program, 0, 0), emit_input_of(program, 0, 1));
    emit_put(out, 8, NULL, "%s->host(&work);", name);
    emit_put(out, 8, NULL, "for (size_t i = first; i < first + count; i++)");
    emit_put(out, 12, NULL,
             "wrong += !is_right(%sout%s, right[i - first], tolerance * fabs(right[i - "
             "first]));",
             signed_cast(dtype), emit_element(program));
    fprintf(out, "    }\n");
}

/* Writes what a link of the chain makes of the values of a part, and of their bounds. */
static void put_link(FILE *out, int indent, const struct emit_program *program, int link)
{
    char name[EMIT_NAME];
    const struct kernel *kernel = program->plan->chain[link];
    const struct emit_kernel *ours = emit_kernel_find(kernel);
    if (is_own(kernel)) {
        emit_put(out, indent, NULL, "ask_twin(%s, %s, count, value, bound);",
                 emit_own_name(program, link, name), emit_input_of(program, link, 1));
        return;
    }
    const char *second = kernel->inputs > 1 ? ", in2" : "";
    const char *element = kernel->inputs > 1 ? emit_element(program) : "";
    emit_function_name(kernel, name);
    emit_put(out, indent, NULL, "for (size_t i = first; i < first + count; i++) {");
    emit_put(out, indent + 4, NULL, "double &x = value[i - first], &error = bound[i - first];");
    emit_put(out, indent + 4, NULL, "error = %s(x%s%s, error);", ours->bound, second, element);
    emit_put(out, indent + 4, NULL, "x = %s_cpu(x%s%s%s);", name, second, element,
             ours->by_place ? ", i % TILE" : "");
    emit_put(out, indent, NULL, "}");
}

/* Writes what the maps of the chain make of the elements [first, first + count). */
static void put_maps(FILE *out, int indent, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    const int maps = plan->chain_length - (emit_reduction(program) != NULL ? 1 : 0);
    /* A sum of whole numbers has no bound, unless maps before it ask for one. */
    emit_put(out, indent, NULL, "double value[PART]%s;",
             maps > 0 || plan_last_kernel(plan)->out != DTYPE_I32 ? ", bound[PART] = {}" : "");
    emit_put(out, indent, NULL,
             "for (size_t i = first; i < first + count; i++) value[i - first] = %sin%s;",
             signed_cast(plan->chain[0]->in), emit_element(program));
    if (gathers_second(program))
        emit_put(out, indent, "the second input", "%s y[PART];", emit_type(plan->chain[0]->in));
    for (int i = 0; i < maps; i++)
        put_link(out, indent, program, i);
}

/* Writes how a reduction of the user's takes a part of a tile. */
static void put_own_fold(FILE *out, const struct emit_program *program)
{
    const struct kernel *last = emit_reduction(program);
    char name[EMIT_NAME];
    const bool whole = last->out == DTYPE_I32;
    fprintf(out,
            "            %s from[PART];\n"
            "            %s part;\n"
            "            for (size_t i = 0; i < count; i++) from[i] = value[i];\n"
            "            const pipeline_work work = {{from, NULL}, &part, count, 1};\n"
            "            %s->host(&work);\n"
            "            right += part;\n",
            twin_type(last->in), twin_type(last->out),
            emit_own_name(program, program->plan->chain_length - 1, name));
    if (!whole)
        fprintf(out, "            for (size_t i = 0; i < count; i++) off += bound[i] + "
                     "tolerance * fabs(value[i]);\n");
}

/* Writes how a reduction of pipeline's takes a part of a tile. */
static void put_fold(FILE *out, const struct emit_program *program)
{
    const struct kernel *last = emit_reduction(program);
    const char *step = last->fold != KERNEL_FOLD_AND ? "right += (long long)value[i]"
                       : last->in == DTYPE_F32       ? "right &= std::isfinite(value[i])"
                                                     : "right &= value[i] != 0";
    if (last->out == DTYPE_I32)
        fprintf(out, "            for (size_t i = 0; i < count; i++) %s;\n", step);
    else
        fprintf(out, "            for (size_t i = 0; i < count; i++)\n"
                     "                right += value[i], off += bound[i] + tolerance * "
                     "fabs(value[i]);\n");
}

static void check_values(FILE *out, const struct emit_program *program)
{
    const struct kernel *last = emit_reduction(program);
    const bool whole = last->out == DTYPE_I32, own = is_own(last);
    char name[EMIT_NAME];
    if (!whole && own)
        put_tolerance(out, emit_own_name(program, program->plan->chain_length - 1, name),
                      last->out, true);
    else if (!whole)
        fprintf(out, "    const double tolerance = %.1g;\n",
                emit_kernel_find(last)->error(&program->plan->params, 0));
    fprintf(
        out,
        "    for (size_t tile = 0; tile < TILES; tile++) {\n"
        "        const size_t end = (tile + 1) * N / TILES;\n"
        "        %s;\n"
        "        for (size_t first = tile * N / TILES, count = 1; first < end; // a twin gets "
        "no whole tile\n"
        "             first += count, count = std::min(PART, end - first)) {\n",
        !whole                          ? "double right = 0, off = 0"
        : last->fold == KERNEL_FOLD_AND ? "unsigned right = 1"
                                        : "unsigned right = 0");
    put_maps(out, 12, program);
    if (own)
        put_own_fold(out, program);
    else
        put_fold(out, program);
    fprintf(out,
            "        }\n"
            "        wrong += %s;\n"
            "    }\n",
            whole ? "out[tile] != right"
                  : "!is_right(out[tile], right, off + tolerance * fabs(right))");
}

void emit_own_check(FILE *out, const struct emit_program *program)
{
    const enum dtype dtype = program->plan->chain[0]->in;
    if (is_one_map(program)) {
        check_one_map(out, program);
    } else if (emit_reduction(program) != NULL) {
        check_values(out, program);
    } else {
        put_parts(out);
        put_maps(out, 8, program);
        fprintf(out, "        for (size_t i = first; i < first + count; i++)\n");
        emit_put(out, 12, NULL,
                 "wrong += !is_right(%sout%s, value[i - first], bound[i - first]);",
                 signed_cast(dtype), emit_element(program));
        fprintf(out, "    }\n");
    }
}
