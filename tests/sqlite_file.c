/* sqlite_file.c - databases for the tests of traces. */
#include "trace_cases.h"

#include <check.h>
#include <sqlite3.h>
#include <unistd.h>

bool test_sqlite_file(const char *path, const char *sql)
{
    unlink(path);
    test_sqlite_change(path, sql);
    return true;
}

void test_sqlite_change(const char *path, const char *sql)
{
    sqlite3 *database;
    int keep = 1;
    ck_assert_int_eq(sqlite3_open(path, &database), SQLITE_OK);
    sqlite3_file_control(database, NULL, SQLITE_FCNTL_PERSIST_WAL, &keep);
    sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    int result = sqlite3_exec(database, sql, NULL, NULL, NULL);
    ck_assert_msg(result == SQLITE_OK, "%s", sqlite3_errmsg(database));
    ck_assert_int_eq(sqlite3_close(database), SQLITE_OK);
}
