/* effects.c - what calls do, read from their arguments: the table is record/calls.def. */
#include "record/record.h"

#include <string.h>

#define ADDRESS(pointer)  ((const void *)(uintptr_t)(pointer))
#define FUNCTION(pointer) ((CUfunction)(uintptr_t)(pointer))
#define NUMBER(pointer)   ((uint64_t)(uintptr_t)(pointer))

/* The words of a launch, until its entry is noted. */
static _Thread_local uint64_t own_words[ENTRY_WORDS_MAX];

/* Some stream was captured: from then on each call's stream is asked about. */
static atomic_bool captures;

static bool is_captured(CUstream stream, bool per_thread)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!atomic_load_explicit(&captures, memory_order_relaxed))
        return false;
    if (record_api.stream_capturing == NULL)
        return true; /* for all that is known: a graph may run a function many times */
    if (stream == NULL && per_thread)
        stream = CU_STREAM_PER_THREAD;
    return record_api.stream_capturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Makes the entry one of that kind, in that stream; returns false where that has no number. */
static bool find_stream(struct call *c, enum entry_kind kind, CUstream stream, bool per_thread)
{
    c->entry.stream = tables_stream(c->data->context, c->data->contextUid, stream, per_thread);
    if (c->entry.stream == NO_STREAM)
        return false;
    c->entry.kind = (uint8_t)kind;
    return true;
}

/* Makes the entry one of that kind, in that stream. Returns true where it is not: a call that a
 * capture takes up does nothing by itself, and nothing can be said of one in a stream without a
 * number. */
static bool in_stream(struct call *c, enum entry_kind kind, CUstream stream, bool per_thread)
{
    return is_captured(stream, per_thread) || !find_stream(c, kind, stream, per_thread);
}

static void copy(struct call *c, const void *to, const void *from, size_t bytes,
                 CUstream stream, bool per_thread)
{
    in_stream(c, ENTRY_COPY, stream, per_thread);
    c->entry.values[0] = NUMBER(to);
    c->entry.values[1] = NUMBER(from);
    c->entry.values[2] = bytes;
}

static void copy2d(struct call *c, const void *to, size_t to_pitch, const void *from,
                   size_t from_pitch, size_t width, size_t height, CUstream stream,
                   bool per_thread)
{
    const uint64_t values[ENTRY_VALUES] = {NUMBER(to), to_pitch, NUMBER(from),
                                           from_pitch, width,    height};
    in_stream(c, ENTRY_COPY2D, stream, per_thread);
    memcpy(c->entry.values, values, sizeof values);
}

/* Notes what a copy took, where that may be the host's. Of a copy that waits in a stream it is
 * what stood there when the call returned. */
static void took(struct call *c, enum cudaMemcpyKind kind)
{
    const uint64_t *v = c->entry.values;
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDefault)
        return;
    if (c->entry.kind == ENTRY_COPY)
        c->entry.hash = host_hash(v[1], 0, v[2], 1);
    else if (c->entry.kind == ENTRY_COPY2D)
        c->entry.hash = host_hash(v[2], v[3], v[4], v[5]);
}

static void set(struct call *c, const void *address, size_t bytes, CUstream stream,
                bool per_thread)
{
    in_stream(c, ENTRY_SET, stream, per_thread);
    c->entry.values[0] = NUMBER(address);
    c->entry.values[1] = bytes;
}

static void launch(struct call *c, const void *symbol, CUfunction function, void *const *args,
                   CUstream stream, bool per_thread)
{
    if (in_stream(c, ENTRY_LAUNCH, stream, per_thread))
        return;
    if (function == NULL)
        function = c->function;
    if (function != NULL && !layout_is_known(symbol))
        layout_learn(symbol, function);
    c->entry.words = layout_words(symbol, args, own_words);
    c->words = own_words;
}

/* Of an event, or of an executable graph. */
static void handle(struct call *c, enum entry_kind kind, const void *subject, CUstream stream,
                   bool per_thread)
{
    in_stream(c, kind, stream, per_thread);
    c->entry.values[0] = NUMBER(subject);
}

static void sync_event(struct call *c, const void *event)
{
    c->entry.kind = ENTRY_SYNC_EVENT;
    c->entry.values[0] = NUMBER(event);
}

/* A wait that fails has waited all the same: it tells of what failed before. */
static void sync_stream(struct call *c, CUstream stream, bool per_thread)
{
    find_stream(c, ENTRY_SYNC_STREAM, stream, per_thread);
}

static void sync_device(struct call *c)
{
    c->entry.kind = ENTRY_SYNC_DEVICE;
}

/* A function of one of the two kinds. The arguments are where CUPTI shows them, and where the
 * driver will read them. */
static void function(struct call *c, const void *host, const void *callback, const void *data,
                     CUstream stream, bool per_thread)
{
    if (!in_stream(c, ENTRY_FUNCTION, stream, per_thread))
        c->handed = functions_hand_over(&c->entry, (CUhostFn *)host,
                                        (CUstreamCallback *)callback, (void **)data);
}

static void capture(void)
{
    atomic_store(&captures, true);
}

/* `readable`: the host reads it as it does any memory, and nothing happens. */
static void take_host(struct call *c, const char *kind, const void *address, size_t bytes,
                      bool readable)
{
    tables_take(kind, c->entry.end_ns, NUMBER(address), bytes, MEMORY_HOST);
    host_take(NUMBER(address), bytes, readable);
}

static void take_pinned(struct call *c, const void *place, size_t bytes, unsigned flags)
{
    take_host(c, "pinned", *(void *const *)place, bytes,
              (flags & CU_MEMHOSTALLOC_WRITECOMBINED) == 0);
}

static void take_registered(struct call *c, const void *address, size_t bytes, unsigned flags)
{
    take_host(c, "registered", address, bytes, (flags & CU_MEMHOSTREGISTER_IOMEMORY) == 0);
}

static void take(struct call *c, const char *kind, const void *place, size_t bytes)
{
    tables_take(kind, c->entry.end_ns, NUMBER(*(void *const *)place), bytes,
                tables_context(c->data->context, c->data->contextUid));
}

static void take_managed(struct call *c, const void *place, size_t bytes)
{
    take(c, "managed", place, bytes);
    ops_want_migrations();
}

/* Memory is there when the call that takes it has returned, and no more when the call that
 * gives it back begins: so that another thread's, at the same address, comes behind. */
static void give_back(struct call *c, const void *address)
{
    if (address == NULL)
        return;
    tables_give_back(c->entry.start_ns, NUMBER(address));
    host_give_back(NUMBER(address));
}

/* --- settings: what later calls rest on, whatever part is recorded --- */

static void put_setting(const struct call *c, const char *what, uint64_t of, uint64_t value)
{
    FILE_LINE(what, c->entry.end_ns, of, value);
}

static void make_event(struct call *c, const void *place, unsigned flags)
{
    put_setting(c, "event", NUMBER(*(void *const *)place), flags);
}

static void reach_peer(struct call *c, uint32_t peer)
{
    put_setting(c, "peer", tables_context(c->data->context, c->data->contextUid), peer);
}

static void reach_context(struct call *c, CUcontext context)
{
    uint32_t peer;
    if (record_api.device_number(context, &peer) == CUPTI_SUCCESS)
        reach_peer(c, peer);
}

/* A value that means no end of them is one that every reader of JSON can hold. */
static void set_pool(struct call *c, const void *pool, int attribute, const void *value)
{
    uint64_t bytes;
    if (attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        return;
    memcpy(&bytes, value, sizeof bytes);
    put_setting(c, "threshold", NUMBER(pool), bytes < INT64_MAX ? bytes : INT64_MAX);
}

/* --- the table --- */

/* Names are put together where they stand in the table: some are macros of CUDA's headers. */
#define EFFECT(name, arguments, effect)                                                        \
    static void name(struct call *c, const void *of, bool own)                                 \
    {                                                                                          \
        const arguments *p = of;                                                               \
        (void)c;                                                                               \
        (void)p;                                                                               \
        (void)own;                                                                             \
        effect;                                                                                \
    }
#define CALL(whose, id, arguments, effect)        EFFECT(effect_##id, arguments, effect)
#define PAIR(whose, id, other, arguments, effect) EFFECT(effect_##id, arguments, effect)
#define BEFORE_PAIR                               PAIR
#include "record/calls.def"
#undef CALL
#undef PAIR
#undef BEFORE_PAIR

/* clang-format off */
#define CALL(whose, id, arguments, effect)                                                     \
    [OF_##whose + CUPTI_##whose##_TRACE_CBID_##id] = {.read = effect_##id},
#define PAIR(whose, id, other, arguments, effect)                                              \
    [OF_##whose + CUPTI_##whose##_TRACE_CBID_##id] = {.read = effect_##id},                    \
    [OF_##whose + CUPTI_##whose##_TRACE_CBID_##other] = {.read = effect_##id, .own = true},
#define BEFORE_PAIR(whose, id, other, arguments, effect)                                       \
    [OF_##whose + CUPTI_##whose##_TRACE_CBID_##id] = {.read = effect_##id, .before = true},    \
    [OF_##whose + CUPTI_##whose##_TRACE_CBID_##other] =                                        \
        {.read = effect_##id, .before = true, .own = true},
/* clang-format on */
static struct call_row rows[CALLS] = {
#include "record/calls.def"
};

struct call_row *call_row_of(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    return &rows[api_place(domain, id)];
}
