/* plan.c - a plan in words: what it takes, and one line per op in issue order. */
#include "core/units.h"
#include "plan/mistake.h"
#include "writers/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_COLUMNS = 40, WORK_TEXT = 96, WORK_COLUMNS = 22 };

static void print_tiles(FILE *out, const struct plan *plan)
{
    char count[UNITS_TEXT], next[UNITS_TEXT];
    uint64_t tiles = plan->tiles > 0 ? plan->tiles : 1;
    uint64_t rest = plan->elements % tiles, each = plan->elements / tiles;
    fprintf(out, "  tiles    %" PRIu32 " of %s", plan->tiles, units_count(each, count));
    if (rest > 0)
        fprintf(out, " or %s", units_count(each + 1, next));
    fprintf(out, " elements");
    if (plan->batch > 1)
        fprintf(out, ", in batches of %" PRIu32, plan->batch);
    if (plan->cpu_tiles > 0)
        fprintf(out, ", the last %" PRIu32 " on the CPU", plan->cpu_tiles);
    putc('\n', out);
}

static void print_streams(FILE *out, const struct plan *plan)
{
    fprintf(out, "  streams  %" PRIu32 "%s", plan->streams,
            plan->issue == ISSUE_GRAPH ? ", captured as one graph" : "");
    if (plan->devices > 1)
        fprintf(out, ", %" PRIu32 " on each of %" PRIu32 " devices",
                plan->streams / plan->devices, plan->devices);
    if (plan->by_link)
        fprintf(out, ", which have parts of the chain and hand tiles on %s",
                plan->by_host ? "by the host" : "as peers");
    if (plan->has_halo && plan->devices > 1)
        fprintf(out, ", which have rows that follow one another and hand each other halos%s",
                plan->by_host ? " by the host" : "");
    fputs("; priorities ", out);
    if (plan->priorities == NULL)
        fputs("none", out);
    for (uint32_t i = 0; plan->priorities != NULL && i < plan->streams; i++)
        fprintf(out, "%s%d", i > 0 ? "," : "", plan->priorities[i]);
    for (uint32_t i = 0; plan->stream_kinds != NULL && i < plan->streams; i++)
        fprintf(out, "%s%s", i > 0 ? "," : "; ", stream_kind_name(plan_stream_kind(plan, i)));
    putc('\n', out);
}

static void print_counts(FILE *out, const struct plan *plan)
{
    uint32_t counts[OP_KIND_COUNT] = {0};
    for (uint32_t i = 0; i < plan->op_count; i++)
        counts[plan->ops[i].kind]++;
    fprintf(out, "  ops      %" PRIu32, plan->op_count);
    for (int kind = 0, any = 0; kind < OP_KIND_COUNT; kind++) {
        if (counts[kind] > 0)
            fprintf(out, "%s%" PRIu32 " %s", any++ ? ", " : ": ", counts[kind],
                    op_kind_name((enum op_kind)kind));
    }
    fprintf(out, "; events %" PRIu32 "\n", plan->events);
}

static void print_summary(FILE *out, const struct plan *plan, const struct settings *settings)
{
    char name[4 * NAME_COLUMNS], count[UNITS_TEXT], host[UNITS_TEXT], device[UNITS_TEXT];
    fprintf(out, "plan of %s: ways %d, order %s, layout %s, %s elements\n",
            writer_fit(name, sizeof name, settings->name, NAME_COLUMNS), settings->ways,
            order_names[settings->order], layout_names[settings->layout],
            units_count(plan->elements, count));
    print_tiles(out, plan);
    for (int i = 0; i < plan->chain_length; i++)
        fprintf(out, "%s%s", i > 0 ? ", " : "  chain    ", plan->chain[i]->name);
    fprintf(out, " at intensity %" PRIu32 "\n", plan->params.intensity);
    print_streams(out, plan);
    fprintf(out, "  memory   host %s (%s%s), device %s in %" PRIu32 " slot%s\n",
            units_bytes(plan_host_bytes(plan), host), memory_names[plan->memory],
            settings_apart_words(settings), units_bytes(plan_device_bytes(plan), device),
            plan->slots, plan->slots == 1 ? "" : "s");
    if (settings->mistake != MISTAKE_NONE)
        fprintf(out, "  mistake  %s: %s\n", mistake_name(settings->mistake),
                mistake_rows[settings->mistake].summary);
    print_counts(out, plan);
}

static void print_recorded(FILE *out, const struct plan *plan, const struct settings *settings)
{
    char name[4 * NAME_COLUMNS], bytes[UNITS_TEXT];
    const struct plan_recorded *recorded = plan->recorded;
    fprintf(out, "plan of %s, as it was recorded\n",
            writer_fit(name, sizeof name, settings->name, NAME_COLUMNS));
    print_streams(out, plan);
    for (uint32_t i = 0; i < recorded->buffer_count; i++)
        fprintf(out, "  buffer   %" PRIu32 ": %s of the %s at 0x%" PRIx64 "\n", i,
                units_bytes(recorded->buffers[i].bytes, bytes),
                recorded->buffers[i].host ? "host" : "device", recorded->buffers[i].address);
    print_counts(out, plan);
}

/* Prints the ranges that an op reads, an arrow, and those that it writes: "host.in0+4096 ->
 * device.in0+0". */
static void print_ranges(FILE *out, const struct plan *plan, const struct op *op)
{
    struct access room[OP_ACCESS_MAX];
    uint32_t count;
    const struct access *access = plan_accesses(plan, op, room, &count);
    for (int writes = 0; writes <= 1; writes++) {
        const char *before = writes ? " -> " : "  ";
        for (uint32_t i = 0; i < count; i++) {
            const struct range *range = &access[i].range;
            if (access[i].writes != writes)
                continue;
            if (plan->recorded != NULL)
                fprintf(out, "%s%u+%" PRIu64, before, range->buffer, range->offset);
            else
                fprintf(out, "%s%s+%" PRIu64, before, buffer_name(range->buffer),
                        range->offset);
            before = ", ";
        }
    }
}

/* Writes how much work an op is. `recorders` says which op recorded each event; it may be NULL.
 */
static void work_text(const struct plan *plan, const struct op *op, const uint32_t *recorders,
                      char text[WORK_TEXT])
{
    char amount[UNITS_TEXT];
    text[0] = '\0';
    switch (op->kind) {
    case OP_H2D:
    case OP_D2H:
    case OP_D2D:
    case OP_PEER:
    case OP_PACK:
        snprintf(text, WORK_TEXT, "%s", units_bytes(op_bytes(op), amount));
        break;
    case OP_MEMSET:
        if (plan->recorded != NULL)
            snprintf(text, WORK_TEXT, "%s", units_bytes(op_bytes(op), amount));
        else
            snprintf(text, WORK_TEXT, "%s of %u", units_bytes(op_bytes(op), amount),
                     op->set.value);
        break;
    case OP_CALLBACK:
        if (op->callback.sleep_ns > 0)
            snprintf(text, WORK_TEXT, "sleeps %s", units_time(op->callback.sleep_ns, amount));
        break;
    case OP_ALLOC:
        if (op->alloc.ordered)
            snprintf(text, WORK_TEXT, "%s, in the order of stream %" PRIu32,
                     units_bytes(op->alloc.bytes, amount), op->alloc.stream);
        else
            snprintf(text, WORK_TEXT, "%s", units_bytes(op->alloc.bytes, amount));
        break;
    case OP_KERNEL:
        if (plan->recorded != NULL)
            snprintf(text, WORK_TEXT, "%s, %" PRIu32 " block%s",
                     units_time(plan_seen(plan, op)->work_ns, amount), op->kernel.blocks,
                     op->kernel.blocks == 1 ? "" : "s");
        else
            snprintf(text, WORK_TEXT, "%s in %" PRIu32 " block%s",
                     units_count(op->kernel.count, amount), op->kernel.blocks,
                     op->kernel.blocks == 1 ? "" : "s");
        break;
    case OP_CPU:
        snprintf(text, WORK_TEXT, "%s", units_count(op->cpu.count, amount));
        break;
    case OP_WAIT:
    case OP_SYNC_EVENT:
        if (recorders != NULL && op->event.event < plan->events) {
            const struct op *recorder = &plan->ops[recorders[op->event.event]];
            snprintf(text, WORK_TEXT, "recorded by op %" PRIu32, recorder->id);
        }
        break;
    default:
        break;
    }
}

static int label_width(const struct plan *plan)
{
    char label[OP_LABEL];
    int width = 2;
    for (uint32_t i = 0; i < plan->op_count; i++)
        width = larger(width, (int)strlen(plan_op_label(plan, &plan->ops[i], label)));
    return width;
}

static void print_op(FILE *out, const struct plan *plan, const struct op *op, int width,
                     const uint32_t *recorders)
{
    char stream[16], label[OP_LABEL], work[WORK_TEXT];
    if (!op_in_stream(op->kind))
        snprintf(stream, sizeof stream, op->kind == OP_CPU ? "cpu" : "host");
    else
        snprintf(stream, sizeof stream, "%" PRIu32, op->stream);
    work_text(plan, op, recorders, work);
    plan_op_label(plan, op, label);
    /* The line of an op that touches no bytes ends here. */
    bool ends = op->kind == OP_RECORD || op->kind == OP_WAIT ||
                (op_is_call(op->kind) && op->kind != OP_PACK);
    fprintf(out, "%6" PRIu32 "  %6s  %-*s", op->id, stream, work[0] || !ends ? width : 0,
            label);
    if (work[0] || !ends)
        fprintf(out, "  %-*s", ends ? 0 : WORK_COLUMNS, work);
    print_ranges(out, plan, op);
    putc('\n', out);
}

enum status write_plan(FILE *out, const struct plan *plan, const struct settings *settings)
{
    int width = label_width(plan);
    uint32_t *recorders = calloc((size_t)plan->events + 1, sizeof *recorders);
    if (recorders == NULL)
        return STATUS_NO_MEMORY;
    if (plan->recorded != NULL)
        print_recorded(out, plan, settings);
    else
        print_summary(out, plan, settings);
    fprintf(out, "\n%6s  %6s  %-*s  %-*s  %s\n", "id", "stream", width, "op", WORK_COLUMNS,
            "work", "reads -> writes (buffer+byte)");
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        print_op(out, plan, op, width, recorders);
        if (op->kind == OP_RECORD && op->event.event < plan->events)
            recorders[op->event.event] = i;
    }
    free(recorders);
    return STATUS_OK;
}
