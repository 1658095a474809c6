/* check_trace_sqlite.c - what nsys exports as a database. Without SQLite there is nothing to
 * read: then a reader that says so is all that is left to test. */
#include "trace_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The documented database, then `more`. False where there is no SQLite. */
static bool make_database(const char *more)
{
    char *sql = test_file_text(DATA "trace.sql"), *all;
    ck_assert_int_gt(asprintf(&all, "%s%s", sql, more), 0);
    bool made = test_sqlite_file(test_trace_path, all);
    free(sql);
    free(all);
    return made;
}

START_TEST(test_database)
{
    if (!make_database(""))
        return;
    struct traces traces = test_traces(test_trace_path);
    ck_assert_int_eq(traces.count, 1);
    const struct timeline *timeline = &traces.items[0].timeline;
    ck_assert_str_eq(timeline->device, "NVIDIA H200 (0)");
    ck_assert(!timeline->issue_unknown);
    ck_assert_uint_eq(timeline->span_count, 5);
    /* From the first issue, at 500 us. */
    test_trace_span(timeline, 0, "h2d", 13, 6000, 106000);
    test_trace_span(timeline, 1, "scale<float>", 13, 112000, 162000);
    test_trace_span(timeline, 2, "h2d", 14, 125000, 225000);
    test_trace_span(timeline, 3, "d2h", 13, 164000, 264000);
    test_trace_span(timeline, 4, "memset", 13, 264500, 265000);
    ck_assert_int_eq(timeline->spans[0].issue_ns, 0);
    ck_assert_int_eq(timeline->spans[1].issue_ns, 3000);
    ck_assert_int_eq(timeline->spans[2].issue_ns, 120000);
    ck_assert_uint_eq(timeline->spans[0].bytes, 4194304);
    ck_assert_uint_eq(traces.items[0].in.pageable, 1);
    ck_assert_uint_eq(traces.items[0].out.pageable, 0);
    traces_free(&traces);
}
END_TEST

/* Calls that share an id have the ops of one: that is said, here as of a Chrome trace. */
START_TEST(test_calls_that_share_an_id)
{
    if (!make_database("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT * FROM "
                       "CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId = 99;"))
        return;
    struct traces traces = test_traces(test_trace_path);
    ck_assert_ptr_nonnull(
        strstr(traces.unread, "calls that have the correlation of another: 1"));
    traces_free(&traces);
}
END_TEST

/* Databases of other versions lack columns, tables or calls, and must be read all the same. */
START_TEST(test_lesser_databases)
{
    static const struct {
        const char *sql;
        uint32_t spans;
        bool issue_known;
    } cases[] = {
        {"DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId = 99", 5, false},
        {"DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME", 5, false},
        {"DROP TABLE StringIds", 5, true},
        {"DROP TABLE TARGET_INFO_GPU", 5, true},
        {"DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL", 4, true},
        {"DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY", 1,
         true},
        {"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN demangledName", 5, true},
        {"ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY DROP COLUMN globalPid", 5, false},
        {"ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY DROP COLUMN deviceId", 5, true},
        {"DELETE FROM StringIds", 5, true},
        {"CREATE TABLE NOTES (a INTEGER, b INTEGER AS (a + 1))", 5, true},
        {"PRAGMA ignore_check_constraints = ON; ALTER TABLE StringIds RENAME TO own; CREATE "
         "TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT CHECK (value LIKE 'x')); INSERT "
         "INTO StringIds SELECT id, value FROM own",
         5, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && make_database(cases[i].sql); i++) {
        struct traces traces = test_traces(test_trace_path);
        uint32_t spans = 0;
        bool known = true;
        for (int t = 0; t < traces.count; t++) {
            spans += traces.items[t].timeline.span_count;
            known = known && !traces.items[t].timeline.issue_unknown;
        }
        ck_assert_msg(spans == cases[i].spans && known == cases[i].issue_known,
                      "case %zu: %u spans, issue %sknown", i, spans, known ? "" : "not ");
        traces_free(&traces);
    }
}
END_TEST

START_TEST(test_refused_databases)
{
    static const struct {
        const char *sql, *words;
    } cases[] = {
        {"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 5", "KIND_KERNEL, row 1: |ends before"},
        {"UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET start = -1", "KIND_MEMCPY, row 1: |negative"},
        {"UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET start = 'x'", "no whole numbers"},
        {"UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = -4", "bytes are negative"},
        {"UPDATE CUPTI_ACTIVITY_KIND_MEMSET SET streamId = -4", "streamId"},
        {"ALTER TABLE CUPTI_ACTIVITY_KIND_MEMSET RENAME COLUMN start TO begin", "no columns"},
        {"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 9223372036854775807", "trace: |36 years"},
        {"UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = 9223372036854775807",
         "trace: |36 years"},
        {"DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;"
         "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL",
         "not a trace of a GPU"},
        {"DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET; CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET "
         "(start INTEGER, end INTEGER AS (start + 5))",
         "table CUPTI_ACTIVITY_KIND_MEMSET: |column end is computed"},
        {"ALTER TABLE StringIds ADD COLUMN upper TEXT AS (upper(value))",
         "table StringIds: |column upper is computed"},
        {"UPDATE StringIds SET value = 'cu' || hex(zeroblob(600000))", "|1048576 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && make_database(cases[i].sql); i++)
        test_trace_refused(cases[i].words);
}
END_TEST

/* Writes the names and checksums of all that is in the test's folder. */
static void list_folder(char text[512])
{
    char command[256];
    snprintf(command, sizeof command, "cd \"$(dirname %s)\" && cksum *", test_trace_path);
    FILE *out = popen(command, "r");
    text[fread(text, 1, 511, out)] = '\0';
    ck_assert_int_eq(pclose(out), 0);
}

/* A database that keeps a log: nothing is left beside it and it stays as it is; what its log
 * holds is not read, and that is said. */
START_TEST(test_databases_with_a_log)
{
    char log[sizeof test_trace_path + 8], shared[sizeof test_trace_path + 8];
    if (!make_database("PRAGMA journal_mode = WAL"))
        return;
    snprintf(log, sizeof log, "%s-wal", test_trace_path);
    snprintf(shared, sizeof shared, "%s-shm", test_trace_path);
    test_sqlite_change(test_trace_path, "PRAGMA wal_checkpoint(TRUNCATE)");
    unlink(log);
    unlink(shared);
    char before[512], after[512];
    list_folder(before);
    struct traces traces = test_traces(test_trace_path);
    list_folder(after);
    ck_assert_str_eq(before, after);
    ck_assert_str_eq(traces.unread, "");
    ck_assert_uint_eq(traces.items[0].timeline.span_count, 5);
    traces_free(&traces);

    test_sqlite_change(test_trace_path, "DELETE FROM CUPTI_ACTIVITY_KIND_MEMSET");
    ck_assert_int_eq(access(log, R_OK), 0);
    unlink(shared);
    list_folder(before);
    traces = test_traces(test_trace_path);
    list_folder(after);
    ck_assert_str_eq(before, after);
    ck_assert_ptr_nonnull(strstr(traces.unread, "trace-wal is not read"));
    ck_assert_uint_eq(traces.items[0].timeline.span_count, 5);
    traces_free(&traces);
    unlink(log);
}
END_TEST

/* Names that SQLite takes for something else than a file are names of files all the same. */
START_TEST(test_names_of_databases)
{
    static const char *const names[] = {":memory:", "file:trace", "file:trace?mode=memory",
                                        "file::memory:", "a%20b?c#d"};
    char *back = getcwd(NULL, 0), *folder = strdup(test_trace_path);
    ck_assert(back != NULL && folder != NULL);
    *strrchr(folder, '/') = '\0';
    if (make_database("")) {
        ck_assert_int_eq(chdir(folder), 0);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            ck_assert_int_eq(rename(test_trace_path, names[i]), 0);
            struct traces traces = test_traces(names[i]);
            ck_assert_uint_eq(traces.items[0].timeline.span_count, 5);
            traces_free(&traces);
            ck_assert_int_eq(rename(names[i], test_trace_path), 0);
        }
        ck_assert_int_eq(chdir(back), 0);
    }
    free(folder);
    free(back);
}
END_TEST

/* A journal is what a program leaves that was interrupted as it wrote. */
START_TEST(test_database_with_a_journal)
{
    static const char text[] = "not yet undone";
    char journal[sizeof test_trace_path + 8];
    if (!make_database(""))
        return;
    snprintf(journal, sizeof journal, "%s-journal", test_trace_path);
    test_file_write(journal, text, sizeof text);
    test_trace_refused("trace-journal|did not finish");
    unlink(journal);
}
END_TEST

/* A database that is cut, or that only begins like one. */
START_TEST(test_broken_databases)
{
    static const char begins[] = "SQLite format 3\0 and no more than that";
    test_file_write(test_trace_path, begins, sizeof begins);
    test_trace_refused(" database");
    if (!make_database(""))
        return;
    ck_assert_int_eq(truncate(test_trace_path, 9000), 0);
    test_trace_refused("cut short");
    /* Pages that lead to one page many times give rows without end. */
    char endless[4096];
    FILE *file = fopen(DATA "endless.sqlite", "rb");
    ck_assert_ptr_nonnull(file);
    size_t bytes = fread(endless, 1, sizeof endless, file);
    fclose(file);
    test_file_write(test_trace_path, endless, bytes);
    test_trace_refused("CUPTI_ACTIVITY_KIND_RUNTIME|quick_check|damaged");
}
END_TEST

TCase *trace_sqlite_case(void)
{
    TCase *tests = tcase_create("sqlite");
    tcase_add_checked_fixture(tests, test_trace_begin, test_trace_end);
    tcase_add_test(tests, test_database);
    tcase_add_test(tests, test_calls_that_share_an_id);
    tcase_add_test(tests, test_lesser_databases);
    tcase_add_test(tests, test_refused_databases);
    tcase_add_test(tests, test_broken_databases);
    tcase_add_test(tests, test_databases_with_a_log);
    tcase_add_test(tests, test_names_of_databases);
    tcase_add_test(tests, test_database_with_a_journal);
    return tests;
}
