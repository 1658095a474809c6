/* recording_library.c - calls that a library makes for what lasts, such as a handle, and calls
 * that a graph takes up: they count as what is made.
 *
 * A recording says which file a call was made from where the call makes something. What a
 * library gives back again, the events and the memory of its handle, stands without. It is told
 * by the memory, which a call of the library's took: whoever destroys a handle hands nothing to
 * the device in between. But code that a library loads has variables of its own, in memory that
 * no call took, and it may set them by a copy right behind. */
#include "core/arena.h"
#include "trace/recording_draft.h"
#include "trace/replan_parts.h"

/* Whose a call is: the row of a library's own calls, or one of these. */
enum { OWNER_UNKNOWN = 0, OWNER_CODE = UINT16_MAX - 1, OWNER_PROGRAM = UINT16_MAX };

/* A stretch is all calls of a thread since it last handed something over, or made a call of the
 * program's: a library makes or gives back a handle in one. */
struct stretch {
    uint32_t first, last; /* calls that make or give back what lasts; RECORDING_NONE */
    uint32_t latest;      /* of all its calls */
    uint16_t library;     /* whose call is among them; OWNER_UNKNOWN: none's */
};

struct owners {
    struct recording *recording;
    uint16_t *calls, *memory; /* whose each is */
    uint32_t *before;         /* per call: the one before it of its thread */
    struct stretch *threads;
};

/* Returns true if a library may have made a call of which nobody says who made it, within what
 * it makes or gives back. */
static bool may_be_within(const struct recorded_call *call)
{
    const enum host_call_kind kind = host_call_kind(call->row);
    return call->op_count == 0 &&
           (kind == CALL_OTHER || kind == CALL_SYNC || kind == CALL_ALLOC || kind == CALL_PIN ||
            kind == CALL_STREAM || kind == CALL_LOAD);
}

/* Returns true if a call copies one piece in to where no call took memory: a variable of code.
 */
static bool sets_variable(const struct recording *recording, const struct live *live,
                          const struct recorded_call *call)
{
    return call->effect == EFFECT_COPY && call->op_count == 1 &&
           recording->ops[call->first_op].kind == OP_H2D &&
           live_find(live, call->copy->to) == RECORDING_NONE;
}

/* Passes on whose memory is to the calls that give it back, and finds those that set variables.
 */
static enum status follow_memory(const struct owners *owners, struct arena *arena,
                                 struct error *error)
{
    const struct recording *recording = owners->recording;
    struct live live;
    enum status status = live_init(&live, recording, arena, error);
    for (size_t i = 0; i < recording->call_count && status == STATUS_OK; i++) {
        const struct recorded_call *call = &recording->calls[i];
        const enum host_call_kind kind = host_call_kind(call->row);
        bool given_back;
        if (!live_advance(&live, call->start_ns))
            status = error_no_memory(error, "to follow what calls took");
        else if (sets_variable(recording, &live, call))
            owners->calls[i] = OWNER_CODE;
        if (kind != CALL_ALLOC && kind != CALL_PIN)
            continue;
        const uint32_t memory = live_change(&live, call, kind == CALL_PIN, &given_back);
        if (memory != RECORDING_NONE && !given_back)
            owners->memory[memory] = owners->calls[i];
        else if (memory != RECORDING_NONE && owners->calls[i] == OWNER_UNKNOWN)
            owners->calls[i] = owners->memory[memory];
    }
    live_free(&live);
    return status;
}

/* Gives a library what stands from the first to the last of what it makes or gives back. One
 * that waits in between waits before the first as well: the call before that is a wait alike.
 */
static void take_stretch(const struct owners *owners, const struct stretch *stretch)
{
    struct recorded_call *calls = owners->recording->calls;
    const uint32_t ahead = owners->before[stretch->first];
    bool waits = false;
    for (uint32_t i = stretch->last; i != ahead; i = owners->before[i]) {
        waits |= ahead != RECORDING_NONE && calls[i].row == calls[ahead].row;
        const bool told = owners->calls[i] != OWNER_UNKNOWN && owners->calls[i] != OWNER_CODE;
        calls[i].row = told ? owners->calls[i] : stretch->library;
    }
    if (waits && host_call_kind(calls[ahead].row) == CALL_SYNC)
        calls[ahead].row = stretch->library;
}

static void end_stretch(const struct owners *owners, struct stretch *stretch)
{
    if (stretch->library != OWNER_UNKNOWN)
        take_stretch(owners, stretch);
    *stretch = (struct stretch){RECORDING_NONE, RECORDING_NONE, stretch->latest, OWNER_UNKNOWN};
}

/* Returns true if the next call of a stretch belongs to it. Until the stretch ends, its calls
 * have the rows that they were recorded with. */
static bool belongs(const struct owners *owners, const struct stretch *stretch, uint32_t call)
{
    const struct recorded_call *calls = owners->recording->calls;
    const uint16_t owner = owners->calls[call];
    if (owner == OWNER_CODE)
        return stretch->library != OWNER_UNKNOWN &&
               host_call_kind(calls[stretch->latest].row) == CALL_LOAD;
    return owner == OWNER_UNKNOWN ? may_be_within(&calls[call]) : owner != OWNER_PROGRAM;
}

static void take_stretches(const struct owners *owners)
{
    const struct recording *recording = owners->recording;
    for (uint32_t i = 0; i < recording->threads; i++)
        owners->threads[i] =
            (struct stretch){RECORDING_NONE, RECORDING_NONE, RECORDING_NONE, OWNER_UNKNOWN};
    for (uint32_t i = 0; i < recording->call_count; i++) {
        const struct recorded_call *call = &recording->calls[i];
        const uint16_t owner = owners->calls[i];
        struct stretch *stretch = &owners->threads[call->thread];
        const bool within = belongs(owners, stretch, i);
        owners->before[i] = stretch->latest;
        stretch->latest = i;
        if (!within) {
            end_stretch(owners, stretch);
        } else if (host_call_lasts(call->row) || owner == OWNER_CODE) {
            stretch->first = stretch->first == RECORDING_NONE ? i : stretch->first;
            stretch->last = i;
            if (owner != OWNER_UNKNOWN && owner != OWNER_CODE)
                stretch->library = owner;
        }
    }
    for (uint32_t i = 0; i < recording->threads; i++)
        end_stretch(owners, &owners->threads[i]);
}

/* Has calls that a library makes for itself count as its own. */
static void find_libraries(struct draft *draft)
{
    struct recording *recording = draft->recording;
    const struct draft_maker *makers = draft->makers.items;
    const size_t calls = recording->call_count + 1;
    struct arena arena = {0};
    const struct owners owners = {
        recording, arena_zeros(&arena, calls, sizeof *owners.calls),
        arena_zeros(&arena, recording->memory_count, sizeof *owners.memory),
        arena_zeros(&arena, calls, sizeof *owners.before),
        arena_zeros(&arena, recording->threads, sizeof *owners.threads)};
    if (arena.full)
        draft_no_memory(draft);
    for (size_t i = 0, near = 0; i < draft->makers.count && !arena.full; i++) {
        const uint32_t call = place_find(&draft->call_places, makers[i].call, &near);
        if (call != RECORDING_NONE && host_call_lasts(recording->calls[call].row))
            owners.calls[call] = makers[i].row != 0 ? makers[i].row : (uint16_t)OWNER_PROGRAM;
    }
    if (!arena.full && follow_memory(&owners, &arena, draft->text.error) == STATUS_OK)
        take_stretches(&owners);
    arena_free(&arena);
}

void draft_settle_rows(struct draft *draft)
{
    struct recorded_call *calls = draft->recording->calls;
    struct host_capture capture = {.on = false};
    if (draft->libraries)
        find_libraries(draft);
    for (size_t i = 0; i < draft->recording->call_count; i++)
        calls[i].row = host_call_captured(&capture, calls[i].thread, calls[i].row);
}
