/* cpu.c - the fourth way in a program: the tiles that the CPU works on, beside the loops.
 *
 * Its threads take pieces of these tiles in turn. A piece goes through the whole chain in plain
 * functions (programs/cpu.cu). */
#include "emit/parts.h"

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
        const struct emit_kernel *row = emit_kernel_find(plan->chain[i]);
        if (plan->chain[i]->file == NULL && (row == NULL || row->on_cpu == NULL))
            return error_set(error, STATUS_USAGE,
                             "--emit: the CPU's part of the kernel %s can't be written as a "
                             "program: allowed are ways 1, 2 and 3",
                             plan->chain[i]->name);
    }
    return STATUS_OK;
}

/* --- the text --- */

const char *emit_piece_of(const struct emit_program *program, const char *array,
                          char text[EMIT_TEXT])
{
    snprintf(text, EMIT_TEXT, program->arrays->piece, array);
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
        emit_piece_of(program, "in", in);
    if (kernel->inputs == 2)
        emit_piece_of(program, "in2", in2);
    if (alone && !reduces)
        emit_piece_of(program, "out", to);
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

void emit_cpu_links(FILE *out, const struct emit_program *program)
{
    for (int i = 0; i < program->plan->chain_length; i++)
        put_link(out, program, i);
}

const char *emit_part_type(const struct emit_program *program)
{
    const struct kernel *reduction = plan_last_kernel(program->plan);
    const struct emit_kernel *row = emit_kernel_find(reduction);
    return row != NULL && row->part != NULL ? row->part : emit_type(reduction->out);
}
