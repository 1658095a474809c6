/* objects.c - which buffers a program has and how many slots, and the values of its variables
 * and of what it makes on a device: how arrays are declared, their bytes, what poisons them,
 * and the priorities of its streams. */
#include "emit/parts.h"

#include <inttypes.h>
#include <string.h>

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

bool emit_unpacks(const struct emit_program *program)
{
    return program->plan->packs && emit_reduction(program) == NULL;
}

bool emit_has_other(const struct emit_program *program)
{
    return program->plan->buffer_bytes[BUFFER_DEVICE_OTHER] > 0;
}

/* --- memory --- */

const char *emit_slot_bytes(const struct emit_program *program, enum buffer buffer,
                            char text[EMIT_LINE])
{
    if (emit_has_values(program, buffer))
        snprintf(text, EMIT_LINE, "sizeof(%s)", emit_output_type(program));
    else if (program->even)
        snprintf(text, EMIT_LINE, "%s", emit_bytes_name(program, buffer));
    else
        snprintf(text, EMIT_LINE, "TILE * sizeof(%s)", emit_input_type(program));
    return text;
}

const char *emit_batch_bytes(const struct emit_program *program, enum buffer buffer,
                             char text[EMIT_LINE])
{
    const bool values = emit_has_values(program, buffer);
    if (!values && !program->even) {
        snprintf(text, EMIT_LINE, "count * sizeof(%s)", emit_input_type(program));
        return text;
    }
    char each[EMIT_LINE];
    const bool together = values || program->plan->packs; /* a batch is one piece */
    snprintf(text, EMIT_LINE, "%s%.*s", program->plan->batch > 1 && together ? "tiles * " : "",
             EMIT_NAME, emit_slot_bytes(program, buffer, each));
    return text;
}

/* Returns the bytes of all slots of a buffer of elements or, of values, of one for each tile.
 */
static const char *slots_bytes(const struct emit_program *program, enum buffer buffer,
                               char text[EMIT_LINE])
{
    const bool values = emit_has_values(program, buffer);
    char slot[EMIT_LINE];
    if (program->slots >= program->batches && !emit_deals_devices(program)) {
        if (program->plan->cpu_tiles > 0 && program->even && !values)
            return strcpy(text, "GPU_TILES * BYTES");
        if (emit_is_product(program))
            snprintf(text, EMIT_LINE, "TILES * %s", emit_bytes_name(program, buffer));
        else
            snprintf(text, EMIT_LINE, "%s * sizeof(%s)",
                     values ? emit_tiles_name(program) : "N",
                     values ? emit_output_type(program) : emit_input_type(program));
        return text;
    }
    snprintf(text, EMIT_LINE, "%s%s%s%.*s", program->slots > 1 ? emit_slot_count(program) : "",
             program->slots > 1 ? " * " : "", program->plan->batch > 1 ? "BATCH * " : "",
             EMIT_NAME, emit_slot_bytes(program, buffer, slot));
    return text;
}

static const enum buffer device_arrays[] = {BUFFER_DEVICE_IN0, BUFFER_DEVICE_IN1,
                                            BUFFER_DEVICE_OUT};
enum { DEVICE_ARRAYS = sizeof device_arrays / sizeof *device_arrays };

const char *emit_device_bytes(const struct emit_program *program, enum buffer array,
                              char text[EMIT_LINE])
{
    if (!emit_uses(program, array) || plan_takes_buffer(program->plan, array))
        return NULL;
    return slots_bytes(program, array, text);
}

const char *emit_packed_bytes(const struct emit_program *program, char text[EMIT_LINE])
{
    return slots_bytes(program, BUFFER_HOST_PACK_IN0, text);
}

/* Returns what poisons the bytes of an array: NaN, or as an int a large number. `finite` finds
 * no NaN in what it has not been given, as in most of its tiles: its inputs are zeros. */
const char *emit_poison_of(const struct emit_program *program, enum buffer array)
{
    const struct kernel *last = emit_reduction(program);
    const bool finds_nans = last != NULL && last->fold == KERNEL_FOLD_AND &&
                            program->plan->chain[0]->in != DTYPE_I32;
    return finds_nans && array != BUFFER_DEVICE_OUT ? "0" : "0xFF";
}

bool emit_has_short_sizes(const struct emit_program *program)
{
    enum { SHORT = 20 };
    char text[EMIT_LINE];
    const char *bytes = emit_device_bytes(program, BUFFER_DEVICE_IN0, text);
    return emit_reduction(program) == NULL && emit_inputs(program) == 1 &&
           !emit_has_devices(program) && bytes != NULL && strlen(bytes) < SHORT;
}

const char *emit_device_arrays(const struct emit_program *program, char text[EMIT_LINE])
{
    char bytes[EMIT_LINE];
    text[0] = '\0';
    for (size_t i = 0; i < DEVICE_ARRAYS; i++) {
        if (emit_device_bytes(program, device_arrays[i], bytes) != NULL)
            text_add(text, EMIT_LINE, ", ", "%s%s", emit_buffer_name(program, device_arrays[i]),
                     emit_of_device(program));
    }
    return text;
}

const char *emit_alike_bytes(const struct emit_program *program, char text[EMIT_LINE])
{
    char other[EMIT_LINE] = "";
    bool alike = emit_reduction(program) == NULL;
    int count = 0;
    for (size_t i = 0; i < DEVICE_ARRAYS; i++) {
        if (emit_device_bytes(program, device_arrays[i], count == 0 ? text : other) != NULL)
            alike &= count++ == 0 || strcmp(text, other) == 0;
    }
    return alike && count > 1 ? text : NULL;
}

const char *emit_times_slots(const struct emit_program *program, char text[EMIT_LINE])
{
    const char *slots = emit_slot_count(program);
    snprintf(text, EMIT_LINE, "%s%s", slots, slots[0] != '\0' ? " * " : "");
    return text;
}

/* By the program's constants where these are inputs and
 * results of N elements, or a value for each tile, and no more; as a number elsewhere. */
const char *emit_arrays_bytes(const struct emit_program *program, char text[EMIT_LINE])
{
    const struct plan *plan = program->plan;
    const struct kernel *reduction = emit_reduction(program);
    const uint64_t all = plan_host_bytes(plan), size = dtype_bytes(plan->chain[0]->in);
    const uint64_t arrays = (uint64_t)emit_inputs(program) + (reduction == NULL ? 1 : 0);
    const uint64_t values =
        reduction != NULL ? plan->tiles * (uint64_t)dtype_bytes(reduction->out) : 0;
    char times[EMIT_NAME] = "";
    if (all != arrays * plan->elements * size + values) {
        snprintf(text, EMIT_LINE, "%" PRIu64, all);
        return text;
    }
    if (arrays > 1)
        snprintf(times, sizeof times, "%" PRIu64 " * ", arrays);
    snprintf(text, EMIT_LINE, "%sN * sizeof(%s)", times, emit_input_type(program));
    if (reduction != NULL)
        text_add(text, EMIT_LINE, " + ", "TILES * sizeof(%s)", emit_output_type(program));
    return text;
}

/* --- streams --- */

uint32_t emit_priority_period(const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    for (uint32_t period = 1; plan->priorities != NULL && period < program->streams; period++) {
        uint32_t same = period;
        while (same < program->streams &&
               plan->priorities[same] == plan->priorities[same - period])
            same++;
        if (same == program->streams)
            return period;
    }
    return program->streams;
}

const char *emit_priorities(const struct emit_program *program, char text[EMIT_LINE])
{
    text[0] = '\0';
    for (uint32_t i = 0; i < emit_priority_period(program); i++)
        text_add(text, EMIT_LINE, ", ", "%d", program->plan->priorities[i]);
    return text;
}

void emit_stage_priorities(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    const uint32_t streams = plan->streams / plan_devices(plan);
    const char *const names[] = {streams > 1 ? "in_stream" : "stream", "kernel_stream",
                                 "out_stream"};
    for (uint32_t i = 0; i < streams; i++) {
        if (i != program->legacy)
            emit_put(out, 4, NULL, "CHECK(cudaStreamCreateWithPriority(&%s%s, %s, %d));",
                     names[i], emit_of_device(program),
                     program->legacy == EMIT_NO_LEGACY ? "cudaStreamNonBlocking"
                                                       : "cudaStreamDefault",
                     plan->priorities[i]);
    }
}

/* --- variables --- */

/* Writes the declarator of pointers to memory that is taken for each tile: one for each slot.
 */
static void put_pointers(const struct emit_program *program, const char *name,
                         char text[EMIT_TEXT])
{
    snprintf(text, EMIT_TEXT, "*%s[%s]", name,
             program->slots == 1          ? "1"
             : emit_shares_slots(program) ? emit_slots_name(program)
                                          : emit_tiles_name(program));
}

const char *emit_declarator(const struct emit_program *program, enum buffer buffer,
                            char text[EMIT_LINE])
{
    const bool on_host = !emit_has_slots(buffer), second = buffer == BUFFER_DEVICE_IN1;
    const bool values = emit_reduction(program) != NULL && buffer == BUFFER_DEVICE_OUT;
    const char *name = emit_buffer_name(program, buffer);
    const char *each = on_host ? "" : emit_each_device(program);
    if (plan_takes_buffer(program->plan, buffer))
        put_pointers(program, name, text);
    else if (program->rows && !values)
        snprintf(text, EMIT_LINE, "(*%s%s)%s", name, each,
                 on_host                              ? program->arrays->row
                 : emit_is_product(program) && second ? "[B_TILE]"
                                                      : "[TILE]");
    else
        snprintf(text, EMIT_LINE, "*%s%s", name, each);
    return text;
}
