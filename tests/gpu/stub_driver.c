/* stub_driver.c - a libcuda.so.1 for the tests of failing_driver.c: its functions judge whether
 * their arguments came through, and return 0 if they did. */
#include <stdint.h>
#include <string.h>

enum { WRONG_ARGUMENT = 1, NOT_FOUND = 500, SYMBOL_FOUND = 0, SYMBOL_MISSING = 1 };

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int cuInit(unsigned flags)
{
    return flags == 0 ? 0 : WRONG_ARGUMENT;
}

/* Most of its arguments are on the stack. */
EXPORTED int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z,
                            unsigned block_x, unsigned block_y, unsigned block_z,
                            unsigned shared, void *stream, void **parameters, void **extra)
{
    return function == (void *)1 && x == 2 && y == 3 && z == 4 && block_x == 5 &&
                   block_y == 6 && block_z == 7 && shared == 8 && stream == (void *)9 &&
                   parameters == (void **)10 && extra == (void **)11
               ? 0
               : WRONG_ARGUMENT;
}

EXPORTED int cuGetExportTable(const void **table, const void *id)
{
    static int is_private;
    *table = id == (void *)1 ? &is_private : NULL;
    return *table != NULL ? 0 : WRONG_ARGUMENT;
}

struct large {
    int64_t parts[3];
};

/* Only looking it up gives it. Its arguments take all registers and the stack. */
static int mixed(double a, int64_t b, float c, int64_t d, double e, double f, int64_t g,
                 double h, double i, double j, double k, double l, double m, int64_t n,
                 struct large o, int64_t p, int64_t q, int64_t r)
{
    return a == 0.5 && b == 1 && c == 2.5F && d == 3 && e == 4.5 && f == 5.5 && g == 6 &&
                   h == 7.5 && i == 8.5 && j == 9.5 && k == 10.5 && l == 11.5 && m == 12.5 &&
                   n == 13 && o.parts[0] == 14 && o.parts[2] == 16 && p == 17 && q == 18 &&
                   r == 19
               ? 0
               : WRONG_ARGUMENT;
}

static void *find(const char *name, int version);

EXPORTED int cuGetProcAddress(const char *name, void **address, int version, uint64_t flags)
{
    *address = flags == 0 ? find(name, version) : NULL;
    return *address != NULL ? 0 : NOT_FOUND;
}

EXPORTED int cuGetProcAddress_v2(const char *name, void **address, int version, uint64_t flags,
                                 int *status)
{
    *address = flags == 0 ? find(name, version) : NULL;
    *status = *address != NULL ? SYMBOL_FOUND : SYMBOL_MISSING;
    return *address != NULL ? 0 : NOT_FOUND;
}

static void *find(const char *name, int version)
{
    if (strcmp(name, "cuMixed") == 0)
        return __extension__(void *) mixed;
    if (strcmp(name, "cuInit") == 0)
        return __extension__(void *) cuInit;
    if (strcmp(name, "cuGetProcAddress") != 0)
        return NULL;
    return version >= 12000 ? __extension__(void *) cuGetProcAddress_v2
                            : __extension__(void *) cuGetProcAddress;
}
