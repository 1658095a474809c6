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
    const bool waits = item->kind == OP_WAIT, event = waits || item->kind == OP_RECORD;
    char text[EMIT_LINE];
    const struct emit_fact facts[] = {
        {"always", emit_when(program, text)[0] == '\0'},
        {"says_why", event && emit_why(program, text)[0] != '\0'},
        {"ahead_elsewhere",
         waits && item->relation == RELATION_AHEAD && emit_deals_devices(program)},
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
                 program->plan->batch > 1 ? "batch * BATCH + i" : "tile", on, plus, slot);
    return text;
}

void emit_put_launch(FILE *out, int indent, const struct emit_program *program)
{
    const struct plan *plan = program->plan;
    const struct stage *what = &program->stages[program->stage].what;
    const struct kernel *kernel = plan->chain[what->link];
    const bool each = program->plan->batch > 1 && !kernel_is_elementwise(kernel);
    const bool streamless =
        program->legacy != EMIT_NO_LEGACY && what->stream == program->legacy;
    const char *count = !program->even                      ? "count"
                        : program->plan->batch > 1 && !each ? "tiles * TILE"
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

/* Adds a stage that waits for an event, in its own batch or in a later one, to `text`. */
static void add_waiter(const struct emit_program *program, uint32_t stage,
                       enum relation relation, char text[EMIT_LINE])
{
    const bool comes_in = program->stages[stage].what.kind == STAGE_IN;
    const bool is_first = text[0] == '\0';
    char words[EMIT_NAME];
    text_add(text, EMIT_LINE, ", and ", "for the ");
    if (relation == RELATION_LAST)
        text_add(text, EMIT_LINE, "", "kernels: 2-way");
    else if (relation == RELATION_ONCE)
        text_add(text, EMIT_LINE, "", "kernels in the other streams");
    else if (relation == RELATION_AHEAD)
        text_add(text, EMIT_LINE, "", "next %s%s", emit_index_name(program),
                 program->settings->carry == CARRY_DEVICE || !is_first
                     ? "'s kernel"
                     : ": the host has then added what it needs");
    else if (relation == RELATION_OWN)
        text_add(text, EMIT_LINE, "", "%s", stage_words(program, stage, words));
    else
        text_add(text, EMIT_LINE, "", "next %s %s this slot",
                 stage_words(program, stage, words), comes_in ? "to" : "in");
}

/* Returns who waits for the event that the item records. */
static const char *why_record(const struct emit_program *program, char text[EMIT_LINE])
{
    static const enum relation order[] = {RELATION_ONCE, RELATION_LAST, RELATION_OWN,
                                          RELATION_AHEAD, RELATION_BEFORE};
    const uint32_t recorded = program->item->event_stage;
    text[0] = '\0';
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        for (uint32_t stage = 0; stage < program->stage_count; stage++) {
            const struct loop_stage *at = &program->stages[stage];
            for (int i = 0; i < at->item_count; i++)
                if (at->items[i].kind == OP_WAIT && at->items[i].event_stage == recorded &&
                    at->items[i].relation == order[k])
                    add_waiter(program, stage, order[k], text);
        }
    }
    if (program->plan->packs && recorded == program->stage_count - 1)
        text_add(text, EMIT_LINE, ", and ", "for the host, which %s",
                 emit_unpacks(program) ? "unpacks it" : "packs into its slot again");
    if (text[0] == '\0' && mistake_rows[program->settings->mistake].races)
        return "the mistake: nothing waits for it";
    return text;
}

const char *emit_why(const struct emit_program *program, char text[EMIT_LINE])
{
    const struct loop_item *item = program->item;
    const uint32_t stage = program->stage;
    const bool copy_out = program->stages[stage].what.kind == STAGE_OUT;
    if (item->kind == OP_RECORD)
        return why_record(program, text);
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

/* --- events --- */

/* Returns true if a stage before has an event of that name: one on another device. */
static bool is_named_before(const struct emit_program *program, uint32_t stage,
                            const char *name)
{
    char other[EMIT_TEXT];
    bool found = false;
    for (uint32_t before = 0; before < stage && emit_is_handed(program); before++) {
        EACH (const struct loop_item, item, program->stages[before].items,
              program->stages[before].item_count) {
            emit_event_name(program, before, item->relation, other);
            found |= item->kind == OP_RECORD && strcspn(other, "[") == strlen(name) &&
                     strncmp(other, name, strlen(name)) == 0;
        }
    }
    return found;
}

/* Fills a section for each event that is recorded. */
static void each_event(FILE *out, int indent, const struct emit_program *program,
                       const char *section)
{
    for (uint32_t stage = 0; stage <= program->stage_count; stage++) {
        EACH (const struct loop_item, item, program->stages[stage].items,
              program->stages[stage].item_count) {
            char name[EMIT_TEXT], words[EMIT_LINE];
            if (item->kind != OP_RECORD)
                continue;
            emit_event_name(program, stage, item->relation, name);
            name[strcspn(name, "[")] = '\0';
            if (is_named_before(program, stage, name))
                continue;
            snprintf(words, sizeof words, "NAME=%s; SINGLE=%d; COUNT=%s", name,
                     item->relation == RELATION_LAST || item->relation == RELATION_ONCE,
                     program->slots == 1 ? "1" : emit_slot_count(program));
            emit_fill(out, indent, program, section, words, NULL);
        }
    }
}

void emit_event_declarations(FILE *out, const struct emit_program *program)
{
    each_event(out, 0, program, "declared_event");
}

void emit_event_creation(FILE *out, const struct emit_program *program)
{
    each_event(out, 4, program, "created_event");
}
