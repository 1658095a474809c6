/* sqlite.c - reads the database of `nsys export -t sqlite`.
 *
 * Versions differ in which tables and columns there are, and tables are only there where
 * something was recorded: so each query is put together from what the database has. Names are
 * numbers of StringIds. A call of the host and what it started share a correlationId within a
 * process, which is the upper part of globalPid and globalTid. */
#include "trace/build.h"
#include "trace/input.h"
#include "trace/sqlite_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tables that are read, as a condition on sqlite_master. */
#define TABLES_READ                                                                            \
    "m.type = 'table' AND m.name COLLATE NOCASE IN ('StringIds', 'TARGET_INFO_GPU', "          \
    "'TARGET_INFO_CUDA_STREAM', 'TARGET_INFO_CUDA_CONTEXT_INFO', 'NVTX_EVENTS', 'OSRT_API', "  \
    "'MPI_COLLECTIVES_EVENTS', 'MPI_P2P_EVENTS', 'MPI_START_WAIT_EVENTS', "                    \
    "'MPI_OTHER_EVENTS', 'PROFILER_OVERHEAD', 'CUPTI_ACTIVITY_KIND_GRAPH_TRACE', "             \
    "'CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_MEMCPY', "                             \
    "'CUPTI_ACTIVITY_KIND_MEMSET', "                                                           \
    "'CUPTI_ACTIVITY_KIND_RUNTIME', 'CUPTI_ACTIVITY_KIND_CUDA_EVENT', "                        \
    "'CUPTI_ACTIVITY_KIND_SYNCHRONIZATION')"

/* Refuses the file for a row with the name of a table and a text of what is wrong with it. */
static void refuse_table(struct sqlite_trace *database, sqlite3_stmt *row)
{
    char text[256], table[TRACE_SHOWN], what[TRACE_SHOWN];
    snprintf(text, sizeof text, "table %s: %s%s",
             trace_shown(sqlite_text_or(row, 0, ""), table),
             trace_shown(sqlite_text_or(row, 1, ""), what), sqlite_text_or(row, 2, ""));
    sqlite_refuse(database, text);
}

/* Refuses tables that are read if a column is computed by an expression of the file, which
 * could take any time. It is the first look at the file: only now does SQLite say what is wrong
 * with it. */
static void refuse_computed(struct sqlite_trace *database)
{
    sqlite_each_row(
        database,
        "SELECT m.name, 'column ' || x.name, ' is computed as it is read, which nsys export "
        "never writes' FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS x "
        "WHERE x.hidden IN (2, 3) AND " TABLES_READ,
        refuse_table);
}

/* Refuses tables that are read if they are damaged: pages that lead back to themselves hold
 * rows without end. The first line of a complaint but its title is shown. The file's own CHECK
 * constraints, which could take any time as well, are left out. */
static void refuse_damaged(struct sqlite_trace *database)
{
    sqlite3_exec(database->handle, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL);
    sqlite_each_row(
        database,
        "SELECT name, substr(said, 1, instr(said || char(10), char(10)) - 1), "
        "', says PRAGMA quick_check: is the file damaged, or cut short?' FROM (SELECT "
        "m.name "
        "AS name, replace(q.quick_check, '*** in database main ***' || char(10), '') AS said "
        "FROM sqlite_master AS m, pragma_quick_check(m.name) AS q WHERE " TABLES_READ
        ") WHERE said <> 'ok'",
        refuse_table);
}

/* --- devices --- */

enum { QUERY_TEXT = 512 };

static uint32_t column_of(sqlite3_stmt *statement, int column)
{
    return sqlite_small(sqlite3_column_int64(statement, column));
}

static void add_device(struct sqlite_trace *database, sqlite3_stmt *statement)
{
    struct recorded_device *device = profiled_device(
        &database->profiled, column_of(statement, 0), sqlite_text_or(statement, 1, ""));
    device->sm.major = column_of(statement, 2);
    device->minor = column_of(statement, 3);
    device->sms = column_of(statement, 4);
    device->sm.threads = column_of(statement, 5) * column_of(statement, 6);
    device->sm.blocks = column_of(statement, 7);
    device->sm.registers = column_of(statement, 8);
    device->sm.shared = column_of(statement, 9);
}

static void read_devices(struct sqlite_trace *database)
{
    static const char table[] = "TARGET_INFO_GPU";
    static const char *const facts[] = {"id",
                                        "name",
                                        "computeMajor",
                                        "computeMinor",
                                        "smCount",
                                        "maxWarpsPerSm",
                                        "threadsPerWarp",
                                        "maxBlocksPerSm",
                                        "maxRegistersPerSm",
                                        "maxShmemPerSm"};
    char query[QUERY_TEXT] = "SELECT ";
    if (!sqlite_has(database, table, "id"))
        return;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        text_add(query, sizeof query, i > 0 ? ", " : "", "%s",
                 sqlite_has(database, table, facts[i]) ? facts[i] : "NULL");
    text_add(query, sizeof query, " FROM ", "%s", table);
    sqlite_each_row(database, query, add_device);
}

enum status trace_sqlite_read(const char *path, struct traces *traces, struct error *error)
{
    static void (*const steps[])(struct sqlite_trace * database) = {
        refuse_computed,  refuse_damaged,  read_devices,
        sqlite_host_read, sqlite_ops_read, sqlite_host_set_kinds};
    struct error why = {0};
    char shown[TRACE_SHOWN];
    struct sqlite_trace database = {.path = path, .error = &why};
    profiled_begin(&database.profiled, &why);
    if (!sqlite_failed(&database))
        sqlite_check(&database, sqlite_file_open(path, &database.handle, database.unread));
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !sqlite_failed(&database); i++)
        steps[i](&database);
    sqlite3_close(database.handle);
    const bool read = !sqlite_failed(&database);
    const enum status status =
        profiled_finish(&database.profiled, TIMING_NSYS, TRACE_NSYS_DRIVER, traces);
    if (status == STATUS_OK)
        strcpy(traces->unread, database.unread);
    else if (read)
        error_set(error, status, "%s: %s", trace_shown(path, shown), why.text);
    else
        error_pass(error, &why);
    return status;
}
