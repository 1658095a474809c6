/* sqlite_file.c - databases for the tests of traces. */
#include "trace_cases.h"

#include <check.h>
#include <sqlite3.h>
#include <unistd.h>

bool test_sqlite_file(const char *path, const char *sql)
{
    sqlite3 *database;
    unlink(path);
    ck_assert_int_eq(sqlite3_open(path, &database), SQLITE_OK);
    int result = sqlite3_exec(database, sql, NULL, NULL, NULL);
    ck_assert_msg(result == SQLITE_OK, "%s", sqlite3_errmsg(database));
    ck_assert_int_eq(sqlite3_close(database), SQLITE_OK);
    return true;
}
