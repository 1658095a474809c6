/* nsys_export.c - runs of ours in the forms of profilers' exports. */
#include "nsys_export.h"

#include <inttypes.h>
#include <string.h>

enum {
    PROCESS = 7 << 24, /* globalPid, and the upper part of globalTid */
    THREAD = PROCESS | 7,
    CONTEXT = 1,
    MEMORY_KIND_PAGEABLE = 0,
    MEMORY_KIND_PINNED = 1,
    MEMORY_KIND_DEVICE = 2,
    OUTSIDE_NS = 150, /* the host is outside of CUDA between two calls */
    LAST_CALL_NS = 2000,
};

/* The calls of the host, in the order of their names in StringIds. */
enum api {
    API_COPY,
    API_LAUNCH,
    API_SET,
    API_RECORD,
    API_WAIT,
    API_HOST_FUNC,
    API_STREAM_SYNC,
    API_DEVICE_SYNC,
    API_MALLOC,
    API_FREE,
    API_MALLOC_HOST,
    API_FREE_HOST,
    API_COUNT
};
static const char *const call_names[API_COUNT] = {
    [API_COPY] = "cudaMemcpyAsync_v3020",
    [API_LAUNCH] = "cudaLaunchKernel_v7000",
    [API_SET] = "cudaMemsetAsync_v3020",
    [API_RECORD] = "cudaEventRecord_v3020",
    [API_WAIT] = "cudaStreamWaitEvent_v3020",
    [API_HOST_FUNC] = "cudaLaunchHostFunc_v10000",
    [API_STREAM_SYNC] = "cudaStreamSynchronize_v3020",
    [API_DEVICE_SYNC] = "cudaDeviceSynchronize_v3020",
    [API_MALLOC] = "cudaMalloc_v3020",
    [API_FREE] = "cudaFree_v3020",
    [API_MALLOC_HOST] = "cudaMallocHost_v3020",
    [API_FREE_HOST] = "cudaFreeHost_v3020",
};
enum { NAME_CALLS = 100, NAME_KERNELS = 200 }; /* the first number of each in StringIds */

struct export
{
    FILE *out;
    const struct plan *plan;
    const struct timeline *timeline;
    unsigned leaves;
    bool chrome; /* events of a Chrome trace, in place of rows of a database */
    int calls;   /* that have a number so far: calls of ops have their op's */
};

static uint32_t stream_id(const struct plan *plan, uint32_t stream)
{
    return plan_stream_kind(plan, stream) == STREAM_LEGACY ? NSYS_DEFAULT_STREAM
                                                           : NSYS_FIRST_STREAM + stream;
}

static int host_memory(const struct plan *plan)
{
    return plan->memory == MEMORY_PAGEABLE ? MEMORY_KIND_PAGEABLE : MEMORY_KIND_PINNED;
}

static bool is_copy(const struct span *span)
{
    return op_is_copy(span->kind) || span->kind == OP_D2D;
}

/* --- CSV --- */

static void put_csv_row(struct export *export, const struct span *span, const char *device)
{
    const struct plan *plan = export->plan;
    const char *host = host_memory(plan) == MEMORY_KIND_PAGEABLE ? "Pageable" : "Pinned";
    const char *from = span->kind == OP_H2D ? host : "Device";
    const char *to = span->kind == OP_D2H ? host : "Device";
    fprintf(export->out, "%" PRId64 ",%" PRId64 ",%" PRIu32, NSYS_EPOCH_NS + span->start_ns,
            span->end_ns - span->start_ns, span->op);
    if (span->kind == OP_KERNEL)
        fputs(",128,1,1,256,1,1,16,0.000,0.000,,,,", export->out);
    else if (span->kind == OP_MEMSET)
        fprintf(export->out, ",,,,,,,,,,%.3f,,Device,", (double)span->bytes / 1e6);
    else
        fprintf(export->out, ",,,,,,,,,,%.3f,,%s,%s", (double)span->bytes / 1e6, from, to);
    fprintf(export->out, ",%s (0),%d,,%" PRIu32 ",", device, CONTEXT,
            stream_id(plan, span->stream));
    if (span->kind == OP_KERNEL)
        fprintf(export->out, "\"void %s<float>(const float *, float *, unsigned long)\"\n",
                export->timeline->names[span->link]);
    else
        fprintf(export->out, "[CUDA %s]\n",
                span->kind == OP_H2D   ? "memcpy Host-to-Device"
                : span->kind == OP_D2H ? "memcpy Device-to-Host"
                : span->kind == OP_D2D ? "memcpy Device-to-Device"
                                       : "memset");
}

void nsys_export_csv(FILE *out, const struct plan *plan, const struct timeline *timeline,
                     const char *device)
{
    struct export export = {.out = out, .plan = plan, .timeline = timeline};
    fputs("Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),"
          "DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,"
          "Strm,Name\n",
          out);
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (op_on_device(span->kind))
            put_csv_row(&export, span, device);
    }
}

/* --- a Chrome trace --- */

/* Writes what all events have, up to their arguments; a pid of a device is its number. */
static void put_event(const struct export *export, const char *category, const char *name,
                      int pid, uint32_t tid, int64_t start_ns, int64_t end_ns)
{
    fprintf(export->out,
            "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": %" PRIu32
            ",\n\"ts\": %" PRId64 ".%03d, \"dur\": %" PRId64 ".%03d, \"args\": {",
            category, name, pid, tid, (NSYS_EPOCH_NS + start_ns) / 1000,
            (int)((NSYS_EPOCH_NS + start_ns) % 1000), (end_ns - start_ns) / 1000,
            (int)((end_ns - start_ns) % 1000));
}

static void put_chrome_span(const struct export *export, const struct span *span)
{
    static const char *const kinds[] = {[OP_H2D] = "HtoD (%s -> Device)",
                                        [OP_D2H] = "DtoH (Device -> %s)",
                                        [OP_D2D] = "DtoD (Device -> Device)"};
    const uint32_t stream = stream_id(export->plan, span->stream);
    char name[256], kind[64];
    const char *category = is_copy(span)             ? "gpu_memcpy"
                           : span->kind == OP_MEMSET ? "gpu_memset"
                                                     : "kernel";
    if (is_copy(span)) {
        snprintf(kind, sizeof kind, kinds[span->kind],
                 host_memory(export->plan) == MEMORY_KIND_PAGEABLE ? "Pageable" : "Pinned");
        snprintf(name, sizeof name, "Memcpy %s", kind);
    } else if (span->kind == OP_MEMSET) {
        strcpy(name, "Memset (Device)");
    } else {
        snprintf(name, sizeof name, "void %s<float>(float const*, \\\"\\u00b5\\\")",
                 export->timeline->names[span->link]);
    }
    put_event(export, category, name, 0, stream, span->start_ns, span->end_ns);
    fprintf(export->out,
            "\"External id\": 3, \"device\": 0, \"context\": %d, \"stream\": %" PRIu32
            ", \"correlation\": %" PRIu32 ", \"grid\": [128, 1, 1]",
            CONTEXT, stream, span->op + 1);
    fprintf(export->out, is_copy(span) ? ", \"bytes\": %" PRIu64 "}},\n" : "}},\n",
            span->bytes);
}

/* Writes a stream's wait for what op `wait` of the plan waits for. */
static void put_chrome_wait(const struct export *export, const struct op *wait,
                            int64_t start_ns, int64_t end_ns)
{
    const struct plan *plan = export->plan;
    uint32_t record = wait->id;
    while (record > 0 && !(plan->ops[record].kind == OP_RECORD &&
                           plan->ops[record].event.event == wait->event.event))
        record--;
    put_event(export, "cuda_sync", "Stream Wait Event", 0, stream_id(plan, wait->stream),
              start_ns, end_ns);
    fprintf(export->out,
            "\"stream\": %" PRIu32 ", \"correlation\": %" PRIu32
            ", \"device\": 0, \"context\": %d, \"wait_on_stream\": %" PRIu32
            ", \"wait_on_cuda_event_record_corr_id\": %" PRIu32 "}},\n",
            stream_id(plan, wait->stream), wait->id + 1, CONTEXT,
            stream_id(plan, plan->ops[record].stream), record + 1);
}

/* --- SQLite: what ran --- */

static void put_names(const struct export *export)
{
    for (int i = 0; i < API_COUNT; i++)
        fprintf(export->out, "INSERT INTO StringIds VALUES (%d, '%s');\n", NAME_CALLS + i,
                call_names[i]);
    for (uint32_t i = 0; i < export->timeline->name_count; i++)
        fprintf(export->out,
                "INSERT INTO StringIds VALUES (%" PRIu32
                ", 'void %s<float>(const float *, float *, unsigned long)');\n",
                NAME_KERNELS + i, export->timeline->names[i]);
}

static void put_target(const struct export *export, const char *device)
{
    const struct plan *plan = export->plan;
    fprintf(export->out, "INSERT INTO TARGET_INFO_GPU VALUES (1, 0, '%s', '0000:19:00.0');\n",
            device);
    if (export->leaves & NSYS_NO_STREAMS)
        return;
    fprintf(export->out,
            "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER NOT NULL, hwId "
            "INTEGER NOT NULL, vmId INTEGER NOT NULL, processId INTEGER NOT NULL, deviceId "
            "INTEGER NOT NULL, contextId INTEGER NOT NULL, parentContextId INTEGER, "
            "isGreenContext INTEGER);\n"
            "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (%d, 0, 0, %d, 0, %d, NULL, "
            "0);\n"
            "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER NOT NULL, hwId INTEGER NOT "
            "NULL, vmId INTEGER NOT NULL, processId INTEGER NOT NULL, contextId INTEGER NOT "
            "NULL, priority INTEGER NOT NULL, flag INTEGER NOT NULL);\n"
            "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (%d, 0, 0, %d, %d, 0, 3);\n",
            NSYS_DEFAULT_STREAM, PROCESS >> 24, CONTEXT, NSYS_DEFAULT_STREAM, PROCESS >> 24,
            CONTEXT);
    for (uint32_t i = 0; i < plan->streams; i++) {
        enum stream_kind kind = plan_stream_kind(plan, i);
        if (kind != STREAM_LEGACY)
            fprintf(export->out,
                    "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (%" PRIu32
                    ", 0, 0, %d, %d, 0, %d);\n",
                    stream_id(plan, i), PROCESS >> 24, CONTEXT,
                    kind == STREAM_NONBLOCKING ? 2 : 1);
    }
}

static void put_span(const struct export *export, const struct span *span)
{
    if (export->chrome) {
        put_chrome_span(export, span);
        return;
    }
    const char *table = is_copy(span)             ? "MEMCPY"
                        : span->kind == OP_MEMSET ? "MEMSET"
                                                  : "KERNEL";
    fprintf(export->out,
            "INSERT INTO CUPTI_ACTIVITY_KIND_%s VALUES (%" PRId64 ", %" PRId64
            ", 0, %d, NULL, %" PRIu32 ", %" PRIu32 ", %d",
            table, NSYS_EPOCH_NS + span->start_ns, NSYS_EPOCH_NS + span->end_ns, CONTEXT,
            stream_id(export->plan, span->stream), span->op + 1, PROCESS);
    if (is_copy(span)) {
        int host = host_memory(export->plan), device = MEMORY_KIND_DEVICE;
        fprintf(export->out, ", %" PRIu64 ", %d, %d, %d);\n", span->bytes,
                span->kind == OP_H2D   ? 1
                : span->kind == OP_D2H ? 2
                                       : 8,
                span->kind == OP_H2D ? host : device, span->kind == OP_D2H ? host : device);
    } else if (span->kind == OP_MEMSET) {
        fprintf(export->out, ", 0, %" PRIu64 ", %d);\n", span->bytes, MEMORY_KIND_DEVICE);
    } else {
        fprintf(export->out, ", %d, %d, NULL, 128, 256);\n", NAME_KERNELS + span->link,
                NAME_KERNELS + span->link);
    }
}

/* --- SQLite: the host's calls --- */

/* Writes a call that lasts from `start_ns` to `end_ns`, less what the host is outside. */
static void put_call(struct export *export, enum api call, uint32_t number, int64_t start_ns,
                     int64_t end_ns)
{
    int64_t outside_ns = end_ns - start_ns > 2 * OUTSIDE_NS ? OUTSIDE_NS : 0;
    if (export->leaves & NSYS_NO_CALLS)
        return;
    export->calls++;
    if (export->chrome) {
        put_event(export, "cuda_runtime", call_names[call], 7, 7, start_ns,
                  end_ns - outside_ns);
        fprintf(export->out, "\"cbid\": 1, \"correlation\": %" PRIu32 "}},\n", number);
        return;
    }
    fprintf(export->out,
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%" PRId64 ", %" PRId64
            ", 0, %d, %" PRIu32 ", %d, 0);\n",
            NSYS_EPOCH_NS + start_ns, NSYS_EPOCH_NS + end_ns - outside_ns, THREAD, number,
            NAME_CALLS + call);
}

static void put_sync(const struct export *export, int type, uint32_t stream, int event,
                     uint32_t number, int64_t start_ns, int64_t end_ns)
{
    if (export->chrome)
        return;
    fprintf(export->out,
            "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (%" PRId64 ", %" PRId64
            ", 0, %d, NULL, %" PRIu32 ", %" PRIu32 ", %d, %d, %d);\n",
            NSYS_EPOCH_NS + start_ns, NSYS_EPOCH_NS + end_ns, CONTEXT, stream, number, PROCESS,
            type, event);
}

/* Returns when the call for op `id` was over. */
static int64_t call_end(const struct timeline *timeline, uint32_t id)
{
    return id + 1 < timeline->issue_count ? timeline->issue_ns[id + 1]
                                          : timeline->issue_ns[id] + LAST_CALL_NS;
}

/* Writes the two calls that take memory and give it back. */
static void put_alloc(struct export *export, const struct op *op, int64_t start_ns,
                      int64_t end_ns)
{
    int64_t half_ns = start_ns + (end_ns - start_ns) / 2;
    bool pinned = op->alloc.pinned;
    put_call(export, pinned ? API_MALLOC_HOST : API_MALLOC, op->id + 1, start_ns, half_ns);
    put_call(export, pinned ? API_FREE_HOST : API_FREE, export->plan->op_count + op->id + 1,
             half_ns, end_ns);
}

static void put_op_call(struct export *export, const struct op *op)
{
    static const enum api calls[OP_KIND_COUNT] = {
        [OP_H2D] = API_COPY,           [OP_KERNEL] = API_LAUNCH, [OP_D2H] = API_COPY,
        [OP_RECORD] = API_RECORD,      [OP_WAIT] = API_WAIT,     [OP_D2D] = API_COPY,
        [OP_CALLBACK] = API_HOST_FUNC, [OP_MEMSET] = API_SET,
    };
    const struct plan *plan = export->plan;
    int64_t start_ns = export->timeline->issue_ns[op->id];
    int64_t end_ns = call_end(export->timeline, op->id);
    bool device = op->stream >= plan->streams;
    if (op->kind == OP_CPU)
        return;
    if (op->kind == OP_ALLOC) {
        put_alloc(export, op, start_ns, end_ns);
        return;
    }
    if (op->kind == OP_SYNC) {
        put_call(export, device ? API_DEVICE_SYNC : API_STREAM_SYNC, op->id + 1, start_ns,
                 end_ns);
        put_sync(export, device ? 4 : 3, device ? 0 : stream_id(plan, op->stream), 0,
                 op->id + 1, start_ns, end_ns);
        return;
    }
    put_call(export, calls[op->kind], op->id + 1, start_ns, end_ns);
    if (op->kind == OP_WAIT && export->chrome)
        put_chrome_wait(export, op, start_ns, end_ns);
    if (op->kind == OP_WAIT)
        put_sync(export, 2, stream_id(plan, op->stream), (int)op->event.event + 1, op->id + 1,
                 start_ns, end_ns);
    if (op->kind == OP_RECORD && !export->chrome && !(export->leaves & NSYS_NO_EVENTS))
        fprintf(export->out,
                "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, %d, %" PRIu32
                ", %" PRIu32 ", %d, %" PRIu32 ");\n",
                CONTEXT, stream_id(plan, op->stream), op->id + 1, PROCESS, op->event.event + 1);
}

static void put_tables(const struct export *export)
{
    fputs("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);\n"
          "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name "
          "TEXT, busLocation TEXT);\n"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT "
          "NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId "
          "INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
          "demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, "
          "gridX INTEGER NOT NULL, blockX INTEGER NOT NULL);\n"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT "
          "NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId "
          "INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes "
          "INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER);\n"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT "
          "NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId "
          "INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value "
          "INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER);\n"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end "
          "INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
          "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid "
          "INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL);\n"
          "CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, "
          "label TEXT);\n"
          "INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES "
          "(1, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE', 'Event sync'), "
          "(2, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT', 'Stream wait sync'), "
          "(3, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE', 'Stream sync'), "
          "(4, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE', 'Context sync');\n",
          export->out);
    if (!(export->leaves & NSYS_NO_CALLS))
        fputs("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER "
              "NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId "
              "INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);\n",
              export->out);
    if (!(export->leaves & NSYS_NO_EVENTS))
        fputs("CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER NOT NULL, "
              "contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, "
              "globalPid INTEGER, eventId INTEGER NOT NULL);\n",
              export->out);
}

/* Returns the i-th of `count` rows, from the end where they are written backwards. */
static uint32_t row_of(const struct export *export, uint32_t i, uint32_t count)
{
    return export->leaves & NSYS_BACKWARDS ? count - 1 - i : i;
}

/* Writes all that ran, and all calls. */
static void put_rows(struct export *export)
{
    const struct plan *plan = export->plan;
    const struct timeline *timeline = export->timeline;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[row_of(export, i, timeline->span_count)];
        if (op_on_device(span->kind))
            put_span(export, span);
    }
    for (uint32_t i = 0; i < plan->op_count; i++)
        put_op_call(export, &plan->ops[row_of(export, i, plan->op_count)]);
    /* Every program waits for its results. */
    if (plan->op_count > 0) {
        int64_t since_ns = call_end(timeline, plan->op_count - 1);
        int64_t end_ns = timeline_time_ns(timeline) + LAST_CALL_NS;
        put_call(export, API_DEVICE_SYNC, 2 * plan->op_count + 1, since_ns,
                 end_ns > since_ns ? end_ns : since_ns + 1);
    }
}

void nsys_export_sql(FILE *out, const struct plan *plan, const struct timeline *timeline,
                     const char *device, unsigned leaves)
{
    struct export export = {.out = out, .plan = plan, .timeline = timeline, .leaves = leaves};
    fputs("BEGIN;\n", out);
    put_tables(&export);
    put_names(&export);
    put_target(&export, device);
    put_rows(&export);
    fputs("COMMIT;\n", out);
}

void nsys_export_chrome(FILE *out, const struct plan *plan, const struct timeline *timeline,
                        const char *device)
{
    struct export export = {.out = out,
                            .plan = plan,
                            .timeline = timeline,
                            .leaves = NSYS_BACKWARDS,
                            .chrome = true};
    fputs("{\n\"schemaVersion\": 1,\n\"traceEvents\": [\n"
          "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 7, \"args\": {\"name\": "
          "\"a\"}},\n",
          out);
    put_rows(&export);
    fprintf(
        out,
        "{\"ph\": \"X\", \"cat\": \"Trace\", \"name\": \"PyTorch Profiler (0)\", \"ts\": 0, "
        "\"dur\": 9, \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\", \"args\": {\"Op "
        "count\": 0}}],\n"
        "\"deviceProperties\": [{\"id\": 0, \"name\": \"%s\", \"numSms\": 132}],\n"
        "\"baseTimeNanoseconds\": 1790857026000000000\n}\n",
        device);
}
