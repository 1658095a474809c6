/* sqlite.c - reads the database of `nsys export -t sqlite`.
 *
 * Versions differ in which tables and columns there are, and tables are only there where
 * something was recorded: so each query is put together from what the database has. Names are
 * numbers of StringIds. A call of the host and what it started share a correlationId within a
 * process, which is the upper part of globalPid and globalTid. */
#include "options/input_file.h"
#include "trace/build.h"
#include "trace/input.h"
#include "trace/sqlite_parts.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUERY_TEXT = 2048,
    TERM_TEXT = 128,
    KIND_PAGEABLE = 0, /* of ENUM_CUDA_MEM_KIND */
    KIND_PINNED = 1,
};

/* The columns of every query, in this order. */
enum field {
    START,
    END,
    DEVICE,
    GPU,
    CONTEXT,
    STREAM,
    BYTES,
    KIND,
    HOST_MEMORY,
    NAME,
    CORRELATION,
    PROCESS
};

struct database {
    const char *path;
    char unread[TRACE_UNREAD]; /* what of it is not read; empty: nothing */
    sqlite3 *handle;
    struct sqlite_host host;
    struct trace_builder builder;
    struct error *error;
};

static enum status refuse(const struct database *database, const char *why)
{
    char shown[TRACE_SHOWN];
    return error_set(database->error, STATUS_USAGE, "%s: %s%s%s",
                     trace_shown(database->path, shown), why,
                     database->unread[0] != '\0' ? "; " : "", database->unread);
}

/* Refuses a file that is half written: to undo that, as its journal says, would change it. */
static enum status refuse_journal(const struct database *database)
{
    char text[TRACE_SHOWN + 256], journal[PATH_MAX + sizeof "-journal"], shown[TRACE_SHOWN];
    snprintf(journal, sizeof journal, "%s-journal", database->path);
    snprintf(text, sizeof text,
             "a program did not finish writing it, as %s beside it tells: let that program "
             "finish, or run `PRAGMA user_version` on it in the sqlite3 shell, which undoes "
             "what is half written",
             trace_shown(journal, shown));
    return refuse(database, text);
}

/* Refuses the file after `code`, with what SQLite says of its latest failure. SQLite says that
 * it has no memory for a schema that is damaged, too. */
static enum status refuse_sqlite(const struct database *database, int code)
{
    char text[256];
    bool told = database->handle != NULL && sqlite3_errcode(database->handle) == code;
    if (code == SQLITE_NOMEM && (!told || sqlite_file_starved()))
        return error_set(database->error, STATUS_NO_MEMORY, "no memory for the trace");
    if (code == SQLITE_NOMEM)
        return refuse(database, "can't be read as a database: its tables are damaged");
    if (sqlite3_extended_errcode(database->handle) == SQLITE_READONLY_ROLLBACK)
        return refuse_journal(database);
    if (code == SQLITE_TOOBIG)
        snprintf(text, sizeof text, "a row or a text in it has more than %d bytes",
                 INPUT_TEXT_MAX);
    else
        snprintf(text, sizeof text, "can't be read as a database: %.160s%s",
                 sqlite3_errmsg(database->handle),
                 code == SQLITE_CORRUPT ? ": cut short?" : "");
    return refuse(database, text);
}

static bool has_column(const struct database *database, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(database->handle, NULL, table, column, NULL, NULL,
                                         NULL, NULL, NULL) == SQLITE_OK;
}

static bool has_table(const struct database *database, const char *table)
{
    return has_column(database, table, NULL);
}

/* --- queries --- */

/* A table that rows are read from: kernels, copies, memory that is set. */
struct source {
    const char *table, *what;
    const char *names[3]; /* columns with the number of a name, best first; else `what` */
};
static const struct source sources[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", "[kernel]", {"demangledName", "shortName", NULL}},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "[CUDA memcpy]", {NULL}},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "[CUDA memset]", {NULL}},
};
enum { SOURCES = sizeof sources / sizeof sources[0] };

/* Writes "t.column", or `instead` where the table lacks that column. */
static const char *term(const struct database *database, const struct source *source,
                        const char *column, const char *instead, char text[TERM_TEXT])
{
    if (has_column(database, source->table, column))
        snprintf(text, TERM_TEXT, "t.%s", column);
    else
        snprintf(text, TERM_TEXT, "%s", instead);
    return text;
}

/* Writes the term for the name: a text of StringIds by number, or NULL. */
static const char *name_term(const struct database *database, const struct source *source,
                             char text[TERM_TEXT])
{
    bool strings = has_table(database, "StringIds");
    for (const char *const *name = source->names; *name != NULL && strings; name++) {
        if (!has_column(database, source->table, *name))
            continue;
        snprintf(text, TERM_TEXT, "(SELECT value FROM StringIds WHERE id = t.%s)", *name);
        return text;
    }
    snprintf(text, TERM_TEXT, "NULL");
    return text;
}

static void make_query(const struct database *database, const struct source *source,
                       char query[QUERY_TEXT])
{
    char device[TERM_TEXT], context[TERM_TEXT], stream[TERM_TEXT], bytes[TERM_TEXT],
        kind[TERM_TEXT], from[TERM_TEXT], to[TERM_TEXT], name[TERM_TEXT], process[TERM_TEXT],
        correlation[TERM_TEXT];
    bool gpus = has_column(database, "TARGET_INFO_GPU", "id") &&
                has_column(database, "TARGET_INFO_GPU", "name") &&
                has_column(database, source->table, "deviceId");
    term(database, source, "srcKind", "NULL", from);
    term(database, source, "dstKind", "NULL", to);
    term(database, source, "copyKind", "NULL", kind);
    snprintf(query, QUERY_TEXT,
             "SELECT t.start, t.end, %s, (%s), %s, %s, %s, %s, CASE %s WHEN 1 THEN %s WHEN 2 "
             "THEN %s END, %s, %s, %s FROM %s AS t",
             term(database, source, "deviceId", "0", device),
             gpus ? "SELECT g.name FROM TARGET_INFO_GPU AS g WHERE g.id = t.deviceId" : "NULL",
             term(database, source, "contextId", "0", context),
             term(database, source, "streamId", "0", stream),
             term(database, source, "bytes", "0", bytes), kind, kind, from, to,
             name_term(database, source, name),
             term(database, source, "correlationId", "NULL", correlation),
             term(database, source, "globalPid", "NULL", process), source->table);
}

/* --- rows --- */

/* Returns when the host called for the op of a row; -1 where that is not known. */
static int64_t issue_of(const struct database *database, sqlite3_stmt *statement)
{
    bool known = sqlite3_column_type(statement, PROCESS) == SQLITE_INTEGER;
    if (sqlite3_column_type(statement, CORRELATION) != SQLITE_INTEGER ||
        database->host.by_process != known)
        return -1;
    return sqlite_host_issue_ns(&database->host,
                                known ? sqlite3_column_int64(statement, PROCESS) : 0,
                                sqlite3_column_int64(statement, CORRELATION));
}

static enum host_memory memory_of(sqlite3_stmt *statement)
{
    if (sqlite3_column_type(statement, HOST_MEMORY) != SQLITE_INTEGER)
        return HOST_MEMORY_UNKNOWN;
    int64_t kind = sqlite3_column_int64(statement, HOST_MEMORY);
    return kind == KIND_PAGEABLE ? HOST_MEMORY_PAGEABLE
           : kind == KIND_PINNED ? HOST_MEMORY_PINNED
                                 : HOST_MEMORY_UNKNOWN;
}

/* Returns the name of a kind of copy, by ENUM_CUDA_MEMCPY_OPER ("CUDA copy kind enum" of the
 * schema reference). */
static const char *copy_name(int64_t kind)
{
    static const char *const names[] = {
        "[CUDA memcpy]",
        "[CUDA memcpy Host-to-Device]",
        "[CUDA memcpy Device-to-Host]",
        "[CUDA memcpy Host-to-Array]",
        "[CUDA memcpy Array-to-Host]",
        "[CUDA memcpy Array-to-Array]",
        "[CUDA memcpy Array-to-Device]",
        "[CUDA memcpy Device-to-Array]",
        "[CUDA memcpy Device-to-Device]",
        "[CUDA memcpy Host-to-Host]",
        "[CUDA memcpy Peer-to-Peer]",
        "[CUDA memcpy Unified Host-to-Device]",
        "[CUDA memcpy Unified Device-to-Host]",
        "[CUDA memcpy Unified Device-to-Device]",
    };
    bool known = kind > 0 && kind < (int64_t)(sizeof names / sizeof names[0]);
    return names[known ? kind : 0];
}

static enum status refuse_row(const struct database *database, const struct source *source,
                              uint64_t row, const char *why)
{
    char text[256];
    snprintf(text, sizeof text, "table %s, row %" PRIu64 ": %.160s", source->table, row, why);
    return refuse(database, text);
}

/* Returns what is wrong with a row's numbers, or NULL. */
static const char *complaint(sqlite3_stmt *statement)
{
    if (sqlite3_column_type(statement, START) != SQLITE_INTEGER ||
        sqlite3_column_type(statement, END) != SQLITE_INTEGER)
        return "start and end are no whole numbers";
    if (sqlite3_column_int64(statement, START) < 0)
        return "start is negative";
    if (sqlite3_column_int64(statement, END) < sqlite3_column_int64(statement, START))
        return "it ends before it starts";
    if (sqlite3_column_int64(statement, BYTES) < 0)
        return "bytes are negative";
    int64_t stream = sqlite3_column_int64(statement, STREAM);
    int64_t context = sqlite3_column_int64(statement, CONTEXT);
    if (stream < 0 || stream > UINT32_MAX || context < 0 || context > UINT32_MAX)
        return "streamId or contextId is no id";
    return NULL;
}

static const char *text_or(sqlite3_stmt *statement, enum field field, const char *instead)
{
    const char *text = (const char *)sqlite3_column_text(statement, field);
    return text != NULL && *text != '\0' ? text : instead;
}

static enum status add_row(struct database *database, const struct source *source,
                           sqlite3_stmt *statement, uint64_t number)
{
    char device[TRACE_SHOWN + 32];
    const char *wrong = complaint(statement);
    if (wrong != NULL)
        return refuse_row(database, source, number, wrong);
    snprintf(device, sizeof device, "%.*s (%" PRId64 ")", TRACE_SHOWN,
             text_or(statement, GPU, "GPU"), (int64_t)sqlite3_column_int64(statement, DEVICE));
    bool copy = sqlite3_column_type(statement, KIND) != SQLITE_NULL;
    struct trace_row row = {
        .device = device,
        .name = copy ? copy_name(sqlite3_column_int64(statement, KIND))
                     : text_or(statement, NAME, source->what),
        .context = (uint32_t)sqlite3_column_int64(statement, CONTEXT),
        .stream = (uint32_t)sqlite3_column_int64(statement, STREAM),
        .bytes = (uint64_t)sqlite3_column_int64(statement, BYTES),
        .memory = memory_of(statement),
        .issue_ns = issue_of(database, statement),
        .start_ns = sqlite3_column_int64(statement, START),
        .end_ns = sqlite3_column_int64(statement, END),
    };
    struct error why = {0};
    row.kind = trace_kind(row.name);
    if (strstr(row.name, "memcpy Unified") != NULL) /* pages that move: no call asked for it */
        row.issue_ns = row.start_ns;
    enum status status = trace_build_add(&database->builder, &row, &why);
    if (status == STATUS_USAGE)
        return refuse_row(database, source, number, why.text);
    return status == STATUS_OK ? STATUS_OK : error_pass(database->error, &why);
}

static enum status read_source(struct database *database, const struct source *source)
{
    char query[QUERY_TEXT];
    sqlite3_stmt *statement;
    uint64_t number = 0;
    if (!has_column(database, source->table, "start") ||
        !has_column(database, source->table, "end"))
        return refuse_row(database, source, 0, "no columns start and end");
    make_query(database, source, query);
    if (sqlite3_prepare_v2(database->handle, query, -1, &statement, NULL) != SQLITE_OK)
        return refuse_sqlite(database, sqlite3_errcode(database->handle));
    enum status status = STATUS_OK;
    int step = SQLITE_DONE;
    while (status == STATUS_OK && (step = sqlite3_step(statement)) == SQLITE_ROW)
        status = add_row(database, source, statement, ++number);
    if (status == STATUS_OK && step != SQLITE_DONE)
        status = refuse_sqlite(database, sqlite3_errcode(database->handle));
    sqlite3_finalize(statement);
    return status;
}

static enum status read_host(struct database *database)
{
    int code = sqlite_host_read(&database->host, database->handle);
    return code == SQLITE_OK ? STATUS_OK : refuse_sqlite(database, code);
}

/* The tables that are read, as a condition on sqlite_master. */
#define TABLES_READ                                                                            \
    "m.type = 'table' AND m.name COLLATE NOCASE IN ('StringIds', 'TARGET_INFO_GPU', "          \
    "'TARGET_INFO_CUDA_STREAM', 'TARGET_INFO_CUDA_CONTEXT_INFO', 'ENUM_CUPTI_SYNC_TYPE', "     \
    "'CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_MEMCPY', "                             \
    "'CUPTI_ACTIVITY_KIND_MEMSET', "                                                           \
    "'CUPTI_ACTIVITY_KIND_RUNTIME', 'CUPTI_ACTIVITY_KIND_CUDA_EVENT', "                        \
    "'CUPTI_ACTIVITY_KIND_SYNCHRONIZATION')"

/* Refuses the file if `query` finds a row: the name of a table, and a text of what is wrong
 * with it, which `why` ends. */
static enum status refuse_tables(struct database *database, const char *query, const char *why)
{
    sqlite3_stmt *statement;
    char text[256], table[TRACE_SHOWN], what[TRACE_SHOWN];
    if (sqlite3_prepare_v2(database->handle, query, -1, &statement, NULL) != SQLITE_OK)
        return refuse_sqlite(database, sqlite3_errcode(database->handle));
    enum status status = STATUS_OK;
    int step = sqlite3_step(statement);
    if (step == SQLITE_ROW) {
        snprintf(text, sizeof text, "table %s: %s%s",
                 trace_shown(text_or(statement, 0, ""), table),
                 trace_shown(text_or(statement, 1, ""), what), why);
        status = refuse(database, text);
    } else if (step != SQLITE_DONE) {
        status = refuse_sqlite(database, sqlite3_errcode(database->handle));
    }
    sqlite3_finalize(statement);
    return status;
}

/* Refuses tables that are read if a column is computed by an expression of the file, which
 * could take any time. It is the first look at the file: only now does SQLite say what is wrong
 * with it. */
static enum status refuse_computed(struct database *database)
{
    return refuse_tables(
        database,
        "SELECT m.name, 'column ' || x.name FROM sqlite_master AS m, "
        "pragma_table_xinfo(m.name) AS x WHERE x.hidden IN (2, 3) AND " TABLES_READ,
        " is computed as it is read, which nsys export never writes");
}

/* Refuses tables that are read if they are damaged: pages that lead back to themselves hold
 * rows without end. The first line of a complaint but its title is shown. The file's own CHECK
 * constraints, which could take any time as well, are left out. */
static enum status refuse_damaged(struct database *database)
{
    sqlite3_exec(database->handle, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL);
    return refuse_tables(
        database,
        "SELECT name, substr(said, 1, instr(said || char(10), char(10)) - 1) FROM (SELECT "
        "m.name "
        "AS name, replace(q.quick_check, '*** in database main ***' || char(10), '') AS said "
        "FROM sqlite_master AS m, pragma_quick_check(m.name) AS q WHERE " TABLES_READ
        ") WHERE said <> 'ok'",
        ", says PRAGMA quick_check: is the file damaged, or cut short?");
}

static enum status read_sources(struct database *database)
{
    int tables = 0;
    enum status status = refuse_computed(database);
    if (status == STATUS_OK)
        status = refuse_damaged(database);
    if (status == STATUS_OK)
        status = read_host(database);
    for (int i = 0; i < SOURCES && status == STATUS_OK; i++) {
        if (!has_table(database, sources[i].table))
            continue;
        tables++;
        status = read_source(database, &sources[i]);
    }
    if (status != STATUS_OK || tables > 0)
        return status;
    return refuse(database,
                  "not a trace of a GPU: the database has none of the tables "
                  "CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY and _MEMSET (nsys profile -t cuda "
                  "records them, nsys export -t sqlite writes them)");
}

static enum status finish(struct database *database, const struct trace_facts *facts,
                          struct traces *traces)
{
    struct error why = {0};
    char shown[TRACE_SHOWN];
    enum status status = trace_build_finish(&database->builder, facts, traces, &why);
    if (status != STATUS_OK)
        error_set(database->error, status, "%s: %s", trace_shown(database->path, shown),
                  why.text);
    return status;
}

static enum status open_database(struct database *database)
{
    int code = sqlite_file_open(database->path, &database->handle, database->unread);
    return code == SQLITE_OK ? STATUS_OK : refuse_sqlite(database, code);
}

enum status trace_sqlite_read(const char *path, struct traces *traces, struct error *error)
{
    struct error why = {0};
    struct database database = {.path = path, .error = &why};
    enum status status = open_database(&database);
    if (status == STATUS_OK)
        status = read_sources(&database);
    const struct trace_facts facts = {
        .timing = TIMING_NSYS,
        .driver = TRACE_NSYS_DRIVER,
        .resolution_ns = 1,
        .bytes_unit = 1,
        .memory_known = true,
        .calls = database.host.calls,
        .call_count = database.host.call_count,
        .events = database.host.events,
        .event_count = database.host.event_count,
        .streams = database.host.streams,
        .stream_count = database.host.stream_count,
    };
    if (status == STATUS_OK)
        status = finish(&database, &facts, traces);
    if (status == STATUS_OK)
        strcpy(traces->unread, database.unread);
    if (status != STATUS_OK)
        error_pass(error, &why);
    trace_build_free(&database.builder);
    sqlite_host_free(&database.host);
    sqlite3_close(database.handle);
    return status;
}
