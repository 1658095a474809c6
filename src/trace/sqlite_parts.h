/* sqlite_parts.h - a database of `nsys export -t sqlite`, and the host's calls and the streams'
 * kinds from it: private to the reader of it. */
#ifndef PIPELINE_TRACE_SQLITE_PARTS_H
#define PIPELINE_TRACE_SQLITE_PARTS_H

#include "trace/build.h"

#include <sqlite3.h>

/* Opens the file `path`, always by a URI: of a bare name SQLite may make something else than a
 * file. One with a log is opened as a file that nobody changes: to read the log, even to find
 * it empty, SQLite would make files beside it; what is not read then is said in `unread`. No
 * row and no text may have more than INPUT_TEXT_MAX bytes. Returns SQLite's code; close
 * *database with sqlite3_close(), after a failure too. */
int sqlite_file_open(const char *path, sqlite3 **database, char unread[TRACE_UNREAD]);

/* Returns true once SQLite was refused memory in this process: its SQLITE_NOMEM alone may mean
 * that a schema is damaged. */
bool sqlite_file_starved(void);

/* Returns true if a table has that column, or NULL: if it is there. */
bool sqlite_has(sqlite3 *database, const char *table, const char *column);

/* Gives each row that `query` finds to `taker`, until that returns another code than SQLITE_OK.
 * Returns that code, or SQLite's. */
typedef int sqlite_take(void *context, sqlite3_stmt *row);
int sqlite_each_row(sqlite3 *database, const char *query, sqlite_take *taker, void *context);

enum { SQLITE_PROCESS_BITS = -(1 << 24) }; /* of globalPid and globalTid */

/* A call of the host by which it can be found: within its process, by its correlationId. */
struct sqlite_call {
    int64_t process, correlation, start_ns;
};

/* Zero-initialise but for `facts`; give back with sqlite_host_free(). */
struct sqlite_host {
    struct sqlite_call *ids; /* of the calls that have one, in order of process and id */
    size_t id_count, id_room;
    struct trace_facts *facts; /* gets the calls, events whose call is known, and streams */
    bool by_process;           /* calls name their process */
    struct sqlite_call_name {
        int64_t id;
        uint16_t row;
    } * names; /* of calls, in order of id */
    size_t name_count, name_room;
};

/* Reads what there is: each table, and each column but starts, may be missing. Returns
 * SQLITE_OK, SQLITE_NOMEM, or another code, whose reason the database has. */
int sqlite_host_read(struct sqlite_host *host, sqlite3 *database);
void sqlite_host_free(struct sqlite_host *host);

/* Returns when the host made the call `correlation` of `process` (0 where calls name none); -1
 * where there is no such call. */
int64_t sqlite_host_issue_ns(const struct sqlite_host *host, int64_t process,
                             int64_t correlation);

#endif
