/* calls.c - a plan's calls as text, and why each wait and event is there. */
#include "emit/parts.h"
#include "plan/mistake.h"

#include <inttypes.h>
#include <string.h>

/* --- calls --- */

/* Writes the copy of a tile: columns of a matrix on the host, one piece on the device. */
static void put_columns(FILE *out, int indent, const struct emit_program *program, bool inwards,
                        int input, const char *stream)
{
    const char *way = inwards ? "cudaMemcpyHostToDevice" : "cudaMemcpyDeviceToHost";
    const char *array = !inwards ? "out" : input == 0 ? "in" : "in2";
    char host[EMIT_TEXT], device[EMIT_TEXT];
    emit_address(program,
                 inwards ? (enum buffer)(BUFFER_DEVICE_IN0 + input) : BUFFER_DEVICE_OUT, false,
                 device);
    if (program->plan->copy == COPY_2D) {
        snprintf(host, sizeof host, "%s[0][tile]", array);
        emit_put(out, indent,
                 "to, how far its rows lie apart, from, the same, bytes of a row, rows",
                 "CHECK(cudaMemcpy2DAsync(%s, %s, %s, %s, ROW, ROWS, %s, %s));",
                 inwards ? device : host, inwards ? "ROW" : "TILES * ROW",
                 inwards ? host : device, inwards ? "TILES * ROW" : "ROW", way, stream);
        return;
    }
    snprintf(host, sizeof host, "%s[row][tile]", array);
    snprintf(device + strlen(device), sizeof device - strlen(device), " + row * WIDTH");
    emit_put(out, indent, "a call for each row", "for (size_t row = 0; row < ROWS; row++)");
    emit_put(out, indent + 4, NULL, "CHECK(cudaMemcpyAsync(%s, %s, ROW, %s, %s));",
             inwards ? device : host, inwards ? host : device, way, stream);
}

/* Returns true if a tile is copied by its rows: those of a matrix of one tile are one piece. */
static bool is_in_rows(const struct emit_program *program)
{
    const bool alone = program->plan->copy == COPY_ROWS && program->plan->tiles == 1;
    return emit_in_columns(program) && !emit_packs(program) && !alone;
}

static void put_copy(FILE *out, int indent, const struct emit_program *program, bool inwards,
                     int input, const char *stream)
{
    char host[EMIT_TEXT], device[EMIT_TEXT];
    const struct kernel *reduction = emit_reduction(program);
    const enum buffer array =
        inwards ? emit_sent_input(program, input) : emit_sent_output(program);
    emit_address(program, array, false, host);
    emit_address(program,
                 inwards ? (enum buffer)(BUFFER_DEVICE_IN0 + input) : emit_copied_out(program),
                 false, device);
    const char *to = inwards ? device : host, *from = inwards ? host : device;
    const char *way = inwards ? "cudaMemcpyHostToDevice" : "cudaMemcpyDeviceToHost";
    char bytes[EMIT_TEXT];
    snprintf(bytes, sizeof bytes, "%s", emit_bytes_name(program, array));
    if (!inwards && reduction != NULL)
        snprintf(bytes, sizeof bytes, "%ssizeof(%s)",
                 emit_in_batches(program) ? "tiles * " : "", emit_type(reduction->out));
    else if (!program->even)
        snprintf(bytes, sizeof bytes, "count * sizeof(%s)",
                 emit_type(program->plan->chain[0]->in));
    else if (emit_packs(program) && emit_in_batches(program))
        snprintf(bytes, sizeof bytes, "tiles * BYTES"); /* a batch is one piece */
    if (is_in_rows(program) && (inwards || reduction == NULL)) {
        put_columns(out, indent, program, inwards, input, stream);
        return;
    }
    const bool tiles_go =
        emit_in_batches(program) && !emit_packs(program) && !(reduction != NULL && !inwards);
    if (tiles_go && emit_in_places(program))
        emit_put(out, indent, NULL, "copy_batch(%s, %s, batch * BATCH, tiles, %s, %s);", device,
                 emit_buffer_name(program, array), way, stream);
    else if (tiles_go)
        emit_put(out, indent, NULL, "copy_batch(%s, %s, tiles, %s);", to, from, stream);
    else
        emit_put(out, indent, NULL, "CHECK(cudaMemcpyAsync(%s, %s, %s, %s, %s));", to, from,
                 bytes, way, stream);
}

/* Writes a launch by the launcher of the user's library. */
static void put_own_launch(FILE *out, int indent, const struct emit_program *program,
                           uint32_t link, const char *count, const char *stream)
{
    const struct kernel *kernel = program->plan->chain[link];
    const bool mapped = emit_on_host(program);
    const bool each = emit_in_batches(program);
    char name[EMIT_NAME], blocks[EMIT_NAME], work[EMIT_NAME] = "work";
    char in[EMIT_TEXT], in2[EMIT_TEXT] = "NULL", to[EMIT_TEXT];
    emit_address(program, emit_kernel_input(program, link), each, in);
    emit_address(program, emit_kernel_output(program, link), each, to);
    if (kernel->inputs == 2)
        emit_address(program, mapped ? BUFFER_HOST_IN1 : BUFFER_DEVICE_IN1, each, in2);
    if (program->plan->chain_length > 1)
        snprintf(work, sizeof work, "work_%" PRIu32, link + 1);
    emit_put(out, indent, NULL, "const pipeline_work %s = {{%s, %s}, %s, %s, %s};", work, in,
             in2, to, count, emit_blocks_name(program, link, blocks));
    emit_put(out, indent, stream == NULL ? "the mistake: no stream is named" : NULL,
             "CHECK((cudaError_t)%s->launch(&%s, %s));",
             emit_own_name(program, (int)link, name), work, stream == NULL ? "NULL" : stream);
}

/* Puts the launch of a kernel that is built in, on a tile where `each`; no stream is named
 * where `stream` is NULL. */
static void put_built_in_launch(FILE *out, int indent, const struct emit_program *program,
                                uint32_t link, bool each, const char *count, const char *stream)
{
    const struct kernel *kernel = program->plan->chain[link];
    const bool mapped = emit_on_host(program);
    char name[EMIT_NAME], blocks[EMIT_NAME];
    char in[EMIT_TEXT], in2[EMIT_TEXT] = "", to[EMIT_TEXT], found[EMIT_TEXT] = "";
    emit_address(program, emit_kernel_input(program, link), each, in);
    emit_address(program, emit_kernel_output(program, link), each, to);
    if (kernel->inputs == 2)
        emit_address(program, mapped ? BUFFER_HOST_IN1 : BUFFER_DEVICE_IN1, each, in2);
    if (kernel->shape == KERNEL_REDUCE)
        snprintf(found, sizeof found, ", d_found%s%s%s", emit_of_device(program),
                 program->slots == 1 ? "" : " + ",
                 program->slots == 1 ? "" : emit_slot_name(program));
    if (kernel->shape == KERNEL_SCAN)
        emit_scan_arguments(program, found);
    emit_put(out, indent, stream == NULL ? "the mistake: no stream is named" : NULL,
             "%s<<<%s, THREADS%s%s>>>(%s%s%s, %s%s, %s%s);", emit_function_name(kernel, name),
             emit_blocks_name(program, link, blocks), stream == NULL ? "" : ", 0, ",
             stream == NULL ? "" : stream, in, in2[0] != '\0' ? ", " : "", in2, to, found,
             count, kernel->launch_per_repeat ? ", repeat == 0" : "");
    emit_put(out, indent, NULL, "CHECK(cudaGetLastError());");
}

static void put_launch(FILE *out, int indent, const struct emit_program *program,
                       uint32_t stage, const char *stream)
{
    enum { STEP = 4 };
    const uint32_t link = program->stages[stage].what.link;
    const struct kernel *kernel = program->plan->chain[link];
    const bool each = emit_in_batches(program) && !kernel_is_elementwise(kernel);
    const char *count = !program->even                      ? "count"
                        : emit_in_batches(program) && !each ? "tiles * TILE"
                                                            : "TILE";
    int loops = 0;
    if (emit_is_product(program)) {
        emit_put_product(out, indent, program, stage);
        return;
    }
    if (program->stages[stage].what.stream == program->legacy &&
        program->legacy != EMIT_NO_LEGACY)
        stream = NULL;
    if (each)
        emit_put(out, indent + STEP * loops++, "this kernel takes a tile at a time",
                 "for (size_t i = 0; i < tiles; i++) {");
    if (kernel->launch_per_repeat)
        emit_put(out, indent + STEP * loops++, NULL,
                 "for (int repeat = 0; repeat < INTENSITY; repeat++) {");
    if (kernel->file != NULL)
        put_own_launch(out, indent + STEP * loops, program, link, count, stream);
    else
        put_built_in_launch(out, indent + STEP * loops, program, link, each, count, stream);
    while (loops-- > 0)
        emit_put(out, indent + STEP * loops, NULL, "}");
}

/* Returns what a stage does, in words. */
static const char *stage_words(const struct emit_program *program, uint32_t stage,
                               char text[EMIT_NAME])
{
    if (program->stages[stage].what.kind == STAGE_IN)
        return "copy in";
    if (program->stages[stage].what.kind == STAGE_OUT)
        return "copy out";
    return emit_is_handed(program) ? emit_handing_words(program, stage, text) : "kernel";
}

/* Adds those who wait for an event, in their own batch or in a later one, to `text`. */
static void add_waiters(const struct emit_program *program, uint32_t event_stage,
                        enum relation relation, char text[EMIT_LINE])
{
    for (uint32_t stage = 0; stage < program->stage_count; stage++) {
        for (int i = 0; i < program->stages[stage].item_count; i++) {
            const struct loop_item *wait = &program->stages[stage].items[i];
            size_t length = strlen(text);
            char words[EMIT_NAME];
            if (wait->kind != OP_WAIT || wait->event_stage != event_stage ||
                wait->relation != relation)
                continue;
            const char *before = length > 0 ? ", and for the" : "for the";
            if (relation == RELATION_LAST)
                snprintf(text + length, EMIT_LINE - length, "%s kernels: 2-way", before);
            else if (relation == RELATION_ONCE)
                snprintf(text + length, EMIT_LINE - length, "%s kernels in the other streams",
                         before);
            else if (relation == RELATION_AHEAD)
                snprintf(text + length, EMIT_LINE - length, "%s next %s%s", before,
                         emit_index_name(program),
                         program->settings->carry == CARRY_DEVICE || length > 0
                             ? "'s kernel"
                             : ": the host has then added what it needs");
            else
                snprintf(text + length, EMIT_LINE - length, "%s%s %s%s", before,
                         relation == RELATION_BEFORE ? " next" : "",
                         stage_words(program, stage, words),
                         relation != RELATION_BEFORE                    ? ""
                         : program->stages[stage].what.kind == STAGE_IN ? " to this slot"
                                                                        : " in this slot");
        }
    }
}

/* Returns why a stage waits. */
static const char *why_wait(const struct emit_program *program, const struct loop_item *item,
                            uint32_t stage, char text[EMIT_LINE])
{
    const bool copy_out = program->stages[stage].what.kind == STAGE_OUT;
    if (emit_is_handed(program))
        return emit_why_handed(program, item, stage, text);
    if (item->relation == RELATION_LAST)
        return "2-way: kernels begin when all is there";
    if (item->relation == RELATION_ONCE)
        return "the kernel reads A; later ones in this stream come behind it";
    if (item->relation == RELATION_AHEAD)
        return program->settings->carry == CARRY_DEVICE
                   ? "the scan goes on from the sum that the tile before leaves"
                   : "by then the host has added the sum of the tile before";
    if (item->relation == RELATION_OWN)
        return copy_out ? "the copy takes what the kernel leaves"
                        : "the kernel reads what the copy brings";
    if (program->plan->alloc != ALLOC_ONCE)
        return "so that only so many tiles have memory at a time";
    return program->stages[item->event_stage].what.kind == STAGE_OUT
               ? "what was in this slot may still be on its way out"
               : "what was in this slot may still be read";
}

/* Writes a record or a wait; `when`: on which condition, "" for none. */
void emit_put_event(FILE *out, int indent, const struct emit_program *program,
                    const struct loop_item *item, uint32_t stage, const char *when)
{
    char event[EMIT_TEXT], stream[EMIT_TEXT], why[EMIT_LINE] = "";
    const char *in = emit_stream_name(program, stage, stream);
    emit_event_name(program, item->event_stage, item->relation, event);
    if (item->kind == OP_RECORD) {
        add_waiters(program, item->event_stage, RELATION_ONCE, why);
        add_waiters(program, item->event_stage, RELATION_LAST, why);
        add_waiters(program, item->event_stage, RELATION_OWN, why);
        add_waiters(program, item->event_stage, RELATION_AHEAD, why);
        add_waiters(program, item->event_stage, RELATION_BEFORE, why);
        if (emit_packs(program) && item->event_stage == program->stage_count - 1)
            snprintf(why + strlen(why), sizeof why - strlen(why), "%s the host, which %s",
                     why[0] != '\0' ? ", and for" : "for",
                     emit_unpacks(program) ? "unpacks it" : "packs into its slot again");
        if (why[0] == '\0' && mistake_rows[program->settings->mistake].races)
            snprintf(why, sizeof why, "the mistake: nothing waits for it");
    } else {
        char text[EMIT_LINE];
        snprintf(why, sizeof why, "%s", why_wait(program, item, stage, text));
    }
    const bool names_ahead = item->kind == OP_WAIT && item->relation == RELATION_AHEAD &&
                             emit_deals_devices(program);
    if (when[0] != '\0') {
        emit_put(out, indent, why, "if (%s)%s", when, names_ahead ? " {" : "");
        why[0] = '\0';
        indent += 4;
    }
    if (names_ahead)
        emit_put(out, indent, "on another device", "const size_t ahead = %s - 1;",
                 emit_index_name(program));
    if (item->kind == OP_RECORD)
        emit_put(out, indent, why, "CHECK(cudaEventRecord(%s, %s));", event, in);
    else
        emit_put(out, indent, why, "CHECK(cudaStreamWaitEvent(%s, %s, 0));", in, event);
    if (names_ahead)
        emit_put(out, indent - 4, NULL, "}");
}

/* --- whatever a stage does --- */

static void put_memsets(FILE *out, int indent, const struct emit_program *program,
                        const char *stream)
{
    char at[EMIT_TEXT];
    for (int input = 0; input < emit_inputs(program); input++)
        emit_put(out, indent, "the mistake: what is copied over needs no value",
                 "CHECK(cudaMemsetAsync(%s, 0, %s%s%s, %s));",
                 emit_address(program, (enum buffer)(BUFFER_DEVICE_IN0 + input), false, at),
                 program->even
                     ? emit_bytes_name(program, (enum buffer)(BUFFER_DEVICE_IN0 + input))
                     : "count * sizeof(",
                 program->even ? "" : emit_type(program->plan->chain[0]->in),
                 program->even ? "" : ")", stream);
}

/* Writes that memory for a tile's inputs is taken and given back. */
static void put_alloc(FILE *out, int indent, const struct emit_program *program)
{
    const bool pinned =
        strcmp(mistake_name(program->settings->mistake), "pinned-alloc-in-loop") == 0;
    emit_put(out, indent, "the mistake: memory is taken and given back for each tile",
             "void *memory;");
    emit_put(out, indent, NULL, "CHECK(%s(&memory, %s%s%s%s));",
             pinned ? "cudaMallocHost" : "cudaMalloc",
             emit_is_product(program)    ? "B_BYTES + "
             : emit_inputs(program) == 2 ? "2 * "
                                         : "",
             program->even ? "BYTES" : "count * sizeof(",
             program->even ? "" : emit_type(program->plan->chain[0]->in),
             program->even ? "" : ")");
    emit_put(out, indent, NULL, "CHECK(%s(memory));", pinned ? "cudaFreeHost" : "cudaFree");
}

/* Writes that the batch which had the slot is taken back; `when`: on which condition. */
static void put_take_back(FILE *out, int indent, const struct emit_program *program,
                          const char *when)
{
    char slots[EMIT_NAME];
    emit_put(out, indent, "what is in this slot has to leave it first",
             "if (%s) take_back(%s - %s);", when, emit_index_name(program),
             emit_all_slots_name(program, slots));
}

void emit_put_item(FILE *out, int indent, const struct emit_program *program, uint32_t stage,
                   const struct loop_item *item)
{
    char text[EMIT_LINE], stream[EMIT_TEXT];
    const char *in = emit_stream_name(program, stage, stream);
    emit_condition(program, item, text);
    if (item->carries) {
        emit_put_carry(out, indent, program, stage, item, text);
        return;
    }
    if (emit_hands_on(program, stage) && item->kind != OP_RECORD && item->kind != OP_WAIT) {
        emit_put_handing(out, indent, program, stage, in);
        return;
    }
    switch (item->kind) {
    case OP_H2D:
        if (emit_is_managed(program))
            emit_put_prefetches(out, indent, program, true, in);
        for (int input = 0; !emit_is_managed(program) && input < emit_inputs(program); input++)
            put_copy(out, indent, program, true, input, in);
        break;
    case OP_KERNEL:
        put_launch(out, indent, program, stage, in);
        break;
    case OP_D2H:
        if (emit_is_managed(program))
            emit_put_prefetches(out, indent, program, false, in);
        else
            put_copy(out, indent, program, false, 0, in);
        break;
    case OP_SYNC_EVENT:
        put_take_back(out, indent, program, text);
        break;
    case OP_PACK:
        emit_put_pack(out, indent, program);
        break;
    case OP_SYNC:
        emit_put(out, indent, "the mistake: the host waits for each tile",
                 "CHECK(cudaStreamSynchronize(%s));", in);
        break;
    case OP_MEMSET:
        if (item->buffer == BUFFER_DEVICE_OTHER)
            emit_put_other(out, indent);
        else
            put_memsets(out, indent, program, in);
        break;
    case OP_ALLOC:
        if (item->action != ALLOC_PAIR)
            emit_put_action(out, indent, program, item, in);
        else
            put_alloc(out, indent, program);
        break;
    case OP_CALLBACK:
        emit_put(out, indent, NULL, "CHECK(cudaLaunchHostFunc(%s, %s_is_back, NULL));", in,
                 emit_index_name(program));
        break;
    default:
        emit_put_event(out, indent, program, item, stage, text);
        break;
    }
}

/* --- events --- */

/* Returns true if a stage before has an event of that name: one on another device. */
static bool is_named_before(const struct emit_program *program, uint32_t stage,
                            const char *name)
{
    char other[EMIT_TEXT];
    bool found = false;
    for (uint32_t before = 0; before < stage && emit_is_handed(program); before++) {
        for (int i = 0; i < program->stages[before].item_count; i++) {
            const struct loop_item *item = &program->stages[before].items[i];
            emit_event_name(program, before, item->relation, other);
            found |= item->kind == OP_RECORD && strcspn(other, "[") == strlen(name) &&
                     strncmp(other, name, strlen(name)) == 0;
        }
    }
    return found;
}

/* Calls for each event that is recorded. */
static void each_event(FILE *out, const struct emit_program *program, bool declares)
{
    const char *slots = program->slots == 1 ? "1" : emit_slot_count(program);
    for (uint32_t stage = 0; stage <= program->stage_count; stage++) {
        for (int i = 0; i < program->stages[stage].item_count; i++) {
            const struct loop_item *item = &program->stages[stage].items[i];
            const bool single =
                item->relation == RELATION_LAST || item->relation == RELATION_ONCE;
            char name[EMIT_TEXT];
            if (item->kind != OP_RECORD)
                continue;
            emit_event_name(program, stage, item->relation, name);
            name[strcspn(name, "[")] = '\0';
            if (is_named_before(program, stage, name))
                continue;
            if (declares && single)
                fprintf(out, "static cudaEvent_t %s%s;\n", name, emit_each_device(program));
            else if (declares)
                fprintf(out, "static cudaEvent_t %s%s[%s];\n", name, emit_each_device(program),
                        slots);
            else if (single)
                emit_put(out, 4, NULL,
                         "CHECK(cudaEventCreateWithFlags(&%s%s, cudaEventDisableTiming));",
                         name, emit_of_device(program));
            else {
                emit_put(out, 4, NULL, "for (cudaEvent_t &event : %s%s)", name,
                         emit_of_device(program));
                emit_put(out, 8, NULL,
                         "CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));");
            }
        }
    }
}

void emit_event_declarations(FILE *out, const struct emit_program *program)
{
    each_event(out, program, true);
}

void emit_event_creation(FILE *out, const struct emit_program *program)
{
    each_event(out, program, false);
}

void emit_put_other(FILE *out, int indent)
{
    emit_put(out, indent, "nothing issued before it overlaps what is issued after it",
             "call_other_code();");
}
