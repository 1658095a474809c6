/* portion.c - see portion.h. */
#include "plan/portion.h"

#include "core/arena.h"
#include "core/items.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- crossings --- */

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
        return error_no_memory(search->error, "for what devices hand one another");
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
    uint32_t at = found->all[crossing].latest;
    while (at > 0 && !range_equal(&found->parcels[at - 1].range, range))
        at = found->parcels[at - 1].before;
    return at > 0;
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
        return error_no_memory(search->error, "for what devices hand one another");
    struct crossing *crossing = &found->all[heard - 1];
    *parcel = (struct parcel){heard - 1, crossing->latest, *range};
    crossing->latest = found->parcel_count;
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
    struct arena arena = {0};
    crossings->flags = calloc(plan->op_count + (size_t)1, sizeof *crossings->flags);
    search.records = arena_zeros(&arena, events, sizeof *search.records);
    search.of_event = arena_zeros(&arena, events * plan_devices(plan), sizeof(uint32_t));
    search.heard = arena_zeros(&arena, streams * streams, sizeof *search.heard);
    enum status status = STATUS_OK;
    if (crossings->flags == NULL || arena.full)
        status = error_no_memory(error, "for what devices hand one another");
    else
        status = look(&search);
    arena_free(&arena);
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

/* --- portions --- */

#define NOBODY UINT32_MAX /* recorded an event: who waits for it waits for nothing */

/* A portion in the making. */
struct cut {
    const struct plan *plan;
    struct plan *portion;
    uint32_t device;
    const struct crossings *crossings; /* NULL: there are none */
    uint32_t *recorder;                /* by event, the device whose stream recorded it last */
};

static uint32_t flag_of(const struct cut *cut, const struct op *op)
{
    return cut->crossings != NULL ? cut->crossings->flags[op->id] : 0;
}

/* Moves a range of a device buffer to where it lies in the device's own. Returns false where it
 * lies in another device's. */
static bool move_range(const struct cut *cut, struct range *range)
{
    if (range->bytes == 0 || range->buffer < BUFFER_FIRST_DEVICE)
        return true;
    if (plan_range_device(cut->plan, range) != cut->device)
        return false;
    range->offset -= plan_device_part(cut->plan, range->buffer, cut->device).offset;
    return true;
}

/* Has `ranges` point to those of the device's own, kept by the portion. */
static enum status move_ranges(const struct cut *cut, struct op_ranges **ranges, bool *own,
                               struct error *error)
{
    struct op_ranges moved = **ranges;
    struct range *each[] = {&moved.in[0],   &moved.in[1],    &moved.resident, &moved.out,
                            &moved.scratch, &moved.carry_in, &moved.carry_out};
    _Static_assert(KERNEL_INPUTS_MAX == 2, "both inputs are named");
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++)
        *own &= move_range(cut, each[i]);
    *ranges = plan_keep_ranges(cut->portion, &moved, error);
    return *ranges != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

/* Makes an op the device's own. Sets *own to false where it is not its alone. */
static enum status move_op(const struct cut *cut, struct op *op, bool *own, struct error *error)
{
    op->stream = plan_stream_home(cut->plan, op->stream).number;
    switch (op->kind) {
    case OP_H2D:
    case OP_D2H:
        *own = move_range(cut, &op->copy.device);
        return STATUS_OK;
    case OP_KERNEL:
        return move_ranges(cut, &op->kernel.ranges, own, error);
    case OP_RECORD:
        cut->recorder[op->event.event] = cut->device;
        op->event.flag = flag_of(cut, op);
        return STATUS_OK;
    case OP_WAIT:
        op->event.flag = flag_of(cut, op);
        *own = op->event.flag > 0 || cut->recorder[op->event.event] == cut->device ||
               cut->recorder[op->event.event] == NOBODY;
        return STATUS_OK;
    case OP_CALLBACK:
        *own = !op_feeds(op) || cut->crossings != NULL;
        return STATUS_OK;
    case OP_D2D:
        *own = move_range(cut, &op->move.from) && move_range(cut, &op->move.to);
        return STATUS_OK;
    case OP_MEMSET:
        *own = move_range(cut, &op->set.range);
        return STATUS_OK;
    default:
        *own = op->kind == OP_SYNC;
        return STATUS_OK;
    }
}

static enum status take_ops(const struct cut *cut, struct error *error)
{
    const struct plan *plan = cut->plan;
    char label[OP_LABEL];
    for (uint32_t i = 0; i < plan->op_count; i++) {
        struct op op = plan->ops[i];
        bool own = true;
        if (op.stream < plan->streams && !plan_portion_has(plan, &op, cut->device)) {
            if (op.kind == OP_RECORD)
                cut->recorder[op.event.event] = plan_stream_home(plan, op.stream).device;
            continue;
        }
        enum status status = STATUS_OK;
        if (op.stream < plan->streams)
            status = move_op(cut, &op, &own, error);
        else
            own = false;
        if (!own)
            return error_set(error, STATUS_USAGE,
                             "op %" PRIu32 " (%s) is not one device's alone", i,
                             plan_op_label(plan, &plan->ops[i], label));
        if (status == STATUS_OK)
            status = plan_append(cut->portion, &op, error);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Copies `bytes` from `from` on; NULL stays NULL. Sets *missing where there is no memory. */
static void *copied(const void *from, size_t offset, size_t bytes, bool *missing)
{
    if (from == NULL)
        return NULL;
    void *copy = malloc(bytes + 1);
    *missing |= copy == NULL;
    return copy != NULL ? memcpy(copy, (const char *)from + offset, bytes) : NULL;
}

enum status plan_portion(const struct plan *plan, uint32_t device,
                         const struct crossings *crossings, struct plan *portion,
                         struct error *error)
{
    const uint32_t devices = plan_devices(plan), each = plan->streams / devices;
    const size_t number = sizeof plan->priorities[0];
    bool missing = false;
    *portion = *plan;
    portion->ops = NULL;
    portion->ranges = NULL;
    portion->loops = NULL;
    portion->op_count = 0;
    portion->op_capacity = 0;
    portion->devices = 1;
    portion->streams = each;
    portion->slots = plan->slots / devices;
    portion->priorities =
        copied(plan->priorities, device * each * number, each * number, &missing);
    portion->stream_kinds = copied(plan->stream_kinds, (size_t)device * each, each, &missing);
    portion->places = copied(plan->places, 0, plan->tiles * sizeof plan->places[0], &missing);
    for (int b = BUFFER_FIRST_DEVICE; b < BUFFER_COUNT; b++)
        portion->buffer_bytes[b] = plan->buffer_bytes[b] / devices;
    struct arena arena = {0};
    struct cut cut = {plan, portion, device, crossings, NULL};
    cut.recorder = arena_ones(&arena, plan->events, sizeof *cut.recorder);
    enum status status = STATUS_OK;
    if (missing || arena.full)
        status = error_no_memory(error, "for a device's part of a plan");
    else
        status = take_ops(&cut, error);
    arena_free(&arena);
    if (status != STATUS_OK)
        plan_free(portion);
    return status;
}
