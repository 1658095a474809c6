/* chrome_events.c - what the events of a Chrome trace say of the device and of the host.
 *
 * What they are called and have as arguments is in libkineto's output_json.cpp. A category
 * alone tells an op of the device: rows of the host may have a stream and a grid, too. */
#include "trace/chrome_parts.h"

#include "core/items.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum status chrome_refuse(const struct chrome_reader *reader, const char *why)
{
    char shown[TRACE_SHOWN];
    return error_set(reader->error, STATUS_USAGE, "%s:%" PRIu64 ": %s",
                     trace_shown(reader->path, shown), walk_line(&reader->text), why);
}

enum status chrome_no_memory(const struct chrome_reader *reader)
{
    return error_set(reader->error, STATUS_NO_MEMORY, "no memory for the trace");
}

enum category {
    OP_KERNEL_EVENT,
    OP_COPY_EVENT,
    OP_SET_EVENT,
    CALL_EVENT,
    WAIT_EVENT,
    RANGE_EVENT,
    OTHER_EVENT
};

/* Names of categories, also those of the first versions, which began with a capital. */
static enum category category_of(const struct walk_value *value)
{
    static const struct {
        const char *name;
        enum category category;
    } names[] = {
        {"kernel", OP_KERNEL_EVENT},      {"gpu_memcpy", OP_COPY_EVENT},
        {"Memcpy", OP_COPY_EVENT},        {"gpu_memset", OP_SET_EVENT},
        {"Memset", OP_SET_EVENT},         {"Kernel", OP_KERNEL_EVENT},
        {"cuda_runtime", CALL_EVENT},     {"cuda_driver", CALL_EVENT},
        {"Runtime", CALL_EVENT},          {"hip_runtime", CALL_EVENT},
        {"cuda_sync", WAIT_EVENT},        {"cpu_op", RANGE_EVENT},
        {"user_annotation", RANGE_EVENT}, {"python_function", RANGE_EVENT},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (walk_is(value, names[i].name))
            return names[i].category;
    }
    return OTHER_EVENT;
}

/* The members of an event that are read, and of its arguments; `length` is 0 of those that it
 * lacks. */
enum member { NAME, CATEGORY, PHASE, TS, DUR, PID, TID, ARGS, MEMBERS };
static const char *const members[MEMBERS] = {"name", "cat", "ph",  "ts",
                                             "dur",  "pid", "tid", "args"};
enum argument { DEVICE, CONTEXT, STREAM, CORRELATION, BYTES, SIZE, WAIT_ON, RECORD, ARGUMENTS };
static const char *const arguments[ARGUMENTS] = {
    "device", "context", "stream",         "correlation",
    "bytes",  "size",    "wait_on_stream", "wait_on_cuda_event_record_corr_id"};

bool chrome_find(struct walk_value object, const char *const *names, int count,
                 struct walk_value *values)
{
    bool damaged = false;
    struct walk_value key, value;
    for (int i = 0; i < count; i++)
        values[i] = (struct walk_value){.at = ""};
    if (object.length == 0 || *object.at != '{')
        return true;
    while (walk_member(&object, &key, &value, &damaged)) {
        for (int i = 0; i < count; i++) {
            if (values[i].length == 0 && walk_is(&key, names[i])) {
                values[i] = value;
                break;
            }
        }
    }
    return !damaged;
}

uint64_t chrome_whole_or(const struct walk_value *value, uint64_t most, uint64_t instead)
{
    uint64_t number;
    return value->length > 0 && walk_whole(value, &number) && number <= most ? number : instead;
}

/* Sets when an event began and ended. False: it does not say, or lies beyond what can be
 * counted. */
static bool find_times(const struct walk_value *event, int64_t *start_ns, int64_t *end_ns)
{
    enum { MOST_BITS = 61 };
    int64_t lasts;
    if (event[TS].length == 0 || event[DUR].length == 0 ||
        !walk_thousands(&event[TS], start_ns) || !walk_thousands(&event[DUR], &lasts) ||
        *start_ns < 0 || *start_ns > INT64_C(1) << MOST_BITS || lasts > INT64_C(1) << MOST_BITS)
        return false;
    *end_ns = *start_ns + (lasts > 0 ? lasts : 0);
    return *end_ns > 0; /* what was not measured has neither */
}

/* Returns a copy's name as traces have it: of "Memcpy HtoD (Pageable -> Device)" "[CUDA memcpy
 * HtoD]". */
static void name_copy(const char *said, char name[64])
{
    const char *kind = strchr(said, ' ');
    kind = kind != NULL ? kind + 1 : "";
    snprintf(name, 64, "[CUDA memcpy %.*s]", (int)strcspn(kind, " ("), kind);
}

static bool add_op(struct chrome_reader *reader, enum category category,
                   const struct walk_value *event, const struct walk_value *argument)
{
    char copy[64];
    const char *name = walk_string(&event[NAME], reader->name, sizeof reader->name);
    struct chrome_op op = {.memory = HOST_MEMORY_UNKNOWN, .kind = OP_KERNEL};
    if (!find_times(event, &op.start_ns, &op.end_ns))
        return true;
    if (category == OP_COPY_EVENT) {
        name_copy(name, copy);
        op.kind = (uint8_t)trace_kind(copy);
        op.memory = strstr(name, "Pageable") != NULL ? HOST_MEMORY_PAGEABLE
                    : strstr(name, "Pinned") != NULL ? HOST_MEMORY_PINNED
                                                     : HOST_MEMORY_UNKNOWN;
        name = copy;
    } else if (category == OP_SET_EVENT) {
        op.kind = OP_MEMSET;
    }
    op.bytes = chrome_whole_or(&argument[BYTES], INT64_MAX, 0);
    op.correlation = chrome_whole_or(&argument[CORRELATION], UINT64_MAX, 0);
    op.context = (uint32_t)chrome_whole_or(&argument[CONTEXT], UINT32_MAX, 0);
    op.device = (uint32_t)chrome_whole_or(
        argument[DEVICE].length > 0 ? &argument[DEVICE] : &event[PID], UINT32_MAX, CHROME_NONE);
    op.stream = (uint32_t)chrome_whole_or(
        argument[STREAM].length > 0 ? &argument[STREAM] : &event[TID], UINT32_MAX, 0);
    struct chrome_op *kept =
        names_number(&reader->names, *name != '\0' ? name : "[kernel]",
                     *name != '\0' ? strlen(name) : strlen("[kernel]"), &op.name)
            ? ITEMS_ADD(reader->ops, reader->op_count, reader->op_room)
            : NULL;
    if (kept != NULL)
        *kept = op;
    return kept != NULL;
}

/* Returns the row of a call; HIP's have the names of CUDA's. */
static uint16_t row_of(char *name)
{
    static const struct {
        const char *hip, *cuda;
    } others[] = {
        {"hipModuleLaunchKernel", "cuLaunchKernel"},
        {"hipExtModuleLaunchKernel", "cuLaunchKernel"},
        {"hipExtLaunchKernel", "cudaLaunchKernel"},
        {"hipMemcpyWithStream", "cudaMemcpy"},
        {"hipHostMalloc", "cudaHostAlloc"},
        {"hipHostFree", "cudaFreeHost"},
        {"hipMemcpyHtoD", "cuMemcpyHtoD"},
        {"hipMemcpyDtoH", "cuMemcpyDtoH"},
    };
    char cuda[64];
    if (strncmp(name, "hip", 3) != 0)
        return host_call_row(name);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(name, others[i].hip) == 0)
            return host_call_row(others[i].cuda);
    }
    snprintf(cuda, sizeof cuda, "cuda%.59s", name + 3);
    return host_call_row(cuda);
}

/* Numbers the thread of an event; threads are told apart as texts, since old traces cut their
 * numbers. */
static bool thread_of(struct chrome_reader *reader, const struct walk_value *event,
                      uint32_t *number)
{
    enum { MOST = 22 };
    char thread[2 * MOST + 2];
    const struct walk_value *pid = &event[PID], *tid = &event[TID];
    const int length = snprintf(thread, sizeof thread, "%.*s %.*s",
                                (int)(pid->length < MOST ? pid->length : MOST), pid->at,
                                (int)(tid->length < MOST ? tid->length : MOST), tid->at);
    return names_number(&reader->threads, thread, (size_t)length, number);
}

/* Keeps what the host was at for long: an operator, a module, a function of Python. Short ones
 * are most of a trace, and tell of no pause. */
static bool add_range(struct chrome_reader *reader, const struct walk_value *event)
{
    enum { LONG_NS = 100000 };
    struct trace_facts *facts = &reader->builder.facts;
    struct trace_range range;
    if (!find_times(event, &range.start_ns, &range.end_ns) ||
        range.end_ns - range.start_ns < LONG_NS)
        return true;
    const char *name = walk_string(&event[NAME], reader->name, sizeof reader->name);
    struct trace_range *kept =
        thread_of(reader, event, &range.thread) &&
                names_number(&reader->names, name, strlen(name), &range.name)
            ? ITEMS_ADD(facts->ranges, facts->range_count, facts->range_room)
            : NULL;
    if (kept != NULL)
        *kept = range;
    return kept != NULL;
}

static bool add_call(struct chrome_reader *reader, const struct walk_value *event,
                     const struct walk_value *argument)
{
    struct trace_facts *facts = &reader->builder.facts;
    struct host_call call = {.row = 0};
    uint32_t number;
    if (!find_times(event, &call.start_ns, &call.end_ns))
        return true;
    walk_string(&event[NAME], reader->name, sizeof reader->name);
    call.row = row_of(reader->name);
    struct host_call *kept = thread_of(reader, event, &number)
                                 ? ITEMS_ADD(facts->calls, facts->call_count, facts->call_room)
                                 : NULL;
    if (kept == NULL)
        return false;
    call.thread = number;
    *kept = call;
    if (argument[CORRELATION].length == 0)
        return true;
    struct chrome_call *id = ITEMS_ADD(reader->calls, reader->id_count, reader->id_room);
    if (id != NULL)
        *id = (struct chrome_call){
            .correlation = chrome_whole_or(&argument[CORRELATION], UINT64_MAX, 0),
            .bytes = chrome_whole_or(&argument[argument[BYTES].length > 0 ? BYTES : SIZE],
                                     INT64_MAX, 0),
            .start_ns = call.start_ns};
    return id != NULL;
}

/* Keeps a wait of a stream; those of the host are calls. */
static bool add_wait(struct chrome_reader *reader, const struct walk_value *event,
                     const struct walk_value *argument)
{
    if (!walk_is(&event[NAME], "Stream Wait Event") || argument[CORRELATION].length == 0 ||
        argument[RECORD].length == 0)
        return true;
    struct chrome_wait *kept = ITEMS_ADD(reader->waits, reader->wait_count, reader->wait_room);
    if (kept != NULL)
        *kept = (struct chrome_wait){
            .call = chrome_whole_or(&argument[CORRELATION], UINT64_MAX, 0),
            .record = chrome_whole_or(&argument[RECORD], UINT64_MAX, 0),
            .context = (uint32_t)chrome_whole_or(&argument[CONTEXT], UINT32_MAX, 0),
            .stream = (uint32_t)chrome_whole_or(&argument[STREAM], UINT32_MAX, CHROME_NONE),
            .on = (uint32_t)chrome_whole_or(&argument[WAIT_ON], UINT32_MAX, CHROME_NONE)};
    return kept != NULL;
}

enum status chrome_add_event(struct chrome_reader *reader, struct walk_value value)
{
    struct walk_value event[MEMBERS], argument[ARGUMENTS];
    if (!chrome_find(value, members, MEMBERS, event))
        return chrome_refuse(reader, "damaged JSON");
    const enum category category =
        event[CATEGORY].length > 0 ? category_of(&event[CATEGORY]) : OTHER_EVENT;
    if (category == OTHER_EVENT || !walk_is(&event[PHASE], "X"))
        return STATUS_OK;
    if (category == RANGE_EVENT)
        return add_range(reader, event) ? STATUS_OK : chrome_no_memory(reader);
    if (!chrome_find(event[ARGS], arguments, ARGUMENTS, argument))
        return chrome_refuse(reader, "damaged JSON");
    const bool kept = category == CALL_EVENT   ? add_call(reader, event, argument)
                      : category == WAIT_EVENT ? add_wait(reader, event, argument)
                                               : add_op(reader, category, event, argument);
    return kept ? STATUS_OK : chrome_no_memory(reader);
}
