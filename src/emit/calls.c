/* calls.c - a plan's calls as text, and why each wait and event is there. */
#include "emit/parts.h"
#include "plan/mistake.h"

#include <inttypes.h>
#include <string.h>

/* --- items --- */

int emit_item_fact(const struct emit_program *program, const char *name)
{
    const struct loop_item *item = program->item;
    if (item == NULL)
        return -1;
    const bool event = item->kind == OP_RECORD || item->kind == OP_WAIT;
    const struct emit_fact facts[] = {
        {"carries", item->carries},
        {"hands_on", emit_hands_on(program, program->stage) && !event},
        {"waits_on_host", item->kind == OP_SYNC_EVENT},
        {"other_code", item->buffer == BUFFER_DEVICE_OTHER},
        {"of_slot", item->action != ALLOC_PAIR},
        {"gives_back", item->action == ALLOC_GIVE},
        {"first_array", item->buffer == BUFFER_DEVICE_IN0},
    };
    if (strncmp(name, "does ", strlen("does ")) == 0)
        return strcmp(name + strlen("does "), op_kind_name(item->kind)) == 0;
    return emit_find_fact(facts, sizeof facts / sizeof *facts, name);
}

const char *emit_item_stream(const struct emit_program *program, char text[EMIT_LINE])
{
    return emit_stream_name(program, program->stage, text);
}

const char *emit_back_event(const struct emit_program *program, char text[EMIT_LINE])
{
    return emit_event_name(program, program->stage_count - 1, RELATION_OWN, text);
}

/* Returns what a reduction or a scan works on beside its elements, as arguments of a launch. */
static const char *more_arguments(const struct emit_program *program,
                                  const struct kernel *kernel, char text[EMIT_TEXT])
{
    const char *on = emit_of_device(program), *plus = program->slots == 1 ? "" : " + ";
    const char *slot = program->slots == 1 ? "" : emit_slot_name(program);
    text[0] = '\0';
    if (kernel->shape == KERNEL_REDUCE)
        snprintf(text, EMIT_TEXT, ", d_found%s%s%s", on, plus, slot);
    if (kernel->shape == KERNEL_SCAN)
        snprintf(text, EMIT_TEXT, ", d_sums%s + %s, d_scratch%s%s%s", on,
                 emit_in_batches(program) ? "batch * BATCH + i" : "tile", on, plus, slot);
    return text;
}

void emit_put_launch(FILE *out, int indent, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    const struct stage *what = &program->stages[program->stage].what;
    const struct kernel *kernel = plan->chain[what->link];
    const bool each = emit_in_batches(program) && !kernel_is_elementwise(kernel);
    const bool streamless =
        program->legacy != EMIT_NO_LEGACY && what->stream == program->legacy;
    const char *count = !program->even                      ? "count"
                        : emit_in_batches(program) && !each ? "tiles * TILE"
                                                            : "TILE";
    char name[EMIT_NAME], library[EMIT_NAME], blocks[EMIT_NAME], number[EMIT_NAME] = "";
    char in[EMIT_TEXT], in2[EMIT_TEXT] = "NULL", to[EMIT_TEXT], more[EMIT_TEXT];
    char words[2 * EMIT_LINE];
    emit_address(program, emit_kernel_input(program, what->link), each, in);
    emit_address(program, emit_kernel_output(program, what->link), each, to);
    if (kernel->inputs == 2)
        emit_address(program, emit_on_host(program) ? BUFFER_HOST_IN1 : BUFFER_DEVICE_IN1, each,
                     in2);
    if (plan->chain_length > 1)
        snprintf(number, sizeof number, "_%" PRIu32, what->link + 1);
    snprintf(words, sizeof words,
             "EACH=%d; REPEATS=%d; OWN=%d; TWO=%d; STREAMLESS=%d; KERNEL=%s; LIBRARY=%s; "
             "GRID=%s; IN=%s; SECOND=%s; TO=%s; MORE=%s; COUNT=%s; WORK=work%s",
             each, kernel->launch_per_repeat, kernel->file != NULL, kernel->inputs == 2,
             streamless, emit_function_name(kernel, name),
             emit_own_name(program, (int)what->link, library),
             emit_blocks_name(program, what->link, blocks), in, in2, to,
             more_arguments(program, kernel, more), count, number);
    emit_fill(out, indent, program, "launch_each", words, NULL);
}

/* --- what scans carry --- */

/* Returns true if an item of a stage stands beside `item`, carries, too, and is for the same
 * batches: one condition is for both. */
static bool joins(const struct loop_stage *stage, const struct loop_item *item, int step)
{
    const ptrdiff_t other = item - stage->items + step;
    return other >= 0 && other < stage->item_count && stage->items[other].carries &&
           stage->items[other].from == item->from && stage->items[other].to == item->to;
}

void emit_put_carry(FILE *out, int indent, const struct emit_program *program)
{
    char words[EMIT_NAME];
    const struct loop_stage *all = &program->stages[program->stage];
    snprintf(words, sizeof words, "FIRST=%d; LAST=%d", !joins(all, program->item, -1),
             !joins(all, program->item, 1));
    emit_fill(out, indent, program, "carry", words, NULL);
}

/* --- why --- */

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

void emit_put_event(FILE *out, int indent, const struct emit_program *program)
{
    const struct loop_item *item = program->item;
    char event[EMIT_TEXT], stream[EMIT_TEXT], why[EMIT_LINE] = "", when[EMIT_LINE];
    const char *in = emit_stream_name(program, program->stage, stream);
    emit_when(program, when);
    emit_event_name(program, item->event_stage, item->relation, event);
    if (item->kind == OP_RECORD) {
        add_waiters(program, item->event_stage, RELATION_ONCE, why);
        add_waiters(program, item->event_stage, RELATION_LAST, why);
        add_waiters(program, item->event_stage, RELATION_OWN, why);
        add_waiters(program, item->event_stage, RELATION_AHEAD, why);
        add_waiters(program, item->event_stage, RELATION_BEFORE, why);
        if (program->plan->packs && item->event_stage == program->stage_count - 1)
            snprintf(why + strlen(why), sizeof why - strlen(why), "%s the host, which %s",
                     why[0] != '\0' ? ", and for" : "for",
                     emit_unpacks(program) ? "unpacks it" : "packs into its slot again");
        if (why[0] == '\0' && mistake_rows[program->settings->mistake].races)
            snprintf(why, sizeof why, "the mistake: nothing waits for it");
    } else {
        char text[EMIT_LINE];
        snprintf(why, sizeof why, "%s", why_wait(program, item, program->stage, text));
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
