/* gunzip_none.c - stands for gunzip.c where there was no zlib to build with. */
#include "trace/gunzip.h"

const char gunzip_no_memory[] = "no memory to unpack it";

struct gunzip *gunzip_create(const char *first, size_t count, const char **why)
{
    (void)first;
    (void)count;
    *why = "gzip packed it, and this pipeline was built without zlib: unpack it by gunzip";
    return NULL;
}

void gunzip_free(struct gunzip *gunzip)
{
    (void)gunzip;
}

bool gunzip_ended(const struct gunzip *gunzip)
{
    (void)gunzip;
    return true;
}

size_t gunzip_read(struct gunzip *gunzip, FILE *file, char *to, size_t room, const char **why)
{
    (void)gunzip;
    (void)file;
    (void)to;
    (void)room;
    (void)why;
    return 0;
}
