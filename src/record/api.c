/* api.c - CUPTI's functions and the driver's, found at run time. */
#include "record/record.h"

#include <dlfcn.h>
#include <string.h>

struct record_api record_api;
const char *api_names[CALLS];

size_t api_place(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    return id + (domain == CUPTI_CB_DOMAIN_DRIVER_API ? OF_DRIVER : OF_RUNTIME);
}

bool api_find(void *library, const struct wanted *wanted, size_t count)
{
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        void *function = library != NULL ? dlsym(library, wanted[i].name) : NULL;
        memcpy(wanted[i].place, &function, sizeof function);
        all = all && (function != NULL || !wanted[i].needed);
    }
    return all;
}

/* Returns CUPTI's library, or NULL. It is never closed: the driver keeps calling into it. */
static void *open_cupti(void)
{
    /* One that the program has loaded comes first, then those that the linker finds, then the
     * toolkit's. */
    static const char *const names[] = {
        "libcupti.so.13",
        "libcupti.so.12",
        "libcupti.so",
        "/usr/local/cuda/lib64/libcupti.so",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
        "/usr/local/cuda/lib64/libcupti.so.13",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
        "/usr/local/cuda/lib64/libcupti.so.12",
    };
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            void *library =
                dlopen(names[i], RTLD_NOW | RTLD_LOCAL | (pass == 0 ? RTLD_NOLOAD : 0));
            if (library != NULL)
                return library;
        }
    }
    return NULL;
}

bool api_find_cupti(void)
{
    const struct wanted wanted[] = {
        {"cuptiSubscribe", &record_api.subscribe, true},
        {"cuptiEnableCallback", &record_api.enable_callback, true},
        {"cuptiGetCallbackName", &record_api.callback_name, true},
        {"cuptiActivityRegisterTimestampCallback", &record_api.register_timestamp, true},
        {"cuptiActivityRegisterCallbacks", &record_api.register_buffers, true},
        {"cuptiActivityEnable", &record_api.enable, true},
        {"cuptiActivityDisable", &record_api.disable, true},
        {"cuptiActivityFlushAll", &record_api.flush, true},
        {"cuptiActivityFlushPeriod", &record_api.flush_period, false},
        {"cuptiActivityGetNextRecord", &record_api.next_record, true},
        {"cuptiActivityGetNumDroppedRecords", &record_api.dropped_records, true},
        {"cuptiGetStreamIdEx", &record_api.stream_number, true},
        {"cuptiGetDeviceId", &record_api.device_number, true},
        {"cuptiGetGraphNodeId", &record_api.node_id, true},
        {"cuptiGetVersion", &record_api.version, true},
        {"cuptiActivityConfigureUnifiedMemoryCounter", &record_api.configure_migrations, false},
        {"cuptiActivitySetAttribute", &record_api.set_attribute, false},
        {"cuptiSubscribe_v2", &record_api.subscribe_named, false},
        {"cuptiGetResultString", &record_api.result_string, false},
    };
    return api_find(open_cupti(), wanted, sizeof wanted / sizeof *wanted);
}

void api_find_driver(void)
{
    const struct wanted wanted[] = {
        {"cuDriverGetVersion", &record_api.driver_version, false},
        {"cuDeviceGetAttribute", &record_api.device_attribute, false},
        {"cuDeviceGet", &record_api.device_get, false},
        {"cuDeviceGetName", &record_api.device_name, false},
        {"cuStreamGetFlags", &record_api.stream_flags, false},
        {"cuStreamGetPriority", &record_api.stream_priority, false},
        {"cuStreamIsCapturing", &record_api.stream_capturing, false},
        {"cuPointerGetAttribute", &record_api.pointer_attribute, false},
        {"cuFuncGetParamInfo", &record_api.function_param, false},
        {"cuKernelGetParamInfo", &record_api.kernel_param, false},
        {"cuGraphGetNodes", &record_api.graph_nodes, false},
        {"cuGraphGetEdges_v2", &record_api.graph_edges, false},
        {"cuGraphNodeGetType", &record_api.node_kind, false},
        {"cuGraphMemcpyNodeGetParams", &record_api.node_copy, false},
        {"cuGraphMemsetNodeGetParams", &record_api.node_set, false},
        {"cuGraphKernelNodeGetParams_v2", &record_api.node_kernel, false},
    };
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    api_find(driver, wanted, sizeof wanted / sizeof *wanted);
}
