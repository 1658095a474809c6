/* crossing.c - see crossing.h. */
#include "plan/crossing.h"

#include "core/items.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* This is known while the ops are gone through in their order. A crossing is named by its
 * number and 1; 0 is none. */
struct search {
    const struct plan *plan;
    struct crossings *found;
    uint32_t *records;  /* by event: its latest record's op and 1 */
    uint32_t *of_event; /* by event and device: how that one waits for the latest record */
    uint32_t *heard;    /* by stream and other stream: the latest crossing from that one */
    struct error *error;
};

static uint32_t device_of(const struct search *search, const struct op *op)
{
    return plan_stream_home(search->plan, op->stream).device;
}

static uint32_t *of_event(const struct search *search, uint32_t event)
{
    return &search->of_event[(size_t)event * plan_devices(search->plan)];
}

static void see_record(struct search *search, const struct op *op)
{
    search->records[op->event.event] = op->id + 1;
    memset(of_event(search, op->event.event), 0,
           plan_devices(search->plan) * sizeof *search->of_event);
}

/* Adds a crossing. Those of one record have the number of its first as their flag. */
static enum status add_crossing(struct search *search, uint32_t record, uint32_t to)
{
    struct crossings *found = search->found;
    struct crossing *crossing = ITEMS_ADD(found->all, found->count, found->capacity);
    if (crossing == NULL)
        return error_set(search->error, STATUS_NO_MEMORY,
                         "no memory for what devices hand one another");
    if (found->flags[record] == 0)
        found->flags[record] = found->count;
    *crossing = (struct crossing){.from = device_of(search, &search->plan->ops[record]),
                                  .to = to,
                                  .record = record,
                                  .flag = found->flags[record]};
    return STATUS_OK;
}

static enum status see_wait(struct search *search, const struct op *op)
{
    const uint32_t event = op->event.event, here = device_of(search, op);
    const uint32_t record = search->records[event];
    if (record == 0) /* it waits for nothing */
        return STATUS_OK;
    const struct op *recorded = &search->plan->ops[record - 1];
    if (device_of(search, recorded) == here)
        return STATUS_OK;
    uint32_t *crossing = &of_event(search, event)[here];
    if (*crossing == 0) {
        if (add_crossing(search, record - 1, here) != STATUS_OK)
            return STATUS_NO_MEMORY;
        *crossing = search->found->count;
    }
    search->found->flags[op->id] = search->found->all[*crossing - 1].flag;
    uint32_t *heard =
        &search->heard[(size_t)op->stream * search->plan->streams + recorded->stream];
    if (*heard == 0 || search->found->all[*heard - 1].record < record - 1)
        *heard = *crossing;
    return STATUS_OK;
}

/* Returns the latest op before op `before` that writes a byte of the range; NULL: none does. It
 * is near: a place of the host's memory is read soon after it was written. */
static const struct op *writer_of(const struct plan *plan, const struct range *range,
                                  uint32_t before)
{
    struct access access[OP_ACCESS_MAX];
    while (before-- > 0) {
        const int count = op_accesses(&plan->ops[before], access);
        for (int i = 0; i < count; i++)
            if (access[i].writes && ranges_overlap(&access[i].range, range))
                return &plan->ops[before];
    }
    return NULL;
}

static bool has_parcel(const struct crossings *found, uint32_t crossing,
                       const struct range *range)
{
    uint32_t i = found->parcel_count;
    while (i-- > 0 && found->parcels[i].crossing >= crossing)
        if (found->parcels[i].crossing == crossing &&
            range_equal(&found->parcels[i].range, range))
            return true;
    return false;
}

/* Has the bytes that `op` reads come with the crossing that its stream heard last from the
 * stream that wrote them. */
static enum status see_read(struct search *search, const struct op *op,
                            const struct range *range)
{
    const struct plan *plan = search->plan;
    struct crossings *found = search->found;
    char label[OP_LABEL];
    const struct op *writer = writer_of(plan, range, op->id);
    if (writer == NULL || device_of(search, writer) == device_of(search, op))
        return STATUS_OK;
    const uint32_t heard = search->heard[(size_t)op->stream * plan->streams + writer->stream];
    if (heard == 0 || found->all[heard - 1].record < writer->id)
        return error_set(search->error, STATUS_USAGE,
                         "op %" PRIu32 " (%s) reads what another device writes, and does not "
                         "wait for that",
                         op->id, plan_op_label(plan, op, label));
    if (has_parcel(found, heard - 1, range))
        return STATUS_OK;
    struct parcel *parcel =
        ITEMS_ADD(found->parcels, found->parcel_count, found->parcel_capacity);
    if (parcel == NULL)
        return error_set(search->error, STATUS_NO_MEMORY,
                         "no memory for what devices hand one another");
    *parcel = (struct parcel){heard - 1, *range};
    return STATUS_OK;
}

/* Looks at the host's memory that devices hand things on through. */
static enum status see_reads(struct search *search, const struct op *op)
{
    struct access access[OP_ACCESS_MAX];
    const int count = op_accesses(op, access);
    enum status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        const enum buffer buffer = access[i].range.buffer;
        if (!access[i].writes &&
            (buffer == BUFFER_HOST_CARRY || buffer == BUFFER_HOST_EXCHANGE))
            status = see_read(search, op, &access[i].range);
    }
    return status;
}

static enum status look(struct search *search)
{
    const struct plan *plan = search->plan;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < plan->op_count && status == STATUS_OK; i++) {
        const struct op *op = &plan->ops[i];
        if (op->stream >= plan->streams) /* the host's */
            continue;
        if (op->kind == OP_RECORD)
            see_record(search, op);
        else if (op->kind == OP_WAIT)
            status = see_wait(search, op);
        else
            status = see_reads(search, op);
    }
    return status;
}

enum status crossings_find(const struct plan *plan, struct crossings *crossings,
                           struct error *error)
{
    const size_t events = plan->events + (size_t)1, streams = plan->streams;
    *crossings = (struct crossings){0};
    struct search search = {.plan = plan, .found = crossings, .error = error};
    crossings->flags = calloc(plan->op_count + (size_t)1, sizeof *crossings->flags);
    search.records = calloc(events, sizeof *search.records);
    search.of_event = calloc(events * plan_devices(plan), sizeof *search.of_event);
    search.heard = calloc(streams * streams + 1, sizeof *search.heard);
    enum status status = STATUS_OK;
    if (crossings->flags == NULL || search.records == NULL || search.of_event == NULL ||
        search.heard == NULL)
        status =
            error_set(error, STATUS_NO_MEMORY, "no memory for what devices hand one another");
    else
        status = look(&search);
    free(search.records);
    free(search.of_event);
    free(search.heard);
    if (status != STATUS_OK)
        crossings_free(crossings);
    return status;
}

void crossings_free(struct crossings *crossings)
{
    free(crossings->all);
    free(crossings->parcels);
    free(crossings->flags);
    *crossings = (struct crossings){0};
}
