/* sqlite_parts.h - a database of `nsys export -t sqlite`, and the host's calls and the streams'
 * kinds from it: private to the reader of it. */
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

/* Returns true if a table has that column, or NULL: if it is there. */
bool sqlite_has(sqlite3 *database, const char *table, const char *column);

/* Gives each row that `query` finds to `taker`, until that returns another code than SQLITE_OK.
 * Returns that code, or SQLite's. */
typedef int sqlite_take(void *context, sqlite3_stmt *row);
int sqlite_each_row(sqlite3 *database, const char *query, sqlite_take *taker, void *context);

enum { SQLITE_PROCESS_BITS = -(1 << 24) }; /* of globalPid and globalTid */

/* Zero-initialise but for `profiled`; give back with sqlite_host_free(). */
struct sqlite_host {
    struct profiled *profiled; /* gets the calls, what they wait for, and what the host did */
    bool by_process;           /* calls name their process */
    struct sqlite_call_name {
        int64_t id;
        uint16_t row;
    } * names; /* of calls, in order of id */
    struct sqlite_stream {
        int64_t context, stream;
        uint8_t kind; /* enum stream_kind */
    } * streams;      /* those whose kinds are said, in order */
    size_t name_count, name_room, stream_count, stream_room;
};

/* Reads what there is: each table, and each column but starts, may be missing. Returns
 * SQLITE_OK, SQLITE_NOMEM, or another code, whose reason the database has. */
int sqlite_host_read(struct sqlite_host *host, sqlite3 *database);
void sqlite_host_free(struct sqlite_host *host);

/* Sets *number to that of a process, of which globalPid and globalTid have the bits. False: no
 * memory. */
bool sqlite_host_process(const struct sqlite_host *host, int64_t global, uint32_t *number);

/* Gives the streams in which something ran the kinds that the database says. */
void sqlite_host_set_kinds(const struct sqlite_host *host);

/* A database while it is read. */
struct sqlite_trace {
    const char *path;
    char unread[TRACE_UNREAD]; /* what of it is not read; empty: nothing */
    sqlite3 *handle;
    struct sqlite_host host;
    struct profiled profiled;
    struct error *error;
};

/* Refuses the file. */
enum status sqlite_refuse(const struct sqlite_trace *database, const char *why);

/* Returns what a query came to: an error that is set already, or what SQLite says. */
enum status sqlite_result_of(const struct sqlite_trace *database, int code);

/* Returns a column's text, or `instead` where it has none; and a number that fits 31 bits, or
 * 0.
 */
const char *sqlite_text_or(sqlite3_stmt *statement, int column, const char *instead);
uint32_t sqlite_small(int64_t number);

/* Reads what ran, and counts the tables that have it. */
enum status sqlite_ops_read(struct sqlite_trace *database, int *tables);

#endif
