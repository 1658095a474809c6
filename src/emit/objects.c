/* objects.c - what a program makes on a device: memory, streams and events; and the poison
 * of its memory. */
#include "emit/parts.h"

#include <inttypes.h>
#include <string.h>

enum { EXPRESSION = 128 };

/* --- memory --- */

/* Returns the bytes of all slots of a buffer of elements or, of values, of one for each tile.
 */
static const char *slots_bytes(const struct emit_program *program, enum buffer buffer,
                               const char *type, char text[EXPRESSION])
{
    const struct plan *plan = program->plan;
    const bool values = emit_reduction(program) != NULL && buffer == BUFFER_DEVICE_OUT;
    const char *slots = emit_slot_count(program), *batch = plan->batch > 1 ? "BATCH * " : "";
    char times[32] = "";
    if (program->slots >= program->batches && !emit_deals_devices(program)) {
        if (emit_has_cpu(program) && program->even && !values)
            return strcpy(text, "GPU_TILES * BYTES");
        if (emit_is_product(program)) {
            snprintf(text, EXPRESSION, "TILES * %s", emit_bytes_name(program, buffer));
            return text;
        }
        snprintf(text, EXPRESSION, "%s * sizeof(%s)", values ? emit_tiles_name(program) : "N",
                 type);
        return text;
    }
    if (program->slots > 1)
        snprintf(times, sizeof times, "%s * ", slots);
    const bool row = program->even && !values;
    if (row)
        snprintf(text, EXPRESSION, "%s%s%s", times, batch, emit_bytes_name(program, buffer));
    else if (values)
        snprintf(text, EXPRESSION, "%s%ssizeof(%s)", times, batch, type);
    else
        snprintf(text, EXPRESSION, "%s%sTILE * sizeof(%s)", times, batch, type);
    return text;
}

static const enum buffer device_arrays[] = {BUFFER_DEVICE_IN0, BUFFER_DEVICE_IN1,
                                            BUFFER_DEVICE_OUT};
enum { DEVICE_ARRAYS = sizeof device_arrays / sizeof *device_arrays };

/* Returns the bytes of a device array that is taken once, or NULL: it is none. */
static const char *device_bytes(const struct emit_program *program, enum buffer array,
                                char text[EXPRESSION])
{
    if (!emit_uses(program, array) || emit_takes(program, array))
        return NULL;
    const bool value = emit_reduction(program) != NULL && array == BUFFER_DEVICE_OUT;
    return slots_bytes(program, array,
                       value ? emit_output_type(program) : emit_input_type(program), text);
}

/* Returns the bytes of all slots of an array that the CPU packs tiles into, or that a device
 * hands them on by. */
static const char *packed_bytes(const struct emit_program *program, char text[EXPRESSION])
{
    return slots_bytes(program, BUFFER_HOST_PACK_IN0, emit_input_type(program), text);
}

static void put_device_memory(FILE *out, const struct emit_program *program)
{
    const bool values = emit_reduction(program) != NULL;
    const bool short_ones = !values && emit_inputs(program) == 1 && !emit_has_devices(program);
    const char *before = "    ";
    bool any = false;
    char text[EXPRESSION];
    if (emit_is_stencil(program)) {
        emit_stencil_memory(out, program);
        return;
    }
    for (size_t i = 0; i < DEVICE_ARRAYS; i++) {
        const char *bytes = device_bytes(program, device_arrays[i], text);
        if (bytes == NULL)
            continue;
        fprintf(out, "%sCHECK(cudaMalloc(&%s%s, %s));", before,
                emit_buffer_name(program, device_arrays[i]), emit_of_device(program), bytes);
        before = strlen(bytes) < 20 && short_ones ? " " : "\n    ";
        any = true;
    }
    if (any)
        fprintf(out, "\n");
    if (values && emit_reduction(program)->file == NULL) {
        const char *slots = emit_slot_count(program);
        const char *times = slots[0] != '\0' ? " * " : "", *on = emit_of_device(program);
        fprintf(out,
                "    CHECK(cudaMalloc(&d_found%s, %s%ssizeof(scratch)));\n"
                "    CHECK(cudaMemset(d_found%s, 0, %s%ssizeof(scratch)));\n",
                on, slots, times, on, slots, times);
    }
    emit_pack_memory(out, program, packed_bytes(program, text));
    emit_handing_memory(out, program, packed_bytes(program, text));
    if (emit_scan(program) != NULL)
        emit_scan_memory(out, program);
    if (emit_is_product(program))
        fprintf(out, "    CHECK(cudaMalloc(&d_a%s, A * sizeof(double)));\n",
                emit_of_device(program));
}

/* Returns what poisons the bytes of an array: NaN, or as an int a large number. `finite` finds
 * no NaN in what it has not been given, as in most of its tiles: its inputs are zeros. */
static const char *poison_of(const struct emit_program *program, enum buffer array)
{
    const struct kernel *last = emit_reduction(program);
    const bool finds_nans = last != NULL && last->fold == KERNEL_FOLD_AND &&
                            program->plan->chain[0]->in != DTYPE_I32;
    return finds_nans && array != BUFFER_DEVICE_OUT ? "0" : "0xFF";
}

/* Arrays of one size have one line. */
void emit_object_poison(FILE *out, int indent, const struct emit_program *program)
{
    char packed[EXPRESSION], texts[DEVICE_ARRAYS][EXPRESSION], names[EXPRESSION] = "";
    const char *bytes = NULL, *on = emit_of_device(program);
    bool alike = emit_reduction(program) == NULL;
    int count = 0;
    emit_pack_poison(out, indent, program, packed_bytes(program, packed));
    emit_handing_poison(out, indent, program, packed_bytes(program, packed));
    if (emit_is_product(program))
        emit_put(out, indent, "", "CHECK(cudaMemset(d_a%s, 0xFF, A * sizeof(double)));", on);
    for (size_t i = 0; i < DEVICE_ARRAYS; i++) {
        const char *own = device_bytes(program, device_arrays[i], texts[i]);
        if (own == NULL)
            continue;
        alike &= bytes == NULL || strcmp(own, bytes) == 0;
        bytes = own;
        count++;
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s%s",
                 count > 1 ? ", " : "", emit_buffer_name(program, device_arrays[i]), on);
    }
    if (alike && count > 1) {
        emit_put(out, indent, "", "for (auto each : {%s}) CHECK(cudaMemset(each, 0xFF, %s));",
                 names, bytes);
        return;
    }
    for (size_t i = 0; i < DEVICE_ARRAYS; i++) {
        const char *own = device_bytes(program, device_arrays[i], texts[i]);
        if (own != NULL)
            emit_put(out, indent, "", "CHECK(cudaMemset(%s%s, %s, %s));",
                     emit_buffer_name(program, device_arrays[i]), on,
                     poison_of(program, device_arrays[i]), own);
    }
}

/* --- streams --- */

/* Returns after how many streams the priorities repeat. */
static uint32_t priority_period(const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    for (uint32_t period = 1; period < program->streams; period++) {
        uint32_t same = period;
        while (same < program->streams &&
               plan->priorities[same] == plan->priorities[same - period])
            same++;
        if (same == program->streams)
            return period;
    }
    return program->streams;
}

/* Returns how streams are made: blocking where the legacy default stream has a part. */
static const char *stream_flag(const struct emit_program *program)
{
    return program->legacy == EMIT_NO_LEGACY ? "cudaStreamNonBlocking" : "cudaStreamDefault";
}

static void put_priorities(FILE *out, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    const uint32_t period = priority_period(program);
    if (!emit_deals_streams(program)) {
        const uint32_t streams = plan->streams / plan_devices(plan);
        const char *const names[] = {streams > 1 ? "in_stream" : "stream", "kernel_stream",
                                     "out_stream"};
        for (uint32_t i = 0; i < streams; i++) {
            if (i != program->legacy)
                emit_put(out, 4, NULL, "CHECK(cudaStreamCreateWithPriority(&%s%s, %s, %d));",
                         names[i], emit_of_device(program), stream_flag(program),
                         plan->priorities[i]);
        }
        return;
    }
    fprintf(out, "    const int priorities[] = {");
    for (uint32_t i = 0; i < period; i++)
        fprintf(out, "%s%d", i > 0 ? ", " : "", plan->priorities[i]);
    fprintf(out,
            "}; // blocks of the lowest number are placed first\n"
            "    for (size_t i = 0; i < STREAMS; i++)\n"
            "        CHECK(cudaStreamCreateWithPriority(&stream%s[i], %s,\n"
            "                                           priorities[i %% %" PRIu32 "]));\n",
            emit_of_device(program), stream_flag(program), period);
}

/* The call that has no flags makes blocking streams. */
static void put_plain_streams(FILE *out, const struct emit_program *program)
{
    if (emit_deals_streams(program))
        emit_put(out, 4, NULL, "for (auto &each : stream) CHECK(cudaStreamCreate(&each));");
    else
        emit_put(out, 4, NULL,
                 "for (cudaStream_t *each : {&in_stream, &kernel_stream, &out_stream}) "
                 "CHECK(cudaStreamCreate(each));");
}

static void put_streams(FILE *out, const struct emit_program *program)
{
    const bool single = program->plan->streams == plan_devices(program->plan);
    const char *on = emit_of_device(program);
    if (program->legacy != EMIT_NO_LEGACY)
        fprintf(out,
                "    // a part of the mistake: such streams wait for the default stream, and "
                "it for them\n");
    if (emit_hides(program))
        emit_rows_stream_creation(out, program);
    else if (program->plan->priorities != NULL)
        put_priorities(out, program);
    else if (emit_has_other(program))
        put_plain_streams(out, program);
    else if (emit_deals_streams(program))
        emit_put(out, 4, NULL,
                 "for (auto &each : stream%s) CHECK(cudaStreamCreateWithFlags(&each, %s));", on,
                 stream_flag(program));
    else if (single)
        fprintf(out,
                "    CHECK(cudaStreamCreateWithFlags(&stream%s, cudaStreamNonBlocking));\n",
                on);
    else if (program->legacy != EMIT_NO_LEGACY)
        fprintf(out,
                "    for (cudaStream_t *each : {&in_stream, &out_stream})\n"
                "        CHECK(cudaStreamCreateWithFlags(each, %s));\n",
                stream_flag(program));
    else
        fprintf(
            out,
            "    for (cudaStream_t *each : {&in_stream%s, &kernel_stream%s, &out_stream%s})\n"
            "        CHECK(cudaStreamCreateWithFlags(each, %s));\n",
            on, on, on, stream_flag(program));
    if (single)
        fprintf(out, "    CHECK(cudaStreamCreateWithFlags(&other%s, cudaStreamNonBlocking));\n",
                on);
    emit_rows_event_creation(out, program);
    emit_event_creation(out, program);
    if (emit_is_product(program))
        emit_product_handles(out, program);
}

/* --- all of it --- */

void emit_device_objects(FILE *out, const struct emit_program *program)
{
    put_device_memory(out, program);
    emit_pool_creation(out, program);
    emit_bare_memory(out, program);
    emit_other_memory(out, program);
    put_streams(out, program);
}
