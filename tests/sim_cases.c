/* sim_cases.c - see sim_cases.h. */
#include "sim_cases.h"

static struct timeline run_hooked(const struct machine *machine, const struct plan *plan,
                                  const struct simulator_hooks *hooks, int64_t *issued_ns)
{
    struct timeline timeline = {0};
    struct error error = {0};
    enum status status = simulator_run(machine, 0, plan, hooks, &timeline, issued_ns, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    return timeline;
}

struct timeline sim_run(const struct machine *machine, const struct plan *plan)
{
    int64_t issued_ns;
    return run_hooked(machine, plan, NULL, &issued_ns);
}

struct timeline sim_run_pageable(const struct machine *machine, const struct plan *plan,
                                 int64_t *issued_ns)
{
    struct plan pageable = *plan;
    pageable.memory = MEMORY_PAGEABLE;
    return run_hooked(machine, &pageable, NULL, issued_ns);
}

int64_t sim_span_ns(const struct machine *machine, const struct plan *plan)
{
    struct timeline timeline = sim_run(machine, plan);
    int64_t span = timeline_time_ns(&timeline);
    timeline_free(&timeline);
    return span;
}

void sim_assert_span(struct timeline *timeline, uint32_t op, int64_t start, int64_t end)
{
    const struct span *span = timeline_span(timeline, op);
    ck_assert_ptr_nonnull(span);
    ck_assert_msg(span->start_ns == start && span->end_ns == end,
                  "op %u ran %ld to %ld, not %ld to %ld", op, (long)span->start_ns,
                  (long)span->end_ns, (long)start, (long)end);
}

void sim_assert_start(const struct machine *machine, const struct plan *plan, uint32_t op,
                      int64_t start)
{
    struct timeline timeline = sim_run(machine, plan);
    const struct span *span = timeline_span(&timeline, op);
    ck_assert_ptr_nonnull(span);
    ck_assert_msg(span->start_ns == start, "op %u started at %ld, not %ld", op,
                  (long)span->start_ns, (long)start);
    timeline_free(&timeline);
}

uint32_t sim_callback(struct plan *plan, uint32_t stream, uint32_t tile)
{
    struct op op = {.kind = OP_CALLBACK, .stream = stream, .tile = (int32_t)tile};
    ck_assert_int_eq(plan_append(plan, &op, NULL), STATUS_OK);
    return plan->op_count - 1;
}
