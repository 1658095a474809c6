/* tables.c - what is written down once: contexts, devices, streams; and memory. */
#include "core/items.h"
#include "record/record.h"

#include <stdlib.h>
#include <unistd.h>

/* --- contexts and devices --- */

enum { DEVICES_MOST = 64, ATTRIBUTES = 8 };

/* A context, of which the latest is the first: a list that is read without a lock. */
struct known_context {
    struct known_context *next;
    uint32_t number, device;
};
static _Atomic(struct known_context *) contexts;
static bool device_seen[DEVICES_MOST];
static pthread_mutex_t context_lock = PTHREAD_MUTEX_INITIALIZER;

static void put_device(uint32_t number)
{
    static const CUdevice_attribute attributes[ATTRIBUTES] = {
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
    struct field fields[2 + ATTRIBUTES] = {FIELD(number), FIELD(name)};
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        int value;
        const bool known =
            record_api.device_attribute != NULL &&
            record_api.device_attribute(&value, attributes[i], device) == CUDA_SUCCESS;
        fields[2 + i] = known ? FIELD(value) : FIELD_NOTHING;
    }
    file_line("device", fields, 2 + ATTRIBUTES);
}

static const struct known_context *find_context(uint32_t number)
{
    struct known_context *context = atomic_load_explicit(&contexts, memory_order_acquire);
    while (context != NULL && context->number != number)
        context = context->next;
    return context;
}

uint32_t tables_context(CUcontext context, uint32_t number)
{
    const struct known_context *known = find_context(number);
    if (known != NULL)
        return known->device;
    struct known_context *made = calloc(1, sizeof *made);
    uint32_t device = 0;
    if (record_api.device_number(context, &device) != CUPTI_SUCCESS)
        device = 0;
    record_lock(&context_lock);
    bool is_new = made != NULL && find_context(number) == NULL, is_new_device = false;
    if (is_new) {
        *made = (struct known_context){atomic_load(&contexts), number, device};
        atomic_store_explicit(&contexts, made, memory_order_release);
        is_new_device = device < DEVICES_MOST && !device_seen[device];
        if (is_new_device)
            device_seen[device] = true;
    }
    record_unlock(&context_lock);
    if (!is_new) {
        free(made);
        return device;
    }
    if (is_new_device)
        put_device(device);
    FILE_LINE("context", number, device);
    return device;
}

/* --- streams --- */

/* The handle is CU_STREAM_LEGACY or CU_STREAM_PER_THREAD also where a call names none. */
struct known_stream {
    CUstream handle;
    uint32_t context, number;
    uint32_t thread; /* of CU_STREAM_PER_THREAD, which is another one in each thread; else 0 */
};

/* The latest streams of a thread are mostly the next ones, too. */
static _Thread_local struct {
    struct known_stream stream;
    unsigned age;
} latest[32];                /* a place for each value of 5 bits */
static atomic_uint ages = 1; /* what `latest` holds of an earlier age is forgotten */

static struct known_stream *streams;
static size_t stream_count, stream_room;
static pthread_mutex_t stream_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_same(const struct known_stream *a, const struct known_stream *b)
{
    return a->handle == b->handle && a->context == b->context && a->thread == b->thread;
}

/* A stream as the driver tells of it. */
struct about_stream {
    unsigned flags;
    int priority;
};

static struct about_stream ask_about(CUcontext context, struct known_stream *stream)
{
    struct about_stream about = {0, 0};
    bool thread = stream->handle == CU_STREAM_PER_THREAD;
    CUstream handle = thread || stream->handle == CU_STREAM_LEGACY ? NULL : stream->handle;
    if (record_api.stream_number(context, handle, thread, &stream->number) != CUPTI_SUCCESS)
        stream->number = NO_STREAM;
    if (handle != NULL && record_api.stream_flags != NULL)
        record_api.stream_flags(handle, &about.flags);
    if (handle != NULL && record_api.stream_priority != NULL)
        record_api.stream_priority(handle, &about.priority);
    return about;
}

static void put_stream(const struct known_stream *stream, const struct about_stream *about)
{
    const char *kind = stream->handle == CU_STREAM_LEGACY       ? "legacy"
                       : stream->handle == CU_STREAM_PER_THREAD ? "per-thread"
                       : about->flags & CU_STREAM_NON_BLOCKING  ? "non-blocking"
                                                                : "blocking";
    FILE_LINE("stream", stream->context, stream->number, (uint64_t)(uintptr_t)stream->handle,
              kind, about->priority);
}

/* Returns the known stream, or NULL. The lock is held. */
static struct known_stream *find_stream(const struct known_stream *wanted)
{
    for (size_t i = 0; i < stream_count; i++) {
        if (is_same(&streams[i], wanted))
            return &streams[i];
    }
    return NULL;
}

/* Finds the number of a stream, which it writes down if nobody has; NO_STREAM where CUPTI does
 * not tell: then the next call asks again. */
static void look_up(CUcontext context, struct known_stream *wanted)
{
    record_lock(&stream_lock);
    const struct known_stream *known = find_stream(wanted);
    if (known != NULL)
        *wanted = *known;
    record_unlock(&stream_lock);
    if (known != NULL)
        return;
    const struct about_stream about = ask_about(context, wanted);
    if (wanted->number == NO_STREAM)
        return;
    record_lock(&stream_lock);
    bool is_new = find_stream(wanted) == NULL && ITEMS_ROOM(streams, stream_count, stream_room);
    if (is_new)
        streams[stream_count++] = *wanted;
    record_unlock(&stream_lock);
    if (is_new)
        put_stream(wanted, &about);
}

uint32_t tables_stream(CUcontext context, uint32_t context_number, CUstream handle,
                       bool per_thread)
{
    static _Thread_local uint32_t thread;
    struct known_stream wanted = {.handle = handle, .context = context_number};
    if (handle == NULL)
        wanted.handle = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (wanted.handle == CU_STREAM_PER_THREAD)
        wanted.thread = thread != 0 ? thread : (thread = (uint32_t)gettid());
    size_t place = (uint64_t)(uintptr_t)wanted.handle * UINT64_C(0x9E3779B97F4A7C15) >> 59;
    unsigned age = atomic_load_explicit(&ages, memory_order_acquire);
    if (latest[place].age == age && is_same(&latest[place].stream, &wanted))
        return latest[place].stream.number;
    look_up(context, &wanted);
    if (wanted.number == NO_STREAM)
        return NO_STREAM;
    latest[place].stream = wanted;
    latest[place].age = age;
    return wanted.number;
}

void tables_forget(CUstream handle, uint32_t thread)
{
    record_lock(&stream_lock);
    for (size_t i = 0; i < stream_count; i++) {
        if (handle != NULL ? streams[i].handle == handle : streams[i].thread == thread)
            streams[i--] = streams[--stream_count];
    }
    if (handle != NULL)
        atomic_fetch_add_explicit(&ages, 1, memory_order_release);
    record_unlock(&stream_lock);
}

/* --- memory --- */

static _Atomic uint64_t lowest = UINT64_MAX, highest;

void tables_take(const char *kind, int64_t time_ns, uint64_t address, uint64_t bytes,
                 int64_t device)
{
    uint64_t known = atomic_load(&lowest);
    while (address < known && !atomic_compare_exchange_weak(&lowest, &known, address))
        ;
    known = atomic_load(&highest);
    while (address + bytes > known &&
           !atomic_compare_exchange_weak(&highest, &known, address + bytes))
        ;
    FILE_LINE("memory", kind, time_ns, address, bytes,
              device == MEMORY_HOST ? FIELD_NOTHING : FIELD(device));
}

void tables_give_back(int64_t time_ns, uint64_t address)
{
    FILE_LINE("free", time_ns, address);
}

struct span tables_addresses(void)
{
    return (struct span){atomic_load_explicit(&lowest, memory_order_relaxed),
                         atomic_load_explicit(&highest, memory_order_relaxed)};
}
