/* sqlite_host.c - the host's calls, the events and the streams' kinds, from a database.
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

enum {
    QUERY_TEXT = 512,
    FLAG_BLOCKING = 1, /* CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT: of cudaStreamCreate() */
    FLAG_NONBLOCKING = 2,
    FLAG_DEFAULT = 3, /* ..._FLAG_NULL: the default stream itself */
};

/* --- calls --- */

static int take_name(void *context, sqlite3_stmt *row)
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

static int take_call(void *context, sqlite3_stmt *row)
{
    struct sqlite_host *host = context;
    struct trace_facts *facts = host->facts;
    int64_t start_ns = sqlite3_column_int64(row, 0), end_ns = sqlite3_column_int64(row, 1);
    int64_t thread = sqlite3_column_int64(row, 3);
    struct host_call *call = ITEMS_ADD(facts->calls, facts->call_count, facts->call_room);
    if (call == NULL)
        return SQLITE_NOMEM;
    *call = (struct host_call){.start_ns = start_ns,
                               .end_ns = end_ns > start_ns ? end_ns : start_ns,
                               .thread = (uint64_t)thread,
                               .row = row_of(host, sqlite3_column_int64(row, 4))};
    if (sqlite3_column_type(row, 2) != SQLITE_INTEGER)
        return SQLITE_OK;
    struct sqlite_call *id = ITEMS_ADD(host->ids, host->id_count, host->id_room);
    if (id == NULL)
        return SQLITE_NOMEM;
    *id = (struct sqlite_call){.process = thread & SQLITE_PROCESS_BITS,
                               .correlation = sqlite3_column_int64(row, 2),
                               .start_ns = start_ns};
    return SQLITE_OK;
}

COMPARE_BY(compare_ids, struct sqlite_call, process, correlation);

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
        code =
            sqlite_each_row(database, "SELECT id, value FROM StringIds WHERE value GLOB 'cu*'",
                            take_name, host);
    if (code != SQLITE_OK)
        return code; /* while the database still has the reason */
    if (host->name_count > 1)
        qsort(host->names, host->name_count, sizeof *host->names, compare_names);
    snprintf(query, sizeof query, "SELECT start, %s, %s, %s, %s FROM %s WHERE start >= 0",
             sqlite_has(database, table, "end") ? "end" : "start",
             sqlite_has(database, table, "correlationId") ? "correlationId" : "NULL",
             host->by_process ? "globalTid" : "0", named ? "nameId" : "-1", table);
    code = sqlite_each_row(database, query, take_call, host);
    if (host->id_count > 1)
        qsort(host->ids, host->id_count, sizeof *host->ids, compare_ids);
    return code;
}

int64_t sqlite_host_issue_ns(const struct sqlite_host *host, int64_t process,
                             int64_t correlation)
{
    const struct sqlite_call key = {
        .process = process & SQLITE_PROCESS_BITS, .correlation = correlation, .start_ns = 0};
    if (host->id_count == 0)
        return -1;
    const struct sqlite_call *call =
        bsearch(&key, host->ids, host->id_count, sizeof key, compare_ids);
    return call != NULL ? call->start_ns : -1;
}

/* --- events --- */

static int take_event(void *context, sqlite3_stmt *row)
{
    struct sqlite_host *host = context;
    struct trace_facts *facts = host->facts;
    int64_t process = sqlite3_column_int64(row, 0);
    int64_t issue_ns = sqlite_host_issue_ns(host, process, sqlite3_column_int64(row, 1));
    if (issue_ns < 0)
        return SQLITE_OK;
    struct trace_event *event = ITEMS_ADD(facts->events, facts->event_count, facts->event_room);
    if (event == NULL)
        return SQLITE_NOMEM;
    *event = (struct trace_event){.process = process,
                                  .event = sqlite3_column_int64(row, 2),
                                  .issue_ns = issue_ns,
                                  .context = (uint32_t)sqlite3_column_int64(row, 3),
                                  .stream = (uint32_t)sqlite3_column_int64(row, 4),
                                  .waits = sqlite3_column_int(row, 5) != 0};
    return SQLITE_OK;
}

static bool has_event_columns(sqlite3 *database, const char *table)
{
    return sqlite_has(database, table, "globalPid") &&
           sqlite_has(database, table, "correlationId") &&
           sqlite_has(database, table, "eventId") && sqlite_has(database, table, "contextId") &&
           sqlite_has(database, table, "streamId");
}

/* Waits are of use only where the records that they wait for are known, too. */
static int read_events(struct sqlite_host *host, sqlite3 *database)
{
    static const char records[] = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
    static const char waits[] = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
    char query[QUERY_TEXT];
    if (!host->by_process || !has_event_columns(database, records) ||
        !has_event_columns(database, waits) || !sqlite_has(database, waits, "syncType"))
        return SQLITE_OK;
    snprintf(query, sizeof query,
             "SELECT globalPid, correlationId, eventId, contextId, streamId, 0 FROM %s",
             records);
    int code = sqlite_each_row(database, query, take_event, host);
    snprintf(query, sizeof query,
             "SELECT globalPid, correlationId, eventId, contextId, streamId, 1 FROM %s WHERE "
             "syncType %s",
             waits,
             sqlite_has(database, "ENUM_CUPTI_SYNC_TYPE", "name")
                 ? "IN (SELECT id FROM ENUM_CUPTI_SYNC_TYPE WHERE name LIKE '%WAIT_EVENT%')"
                 : "= 2");
    return code == SQLITE_OK ? sqlite_each_row(database, query, take_event, host) : code;
}

/* --- streams --- */

static int take_stream(void *context, sqlite3_stmt *row)
{
    struct trace_facts *facts = ((struct sqlite_host *)context)->facts;
    const int64_t flag = sqlite3_column_int64(row, 2);
    if (flag != FLAG_BLOCKING && flag != FLAG_NONBLOCKING && flag != FLAG_DEFAULT)
        return SQLITE_OK;
    struct trace_stream *kept =
        ITEMS_ADD(facts->streams, facts->stream_count, facts->stream_room);
    if (kept == NULL)
        return SQLITE_NOMEM;
    *kept = (struct trace_stream){.context = (uint32_t)sqlite3_column_int64(row, 0),
                                  .stream = (uint32_t)sqlite3_column_int64(row, 1),
                                  .kind = flag == FLAG_BLOCKING      ? STREAM_BLOCKING
                                          : flag == FLAG_NONBLOCKING ? STREAM_NONBLOCKING
                                                                     : STREAM_LEGACY};
    return SQLITE_OK;
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
                               take_stream, host);
    if (code == SQLITE_OK && sqlite_has(database, contexts, "nullStreamId") &&
        sqlite_has(database, contexts, "contextId"))
        code = sqlite_each_row(database,
                               "SELECT contextId, nullStreamId, 3 FROM "
                               "TARGET_INFO_CUDA_CONTEXT_INFO", /* FLAG_DEFAULT
                                                                 */
                               take_stream, host);
    return code;
}

int sqlite_host_read(struct sqlite_host *host, sqlite3 *database)
{
    int code = read_calls(host, database);
    if (code == SQLITE_OK)
        code = read_events(host, database);
    return code == SQLITE_OK ? read_streams(host, database) : code;
}

void sqlite_host_free(struct sqlite_host *host)
{
    free(host->ids);
    free(host->names);
    *host = (struct sqlite_host){0};
}
