/* gather.c - see parts.h. */
#include "mpi/parts.h"

#include "plan/portion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An op's times as ranks send them. */
enum { ISSUE, START, END, OP_TIMES };

/* --- results --- */

/* Sends, or in rank 0 receives, all that an op copied back. */
static void move_result(const struct plan *plan, const struct arrays *arrays,
                        const struct op *op, uint32_t rank)
{
    struct range rest = op->copy.host, piece;
    while (host_layout_next(plan, &rest, &piece)) {
        if (world.number == 0)
            world_receive(arrays_at(arrays, &piece), piece.bytes, rank);
        else
            world_send(arrays_at(arrays, &piece), piece.bytes, 0);
    }
}

void gather_output(const struct plan *plan, const struct arrays *arrays)
{
    EACH (const struct op, op, plan->ops, plan->op_count) {
        if (op->kind != OP_D2H || op->copy.host.buffer != BUFFER_HOST_OUT)
            continue;
        const uint32_t rank = plan_stream_home(plan, op->stream).device;
        if (rank > 0 && (world.number == 0 || world.number == rank))
            move_result(plan, arrays, op, rank);
    }
}

/* --- times --- */

/* Returns when a rank began, by rank 0's clock. */
static int64_t began_ns(const struct rank_run *runs, const struct ranks_seen *seen,
                        uint32_t rank)
{
    return runs[rank].times.begin_ns - seen->places[rank].offset_ns;
}

static int64_t first_began_ns(const struct rank_run *runs, const struct ranks_seen *seen)
{
    int64_t first_ns = INT64_MAX;
    for (uint32_t rank = 0; rank < world.count; rank++)
        first_ns = earlier(first_ns, began_ns(runs, seen, rank));
    return first_ns;
}

void gather_times(const struct rank_run *runs, const struct ranks_seen *seen,
                  struct run_times *times)
{
    *times = (struct run_times){.begin_ns = first_began_ns(runs, seen)};
    for (uint32_t rank = 0; rank < world.count; rank++) {
        const int64_t late_ns = began_ns(runs, seen, rank) - times->begin_ns;
        times->time_ns = later(times->time_ns, late_ns + runs[rank].times.time_ns);
        times->issue_ns = later(times->issue_ns, late_ns + runs[rank].times.issue_ns);
    }
}

/* --- spans --- */

/* Writes the times of a portion's ops: its timeline has none of records but their issue. */
static void write_times(struct timeline *part, uint32_t ops, int64_t *times)
{
    for (uint32_t op = 0; op < ops; op++, times += OP_TIMES) {
        const struct span *span = timeline_span(part, op);
        times[ISSUE] = part->issue_ns[op];
        times[START] = span != NULL ? span->start_ns : 0;
        times[END] = span != NULL ? span->end_ns : 0;
    }
}

/* Sets the times of a rank's ops, which began `late_ns` after the first rank's. An op's call
 * was over when the rank's next one began. */
static void read_times(const struct plan *plan, uint32_t rank, const int64_t *times,
                       int64_t late_ns, struct timeline *timeline)
{
    struct op_call *before = NULL;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (!plan_portion_has(plan, &plan->ops[i], rank))
            continue;
        struct span *span = timeline_span(timeline, i);
        struct op_call *call = &timeline->op_calls[i];
        const int64_t issue_ns = late_ns + times[ISSUE];
        timeline->issue_ns[i] = issue_ns;
        if (before != NULL)
            before->issued_ns = before->returned_ns = issue_ns;
        *call = (struct op_call){issue_ns, issue_ns, rank};
        before = call;
        if (span != NULL) {
            span->issue_ns = issue_ns;
            span->start_ns = late_ns + times[START];
            span->end_ns = late_ns + times[END];
        }
        times += OP_TIMES;
    }
}

static uint32_t portion_ops(const struct plan *plan, uint32_t rank)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->op_count; i++)
        count += plan_portion_has(plan, &plan->ops[i], rank);
    return count;
}

/* Adds the name of a rank's device unless it is that of the one before. */
static void add_device(char device[TIMELINE_TEXT], const struct rank_run *runs, uint32_t rank)
{
    const size_t length = strlen(device);
    if (rank == 0 || strcmp(runs[rank].device, runs[rank - 1].device) != 0)
        snprintf(device + length, TIMELINE_TEXT - length, "%s%s", rank > 0 ? " + " : "",
                 runs[rank].device);
}

/* Says where the times came from: the least sure of all ranks' ways. */
static void sign(const struct rank_run *runs, struct timeline *timeline)
{
    timeline->timing = TIMING_CUPTI;
    timeline->numa.buffers = runs[0].buffers_node;
    for (uint32_t rank = 0; rank < world.count; rank++) {
        const struct rank_run *run = &runs[rank];
        add_device(timeline->device, runs, rank);
        timeline->resolution_ns = later(timeline->resolution_ns, run->resolution_ns);
        timeline->numa.devices[rank] = run->device_node;
        if (run->buffers_node.node != runs[0].buffers_node.node || !run->buffers_node.known)
            timeline->numa.buffers.known = false;
        if (timeline->driver[0] == '\0' ||
            (run->timing == TIMING_EVENTS && timeline->timing != TIMING_EVENTS))
            snprintf(timeline->driver, TIMELINE_TEXT, "%s", run->driver);
        if (run->timing == TIMING_EVENTS)
            timeline->timing = TIMING_EVENTS;
    }
}

static enum status begin_timeline(const struct plan *plan, struct timeline *timeline,
                                  struct error *error)
{
    enum status status = timeline_begin(timeline, plan, error);
    if (status == STATUS_OK)
        timeline->op_calls =
            arena_zeros(&timeline->arena, plan->op_count, sizeof *timeline->op_calls);
    if (status == STATUS_OK && timeline->op_calls == NULL)
        status = error_no_memory(error, "for the timeline of all ranks");
    return status;
}

enum status gather_spans(const struct plan *plan, struct timeline *part,
                         const struct ranks_seen *seen, const struct rank_run *runs,
                         struct timeline *timeline, struct error *error)
{
    const size_t one = OP_TIMES * sizeof(int64_t);
    const uint32_t own = portion_ops(plan, world.number);
    const bool all = world.number == 0; /* there the times of each rank in turn have room */
    int64_t *times = malloc(((all ? plan->op_count : own) + (size_t)1) * one);
    enum status status = STATUS_OK;
    if (times == NULL)
        status = error_no_memory(error, "for the timeline of all ranks");
    if (status == STATUS_OK && all)
        status = begin_timeline(plan, timeline, error);
    status = world_agree(status, error);
    if (status == STATUS_OK)
        write_times(part, own, times);
    if (status == STATUS_OK && !all)
        world_send(times, own * one, 0);
    for (uint32_t rank = 0; rank < world.count && status == STATUS_OK && all; rank++) {
        if (rank > 0)
            world_receive(times, portion_ops(plan, rank) * one, rank);
        read_times(plan, rank, times, began_ns(runs, seen, rank) - first_began_ns(runs, seen),
                   timeline);
    }
    free(times);
    if (status != STATUS_OK || !all)
        return world_agree(status, error);
    sign(runs, timeline);
    return world_agree(timeline_finish(timeline, plan, error), error);
}
