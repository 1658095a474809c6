/* fuzz_sqlite_none.c - stands for fuzz_sqlite.c where there was no SQLite to build with. */
#include "fuzz.h"

uint8_t *fuzz_sqlite_image(const uint8_t *sql, size_t size, size_t *image_size)
{
    (void)sql, (void)size, (void)image_size;
    return NULL;
}
