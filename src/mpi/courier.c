/* courier.c - see parts.h. */
#include "mpi/parts.h"

#include "core/arena.h"
#include "run/arrays.h"
#include "run/backend.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum {
    LOOKED_AT = 256, /* crossings not sent, of which the first may come last */
};

/* A piece of a crossing's bytes. A crossing has at least one, which may be empty. */
struct message {
    void *data;
    int bytes;
};

static struct {
    const struct crossings *crossings;
    struct flags flags;
    struct message *messages; /* of the crossings from this rank and to it */
    uint32_t
        *first; /* by crossing: its first message; that of the next one is behind its last */
    uint32_t *came; /* by crossing: the messages of it that have come */
    bool *sent;     /* by crossing */
    MPI_Request *requests;
    struct arena arena; /* what has these tables */
    uint32_t under_way, to_send, to_come;
    uint32_t oldest; /* no crossing before it is to be sent */
    pthread_t thread;
    bool common; /* the flags are all ranks': nothing is to be carried */
    bool runs;
    atomic_bool stops; /* nothing is to come any more */
} courier;

static bool is_own(const struct crossing *crossing)
{
    return crossing->from == world.number || crossing->to == world.number;
}

/* --- the thread --- */

static void send_crossing(uint32_t number)
{
    const struct crossing *crossing = &courier.crossings->all[number];
    for (uint32_t i = courier.first[number]; i < courier.first[number + 1]; i++)
        MPI_Isend(courier.messages[i].data, courier.messages[i].bytes, MPI_BYTE,
                  (int)crossing->to, (int)number, world.courier,
                  &courier.requests[courier.under_way++]);
    courier.sent[number] = true;
    courier.to_send--;
}

/* Sends what streams have raised flags for. Streams overtake one another, but none waits for a
 * crossing that comes later in the plan: so it is enough to look at the oldest ones. */
static bool send_raised(void)
{
    const struct crossings *crossings = courier.crossings;
    uint32_t looked_at = 0, before = courier.to_send;
    bool first = true;
    for (uint32_t i = courier.oldest; i < crossings->count && looked_at < LOOKED_AT; i++) {
        if (crossings->all[i].from != world.number || courier.sent[i])
            continue;
        looked_at++;
        if (flags_is_raised(&courier.flags, crossings->all[i].flag))
            send_crossing(i);
        else if (first) {
            courier.oldest = i;
            first = false;
        }
    }
    return before != courier.to_send;
}

/* Forgets the messages that have gone. */
static bool let_go(void)
{
    const uint32_t before = courier.under_way;
    for (uint32_t i = 0; i < courier.under_way;) {
        int gone;
        MPI_Test(&courier.requests[i], &gone, MPI_STATUS_IGNORE);
        if (gone)
            courier.requests[i] = courier.requests[--courier.under_way];
        else
            i++;
    }
    return before != courier.under_way;
}

/* Takes a message that has come. */
static bool take(void)
{
    int there;
    MPI_Message message;
    MPI_Status from;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, world.courier, &there, &message, &from);
    if (!there)
        return false;
    const uint32_t number = (uint32_t)from.MPI_TAG;
    const struct message *to = &courier.messages[courier.first[number] + courier.came[number]];
    MPI_Mrecv(to->data, to->bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    if (courier.first[number] + ++courier.came[number] == courier.first[number + 1]) {
        flags_raise(&courier.flags, courier.crossings->all[number].flag);
        courier.to_come--;
    }
    return true;
}

static void *carry(void *unused)
{
    (void)unused;
    while ((courier.to_send > 0 || courier.to_come > 0 || courier.under_way > 0) &&
           !atomic_load(&courier.stops)) {
        const bool sent = send_raised(), came = take(), gone = let_go();
        if (!sent && !came && !gone)
            sched_yield(); /* ranks may have to share cores */
    }
    return NULL;
}

/* --- runs --- */

enum status courier_start(struct error *error)
{
    const struct crossings *crossings = courier.crossings;
    if (crossings == NULL || crossings->count == 0)
        return STATUS_OK;
    flags_lower(&courier.flags);
    if (courier.common)
        return STATUS_OK;
    atomic_store(&courier.stops, false);
    courier.to_send = courier.to_come = courier.oldest = 0;
    for (uint32_t i = 0; i < crossings->count; i++) {
        courier.to_send += crossings->all[i].from == world.number;
        courier.to_come += crossings->all[i].to == world.number;
        courier.came[i] = 0;
        courier.sent[i] = false;
    }
    courier.runs = pthread_create(&courier.thread, NULL, carry, NULL) == 0;
    return courier.runs ? STATUS_OK
                        : error_set(error, STATUS_FAILED, "no thread to send messages with");
}

void courier_end(bool failed)
{
    const struct crossings *crossings = courier.crossings;
    for (uint32_t i = 0; failed && crossings != NULL && i < crossings->count; i++)
        if (crossings->all[i].from == world.number)
            flags_raise(&courier.flags, crossings->all[i].flag);
    if (!courier.runs)
        return;
    pthread_join(courier.thread, NULL);
    courier.runs = false;
}

void courier_cancel(void)
{
    atomic_store(&courier.stops, true);
    courier_end(false);
}

/* --- messages --- */

static uint32_t pieces_of(const struct range *range)
{
    return (uint32_t)((range->bytes + WORLD_PIECE - 1) / WORLD_PIECE);
}

/* Returns true if a parcel's bytes need no message: they lie before both ranks. */
static bool is_there(const struct crossings *crossings, const struct parcel *parcel)
{
    const struct crossing *crossing = &crossings->all[parcel->crossing];
    return common_with(crossing->from) && common_with(crossing->to);
}

/* Lays out each own crossing's messages behind those of the one before. Returns how many they
 * are. */
static uint32_t lay_out(const struct crossings *crossings)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < crossings->parcel_count; i++)
        if (!is_there(crossings, &crossings->parcels[i]))
            courier.first[crossings->parcels[i].crossing] +=
                pieces_of(&crossings->parcels[i].range);
    for (uint32_t i = 0; i <= crossings->count; i++) {
        uint32_t own = courier.first[i] > 0 ? courier.first[i] : 1;
        if (i == crossings->count || !is_own(&crossings->all[i]))
            own = 0;
        courier.first[i] = all;
        all += own;
    }
    return all;
}

/* Writes them; courier.came counts those of each crossing so far. */
static void write_messages(const struct crossings *crossings, const struct arrays *arrays)
{
    EACH (const struct parcel, parcel, crossings->parcels, crossings->parcel_count) {
        if (!is_own(&crossings->all[parcel->crossing]) || is_there(crossings, parcel))
            continue;
        char *at = arrays_at(arrays, &parcel->range);
        for (uint64_t rest = parcel->range.bytes, piece; rest > 0; rest -= piece, at += piece) {
            piece = rest < WORLD_PIECE ? rest : WORLD_PIECE;
            courier
                .messages[courier.first[parcel->crossing] + courier.came[parcel->crossing]++] =
                (struct message){at, (int)piece};
        }
    }
}

static enum status take_memory(const struct crossings *crossings, struct error *error)
{
    const size_t count = crossings->count + (size_t)1;
    struct arena *arena = &courier.arena;
    courier.first = arena_zeros(arena, count, sizeof *courier.first);
    courier.came = arena_zeros(arena, count, sizeof *courier.came);
    courier.sent = arena_zeros(arena, count, sizeof *courier.sent);
    if (!arena->full) {
        const size_t messages = lay_out(crossings);
        courier.messages = arena_zeros(arena, messages, sizeof *courier.messages);
        courier.requests = arena_zeros(arena, messages, sizeof *courier.requests);
        if (!arena->full)
            return flags_take(&courier.flags, crossings->count, error);
    }
    return error_no_memory(error, "for messages between ranks");
}

static enum status check_tags(const struct crossings *crossings, struct error *error)
{
    int *most, known;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &known);
    if (!known || crossings->count <= (uint32_t)*most)
        return STATUS_OK;
    return error_set(
        error, STATUS_FAILED,
        "the ranks hand each other %" PRIu32
        " things, and MPI's library tells %d messages apart: fewer tiles need fewer",
        crossings->count, *most);
}

enum status courier_prepare(const struct crossings *crossings, struct workload *workload,
                            struct error *error)
{
    enum status status = STATUS_OK;
    if (crossings->count == 0 || workload->arrays == NULL)
        return STATUS_OK;
    courier.crossings = crossings;
    courier.common = common_flags(&courier.flags, crossings->count);
    if (!courier.common)
        status = check_tags(crossings, error);
    if (!courier.common && status == STATUS_OK)
        status = take_memory(crossings, error);
    if (status != STATUS_OK)
        return status;
    if (!courier.common)
        write_messages(crossings, workload->arrays);
    workload->flags = &courier.flags;
    return STATUS_OK;
}

void courier_release(void)
{
    flags_free(&courier.flags);
    arena_free(&courier.arena);
    courier.crossings = NULL;
}
