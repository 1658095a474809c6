/* calls.c - CUPTI's callbacks: each call of the program's, with what its arguments say. A call
 * that CUDA makes of itself within another is no call of the program's. */
#include "record/record.h"

#include <execinfo.h>
#include <string.h>

enum { LEGACY = false, OWN = true };

#define ADDRESS(pointer)  ((const void *)(uintptr_t)(pointer))
#define FUNCTION(pointer) ((CUfunction)(uintptr_t)(pointer))

/* A call that has just returned. */
struct call {
    struct entry entry;
    const CUpti_CallbackData *data;
    const uint64_t *words;
};

static _Thread_local struct {
    unsigned depth; /* of calls within calls */
    int64_t start_ns;
    CUfunction function; /* that a call within this one launched */
    uint64_t words[ENTRY_WORDS_MAX];
} own;

static atomic_int captures; /* of streams, that go on */

static bool succeeded(const struct call *c)
{
    return c->entry.result == 0;
}

/* Makes the entry one of that kind, in that stream. Returns true where it is not, because a
 * capture takes the call up, which then does nothing by itself. */
static bool in_stream(struct call *c, enum entry_kind kind, CUstream stream, bool per_thread)
{
    if (atomic_load_explicit(&captures, memory_order_relaxed) > 0 &&
        record_api.stream_capturing != NULL) {
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        if (record_api.stream_capturing(stream, &status) == CUDA_SUCCESS &&
            status != CU_STREAM_CAPTURE_STATUS_NONE)
            return true;
    }
    c->entry.kind = (uint16_t)kind;
    c->entry.stream = tables_stream(c->data->context, c->data->contextUid, stream, per_thread);
    return false;
}

static void copy(struct call *c, const void *to, const void *from, size_t bytes,
                 CUstream stream, bool per_thread)
{
    in_stream(c, ENTRY_COPY, stream, per_thread);
    c->entry.values[0] = (uint64_t)(uintptr_t)to;
    c->entry.values[1] = (uint64_t)(uintptr_t)from;
    c->entry.values[2] = bytes;
}

static void copy2d(struct call *c, const void *to, size_t to_pitch, const void *from,
                   size_t from_pitch, size_t width, size_t height, CUstream stream,
                   bool per_thread)
{
    const uint64_t values[ENTRY_VALUES] = {(uint64_t)(uintptr_t)to,
                                           to_pitch,
                                           (uint64_t)(uintptr_t)from,
                                           from_pitch,
                                           width,
                                           height};
    in_stream(c, ENTRY_COPY2D, stream, per_thread);
    memcpy(c->entry.values, values, sizeof values);
}

static void set(struct call *c, const void *address, size_t bytes, CUstream stream,
                bool per_thread)
{
    in_stream(c, ENTRY_SET, stream, per_thread);
    c->entry.values[0] = (uint64_t)(uintptr_t)address;
    c->entry.values[1] = bytes;
}

static void launch(struct call *c, const void *symbol, CUfunction function, void *const *args,
                   CUstream stream, bool per_thread)
{
    if (in_stream(c, ENTRY_LAUNCH, stream, per_thread))
        return;
    if (function == NULL)
        function = own.function;
    if (function != NULL && !layout_is_known(symbol))
        layout_learn(symbol, function);
    c->entry.words = layout_words(symbol, args, own.words);
    c->words = own.words;
}

static void event(struct call *c, enum entry_kind kind, const void *handle, CUstream stream,
                  bool per_thread)
{
    in_stream(c, kind, stream, per_thread);
    c->entry.values[0] = (uint64_t)(uintptr_t)handle;
}

static void sync_event(struct call *c, const void *handle)
{
    c->entry.kind = ENTRY_SYNC_EVENT;
    c->entry.values[0] = (uint64_t)(uintptr_t)handle;
}

static void sync_stream(struct call *c, CUstream stream, bool per_thread)
{
    in_stream(c, ENTRY_SYNC_STREAM, stream, per_thread);
}

static void sync_device(struct call *c, const void *unused)
{
    (void)unused;
    c->entry.kind = ENTRY_SYNC_DEVICE;
}

/* `place` and `data` are where CUPTI shows the arguments, and where the driver will read them.
 */
static void function(struct call *c, const void *place, const void *data, CUstream stream,
                     bool per_thread)
{
    if (!in_stream(c, ENTRY_FUNCTION, stream, per_thread))
        functions_hand_over(&c->entry, (CUhostFn *)place, (void **)data);
}

static void callback(struct call *c, const void *place, const void *data, CUstream stream,
                     bool per_thread)
{
    if (!in_stream(c, ENTRY_FUNCTION, stream, per_thread))
        functions_hand_over_callback(&c->entry, (CUstreamCallback *)place, (void **)data);
}

static void graph(struct call *c, const void *exec, CUstream stream, bool per_thread)
{
    in_stream(c, ENTRY_GRAPH, stream, per_thread);
    c->entry.values[0] = (uint64_t)(uintptr_t)exec;
}

static void instantiate(struct call *c, CUgraphExec *exec, CUgraph made_from)
{
    if (succeeded(c))
        graphs_made(*exec, made_from);
}

static void capture(struct call *c, const void *unused, int change)
{
    (void)unused;
    if (succeeded(c) || change < 0)
        atomic_fetch_add(&captures, change);
}

static void take_at(struct call *c, const char *kind, const void *address, size_t bytes)
{
    bool host = kind[0] == 'p' && kind[1] == 'i'; /* pinned */
    host = host || kind[0] == 'r';                /* registered */
    if (succeeded(c))
        tables_take(kind, (uint64_t)(uintptr_t)address, bytes,
                    host ? MEMORY_HOST
                         : (int64_t)tables_context(c->data->context, c->data->contextUid));
}

static void take(struct call *c, const char *kind, const void *place, size_t bytes)
{
    if (succeeded(c))
        take_at(c, kind, *(void *const *)place, bytes);
}

static void give_back(struct call *c, const void *address)
{
    if (succeeded(c) && address != NULL)
        tables_give_back((uint64_t)(uintptr_t)address);
}

/* --- the table --- */

#define DEED(id, arguments, deed)                                                              \
    static void deed_##id(struct call *c, const void *of)                                      \
    {                                                                                          \
        const arguments *p = of;                                                               \
        deed;                                                                                  \
    }
#define RUNTIME       DEED
#define DRIVER        DEED
#define DRIVER_BEFORE DEED
#include "record/calls.def"
#undef RUNTIME
#undef DRIVER
#undef DRIVER_BEFORE

/* A deed, and whether it is done before the call is made. */
struct deed_row {
    void (*read)(struct call *c, const void *arguments);
    bool before;
};

#define NOTHING(id, arguments, deed)
#define RUNTIME(id, arguments, deed) [CUPTI_RUNTIME_TRACE_CBID_##id] = {deed_##id, false},
#define DRIVER                       NOTHING
#define DRIVER_BEFORE                NOTHING
static const struct deed_row runtime_deeds[CUPTI_RUNTIME_TRACE_CBID_SIZE] = {
#include "record/calls.def"
};
#undef RUNTIME
#undef DRIVER
#undef DRIVER_BEFORE

#define RUNTIME                            NOTHING
#define DRIVER(id, arguments, deed)        [CUPTI_DRIVER_TRACE_CBID_##id] = {deed_##id, false},
#define DRIVER_BEFORE(id, arguments, deed) [CUPTI_DRIVER_TRACE_CBID_##id] = {deed_##id, true},
static const struct deed_row driver_deeds[CUPTI_DRIVER_TRACE_CBID_SIZE] = {
#include "record/calls.def"
};

/* Returns the deed of a call; NULL: it has none. */
static const struct deed_row *deed_of(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    const struct deed_row *row = NULL;
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && id < CUPTI_RUNTIME_TRACE_CBID_SIZE)
        row = &runtime_deeds[id];
    else if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id < CUPTI_DRIVER_TRACE_CBID_SIZE)
        row = &driver_deeds[id];
    return row != NULL && row->read != NULL ? row : NULL;
}

/* --- the callbacks --- */

/* Learns which of the driver's functions a call of the runtime's launches. */
static void see_within(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       const CUpti_CallbackData *data)
{
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
        return;
    if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel ||
        id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz)
        own.function = ((const cuLaunchKernel_params *)data->functionParams)->f;
    else if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx ||
             id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz)
        own.function = ((const cuLaunchKernelEx_params *)data->functionParams)->f;
}

static bool is_memory(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    const char *name = NULL;
    record_api.callback_name(domain, id, &name);
    return name != NULL &&
           (strstr(name, "Alloc") != NULL || strstr(name, "Free") != NULL ||
            strstr(name, "Register") != NULL || strstr(name, "Instantiate") != NULL);
}

static void take_call(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                      const CUpti_CallbackData *data)
{
    const struct deed_row *deed = deed_of(domain, id);
    struct call call = {
        .entry =
            {
                .kind = ENTRY_CALL,
                .domain = (uint16_t)domain,
                .callback = id,
                .call = data->correlationId,
                .context = data->contextUid,
                .stream = UINT32_MAX,
                .start_ns = own.start_ns,
                .end_ns = record_now_ns(),
            },
        .data = data,
    };
    if (data->functionReturnValue != NULL)
        call.entry.result = *(const int32_t *)data->functionReturnValue;
    bool active = atomic_load_explicit(&record_active, memory_order_relaxed);
    if (!active && (deed == NULL || !is_memory(domain, id)))
        return;
    if (data->context != NULL)
        tables_context(data->context, data->contextUid);
    if (deed != NULL && !deed->before)
        deed->read(&call, data->functionParams);
    if (active)
        entries_add(&call.entry, call.words);
    if (data->symbolName != NULL)
        record_reached(data->symbolName, true, data->correlationId);
}

/* Notes where the call that is about to be made comes from. The innermost frames are this
 * library's and CUPTI's. */
static void note_frames(const CUpti_CallbackData *data)
{
    void *frames[FRAMES_MOST];
    uint64_t words[FRAMES_MOST];
    int count = backtrace(frames, FRAMES_MOST);
    for (int i = 0; i < count; i++)
        words[i] = (uint64_t)(uintptr_t)frames[i];
    const struct entry entry = {.kind = ENTRY_FRAMES,
                                .call = data->correlationId,
                                .words = count > 0 ? (uint32_t)count : 0};
    if (count > 0)
        entries_add(&entry, words);
}

/* Does what has to be done before a call is made, also one that CUDA makes of itself: only the
 * driver takes up what is put into its arguments' place. */
static void before_call(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                        const CUpti_CallbackData *data)
{
    const struct deed_row *deed = deed_of(domain, id);
    if (own.depth == 0 && data->symbolName != NULL)
        record_reached(data->symbolName, false, data->correlationId);
    if (deed == NULL || !deed->before || data->context == NULL ||
        !atomic_load_explicit(&record_active, memory_order_relaxed))
        return;
    struct call call = {.entry = {.call = data->correlationId, .context = data->contextUid},
                        .data = data};
    deed->read(&call, data->functionParams);
}

static void take_resource(CUpti_CallbackId id, const CUpti_ResourceData *data)
{
    if (id == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING)
        tables_forget_stream(data->context, data->resourceHandle.stream);
    else if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
        graphs_cloned(data->resourceDescriptor);
    else if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
        ops_flush();
}

static void CUPTIAPI called(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                            const void *about)
{
    (void)unused;
    if (!atomic_load_explicit(&record_on, memory_order_relaxed))
        return;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        take_resource(id, about);
        return;
    }
    const CUpti_CallbackData *data = about;
    if (data->callbackSite == CUPTI_API_ENTER) {
        if (own.depth == 0) {
            own.function = NULL;
            record_call_begins(data->correlationId);
        }
        before_call(domain, id, data);
        if (own.depth == 0 && record_frames && atomic_load(&record_active))
            note_frames(data);
        if (own.depth++ == 0)
            own.start_ns = record_now_ns();
        return;
    }
    if (own.depth == 0) /* it began before the recording did */
        return;
    if (--own.depth > 0) {
        see_within(domain, id, data);
        return;
    }
    own.depth++; /* calls of this library's own are within this one, too */
    take_call(domain, id, data);
    own.depth--;
}

/* --- the calls that are wanted --- */

/* Returns true for calls without a deed that take time worth knowing: those that make and
 * unmake things, and further kinds of copies. */
static bool is_telling(const char *name)
{
    static const char *const beginnings[] = {
        "cudaStreamCreate",  "cudaStreamDestroy",   "cudaEventCreate", "cudaEventDestroy",
        "cudaMemcpy",        "cudaMemset",          "cudaMalloc",      "cudaFree",
        "cudaHost",          "cudaMemPrefetch",     "cudaMemAdvise",   "cudaGraphInstantiate",
        "cudaGraphUpload",   "cudaGraphExec",       "cudaDeviceReset", "cuStreamCreate",
        "cuStreamDestroy",   "cuEventCreate",       "cuEventDestroy",  "cuMemcpy",
        "cuMemset",          "cuMemAlloc",          "cuMemFree",       "cuMemHostAlloc",
        "cuMemHostRegister", "cuMemHostUnregister", "cuMemPrefetch",   "cuGraphInstantiate",
        "cuModuleLoad",      "cuLibraryLoad",
    };
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    }
    return false;
}

static void enable_all(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                       CUpti_CallbackId size)
{
    for (CUpti_CallbackId id = 1; id < size; id++) {
        const char *name = NULL;
        if (deed_of(domain, id) == NULL &&
            (record_api.callback_name(domain, id, &name) != CUPTI_SUCCESS || name == NULL ||
             !is_telling(name)))
            continue;
        record_api.enable_callback(1, subscriber, domain, id); /* an older CUPTI may lack it */
    }
}

const char *calls_begin(void)
{
    static char holder[256];
    CUpti_SubscriberHandle subscriber;
    char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
    CUptiResult result;
    if (record_api.subscribe_named != NULL) {
        CUpti_SubscriberParams params = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                         .subscriberName = "pipeline record",
                                         .oldSubscriberName = name,
                                         .oldSubscriberSize = sizeof name};
        result = record_api.subscribe_named(&subscriber, called, NULL, &params);
    } else {
        result = record_api.subscribe(&subscriber, called, NULL);
    }
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        snprintf(holder, sizeof holder, "another tool in the program holds CUPTI%s%s",
                 name[0] != '\0' ? ": " : "", name);
        return holder;
    }
    if (result != CUPTI_SUCCESS)
        return "CUPTI refuses to tell of calls";
    enable_all(subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE);
    enable_all(subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE);
    static const CUpti_CallbackId resources[] = {CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
                                                 CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                                                 CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING};
    for (size_t i = 0; i < sizeof resources / sizeof resources[0]; i++)
        record_api.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, resources[i]);
    return NULL;
}
