/* names.c - what a program calls its streams, slots and events, and where its tiles are. */
#include "emit/parts.h"
#include "plan/device.h"

#include <inttypes.h>

/* --- names --- */

bool emit_has_devices(const struct emit_program *program)
{
    return plan_devices(program->plan) > 1;
}

bool emit_deals_devices(const struct emit_program *program)
{
    return program->devices > 1;
}

bool emit_is_handed(const struct emit_program *program)
{
    return program->plan->by_link && emit_has_devices(program);
}

bool emit_hands_on(const struct emit_program *program, uint32_t stage)
{
    const enum stage_kind kind = program->stages[stage].what.kind;
    return kind == STAGE_PEER || kind == STAGE_TO_HOST || kind == STAGE_FROM_HOST;
}

struct emit_program emit_on_device(const struct emit_program *program, uint32_t device)
{
    struct emit_program at = *program;
    at.here = emit_is_handed(program) ? device + 1 : 0;
    return at;
}

struct emit_program emit_at(const struct emit_program *program, uint32_t stage)
{
    struct emit_program at = emit_on_device(program, program->stages[stage].what.device);
    at.stage = stage;
    return at;
}

const char *emit_of_device(const struct emit_program *program)
{
    static const char *const parts[MACHINE_DEVICES_MAX] = {"[0]", "[1]", "[2]", "[3]",
                                                           "[4]", "[5]", "[6]", "[7]"};
    if (program->here > 0)
        return parts[program->here - 1];
    return emit_has_devices(program) ? "[device]" : "";
}

const char *emit_each_device(const struct emit_program *program)
{
    return emit_has_devices(program) ? "[DEVICES]" : "";
}

const char *emit_index_name(const struct emit_program *program)
{
    return program->plan->batch > 1 ? "batch" : "tile";
}

bool emit_deals_streams(const struct emit_program *program)
{
    return program->streams > 1 && program->settings->layout == LAYOUT_TILE &&
           !program->plan->has_halo;
}

bool emit_streams_by_stage(const struct emit_program *program)
{
    return program->plan->streams / plan_devices(program->plan) > 2 &&
           program->settings->layout == LAYOUT_STAGE;
}

bool emit_has(const struct emit_program *program, enum op_kind kind)
{
    for (uint32_t stage = 0; stage < program->stage_count; stage++) {
        EACH (const struct loop_item, item, program->stages[stage].items,
              program->stages[stage].item_count) {
            if (item->kind == kind && !item->carries)
                return true;
        }
    }
    return false;
}

bool emit_on_host(const struct emit_program *program)
{
    return program->plan->memory == MEMORY_MAPPED || program->plan->memory == MEMORY_MANAGED;
}

const char *emit_slots_name(const struct emit_program *program)
{
    return emit_deals_streams(program) ? "STREAMS" : "SLOTS";
}

bool emit_shares_slots(const struct emit_program *program)
{
    const bool memory = !emit_on_host(program) || program->plan->chain_length > 1;
    return program->slots > 1 && program->slots < program->share &&
           (memory || emit_deals_streams(program));
}

const char *emit_tiles_name(const struct emit_program *program)
{
    return program->plan->cpu_tiles > 0 ? "GPU_TILES" : "TILES";
}

const char *emit_slot_count(const struct emit_program *program)
{
    if (program->slots == 1)
        return "";
    if (emit_shares_slots(program))
        return emit_slots_name(program);
    return emit_deals_devices(program) ? "SHARE" : emit_batches_name(program);
}

const char *emit_all_slots_name(const struct emit_program *program, char text[EMIT_NAME])
{
    const char *slots = emit_slots_name(program);
    if (!emit_deals_devices(program))
        return program->slots == 1 ? "1" : slots;
    snprintf(text, EMIT_NAME, program->slots == 1 ? "DEVICES" : "DEVICES * %s", slots);
    return text;
}

const char *emit_batches_name(const struct emit_program *program)
{
    return program->plan->batch > 1 ? "BATCHES" : emit_tiles_name(program);
}

const char *emit_wave_name(const struct emit_program *program)
{
    const bool devices = emit_deals_devices(program);
    if (emit_deals_streams(program))
        return devices ? "DEVICES * STREAMS" : "STREAMS";
    if (emit_shares_slots(program))
        return devices ? "DEVICES * SLOTS" : "SLOTS";
    return "WAVE";
}

const char *emit_slot_name(const struct emit_program *program)
{
    if (program->slots == 1)
        return "0";
    return emit_shares_slots(program) || emit_deals_devices(program) ? "slot"
                                                                     : emit_index_name(program);
}

const char *emit_stream_name(const struct emit_program *program, uint32_t stage,
                             char text[EMIT_TEXT])
{
    const int64_t stream = program->stages[stage].what.stream;
    const char *on = emit_of_device(program);
    if (stream != STREAM_DEALT && stream == program->legacy)
        return "cudaStreamLegacy";
    if (emit_streams_by_stage(program))
        snprintf(text, EMIT_TEXT, "%s_stream%s",
                 stream == 0   ? "in"
                 : stream == 1 ? "kernel"
                               : "out",
                 on);
    else if (!emit_deals_streams(program))
        snprintf(text, EMIT_TEXT, "stream%s", on);
    else if (stream != STREAM_DEALT)
        snprintf(text, EMIT_TEXT, "stream%s[%" PRId64 "]", on, stream);
    else if (program->slots == program->streams)
        snprintf(text, EMIT_TEXT, "stream%s[%s]", on, emit_slot_name(program));
    else
        snprintf(text, EMIT_TEXT, "stream%s[%s %% STREAMS]", on,
                 emit_deals_devices(program) ? emit_slot_name(program)
                                             : emit_index_name(program));
    return text;
}

const char *emit_first_stream(const struct emit_program *program, char text[EMIT_NAME])
{
    const bool by_stage = emit_streams_by_stage(program);
    snprintf(text, EMIT_NAME, "%s%s%s", by_stage ? "in_stream" : "stream",
             emit_of_device(program), emit_deals_streams(program) ? "[0]" : "");
    return text;
}

const char *emit_other_stream(const struct emit_program *program, char text[EMIT_NAME])
{
    const bool by_stage = emit_streams_by_stage(program), deals = emit_deals_streams(program);
    snprintf(text, EMIT_NAME, "%s%s%s",
             by_stage              ? "out_stream"
             : deals               ? "stream"
             : emit_hides(program) ? "edge_stream"
                                   : "other",
             emit_of_device(program), deals ? "[1]" : "");
    return text;
}

/* Returns what chooses the batch ahead of the loop's among the slots: where there are several
 * devices it is the variable `ahead`, on another one. */
static const char *choose_ahead(const struct emit_program *program, char text[EMIT_NAME])
{
    const char *index = emit_index_name(program);
    const bool shares = emit_shares_slots(program), deals = emit_deals_devices(program);
    const char *modulus = shares ? " % " : "", *slots = shares ? emit_slots_name(program) : "";
    if (deals && program->slots == 1)
        snprintf(text, EMIT_NAME, "[ahead %% DEVICES][0]");
    else if (deals)
        snprintf(text, EMIT_NAME, "[ahead %% DEVICES][ahead / DEVICES%s%s]", modulus, slots);
    else
        snprintf(text, EMIT_NAME, shares ? "[(%s - 1)%s%s]" : "[%s - 1%s%s]", index, modulus,
                 slots);
    return text;
}

const char *emit_event_name(const struct emit_program *program, uint32_t stage,
                            enum relation relation, char text[EMIT_TEXT])
{
    static const char *const names[] = {
        [STAGE_IN] = "copied_in",       [STAGE_KERNEL] = "computed",
        [STAGE_PEER] = "handed_on",     [STAGE_TO_HOST] = "handed_on",
        [STAGE_FROM_HOST] = "taken_on", [STAGE_OUT] = "copied_out"};
    char kernel[EMIT_NAME], ahead[EMIT_NAME];
    const struct loop_stage *at = &program->stages[stage];
    const struct emit_program there = emit_at(program, stage);
    const char *slot = emit_slot_name(program), *on = emit_of_device(&there);
    const char *name = names[at->what.kind];
    if (relation == RELATION_LAST || relation == RELATION_ONCE)
        snprintf(text, EMIT_TEXT, "%s%s",
                 relation == RELATION_LAST ? "all_copied_in" : "a_copied_in", on);
    else if (at[0].what.kind == STAGE_KERNEL && at[1].what.kind == STAGE_KERNEL)
        snprintf(text, EMIT_TEXT, "%s_done%s[%s]",
                 emit_function_name(program->plan->chain[at->what.link], kernel), on, slot);
    else if (relation == RELATION_AHEAD)
        snprintf(text, EMIT_TEXT, "%s%s", name, choose_ahead(program, ahead));
    else
        snprintf(text, EMIT_TEXT, "%s%s[%s]", name, on, slot);
    return text;
}

uint32_t emit_map_link(const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    for (int i = 0; i < plan->chain_length; i++) {
        if (plan->chain[i]->file == NULL && plan->chain[i]->shape == KERNEL_MAP)
            return (uint32_t)i;
    }
    return 0;
}

uint32_t emit_blocks(const struct emit_program *program)
{
    return program->loops
        ->blocks[emit_reduction(program) != NULL ? program->plan->chain_length - 1
                                                 : (int)emit_map_link(program)];
}

const char *emit_blocks_name(const struct emit_program *program, uint32_t link,
                             char text[EMIT_NAME])
{
    const uint32_t blocks = program->loops->blocks[link];
    if (blocks == emit_blocks(program))
        return "BLOCKS"; /* a reduction's own code knows it by this name */
    if (emit_reduction(program) != NULL &&
        blocks == program->loops->blocks[emit_map_link(program)])
        return "MAP_BLOCKS";
    snprintf(text, EMIT_NAME, "%" PRIu32, blocks); /* of a kernel of the user's */
    return text;
}

/* --- devices --- */

bool emit_named_numbers(const struct emit_program *program, int numbers[MACHINE_DEVICES_MAX])
{
    const char *value = program->settings->device;
    const struct device_row *row = device_find(value);
    bool unlike = false;
    if (row == NULL || !row->numbered || device_is_all(value) ||
        device_numbers(device_argument(value), numbers) != plan_devices(program->plan))
        return false;
    for (uint32_t i = 0; i < plan_devices(program->plan); i++)
        unlike |= numbers[i] != (int)i;
    return unlike;
}

const char *emit_device_number(const struct emit_program *program, const char *device,
                               char text[EMIT_NAME])
{
    int numbers[MACHINE_DEVICES_MAX];
    snprintf(text, EMIT_NAME, emit_named_numbers(program, numbers) ? "NUMBERS[%s]" : "%s",
             device);
    return text;
}

/* --- addresses --- */

bool emit_is_product(const struct emit_program *program)
{
    return program->plan->chain[0]->resident_count != NULL;
}

bool emit_repeats_steps(const struct emit_program *program)
{
    return program->plan->has_halo && program->plan->params.steps > 1;
}

bool emit_exchanges(const struct emit_program *program)
{
    return emit_repeats_steps(program) && emit_has_devices(program);
}

bool emit_hides(const struct emit_program *program)
{
    return program->plan->has_halo && program->plan->streams > program->devices;
}

bool emit_has_values(const struct emit_program *program, enum buffer buffer)
{
    return emit_reduction(program) != NULL &&
           (buffer == BUFFER_HOST_OUT || buffer == BUFFER_DEVICE_OUT);
}

bool emit_has_slots(enum buffer buffer)
{
    return buffer >= BUFFER_FIRST_DEVICE || buffer == BUFFER_HOST_PACK_IN0 ||
           buffer == BUFFER_HOST_PACK_IN1 || buffer == BUFFER_HOST_PACK_OUT ||
           buffer == BUFFER_HOST_EXCHANGE;
}

const char *emit_buffer_name(const struct emit_program *program, enum buffer buffer)
{
    static const char *const names[BUFFER_COUNT][2] = {
        [BUFFER_HOST_IN0] = {"in", "c0"},
        [BUFFER_HOST_IN1] = {"in2", "b"},
        [BUFFER_HOST_OUT] = {"out", "c"},
        [BUFFER_DEVICE_IN0] = {"d_in", "d_c"},
        [BUFFER_DEVICE_IN1] = {"d_in2", "d_b"},
        [BUFFER_DEVICE_OUT] = {"d_out", NULL},
        [BUFFER_HOST_PACK_IN0] = {"packed_in", NULL},
        [BUFFER_HOST_PACK_IN1] = {"packed_in2", NULL},
        [BUFFER_HOST_PACK_OUT] = {"packed_out", NULL},
        [BUFFER_HOST_EXCHANGE] = {"handed", NULL},
    };
    return names[buffer][emit_is_product(program) ? 1 : 0];
}

const char *emit_bytes_name(const struct emit_program *program, enum buffer buffer)
{
    const bool second = buffer == BUFFER_HOST_IN1 || buffer == BUFFER_DEVICE_IN1;
    return emit_is_product(program) && second ? "B_BYTES" : "BYTES";
}

const char *emit_address(const struct emit_program *program, enum buffer buffer, bool each,
                         char text[EMIT_TEXT])
{
    const bool values = emit_has_values(program, buffer);
    const bool in_slots = emit_has_slots(buffer);
    const bool slotted =
        in_slots && (program->slots < program->batches || emit_deals_devices(program));
    char place[EMIT_TEXT / 2], name[EMIT_TEXT / 3];
    snprintf(name, sizeof name, "%s%s", emit_buffer_name(program, buffer),
             in_slots ? emit_of_device(program) : "");
    const bool grouped = each && !program->rows && !values;
    snprintf(place, sizeof place, "%s%s%s%s%s", grouped ? "(" : "",
             slotted ? emit_slot_name(program) : emit_index_name(program),
             program->plan->batch > 1 ? " * BATCH" : "", each ? " + i" : "",
             grouped ? ")" : "");
    if (!emit_has_slots(buffer) && !values) {
        snprintf(text, EMIT_TEXT, program->arrays->address, name, place);
        return text;
    }
    if ((program->rows && !values) || plan_takes_buffer(program->plan, buffer))
        snprintf(text, EMIT_TEXT, "%s[%s]", name, place);
    else if (slotted && program->slots == 1 && !each)
        snprintf(text, EMIT_TEXT, "%s", name);
    else if (values)
        snprintf(text, EMIT_TEXT, "%s + %s", name, place);
    else
        snprintf(text, EMIT_TEXT, slotted || program->even ? "%s + %s * TILE" : "%s + begin",
                 name, place);
    return text;
}

/* --- types --- */

const char *emit_input_type(const struct emit_program *program)
{
    return emit_type(program->plan->chain[0]->in);
}

const char *emit_output_type(const struct emit_program *program)
{
    return emit_type(plan_last_kernel(program->plan)->out);
}
