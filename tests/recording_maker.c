/* recording_maker.c - see recording_maker.h. */
#include "recording_maker.h"

#include "fixtures.h"

#include <inttypes.h>
#include <stdlib.h>

/* Times of the simulator are stretched, so that there is room for other calls in between. */
enum { STRETCH = 10, CONTEXT = 3, OTHER_CONTEXT = 4, THREAD = 4711, STREAM_BASE = 13 };
static const int64_t begin_ns = 1000000;

struct writer {
    FILE *out;
    struct recording_maker *maker;
    const struct plan *plan;
    struct timeline *timeline;
    uint64_t next_call;
    uint64_t *handles; /* per event of the plan */
};

uint64_t recording_address(enum buffer buffer)
{
    const uint64_t base = buffer < BUFFER_FIRST_DEVICE ? 0x500000000000 : 0x7f0000000000;
    return base + ((uint64_t)buffer << 36);
}

static uint64_t address_of(const struct range *range)
{
    return recording_address(range->buffer) + range->offset;
}

static int64_t stretched(int64_t ns)
{
    return begin_ns + STRETCH * ns;
}

/* The stream's number in the recording: CUDA's for the default stream is 7. */
static uint32_t number_of(const struct writer *writer, uint32_t stream)
{
    return plan_stream_kind(writer->plan, stream) == STREAM_LEGACY ? 7
                                                                   : STREAM_BASE + 3 * stream;
}

/* --- before the first call --- */

static void put_streams(const struct writer *writer)
{
    const struct plan *plan = writer->plan;
    for (uint32_t i = 0; i < plan->streams; i++)
        fprintf(writer->out, "[\"stream\",%d,%u,%u,\"%s\",%d]\n", CONTEXT, number_of(writer, i),
                0x1000 + 16 * i, stream_kind_name(plan_stream_kind(plan, i)),
                plan->priorities != NULL ? plan->priorities[i] : 0);
}

static void put_memory(const struct writer *writer)
{
    const struct plan *plan = writer->plan;
    for (int b = 0; b < BUFFER_COUNT; b++) {
        const bool host = b < BUFFER_FIRST_DEVICE;
        if (plan->buffer_bytes[b] == 0 || (host && plan->memory == MEMORY_PAGEABLE))
            continue;
        fprintf(writer->out, "[\"memory\",\"%s\",%d,%" PRIu64 ",%" PRIu64 ",%s]\n",
                !host                           ? "device"
                : plan->memory == MEMORY_PINNED ? "pinned"
                                                : "registered",
                1000 + b, recording_address((enum buffer)b), plan->buffer_bytes[b],
                host ? "null" : "0");
    }
}

/* Work of another device, and an event of it, are no part of the plan. */
static void put_other_device(struct writer *writer)
{
    fprintf(writer->out,
            "[\"call\",1,\"cudaMemcpyAsync_v3020\",9,2000,3000,0]\n"
            "[\"copy\",1,%d,7,99999,88888,100]\n"
            "[\"op\",1,\"h2d\",%d,7,4000,5000,100,\"pinned\",\"device\",0]\n"
            "[\"call\",2,\"cudaEventRecord_v3020\",9,3100,3200,0]\n"
            "[\"record\",2,%d,7,12345]\n",
            OTHER_CONTEXT, OTHER_CONTEXT, OTHER_CONTEXT);
    writer->next_call = 3;
}

static void put_head(struct writer *writer)
{
    const struct plan *plan = writer->plan;
    fprintf(writer->out,
            "{\"pipeline_recording\":1,\"version\":\"0\",\"program\":\"pipeline\",\"pid\":2,"
            "\"parent\":1,\"begin_ns\":500,\"driver\":13000,\"cupti\":130000,"
            "\"launch_blocking\":%s,\"connections\":null,\"lazy\":true}\n",
            plan->launches_block ? "true" : "false");
    fputs("[\"device\",0,\"NVIDIA H200\",9,0,132,2048,32,65536,233472,3]\n"
          "[\"device\",1,\"NVIDIA H200\",9,0,132,2048,32,65536,233472,3]\n",
          writer->out);
    fprintf(writer->out,
            "[\"context\",%d,0]\n[\"context\",%d,1]\n[\"stream\",%d,7,0,\"legacy\",0]\n",
            CONTEXT, OTHER_CONTEXT, OTHER_CONTEXT);
    for (int i = 0; i < plan->chain_length; i++)
        fprintf(writer->out, "[\"name\",%d,\"%s\"]\n", 5 + i, plan->chain[i]->name);
    put_streams(writer);
    put_memory(writer);
    put_other_device(writer);
}

/* --- handles of events --- */

/* Returns the last op that waits for each event. */
static uint32_t *last_waits(const struct plan *plan)
{
    uint32_t *last = calloc(plan->events + (size_t)1, sizeof *last);
    ck_assert_ptr_nonnull(last);
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (plan->ops[i].kind == OP_WAIT)
            last[plan->ops[i].event.event] = i;
    }
    return last;
}

/* Gives each event a handle: one of its own, or the first that nobody waits for any more. */
static void deal_handles(struct writer *writer)
{
    const struct plan *plan = writer->plan;
    uint32_t *last = last_waits(plan), count = 0;
    uint32_t *owners = calloc(plan->events + (size_t)1, sizeof *owners);
    writer->handles = calloc(plan->events + (size_t)1, sizeof *writer->handles);
    ck_assert(owners != NULL && writer->handles != NULL);
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (plan->ops[i].kind != OP_RECORD)
            continue;
        uint32_t event = plan->ops[i].event.event, handle = 0;
        while (handle < count && last[owners[handle]] > i)
            handle++;
        if (!writer->maker->reuses_handles || handle == count)
            handle = count++;
        owners[handle] = event;
        writer->handles[event] = 0x88000000 + 8 * (uint64_t)handle;
    }
    free(owners);
    free(last);
}

/* --- calls --- */

static uint64_t put_call(struct writer *writer, const char *name, int64_t start, int64_t end,
                         int result)
{
    const uint64_t call = writer->next_call++;
    fprintf(writer->out, "[\"call\",%" PRIu64 ",\"%s\",%d,%" PRId64 ",%" PRId64 ",%d]\n", call,
            name, THREAD, start, later(start, end), result);
    return call;
}

/* Puts in, now and then, a call that makes no op. */
static void put_noise(struct writer *writer, int64_t at)
{
    uint64_t *state = &writer->maker->random;
    switch (test_random_below(state, 8)) {
    case 0:
        put_call(writer, "cudaEventQuery_v3020", at - 3, at - 2, 600);
        break;
    case 1:
        fprintf(writer->out, "[\"copy\",%" PRIu64 ",%d,%u,1,2,3]\n",
                put_call(writer, "cudaMemcpyAsync_v3020", at - 4, at - 3, 1), CONTEXT,
                number_of(writer, 0));
        break;
    case 2:
        put_call(writer, "cudaStreamIsCapturing_v10000", at - 2, at - 1, 0);
        break;
    default:
        break;
    }
}

static void put_copy(struct writer *writer, uint64_t call, const struct op *op,
                     const struct range *to, const struct range *from)
{
    fprintf(writer->out, "[\"copy\",%" PRIu64 ",%d,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]\n",
            call, CONTEXT, number_of(writer, op->stream), address_of(to), address_of(from),
            to->bytes);
}

/* Puts how a copy or a memset ran. */
static void put_ran(struct writer *writer, uint64_t call, const struct op *op, uint64_t node)
{
    const struct span *span = timeline_span(writer->timeline, op->id);
    const char *host = writer->plan->memory == MEMORY_PAGEABLE ? "\"pageable\"" : "\"pinned\"";
    const char *from = op->kind == OP_H2D ? host : "\"device\"";
    const char *to = op->kind == OP_D2H ? host : "\"device\"";
    fprintf(writer->out,
            "[\"op\",%" PRIu64 ",\"%s\",%d,%u,%" PRId64 ",%" PRId64 ",%" PRIu64
            ",%s,%s,%" PRIu64 "]\n",
            call, op_kind_name(op->kind), CONTEXT, number_of(writer, op->stream),
            stretched(span->start_ns), stretched(span->end_ns), op_bytes(op), from, to, node);
}

static void put_kernel(struct writer *writer, uint64_t call, const struct op *op, uint64_t node)
{
    const struct span *span = timeline_span(writer->timeline, op->id);
    fprintf(writer->out,
            "[\"kernel\",%" PRIu64 ",%d,%u,%" PRId64 ",%" PRId64 ",%u,%u,256,32,0,%" PRIu64
            "]\n",
            call, CONTEXT, number_of(writer, op->stream), stretched(span->start_ns),
            stretched(span->end_ns), 5 + op->kernel.link, op->kernel.blocks, node);
}

static void put_launch(struct writer *writer, uint64_t call, const struct op *op)
{
    struct access access[OP_ACCESS_MAX];
    const int count = op_accesses(op, access);
    fprintf(writer->out, "[\"launch\",%" PRIu64 ",%d,%u,[", call, CONTEXT,
            number_of(writer, op->stream));
    for (int i = 0; i < count; i++)
        fprintf(writer->out, "%" PRIu64 ",", address_of(&access[i].range));
    fprintf(writer->out, "%" PRIu64 "]]\n", op->kernel.count);
}

static void put_event(struct writer *writer, uint64_t call, const struct op *op)
{
    fprintf(writer->out, "[\"%s\",%" PRIu64 ",%d,%u,%" PRIu64 "]\n",
            op->kind == OP_RECORD ? "record" : "wait", call, CONTEXT,
            number_of(writer, op->stream), writer->handles[op->event.event]);
}

static void put_sync(struct writer *writer, uint64_t call, const struct op *op)
{
    if (op->stream < writer->plan->streams)
        fprintf(writer->out, "[\"sync\",%" PRIu64 ",\"stream\",%d,%u]\n", call, CONTEXT,
                number_of(writer, op->stream));
    else
        fprintf(writer->out, "[\"sync\",%" PRIu64 ",\"device\",%d,null]\n", call, CONTEXT);
}

static void put_function(struct writer *writer, uint64_t call, const struct op *op)
{
    const struct span *span = timeline_span(writer->timeline, op->id);
    fprintf(writer->out, "[\"function\",%" PRIu64 ",%d,%u,%" PRId64 ",%" PRId64 "]\n", call,
            CONTEXT, number_of(writer, op->stream), stretched(span->start_ns),
            stretched(span->end_ns));
}

/* Memory is taken and given back by two calls, of which the first waits for the device; its
 * address is one that was there before. */
static void put_alloc(struct writer *writer, const struct op *op, int64_t start, int64_t end)
{
    int64_t idle = start;
    for (uint32_t i = 0; i < writer->timeline->span_count; i++) {
        const struct span *span = &writer->timeline->spans[i];
        if (op_on_device(span->kind) && stretched(span->end_ns) <= end)
            idle = later(idle, stretched(span->end_ns));
    }
    const int64_t middle = idle + (end - idle) / 2;
    const uint64_t address = 0x600000000000;
    put_call(writer, op->alloc.pinned ? "cudaMallocHost_v3020" : "cudaMalloc_v3020", start,
             middle, 0);
    put_call(writer, op->alloc.pinned ? "cudaFreeHost_v3020" : "cudaFree_v3020", middle, end,
             0);
    fprintf(writer->out,
            "[\"memory\",\"%s\",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%s]\n[\"free\",%" PRId64
            ",%" PRIu64 "]\n",
            op->alloc.pinned ? "pinned" : "device", start, address, op->alloc.bytes,
            op->alloc.pinned ? "null" : "0", end, address);
}

static void put_set(struct writer *writer, uint64_t call, const struct op *op)
{
    fprintf(writer->out, "[\"set\",%" PRIu64 ",%d,%u,%" PRIu64 ",%" PRIu64 "]\n", call, CONTEXT,
            number_of(writer, op->stream), address_of(&op->set.range), op->set.range.bytes);
}

static const char *call_name(const struct writer *writer, const struct op *op)
{
    if (op->kind == OP_KERNEL)
        return "cudaLaunchKernel_v7000";
    if (op->kind == OP_SYNC && op->stream == writer->plan->streams)
        return "cudaDeviceSynchronize_v3020";
    return op_rows[op->kind].call;
}

static void put_op(struct writer *writer, const struct op *op, int64_t start, int64_t end)
{
    if (op->kind == OP_ALLOC) {
        put_alloc(writer, op, start, end);
        return;
    }
    const uint64_t call = put_call(writer, call_name(writer, op), start, end, 0);
    switch (op->kind) {
    case OP_H2D:
        put_copy(writer, call, op, &op->copy.device, &op->copy.host);
        break;
    case OP_D2H:
        put_copy(writer, call, op, &op->copy.host, &op->copy.device);
        break;
    case OP_D2D:
        put_copy(writer, call, op, &op->move.to, &op->move.from);
        break;
    case OP_MEMSET:
        put_set(writer, call, op);
        break;
    case OP_KERNEL:
        put_launch(writer, call, op);
        put_kernel(writer, call, op, 0);
        return;
    case OP_RECORD:
    case OP_WAIT:
        put_event(writer, call, op);
        return;
    case OP_SYNC:
        put_sync(writer, call, op);
        return;
    default:
        put_function(writer, call, op);
        return;
    }
    put_ran(writer, call, op, 0);
}

static void put_ops(struct writer *writer, int64_t issued_ns)
{
    const struct plan *plan = writer->plan;
    for (uint32_t i = 0, next; i < plan->op_count; i = next) {
        for (next = i + 1; next < plan->op_count && plan->ops[next].kind == OP_CPU;)
            next++;
        if (plan->ops[i].kind == OP_CPU)
            continue;
        const int64_t start = stretched(writer->timeline->issue_ns[i]);
        const int64_t end =
            stretched(next < plan->op_count ? writer->timeline->issue_ns[next] : issued_ns);
        put_noise(writer, start);
        put_op(writer, &plan->ops[i], start, end - STRETCH / 2);
    }
}

/* --- graphs --- */

/* Nodes that the next node of a stream follows, and those that an event stands for. */
struct frontier {
    bool *nodes; /* per op of the plan */
};

static struct frontier *frontiers(uint32_t count, uint32_t ops)
{
    struct frontier *all = calloc(count + (size_t)1, sizeof *all);
    ck_assert_ptr_nonnull(all);
    for (uint32_t i = 0; i < count; i++)
        ck_assert_ptr_nonnull(all[i].nodes = calloc(ops, sizeof *all[i].nodes));
    return all;
}

static void frontiers_free(struct frontier *all, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(all[i].nodes);
    free(all);
}

/* Puts what a node is, and what it touches. */
static void put_node_line(struct writer *writer, const struct op *op, uint64_t id)
{
    const bool set = op->kind == OP_MEMSET;
    struct access access[OP_ACCESS_MAX];
    const int count = op_accesses(op, access);
    fprintf(writer->out, "[\"node\",77,%" PRIu64 ",\"%s\"", id,
            op->kind == OP_CALLBACK ? "function" : op_kind_name(op->kind));
    if (op->kind == OP_KERNEL) {
        for (int i = 0; i < count; i++)
            fprintf(writer->out, "%s%" PRIu64, i == 0 ? ",[" : ",",
                    address_of(&access[i].range));
        fputs("]", writer->out);
    } else if (set) {
        fprintf(writer->out, ",%" PRIu64 ",%" PRIu64, address_of(&op->set.range),
                op->set.range.bytes);
    } else if (op->kind != OP_CALLBACK) {
        fprintf(writer->out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, address_of(&access[1].range),
                address_of(&access[0].range), access[0].range.bytes);
    }
    fputs("]\n", writer->out);
}

/* Puts a node and its edges, as a capture of the plan's calls would make them. */
static void put_node(struct writer *writer, const struct op *op, struct frontier *stream)
{
    const uint32_t count = writer->plan->op_count;
    const uint64_t *ids = writer->maker->node_ids;
    put_node_line(writer, op, ids[op->id]);
    for (uint32_t k = 0; k < count; k++) {
        if (stream->nodes[k])
            fprintf(writer->out, "[\"edge\",77,%" PRIu64 ",%" PRIu64 "]\n", ids[k],
                    ids[op->id]);
        stream->nodes[k] = k == op->id;
    }
}

static void put_nodes(struct writer *writer)
{
    const struct plan *plan = writer->plan;
    struct frontier *streams = frontiers(plan->streams, plan->op_count);
    struct frontier *events = frontiers(plan->events, plan->op_count);
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        for (uint32_t k = 0; op->kind == OP_RECORD && k < plan->op_count; k++)
            events[op->event.event].nodes[k] = streams[op->stream].nodes[k];
        for (uint32_t k = 0; op->kind == OP_WAIT && k < plan->op_count; k++)
            streams[op->stream].nodes[k] |= events[op->event.event].nodes[k];
        if (op_is_node(op->kind))
            put_node(writer, op, &streams[op->stream]);
    }
    frontiers_free(streams, plan->streams);
    frontiers_free(events, plan->events);
}

static void put_graph(struct writer *writer)
{
    const struct plan *plan = writer->plan;
    uint64_t *ids = writer->maker->node_ids = calloc(plan->op_count + (size_t)1, sizeof *ids);
    ck_assert_ptr_nonnull(ids);
    for (uint32_t i = 0; i < plan->op_count; i++)
        ids[i] = 1000 + i;
    for (uint32_t i = plan->op_count; i > 1; i--) {
        const uint32_t other = test_random_below(&writer->maker->random, i);
        const uint64_t id = ids[i - 1];
        ids[i - 1] = ids[other];
        ids[other] = id;
    }
    put_nodes(writer);
    const uint64_t call = put_call(writer, "cudaGraphLaunch_v10000", stretched(0),
                                   stretched(writer->timeline->launched_ns), 0);
    fprintf(writer->out, "[\"graph\",%" PRIu64 ",%d,%u,77]\n", call, CONTEXT,
            number_of(writer, 0));
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind == OP_KERNEL)
            put_kernel(writer, call, op, ids[i]);
        else if (op_on_device(op->kind))
            put_ran(writer, call, op, ids[i]);
    }
}

void recording_make(FILE *out, struct recording_maker *maker, const struct plan *plan,
                    struct timeline *timeline)
{
    struct writer writer = {.out = out, .maker = maker, .plan = plan, .timeline = timeline};
    put_head(&writer);
    deal_handles(&writer);
    if (plan->issue == ISSUE_GRAPH)
        put_graph(&writer);
    else
        put_ops(&writer, timeline_time_ns(timeline));
    fputs("[\"end\",999999999999,\"exit\"]\n", out);
    free(writer.handles);
}
