/* sqlite_file.h - opens a database to read: private to the reader of it. */
#ifndef PIPELINE_TRACE_SQLITE_FILE_H
#define PIPELINE_TRACE_SQLITE_FILE_H

#include "trace/trace.h"

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

#endif
