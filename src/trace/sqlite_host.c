/* sqlite_host.c - the host's calls and what else it did, the events and the streams' kinds,
 * from a database.
 *
 * Calls stand in CUPTI_ACTIVITY_KIND_RUNTIME, with their names in StringIds; records of events
 * in CUPTI_ACTIVITY_KIND_CUDA_EVENT, and waits for them in CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
 * streams in TARGET_INFO_CUDA_STREAM, whose flag is CUPTI's CUpti_ActivityStreamFlag, and a
 * context's default stream in TARGET_INFO_CUDA_CONTEXT_INFO. "SQLite Schema Reference" in
 * NVIDIA's "Nsight Systems User Guide" has all of them. */
#include "trace/sqlite_parts.h"

#include "core/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    QUERY_TEXT = 512,
    FLAG_BLOCKING = 1, /* CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT: of cudaStreamCreate() */
    FLAG_NONBLOCKING = 2,
    FLAG_DEFAULT = 3, /* ..._FLAG_NULL: the default stream itself */
};

/* --- calls --- */

uint32_t sqlite_host_process(struct sqlite_trace *database, int64_t global)
{
    const int64_t process = global & SQLITE_PROCESS_BITS;
    return draft_number(&database->profiled.draft, &database->profiled.processes, &process,
                        sizeof process);
}

static void add_call(struct sqlite_trace *database, sqlite3_stmt *row)
{
    const int64_t thread = sqlite3_column_int64(row, 3);
    const char *name = sqlite_text_or(row, 4, "");
    const uint32_t process = sqlite_host_process(database, thread);
    struct recorded_call *call = profiled_call(
        &database->profiled,
        sqlite3_column_type(row, 2) == SQLITE_INTEGER
            ? profiled_id(process, (uint64_t)sqlite3_column_int64(row, 2))
            : DRAFT_NO_CALL,
        &thread, sizeof thread,
        strncmp(name, "cu", 2) == 0 ? draft_call_row(&database->profiled.draft, name) : 0);
    call->start_ns = sqlite3_column_int64(row, 0);
    call->end_ns = later(sqlite3_column_int64(row, 1), call->start_ns);
}

static void read_calls(struct sqlite_trace *database)
{
    static const char table[] = "CUPTI_ACTIVITY_KIND_RUNTIME";
    char query[QUERY_TEXT];
    if (!sqlite_has(database, table, "start"))
        return;
    const bool named =
        sqlite_has(database, table, "nameId") && sqlite_has(database, "StringIds", "value");
    database->by_process = sqlite_has(database, table, "globalTid");
    snprintf(query, sizeof query,
             "SELECT start, %s, %s, %s, %s FROM %s WHERE start >= 0 AND start < 1 << 61",
             sqlite_has(database, table, "end") ? "end" : "start",
             sqlite_has(database, table, "correlationId") ? "correlationId" : "NULL",
             database->by_process ? "globalTid" : "0",
             named ? "(SELECT value FROM StringIds WHERE id = nameId)" : "NULL", table);
    sqlite_each_row(database, query, add_call);
}

/* --- events --- */

/* The kinds of CUPTI's CUpti_ActivitySynchronizationType, and records of events. */
enum { EVENT_RECORD = 0, EVENT_SYNC = 1, WAIT_EVENT = 2, STREAM_SYNC = 3, CONTEXT_SYNC = 4 };

/* Keeps what a call waits for, or records. */
static void add_event(struct sqlite_trace *database, sqlite3_stmt *row)
{
    static const enum recorded_effect effects[] = {[EVENT_RECORD] = EFFECT_RECORD,
                                                   [EVENT_SYNC] = EFFECT_SYNC_EVENT,
                                                   [WAIT_EVENT] = EFFECT_WAIT,
                                                   [STREAM_SYNC] = EFFECT_SYNC_STREAM,
                                                   [CONTEXT_SYNC] = EFFECT_SYNC_DEVICE};
    struct profiled *profiled = &database->profiled;
    const int64_t what = sqlite3_column_int64(row, 6);
    const int64_t number = sqlite3_column_int64(row, 5);
    const bool in_stream = what != EVENT_SYNC && what != CONTEXT_SYNC;
    if (what < EVENT_RECORD || what > CONTEXT_SYNC ||
        (in_stream && (number < 0 || number >= RECORDING_NONE)))
        return;
    const uint32_t process = sqlite_host_process(database, sqlite3_column_int64(row, 0));
    const uint32_t stream =
        in_stream ? profiled_stream(profiled, process, (uint64_t)sqlite3_column_int64(row, 3),
                                    (uint32_t)sqlite3_column_int64(row, 4), (uint32_t)number)
                  : RECORDING_NONE;
    profiled_effect(profiled, profiled_id(process, (uint64_t)sqlite3_column_int64(row, 1)),
                    effects[what], stream,
                    profiled_id(process, (uint64_t)sqlite3_column_int64(row, 2)));
}

static void read_events_of(struct sqlite_trace *database, const char *table, const char *what)
{
    static const char *const needed[] = {"globalPid", "correlationId", "eventId", "contextId",
                                         "streamId"};
    char query[QUERY_TEXT];
    bool there = database->by_process;
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        there = there && sqlite_has(database, table, needed[i]);
    if (!there)
        return;
    snprintf(query, sizeof query,
             "SELECT globalPid, correlationId, eventId, contextId, %s, streamId, %s FROM %s",
             sqlite_has(database, table, "deviceId") ? "deviceId" : "0", what, table);
    sqlite_each_row(database, query, add_event);
}

static void read_events(struct sqlite_trace *database)
{
    static const char waits[] = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
    read_events_of(database, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "0");
    if (sqlite_has(database, waits, "syncType"))
        read_events_of(database, waits, "syncType");
}

/* --- what the host did --- */

static void add_range(struct sqlite_trace *database, sqlite3_stmt *row)
{
    const int64_t thread = sqlite3_column_int64(row, 2);
    profiled_range(&database->profiled, sqlite_text_or(row, 3, ""), &thread, sizeof thread,
                   sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1));
}

/* Reads ranges that programs name, calls of MPI and of the system, and what the profiler did,
 * if they are long. */
static void read_ranges(struct sqlite_trace *database)
{
    static const struct {
        const char *table, *name, *text;
    } tables[] = {
        {"NVTX_EVENTS", "textId", "text"},     {"MPI_COLLECTIVES_EVENTS", "textId", NULL},
        {"MPI_P2P_EVENTS", "textId", NULL},    {"MPI_START_WAIT_EVENTS", "textId", NULL},
        {"MPI_OTHER_EVENTS", "textId", NULL},  {"OSRT_API", "nameId", NULL},
        {"PROFILER_OVERHEAD", "nameId", NULL},
    };
    char query[QUERY_TEXT];
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && !sqlite_failed(database); i++) {
        const char *table = tables[i].table, *text = tables[i].text;
        const bool named = sqlite_has(database, table, tables[i].name) &&
                           sqlite_has(database, "StringIds", "value");
        const bool said = text != NULL && sqlite_has(database, table, text);
        if (!sqlite_has(database, table, "start") || !sqlite_has(database, table, "end") ||
            !sqlite_has(database, table, "globalTid") || !(named || said))
            continue;
        snprintf(query, sizeof query,
                 "SELECT t.start, t.end, t.globalTid, coalesce(%s%s%s%s%s) FROM %s AS t WHERE "
                 "t.start >= 0 AND t.end - t.start >= %d",
                 said ? "t." : "NULL", said ? text : "",
                 named ? ", (SELECT value FROM StringIds WHERE id = t." : ", NULL",
                 named ? tables[i].name : "", named ? ")" : "", table, PROFILED_LONG_NS);
        sqlite_each_row(database, query, add_range);
    }
}

/* --- streams --- */

/* A stream of which two processes say different kinds has none that is known. */
static void take_kind(struct sqlite_trace *database, sqlite3_stmt *row)
{
    static const uint8_t kinds[] = {[FLAG_BLOCKING] = STREAM_BLOCKING,
                                    [FLAG_NONBLOCKING] = STREAM_NONBLOCKING,
                                    [FLAG_DEFAULT] = STREAM_LEGACY};
    database->kind =
        database->row == 1 ? kinds[sqlite3_column_int64(row, 0)] : STREAM_KIND_COUNT;
}

void sqlite_host_set_kinds(struct sqlite_trace *database)
{
    static const char streams[] = "TARGET_INFO_CUDA_STREAM";
    static const char contexts[] = "TARGET_INFO_CUDA_CONTEXT_INFO";
    const struct pile *pile = &database->profiled.draft.streams;
    const bool told = sqlite_has(database, streams, "flag") &&
                      sqlite_has(database, streams, "streamId") &&
                      sqlite_has(database, streams, "contextId"),
               defaults = sqlite_has(database, contexts, "nullStreamId") &&
                          sqlite_has(database, contexts, "contextId");
    EACH (struct draft_stream, item, (struct draft_stream *)pile->items, pile->count) {
        char query[QUERY_TEXT] = "SELECT 0 WHERE 0";
        uint64_t key[3];
        memcpy(key, database->profiled.contexts.items[item->stream.context]->text, sizeof key);
        if (told)
            text_add(query, sizeof query, " UNION ",
                     "SELECT flag FROM %s WHERE contextId = %" PRId64 " AND streamId = %" PRIu32
                     " AND flag IN (1, 2, 3)",
                     streams, (int64_t)key[1], item->stream.number);
        if (defaults)
            text_add(query, sizeof query, " UNION ",
                     "SELECT 3 FROM %s WHERE contextId = %" PRId64 /* FLAG_DEFAULT */
                     " AND nullStreamId = %" PRIu32,
                     contexts, (int64_t)key[1], item->stream.number);
        database->kind = STREAM_KIND_COUNT;
        sqlite_each_row(database, query, take_kind);
        item->stream.kind = database->kind;
    }
}

void sqlite_host_read(struct sqlite_trace *database)
{
    static void (*const steps[])(struct sqlite_trace * database) = {read_calls, read_events,
                                                                    read_ranges};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !sqlite_failed(database); i++)
        steps[i](database);
}
