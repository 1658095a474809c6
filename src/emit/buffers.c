/* buffers.c - which buffers a program has, what goes by which, and which bytes are a
 * batch's. */
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

/* --- their bytes --- */

uint32_t emit_all_slots(const struct emit_program *program)
{
    return program->devices * program->slots;
}

uint32_t emit_slot(const struct emit_program *program, uint32_t batch, uint32_t part)
{
    return (batch % program->devices + part) * program->slots +
           batch / program->devices % program->slots;
}

bool emit_range_fits(const struct emit_program *program, const struct range *range,
                     uint32_t part, struct tiles tiles)
{
    const struct plan *plan = program->plan;
    const bool values = emit_reduction(program) != NULL && (range->buffer == BUFFER_HOST_OUT ||
                                                            range->buffer == BUFFER_DEVICE_OUT);
    const uint32_t batch = plan_batch_of(plan, tiles.first);
    const struct tiles before = {plan_batch(plan, batch).first,
                                 tiles.first - plan_batch(plan, batch).first};
    uint64_t first, count, skipped, ahead = 0;
    plan_tiles(plan, tiles, &first, &count);
    if (before.count > 0)
        plan_tiles(plan, before, &skipped, &ahead);
    if (values) {
        first = tiles.first;
        count = tiles.count;
        ahead = before.count;
    }
    first = emit_elements(program, range->buffer, first);
    count = emit_elements(program, range->buffer, count);
    ahead = emit_elements(program, range->buffer, ahead);
    const size_t size = dtype_bytes(values ? plan_last_kernel(plan)->out : plan->chain[0]->in);
    if (range->bytes != count * size)
        return false;
    if (!emit_has_slots(range->buffer))
        return range->offset == first * size;
    const bool handed = range->buffer == BUFFER_HOST_EXCHANGE; /* the last device needs none */
    const uint64_t stride =
        plan->buffer_bytes[range->buffer] / (plan->slots - (handed ? program->slots : 0));
    return range->offset == emit_slot(program, batch, part) * stride + ahead * size;
}

bool emit_row_fits(const struct emit_program *program, const struct range *range, uint32_t part,
                   uint64_t row, uint64_t rows, struct tiles tiles)
{
    const uint64_t before = row * range->bytes;
    const struct range whole = {range->buffer, range->offset - before, rows * range->bytes};
    return range->offset >= before && emit_range_fits(program, &whole, part, tiles);
}
