/* sqlite_file.c - opens a database that is not trusted, leaves it and its folder as they are,
 * and asks it. */
#include "trace/sqlite_parts.h"

#include "options/input_file.h"
#include "trace/input.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 2000 }; /* to wait for a program that writes the database */

/* Returns true if the database keeps what is written in a log beside it, as bytes 18 and 19 of
 * its header say ("File format version numbers" of SQLite's file format). */
static bool has_log(const char *path)
{
    char header[20] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool whole = file >= 0 && read(file, header, sizeof header) == sizeof header;
    if (file >= 0)
        close(file);
    return whole && (header[18] == 2 || header[19] == 2);
}

/* Says what a log beside the database holds that is not read. */
static void find_unread(const char *path, char unread[TRACE_UNREAD])
{
    struct stat about;
    char log[PATH_MAX + sizeof "-wal"], shown[TRACE_SHOWN];
    snprintf(log, sizeof log, "%s-wal", path);
    if (stat(log, &about) == 0 && about.st_size > 0)
        snprintf(unread, TRACE_UNREAD,
                 "what is in %s is not read: `PRAGMA wal_checkpoint` of the sqlite3 shell puts "
                 "it into the database",
                 trace_shown(log, shown));
}

/* Returns "file:PATH" and `end`, with all of the path escaped (https://sqlite.org/uri.html), to
 * be freed; NULL: no memory. A relative path begins with "./": SQLite takes ":memory:" for no
 * file even where it stands in a URI. */
static char *uri_of(const char *path, const char *end)
{
    const char *begin = *path == '/' ? "file:" : "file:./";
    char *uri = malloc(strlen(begin) + 3 * strlen(path) + strlen(end) + 1);
    if (uri == NULL)
        return NULL;
    char *to = stpcpy(uri, begin);
    for (; *path != '\0'; path++)
        to += sprintf(to, "%%%02x", (unsigned char)*path);
    strcpy(to, end);
    return uri;
}

static sqlite3_mem_methods memory;
static atomic_bool starved;

static void *noted(void *block)
{
    if (block == NULL)
        atomic_store(&starved, true);
    return block;
}

static void *take(int bytes)
{
    return noted(memory.xMalloc(bytes));
}

static void *resize(void *block, int bytes)
{
    return noted(memory.xRealloc(block, bytes));
}

/* Stands before SQLite's allocator. Where SQLite runs already this is refused, and changes
 * nothing. */
static void watch_memory(void)
{
    if (memory.xMalloc != NULL || sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory) != SQLITE_OK)
        return;
    sqlite3_mem_methods watched = memory;
    watched.xMalloc = take;
    watched.xRealloc = resize;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &watched);
}

bool sqlite_file_starved(void)
{
    return atomic_load(&starved);
}

int sqlite_file_open(const char *path, sqlite3 **database, char unread[TRACE_UNREAD])
{
    watch_memory();
    bool log = has_log(path);
    char *uri = uri_of(path, log ? "?immutable=1" : "");
    if (uri == NULL)
        return SQLITE_NOMEM;
    if (log)
        find_unread(path, unread);
    int code = sqlite3_open_v2(uri, database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    free(uri);
    if (code != SQLITE_OK)
        return *database != NULL ? code : SQLITE_NOMEM;
    sqlite3_busy_timeout(*database, BUSY_MS);
    sqlite3_limit(*database, SQLITE_LIMIT_LENGTH, INPUT_TEXT_MAX);
    return SQLITE_OK;
}

bool sqlite_has(const struct sqlite_trace *database, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(database->handle, NULL, table, column, NULL, NULL,
                                         NULL, NULL, NULL) == SQLITE_OK;
}

void sqlite_each_row(struct sqlite_trace *database, const char *query, sqlite_take *taker)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database->handle, query, -1, &statement, NULL);
    database->row = 0;
    while (statement != NULL && !sqlite_failed(database) &&
           (code = sqlite3_step(statement)) == SQLITE_ROW) {
        database->row++;
        taker(database, statement);
    }
    sqlite3_finalize(statement);
    sqlite_check(database, code == SQLITE_DONE ? SQLITE_OK : code);
}

/* --- what is wrong --- */

void sqlite_refuse(const struct sqlite_trace *database, const char *why)
{
    char shown[TRACE_SHOWN];
    error_set(database->error, STATUS_USAGE, "%s: %s%s%s", trace_shown(database->path, shown),
              why, database->unread[0] != '\0' ? "; " : "", database->unread);
}

/* Refuses a file that is half written: to undo that, as its journal says, would change it. */
static void refuse_journal(const struct sqlite_trace *database)
{
    char text[TRACE_SHOWN + 256], journal[PATH_MAX + sizeof "-journal"], shown[TRACE_SHOWN];
    snprintf(journal, sizeof journal, "%s-journal", database->path);
    snprintf(text, sizeof text,
             "a program did not finish writing it, as %s beside it tells: let that program "
             "finish, or run `PRAGMA user_version` on it in the sqlite3 shell, which undoes "
             "what is half written",
             trace_shown(journal, shown));
    sqlite_refuse(database, text);
}

/* SQLite says that it has no memory for a schema that is damaged, too. */
void sqlite_check(const struct sqlite_trace *database, int code)
{
    char text[256];
    const bool told = database->handle != NULL && sqlite3_errcode(database->handle) == code;
    if (code == SQLITE_OK || code == SQLITE_ROW)
        return;
    if (code == SQLITE_NOMEM && (!told || sqlite_file_starved())) {
        error_no_memory(database->error, "for the trace");
    } else if (code == SQLITE_NOMEM) {
        sqlite_refuse(database, "can't be read as a database: its tables are damaged");
    } else if (sqlite3_extended_errcode(database->handle) == SQLITE_READONLY_ROLLBACK) {
        refuse_journal(database);
    } else if (code == SQLITE_TOOBIG) {
        snprintf(text, sizeof text, "a row or a text in it has more than %d bytes",
                 INPUT_TEXT_MAX);
        sqlite_refuse(database, text);
    } else {
        snprintf(text, sizeof text, "can't be read as a database: %.160s%s",
                 sqlite3_errmsg(database->handle),
                 code == SQLITE_CORRUPT ? ": cut short?" : "");
        sqlite_refuse(database, text);
    }
}

uint32_t sqlite_small(int64_t number)
{
    return number > 0 && number < INT32_MAX ? (uint32_t)number : 0;
}

const char *sqlite_text_or(sqlite3_stmt *statement, int column, const char *instead)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text != NULL && *text != '\0' ? text : instead;
}
