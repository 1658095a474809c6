/* body.c - a plan's loops as text. */
#include "emit/parts.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- stages --- */

/* Returns a loop's first item if it is for its first batch alone: it stands before the loop.
 * Of several devices it is that of one, which only the loop tells. */
static const struct loop_item *item_before(const struct emit_program *program,
                                           const struct loop *loop, uint32_t stage)
{
    const struct loop_item *item = &program->stages[stage].items[0];
    const bool fixed = program->stages[stage].what.stream != STREAM_DEALT;
    return !emit_deals_devices(program) && loop->first == stage && fixed &&
                   item->relation == RELATION_LAST && item->from == 0 && item->to == 1 &&
                   program->batches > 1
               ? item
               : NULL;
}

/* Returns the last item of a loop over one stage if it is for the last batch alone: it stands
 * behind the loop. */
static const struct loop_item *item_behind(const struct emit_program *program,
                                           const struct loop *loop, uint32_t stage)
{
    const struct loop_stage *only = &program->stages[stage];
    const struct loop_item *item = &only->items[only->item_count - 1];
    return !emit_deals_devices(program) && loop->first == stage && loop->end == stage + 1 &&
                   item->relation == RELATION_LAST && item->from == program->batches - 1
               ? item
               : NULL;
}

/* Writes what a stage does with a batch. */
static void put_stage(FILE *out, int indent, const struct emit_program *program,
                      const struct loop *loop, uint32_t stage)
{
    struct emit_program at = emit_at(program, stage);
    for (int i = 0; i < program->stages[stage].item_count; i++) {
        at.item = &program->stages[stage].items[i];
        if (at.item != item_before(program, loop, stage) &&
            at.item != item_behind(program, loop, stage))
            emit_fill(out, indent, &at, "item", NULL, NULL);
    }
}

/* Writes what stages [first, end) do with a batch, and before it the variables for that. */
static bool put_stages(FILE *out, int indent, const struct emit_program *program,
                       const struct loop *loop, uint32_t first, uint32_t end)
{
    char *code = NULL;
    size_t length;
    FILE *memory = open_memstream(&code, &length);
    if (memory == NULL)
        return false;
    uint32_t current = 0;
    for (uint32_t stage = first; stage < end; stage++) {
        emit_enter_part(memory, indent, program, stage, end, &current);
        put_stage(memory, indent, program, loop, stage);
    }
    const bool whole = !ferror(memory);
    if (fclose(memory) == 0 && whole) {
        emit_fill(out, indent, program, "batch_variables", NULL, code);
        if (emit_deals_devices(program))
            emit_enter_device(out, indent, program, "kernels go to the current device");
        fputs(code, out);
    }
    free(code);
    return whole;
}

/* --- loops --- */

static const char *stage_function(const struct emit_program *program, uint32_t stage,
                                  char text[EMIT_TEXT])
{
    char kernel[EMIT_NAME];
    const struct stage *what = &program->stages[stage].what;
    const uint32_t link = what->link;
    if (what->kind == STAGE_IN)
        return "copy_in";
    if (what->kind == STAGE_OUT)
        return "copy_out";
    if (what->kind != STAGE_KERNEL)
        return emit_handing_function(program, stage, text);
    emit_function_name(program->plan->chain[link], kernel);
    if (program->plan->chain_length > 1)
        snprintf(text, EMIT_TEXT, "launch_%s_%" PRIu32, kernel, link + 1);
    else
        snprintf(text, EMIT_TEXT, "launch_%s", kernel);
    return text;
}

/* Returns true if the stages are functions: where several loops call them. */
static bool has_functions(const struct emit_program *program)
{
    return program->loops->loop_count > 1 || program->loops->loops[0].wave > 1;
}

static bool put_functions(FILE *out, const struct emit_program *program)
{
    char name[EMIT_TEXT];
    bool whole = true;
    EACH (const struct loop, loop, program->loops->loops, program->loops->loop_count) {
        for (uint32_t stage = loop->first; stage < loop->end; stage++) {
            if (program->stages[stage].item_count == 0)
                continue;
            fprintf(out, "static void %s(size_t %s) {\n", stage_function(program, stage, name),
                    emit_index_name(program));
            whole &= put_stages(out, 4, program, loop, stage, stage + 1);
            fprintf(out, "}\n\n");
        }
    }
    return whole;
}

/* Writes a loop over the batches [first, end) of a wave, or over all. */
static void put_stage_loop(FILE *out, int indent, const struct emit_program *program,
                           uint32_t stage, const char *from, const char *to)
{
    char name[EMIT_TEXT];
    const char *index = emit_index_name(program);
    if (program->stages[stage].item_count == 0)
        return;
    emit_put(out, indent, NULL, "for (size_t %s = %s; %s < %s; %s++)", index, from, index, to,
             index);
    emit_put(out, indent + 4, NULL, "%s(%s);", stage_function(program, stage, name), index);
}

static void put_waves(FILE *out, const struct emit_program *program, const struct loop *loop,
                      const char *all)
{
    const char *wave = emit_wave_name(program);
    emit_put(out, 4, "breadth-first: a stage of all in the wave, then the next stage",
             "for (size_t first = 0; first < %s; first += %s) {", all, wave);
    emit_put(out, 8, NULL, "const size_t end = std::min(first + %s, %s);", wave, all);
    for (uint32_t stage = loop->first; stage < loop->end; stage++)
        put_stage_loop(out, 8, program, stage, "first", "end");
    emit_put(out, 4, NULL, "}");
}

static bool put_loop(FILE *out, const struct emit_program *program, const struct loop *loop)
{
    char name[EMIT_TEXT];
    bool whole = true;
    const char *index = emit_index_name(program), *all = emit_batches_name(program);
    if (loop->wave > 1) {
        put_waves(out, program, loop, all);
        return true;
    }
    if (has_functions(program) && loop->end == loop->first + 1) {
        put_stage_loop(out, 4, program, loop->first, "0", all);
        return true;
    }
    emit_put(out, 4, NULL, "for (size_t %s = 0; %s < %s; %s++) {", index, index, all, index);
    if (!has_functions(program))
        whole = put_stages(out, 8, program, loop, loop->first, loop->end);
    for (uint32_t stage = loop->first; stage < loop->end; stage++) {
        if (has_functions(program) && program->stages[stage].item_count > 0)
            emit_put(out, 8, NULL, "%s(%s);", stage_function(program, stage, name), index);
    }
    emit_put(out, 4, NULL, "}");
    return whole;
}

/* Writes those items of a loop's stages that `find` finds: they stand beside it. */
static void put_beside(FILE *out, const struct emit_program *program, const struct loop *loop,
                       const struct loop_item *(*find)(const struct emit_program *,
                                                       const struct loop *, uint32_t))
{
    struct emit_program at = *program;
    at.beside_loop = true;
    for (at.stage = loop->first; at.stage < loop->end; at.stage++) {
        at.item =
            program->stages[at.stage].item_count > 0 ? find(program, loop, at.stage) : NULL;
        if (at.item != NULL)
            emit_fill(out, 4, &at, "event", NULL, NULL);
    }
}

/* Writes what comes once on each device, before the loops. */
static void put_prologue(FILE *out, const struct emit_program *program)
{
    const struct loop_stage *stage = &program->stages[program->stage_count];
    const bool loops = emit_deals_devices(program) && stage->item_count > 0;
    struct emit_program at = *program;
    at.stage = program->stage_count;
    if (loops)
        emit_put(out, 4, NULL, "for (size_t device = 0; device < DEVICES; device++) {");
    for (int i = 0; i < stage->item_count; i++) {
        at.item = &stage->items[i];
        emit_fill(out, loops ? 8 : 4, &at, "before_loops", NULL, NULL);
    }
    if (loops)
        emit_put(out, 4, NULL, "}");
}

/* Writes the function that takes a batch back, which the copies in and the end of all call. Its
 * parameter has a name where anything in it asks which batch that is. */
static bool put_take_back(FILE *out, const struct emit_program *program)
{
    char *code = NULL, *variables = NULL;
    size_t length, variables_length;
    const char *index = emit_index_name(program);
    if (!program->plan->packs)
        return true;
    FILE *memory = open_memstream(&code, &length);
    if (memory == NULL)
        return false;
    emit_fill(memory, 4, program, "taken_back", NULL, NULL);
    bool whole = fclose(memory) == 0;
    FILE *above = whole ? open_memstream(&variables, &variables_length) : NULL;
    if (above != NULL)
        emit_fill(above, 4, program, "batch_variables", NULL, code);
    whole = above != NULL && fclose(above) == 0;
    const bool named = whole && (emit_has_word(code, index) || emit_has_word(variables, index));
    if (whole)
        fprintf(out,
                "// Waits for a %s%s: its slot is free then.\n"
                "static void take_back(size_t%s%s) {\n%s%s}\n\n",
                index, emit_unpacks(program) ? ", and unpacks it" : "", named ? " " : "",
                named ? index : "", variables, code);
    free(code);
    free(variables);
    return whole;
}

bool emit_issue(FILE *out, const struct emit_program *program)
{
    if (program->plan->has_halo) {
        emit_fill(out, 0, program, "stencil_issue", NULL, NULL);
        fputc('\n', out);
        return true;
    }
    bool whole = put_take_back(out, program);
    whole &= !has_functions(program) || put_functions(out, program);
    fprintf(out, "static void issue_tiles() {\n");
    put_prologue(out, program);
    EACH (const struct loop, loop, program->loops->loops, program->loops->loop_count) {
        put_beside(out, program, loop, item_before);
        whole &= put_loop(out, program, loop);
        put_beside(out, program, loop, item_behind);
    }
    emit_fill(out, 4, program, "rest", NULL, NULL);
    fprintf(out, "}\n\n");
    return whole;
}
