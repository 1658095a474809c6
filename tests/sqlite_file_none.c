/* sqlite_file_none.c - stands for sqlite_file.c where there was no SQLite to build with. */
#include "trace_cases.h"

bool test_sqlite_file(const char *path, const char *sql)
{
    (void)path, (void)sql;
    return false;
}

void test_sqlite_change(const char *path, const char *sql)
{
    (void)path, (void)sql;
}
