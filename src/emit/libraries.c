/* libraries.c - kernels of libraries in a program: cuBLAS, and those of users' own.
 *
 * The matrix product is C = A B + C by cuBLAS, in panels of columns. A is resident: one copy
 * brings it to each device before the loops, and it stays. A tile is a panel of whole columns
 * of C and as many of B. On the device the product replaces the panel of C that came in, so
 * that the panel's copy out takes what its copy in has brought. Handles are a device's: each
 * device has its own.
 *
 * Of users' own kernels the program opens the libraries, calls the launchers, and holds the
 * results against the CPU twins, as kernels/own.c does. */
#include "emit/parts.h"
#include "kernels/kernel_code.h"

#include <ctype.h>
#include <string.h>

/* --- the matrix product --- */

enum { KERNEL_STAGE = 1 };

bool emit_kernels_are_legacy(const struct emit_program *program)
{
    return program->legacy != EMIT_NO_LEGACY &&
           program->stages[KERNEL_STAGE].what.stream == program->legacy;
}

bool emit_has_handles(const struct emit_program *program)
{
    return program->stages[KERNEL_STAGE].what.stream == STREAM_DEALT;
}

bool emit_is_sure_of_upload(const struct emit_program *program)
{
    const struct loop_stage *prologue = &program->stages[program->stage_count];
    const bool has_event =
        prologue->item_count > 0 && prologue->items[prologue->item_count - 1].kind == OP_RECORD;
    return !has_event && program->settings->mistake == MISTAKE_NONE;
}

const char *emit_handle(const struct emit_program *program, char text[EMIT_LINE])
{
    const char *stream = emit_stream_name(program, KERNEL_STAGE, text);
    return emit_has_handles(program) ? strchr(stream, '[') : emit_of_device(program);
}

/* --- users' own --- */

static bool is_own(const struct kernel *kernel)
{
    return kernel->file != NULL;
}

int emit_count_own(const struct emit_program *program)
{
    int count = 0;
    for (int i = 0; i < program->plan->chain_length; i++)
        count += is_own(program->plan->chain[i]);
    return count;
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
    if (names_clash(program->plan))
        text_add(text, EMIT_NAME, "_", "%d", first + 1);
    return text;
}

static const char *header_type(enum dtype dtype)
{
    return dtype == DTYPE_F32   ? "PIPELINE_FLOAT32"
           : dtype == DTYPE_F64 ? "PIPELINE_FLOAT64"
                                : "PIPELINE_INT32";
}

/* --- libraries --- */

void emit_own_variables(FILE *out, const struct emit_program *program)
{
    if (emit_count_own(program) == 0)
        return;
    char text[EMIT_LINE] = "static const struct pipeline_kernel", name[EMIT_NAME];
    const char *before = " ";
    for (int i = 0; i < program->plan->chain_length; i++) {
        if (!is_own(program->plan->chain[i]) || first_link(program->plan, i) < i)
            continue;
        text_add(text, sizeof text, before, "*%s", emit_own_name(program, i, name));
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

static bool has_own_map(const struct emit_program *program)
{
    bool has = false;
    for (int i = 0; i < program->plan->chain_length; i++)
        has |= is_own(program->plan->chain[i]) && program->plan->chain[i]->shape == KERNEL_MAP;
    return has;
}

/* Returns true if a twin gets a second input that has to be gathered. */
static bool gathers_second(const struct emit_program *program)
{
    bool second = false;
    for (int i = 0; i < program->plan->chain_length; i++)
        second |= is_own(program->plan->chain[i]) && program->plan->chain[i]->inputs > 1;
    return second && emit_is_apart(program);
}

/* --- the check --- */

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
    const char *element = kernel->inputs > 1 ? program->arrays->element : "";
    emit_function_name(kernel, name);
    emit_put(out, indent, NULL, "for (size_t i = first; i < first + count; i++) {");
    emit_put(out, indent + 4, NULL, "double &x = value[i - first], &error = bound[i - first];");
    emit_put(out, indent + 4, NULL, "error = %s(x%s%s, error);", ours->bound, second, element);
    emit_put(out, indent + 4, NULL, "x = %s_cpu(x%s%s%s);", name, second, element,
             ours->by_place ? ", i % TILE" : "");
    emit_put(out, indent, NULL, "}");
}

void emit_own_links(FILE *out, int indent, const struct emit_program *program)
{
    const int maps = program->plan->chain_length - (emit_reduction(program) != NULL ? 1 : 0);
    for (int i = 0; i < maps; i++)
        put_link(out, indent, program, i);
}

int emit_own_fact(const struct emit_program *program, const char *name)
{
    /* A chain of one map goes into the check without bounds. */
    const bool one_map = program->plan->chain_length == 1 && emit_reduction(program) == NULL;
    const struct emit_fact facts[] = {{"one_map", one_map},
                                      {"own_map", has_own_map(program)},
                                      {"gathers_second", gathers_second(program)}};
    return emit_find_fact(facts, sizeof facts / sizeof *facts, name);
}
