/* entries.c - what each thread notes of its calls: lists of chunks, each written by one thread
 * at a time and read by one other, without a lock between them. */
#include "record/places.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOT = sizeof(uint64_t), CHUNK_SLOTS = 8000, CHUNKS_MOST = 4096, SPARE_MOST = 64 };

struct chunk {
    _Atomic(struct chunk *) next;
    _Atomic uint32_t used;
    uint64_t slots[CHUNK_SLOTS]; /* entries, each less the values that it does not have */
};

/* What a line says that a call did, and how many values its entry has. */
static const struct {
    const char *name;
    uint8_t values;
} effects[ENTRY_FRAMES] = {
    [ENTRY_CALL] = {"call", 0},         [ENTRY_COPY] = {"copy", 3},
    [ENTRY_COPY2D] = {"copy2d", 6},     [ENTRY_SET] = {"set", 2},
    [ENTRY_LAUNCH] = {"launch", 0},     [ENTRY_RECORD] = {"record", 1},
    [ENTRY_WAIT] = {"wait", 1},         [ENTRY_SYNC_DEVICE] = {"sync", 0},
    [ENTRY_SYNC_STREAM] = {"sync", 0},  [ENTRY_SYNC_EVENT] = {"sync", 1},
    [ENTRY_FUNCTION] = {"function", 2}, [ENTRY_GRAPH] = {"graph", 1},
};

/* The entries of one thread, and, when that has ended, of another one: there are as many as
 * there ever were threads at a time. */
struct lane {
    struct lane *next;
    atomic_bool taken;        /* by a thread */
    _Atomic int64_t until_ns; /* of its latest call; INT64_MAX: that goes on */
    struct chunk *writing;    /* the thread's */
    struct chunk *reading;    /* the reader's */
    uint32_t read;
};

static _Atomic(struct lane *) lanes;
static _Thread_local struct {
    struct lane *lane;
    uint32_t thread;
} own;
static pthread_key_t at_thread_end;
static bool has_key;
static atomic_uint chunks;

/* Chunks that were read, for whoever asks first: what the writer reads at a time. New ones
 * would be pages that are not there yet, within the program's calls. */
static _Atomic(struct chunk *) spare[SPARE_MOST];

/* A thread that calls CUDA later still, as others' destructors may, takes a lane once more. */
static void lane_leave(void *lane)
{
    own.lane = NULL;
    if (atomic_load(&record_on)) /* not in a forked child, where a lock may be nobody's */
        tables_forget(NULL, own.thread);
    atomic_store_explicit(&((struct lane *)lane)->taken, false, memory_order_release);
}

void entries_begin(void)
{
    has_key = pthread_key_create(&at_thread_end, lane_leave) == 0;
}

static struct chunk *chunk_take(void)
{
    struct chunk *chunk = NULL;
    for (size_t i = 0; chunk == NULL && i < SPARE_MOST; i++) {
        if (atomic_load_explicit(&spare[i], memory_order_relaxed) != NULL)
            chunk = atomic_exchange(&spare[i], NULL);
    }
    if (chunk == NULL) {
        if (atomic_fetch_add(&chunks, 1) >= CHUNKS_MOST) {
            atomic_fetch_sub(&chunks, 1);
            return NULL;
        }
        chunk = malloc(sizeof *chunk);
        if (chunk == NULL)
            atomic_fetch_sub(&chunks, 1);
    }
    if (chunk != NULL) {
        atomic_store_explicit(&chunk->next, NULL, memory_order_relaxed);
        atomic_store_explicit(&chunk->used, 0, memory_order_relaxed);
    }
    return chunk;
}

/* At the program's end, which may be in a signal's handler, no memory is given back. */
static void chunk_give_back(struct chunk *chunk, bool at_exit)
{
    if (at_exit)
        return;
    for (size_t i = 0; i < SPARE_MOST; i++) {
        struct chunk *none = NULL;
        if (atomic_compare_exchange_strong(&spare[i], &none, chunk))
            return;
    }
    free(chunk);
    atomic_fetch_sub(&chunks, 1);
}

static struct lane *lane_make(void)
{
    struct lane *lane = calloc(1, sizeof *lane);
    if (lane == NULL)
        return NULL;
    lane->writing = lane->reading = chunk_take();
    if (lane->writing == NULL) {
        free(lane);
        return NULL;
    }
    atomic_store_explicit(&lane->taken, true, memory_order_relaxed);
    lane->next = atomic_load(&lanes);
    while (!atomic_compare_exchange_weak(&lanes, &lane->next, lane))
        ;
    return lane;
}

/* Takes a lane that nobody has, or a new one, for this thread. Returns false where there is no
 * memory for it. */
static bool lane_take(void)
{
    struct lane *lane = atomic_load(&lanes);
    while (lane != NULL && atomic_exchange_explicit(&lane->taken, true, memory_order_acquire))
        lane = lane->next;
    if (lane == NULL)
        lane = lane_make();
    own.lane = lane;
    own.thread = (uint32_t)gettid();
    if (has_key && lane != NULL)
        pthread_setspecific(at_thread_end, lane);
    return lane != NULL;
}

void entries_call(int64_t until_ns)
{
    if (own.lane != NULL || lane_take())
        atomic_store_explicit(&own.lane->until_ns, until_ns, memory_order_relaxed);
}

bool entries_quiet(int64_t since_ns)
{
    bool quiet = true;
    for (const struct lane *lane = atomic_load(&lanes); lane != NULL; lane = lane->next)
        quiet =
            quiet && (lane == own.lane ||
                      atomic_load_explicit(&lane->until_ns, memory_order_relaxed) < since_ns);
    return quiet;
}

/* Returns how many slots an entry takes without its words, and how many these are. */
static uint32_t slots_of(const struct entry *entry)
{
    const uint32_t values = entry->kind < ENTRY_FRAMES ? effects[entry->kind].values : 0;
    return (uint32_t)(offsetof(struct entry, values) / SLOT) + values;
}

static uint32_t words_of(const struct entry *entry)
{
    const bool has = entry->kind == ENTRY_LAUNCH || entry->kind >= ENTRY_FRAMES;
    return has && entry->words != ENTRY_NO_WORDS ? entry->words : 0;
}

void entries_add(const struct entry *entry, const uint64_t *words)
{
    const uint32_t slots = slots_of(entry), count = words_of(entry), room = slots + count;
    if (own.lane == NULL && !lane_take()) {
        record_lose(1);
        return;
    }
    struct chunk *chunk = own.lane->writing;
    uint32_t used = atomic_load_explicit(&chunk->used, memory_order_relaxed);
    if (used + room > CHUNK_SLOTS) {
        struct chunk *next = chunk_take();
        if (next == NULL) {
            record_lose(1);
            return;
        }
        atomic_store_explicit(&chunk->next, next, memory_order_release);
        own.lane->writing = chunk = next;
        used = 0;
    }
    uint64_t *place = &chunk->slots[used];
    memcpy(place, entry, slots * SLOT);
    ((struct entry *)place)->thread = own.thread;
    if (count > 0)
        memcpy(place + slots, words, count * SLOT);
    atomic_store_explicit(&chunk->used, used + room, memory_order_release);
}

/* --- lines --- */

/* Finds the call's name less its version: "cudaMemcpyAsync" of "cudaMemcpyAsync_ptsz_v7000",
 * "cudaLaunchKernel" of "__cudaLaunchKernel_v13000". */
static void find_name(const struct entry *entry, char *text, size_t room)
{
    const char *name =
        api_names[api_place((CUpti_CallbackDomain)entry->domain, entry->callback)];
    if (name == NULL)
        name = "another call";
    name += strspn(name, "_");
    size_t length = strcspn(name, "_");
    length = length < room ? length : room - 1;
    memcpy(text, name, length);
    text[length] = '\0';
}

static void put_call(const struct entry *entry)
{
    char name[96];
    find_name(entry, name, sizeof name);
    const struct field fields[] = {FIELD(entry->call),   FIELD(name),
                                   FIELD(entry->thread), FIELD(entry->start_ns),
                                   FIELD(entry->end_ns), FIELD(entry->result),
                                   FIELD(entry->hash)};
    const bool told = entry->kind == ENTRY_CALL && entry->hash > 0;
    file_line("call", fields, told ? 7 : 6);
}

static void put_sync(const struct entry *entry)
{
    const bool stream = entry->kind == ENTRY_SYNC_STREAM,
               event = entry->kind == ENTRY_SYNC_EVENT;
    const struct field subject = stream  ? FIELD(entry->stream)
                                 : event ? FIELD(entry->values[0])
                                         : FIELD_NOTHING;
    FILE_LINE("sync", entry->call,
              stream  ? "stream"
              : event ? "event"
                      : "device",
              entry->context, subject);
}

static void put_effect(const struct entry *entry, const uint64_t *words)
{
    if (entry->kind == ENTRY_SYNC_DEVICE || entry->kind == ENTRY_SYNC_STREAM ||
        entry->kind == ENTRY_SYNC_EVENT) {
        put_sync(entry);
        return;
    }
    struct field fields[3 + ENTRY_VALUES + 2] = {FIELD(entry->call), FIELD(entry->context),
                                                 FIELD(entry->stream)};
    size_t count = 3;
    const bool unknown = entry->kind == ENTRY_FUNCTION && entry->words == ENTRY_NO_WORDS;
    for (uint8_t i = 0; i < effects[entry->kind].values; i++)
        fields[count++] = unknown ? FIELD_NOTHING : FIELD(entry->values[i]);
    if (entry->hash != 0)
        fields[count++] = FIELD(entry->hash);
    if (entry->kind == ENTRY_LAUNCH)
        fields[count++] = field_words(words, entry->words);
    file_line(effects[entry->kind].name, fields, count);
}

/* Writes what the lane has, but no more than some chunks: a thread may be faster than this one
 * for as long as it likes. Returns true if there is more. */
static bool lane_write(struct lane *lane, bool at_exit)
{
    enum { CHUNKS_AT_ONCE = 64 };
    for (int i = 0; i < CHUNKS_AT_ONCE; i++) {
        struct chunk *chunk = lane->reading;
        struct chunk *next = atomic_load_explicit(&chunk->next, memory_order_acquire);
        uint32_t used = atomic_load_explicit(&chunk->used, memory_order_acquire);
        while (lane->read < used) {
            const uint64_t *place = &chunk->slots[lane->read];
            const struct entry *entry = (const struct entry *)place;
            const uint64_t *words = place + slots_of(entry);
            /* The calls of these are entries of their own. */
            if (entry->kind >= ENTRY_FRAMES)
                places_write(entry, words);
            else if (entry->kind != ENTRY_FUNCTION)
                put_call(entry);
            if (entry->kind != ENTRY_CALL && entry->kind < ENTRY_FRAMES)
                put_effect(entry, words);
            lane->read += slots_of(entry) + words_of(entry);
        }
        if (next == NULL)
            return false;
        lane->reading = next;
        lane->read = 0;
        chunk_give_back(chunk, at_exit);
    }
    return true;
}

bool entries_write(bool at_exit)
{
    bool more = false;
    for (struct lane *lane = atomic_load(&lanes); lane != NULL; lane = lane->next)
        more |= lane_write(lane, at_exit);
    return more;
}

/* --- what recording costs --- */

static struct {
    _Atomic uint64_t calls, outside_ns, inside_ns;
} costs[ENTRY_FRAMES]; /* calls of further kinds are no calls */

/* A thread that another one displaces meanwhile would count for sixty calls. */
void costs_add(enum entry_kind kind, int64_t outside_ns, int64_t inside_ns)
{
    enum { MOST_NS = 100000 };
    if (outside_ns + inside_ns > MOST_NS)
        return;
    if (kind == ENTRY_SYNC_STREAM || kind == ENTRY_SYNC_EVENT)
        kind = ENTRY_SYNC_DEVICE; /* they have one name */
    atomic_fetch_add_explicit(&costs[kind].calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&costs[kind].outside_ns, (uint64_t)outside_ns,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&costs[kind].inside_ns, (uint64_t)inside_ns,
                              memory_order_relaxed);
}

void costs_write(void)
{
    for (size_t kind = 0; kind < ENTRY_FRAMES; kind++) {
        const uint64_t calls = atomic_load(&costs[kind].calls);
        if (calls > 0)
            FILE_LINE("cost", effects[kind].name, calls, atomic_load(&costs[kind].outside_ns),
                      atomic_load(&costs[kind].inside_ns));
    }
}
