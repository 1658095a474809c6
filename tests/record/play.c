/* play.c - CUPTI's part in a test, and what the recording must say of it. */
#include "play.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct fake_cupti *cupti;
static atomic_bool *own_captured;
static void *injected;
struct fake_context play_context = {.number = 1};
_Thread_local struct fake_context *play_in = &play_context;

static atomic_uint numbers;
static _Thread_local unsigned depth;
static _Thread_local uint32_t number;

/* --- the libraries --- */

static void runtime_called(unsigned id, const void *params, bool begins);
static void (*spin)(long ns);

static void *must(void *found, const char *what)
{
    if (found != NULL)
        return found;
    fprintf(stderr, "player: no %s: %s\n", what, dlerror());
    exit(99);
}

void play_inject(void)
{
    if (injected == NULL)
        return;
    int (*begin)(void);
    *(void **)&begin = must(dlsym(injected, "InitializeInjection"), "InitializeInjection");
    begin();
}

void play_begin(void)
{
    void *fake = must(dlopen("libcupti.so.13", RTLD_NOW), "libcupti.so.13");
    void *driver = must(dlopen("libcuda.so.1", RTLD_NOW), "libcuda.so.1");
    struct fake_cupti *(*find)(void);
    pthread_mutex_t *(*driver_lock)(void);
    *(void **)&find = dlsym(fake, "fake_cupti");
    *(void **)&driver_lock = must(dlsym(driver, "fake_driver_lock"), "fake driver");
    own_captured = must(dlsym(driver, "fake_thread_captures"), "fake driver");
    void *runtime = must(dlopen("libcudart.so.13", RTLD_NOW), "libcudart.so.13");
    *(void **)&spin = must(dlsym(runtime, "fake_spin"), "fake runtime");
    void (**told)(unsigned, const void *, bool) =
        must(dlsym(runtime, "fake_runtime_called"), "fake runtime");
    *told = runtime_called;
    if (find != NULL) { /* an old CUPTI has nothing */
        cupti = find();
        cupti->driver_lock = driver_lock();
        cupti->flush = play_deliver;
        cupti->holder = getenv("PLAYER_HOLDER");
    }
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (path != NULL)
        injected = must(dlopen(path, RTLD_NOW), path);
    play_inject();
}

/* --- calls --- */

uint32_t play_next_number(void)
{
    return atomic_load(&numbers) + 1;
}

uint32_t play_last_number(void)
{
    return number;
}

uint32_t play_call_alone(const struct played *call)
{
    int result = call->result;
    uint64_t shared = 8; /* CUPTI's place for the recorder holds anything */
    if (depth++ == 0)
        number = atomic_fetch_add(&numbers, 1) + 1;
    CUpti_CallbackData data = {
        .callbackSite = CUPTI_API_ENTER,
        .functionParams = call->params,
        .functionReturnValue = &result,
        .symbolName = call->symbol,
        .context = (CUcontext)play_in,
        .contextUid = play_in->number,
        .correlationData = &shared,
        .correlationId = number,
    };
    bool told = cupti != NULL && cupti->called != NULL && cupti->api[call->domain][call->id];
    errno = EDOM;
    if (told)
        cupti->called(NULL, call->domain, call->id, &data);
    if (call->within != NULL)
        call->within(call->data);
    data.callbackSite = CUPTI_API_EXIT;
    if (told)
        cupti->called(NULL, call->domain, call->id, &data);
    if (call->within == NULL && errno != EDOM) {
        fprintf(stderr, "player: errno is another one behind %s\n", call->name);
        _exit(98);
    }
    depth--;
    return number;
}

/* Returns true for calls that make something: the recording says which file they are from. */
static bool is_maker(const char *name)
{
    static const char *const makers[] = {"cudaMalloc",     "cudaHostAlloc", "cuMemAlloc",
                                         "cuMemHostAlloc", "Create",        "Instantiate",
                                         "HostRegister",   "cuModuleLoad",  "cuLibraryLoad"};
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        if (strstr(name, makers[i]) != NULL)
            return true;
    }
    return false;
}

uint32_t play_call(const struct played *call)
{
    uint32_t id = play_call_alone(call);
    if (is_maker(call->name))
        expect("[\"from\",%u,\"record-player\"]", id);
    expect("[\"call\",%u,\"%s\",%d,\"*\",\"*\",%d]", id, call->name, gettid(), call->result);
    return id;
}

/* The driver holds its lock meanwhile. */
void play_resource(CUpti_CallbackId id, CUstream stream, void *about)
{
    CUpti_ResourceData data = {.context = (CUcontext)play_in,
                               .resourceHandle.stream = stream,
                               .resourceDescriptor = about};
    if (cupti == NULL || cupti->called == NULL || !cupti->api[CUPTI_CB_DOMAIN_RESOURCE][id])
        return;
    pthread_mutex_lock(cupti->driver_lock);
    cupti->called(NULL, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
    pthread_mutex_unlock(cupti->driver_lock);
}

/* --- activity records --- */

static struct {
    uint8_t *bytes;
    size_t size, used;
} buffer;

void play_deliver(void)
{
    if (cupti == NULL || cupti->complete == NULL)
        return;
    pthread_mutex_lock(&cupti->lock);
    uint8_t *bytes = buffer.bytes;
    size_t used = buffer.used, size = buffer.size;
    buffer.bytes = NULL;
    pthread_mutex_unlock(&cupti->lock);
    if (bytes != NULL)
        cupti->complete((CUcontext)&play_context, 0, bytes, size, used);
}

void play_activity(const void *record, size_t bytes)
{
    if (cupti == NULL || cupti->request == NULL)
        return;
    for (bool put = false; !put;) {
        size_t records = 0;
        pthread_mutex_lock(&cupti->lock);
        if (buffer.bytes == NULL) {
            buffer.used = 0;
            cupti->request(&buffer.bytes, &buffer.size, &records);
            must(buffer.bytes, "buffer of the recorder's");
            for (size_t i = 0; cupti->zeroed && i < buffer.size; i++) {
                if (buffer.bytes[i] != 0)
                    must(NULL, "buffer that is zero");
            }
        }
        put = buffer.used + bytes <= buffer.size;
        if (put) {
            memcpy(buffer.bytes + buffer.used, record, bytes);
            buffer.used += bytes;
        }
        pthread_mutex_unlock(&cupti->lock);
        if (!put)
            play_deliver();
    }
}

/* The recorder itself makes calls: CUPTI tells of these, of the driver's within them, and of
 * their kernels. */
static void runtime_called(unsigned id, const void *params, bool begins)
{
    static uint64_t shared;
    const bool told =
        cupti != NULL && cupti->called != NULL && cupti->api[CUPTI_CB_DOMAIN_RUNTIME_API][id];
    const bool launches = id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
    const bool recorded = cupti != NULL && atomic_load(&cupti->kernels);
    int result = 0;
    if (begins && depth++ == 0)
        number = atomic_fetch_add(&numbers, 1) + 1;
    const CUpti_CallbackData data = {
        .callbackSite = begins ? CUPTI_API_ENTER : CUPTI_API_EXIT,
        .functionParams = params,
        .functionReturnValue = &result,
        .symbolName = launches ? "nothing" : NULL,
        .context = (CUcontext)play_in,
        .contextUid = play_in->number,
        .correlationData = &shared,
        .correlationId = number,
    };
    if (told)
        cupti->called(NULL, CUPTI_CB_DOMAIN_RUNTIME_API, id, &data);
    if (launches && begins) {
        cuLaunchKernel_params driver = {.f = (CUfunction)play_in};
        play_call_alone(&(struct played){PLAY_DRIVER(cuLaunchKernel), .name = "cuLaunchKernel",
                                         .params = &driver});
    }
    if (recorded && begins)
        spin(FAKE_ADDED_NS);
    if (recorded && launches && !begins) {
        const CUpti_ActivityKernel10 record = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               .contextId = play_in->number,
                                               .correlationId = number,
                                               .name = "nothing"};
        play_activity(&record, sizeof record);
        if (number % 16 == 0)
            play_deliver();
    }
    depth -= !begins;
}

int play_buffers(int most)
{
    enum { ROOM = 1000 };
    uint8_t *buffers[ROOM];
    size_t sizes[ROOM], records;
    int count = 0;
    if (cupti == NULL || cupti->request == NULL)
        return 0;
    while (count < most && count < ROOM) {
        cupti->request(&buffers[count], &sizes[count], &records);
        if (buffers[count] == NULL || sizes[count] == 0)
            break;
        count++;
    }
    for (int i = 0; i < count; i++)
        cupti->complete((CUcontext)&play_context, 0, buffers[i], sizes[i], 0);
    return count;
}

void play_lose(size_t records)
{
    if (cupti != NULL)
        atomic_store(&cupti->dropped, records);
}

/* Held while the recorder's thread must not go on. */
static pthread_mutex_t pauses = PTHREAD_MUTEX_INITIALIZER;

void play_hold(bool back)
{
    if (back)
        pthread_mutex_lock(&pauses);
    else
        pthread_mutex_unlock(&pauses);
}

/* Stands in for the C library's own, by which the recorder's thread pauses. */
int nanosleep(const struct timespec *time, struct timespec *left)
{
    int error = clock_nanosleep(CLOCK_REALTIME, 0, time, left);
    pthread_mutex_lock(&pauses);
    pthread_mutex_unlock(&pauses);
    errno = error != 0 ? error : errno;
    return error != 0 ? -1 : 0;
}

void play_capture_own(bool captured)
{
    atomic_store(own_captured, captured);
}

void play_interrupt(void (*by)(void))
{
    if (cupti != NULL)
        cupti->asked_number = by;
}

/* --- what is expected --- */

static _Thread_local struct {
    FILE *file;
    char *text;
    size_t length;
} expected;

void expect(const char *format, ...)
{
    va_list arguments;
    if (expected.file == NULL)
        expected.file = open_memstream(&expected.text, &expected.length);
    va_start(arguments, format);
    vfprintf(expected.file, format, arguments);
    putc('\n', expected.file);
    va_end(arguments);
}

void expect_keep(void)
{
    const char *path = getenv("PLAYER_EXPECT");
    if (expected.file == NULL || path == NULL)
        return;
    fclose(expected.file);
    expected.file = NULL;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, expected.text, expected.length) != (ssize_t)expected.length)
        exit(97);
    close(fd);
    free(expected.text);
}

void play_await(uint32_t wanted)
{
    enum { WAITS = 6000, TEXT = 64 };
    char path[4096], line[1 << 16], begin[TEXT];
    const char *folder = getenv("PIPELINE_RECORD_TO");
    if (folder == NULL || injected == NULL)
        return;
    snprintf(path, sizeof path, "%s/%s.%d.jsonl", folder, program_invocation_short_name,
             (int)getpid());
    snprintf(begin, sizeof begin, "[\"call\",%u,", wanted);
    for (int i = 0; i < WAITS; i++) {
        FILE *file = fopen(path, "r");
        bool found = false;
        while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
            found = strncmp(line, begin, strlen(begin)) == 0;
        if (file != NULL)
            fclose(file);
        if (found)
            return;
        usleep(10000);
    }
    fprintf(stderr, "player: call %u is not in the recording\n", wanted);
    _exit(96);
}

/* --- calls that are often made --- */

void play_expect_start(void)
{
    expect("[\"device\",0,\"Fake \\\"GPU\\\" 0\",%d,%d,%d,%d,%d,%d,%d,%d]",
           CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
           CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
           CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
           CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
           CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
           CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
           CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
           CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
    expect("[\"context\",1,0]");
}

CUstream play_stream(struct fake_stream *stream)
{
    CUstream handle = (CUstream)stream;
    cudaStreamCreateWithFlags_v5000_params params = {.pStream = &handle,
                                                     .flags = stream->flags};
    play_call(&(struct played){PLAY_RUNTIME(cudaStreamCreateWithFlags_v5000),
                               .name = "cudaStreamCreateWithFlags", .params = &params});
    expect("[\"stream\",%u,%u,%llu,\"%s\",%d]", play_in->number, stream->number,
           (unsigned long long)(uintptr_t)handle,
           stream->flags & CU_STREAM_NON_BLOCKING ? "non-blocking" : "blocking",
           stream->priority);
    return handle;
}

static void destroy(void *stream)
{
    play_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, stream, NULL);
}

void play_stream_gone(struct fake_stream *stream)
{
    cudaStreamDestroy_v5050_params params = {.stream = (CUstream)stream};
    play_call(&(struct played){PLAY_RUNTIME(cudaStreamDestroy_v5050),
                               .name = "cudaStreamDestroy", .params = &params,
                               .within = destroy, .data = stream});
}

static uint32_t number_of(CUstream stream, bool own)
{
    if (stream != NULL)
        return ((const struct fake_stream *)stream)->number;
    return own ? (uint32_t)gettid() : 7;
}

/* The driver's call within a runtime's one is none of the program's. */
static void copy_within(void *params)
{
    const cudaMemcpyAsync_v3020_params *of = params;
    cuMemcpyHtoDAsync_v2_params driver = {.dstDevice = (CUdeviceptr)of->dst,
                                          .srcHost = of->src,
                                          .ByteCount = of->count,
                                          .hStream = of->stream};
    play_call_alone(&(struct played){PLAY_DRIVER(cuMemcpyHtoDAsync_v2),
                                     .name = "cuMemcpyHtoDAsync", .params = &driver});
}

uint32_t play_copy(CUstream stream, uint64_t to, uint64_t from, size_t bytes, bool own)
{
    cudaMemcpyAsync_v3020_params params = {.dst = (void *)(uintptr_t)to,
                                           .src = (const void *)(uintptr_t)from,
                                           .count = bytes,
                                           .stream = stream};
    struct played call = {PLAY_RUNTIME(cudaMemcpyAsync_v3020), .name = "cudaMemcpyAsync",
                          .params = &params, .within = copy_within, .data = &params};
    if (own)
        call.id = CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000;
    uint32_t id = play_call(&call);
    const CUpti_ActivityMemcpy6 record = {
        .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
        .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
        .srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
        .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
        .bytes = bytes,
        .start = 1000 * (uint64_t)id,
        .end = 1000 * (uint64_t)id + 500,
        .contextId = play_in->number,
        .streamId = number_of(stream, own),
        .correlationId = id,
    };
    play_activity(&record, sizeof record);
    expect("[\"copy\",%u,%u,%u,%llu,%llu,%zu]", id, play_in->number, record.streamId,
           (unsigned long long)to, (unsigned long long)from, bytes);
    expect("[\"op\",%u,\"h2d\",%u,%u,\"*\",\"*\",%zu,\"pinned\",\"device\",0]", id,
           play_in->number, record.streamId, bytes);
    return id;
}

static void launch_within(void *function)
{
    cuLaunchKernel_params driver = {.f = function};
    play_call_alone(&(struct played){PLAY_DRIVER(cuLaunchKernel), .name = "cuLaunchKernel",
                                     .params = &driver});
}

uint32_t play_launch(CUstream stream, const char *name, struct fake_function *function,
                     void **args, const char *words)
{
    cudaLaunchKernel_v7000_params params = {
        .func = (const char *)function + 1, .args = args, .stream = stream};
    uint32_t id = play_call(&(struct played){
        PLAY_RUNTIME(cudaLaunchKernel_v7000), .name = "cudaLaunchKernel", .params = &params,
        .symbol = name, .within = launch_within, .data = function});
    const CUpti_ActivityKernel10 record = {
        .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        .start = 1000 * (uint64_t)id,
        .end = 1000 * (uint64_t)id + 500,
        .contextId = play_in->number,
        .streamId = number_of(stream, false),
        .gridX = 2,
        .gridY = 3,
        .gridZ = 1,
        .blockX = 128,
        .blockY = 2,
        .blockZ = 1,
        .registersPerThread = 32,
        .staticSharedMemory = 16,
        .dynamicSharedMemory = 48,
        .correlationId = id,
        .name = name,
    };
    play_activity(&record, sizeof record);
    expect("[\"launch\",%u,%u,%u,%s]", id, play_in->number, record.streamId, words);
    return id;
}

uint32_t play_malloc(uint64_t address, size_t bytes)
{
    void *place = (void *)(uintptr_t)address;
    cudaMalloc_v3020_params params = {.devPtr = &place, .size = bytes};
    expect("[\"memory\",\"device\",\"*\",%llu,%zu,0]", (unsigned long long)address, bytes);
    return play_call(&(struct played){PLAY_RUNTIME(cudaMalloc_v3020), .name = "cudaMalloc",
                                      .params = &params});
}

uint32_t play_free(uint64_t address)
{
    cudaFree_v3020_params params = {.devPtr = (void *)(uintptr_t)address};
    expect("[\"free\",\"*\",%llu]", (unsigned long long)address);
    return play_call(
        &(struct played){PLAY_RUNTIME(cudaFree_v3020), .name = "cudaFree", .params = &params});
}

uint32_t play_sync(void)
{
    uint32_t id = play_call(&(struct played){PLAY_RUNTIME(cudaDeviceSynchronize_v3020),
                                             .name = "cudaDeviceSynchronize"});
    expect("[\"sync\",%u,\"device\",%u,null]", id, play_in->number);
    return id;
}
