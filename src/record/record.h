/* record.h - libpipeline-record.so: records what a CUDA program does. Private to src/record.
 *
 * CUDA loads the library that CUDA_INJECTION64_PATH names into the program and calls its
 * InitializeInjection(). From then on CUPTI tells of every call and every op. Each thread notes
 * its calls as entries of its own, without a lock; one thread of the library's turns entries
 * into lines of the file (docs/recording.md) a few times a second, so that a program that dies
 * leaves all but its last moments. Nothing is ever printed, and where something fails the
 * program runs on as if the library were not there.
 *
 *   record/state.c    the environment, the time, locks
 *   record/part.c     where to, and whether anything is recorded at the moment
 *   record/api.c      CUPTI's and the driver's functions
 *   record/file.c     lines, and the file they go to
 *   record/entries.c  notes of calls, by thread; how much of the time is the recorder's own
 *   record/frames.c   where calls come from
 *   record/places.c   the files of code
 *   record/python.c   the lines of Python
 *   record/tables.c   contexts, devices, streams, the span of known addresses
 *   record/host.c     the host's memory that copies take from
 *   record/layout.c   a kernel's arguments
 *   record/graphs.c   the nodes and edges of executable graphs
 *   record/functions.c  the host's functions in streams
 *   record/effects.c  what calls do, by record/calls.def
 *   record/calls.c    CUPTI's callbacks: calls
 *   record/ops.c      CUPTI's activity records: ops
 *   record/ranges.c   NVTX
 *   record/added.c    how much longer calls take while they are recorded
 *   record/record.c   the library's beginning and end */
#ifndef PIPELINE_RECORD_H
#define PIPELINE_RECORD_H

#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- CUPTI and the driver, opened at run time --- */

/* CUPTI's functions, what they are called here, and whether they are needed. */
#define RECORD_CUPTI(X)                                                                        \
    X(cuptiSubscribe, subscribe, true)                                                         \
    X(cuptiEnableCallback, enable_callback, true)                                              \
    X(cuptiGetCallbackName, callback_name, true)                                               \
    X(cuptiActivityRegisterTimestampCallback, register_timestamp, true)                        \
    X(cuptiActivityRegisterCallbacks, register_buffers, true)                                  \
    X(cuptiActivityEnable, enable, true)                                                       \
    X(cuptiActivityDisable, disable, true)                                                     \
    X(cuptiUnsubscribe, unsubscribe, true)                                                     \
    X(cuptiActivityFlushAll, flush, true)                                                      \
    X(cuptiActivityFlushPeriod, flush_period, false)                                           \
    X(cuptiActivityGetNextRecord, next_record, true)                                           \
    X(cuptiActivityGetNumDroppedRecords, dropped_records, true)                                \
    X(cuptiGetStreamIdEx, stream_number, true)                                                 \
    X(cuptiGetDeviceId, device_number, true)                                                   \
    X(cuptiGetGraphNodeId, node_id, true)                                                      \
    X(cuptiGetVersion, version, true)                                                          \
    X(cuptiActivityConfigureUnifiedMemoryCounter, configure_migrations, false)                 \
    X(cuptiActivitySetAttribute, set_attribute, false)                                         \
    X(cuptiSubscribe_v2, subscribe_named, false)

/* The driver's, each of which may be missing. */
#define RECORD_DRIVER(X)                                                                       \
    X(cuDriverGetVersion, driver_version, false)                                               \
    X(cuDeviceGetAttribute, device_attribute, false)                                           \
    X(cuDeviceGet, device_get, false)                                                          \
    X(cuDeviceGetName, device_name, false)                                                     \
    X(cuStreamGetFlags, stream_flags, false)                                                   \
    X(cuStreamGetPriority, stream_priority, false)                                             \
    X(cuStreamIsCapturing, stream_capturing, false)                                            \
    X(cuPointerGetAttribute, pointer_attribute, false)                                         \
    X(cuFuncGetParamInfo, function_param, false)                                               \
    X(cuKernelGetParamInfo, kernel_param, false)                                               \
    X(cuGraphGetNodes, graph_nodes, false)                                                     \
    X(cuGraphGetEdges_v2, graph_edges, false)                                                  \
    X(cuGraphNodeGetType, node_kind, false)                                                    \
    X(cuGraphMemcpyNodeGetParams, node_copy, false)                                            \
    X(cuGraphMemsetNodeGetParams, node_set, false)                                             \
    X(cuGraphKernelNodeGetParams_v2, node_kernel, false)

struct record_api {
#define RECORD_MEMBER(function, member, needed) __typeof__(function) *member;
    RECORD_CUPTI(RECORD_MEMBER)
    RECORD_DRIVER(RECORD_MEMBER)
#undef RECORD_MEMBER
};
extern struct record_api record_api;

/* A function, or a thing, of a library's, and where the pointer to it is to be. */
struct wanted {
    const char *name;
    void *place;
    bool needed;
};

/* Sets all pointers, to NULL where the library (NULL: there is none) lacks it. Returns false
 * where it lacks one that is needed. */
bool api_find(void *library, const struct wanted *wanted, size_t count);

/* Find the functions. The first returns false where CUPTI lacks one that is needed. */
bool api_find_cupti(void);
void api_find_driver(void);

/* Returns the place of a call among the runtime's and, behind them, the driver's. */
enum { OF_RUNTIME = 0, OF_DRIVER = CUPTI_RUNTIME_TRACE_CBID_SIZE };
enum { CALLS = OF_DRIVER + CUPTI_DRIVER_TRACE_CBID_SIZE };
size_t api_place(CUpti_CallbackDomain domain, CUpti_CallbackId id);

/* CUPTI's names of calls, found before it tells of any; NULL: it has none. */
extern const char *api_names[CALLS];

/* --- what is recorded --- */

/* Returns the time by CLOCK_MONOTONIC, in ns. */
int64_t record_now_ns(void);

/* True from the beginning of the recording to its end, but not in a forked child. Whatever is
 * told while it is false is forgotten. */
extern atomic_bool record_on;

/* Each call is recorded with the frames that it was made from: --backtrace. */
extern bool record_frames;

/* Is recording calls and ops: it is on, and between --start and --stop. */
extern atomic_bool record_active;

/* Returns a variable of the environment; NULL: it is not set, or empty. */
const char *record_variable(const char *name);

/* Returns the folder that the recording goes to; NULL: nothing is to be recorded. The first
 * call, NVTX's or CUDA's, whichever loads the library first, reads what the recorder is told of
 * a part, too. */
const char *record_folder(void);

/* CUDA has loaded the library. Returns true if it had done so before. */
bool record_is_told_again(void);

/* Begins the recording, though not yet of calls where only a part is wanted; and ends it. */
void record_begin(void);
void record_end(void);

/* Records all calls of a program that has ended, so that what this costs can be measured. */
void record_again(void);

/* Returns true if only a part is recorded, and that has ended. */
bool record_part_is_over(void);

/* A forked child has none of the parent's threads, and CUDA does not work in it: nothing of it
 * is recorded. */
void record_child_begins(void);

/* Returns true in a child of a program that is recorded: a lock may be nobody's there, since
 * the threads that held it are not the child's. */
bool record_is_child(void);

/* Takes note of call `id`, which begins, where only a part is recorded. */
void record_call_begins(uint32_t id);

/* Returns true if an op that call `id` issued belongs to the recording. */
bool record_has_call(uint32_t id);

/* Begins, or ends, the recording of calls where `name` is the one that is to do that: of a
 * kernel that call `call` launches, or of an NVTX range (0), which began or ended. A part may
 * begin before CUDA is used; one that also ends before that is forgotten. */
void record_reached(const char *name, bool ended, uint32_t call);

/* The host has waited for the device in a call: that is a pass of a program without ranges. */
void record_waited(uint32_t call);

/* --- locks --- */

/* Locks of the library's. Whoever holds one calls neither CUPTI nor the driver nor the loader:
 * they have locks of their own, which they may hold where they call the library. */
void record_lock(pthread_mutex_t *lock);
void record_unlock(pthread_mutex_t *lock);

/* Returns true if the thread holds a lock: a handler of a signal interrupted it, then. */
bool record_holds_lock(void);

/* --- lines --- */

/* Opens the file; false where it can't be made. `limit` bytes at most; 0: any number. Where the
 * process has a file already, because it went on as another program of the same name, the new
 * one is that of PROGRAM-2. */
bool file_open(const char *folder, const char *program, uint64_t limit);

/* Writes the first line: `program` as a text between two pieces of it. */
void file_header(const char *before, const char *program, const char *behind);

/* A value of a line. */
struct field {
    enum { FIELD_NULL, FIELD_SIGNED, FIELD_UNSIGNED, FIELD_TEXT, FIELD_WORDS } kind;
    uint32_t count; /* of words: a list of numbers; null: ENTRY_NO_WORDS */
    union {
        int64_t number;
        uint64_t address;
        const char *text;
        const uint64_t *words;
    };
};
#define FIELD_NOTHING ((struct field){.kind = FIELD_NULL})

/* Makes a field of a number, a text or a field. */
/* clang-format off */
#define FIELD(value)                                                                           \
    _Generic((value), int: field_signed, long: field_signed, long long: field_signed,          \
                      char *: field_text, const char *: field_text,                            \
                      struct field: field_itself, default: field_unsigned)(value)
/* clang-format on */
struct field field_signed(int64_t number);
struct field field_unsigned(uint64_t number);
struct field field_text(const char *text);
struct field field_words(const uint64_t *words, uint32_t count);
struct field field_itself(struct field field);

/* Writes the line `["what",value,...]`, of at most 11 values that FIELD() takes. */
#define FILE_LINE(what, ...)                                                                   \
    do {                                                                                       \
        const struct field fields_[] = {FIELDS(__VA_ARGS__)};                                  \
        file_line(what, fields_, sizeof fields_ / sizeof fields_[0]);                          \
    } while (0)
#define FIELDS(...)                                                                            \
    FIELDS_PICK(__VA_ARGS__, FIELDS_11, FIELDS_10, FIELDS_9, FIELDS_8, FIELDS_7, FIELDS_6,     \
                FIELDS_5, FIELDS_4, FIELDS_3, FIELDS_2, FIELDS_1, )                            \
    (__VA_ARGS__)
#define FIELDS_PICK(a, b, c, d, e, f, g, h, i, j, k, picked, ...) picked
#define FIELDS_1(value)                                           FIELD(value)
#define FIELDS_2(value, ...)                                      FIELD(value), FIELDS_1(__VA_ARGS__)
#define FIELDS_3(value, ...)                                      FIELD(value), FIELDS_2(__VA_ARGS__)
#define FIELDS_4(value, ...)                                      FIELD(value), FIELDS_3(__VA_ARGS__)
#define FIELDS_5(value, ...)                                      FIELD(value), FIELDS_4(__VA_ARGS__)
#define FIELDS_6(value, ...)                                      FIELD(value), FIELDS_5(__VA_ARGS__)
#define FIELDS_7(value, ...)                                      FIELD(value), FIELDS_6(__VA_ARGS__)
#define FIELDS_8(value, ...)                                      FIELD(value), FIELDS_7(__VA_ARGS__)
#define FIELDS_9(value, ...)                                      FIELD(value), FIELDS_8(__VA_ARGS__)
#define FIELDS_10(value, ...)                                     FIELD(value), FIELDS_9(__VA_ARGS__)
#define FIELDS_11(value, ...)                                     FIELD(value), FIELDS_10(__VA_ARGS__)

/* Writes a line of `count` values; one that finds no room is lost, as a whole. */
void file_line(const char *what, const struct field *fields, size_t count);

/* Writes what there is to the file, or as much as can be. Sets *full where the limit is
 * reached. */
void file_flush(bool *full);

/* Drops lines that are put together while it is `silent`. */
void file_silence(bool silent);

/* Writes the last line; there are no others then. */
void file_close(const char *why);

/* Counts records that are lost. */
void record_lose(uint64_t count);

/* --- entries --- */

enum entry_kind {
    ENTRY_CALL, /* a call that is nothing else, too */
    ENTRY_COPY,
    ENTRY_COPY2D,
    ENTRY_SET,
    ENTRY_LAUNCH,
    ENTRY_RECORD,
    ENTRY_WAIT,
    ENTRY_SYNC_DEVICE,
    ENTRY_SYNC_STREAM,
    ENTRY_SYNC_EVENT,
    ENTRY_FUNCTION,
    ENTRY_GRAPH,
    ENTRY_FRAMES, /* the words are return addresses, innermost first */
    ENTRY_FROM,   /* the word is one: of the innermost frame that is not CUDA's */
};

enum { ENTRY_VALUES = 6, ENTRY_WORDS_MAX = 64, FRAMES_MOST = 24 };

/* One call: written by its thread, read by the library's. */
struct entry {
    uint8_t kind, domain;
    uint16_t callback; /* CUPTI's number of the call */
    uint32_t call;     /* the correlation id */
    uint32_t hash;     /* of samples of what a copy took; of a call that makes something how
                          long the recorder took before it; 0: not known */
    uint32_t context, stream;
    int32_t result;
    uint32_t words;  /* that follow: arguments of a launch, frames; ENTRY_NO_WORDS: not known */
    uint32_t thread; /* entries_add() fills it in */
    int64_t start_ns, end_ns;
    uint64_t values[ENTRY_VALUES]; /* the last: entries are kept without those of other kinds */
};
#define ENTRY_NO_WORDS UINT32_MAX

/* Is called once, before the others. */
void entries_begin(void);

/* Notes an entry of the calling thread's, with its words. Never blocks. */
void entries_add(const struct entry *entry, const uint64_t *words);

/* The calling thread is in a call until then; INT64_MAX: nobody knows. */
void entries_call(int64_t until_ns);

/* Returns true if no other thread is in a call, nor was since then. */
bool entries_quiet(int64_t since_ns);

/* Turns what was noted into lines. Returns true if there is more. One thread at a time. At the
 * program's end no memory is given back. */
bool entries_write(bool at_exit);

/* --- what recording costs --- */

/* Note how long the recorder took around a call of that kind, and within it. */
void costs_add(enum entry_kind kind, int64_t outside_ns, int64_t inside_ns);
void costs_write(void);

/* Measures how much longer calls take while they are recorded, at the program's end: when all
 * that it did is written, in a thread that is in no call and holds no lock of its own. Takes
 * some 20 ms, and measures nothing where the program's device can't be used. Lines must be
 * silent, and calls recorded again. The other writes down what was measured. */
void added_measure(void);
void added_write(void);

/* --- the host's memory --- */

/* Memory was pinned, or registered, and was given back: any memory's address will do. */
void host_take(uint64_t address, uint64_t bytes, bool readable);
void host_give_back(uint64_t address);

/* Returns a hash of samples of what a copy took that CUDA has just accepted; 0: its source is
 * not the host's, or not known well enough to be read. */
uint32_t host_hash(uint64_t from, uint64_t pitch, uint64_t width, uint64_t rows);

/* --- contexts, streams, memory --- */

/* Returns CUPTI's number of a stream, which it writes down when it first sees it; NO_STREAM
 * where CUPTI does not tell. `per_thread`: the call takes no stream for the thread's own. */
#define NO_STREAM UINT32_MAX
uint32_t tables_stream(CUcontext context, uint32_t context_number, CUstream stream,
                       bool per_thread);

/* A stream is no more, whose handle no other context has; or, where that is NULL, a thread has
 * ended: its own streams are no others' who get its number. */
void tables_forget(CUstream stream, uint32_t thread);

/* Writes a context and its device down when it first sees it, and returns the device. */
uint32_t tables_context(CUcontext context, uint32_t number);

/* Writes memory down that was taken, and that was given back, at that time. */
enum { MEMORY_HOST = -1 };
void tables_take(const char *kind, int64_t time_ns, uint64_t address, uint64_t bytes,
                 int64_t device);
void tables_give_back(int64_t time_ns, uint64_t address);

/* Returns the span that all memory which was taken lies in: words beside it are no addresses.
 */
struct span {
    uint64_t begin, end;
};
struct span tables_addresses(void);

/* --- kernels' arguments --- */

/* Fills `words` with the arguments of a launch that may be addresses, and returns how many;
 * ENTRY_NO_WORDS where the layout is not known. `function` is the host's symbol of a kernel,
 * whose CUfunction layout_learn() has told; or that itself. */
uint32_t layout_words(const void *function, void *const *arguments,
                      uint64_t words[ENTRY_WORDS_MAX]);
void layout_learn(const void *symbol, CUfunction function);
bool layout_is_known(const void *symbol);

/* Kernels are unloaded: another one may get the symbol or the handle of one that was known. */
void layout_forget_all(void);

/* --- graphs --- */

/* A call of this thread begins; it clones nodes; it has made an executable graph of them. */
void graphs_call_begins(void);
void graphs_cloned(const CUpti_GraphData *data);
void graphs_made(CUgraphExec exec, CUgraph graph);

/* --- functions of the host --- */

/* Puts a function of ours, and its data, in the place of the program's, one of which two kinds
 * is NULL. The entry is that of
 * its effect. Returns what was handed over; NULL: nothing was. */
struct handed;
struct handed *functions_hand_over(const struct entry *entry, CUhostFn *function,
                                   CUstreamCallback *callback, void **data);

/* Forgets what was handed over: the driver refused it, and will never run it. */
void functions_take_back(struct handed *handed);

/* Notes those that have not run, without times. */
void functions_end(void);

/* Returns true in a function of the host's that runs on this thread. */
bool functions_run_here(void);

/* --- calls, ops, ranges --- */

/* Subscribes and enables what is wanted. Returns NULL, or the reason for which it can't. */
const char *calls_begin(void);

/* CUPTI no longer tells of calls, and of ops. Return false where it refuses. */
bool calls_leave(void);
bool ops_leave(void);

/* Returns true if the thread is within a call of CUDA's. */
bool calls_run_here(void);
const char *ops_begin(void);

/* Managed memory is there: from now on CUPTI tells of its pages, too. */
void ops_want_migrations(void);
void ops_flush(void);
void ops_end(void);

/* --- effects.c: what calls do --- */

/* A call that has just returned, or is about to be made. The effect fills in what its entry
 * says, and what else there is: the words of a launch, which stay until the thread's next call,
 * and what was handed over of a function of the host's. */
struct call {
    struct entry entry;
    const CUpti_CallbackData *data;
    CUfunction function; /* that a call within this one launched */
    const uint64_t *words;
    struct handed *handed;
};

/* What a call is by its name: one that makes what is better made once, of which a line says who
 * calls; one whose effect is asked for later, whatever part is recorded; one in which the host
 * waits; and one that takes time, or changes what others do. */
enum { MAKES = 1, LASTS = 2, WAITS = 4, TELLS = 8 };

/* A call: its effect, whether that is read before the call is made, and whether a call that
 * names no stream goes to the thread's own one; what it is by its name. */
struct call_row {
    void (*read)(struct call *c, const void *arguments, bool own); /* NULL: it has no effect */
    bool before, own;
    uint8_t traits;
};

/* Returns the row of a call of the runtime's or the driver's. */
struct call_row *call_row_of(CUpti_CallbackDomain domain, CUpti_CallbackId id);

#endif
