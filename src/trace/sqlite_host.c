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
#include "core/items.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUERY_TEXT = 512,
    FLAG_BLOCKING = 1, /* CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT: of cudaStreamCreate() */
    FLAG_NONBLOCKING = 2,
    FLAG_DEFAULT = 3, /* ..._FLAG_NULL: the default stream itself */
};

/* --- calls --- */

static int add_name(void *context, sqlite3_stmt *row)
{
    struct sqlite_host *host = context;
    const char *name = (const char *)sqlite3_column_text(row, 1);
    uint16_t call = name != NULL ? host_call_row(name) : 0;
    if (call == 0)
        return SQLITE_OK;
    struct sqlite_call_name *kept = ITEMS_ADD(host->names, host->name_count, host->name_room);
    if (kept == NULL)
        return SQLITE_NOMEM;
    *kept = (struct sqlite_call_name){.id = sqlite3_column_int64(row, 0), .row = call};
    return SQLITE_OK;
}

COMPARE_BY(compare_names, struct sqlite_call_name, id);

static uint16_t row_of(const struct sqlite_host *host, int64_t id)
{
    const struct sqlite_call_name key = {.id = id, .row = 0};
    const struct sqlite_call_name *found =
        host->name_count > 0
            ? bsearch(&key, host->names, host->name_count, sizeof key, compare_names)
            : NULL;
    return found != NULL ? found->row : 0;
}

bool sqlite_host_process(const struct sqlite_host *host, int64_t global, uint32_t *number)
{
    const int64_t process = global & SQLITE_PROCESS_BITS;
    return names_number(&host->profiled->processes, &process, sizeof process, number);
}

static int add_call(void *context, sqlite3_stmt *row)
{
    const struct sqlite_host *host = context;
    const int64_t start_ns = sqlite3_column_int64(row, 0),
                  end_ns = sqlite3_column_int64(row, 1);
    const int64_t thread = sqlite3_column_int64(row, 3);
    const bool numbered = sqlite3_column_type(row, 2) == SQLITE_INTEGER;
    uint32_t process;
    if (!sqlite_host_process(host, thread, &process))
        return SQLITE_NOMEM;
    struct recorded_call *call = profiled_call(
        host->profiled,
        numbered ? profiled_id(process, (uint64_t)sqlite3_column_int64(row, 2)) : DRAFT_NO_CALL,
        &thread, sizeof thread, row_of(host, sqlite3_column_int64(row, 4)));
    if (call == NULL)
        return SQLITE_NOMEM;
    call->start_ns = start_ns;
    call->end_ns = later(end_ns, start_ns);
    return SQLITE_OK;
}

static int read_calls(struct sqlite_host *host, sqlite3 *database)
{
    static const char table[] = "CUPTI_ACTIVITY_KIND_RUNTIME";
    char query[QUERY_TEXT];
    int code = SQLITE_OK;
    if (!sqlite_has(database, table, "start"))
        return SQLITE_OK;
    bool named =
        sqlite_has(database, table, "nameId") && sqlite_has(database, "StringIds", "value");
    host->by_process = sqlite_has(database, table, "globalTid");
    if (named)
        code = sqlite_each_row(
            database, "SELECT id, value FROM StringIds WHERE value GLOB 'cu*'", add_name, host);
    if (code != SQLITE_OK)
        return code; /* while the database still has the reason */
    if (host->name_count > 1)
        qsort(host->names, host->name_count, sizeof *host->names, compare_names);
    snprintf(query, sizeof query,
             "SELECT start, %s, %s, %s, %s FROM %s WHERE start >= 0 AND start < 1 << 61",
             sqlite_has(database, table, "end") ? "end" : "start",
             sqlite_has(database, table, "correlationId") ? "correlationId" : "NULL",
             host->by_process ? "globalTid" : "0", named ? "nameId" : "-1", table);
    return sqlite_each_row(database, query, add_call, host);
}

/* --- events --- */

/* The kinds of CUPTI's CUpti_ActivitySynchronizationType, and records of events. */
enum { EVENT_RECORD = 0, EVENT_SYNC = 1, WAIT_EVENT = 2, STREAM_SYNC = 3, CONTEXT_SYNC = 4 };

/* Keeps what a call waits for, or records. */
static int add_event(void *context, sqlite3_stmt *row)
{
    static const enum recorded_effect effects[] = {[EVENT_RECORD] = EFFECT_RECORD,
                                                   [EVENT_SYNC] = EFFECT_SYNC_EVENT,
                                                   [WAIT_EVENT] = EFFECT_WAIT,
                                                   [STREAM_SYNC] = EFFECT_SYNC_STREAM,
                                                   [CONTEXT_SYNC] = EFFECT_SYNC_DEVICE};
    const struct sqlite_host *host = context;
    const int64_t what = sqlite3_column_int64(row, 6);
    const int64_t number = sqlite3_column_int64(row, 5);
    const bool in_stream = what != EVENT_SYNC && what != CONTEXT_SYNC;
    uint32_t process, stream = RECORDING_NONE;
    if (what < EVENT_RECORD || what > CONTEXT_SYNC ||
        (in_stream && (number < 0 || number >= RECORDING_NONE)))
        return SQLITE_OK;
    const bool kept =
        sqlite_host_process(host, sqlite3_column_int64(row, 0), &process) &&
        (!in_stream ||
         profiled_stream(host->profiled, process, (uint64_t)sqlite3_column_int64(row, 3),
                         (uint32_t)sqlite3_column_int64(row, 4), (uint32_t)number, &stream)) &&
        profiled_effect(host->profiled,
                        profiled_id(process, (uint64_t)sqlite3_column_int64(row, 1)),
                        effects[what], stream,
                        profiled_id(process, (uint64_t)sqlite3_column_int64(row, 2)));
    return kept ? SQLITE_OK : SQLITE_NOMEM;
}

static bool has_event_columns(sqlite3 *database, const char *table)
{
    return sqlite_has(database, table, "globalPid") &&
           sqlite_has(database, table, "correlationId") &&
           sqlite_has(database, table, "eventId") && sqlite_has(database, table, "contextId") &&
           sqlite_has(database, table, "streamId");
}

static int read_events_of(struct sqlite_host *host, sqlite3 *database, const char *table,
                          const char *what)
{
    char query[QUERY_TEXT];
    if (!host->by_process || !has_event_columns(database, table))
        return SQLITE_OK;
    snprintf(query, sizeof query,
             "SELECT globalPid, correlationId, eventId, contextId, %s, streamId, %s FROM %s",
             sqlite_has(database, table, "deviceId") ? "deviceId" : "0", what, table);
    return sqlite_each_row(database, query, add_event, host);
}

static int read_events(struct sqlite_host *host, sqlite3 *database)
{
    static const char waits[] = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
    const int code = read_events_of(host, database, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "0");
    return code == SQLITE_OK && sqlite_has(database, waits, "syncType")
               ? read_events_of(host, database, waits, "syncType")
               : code;
}

/* --- what the host did --- */

static int add_range(void *context, sqlite3_stmt *row)
{
    struct profiled *profiled = ((struct sqlite_host *)context)->profiled;
    const int64_t thread = sqlite3_column_int64(row, 2);
    const char *name = (const char *)sqlite3_column_text(row, 3);
    return profiled_range(profiled, name != NULL ? name : "", &thread, sizeof thread,
                          sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1))
               ? SQLITE_OK
               : SQLITE_NOMEM;
}

/* Reads ranges that programs name, calls of MPI and of the system, and what the profiler did,
 * if they are long. */
static int read_ranges(struct sqlite_host *host, sqlite3 *database)
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
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && code == SQLITE_OK; i++) {
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
        code = sqlite_each_row(database, query, add_range, host);
    }
    return code;
}

/* --- streams --- */

static int add_stream(void *context, sqlite3_stmt *row)
{
    struct sqlite_host *host = context;
    const int64_t flag = sqlite3_column_int64(row, 2);
    if (flag != FLAG_BLOCKING && flag != FLAG_NONBLOCKING && flag != FLAG_DEFAULT)
        return SQLITE_OK;
    struct sqlite_stream *kept =
        ITEMS_ADD(host->streams, host->stream_count, host->stream_room);
    if (kept == NULL)
        return SQLITE_NOMEM;
    *kept = (struct sqlite_stream){.context = sqlite3_column_int64(row, 0),
                                   .stream = sqlite3_column_int64(row, 1),
                                   .kind = flag == FLAG_BLOCKING      ? STREAM_BLOCKING
                                           : flag == FLAG_NONBLOCKING ? STREAM_NONBLOCKING
                                                                      : STREAM_LEGACY};
    return SQLITE_OK;
}

COMPARE_BY(compare_streams, struct sqlite_stream, context, stream);

/* A stream of which two processes say different kinds has none that is known. */
void sqlite_host_set_kinds(const struct sqlite_host *host)
{
    enum { TWO = STREAM_KIND_COUNT + 1 };
    const struct sqlite_stream *streams = host->streams;
    const struct pile *pile = &host->profiled->draft.streams;
    EACH (struct draft_stream, item, (struct draft_stream *)pile->items, pile->count) {
        uint64_t key[3];
        uint8_t kind = STREAM_KIND_COUNT;
        memcpy(key, host->profiled->contexts.items[item->stream.context]->text, sizeof key);
        const struct sqlite_stream wanted = {(int64_t)key[1], item->stream.number, 0};
        BISECT(at, i, 0, host->stream_count, compare_streams(&streams[i], &wanted) < 0);
        for (size_t i = at;
             i < host->stream_count && compare_streams(&streams[i], &wanted) == 0; i++)
            kind = kind == STREAM_KIND_COUNT || kind == streams[i].kind ? streams[i].kind : TWO;
        item->stream.kind = kind == TWO ? STREAM_KIND_COUNT : kind;
    }
}

static int read_streams(struct sqlite_host *host, sqlite3 *database)
{
    static const char streams[] = "TARGET_INFO_CUDA_STREAM";
    static const char contexts[] = "TARGET_INFO_CUDA_CONTEXT_INFO";
    int code = SQLITE_OK;
    if (sqlite_has(database, streams, "flag") && sqlite_has(database, streams, "streamId") &&
        sqlite_has(database, streams, "contextId"))
        code = sqlite_each_row(database,
                               "SELECT contextId, streamId, flag FROM TARGET_INFO_CUDA_STREAM",
                               add_stream, host);
    if (code == SQLITE_OK && sqlite_has(database, contexts, "nullStreamId") &&
        sqlite_has(database, contexts, "contextId"))
        code = sqlite_each_row(database,
                               "SELECT contextId, nullStreamId, 3 FROM "
                               "TARGET_INFO_CUDA_CONTEXT_INFO", /* FLAG_DEFAULT
                                                                 */
                               add_stream, host);
    if (host->stream_count > 1)
        qsort(host->streams, host->stream_count, sizeof *host->streams, compare_streams);
    return code;
}

int sqlite_host_read(struct sqlite_host *host, sqlite3 *database)
{
    static int (*const steps[])(struct sqlite_host * host, sqlite3 * database) = {
        read_calls, read_events, read_ranges, read_streams};
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && code == SQLITE_OK; i++)
        code = steps[i](host, database);
    return code;
}

void sqlite_host_free(struct sqlite_host *host)
{
    free(host->names);
    free(host->streams);
    *host = (struct sqlite_host){0};
}
