/* ops.c - CUPTI's activity records: when each copy, memset and kernel really ran. */
#include "record/record.h"

#include "core/names.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* In every version of CUPTI since that of CUDA 11 a record begins with the fields that are read
 * here: these struct types stand for their predecessors and successors. */
typedef CUpti_ActivityMemcpy5 memcpy_record;
typedef CUpti_ActivityMemcpyPtoP4 peer_record;
typedef CUpti_ActivityMemset4 memset_record;
typedef CUpti_ActivityKernel8 kernel_record;
typedef CUpti_ActivityUnifiedMemoryCounter2 migration_record;

enum { BUFFER_BYTES = 1 << 20, BUFFER_ALIGNMENT = 8, SPARE_MOST = 16, BUFFERS_MOST = 96 };

static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *spare[SPARE_MOST];
static size_t spare_count, buffer_count; /* those that are nobody's, and all */

static struct names names; /* of kernels, by their texts */
static pthread_mutex_t name_lock = PTHREAD_MUTEX_INITIALIZER;
static char *(*demangle)(const char *, char *, size_t *, int *);

/* --- names --- */

/* A name that is not mangled is no C++ function's, and would be taken for that of a type. */
static void put_name(const char *text, uint32_t id)
{
    int failed = -1;
    char *readable = NULL;
    if (demangle != NULL && strncmp(text, "_Z", 2) == 0)
        readable = demangle(text, NULL, NULL, &failed);
    FILE_LINE("name", id, failed == 0 && readable != NULL ? readable : text);
    free(readable);
}

/* Finds the number of a name, which is written down when it is first met; false: there is no
 * memory. The text is copied: CUPTI's own goes with its module. */
static bool name_of(const char *text, uint32_t *id)
{
    record_lock(&name_lock);
    const size_t before = names.count;
    const bool known = names_number(&names, text, strlen(text), id);
    const bool is_new = names.count > before;
    record_unlock(&name_lock);
    if (is_new)
        put_name(text, *id);
    return known;
}

/* --- lines --- */

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const char *memory_name(uint8_t kind)
{
    static const char *const kinds[] = {
        [CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE] = "pageable",
        [CUPTI_ACTIVITY_MEMORY_KIND_PINNED] = "pinned",
        [CUPTI_ACTIVITY_MEMORY_KIND_DEVICE] = "device",
        [CUPTI_ACTIVITY_MEMORY_KIND_ARRAY] = "array",
        [CUPTI_ACTIVITY_MEMORY_KIND_MANAGED] = "managed",
        [CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC] = "device",
        [CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC] = "managed",
    };
    return kind < COUNT(kinds) && kinds[kind] != NULL ? kinds[kind] : "unknown";
}

static const char *copy_name(uint8_t kind)
{
    static const char *const kinds[] = {
        [CUPTI_ACTIVITY_MEMCPY_KIND_HTOD] = "h2d", [CUPTI_ACTIVITY_MEMCPY_KIND_HTOA] = "h2d",
        [CUPTI_ACTIVITY_MEMCPY_KIND_DTOH] = "d2h", [CUPTI_ACTIVITY_MEMCPY_KIND_ATOH] = "d2h",
        [CUPTI_ACTIVITY_MEMCPY_KIND_HTOH] = "h2h", [CUPTI_ACTIVITY_MEMCPY_KIND_PTOP] = "peer",
    };
    return kind < COUNT(kinds) && kinds[kind] != NULL ? kinds[kind] : "d2d";
}

/* Writes a copy or a memset, whose records have the same members. */
#define PUT_OP(op, kind, from, to)                                                             \
    do {                                                                                       \
        if (record_has_call((op)->correlationId))                                              \
            FILE_LINE("op", (op)->correlationId, kind, (op)->contextId, (op)->streamId,        \
                      (op)->start, (op)->end, (op)->bytes, from, to, (op)->graphNodeId);       \
    } while (0)

static void put_kernel(const kernel_record *kernel)
{
    if (!record_has_call(kernel->correlationId))
        return;
    uint32_t name;
    if (!name_of(kernel->name != NULL ? kernel->name : "a kernel", &name)) {
        record_lose(1);
        return;
    }
    const uint64_t blocks =
        (uint64_t)kernel->gridX * (uint64_t)kernel->gridY * (uint64_t)kernel->gridZ;
    const uint64_t threads =
        (uint64_t)kernel->blockX * (uint64_t)kernel->blockY * (uint64_t)kernel->blockZ;
    FILE_LINE("kernel", kernel->correlationId, kernel->contextId, kernel->streamId,
              kernel->start, kernel->end, name, blocks, threads, kernel->registersPerThread,
              (int64_t)kernel->staticSharedMemory + kernel->dynamicSharedMemory,
              kernel->graphNodeId);
}

/* Writes the move of managed pages, which no call asked for unless it prefetched them. One
 * whose times are of another clock, which a reader would refuse, is lost. */
static void put_migration(const migration_record *moved)
{
    static const char *const causes[] = {"unknown",  "user",     "coherence",
                                         "prefetch", "eviction", "access-counters"};
    enum { SLACK_NS = 1000000000 };
    const bool in =
        moved->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
    if (!atomic_load(&record_active))
        return;
    if (moved->start > moved->end || moved->end > (uint64_t)record_now_ns() + SLACK_NS) {
        record_lose(1);
        return;
    }
    FILE_LINE("migration", in ? "h2d" : "d2h", moved->start, moved->end, moved->address,
              moved->value, causes[moved->flags < COUNT(causes) ? moved->flags : 0],
              in ? moved->dstId : moved->srcId);
}

static void put_activity(const CUpti_Activity *activity)
{
    switch (activity->kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const memcpy_record *copy = (const memcpy_record *)activity;
        PUT_OP(copy, copy_name(copy->copyKind), memory_name(copy->srcKind),
               memory_name(copy->dstKind));
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const peer_record *copy = (const peer_record *)activity;
        PUT_OP(copy, "peer", "device", "device");
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
        const memset_record *set = (const memset_record *)activity;
        PUT_OP(set, "memset", "unknown", memory_name((uint8_t)set->memoryKind));
        break;
    }
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        put_kernel((const kernel_record *)activity);
        break;
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
        put_migration((const migration_record *)activity);
        break;
    default:
        break;
    }
}

/* --- buffers --- */

static uint8_t *make_buffer(void)
{
    uint8_t *buffer = aligned_alloc(BUFFER_ALIGNMENT, BUFFER_BYTES);
    if (buffer != NULL)
        memset(buffer, 0, BUFFER_BYTES);
    return buffer;
}

/* Gives CUPTI a buffer, or none where it has too many: it drops records then, and counts them.
 */
static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = NULL;
    record_lock(&spare_lock);
    if (spare_count > 0) {
        *buffer = spare[--spare_count];
    } else if (buffer_count < BUFFERS_MOST) {
        *buffer = make_buffer();
        buffer_count += *buffer != NULL;
    }
    record_unlock(&spare_lock);
    *size = *buffer != NULL ? BUFFER_BYTES : 0;
    *max_records = 0; /* as many as the buffer holds */
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                      size_t size, size_t valid)
{
    (void)size;
    CUpti_Activity *record = NULL;
    size_t dropped = 0;
    while (valid > 0 && atomic_load(&record_on) &&
           record_api.next_record(buffer, valid, &record) == CUPTI_SUCCESS)
        put_activity(record);
    if (record_api.dropped_records(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0)
        record_lose(dropped);
    if (buffer == NULL)
        return;
    memset(buffer, 0, BUFFER_BYTES);
    record_lock(&spare_lock);
    if (spare_count < SPARE_MOST) {
        spare[spare_count++] = buffer;
        buffer = NULL;
    }
    buffer_count -= buffer != NULL;
    record_unlock(&spare_lock);
    free(buffer);
}

/* Makes the first buffers: CUPTI asks for one within a call of the program's, which pages that
 * are not there yet would hold up for half a millisecond. For the same reason CUPTI is told
 * that they are zero already. */
static void take_spare_buffers(void)
{
    size_t size = sizeof(uint8_t);
    uint8_t yes = 1;
    if (record_api.set_attribute != NULL)
        record_api.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &yes);
    while (spare_count < SPARE_MOST / 2) {
        uint8_t *buffer = make_buffer();
        if (buffer == NULL)
            return;
        spare[spare_count++] = buffer;
        buffer_count++;
    }
}

static uint64_t CUPTIAPI timestamp(void)
{
    return (uint64_t)record_now_ns();
}

/* Kernels are recorded as CONCURRENT_KERNEL, never KERNEL: that makes them run one at a time.
 */
static const CUpti_ActivityKind wanted[] = {
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
};
enum { WANTED = sizeof wanted / sizeof wanted[0], FLUSH_MS = 200 };

bool ops_leave(void)
{
    bool done = true;
    for (size_t i = 0; i < WANTED; i++)
        done = record_api.disable(wanted[i]) == CUPTI_SUCCESS && done;
    return done;
}

const char *ops_begin(void)
{
    const struct wanted demangling = {"__cxa_demangle", &demangle, false};
    api_find(dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL), &demangling, 1);
    take_spare_buffers();
    if (record_api.register_timestamp(timestamp) != CUPTI_SUCCESS ||
        record_api.register_buffers(buffer_requested, buffer_completed) != CUPTI_SUCCESS)
        return "CUPTI refuses to tell of ops";
    for (size_t i = 0; i < WANTED; i++) {
        if (record_api.enable(wanted[i]) != CUPTI_SUCCESS)
            return "CUPTI refuses to tell of ops";
    }
    if (record_api.flush_period != NULL)
        record_api.flush_period(FLUSH_MS);
    return NULL;
}

/* Not all devices can tell of pages, and a program without managed memory need not pay for it.
 */
void ops_want_migrations(void)
{
    static atomic_bool told;
    CUpti_ActivityUnifiedMemoryCounterConfig counters[] = {
        {.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
         .kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
         .enable = 1},
        {.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
         .kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
         .enable = 1}};
    if (atomic_exchange(&told, true) || record_api.configure_migrations == NULL)
        return;
    if (record_api.configure_migrations(counters, 2) == CUPTI_SUCCESS)
        record_api.enable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
}

void ops_flush(void)
{
    record_api.flush(0);
}

void ops_end(void)
{
    record_api.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}
