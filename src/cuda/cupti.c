/* cupti.c - opens CUPTI, takes its buffers of records and keeps what is wanted of them, and
 * remembers the clone of each captured node. */
#include "cuda/run.h"

#include "core/compare.h"
#include "core/items.h"

#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- the library --- */

/* A function of the library, and the function pointer to put its address in. */
struct cupti_function {
    const char *name;
    void *place;
};

/* Returns the library as dlopen() gives it, or NULL. It is never closed: the driver keeps
 * calling into it. */
static void *open_library(void)
{
    /* First the names that the linker's own places are searched for, then the toolkit's. */
    static const char *const names[] = {
        "libcupti.so",
        "libcupti.so.13",
        "libcupti.so.12",
        "/usr/local/cuda/lib64/libcupti.so",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
        "/usr/local/cuda/lib64/libcupti.so.13",
        "/usr/local/cuda/lib64/libcupti.so.12",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL)
            return library;
    }
    return NULL;
}

/* Sets every function's pointer. Returns false if the library lacks one: it is too old. */
static bool find_functions(void *library, const struct cupti_function *functions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(library, functions[i].name);
        if (function == NULL)
            return false;
        memcpy(functions[i].place, &function, sizeof function);
    }
    return true;
}

/* --- records --- */

/* In every version of CUPTI since that of CUDA 11 a record begins with the fields that are read
 * here: these struct types stand for their predecessors and successors. */
typedef CUpti_ActivityMemcpy5 memcpy_record;
typedef CUpti_ActivityMemcpyPtoP4 peer_record;
typedef CUpti_ActivityMemset4 memset_record;
typedef CUpti_ActivityKernel8 kernel_record;

enum { BUFFER_BYTES = 2 << 20, BUFFER_ALIGNMENT = 8, SPARE_MOST = 8 };

struct cupti_trace {
    CUptiResult (*register_timestamp)(CUpti_TimestampCallbackFunc);
    CUptiResult (*register_callbacks)(CUpti_BuffersCallbackRequestFunc,
                                      CUpti_BuffersCallbackCompleteFunc);
    CUptiResult (*enable)(CUpti_ActivityKind);
    CUptiResult (*disable)(CUpti_ActivityKind);
    CUptiResult (*finalize)(void);
    CUptiResult (*version)(uint32_t *);
    CUptiResult (*flush)(uint32_t);
    CUptiResult (*next_record)(uint8_t *, size_t, CUpti_Activity **);
    CUptiResult (*dropped_records)(CUcontext, uint32_t, size_t *);
    CUptiResult (*stream_number)(CUcontext, CUstream, uint8_t, uint32_t *);
    CUptiResult (*device_number)(CUcontext, uint32_t *);

    pthread_mutex_t lock;       /* buffers may come back on a thread of CUPTI's own */
    uint8_t *spare[SPARE_MOST]; /* buffers that came back: their pages are there already */
    size_t spare_count;
    struct cupti_record *records;
    size_t count, capacity;
    bool lost;
    bool attached; /* to this process */
    void *library;
};

static struct cupti_trace *open_trace;

static uint64_t timestamp(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void keep(struct cupti_trace *trace, struct cupti_record record)
{
    bool room = ITEMS_ROOM(trace->records, trace->count, trace->capacity);
    bool timed = record.start_ns != 0 && record.end_ns >= record.start_ns;
    trace->lost = trace->lost || !room || !timed;
    if (room && timed)
        trace->records[trace->count++] = record;
}

/* Returns the number of a device's stream, among those of all devices. */
static uint64_t stream_key(uint32_t device, uint32_t stream)
{
    return (uint64_t)device << 32 | stream;
}

/* Makes a record of CUPTI's, whose types have the same members at places of their own. */
#define RECORD_OF(activity, kind, bytes)                                                       \
    ((struct cupti_record){stream_key((activity)->deviceId, (activity)->streamId), (kind),     \
                           (bytes), (int64_t)(activity)->start, (int64_t)(activity)->end,      \
                           (activity)->graphNodeId})

/* Keeps one of CUPTI's records if it is of a kind that is wanted. */
static void keep_activity(struct cupti_trace *trace, const CUpti_Activity *activity)
{
    if (activity->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        const memcpy_record *copy = (const memcpy_record *)activity;
        enum op_kind kind = copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD   ? OP_H2D
                            : copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? OP_D2H
                            : copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD ? OP_D2D
                                                                                : OP_KIND_COUNT;
        keep(trace, RECORD_OF(copy, kind, copy->bytes));
    } else if (activity->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
        const peer_record *copy = (const peer_record *)activity;
        keep(trace, RECORD_OF(copy, OP_PEER, copy->bytes));
    } else if (activity->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const memset_record *set = (const memset_record *)activity;
        keep(trace, RECORD_OF(set, OP_MEMSET, set->bytes));
    } else if (activity->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const kernel_record *kernel = (const kernel_record *)activity;
        keep(trace, RECORD_OF(kernel, OP_KERNEL, 0));
    }
}

/* CUPTI asks for a buffer in the middle of an issued op: one whose pages are not there yet
 * would hold that call up for half a millisecond, so spare ones come first. */
static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    struct cupti_trace *trace = open_trace;
    *buffer = NULL;
    if (trace != NULL) {
        pthread_mutex_lock(&trace->lock);
        if (trace->spare_count > 0)
            *buffer = trace->spare[--trace->spare_count];
        pthread_mutex_unlock(&trace->lock);
    }
    if (*buffer == NULL)
        *buffer = aligned_alloc(BUFFER_ALIGNMENT, BUFFER_BYTES);
    *size = *buffer != NULL ? BUFFER_BYTES : 0;
    *max_records = 0; /* as many as the buffer holds */
}

/* Touches the pages of the first buffers, so that they are there before the first run. */
static void take_spare_buffers(struct cupti_trace *trace)
{
    while (trace->spare_count < SPARE_MOST / 2) {
        uint8_t *buffer = aligned_alloc(BUFFER_ALIGNMENT, BUFFER_BYTES);
        if (buffer == NULL)
            return; /* then one is taken when it is asked for */
        memset(buffer, 0, BUFFER_BYTES);
        trace->spare[trace->spare_count++] = buffer;
    }
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                      size_t size, size_t valid)
{
    (void)size;
    struct cupti_trace *trace = open_trace;
    if (trace == NULL) {
        free(buffer);
        return;
    }
    pthread_mutex_lock(&trace->lock);
    CUpti_Activity *record = NULL;
    while (valid > 0 && trace->next_record(buffer, valid, &record) == CUPTI_SUCCESS)
        keep_activity(trace, record);
    size_t dropped = 0;
    if (trace->dropped_records(context, stream, &dropped) != CUPTI_SUCCESS || dropped > 0)
        trace->lost = true;
    if (trace->spare_count < SPARE_MOST) {
        trace->spare[trace->spare_count++] = buffer;
        buffer = NULL;
    }
    pthread_mutex_unlock(&trace->lock);
    free(buffer);
}

/* Has CUPTI know the callbacks, unless it does. */
static bool attach(struct cupti_trace *trace)
{
    trace->attached =
        trace->attached ||
        (trace->register_timestamp(timestamp) == CUPTI_SUCCESS &&
         trace->register_callbacks(buffer_requested, buffer_completed) == CUPTI_SUCCESS);
    return trace->attached;
}

struct cupti_trace *cupti_trace_open(const char **why)
{
    void *library = open_library();
    struct cupti_trace *trace = calloc(1, sizeof *trace);
    if (open_trace != NULL || library == NULL || trace == NULL) {
        *why = open_trace != NULL ? "another trace is open"
               : library == NULL  ? "libcupti.so was not found"
                                  : "no memory";
        free(trace);
        return NULL;
    }
    const struct cupti_function functions[] = {
        {"cuptiActivityRegisterTimestampCallback", &trace->register_timestamp},
        {"cuptiActivityRegisterCallbacks", &trace->register_callbacks},
        {"cuptiActivityEnable", &trace->enable},
        {"cuptiActivityDisable", &trace->disable},
        {"cuptiFinalize", &trace->finalize},
        {"cuptiGetVersion", &trace->version},
        {"cuptiActivityFlushAll", &trace->flush},
        {"cuptiActivityGetNextRecord", &trace->next_record},
        {"cuptiActivityGetNumDroppedRecords", &trace->dropped_records},
        {"cuptiGetStreamIdEx", &trace->stream_number},
        {"cuptiGetDeviceId", &trace->device_number},
    };
    pthread_mutex_init(&trace->lock, NULL);
    take_spare_buffers(trace);
    open_trace = trace;
    trace->library = library;
    if (!find_functions(library, functions, sizeof functions / sizeof *functions))
        *why = "libcupti.so is too old";
    else if (!attach(trace))
        *why = "CUPTI refused: is a profiler attached?";
    else
        return trace;
    cupti_trace_close(trace);
    return NULL;
}

/* Kernels are recorded as CONCURRENT_KERNEL, never KERNEL: that makes them run one at a time.
 */
static const CUpti_ActivityKind recorded[] = {
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2, /* from device to device */
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
};
enum { RECORDED = sizeof recorded / sizeof recorded[0] };

bool cupti_trace_start(struct cupti_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    trace->count = 0;
    trace->lost = false;
    pthread_mutex_unlock(&trace->lock);
    if (!attach(trace))
        return false;
    for (int i = 0; i < RECORDED; i++) {
        if (trace->enable(recorded[i]) == CUPTI_SUCCESS)
            continue;
        while (i > 0)
            trace->disable(recorded[--i]);
        return false;
    }
    return true;
}

bool cupti_trace_clear(struct cupti_trace *trace, size_t *forgotten)
{
    bool flushed = trace->flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS;
    pthread_mutex_lock(&trace->lock);
    *forgotten = trace->count;
    trace->count = 0;
    pthread_mutex_unlock(&trace->lock);
    return flushed;
}

COMPARE_BY(compare_records, struct cupti_record, stream, start_ns, end_ns);

bool cupti_trace_stop(struct cupti_trace *trace, const struct cupti_record **records,
                      size_t *count)
{
    bool flushed = trace->flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS;
    for (int i = RECORDED; i > 0; i--)
        trace->disable(recorded[i - 1]);
    pthread_mutex_lock(&trace->lock);
    bool complete = flushed && !trace->lost;
    if (trace->count > 0)
        qsort(trace->records, trace->count, sizeof *trace->records, compare_records);
    *records = trace->records;
    *count = trace->count;
    pthread_mutex_unlock(&trace->lock);
    return complete;
}

bool cupti_trace_stream(struct cupti_trace *trace, void *stream, uint64_t *number)
{
    uint32_t of_device, of_stream;
    if (trace->device_number(NULL, &of_device) != CUPTI_SUCCESS ||
        trace->stream_number(NULL, stream, 0, &of_stream) != CUPTI_SUCCESS)
        return false;
    *number = stream_key(of_device, of_stream);
    return true;
}

void cupti_trace_detach(struct cupti_trace *trace)
{
    enum { DETACHES_WELL = 130000 }; /* earlier versions have not been tried */
    uint32_t version = 0;
    if (trace != NULL && trace->attached && trace->version(&version) == CUPTI_SUCCESS &&
        version >= DETACHES_WELL)
        trace->attached = trace->finalize() != CUPTI_SUCCESS;
}

void cupti_trace_close(struct cupti_trace *trace)
{
    if (trace == NULL)
        return;
    cupti_trace_detach(trace);
    open_trace = NULL;
    pthread_mutex_destroy(&trace->lock);
    while (trace->spare_count > 0)
        free(trace->spare[--trace->spare_count]);
    free(trace->records);
    free(trace);
}

/* --- nodes of graphs --- */

struct clone {
    uint64_t original; /* the id of the captured node */
    uint64_t id;       /* the id of its clone in the executable graph */
};

struct cupti_graph {
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
    CUptiResult (*unsubscribe)(CUpti_SubscriberHandle);
    CUptiResult (*enable_callback)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                   CUpti_CallbackId);
    CUptiResult (*node_id)(CUgraphNode, uint64_t *);
    CUpti_SubscriberHandle subscriber;
    struct clone *clones;
    size_t count, capacity;
    bool sorted; /* the clones, by original */
    bool lost;   /* there was no memory for a clone */
};

static void keep_clone(struct cupti_graph *graph, struct clone clone)
{
    struct clone *kept = ITEMS_ADD(graph->clones, graph->count, graph->capacity);
    graph->lost = graph->lost || kept == NULL;
    if (kept == NULL)
        return;
    *kept = clone;
    graph->sorted = false;
}

/* CUPTI calls this on the thread that instantiates the graph. */
static void CUPTIAPI node_was_cloned(void *context, CUpti_CallbackDomain domain,
                                     CUpti_CallbackId callback, const void *data)
{
    struct cupti_graph *graph = context;
    struct clone clone;
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || callback != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
        return;
    const CUpti_GraphData *nodes = ((const CUpti_ResourceData *)data)->resourceDescriptor;
    if (graph->node_id(nodes->originalNode, &clone.original) == CUPTI_SUCCESS &&
        graph->node_id(nodes->node, &clone.id) == CUPTI_SUCCESS)
        keep_clone(graph, clone);
    else
        graph->lost = true;
}

struct cupti_graph *cupti_graph_open(struct cupti_trace *trace)
{
    struct cupti_graph *graph = calloc(1, sizeof *graph);
    if (graph == NULL)
        return NULL;
    const struct cupti_function functions[] = {
        {"cuptiSubscribe", &graph->subscribe},
        {"cuptiUnsubscribe", &graph->unsubscribe},
        {"cuptiEnableCallback", &graph->enable_callback},
        {"cuptiGetGraphNodeId", &graph->node_id},
    };
    if (!find_functions(trace->library, functions, sizeof functions / sizeof *functions) ||
        graph->subscribe(&graph->subscriber, node_was_cloned, graph) != CUPTI_SUCCESS) {
        free(graph);
        return NULL;
    }
    if (graph->enable_callback(1, graph->subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                               CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) == CUPTI_SUCCESS)
        return graph;
    cupti_graph_close(graph);
    return NULL;
}

COMPARE_BY(compare_clones, struct clone, original);

bool cupti_graph_node_id(struct cupti_graph *graph, void *node, uint64_t *id)
{
    struct clone wanted = {0, 0};
    if (graph->lost || graph->node_id(node, &wanted.original) != CUPTI_SUCCESS)
        return false;
    if (!graph->sorted && graph->count > 0)
        qsort(graph->clones, graph->count, sizeof *graph->clones, compare_clones);
    graph->sorted = true;
    const struct clone *found = NULL;
    if (graph->count > 0)
        found = bsearch(&wanted, graph->clones, graph->count, sizeof wanted, compare_clones);
    *id = found != NULL ? found->id : wanted.original; /* not cloned: the node itself runs */
    return true;
}

void cupti_graph_close(struct cupti_graph *graph)
{
    if (graph == NULL)
        return;
    graph->unsubscribe(graph->subscriber);
    free(graph->clones);
    free(graph);
}
