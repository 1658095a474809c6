/* devices.c - by which numbers a program knows its devices, how it goes from one to the next,
 * and what it has where devices have parts of the chain: each works on what the one before it
 * hands on, by a copy between them or by way of the host's memory. One thread issues to all;
 * unlike where batches are dealt over devices, a call's device is known as it is written, so
 * that its number stands there. */
#include "emit/parts.h"

#include <inttypes.h>

/* --- going from one to the next --- */

void emit_device_numbers(FILE *out, const struct emit_program *program)
{
    int numbers[MACHINE_DEVICES_MAX];
    if (!emit_has_devices(program) || !emit_named_numbers(program, numbers))
        return;
    fprintf(out, "const int NUMBERS[DEVICES] = {");
    for (uint32_t i = 0; i < plan_devices(program->plan); i++)
        fprintf(out, "%s%d", i > 0 ? ", " : "", numbers[i]);
    fprintf(out, "}; // of the devices, as CUDA counts them\n");
}

void emit_enter_device(FILE *out, int indent, const struct emit_program *program,
                       const char *why)
{
    char number[EMIT_NAME];
    if (emit_has_devices(program))
        emit_put(out, indent, why, "CHECK(cudaSetDevice(%s));",
                 emit_device_number(program, "device", number));
}

/* --- words --- */

const char *emit_handing_words(const struct emit_program *program, uint32_t stage,
                               char text[EMIT_NAME])
{
    const struct stage *what = &program->stages[stage].what;
    const uint32_t device = what->device;
    if (what->kind == STAGE_KERNEL)
        snprintf(text, EMIT_NAME, "kernel on device %" PRIu32, device);
    else if (what->kind == STAGE_TO_HOST)
        snprintf(text, EMIT_NAME, "copy from device %" PRIu32, device);
    else
        snprintf(text, EMIT_NAME, "copy to device %" PRIu32,
                 device + (what->kind == STAGE_PEER ? 1 : 0));
    return text;
}

const char *emit_handing_function(const struct emit_program *program, uint32_t stage,
                                  char text[EMIT_TEXT])
{
    const struct stage *what = &program->stages[stage].what;
    if (what->kind == STAGE_FROM_HOST)
        snprintf(text, EMIT_TEXT, "take_on_%" PRIu32, what->device);
    else
        snprintf(text, EMIT_TEXT,
                 what->kind == STAGE_PEER ? "hand_to_%" PRIu32 : "leave_for_%" PRIu32,
                 what->device + 1);
    return text;
}

/* Returns why a step waits for one of its own tile: it goes on with what that leaves. */
static const char *why_own(const struct stage *what, const struct stage *before,
                           char text[EMIT_LINE])
{
    if (what->kind == STAGE_KERNEL && before->kind == STAGE_PEER)
        snprintf(text, EMIT_LINE, "the kernel reads what device %" PRIu32 " hands on",
                 before->device);
    else if (what->kind == STAGE_KERNEL)
        return "the kernel reads what the copy brings";
    else if (what->kind == STAGE_FROM_HOST)
        snprintf(text, EMIT_LINE, "the copy takes what device %" PRIu32 " has left on the host",
                 before->device);
    else
        return "the copy takes what the kernel leaves";
    return text;
}

/* Returns why a step waits for one of the tile that had the slot before: it writes over what
 * that one works on. */
static const char *why_before(const struct stage *what, const struct stage *used,
                              char text[EMIT_LINE])
{
    switch (used->kind) {
    case STAGE_PEER:
        snprintf(text, EMIT_LINE,
                 "what was in this slot may still be on its way to device %" PRIu32,
                 used->device + 1);
        return text;
    case STAGE_TO_HOST:
        return "what was in this slot may still be on its way to the host";
    case STAGE_FROM_HOST:
        snprintf(text, EMIT_LINE,
                 "device %" PRIu32 " may still copy what was in this slot on the host",
                 used->device);
        return text;
    case STAGE_OUT:
        return "what was in this slot may still be on its way out";
    default:
        break;
    }
    if (used->device == what->device)
        return "what was in this slot may still be read";
    snprintf(text, EMIT_LINE, "device %" PRIu32 " may still read what was in this slot there",
             used->device);
    return text;
}

const char *emit_why_handed(const struct emit_program *program, const struct loop_item *item,
                            uint32_t stage, char text[EMIT_LINE])
{
    const struct stage *what = &program->stages[stage].what;
    const struct stage *other = &program->stages[item->event_stage].what;
    return item->relation == RELATION_OWN ? why_own(what, other, text)
                                          : why_before(what, other, text);
}

/* --- calls --- */

/* Returns the kernels of a device, in words. */
static const char *part_words(const struct emit_program *program, uint32_t device,
                              char text[EMIT_LINE])
{
    const struct plan *plan = program->plan;
    const char *before = " ";
    snprintf(text, EMIT_LINE, "device %" PRIu32 " has", device);
    for (uint32_t link = 0; link < (uint32_t)plan->chain_length; link++) {
        if (plan_link_device(plan, link) != device)
            continue;
        text_add(text, EMIT_LINE, before, "%s", plan->chain[link]->name);
        before = ", ";
    }
    if (device == 0)
        text_add(text, EMIT_LINE, ": ", "kernels go to the current device");
    return text;
}

void emit_enter_part(FILE *out, int indent, const struct emit_program *program, uint32_t stage,
                     uint32_t end, uint32_t *current)
{
    const uint32_t device = program->stages[stage].what.device;
    char text[EMIT_LINE], digit[EMIT_NAME], number[EMIT_NAME];
    bool launches = false;
    for (uint32_t next = stage; next < end; next++) {
        const struct stage *what = &program->stages[next].what;
        launches |= what->kind == STAGE_KERNEL && what->device == device;
    }
    if (!emit_is_handed(program) || !launches || *current == device + 1)
        return;
    *current = device + 1;
    snprintf(digit, sizeof digit, "%" PRIu32, device);
    emit_put(out, indent, part_words(program, device, text), "CHECK(cudaSetDevice(%s));",
             emit_device_number(program, digit, number));
}

void emit_put_handing(FILE *out, int indent, const struct emit_program *program)
{
    const struct stage *what = &program->stages[program->stage].what;
    const bool takes = what->kind == STAGE_FROM_HOST;
    const uint32_t from = what->device - (takes ? 1 : 0);
    const struct emit_program sender = emit_on_device(program, from),
                              receiver = emit_on_device(program, from + 1);
    char left[EMIT_TEXT], taken[EMIT_TEXT], handed[EMIT_TEXT], bytes[EMIT_LINE];
    char stream[EMIT_TEXT];
    char digit[2][EMIT_NAME], number[2][EMIT_NAME];
    emit_address(&sender, emit_kernel_output(program, what->link), false, left);
    emit_address(&receiver, BUFFER_DEVICE_IN0, false, taken);
    emit_address(&sender, BUFFER_HOST_EXCHANGE, false, handed);
    emit_batch_bytes(program, BUFFER_DEVICE_IN0, bytes);
    emit_stream_name(program, program->stage, stream);
    if (what->kind != STAGE_PEER) {
        emit_put(out, indent, NULL, "CHECK(cudaMemcpyAsync(%s, %s, %s, %s, %s));",
                 takes ? taken : handed, takes ? handed : left, bytes,
                 takes ? "cudaMemcpyHostToDevice" : "cudaMemcpyDeviceToHost", stream);
        return;
    }
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(digit[i], sizeof digit[i], "%" PRIu32, from + i);
        emit_device_number(program, digit[i], number[i]);
    }
    emit_put(out, indent, NULL, "CHECK(cudaMemcpyPeerAsync(%s, %s, %s, %s, %s, %s));", taken,
             number[1], left, number[0], bytes, stream);
}
