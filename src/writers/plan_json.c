/* plan_json.c - plans as JSON: an object per op, on a line of its own, so that a plan of
 * millions of ops takes no memory beside itself. docs/architecture.md has the schema. */
#include "core/version.h"
#include "report/report.h"
#include "writers/writer.h"

enum { SCHEMA = 1, INDENT = 2 };

/* Buffers of a recorded plan have numbers. */
static void put_range(struct json *json, const struct plan *plan, const struct range *range)
{
    json_key(json, "buffer");
    if (plan->recorded != NULL)
        json_put_count(json, range->buffer);
    else
        json_put_text(json, buffer_name(range->buffer));
    json_put_count(json_key(json, "offset"), range->offset);
    json_put_count(json_key(json, "bytes"), range->bytes);
}

/* Writes the ranges that an op reads, or those that it writes. */
static void put_accesses(struct json *json, const char *key, const struct plan *plan,
                         const struct op *op, bool writes)
{
    struct access room[OP_ACCESS_MAX];
    uint32_t count;
    const struct access *access = plan_accesses(plan, op, room, &count);
    json_open(json_key(json, key), '[');
    for (uint32_t i = 0; i < count; i++) {
        if ((access[i].writes != 0) != writes)
            continue;
        json_open(json, '{');
        put_range(json, plan, &access[i].range);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Writes what only ops of this kind have. */
static void put_work(struct json *json, const struct op *op)
{
    switch (op->kind) {
    case OP_KERNEL:
        json_put_count(json_key(json, "elements"), op->kernel.count);
        json_put_count(json_key(json, "blocks"), op->kernel.blocks);
        break;
    case OP_CPU:
        json_put_count(json_key(json, "elements"), op->cpu.count);
        break;
    case OP_RECORD:
    case OP_WAIT:
    case OP_SYNC_EVENT:
        json_put_count(json_key(json, "event"), op->event.event);
        break;
    case OP_ALLOC:
        json_put_count(json_key(json, "bytes"), op->alloc.bytes);
        if (op->alloc.ordered)
            json_put_count(json_key(json, "order_of_stream"), op->alloc.stream);
        break;
    case OP_CALLBACK:
        json_put_integer(json_key(json, "sleep_ns"), op->callback.sleep_ns);
        break;
    default:
        if (op_bytes(op) > 0)
            json_put_count(json_key(json, "bytes"), op_bytes(op));
        break;
    }
}

/* Writes what was seen of an op of a recorded plan. */
static void put_seen(struct json *json, const struct op_recorded *seen)
{
    json_put_count(json_key(json, "thread"), seen->thread);
    json_put_integer(json_key(json, "host_ns"), seen->host_ns);
    json_put_integer(json_key(json, "work_ns"), seen->work_ns);
    json_put_real(json_key(json, "fill"), seen->fill);
    json_put_bool(json_key(json, "pageable"), seen->pageable);
    json_put_bool(json_key(json, "waits"), seen->waits);
    json_put_bool(json_key(json, "sure"), seen->sure);
}

static void put_op(struct json *json, const struct plan *plan, const struct op *op)
{
    char label[OP_LABEL];
    json_open_flat(json, '{');
    json_put_count(json_key(json, "id"), op->id);
    json_put_text(json_key(json, "kind"), op_kind_name(op->kind));
    json_put_text(json_key(json, "name"), plan_op_label(plan, op, label));
    json_put_count(json_key_of(json, "stream", op->stream < plan->streams), op->stream);
    json_put_integer(json_key_of(json, "tile", op->tile >= 0), op->tile);
    json_put_count(json_key_of(json, "tiles", op->tile >= 0), op_tiles(op));
    put_work(json, op);
    put_accesses(json, "reads", plan, op, false);
    put_accesses(json, "writes", plan, op, true);
    if (plan->recorded != NULL)
        put_seen(json, plan_seen(plan, op));
    json_close(json, '}');
}

static void put_hazards(struct json *json, const struct plan *plan,
                        const struct run_report *run)
{
    char text[HAZARD_TEXT];
    json_open(json_key(json, "hazards"), '[');
    EACH (const struct hazard, hazard, run->hazards, run->hazard_count) {
        json_open_flat(json, '{');
        json_put_count(json_key(json, "first"), hazard->first);
        json_put_count(json_key(json, "second"), hazard->second);
        put_range(json, plan, &hazard->where);
        json_put_text(json_key(json, "text"), hazard_text(plan, hazard, text));
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_streams(struct json *json, const struct plan *plan)
{
    json_open(json_key(json, "streams"), '[');
    for (uint32_t i = 0; i < plan->streams; i++) {
        json_open_flat(json, '{');
        json_put_text(json_key(json, "kind"), stream_kind_name(plan_stream_kind(plan, i)));
        json_put_integer(json_key(json, "priority"),
                         plan->priorities != NULL ? plan->priorities[i] : 0);
        if (plan->devices > 1)
            json_put_count(json_key(json, "device"), plan_stream_home(plan, i).device);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void begin(struct plan_list *list)
{
    struct json *json = &list->json;
    list->json = (struct json){.put = &list->put, .indent = INDENT};
    put_begin(&list->put, list->out);
    json_open(json, '{');
    json_put_integer(json_key(json, "schema"), SCHEMA);
    json_put_text(json_key(json, "version"), PIPELINE_VERSION);
    json_open(json_key(json, "plans"), '[');
}

static void put_buffers(struct json *json, const struct plan_recorded *recorded)
{
    json_open(json_key(json, "buffers"), '[');
    for (uint32_t i = 0; i < recorded->buffer_count; i++) {
        json_open_flat(json, '{');
        json_put_count(json_key(json, "address"), recorded->buffers[i].address);
        json_put_count(json_key(json, "bytes"), recorded->buffers[i].bytes);
        json_put_bool(json_key(json, "host"), recorded->buffers[i].host);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Writes what a plan that was built from settings has. */
static void put_built(struct json *json, const struct plan *plan,
                      const struct settings *settings)
{
    json_put_settings(json_key(json, "settings"), settings);
    json_put_count(json_key(json, "elements"), plan->elements);
    json_put_count(json_key(json, "tiles"), plan->tiles);
    json_put_count(json_key(json, "cpu_tiles"), plan->cpu_tiles);
    json_put_count(json_key(json, "slots"), plan->slots);
    json_put_count(json_key(json, "host_bytes"), plan_host_bytes(plan));
    json_put_count(json_key(json, "device_bytes"), plan_device_bytes(plan));
}

void plan_list_add(struct plan_list *list, const struct plan *plan,
                   const struct settings *settings, const struct run_report *run)
{
    struct json *json = &list->json;
    if (json->put == NULL)
        begin(list);
    json_open(json, '{');
    json_put_text(json_key(json, "name"), settings->name);
    if (plan->recorded == NULL)
        put_built(json, plan, settings);
    else
        put_buffers(json, plan->recorded);
    json_put_count(json_key(json, "events"), plan->events);
    put_streams(json, plan);
    if (plan->recorded == NULL)
        put_hazards(json, plan, run);
    json_open(json_key(json, "ops"), '[');
    for (uint32_t i = 0; i < plan->op_count; i++)
        put_op(json, plan, &plan->ops[i]);
    json_close(json, ']');
    json_close(json, '}');
}

void plan_list_end(struct plan_list *list)
{
    if (list->json.put == NULL)
        return;
    json_close(&list->json, ']');
    json_close(&list->json, '}');
    PUT_LITERAL(&list->put, "\n");
    put_end(&list->put);
    list->json.put = NULL;
}
