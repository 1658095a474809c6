/* tables.c - what is written down once: contexts, devices, streams; and memory. */
#include "record/record.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* --- contexts and devices --- */

enum { CONTEXTS_MOST = 256, DEVICES_MOST = 64 };

static struct {
    uint32_t number, device;
} contexts[CONTEXTS_MOST];
static atomic_uint context_count;
static bool device_seen[DEVICES_MOST];
static pthread_mutex_t context_lock = PTHREAD_MUTEX_INITIALIZER;

static void put_attribute(CUdevice device, CUdevice_attribute attribute)
{
    int value;
    if (record_api.device_attribute != NULL &&
        record_api.device_attribute(&value, attribute, device) == CUDA_SUCCESS)
        file_number(value);
    else
        file_null();
}

static void put_device(uint32_t number)
{
    static const CUdevice_attribute attributes[] = {
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
        CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT,
    };
    CUdevice device = (CUdevice)number;
    char name[128] = "a GPU";
    if (record_api.device_get != NULL && record_api.device_name != NULL &&
        record_api.device_get(&device, (int)number) == CUDA_SUCCESS)
        record_api.device_name(name, sizeof name, device);
    file_begin("device");
    file_number(number);
    file_text(name);
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        put_attribute(device, attributes[i]);
    file_end();
}

uint32_t tables_context(CUcontext context, uint32_t number)
{
    uint32_t device = 0;
    unsigned count = atomic_load(&context_count);
    for (unsigned i = 0; i < count; i++) {
        if (contexts[i].number == number)
            return contexts[i].device;
    }
    if (record_api.device_number(context, &device) != CUPTI_SUCCESS)
        device = 0;
    pthread_mutex_lock(&context_lock);
    bool known = false;
    for (unsigned i = count; i < atomic_load(&context_count); i++)
        known |= contexts[i].number == number;
    if (!known) {
        if (device < DEVICES_MOST && !device_seen[device]) {
            device_seen[device] = true;
            put_device(device);
        }
        file_begin("context");
        file_number(number);
        file_number(device);
        file_end();
        count = atomic_load(&context_count);
        if (count < CONTEXTS_MOST) {
            contexts[count].number = number;
            contexts[count].device = device;
            atomic_store(&context_count, count + 1);
        }
    }
    pthread_mutex_unlock(&context_lock);
    return device;
}

/* --- streams --- */

struct known_stream {
    CUstream
        handle; /* CU_STREAM_LEGACY and CU_STREAM_PER_THREAD also where a call names none */
    uint32_t context, number;
    uint32_t thread; /* of CU_STREAM_PER_THREAD, which is another one in each thread; else 0 */
};

/* The latest stream of a thread is mostly the next one, too. */
static _Thread_local struct {
    struct known_stream stream;
    unsigned age;
} latest[4];
static atomic_uint ages = 1; /* what `latest` holds of an earlier age is forgotten */

static struct known_stream *streams;
static size_t stream_count, stream_room;
static pthread_mutex_t stream_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_same(const struct known_stream *a, const struct known_stream *b)
{
    return a->handle == b->handle && a->context == b->context && a->thread == b->thread;
}

static void put_stream(CUcontext context, struct known_stream *stream)
{
    bool legacy = stream->handle == CU_STREAM_LEGACY;
    bool thread = stream->handle == CU_STREAM_PER_THREAD;
    unsigned flags = 0;
    int priority = 0;
    CUstream handle = legacy || thread ? NULL : stream->handle;
    if (record_api.stream_number(context, handle, thread, &stream->number) != CUPTI_SUCCESS)
        stream->number = UINT32_MAX;
    if (handle != NULL && record_api.stream_flags != NULL)
        record_api.stream_flags(handle, &flags);
    if (handle != NULL && record_api.stream_priority != NULL)
        record_api.stream_priority(handle, &priority);
    file_begin("stream");
    file_number(stream->context);
    file_number(stream->number);
    file_address((uint64_t)(uintptr_t)stream->handle);
    file_text(legacy                           ? "legacy"
              : thread                         ? "per-thread"
              : flags & CU_STREAM_NON_BLOCKING ? "non-blocking"
                                               : "blocking");
    file_number(priority);
    file_end();
}

/* Returns the place of a stream among those that are known, which may be a new one. The lock is
 * held. NULL where there is no memory. */
static struct known_stream *place_of(CUcontext context, const struct known_stream *wanted)
{
    for (size_t i = 0; i < stream_count; i++) {
        if (is_same(&streams[i], wanted))
            return &streams[i];
    }
    if (stream_count == stream_room) {
        size_t room = stream_room > 0 ? 2 * stream_room : 64;
        struct known_stream *more = reallocarray(streams, room, sizeof *streams);
        if (more == NULL)
            return NULL;
        streams = more;
        stream_room = room;
    }
    streams[stream_count] = *wanted;
    put_stream(context, &streams[stream_count]);
    return &streams[stream_count++];
}

uint32_t tables_stream(CUcontext context, uint32_t context_number, CUstream handle,
                       bool per_thread)
{
    enum { LATEST = sizeof latest / sizeof latest[0] };
    static _Thread_local uint32_t thread;
    struct known_stream wanted = {.handle = handle, .context = context_number};
    if (handle == NULL)
        wanted.handle = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (wanted.handle == CU_STREAM_PER_THREAD)
        wanted.thread = thread != 0 ? thread : (thread = (uint32_t)gettid());
    size_t place = ((uintptr_t)wanted.handle >> 4) % LATEST;
    unsigned age = atomic_load_explicit(&ages, memory_order_acquire);
    if (latest[place].age == age && is_same(&latest[place].stream, &wanted))
        return latest[place].stream.number;
    pthread_mutex_lock(&stream_lock);
    const struct known_stream *known = place_of(context, &wanted);
    wanted.number = known != NULL ? known->number : UINT32_MAX;
    pthread_mutex_unlock(&stream_lock);
    latest[place].stream = wanted;
    latest[place].age = age;
    return wanted.number;
}

void tables_forget_stream(CUcontext context, CUstream handle)
{
    (void)context; /* a handle is an address: no two contexts have the same one */
    pthread_mutex_lock(&stream_lock);
    for (size_t i = 0; i < stream_count; i++) {
        if (streams[i].handle == handle)
            streams[i--] = streams[--stream_count];
    }
    atomic_fetch_add_explicit(&ages, 1, memory_order_release);
    pthread_mutex_unlock(&stream_lock);
}

/* --- memory --- */

static _Atomic uint64_t lowest = UINT64_MAX, highest;

void tables_take(const char *kind, uint64_t address, uint64_t bytes, int64_t device)
{
    uint64_t known = atomic_load(&lowest);
    while (address < known && !atomic_compare_exchange_weak(&lowest, &known, address))
        ;
    known = atomic_load(&highest);
    while (address + bytes > known &&
           !atomic_compare_exchange_weak(&highest, &known, address + bytes))
        ;
    file_begin("memory");
    file_text(kind);
    file_number(record_now_ns());
    file_address(address);
    file_address(bytes);
    if (device == MEMORY_HOST)
        file_null();
    else
        file_number(device);
    file_end();
}

void tables_give_back(uint64_t address)
{
    file_begin("free");
    file_number(record_now_ns());
    file_address(address);
    file_end();
}

bool tables_may_be_address(uint64_t word)
{
    return word >= atomic_load_explicit(&lowest, memory_order_relaxed) &&
           word < atomic_load_explicit(&highest, memory_order_relaxed);
}
