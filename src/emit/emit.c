/* emit.c - a plan as a program: what is written, in which order. */
#include "emit/parts.h"

#include <stdlib.h>

/* Writes all but the head and the constants, which depend on what this uses. */
static bool put_body(FILE *out, const struct emit_program *program)
{
    emit_fill(out, 0, program, "functions", NULL, NULL);
    const bool whole = emit_issue(out, program);
    emit_fill(out, 0, program, "made", NULL, NULL);
    emit_fill(out, 0, program, "main", NULL, NULL);
    return whole && !ferror(out);
}

/* Tells the streams that are made from the legacy default stream. */
static void count_streams(struct emit_program *program)
{
    const struct plan *plan = program->plan;
    program->legacy = EMIT_NO_LEGACY;
    program->streams = plan->streams / plan_devices(plan);
    for (uint32_t i = 0; i < plan->streams; i++) {
        if (plan_stream_kind(plan, i) == STREAM_LEGACY)
            program->legacy = i;
    }
    if (program->legacy != EMIT_NO_LEGACY)
        program->streams--;
}

/* Finds the program of a plan. STATUS_USAGE where it has none. */
static enum status find_program(struct emit_program *program, const struct plan *plan,
                                const struct settings *settings, struct error *error)
{
    *program = (struct emit_program){.facts = &emit_facts,
                                     .plan = plan,
                                     .settings = settings,
                                     .batches = plan_batches(plan),
                                     .devices = plan->by_link ? 1 : plan_devices(plan),
                                     .slots = plan->slots / plan_devices(plan),
                                     .even = plan->elements % plan->tiles == 0};
    program->rows =
        program->even && (emit_is_apart(program) || emit_is_product(program) || plan->has_halo);
    program->arrays = emit_arrays_of(program);
    program->share = (program->batches + program->devices - 1) / program->devices;
    const enum status status = emit_check_plan(program, error);
    if (status != STATUS_OK)
        return status;
    if (plan->loops == NULL || plan->loops->broken)
        return error_set(error, STATUS_USAGE,
                         "--emit: this plan is not a loop that can be emitted");
    program->loops = plan->loops;
    program->stages = plan->loops->stages;
    program->stage_count = plan->loops->stage_count;
    count_streams(program);
    return emit_check_loops(program, error);
}

enum status check_program(const struct plan *plan, const struct settings *settings,
                          struct error *error)
{
    struct emit_program program;
    return find_program(&program, plan, settings, error);
}

enum status write_program(FILE *out, const struct plan *plan, const struct settings *settings,
                          struct error *error)
{
    struct emit_program program;
    const enum status status = find_program(&program, plan, settings, error);
    if (status != STATUS_OK)
        return status;
    char *body = NULL;
    size_t length;
    FILE *memory = open_memstream(&body, &length);
    bool whole = memory != NULL && put_body(memory, &program);
    if (memory != NULL)
        whole &= fclose(memory) == 0;
    if (whole) {
        whole = emit_head(out, &program, body);
        emit_fill(out, 0, &program, "constants", NULL, body);
        fputs(body, out);
    }
    free(body);
    return whole ? STATUS_OK : error_no_memory(error, "for the program");
}
