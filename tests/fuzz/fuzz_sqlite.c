/* fuzz_sqlite.c - databases made of SQL statements, in memory. */
#include "fuzz.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 100000 };

/* Only what fills tables, of values as they stand: nothing that reads or writes other files,
 * calls functions or goes on for ever. */
static int authorise(void *context, int action, const char *a, const char *b, const char *c,
                     const char *d)
{
    (void)context, (void)a, (void)b, (void)c, (void)d;
    switch (action) {
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_INDEX:
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_READ:
    case SQLITE_SELECT:
        return SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

static int stop(void *context)
{
    (void)context;
    return 1;
}

/* Runs the statements up to the first that fails. */
static uint8_t *image_of(sqlite3 *database, const char *sql, size_t *image_size)
{
    sqlite3_int64 size = 0;
    sqlite3_exec(database, "PRAGMA page_size=512", NULL, NULL, NULL);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 100000);
    sqlite3_set_authorizer(database, authorise, NULL);
    sqlite3_progress_handler(database, STEPS_MAX, stop, NULL);
    sqlite3_exec(database, sql, NULL, NULL, NULL);
    sqlite3_set_authorizer(database, NULL, NULL);
    uint8_t *serialised = sqlite3_serialize(database, "main", &size, 0);
    if (serialised == NULL)
        return NULL;
    uint8_t *image = malloc((size_t)size + 1);
    FUZZ_REQUIRE(image != NULL);
    memcpy(image, serialised, (size_t)size);
    sqlite3_free(serialised);
    *image_size = (size_t)size;
    return image;
}

uint8_t *fuzz_sqlite_image(const uint8_t *sql, size_t size, size_t *image_size)
{
    sqlite3 *database;
    char *text = strndup((const char *)sql, size);
    FUZZ_REQUIRE(text != NULL);
    FUZZ_REQUIRE(sqlite3_open(":memory:", &database) == SQLITE_OK);
    uint8_t *image = image_of(database, text, image_size);
    FUZZ_REQUIRE(sqlite3_close(database) == SQLITE_OK);
    free(text);
    return image;
}
