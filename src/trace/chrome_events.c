/* chrome_events.c - what the events of a Chrome trace say of the device and of the host.
 *
 * What they are called and have as arguments is in libkineto's output_json.cpp. A category
 * alone tells an op of the device: rows of the host may have a stream and a grid, too. */
#include "trace/chrome_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void chrome_refuse(const struct chrome_reader *reader, const char *why)
{
    char shown[TRACE_SHOWN];
    error_set(reader->error, STATUS_USAGE, "%s:%" PRIu64 ": %s",
              trace_shown(reader->path, shown), walk_line(&reader->text), why);
}

enum category {
    OP_KERNEL_EVENT,
    OP_COPY_EVENT,
    OP_SET_EVENT,
    CALL_EVENT,
    WAIT_EVENT,
    RANGE_EVENT,
    OPERATOR_EVENT,
    FUNCTION_EVENT,
    OTHER_EVENT
};

/* Names of categories, also those of the first versions, which began with a capital, and this
 * program's own. */
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
        {"cuda_sync", WAIT_EVENT},        {"cpu_op", OPERATOR_EVENT},
        {"user_annotation", RANGE_EVENT}, {"python_function", FUNCTION_EVENT},
        {"h2d", OP_COPY_EVENT},           {"d2h", OP_COPY_EVENT},
        {"d2d", OP_COPY_EVENT},           {"peer", OP_COPY_EVENT},
        {"memset", OP_SET_EVENT},
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
enum argument {
    DEVICE,
    CONTEXT,
    STREAM,
    CORRELATION,
    BYTES,
    SIZE,
    WAIT_ON,
    RECORD,
    GRID,
    BLOCK,
    REGISTERS,
    SHARED,
    DETAILS,
    OP,
    TILE,
    ARGUMENTS
};
static const char *const arguments[ARGUMENTS] = {"device",
                                                 "context",
                                                 "stream",
                                                 "correlation",
                                                 "bytes",
                                                 "size",
                                                 "wait_on_stream",
                                                 "wait_on_cuda_event_record_corr_id",
                                                 "grid",
                                                 "block",
                                                 "registers per thread",
                                                 "shared memory",
                                                 "memcpy_details",
                                                 "op",
                                                 "tile"};

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

/* Returns a copy's name as traces have it: of "Memcpy HtoD (Pageable -> Device)", of
 * "MemcpyH2D" and of this program's "H2D 3", "[CUDA memcpy HtoD]". */
static void name_copy(const char *said, char name[64])
{
    const char *kind = strchr(said, ' ');
    kind = kind != NULL ? kind + 1 : "";
    const char *way = strncmp(said, "Memcpy", 6) == 0 ? said + 6 : said;
    if (*way != '\0' && way[1] == '2' && way[2] != '\0')
        snprintf(name, 64, "[CUDA memcpy %cto%c]", way[0], way[2]);
    else if (strncmp(said, "peer", 4) == 0)
        strcpy(name, "[CUDA memcpy PtoP]");
    else
        snprintf(name, 64, "[CUDA memcpy %.*s]", (int)strcspn(kind, " ("), kind);
}

/* Returns the call that an event names by its correlation. */
static uint64_t id_of(const struct walk_value *value)
{
    const uint64_t correlation = walk_whole_or(value, UINT64_MAX, DRAFT_NO_CALL);
    return correlation != DRAFT_NO_CALL ? profiled_id(0, correlation) : DRAFT_NO_CALL;
}

/* Returns the device that an event names; CHROME_NONE: it is none that can be. */
static uint32_t device_of(const struct walk_value *event, const struct walk_value *argument)
{
    return (uint32_t)(argument[DEVICE].length > 0
                          ? walk_whole_or(&argument[DEVICE], CHROME_NONE - 1, CHROME_NONE)
                          : walk_whole_or(&event[PID], CHROME_NONE - 1, 0));
}

/* Returns a stream of the device that an event names. */
static uint32_t stream_of(struct chrome_reader *reader, const struct walk_value *event,
                          const struct walk_value *argument, const struct walk_value *number)
{
    return profiled_stream(
        &reader->profiled, 0, walk_whole_or(&argument[CONTEXT], UINT32_MAX, 0),
        device_of(event, argument), (uint32_t)walk_whole_or(number, CHROME_NONE - 1, 0));
}

/* Returns the product of a list of numbers; 0: it is none. */
static uint32_t product_of(const struct walk_value *value)
{
    struct walk_value list = *value, item;
    uint64_t product = 1;
    bool damaged = false, any = false;
    while (list.length > 0 && *value->at == '[' && walk_item(&list, &item, &damaged)) {
        any = true;
        if (__builtin_mul_overflow(product, walk_whole_or(&item, UINT64_MAX, 0), &product))
            product = UINT32_MAX;
    }
    return !any ? 0 : product < UINT32_MAX ? (uint32_t)product : UINT32_MAX;
}

/* Returns true for the second slice of an op of this program's, which is in its stream's row
 * behind the one in its engine's. */
static bool is_drawn(struct chrome_reader *reader, const struct walk_value *event,
                     const struct walk_value *argument)
{
    const uint64_t pid = walk_whole_or(&event[PID], UINT16_MAX, 0);
    const uint64_t slice = (pid << 32 | walk_whole_or(&argument[OP], UINT32_MAX - 1, 0)) + 1;
    const bool drawn = reader->drawn == slice;
    reader->drawn = slice;
    return drawn;
}

static void add_op(struct chrome_reader *reader, enum category category,
                   const struct walk_value *event, const struct walk_value *argument)
{
    char copy[64], details[256];
    const char *name = walk_string(&event[NAME], reader->name, sizeof reader->name);
    char *tile = reader->own && argument[TILE].length > 0 ? strrchr(reader->name, ' ') : NULL;
    if (tile != NULL)
        *tile = '\0';
    const char *size =
        strstr(walk_string(&argument[DETAILS], details, sizeof details), "size:");
    const enum host_memory memory =
        strstr(name, "Pageable") != NULL || strstr(details, "pageable") != NULL
            ? HOST_MEMORY_PAGEABLE
        : strstr(name, "Pinned") != NULL || strstr(details, "pinned") != NULL
            ? HOST_MEMORY_PINNED
            : HOST_MEMORY_UNKNOWN;
    int64_t start_ns, end_ns;
    if (!find_times(event, &start_ns, &end_ns) || device_of(event, argument) == CHROME_NONE) {
        reader->left++;
        return;
    }
    if (category == OP_COPY_EVENT)
        name_copy(name, copy);
    const char *called = category == OP_COPY_EVENT  ? copy
                         : category == OP_SET_EVENT ? "[CUDA memset]"
                         : *name != '\0'            ? name
                                                    : "[kernel]";
    const uint32_t stream = stream_of(
        reader, event, argument, argument[STREAM].length > 0 ? &argument[STREAM] : &event[TID]);
    if (reader->own && argument[TILE].length > 0)
        draft_stream(&reader->profiled.draft, stream)->stream.kind = STREAM_NONBLOCKING;
    struct recorded_op *op =
        profiled_op(&reader->profiled, id_of(&argument[CORRELATION]), called, stream);
    op->start_ns = start_ns;
    op->end_ns = end_ns;
    op->bytes = walk_whole_or(&argument[BYTES], INT64_MAX,
                              size != NULL ? strtoull(size + 5, NULL, 10) & INT64_MAX : 0);
    if (category == OP_COPY_EVENT) {
        op->from = op->to = (uint8_t)memory;
    } else if (category == OP_KERNEL_EVENT) {
        op->kind = OP_KERNEL;
        op->blocks = product_of(&argument[GRID]);
        op->need.threads = product_of(&argument[BLOCK]);
        op->need.registers = (uint32_t)walk_whole_or(&argument[REGISTERS], UINT16_MAX, 0);
        op->need.shared = (uint32_t)walk_whole_or(&argument[SHARED], UINT32_MAX, 0);
    }
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

/* Returns how many bytes of a number of a process or of a thread count. */
enum { THREAD_PART = 22, THREAD_KEY = 2 * THREAD_PART + 2 };
static size_t part_of(const struct walk_value *number)
{
    return number->length < THREAD_PART ? number->length : THREAD_PART;
}

/* Writes the key of an event's thread, which begins with that of its process; threads are told
 * apart as texts, since old traces cut their numbers. Returns its length. */
static size_t thread_of(const struct walk_value *event, char thread[THREAD_KEY])
{
    const struct walk_value *pid = &event[PID], *tid = &event[TID];
    return (size_t)snprintf(thread, THREAD_KEY, "%.*s %.*s", (int)part_of(pid), pid->at,
                            (int)part_of(tid), tid->at);
}

/* Keeps what the host was at: an operator that is in no other or, for long, a module or a
 * function of Python. */
static void add_range(struct chrome_reader *reader, enum category category,
                      const struct walk_value *event)
{
    struct draft *draft = &reader->profiled.draft;
    struct host_range *outer = &reader->operator;
    char thread[THREAD_KEY];
    int64_t start_ns, end_ns;
    if (!find_times(event, &start_ns, &end_ns) ||
        (category == FUNCTION_EVENT && end_ns - start_ns < PROFILED_LONG_NS))
        return;
    const size_t length = thread_of(event, thread);
    const uint32_t number = draft_number(draft, &draft->threads, thread, length);
    if (category == OPERATOR_EVENT && number == outer->thread && start_ns >= outer->start_ns &&
        end_ns <= outer->end_ns)
        return;
    if (category == OPERATOR_EVENT)
        *outer = (struct host_range){start_ns, end_ns, number, NULL};
    profiled_range(&reader->profiled,
                   walk_string(&event[NAME], reader->name, sizeof reader->name), thread, length,
                   start_ns, end_ns);
}

static void add_call(struct chrome_reader *reader, const struct walk_value *event,
                     const struct walk_value *argument)
{
    char thread[THREAD_KEY];
    int64_t start_ns, end_ns;
    if (!find_times(event, &start_ns, &end_ns)) {
        reader->left++;
        return;
    }
    walk_string(&event[NAME], reader->name, sizeof reader->name);
    struct recorded_call *call =
        profiled_call(&reader->profiled, id_of(&argument[CORRELATION]), thread,
                      thread_of(event, thread), row_of(reader->name));
    call->start_ns = start_ns;
    call->end_ns = end_ns;
    call->bytes = walk_whole_or(&argument[argument[BYTES].length > 0 ? BYTES : SIZE], INT64_MAX,
                                0); /* which ROCm says here alone */
}

static bool is_known(const struct walk_value *value)
{
    uint64_t number;
    return value->length > 0 && walk_whole(value, &number); /* what is not known is -1 */
}

/* Keeps what a call waits for: a stream, or an event, which is the call that recorded it. */
static void add_wait(struct chrome_reader *reader, const struct walk_value *event,
                     const struct walk_value *argument)
{
    struct profiled *profiled = &reader->profiled;
    const uint64_t id = id_of(&argument[CORRELATION]), record = id_of(&argument[RECORD]);
    const bool waits = walk_is(&event[NAME], "Stream Wait Event");
    const bool by_event = waits || walk_is(&event[NAME], "Event Sync");
    const bool in_stream = waits || !by_event;
    if (walk_is(&event[NAME], "Context Sync")) {
        profiled_effect(profiled, id, EFFECT_SYNC_DEVICE, RECORDING_NONE, 0);
        return;
    }
    if ((!by_event && !walk_is(&event[NAME], "Stream Sync")) ||
        (by_event && !(is_known(&argument[RECORD]) && is_known(&argument[WAIT_ON]))) ||
        (in_stream && !is_known(&argument[STREAM])) ||
        device_of(event, argument) == CHROME_NONE)
        return;
    if (by_event)
        profiled_effect(profiled, record, EFFECT_RECORD,
                        stream_of(reader, event, argument, &argument[WAIT_ON]), record);
    profiled_effect(profiled, id,
                    waits      ? EFFECT_WAIT
                    : by_event ? EFFECT_SYNC_EVENT
                               : EFFECT_SYNC_STREAM,
                    in_stream ? stream_of(reader, event, argument, &argument[STREAM])
                              : RECORDING_NONE,
                    record);
}

/* --- rows --- */

/* XLA and TensorFlow tell what an event is by its row alone, which is named before: a process
 * is called "/device:GPU:0", and its threads with ops "Stream #24(Compute)", after what they
 * have. Others of its threads show what is made of these, such as steps. Both are kept: the
 * names of processes may stand between those of another's threads. */
static void add_row(struct chrome_reader *reader, const struct walk_value *event)
{
    static const char device[] = "/device:GPU:",
                      stream[] = "Stream #", *const names[] = {"name"};
    char key[THREAD_KEY];
    struct walk_value value;
    walk_find(event[ARGS], names, 1, &value);
    const char *name = walk_string(&value, reader->name, sizeof reader->name);
    const bool process = walk_is(&event[NAME], "process_name");
    const char *gpu = process ? strstr(name, device) : NULL;
    if (gpu == NULL && (process || strncmp(name, stream, sizeof stream - 1) != 0))
        return;
    const size_t length = thread_of(event, key);
    const uint32_t number = draft_number(&reader->profiled.draft, &reader->rows, key,
                                         process ? part_of(&event[PID]) : length);
    if (gpu != NULL && number < CHROME_ROWS)
        snprintf(reader->gpus[number], sizeof reader->gpus[0], "%.*s",
                 (int)strspn(gpu + sizeof device - 1, "0123456789"), gpu + sizeof device - 1);
}

/* Returns what an event without a category is; of an op, sets the argument that names its
 * device. */
static enum category category_by_row(const struct chrome_reader *reader,
                                     const struct walk_value *event, struct walk_value *device)
{
    char key[THREAD_KEY];
    const size_t length = reader->rows.count > 0 ? thread_of(event, key) : 0;
    const struct names_item *process =
        length > 0 && names_find(&reader->rows, key, length) != NULL
            ? names_find(&reader->rows, key, part_of(&event[PID]))
            : NULL;
    if (process == NULL || process->number >= CHROME_ROWS)
        return OTHER_EVENT;
    const char *gpu = reader->gpus[process->number];
    *device = (struct walk_value){.at = gpu, .length = strlen(gpu)};
    return event[NAME].length > 7 && strncmp(event[NAME].at, "\"Memcpy", 7) == 0 ? OP_COPY_EVENT
           : event[NAME].length > 7 && strncmp(event[NAME].at, "\"Memset", 7) == 0
               ? OP_SET_EVENT
               : OP_KERNEL_EVENT;
}

void chrome_add_event(struct chrome_reader *reader, struct walk_value value)
{
    struct walk_value event[MEMBERS], argument[ARGUMENTS], device = {.at = ""};
    if (!walk_find(value, members, MEMBERS, event)) {
        chrome_refuse(reader, "damaged JSON");
        return;
    }
    if (walk_is(&event[PHASE], "M")) {
        add_row(reader, event);
        return;
    }
    const enum category category = event[CATEGORY].length > 0
                                       ? category_of(&event[CATEGORY])
                                       : category_by_row(reader, event, &device);
    if (category == OTHER_EVENT)
        return;
    if (!walk_is(&event[PHASE], "X")) { /* such as pairs of a begin and an end */
        reader->left += category < RANGE_EVENT && category != WAIT_EVENT;
        return;
    }
    if (category >= RANGE_EVENT) {
        add_range(reader, category, event);
        return;
    }
    if (!walk_find(event[ARGS], arguments, ARGUMENTS, argument))
        chrome_refuse(reader, "damaged JSON");
    if (device.length > 0)
        argument[DEVICE] = device;
    if (reader->own)
        argument[DEVICE].length = 0; /* its process is the device's */
    if (chrome_failed(reader) || (reader->own && is_drawn(reader, event, argument)))
        return;
    if (category == CALL_EVENT)
        add_call(reader, event, argument);
    else if (category == WAIT_EVENT)
        add_wait(reader, event, argument);
    else
        add_op(reader, category, event, argument);
}
