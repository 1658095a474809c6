/* calls.c - CUPTI's callbacks: each call of the program's, with what its effect says. A call
 * that CUDA makes of itself within another is no call of the program's. */
#include "record/places.h"

#include <errno.h>
#include <string.h>

static _Thread_local struct {
    unsigned depth; /* of calls within calls */
    unsigned calls; /* one of so many is looked at: */
    bool looked_at; /* how much of it and around it is the recorder's */
    int64_t outside_ns, inside_ns;
    int64_t start_ns;
    CUfunction function; /* that a call within this one launched */
} own;

bool calls_run_here(void)
{
    return own.depth > 0;
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

static void take_call(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                      const CUpti_CallbackData *data)
{
    const struct call_row *row = call_row_of(domain, id);
    struct call call = {
        .entry =
            {
                .kind = ENTRY_CALL,
                .domain = (uint8_t)domain,
                .callback = (uint16_t)id,
                .call = data->correlationId,
                .context = data->contextUid,
                .stream = NO_STREAM,
                .start_ns = own.start_ns,
                .end_ns = record_now_ns(),
            },
        .data = data,
        .function = own.function,
    };
    entries_call(call.entry.end_ns);
    if (data->functionReturnValue != NULL)
        call.entry.result = *(const int32_t *)data->functionReturnValue;
    bool active = record_has_call(data->correlationId);
    if (!active && (row->read == NULL || (row->traits & LASTS) == 0))
        return;
    if (data->context != NULL)
        tables_context(data->context, data->contextUid);
    /* A wait that fails has waited all the same: it tells of what failed before. */
    if (row->read != NULL && !row->before &&
        (call.entry.result == 0 || (row->traits & WAITS) != 0))
        row->read(&call, data->functionParams, row->own);
    if (call.entry.kind == ENTRY_CALL && (row->traits & MAKES) != 0)
        call.entry.hash = (uint32_t)own.outside_ns;
    if (active)
        entries_add(&call.entry, call.words);
    if (data->symbolName != NULL)
        record_reached(data->symbolName, true, data->correlationId);
    if (active && own.looked_at)
        costs_add(call.entry.kind, own.outside_ns + record_now_ns() - call.entry.end_ns,
                  own.inside_ns);
}

/* Does what has to be done before a call is made, also one that CUDA makes of itself: only the
 * driver takes up what is put into its arguments' place. A function of the host's is handed
 * over where the call's end can be told which it was. */
static void before_call(const struct call_row *row, const CUpti_CallbackData *data)
{
    if (data->correlationData != NULL)
        *data->correlationData = 0; /* it may hold anything */
    if (own.depth == 1 && data->symbolName != NULL)
        record_reached(data->symbolName, false, data->correlationId);
    if (!row->before || data->context == NULL || data->correlationData == NULL ||
        !atomic_load_explicit(&record_active, memory_order_relaxed))
        return;
    struct call call = {.entry = {.call = data->correlationId, .context = data->contextUid},
                        .data = data};
    row->read(&call, data->functionParams, row->own);
    *data->correlationData = (uint64_t)(uintptr_t)call.handed;
}

/* A call that failed never runs what was handed over in it. */
static void after_call(const struct call_row *row, const CUpti_CallbackData *data)
{
    if (!row->before || data->correlationData == NULL || *data->correlationData == 0)
        return;
    if (data->functionReturnValue != NULL && *(const int32_t *)data->functionReturnValue != 0)
        functions_take_back((struct handed *)(uintptr_t)*data->correlationData);
    *data->correlationData = 0;
}

static void take_resource(CUpti_CallbackId id, const CUpti_ResourceData *data)
{
    if (id == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING)
        tables_forget(data->resourceHandle.stream, 0);
    else if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
        graphs_cloned(data->resourceDescriptor);
    else if (id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING)
        layout_forget_all();
    else if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
        ops_flush();
}

static void note_origin(const struct call_row *row, uint32_t call)
{
    const bool makes = (row->traits & MAKES) != 0;
    if ((!makes && !record_frames) || !record_has_call(call))
        return;
    if (makes)
        frames_note_maker(call);
    if (record_frames)
        frames_note(call);
}

/* Calls of this library's own are within the program's call, too. */
static void take_entry(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       const CUpti_CallbackData *data)
{
    /* A prime number: a loop's calls are all looked at in time. Not the first of a thread, in
     * which things are done that are done once. */
    enum { LOOK_EVERY = 61, LOOK_AT = 30 };
    const struct call_row *row = call_row_of(domain, id);
    if (own.depth++ == 0) {
        own.looked_at = own.calls++ % LOOK_EVERY == LOOK_AT;
        /* Where calls that make something come from takes longer than some of these do. */
        const bool timed = own.looked_at || (row->traits & MAKES) != 0;
        const int64_t begin_ns = timed ? record_now_ns() : 0;
        own.function = NULL;
        graphs_call_begins();
        record_call_begins(data->correlationId);
        before_call(row, data);
        note_origin(row, data->correlationId);
        entries_call(INT64_MAX);
        own.start_ns = record_now_ns();
        own.outside_ns = timed ? own.start_ns - begin_ns : 0;
        own.inside_ns = 0;
    } else {
        before_call(row, data);
    }
}

static void take_exit(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                      const CUpti_CallbackData *data)
{
    if (own.depth == 0) /* it began before the recording did */
        return;
    const struct call_row *row = call_row_of(domain, id);
    after_call(row, data);
    if (own.depth > 1)
        see_within(domain, id, data);
    else
        take_call(domain, id, data);
    if (own.depth == 1 && (row->traits & WAITS) != 0)
        record_waited(data->correlationId);
    own.depth--;
}

static bool is_looked_into(const CUpti_CallbackData *data)
{
    return own.looked_at && own.depth > (data->callbackSite == CUPTI_API_ENTER ? 0 : 1);
}

/* The same for a call within one that is looked at. */
static void take_within(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                        const CUpti_CallbackData *data)
{
    const int64_t begin_ns = record_now_ns();
    if (data->callbackSite == CUPTI_API_ENTER)
        take_entry(domain, id, data);
    else
        take_exit(domain, id, data);
    own.inside_ns += record_now_ns() - begin_ns;
}

/* Whatever goes wrong within is nothing that the program should find in errno. */
static void CUPTIAPI called(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                            const void *about)
{
    const int error = errno;
    (void)unused;
    if (!atomic_load_explicit(&record_on, memory_order_relaxed))
        return;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE)
        take_resource(id, about);
    else if (is_looked_into(about))
        take_within(domain, id, about);
    else if (((const CUpti_CallbackData *)about)->callbackSite == CUPTI_API_ENTER)
        take_entry(domain, id, about);
    else
        take_exit(domain, id, about);
    errno = error;
}

/* --- the calls that are wanted --- */

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/* How the names of calls begin, behind "cuda" or "cu", that make things. */
static const char *const makers[] = {
    "StreamCreate",    "EventCreate", "Malloc",           "HostAlloc", "HostRegister",
    "MemPoolCreate",   "LibraryLoad", "GraphInstantiate", "MemAlloc",  "MemHostAlloc",
    "MemHostRegister", "ModuleLoad",  "MemCreate",
};

/* Those of further calls without an effect that take time, or change what others do. */
static const char *const telling[] = {
    "StreamDestroy",  "EventDestroy", "Memcpy",       "Memset",       "Free",
    "HostUnreg",      "MemPrefetch",  "MemAdvise",    "GraphUpload",  "GraphExec",
    "DeviceReset",    "StreamEndCap", "MemPoolSet",   "DeviceSetMem", "MemPoolTrim",
    "SetDeviceFlags", "MemFree",      "MemHostUnreg",
};

/* What the names of calls have in them whose effect lasts. */
static const char *const lasting[] = {
    "lloc",         "Free",        "Register",   "Instantiate",
    "BeginCapture", "EventCreate", "EnablePeer", "PoolSet",
};

/* Returns true if one of the words stands in the name; `first`: at its beginning. */
static bool has_word(const char *name, const char *const *words, size_t count, bool first)
{
    for (size_t i = 0; i < count; i++) {
        const char *found = strstr(name, words[i]);
        if (found != NULL && (!first || found == name))
            return true;
    }
    return false;
}

static uint8_t find_traits(const char *name)
{
    static const char *const waiting[] = {"Synchronize"};
    name += strncmp(name, "cuda", 4) == 0 ? 4 : strncmp(name, "cu", 2) == 0 ? 2 : 0;
    return (uint8_t)((has_word(name, makers, COUNT(makers), true) ? MAKES : 0) |
                     (has_word(name, lasting, COUNT(lasting), false) ? LASTS : 0) |
                     (has_word(name, waiting, COUNT(waiting), false) ? WAITS : 0) |
                     (has_word(name, telling, COUNT(telling), true) ? TELLS : 0));
}

static void enable_all(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                       CUpti_CallbackId size)
{
    for (CUpti_CallbackId id = 1; id < size; id++) {
        struct call_row *row = call_row_of(domain, id);
        const char **name = &api_names[api_place(domain, id)];
        if (record_api.callback_name(domain, id, name) != CUPTI_SUCCESS)
            *name = NULL;
        row->traits = *name != NULL ? find_traits(*name) : 0;
        if (row->read != NULL || (row->traits & (MAKES | TELLS)) != 0)
            record_api.enable_callback(1, subscriber, domain,
                                       id); /* an older one may lack it */
    }
}

static CUpti_SubscriberHandle subscriber;

bool calls_leave(void)
{
    return record_api.unsubscribe(subscriber) == CUPTI_SUCCESS;
}

const char *calls_begin(void)
{
    static char holder[256];
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
                                                 CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
                                                 CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING};
    for (size_t i = 0; i < COUNT(resources); i++)
        record_api.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, resources[i]);
    return NULL;
}
