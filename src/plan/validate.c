/* validate.c - checks that each op of a plan, built or recorded, refers to what is there, and
 * that a plan can be captured as a graph, or run on managed memory. */
#include "plan/build.h"

#include "core/arena.h"
#include "core/units.h"
#include "plan/rules.h"

#include <inttypes.h>
#include <stdlib.h>

static const char BEYOND[] = "reaches beyond its buffer";
static const char NO_BUFFER[] = "names a buffer that the plan does not have";
static const char SIZES_DIFFER[] = "copies between ranges of different sizes";

static enum status op_fault(const struct plan *plan, const struct op *op, const char *fault,
                            struct error *error)
{
    char label[OP_LABEL];
    return error_set(error, STATUS_FAILED, "op %" PRIu32 " (%s) %s", op->id,
                     plan_op_label(plan, op, label), fault);
}

/* Returns what is wrong with a copy or a memset whose bytes are all there, or NULL. */
static const char *op_fault_in_copy(const struct plan *plan, const struct op *op)
{
    if (op_moves(op->kind)) {
        if (op->move.from.bytes != op->move.to.bytes)
            return op->kind == OP_PACK ? "packs ranges of different sizes" : SIZES_DIFFER;
        if (op->kind == OP_D2D && ranges_overlap(&op->move.from, &op->move.to))
            return "copies between ranges that overlap";
        if (op->kind == OP_PEER && (op->move.from.buffer < BUFFER_FIRST_DEVICE ||
                                    op->move.to.buffer < BUFFER_FIRST_DEVICE))
            return "copies to or from the host";
    } else if (op_is_copy(op->kind)) {
        if (op->copy.host.buffer >= BUFFER_FIRST_DEVICE ||
            op->copy.device.buffer < BUFFER_FIRST_DEVICE)
            return "copies between buffers of one side";
        if (op->copy.device.bytes != (plan->prefetches ? 0 : op->copy.host.bytes))
            return plan->prefetches ? "prefetches to a buffer of the device" : SIZES_DIFFER;
    } else if (op->kind != OP_MEMSET) {
        return NULL;
    }
    if (op_bytes(op) == 0)
        return op->kind == OP_MEMSET ? "sets nothing" : "copies nothing";
    return NULL;
}

/* Returns true if a range of a device buffer lies in the part of a device. */
static bool is_on(const struct plan *plan, const struct range *range, uint32_t device)
{
    const struct range part = plan_device_part(plan, range->buffer, device);
    return range->offset >= part.offset &&
           range->offset + range->bytes <= part.offset + part.bytes;
}

/* Returns what is wrong with the device of a range of a device buffer, or NULL: it is that of
 * the op's stream. A copy to another device writes to one that is not. */
static const char *device_fault(const struct plan *plan, const struct op *op,
                                const struct access *access)
{
    const uint32_t own = plan_stream_home(plan, op->stream).device;
    if (op->kind != OP_PEER || !access->writes)
        return plan->devices <= 1 || is_on(plan, &access->range, own)
                   ? NULL
                   : "works on another device's memory than its stream's";
    const uint32_t other = plan_range_device(plan, &access->range);
    if (other == own)
        return "copies to the device that it comes from";
    return is_on(plan, &access->range, other) ? NULL : "reaches into two devices' memory";
}

/* Returns what is wrong with the ranges that an op names, or NULL. The sides of a copy's ranges
 * are op_fault_in_copy()'s affair. */
static const char *op_fault_in_bytes(const struct plan *plan, const struct op *op)
{
    struct access access[OP_ACCESS_MAX];
    int count = op_accesses(op, access);
    for (int i = 0; i < count; i++) {
        const struct range *range = &access[i].range;
        if (range->buffer >= BUFFER_COUNT)
            return NO_BUFFER;
        uint64_t size = plan->buffer_bytes[range->buffer];
        if (range->bytes > size || range->offset > size - range->bytes)
            return BEYOND;
        bool on_device = range->buffer >= BUFFER_FIRST_DEVICE;
        bool reaches = op->kind == OP_KERNEL && plan_kernels_reach_host(plan);
        const char *fault = on_device ? device_fault(plan, op, &access[i]) : NULL;
        if (fault != NULL)
            return fault;
        if ((op_is_launch(op->kind) && !on_device && !reaches) ||
            ((op->kind == OP_CPU || op->kind == OP_CALLBACK || op->kind == OP_PACK) &&
             on_device))
            return "works on a buffer of the other side";
    }
    return op_fault_in_copy(plan, op);
}

static bool op_is_in_its_place(const struct plan *plan, const struct op *op)
{
    if (op->kind == OP_SYNC)
        return op->stream <= plan->streams;
    return op_in_stream(op->kind) ? op->stream < plan->streams : op->stream == plan->streams;
}

/* Returns what is wrong with where an op is, or with its event, or NULL. */
static const char *op_fault_in_place(const struct plan *plan, const struct op *op)
{
    bool event = op->kind == OP_RECORD || op->kind == OP_WAIT || op->kind == OP_SYNC_EVENT;
    if (event && op->event.event >= plan->events)
        return "names an event that the plan does not have";
    return op_is_in_its_place(plan, op) ? NULL : "is in a stream that the plan does not have";
}

static const char *op_fault_in_kind(const struct plan *plan, const struct op *op)
{
    if (op->kind == OP_KERNEL && (op->kernel.link >= (uint32_t)plan->chain_length ||
                                  op->kernel.count == 0 || op->kernel.blocks == 0))
        return "launches no kernel of the chain, or one without work";
    if ((op->kind == OP_KERNEL && op->kernel.ranges == NULL) ||
        (op->kind == OP_CPU && op->cpu.ranges == NULL))
        return "has nothing to work on";
    if (op->kind == OP_SYNC_EVENT && !plan->packs)
        return "waits for an event on the host, which only recorded programs and packing do";
    if (op->kind == OP_ALLOC &&
        (op->alloc.bytes == 0 || (op->alloc.ordered && op->alloc.stream >= plan->streams) ||
         (op->alloc.action == ALLOC_PAIR) != (op->alloc.range.bytes == 0) ||
         (op->alloc.action != ALLOC_PAIR && !plan_takes_buffer(plan, op->alloc.range.buffer))))
        return "takes no memory, or none that a tile has, or in the order of no stream";
    if (op->tile < -1 || op->tile >= (int64_t)plan->tiles)
        return "belongs to a tile that the plan does not have";
    return NULL;
}

/* --- recorded plans --- */

/* Returns what is wrong with the ranges that an op touches, or NULL. */
static const char *fault_in_accesses(const struct plan_recorded *recorded,
                                     const struct op_recorded *seen)
{
    if (seen->access_count > recorded->access_count ||
        seen->first_access > recorded->access_count - seen->access_count)
        return "touches ranges that the plan does not have";
    for (uint32_t i = 0; i < seen->access_count; i++) {
        const struct range *range = &recorded->accesses[seen->first_access + i].range;
        if (range->buffer >= recorded->buffer_count)
            return NO_BUFFER;
        uint64_t size = recorded->buffers[range->buffer].bytes;
        if (range->bytes == 0)
            return "touches a range of no bytes";
        if (range->bytes > size || range->offset > size - range->bytes)
            return BEYOND;
    }
    return NULL;
}

static bool is_time(int64_t ns)
{
    return ns >= 0 && ns < MACHINE_NEVER_NS;
}

/* Returns what is wrong with an op of a recorded plan, and with what was seen of it, or NULL.
 */
static const char *op_fault_in_recorded(const struct plan *plan, const struct op *op,
                                        const struct op_recorded *seen)
{
    if (op->tile != -1)
        return "belongs to a tile, which recorded plans do not have";
    if ((op_is_copy(op->kind) && op->copy.host.bytes != op->copy.device.bytes) ||
        (op->kind == OP_D2D && op->move.from.bytes != op->move.to.bytes))
        return SIZES_DIFFER;
    if (op->kind == OP_KERNEL && seen->name >= plan->recorded->name_count)
        return "is a kernel without a name";
    if (seen->thread >= plan->recorded->threads)
        return "is of a thread that the plan does not have";
    if (!is_time(seen->host_ns) || !is_time(seen->work_ns))
        return "takes less than no time, or more than 36 years";
    if (!(seen->fill >= 0 && seen->fill <= 1))
        return "takes less than nothing of the GPU, or more than all of it";
    return fault_in_accesses(plan->recorded, seen);
}

/* --- plans --- */

/* There is one legacy default stream, and nobody can give it a priority. */
static enum status validate_streams(const struct plan *plan, struct error *error)
{
    uint32_t legacy = 0;
    for (uint32_t i = 0; plan->stream_kinds != NULL && i < plan->streams; i++) {
        if (plan->stream_kinds[i] >= STREAM_KIND_COUNT)
            return error_set(error, STATUS_FAILED, "stream %" PRIu32 " is of no kind", i);
        if (plan->stream_kinds[i] != STREAM_LEGACY)
            continue;
        if (++legacy > 1)
            return error_set(error, STATUS_FAILED,
                             "stream %" PRIu32 " is the legacy default stream, too: there is "
                             "one",
                             i);
        if (plan->priorities != NULL && plan->priorities[i] != 0)
            return error_set(error, STATUS_FAILED,
                             "stream %" PRIu32 " is the legacy default stream, which has no "
                             "priority",
                             i);
    }
    return STATUS_OK;
}

/* --- memory that is taken for each tile --- */

/* Which slots are taken, in order of issue; `bytes` is a slot's. */
struct taken {
    bool *slots[BUFFER_COUNT];
    uint64_t bytes[BUFFER_COUNT], count[BUFFER_COUNT];
    struct arena arena; /* what has the slots */
};

/* Returns what is wrong with memory that is taken or given back; NULL where nothing is. */
static const char *take_memory(const struct plan *plan, const struct op *op,
                               struct taken *taken)
{
    const struct range *range = &op->alloc.range;
    const enum buffer buffer = range->buffer;
    if (taken->slots[buffer] == NULL) {
        taken->bytes[buffer] = range->bytes;
        taken->count[buffer] = plan->buffer_bytes[buffer] / range->bytes;
        taken->slots[buffer] = arena_zeros(&taken->arena, taken->count[buffer], sizeof(bool));
    }
    const uint64_t slot = range->offset / taken->bytes[buffer];
    if (taken->arena.full)
        return NULL;
    if (range->bytes != taken->bytes[buffer] || range->offset % range->bytes != 0 ||
        slot >= taken->count[buffer])
        return "takes or gives back what is no slot";
    const bool takes = op->alloc.action == ALLOC_TAKE;
    if (taken->slots[buffer][slot] == takes)
        return takes ? "takes memory that is taken" : "gives back memory that is not taken";
    taken->slots[buffer][slot] = takes;
    return NULL;
}

/* Returns true if an op works on slots that are not taken when it is issued. */
static bool uses_untaken(const struct plan *plan, const struct op *op,
                         const struct taken *taken)
{
    struct access access[OP_ACCESS_MAX];
    const int count = op_accesses(op, access);
    bool untaken = false;
    for (int i = 0; i < count; i++) {
        const struct range *range = &access[i].range;
        const bool *slots = taken->slots[range->buffer];
        if (plan_takes_buffer(plan, range->buffer))
            untaken |= slots == NULL || !slots[range->offset / taken->bytes[range->buffer]];
    }
    return untaken;
}

/* Refuses a plan that uses memory before it is taken or after it is given back. That order of
 * issue is also the order on the device is for plan_hazards() to see. */
static enum status validate_taken(const struct plan *plan, struct error *error)
{
    struct taken taken = {0};
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < plan->op_count && status == STATUS_OK && !taken.arena.full; i++) {
        const struct op *op = &plan->ops[i];
        const char *fault = NULL;
        if (op->kind == OP_ALLOC && op->alloc.action != ALLOC_PAIR)
            fault = take_memory(plan, op, &taken);
        else if (uses_untaken(plan, op, &taken))
            fault = "works on memory that is not taken";
        if (fault != NULL)
            status = op_fault(plan, op, fault, error);
    }
    if (taken.arena.full)
        status = error_no_memory(error, "to check the tiles' memory");
    arena_free(&taken.arena);
    return status;
}

static enum status validate_facts(const struct plan *plan, struct error *error)
{
    const bool built = plan->recorded == NULL;
    if (!built && plan->streams == 0)
        return error_set(error, STATUS_FAILED, "the plan has no streams");
    if (built && (plan->tiles == 0 || plan->streams == 0 || plan->chain_length < 1 ||
                  plan->chain_length > CHAIN_MAX))
        return error_set(error, STATUS_FAILED, "the plan has no tiles, streams or kernels");
    if (built &&
        (plan->devices > MACHINE_DEVICES_MAX || plan->streams % plan_devices(plan) != 0))
        return error_set(error, STATUS_FAILED,
                         "the plan's devices have not as many streams each");
    return validate_streams(plan, error);
}

/* Returns what is wrong with an op of a kind that there is, or NULL. */
static const char *op_fault_of(const struct plan *plan, const struct op *op)
{
    if (plan->recorded != NULL && op->kind == OP_CPU)
        return "is work of the CPU, which no recording has";
    const char *fault = op_fault_in_place(plan, op);
    if (fault != NULL)
        return fault;
    if (plan->recorded != NULL)
        return op_fault_in_recorded(plan, op, plan_seen(plan, op));
    fault = op_fault_in_kind(plan, op);
    return fault != NULL ? fault : op_fault_in_bytes(plan, op);
}

/* Checks ops one by one; `recorded` has room for all events. What waits in a built plan waits
 * for what was issued before it, so that every plan ends. [CUDA Runtime API,
 * cudaStreamWaitEvent(): a call for an event that was never recorded has no effect] */
static enum status validate_ops(const struct plan *plan, bool *recorded, struct error *error)
{
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->id != i || op->kind >= OP_KIND_COUNT)
            return error_set(error, STATUS_FAILED,
                             "op %" PRIu32 " is not numbered by its place, or of no kind", i);
        const bool waits = op->kind == OP_WAIT || op->kind == OP_SYNC_EVENT;
        const char *fault = op_fault_of(plan, op);
        if (fault == NULL && waits && plan->recorded == NULL && !recorded[op->event.event])
            fault = "waits for an event that no op before it records: that orders nothing";
        if (fault != NULL)
            return op_fault(plan, op, fault, error);
        if (op->kind == OP_RECORD)
            recorded[op->event.event] = true;
    }
    return STATUS_OK;
}

enum status plan_validate(const struct plan *plan, struct error *error)
{
    enum status status = validate_facts(plan, error);
    if (status != STATUS_OK)
        return status;
    bool *recorded = calloc((size_t)plan->events + 1, sizeof *recorded);
    if (recorded == NULL)
        return error_no_memory(error, "to check %" PRIu32 " events", plan->events);
    status = validate_ops(plan, recorded, error);
    free(recorded);
    if (status == STATUS_OK && plan->recorded == NULL && plan->alloc != ALLOC_ONCE)
        status = validate_taken(plan, error);
    return status;
}

/* --- plans that are launched as one graph --- */

uint32_t plan_graph_nodes(const struct plan *plan)
{
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < plan->op_count; i++)
        nodes += op_is_node(plan->ops[i].kind);
    return nodes;
}

bool plan_graph_by_node(const struct plan *plan, const struct machine *machine)
{
    for (uint32_t i = 0; plan->issue == ISSUE_GRAPH && i < plan->op_count; i++)
        if (rule_graph_by_node(machine, plan->ops[i].kind))
            return true;
    return false;
}

/* The CUDA C++ Programming Guide, "Creating a Graph Using Stream Capture", prohibits to
 * synchronise a stream that is captured, and any use of the legacy stream, which can't be
 * captured itself. Taking memory is no op of a stream. Leaving out pageable memory is our
 * choice: the host has a part in each of its copies, and a graph is launched by one call. */
enum status plan_check_graph(const struct plan *plan, struct error *error)
{
    char label[OP_LABEL];
    if (plan->memory == MEMORY_PAGEABLE)
        return error_set(error, STATUS_USAGE,
                         "--issue=graph: with pageable memory the host has a part in every "
                         "copy, and a graph is launched by one call: use --issue=streams");
    if (plan->launches_block || plan->loads_lazily)
        return error_set(
            error, STATUS_USAGE,
            "--issue=graph: a graph's kernels are loaded before it is launched, by "
            "one call that waits for none of them: --mistake=launch-blocking and "
            "--mistake=lazy-loading need --issue=streams");
    for (uint32_t i = 0; i < plan->streams; i++) {
        if (plan_stream_kind(plan, i) == STREAM_LEGACY)
            return error_set(error, STATUS_USAGE,
                             "--issue=graph: stream %" PRIu32 " is the legacy default stream, "
                             "which can't be captured",
                             i);
    }
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (rule_call_waits(plan, &plan->ops[i]))
            return error_set(error, STATUS_USAGE,
                             "--issue=graph: the host waits for op %" PRIu32
                             " (%s), and a graph is launched by one call",
                             i, plan_op_label(plan, &plan->ops[i], label));
        if (op_is_call(plan->ops[i].kind))
            return error_set(error, STATUS_USAGE,
                             "--issue=graph: op %" PRIu32 " (%s) is a call of the host's own, "
                             "which can't be captured",
                             i, plan_op_label(plan, &plan->ops[i], label));
    }
    return STATUS_OK;
}

/* --- managed memory --- */

/* Near the device's memory the driver moves out pages that are still to be used, for which
 * nobody has made a rule. */
enum status managed_check_room(const struct plan *plan, uint64_t bytes, const char *are,
                               struct error *error)
{
    enum { PART = 4 };
    char need[UNITS_TEXT], have[UNITS_TEXT];
    const uint64_t needed = plan_host_bytes(plan);
    if (plan->memory != MEMORY_MANAGED || needed <= bytes / PART)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "--memory=managed: the arrays take %s and %s of device memory %s: allowed "
                     "is a quarter of that, since beyond it pages may be moved out again",
                     units_bytes(needed, need), units_bytes(bytes, have), are);
}

/* [Guide 13, "Unified memory"] Devices of compute capability 6.0 and above page, and under
 * Linux host and device may work on managed memory at once. */
enum status managed_check(const struct plan *plan, const struct machine *machine,
                          struct error *error)
{
    const double least = 6.0;
    if (plan->memory == MEMORY_MANAGED && machine->compute_capability < least)
        return error_set(
            error, STATUS_USAGE,
            "--memory=managed: a device of compute capability %.1f has no page "
            "faults, so that nothing moves while kernels work: allowed are devices "
            "from %.1f on, or other memory",
            machine->compute_capability, least);
    return managed_check_room(plan, machine->memory_bytes, "are there", error);
}
