/* calls.c - CUPTI's callbacks: each call of the program's, with what its effect says. A call
 * that CUDA makes of itself within another is no call of the program's. */
#include "record/effects.h"

#include <errno.h>
#include <execinfo.h>
#include <string.h>

static _Thread_local struct {
    unsigned depth; /* of calls within calls */
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

/* Returns true for calls whose effect is asked for later, whatever part is recorded. */
static bool has_lasting_effect(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    const char *name = api_call_name(domain, id);
    return name != NULL &&
           (strstr(name, "lloc") != NULL || strstr(name, "Free") != NULL ||
            strstr(name, "Register") != NULL || strstr(name, "Instantiate") != NULL ||
            strstr(name, "BeginCapture") != NULL);
}

static void take_call(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                      const CUpti_CallbackData *data)
{
    const struct effect_row *effect = effect_of(domain, id);
    struct call call = {
        .entry =
            {
                .kind = ENTRY_CALL,
                .domain = (uint16_t)domain,
                .callback = id,
                .call = data->correlationId,
                .context = data->contextUid,
                .stream = NO_STREAM,
                .start_ns = own.start_ns,
                .end_ns = record_now_ns(),
            },
        .data = data,
        .function = own.function,
    };
    if (data->functionReturnValue != NULL)
        call.entry.result = *(const int32_t *)data->functionReturnValue;
    bool active = record_has_call(data->correlationId);
    if (!active && (effect == NULL || !has_lasting_effect(domain, id)))
        return;
    if (data->context != NULL)
        tables_context(data->context, data->contextUid);
    if (effect != NULL && !effect->before)
        effect->read(&call, data->functionParams);
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
 * driver takes up what is put into its arguments' place. A function of the host's is handed
 * over where the call's end can be told which it was. */
static void before_call(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                        const CUpti_CallbackData *data)
{
    const struct effect_row *effect = effect_of(domain, id);
    if (data->correlationData != NULL)
        *data->correlationData = 0; /* it may hold anything */
    if (own.depth == 1 && data->symbolName != NULL)
        record_reached(data->symbolName, false, data->correlationId);
    if (effect == NULL || !effect->before || data->context == NULL ||
        data->correlationData == NULL ||
        !atomic_load_explicit(&record_active, memory_order_relaxed))
        return;
    struct call call = {.entry = {.call = data->correlationId, .context = data->contextUid},
                        .data = data};
    effect->read(&call, data->functionParams);
    *data->correlationData = (uint64_t)(uintptr_t)call.handed;
}

/* A call that failed never runs what was handed over in it. */
static void after_call(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       const CUpti_CallbackData *data)
{
    const struct effect_row *effect = effect_of(domain, id);
    if (effect == NULL || !effect->before || data->correlationData == NULL ||
        *data->correlationData == 0)
        return;
    if (data->functionReturnValue != NULL && *(const int32_t *)data->functionReturnValue != 0)
        functions_take_back((struct handed *)(uintptr_t)*data->correlationData);
    *data->correlationData = 0;
}

static void take_resource(CUpti_CallbackId id, const CUpti_ResourceData *data)
{
    if (id == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING)
        tables_forget_stream(data->context, data->resourceHandle.stream);
    else if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
        graphs_cloned(data->resourceDescriptor);
    else if (id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING)
        layout_forget_all();
    else if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
        ops_flush();
}

/* Calls of this library's own are within the program's call, too. */
static void take_entry(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       const CUpti_CallbackData *data)
{
    if (own.depth++ == 0) {
        own.function = NULL;
        graphs_call_begins();
        record_call_begins(data->correlationId);
        before_call(domain, id, data);
        if (record_frames && record_has_call(data->correlationId))
            note_frames(data);
        own.start_ns = record_now_ns();
    } else {
        before_call(domain, id, data);
    }
}

static void take_exit(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                      const CUpti_CallbackData *data)
{
    if (own.depth == 0) /* it began before the recording did */
        return;
    after_call(domain, id, data);
    if (own.depth > 1)
        see_within(domain, id, data);
    else
        take_call(domain, id, data);
    own.depth--;
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
    else if (((const CUpti_CallbackData *)about)->callbackSite == CUPTI_API_ENTER)
        take_entry(domain, id, about);
    else
        take_exit(domain, id, about);
    errno = error;
}

/* --- the calls that are wanted --- */

/* Returns true for calls without an effect that take time worth knowing: those that make and
 * unmake things, and further kinds of copies. */
static bool is_telling(const char *name)
{
    static const char *const beginnings[] = {
        "cudaStreamCreate",  "cudaStreamDestroy",   "cudaEventCreate",  "cudaEventDestroy",
        "cudaMemcpy",        "cudaMemset",          "cudaMalloc",       "cudaFree",
        "cudaHost",          "cudaMemPrefetch",     "cudaMemAdvise",    "cudaGraphInstantiate",
        "cudaGraphUpload",   "cudaGraphExec",       "cudaDeviceReset",  "cuStreamCreate",
        "cuStreamDestroy",   "cuEventCreate",       "cuEventDestroy",   "cuMemcpy",
        "cuMemset",          "cuMemAlloc",          "cuMemFree",        "cuMemHostAlloc",
        "cuMemHostRegister", "cuMemHostUnregister", "cuMemPrefetch",    "cuGraphInstantiate",
        "cuModuleLoad",      "cuLibraryLoad",       "cudaStreamEndCap", "cuStreamEndCapture",
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
        const char *name = api_call_name(domain, id);
        if (effect_of(domain, id) == NULL && (name == NULL || !is_telling(name)))
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
    api_find_names();
    enable_all(subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE);
    enable_all(subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE);
    static const CUpti_CallbackId resources[] = {CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
                                                 CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                                                 CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
                                                 CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING};
    for (size_t i = 0; i < sizeof resources / sizeof resources[0]; i++)
        record_api.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, resources[i]);
    return NULL;
}
