/* record.c - the library's beginning and end, in a program that does not know of it. */
#include "record/record.h"

#include "core/version.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct record_api record_api;
atomic_bool record_on, record_active;
bool record_frames;

static char *start_name, *stop_name, *to_folder;
static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool has_begun; /* CUDA is used */
static bool has_ended, is_child;

int64_t record_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* --- the libraries that are asked --- */

struct wanted {
    const char *name;
    void *place; /* of the function's pointer */
    bool needed;
};

static bool find_functions(void *library, const struct wanted *wanted, size_t count)
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

static bool find_cupti(void)
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
        {"cuptiSubscribe_v2", &record_api.subscribe_named, false},
        {"cuptiGetResultString", &record_api.result_string, false},
    };
    return find_functions(open_cupti(), wanted, sizeof wanted / sizeof *wanted);
}

static void find_driver(void)
{
    const struct wanted wanted[] = {
        {"cuDriverGetVersion", &record_api.driver_version, false},
        {"cuDeviceGetAttribute", &record_api.device_attribute, false},
        {"cuDeviceGet", &record_api.device_get, false},
        {"cuDeviceGetName", &record_api.device_name, false},
        {"cuStreamGetFlags", &record_api.stream_flags, false},
        {"cuStreamGetPriority", &record_api.stream_priority, false},
        {"cuStreamIsCapturing", &record_api.stream_capturing, false},
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
    find_functions(driver, wanted, sizeof wanted / sizeof *wanted);
}

/* --- the part that is recorded --- */

/* CUPTI numbers calls as they are made, so a part is known by its first and last number. */
static atomic_uint latest_call, first_call = UINT32_MAX, last_call = UINT32_MAX;

void record_call_begins(uint32_t id)
{
    unsigned latest = atomic_load_explicit(&latest_call, memory_order_relaxed);
    while ((start_name != NULL || stop_name != NULL) && id > latest &&
           !atomic_compare_exchange_weak(&latest_call, &latest, id))
        ;
}

bool record_has_call(uint32_t id)
{
    return id >= atomic_load(&first_call) && id <= atomic_load(&last_call);
}

/* Returns true if a kernel or a range of that name is `wanted`: the whole name, or that of a
 * function within a mangled one, where its length stands before it. */
static bool is_named(const char *name, const char *wanted)
{
    char mangled[512];
    if (wanted == NULL || strcmp(name, wanted) == 0)
        return wanted != NULL;
    snprintf(mangled, sizeof mangled, "%zu%s", strlen(wanted), wanted);
    return name[0] == '_' && name[1] == 'Z' && strstr(name, mangled) != NULL;
}

void record_reached(const char *name, bool ended, uint32_t call)
{
    if (is_child || atomic_load(&last_call) != UINT32_MAX)
        return; /* the part is over */
    if (!ended && !atomic_load(&record_active) && is_named(name, start_name)) {
        atomic_store(&first_call, call > 0 ? call : atomic_load(&latest_call) + 1);
        atomic_store(&record_active, true);
    } else if (ended && atomic_load(&record_active) && is_named(name, stop_name)) {
        if (atomic_load(&has_begun))
            atomic_store(&last_call, call > 0 ? call : atomic_load(&latest_call));
        atomic_store(&record_active, false);
    }
}

bool record_is_child(void)
{
    return is_child;
}

/* --- the end --- */

/* Writes all that is still held, and the last line; other threads may still be calling. */
static void finish(const char *why, bool at_exit)
{
    atomic_store(&record_active, false);
    atomic_store(&record_on, false);
    record_lock(&end_lock);
    if (!has_ended) {
        has_ended = true;
        functions_end();
        while (entries_write(at_exit))
            ;
        file_close(why);
    }
    record_unlock(&end_lock);
}

static void put_note(const char *note)
{
    file_begin("note");
    file_text(note);
    file_end();
}

/* Returns true if CUDA has descriptors of its devices. */
static bool cuda_has_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    bool found = false;
    while (!found && folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[64];
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, path, sizeof path - 1);
        path[length > 0 ? length : 0] = '\0';
        found = strncmp(path, "/dev/nvidia", 11) == 0 || strcmp(path, "/dev/dxg") == 0;
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

/* Has seen CUDA's descriptors. A program that has closed them since may have files of its own
 * under their numbers, to which CUDA would write when it is asked for the last ops. */
static atomic_bool had_descriptors;

/* A signal's handler, or a function of the host's, may end the program within a call of CUDA's,
 * or within this library: what would wait for that call is left out then. */
static void program_ends(void)
{
    if (is_child || record_holds_lock())
        return;
    if (calls_run_here() || functions_run_here())
        put_note("the program ended within a call of CUDA's: its latest ops may be missing");
    else if (atomic_load(&had_descriptors) && !cuda_has_descriptors())
        put_note("the program closed CUDA's descriptors: its latest ops may be missing");
    else if (atomic_load(&record_on))
        ops_end();
    finish(atomic_load(&last_call) != UINT32_MAX ? "stop" : "exit", true);
}

/* A forked child has none of the parent's threads, and CUDA does not work in it. */
static void in_child(void)
{
    atomic_store(&record_on, false);
    atomic_store(&record_active, false);
    is_child = true;
}

/* Turns entries into lines, a few times a second. */
static void *write_on(void *unused)
{
    const struct timespec pause = {0, 100000000};
    bool full = false, more = false;
    while (atomic_load(&record_on) && !full) {
        if (!atomic_load(&had_descriptors))
            atomic_store(&had_descriptors, cuda_has_descriptors());
        if (!more)
            nanosleep(&pause, NULL);
        record_lock(&end_lock);
        if (!has_ended) {
            more = entries_write(false);
            file_flush(&full);
        }
        record_unlock(&end_lock);
    }
    if (full)
        finish("limit", false);
    return unused;
}

/* The library's thread takes none of the program's signals. */
static bool start_writer(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, write_on, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

/* --- the beginning --- */

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

/* The texts are copied: programs write over their environment. */
static void read_environment(void)
{
    const char *folder = variable("PIPELINE_RECORD_TO");
    const char *start = variable("PIPELINE_RECORD_START");
    const char *stop = variable("PIPELINE_RECORD_STOP");
    to_folder = folder != NULL ? strdup(folder) : NULL;
    start_name = start != NULL ? strdup(start) : NULL;
    stop_name = stop != NULL ? strdup(stop) : NULL;
}

bool record_read_environment(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return to_folder != NULL;
}

static void put_header(void)
{
    char line[512];
    int driver = 0;
    uint32_t cupti = 0;
    const char *connections = variable("CUDA_DEVICE_MAX_CONNECTIONS");
    const char *blocking = variable("CUDA_LAUNCH_BLOCKING");
    const char *loading = variable("CUDA_MODULE_LOADING");
    long queues = connections != NULL ? strtol(connections, NULL, 10) : 0;
    char queues_text[24] = "null";
    if (queues > 0)
        snprintf(queues_text, sizeof queues_text, "%ld", queues);
    if (record_api.driver_version != NULL)
        record_api.driver_version(&driver);
    if (record_api.version != NULL)
        record_api.version(&cupti);
    snprintf(line, sizeof line,
             ",\"pid\":%d,\"parent\":%d,\"begin_ns\":%lld,\"driver\":%d,\"cupti\":%u,"
             "\"launch_blocking\":%s,\"connections\":%s,\"lazy\":%s}\n",
             (int)getpid(), (int)getppid(), (long long)record_now_ns(), driver, cupti,
             blocking != NULL && strcmp(blocking, "0") != 0 ? "true" : "false", queues_text,
             loading != NULL && strcmp(loading, "EAGER") == 0 ? "false" : "true");
    file_header("{\"pipeline_recording\":1,\"version\":\"" PIPELINE_VERSION "\",\"program\":",
                program_invocation_short_name, line);
}

/* Returns NULL, or the reason why nothing can be recorded. */
static const char *begin(void)
{
    if (!find_cupti())
        return "libcupti.so was not found, or is too old: it comes with the CUDA Toolkit";
    const char *why = calls_begin();
    return why != NULL ? why : ops_begin();
}

/* CUDA calls this when the program first uses it. A name that is told elsewhere (the functions
 * that CUDA and NVTX look for) is all that the library shows. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
    const char *limit = variable("PIPELINE_RECORD_LIMIT");
    if (!record_read_environment() || atomic_exchange(&has_begun, true))
        return 1;
    if (!file_open(to_folder, program_invocation_short_name,
                   limit != NULL ? strtoull(limit, NULL, 10) : 0))
        return 1;
    record_frames = variable("PIPELINE_RECORD_BACKTRACE") != NULL;
    void *frame;
    if (record_frames)
        backtrace(&frame, 1); /* the first one loads a library: not within a call of CUDA's */
    find_driver();
    entries_begin();
    const char *why = begin();
    put_header();
    bool full;
    file_flush(&full); /* a program that ends at once leaves a recording, too */
    if (why != NULL) {
        put_note(why);
        file_close("exit");
        return 1;
    }
    pthread_atfork(NULL, NULL, in_child);
    if (start_name == NULL) {
        atomic_store(&first_call, 0);
        atomic_store(&record_active, true);
    }
    atomic_store(&record_on, true);
    if (atexit(program_ends) != 0 || at_quick_exit(program_ends) != 0)
        put_note("the program's end can't be seen: its latest calls may be missing");
    if (!start_writer())
        put_note("no thread could be started: all is written at the program's end");
    return 1;
}
