/* sqlite_parts.h - a database of `nsys export -t sqlite` while it is read: private to its
 * reader. What goes wrong is said once, in its error, and ends the reading. */
#ifndef PIPELINE_TRACE_SQLITE_PARTS_H
#define PIPELINE_TRACE_SQLITE_PARTS_H

#include "trace/profiled.h"

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

struct sqlite_trace;

/* Gives each row that `query` finds to `taker`, until something goes wrong: what SQLite says is
 * then said of the file. */
typedef void sqlite_take(struct sqlite_trace *database, sqlite3_stmt *row);
void sqlite_each_row(struct sqlite_trace *database, const char *query, sqlite_take *taker);

enum { SQLITE_PROCESS_BITS = -(1 << 24) }; /* of globalPid and globalTid */

/* Reads the host's calls, what they wait for and what else the host did, before what ran; and
 * behind that, the kinds of the streams in which something did: each table, and each column but
 * starts, may be missing. */
void sqlite_host_read(struct sqlite_trace *database);
void sqlite_host_set_kinds(struct sqlite_trace *database);

/* Returns the number of a process, of which globalPid and globalTid have the bits. */
uint32_t sqlite_host_process(struct sqlite_trace *database, int64_t global);

/* A database while it is read. */
struct sqlite_trace {
    const char *path;
    char unread[TRACE_UNREAD]; /* what of it is not read; empty: nothing */
    sqlite3 *handle;
    bool by_process; /* calls name their process */
    struct profiled profiled;
    struct error *error;
    uint64_t row;      /* of a query's answer that is taken, from 1 */
    const char *table; /* that it is of, of those that have ops, and what that has; */
    const char *what;
    uint8_t kind; /* of the stream that is asked for */
};

/* Returns true if a table has that column, or NULL: if it is there. */
bool sqlite_has(const struct sqlite_trace *database, const char *table, const char *column);

/* Refuses the file; for `code`, one of SQLite's: nothing where it is SQLITE_OK. */
void sqlite_refuse(const struct sqlite_trace *database, const char *why);
void sqlite_check(const struct sqlite_trace *database, int code);

/* Returns true once something went wrong. */
static inline bool sqlite_failed(const struct sqlite_trace *database)
{
    return database->error->status != STATUS_OK;
}

/* Returns a column's text, or `instead` where it has none; and a number that fits 31 bits, or
 * 0.
 */
const char *sqlite_text_or(sqlite3_stmt *statement, int column, const char *instead);
uint32_t sqlite_small(int64_t number);

/* Reads what ran; a database that has none of its tables is refused. */
void sqlite_ops_read(struct sqlite_trace *database);

#endif
