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
    KIND_PAGEABLE = 0, /* of ENUM_CUDA_MEM_KIND */
    KIND_PINNED = 1,
    KIND_H2D = 1, /* of ENUM_CUDA_MEMCPY_OPER */
    KIND_D2H = 2,
};

/* What every query asks for, in this order: a column of the table, or what stands for it where
 * the table lacks it. */
enum field {
    START,
    END,
    DEVICE,
    CONTEXT,
    STREAM,
    BYTES,
    KIND,
    FROM,
    TO,
    CORRELATION,
    PROCESS,
    COLUMNS,
    GPU = COLUMNS, /* and names, which stand in other tables */
    NAME
};
static const struct {
    const char *name, *instead;
} columns[COLUMNS] = {
    [START] = {"start", "NULL"},       [END] = {"end", "NULL"},
    [DEVICE] = {"deviceId", "0"},      [CONTEXT] = {"contextId", "0"},
    [STREAM] = {"streamId", "0"},      [BYTES] = {"bytes", "0"},
    [KIND] = {"copyKind", "NULL"},     [FROM] = {"srcKind", "NULL"},
    [TO] = {"dstKind", "NULL"},        [CORRELATION] = {"correlationId", "NULL"},
    [PROCESS] = {"globalPid", "NULL"},
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
    return sqlite_has(database->handle, table, column);
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

/* Returns the column with the number of a row's name in StringIds; NULL: there is none. */
static const char *name_column(const struct database *database, const struct source *source)
{
    const char *const *name = source->names;
    while (*name != NULL && !has_column(database, source->table, *name))
        name++;
    return has_column(database, "StringIds", NULL) ? *name : NULL;
}

static void make_query(const struct database *database, const struct source *source,
                       char query[QUERY_TEXT])
{
    const char *name = name_column(database, source);
    const bool gpus = has_column(database, "TARGET_INFO_GPU", "id") &&
                      has_column(database, "TARGET_INFO_GPU", "name") &&
                      has_column(database, source->table, "deviceId");
    size_t used = (size_t)snprintf(query, QUERY_TEXT, "SELECT ");
    for (int i = 0; i < COLUMNS; i++) {
        const bool there = has_column(database, source->table, columns[i].name);
        used += (size_t)snprintf(query + used, QUERY_TEXT - used, "%s%s, ", there ? "t." : "",
                                 there ? columns[i].name : columns[i].instead);
    }
    snprintf(query + used, QUERY_TEXT - used, "(%s), (%s%s) FROM %s AS t",
             gpus ? "SELECT g.name FROM TARGET_INFO_GPU AS g WHERE g.id = t.deviceId" : "NULL",
             name != NULL ? "SELECT value FROM StringIds WHERE id = t." : "NULL",
             name != NULL ? name : "", source->table);
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
    const int64_t copy = sqlite3_column_int64(statement, KIND);
    const enum field side = copy == KIND_H2D ? FROM : TO;
    if ((copy != KIND_H2D && copy != KIND_D2H) ||
        sqlite3_column_type(statement, side) != SQLITE_INTEGER)
        return HOST_MEMORY_UNKNOWN;
    const int64_t kind = sqlite3_column_int64(statement, side);
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

/* Rows of a table that are read. */
struct reading {
    struct database *database;
    const struct source *source;
    uint64_t number; /* of the row */
};

/* Adds a row; another code than SQLITE_OK stands for an error that is set. */
static int add_row(void *context, sqlite3_stmt *statement)
{
    struct reading *reading = context;
    struct database *database = reading->database;
    const struct source *source = reading->source;
    char device[TRACE_SHOWN + 32];
    reading->number++;
    const char *wrong = complaint(statement);
    if (wrong != NULL)
        return refuse_row(database, source, reading->number, wrong);
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
    trace_build_add(&database->builder, &row, &why);
    if (why.status == STATUS_USAGE)
        return refuse_row(database, source, reading->number, why.text);
    return why.status == STATUS_OK ? SQLITE_OK : (int)error_pass(database->error, &why);
}

/* Returns what a query came to: an error that is set already, or what SQLite says. */
static enum status result_of(const struct database *database, int code)
{
    if (database->error->status != STATUS_OK)
        return database->error->status;
    return code == SQLITE_OK ? STATUS_OK : refuse_sqlite(database, code);
}

static enum status read_source(struct database *database, const struct source *source)
{
    char query[QUERY_TEXT];
    struct reading reading = {database, source, 0};
    if (!has_column(database, source->table, "start") ||
        !has_column(database, source->table, "end"))
        return refuse_row(database, source, 0, "no columns start and end");
    make_query(database, source, query);
    return result_of(database, sqlite_each_row(database->handle, query, add_row, &reading));
}

/* The tables that are read, as a condition on sqlite_master. */
#define TABLES_READ                                                                            \
    "m.type = 'table' AND m.name COLLATE NOCASE IN ('StringIds', 'TARGET_INFO_GPU', "          \
    "'TARGET_INFO_CUDA_STREAM', 'TARGET_INFO_CUDA_CONTEXT_INFO', 'ENUM_CUPTI_SYNC_TYPE', "     \
    "'CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_MEMCPY', "                             \
    "'CUPTI_ACTIVITY_KIND_MEMSET', "                                                           \
    "'CUPTI_ACTIVITY_KIND_RUNTIME', 'CUPTI_ACTIVITY_KIND_CUDA_EVENT', "                        \
    "'CUPTI_ACTIVITY_KIND_SYNCHRONIZATION')"

/* Refuses the file for a row with the name of a table and a text of what is wrong with it. */
static int refuse_table(void *context, sqlite3_stmt *row)
{
    char text[256], table[TRACE_SHOWN], what[TRACE_SHOWN];
    snprintf(text, sizeof text, "table %s: %s%s", trace_shown(text_or(row, 0, ""), table),
             trace_shown(text_or(row, 1, ""), what), text_or(row, 2, ""));
    return (int)refuse(context, text);
}

static enum status refuse_tables(struct database *database, const char *query)
{
    return result_of(database,
                     sqlite_each_row(database->handle, query, refuse_table, database));
}

/* Refuses tables that are read if a column is computed by an expression of the file, which
 * could take any time. It is the first look at the file: only now does SQLite say what is wrong
 * with it. */
static enum status refuse_computed(struct database *database)
{
    return refuse_tables(
        database, "SELECT m.name, 'column ' || x.name, ' is computed as it is read, which nsys "
                  "export never "
                  "writes' FROM sqlite_master AS m, "
                  "pragma_table_xinfo(m.name) AS x WHERE x.hidden IN (2, 3) AND " TABLES_READ);
}

/* Refuses tables that are read if they are damaged: pages that lead back to themselves hold
 * rows without end. The first line of a complaint but its title is shown. The file's own CHECK
 * constraints, which could take any time as well, are left out. */
static enum status refuse_damaged(struct database *database)
{
    sqlite3_exec(database->handle, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL);
    return refuse_tables(
        database,
        "SELECT name, substr(said, 1, instr(said || char(10), char(10)) - 1), "
        "', says PRAGMA quick_check: is the file damaged, or cut short?' FROM (SELECT "
        "m.name "
        "AS name, replace(q.quick_check, '*** in database main ***' || char(10), '') AS said "
        "FROM sqlite_master AS m, pragma_quick_check(m.name) AS q WHERE " TABLES_READ
        ") WHERE said <> 'ok'");
}

static enum status read_sources(struct database *database)
{
    int tables = 0;
    enum status status = refuse_computed(database);
    if (status == STATUS_OK)
        status = refuse_damaged(database);
    if (status == STATUS_OK)
        status = result_of(database, sqlite_host_read(&database->host, database->handle));
    for (int i = 0; i < SOURCES && status == STATUS_OK; i++) {
        if (!has_column(database, sources[i].table, NULL))
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

static enum status finish(struct database *database, struct traces *traces)
{
    struct error why = {0};
    char shown[TRACE_SHOWN];
    enum status status = trace_build_finish(&database->builder, traces, &why);
    if (status != STATUS_OK)
        return error_set(database->error, status, "%s: %s", trace_shown(database->path, shown),
                         why.text);
    strcpy(traces->unread, database->unread);
    return STATUS_OK;
}

static enum status open_database(struct database *database)
{
    int code = sqlite_file_open(database->path, &database->handle, database->unread);
    return code == SQLITE_OK ? STATUS_OK : refuse_sqlite(database, code);
}

enum status trace_sqlite_read(const char *path, struct traces *traces, struct error *error)
{
    struct error why = {0};
    struct database database = {
        .path = path,
        .error = &why,
        .builder.facts = {.timing = TIMING_NSYS,
                          .driver = TRACE_NSYS_DRIVER,
                          .resolution_ns = 1,
                          .bytes_unit = 1},
    };
    database.host.facts = &database.builder.facts;
    enum status status = open_database(&database);
    if (status == STATUS_OK)
        status = read_sources(&database);
    if (status == STATUS_OK)
        status = finish(&database, traces);
    if (status != STATUS_OK)
        error_pass(error, &why);
    trace_build_free(&database.builder);
    sqlite_host_free(&database.host);
    sqlite3_close(database.handle);
    return status;
}
