/* buffers.c - which buffers a program has, what goes by which, and how many slots there are. */
#include "emit/parts.h"

/* --- buffers --- */

bool emit_uses(const struct emit_program *program, enum buffer buffer)
{
    const struct plan *plan = program->plan;
    bool used = buffer == BUFFER_HOST_IN0 || buffer == BUFFER_HOST_OUT ||
                (buffer == BUFFER_HOST_IN1 && emit_inputs(program) == 2);
    if (!emit_on_host(program))
        used |= buffer == emit_copied_out(program) || buffer == BUFFER_DEVICE_IN0 ||
                (buffer == BUFFER_DEVICE_IN1 && emit_inputs(program) == 2);
    for (int i = 0; i < plan->chain_length; i++)
        used |= emit_kernel_input(program, (uint32_t)i) == buffer ||
                emit_kernel_output(program, (uint32_t)i) == buffer;
    return used;
}

enum buffer emit_kernel_input(const struct emit_program *program, uint32_t link)
{
    const bool mapped = emit_on_host(program);
    if (plan_link_is_first(program->plan, link))
        return mapped ? BUFFER_HOST_IN0 : BUFFER_DEVICE_IN0;
    return emit_reduction(program) != NULL ? BUFFER_DEVICE_IN0 : BUFFER_DEVICE_OUT;
}

enum buffer emit_kernel_output(const struct emit_program *program, uint32_t link)
{
    const bool last = link + 1 == (uint32_t)program->plan->chain_length;
    if (last)
        return emit_on_host(program) ? BUFFER_HOST_OUT : emit_copied_out(program);
    return emit_reduction(program) != NULL ? BUFFER_DEVICE_IN0 : BUFFER_DEVICE_OUT;
}

enum buffer emit_copied_out(const struct emit_program *program)
{
    return program->plan->chain[0]->in_place ? BUFFER_DEVICE_IN0 : BUFFER_DEVICE_OUT;
}

enum buffer emit_sent_input(const struct emit_program *program, int input)
{
    return (enum buffer)((program->plan->packs ? BUFFER_HOST_PACK_IN0 : BUFFER_HOST_IN0) +
                         input);
}

enum buffer emit_sent_output(const struct emit_program *program)
{
    return program->plan->packs && emit_reduction(program) == NULL ? BUFFER_HOST_PACK_OUT
                                                                   : BUFFER_HOST_OUT;
}

int emit_inputs(const struct emit_program *program)
{
    int most = 1;
    for (int i = 0; i < program->plan->chain_length; i++)
        most = program->plan->chain[i]->inputs > most ? program->plan->chain[i]->inputs : most;
    return most;
}

uint32_t emit_all_slots(const struct emit_program *program)
{
    return program->devices * program->slots;
}

bool emit_has_other(const struct emit_program *program)
{
    return program->plan->buffer_bytes[BUFFER_DEVICE_OTHER] > 0;
}
