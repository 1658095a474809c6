/* places.c - which file a place of the program's code is from, and the lines that say so. */
#include "record/places.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

/* The file that a piece of code is from, and where it begins in memory; NULL: not known. */
struct code {
    const char *file;
    uint64_t begin;
};

/* Finds the file of a place. The loader's lock is not taken where the C library can do without:
 * a thread that ends the program while it loads a library holds it, and waits for the lock
 * under which entries are written. */
static struct code find_code(uint64_t place)
{
    void *address = (void *)(uintptr_t)place;
#if __GLIBC_PREREQ(2, 35)
    struct dl_find_object found;
    if (_dl_find_object(address, &found) != 0)
        return (struct code){NULL, 0};
    const char *file = found.dlfo_link_map->l_name;
    if (*file == '\0') /* the program itself */
        file = program_invocation_name;
    return (struct code){file, (uint64_t)(uintptr_t)found.dlfo_map_start};
#else
    Dl_info about;
    if (dladdr(address, &about) == 0)
        return (struct code){NULL, 0};
    return (struct code){about.dli_fname, (uint64_t)(uintptr_t)about.dli_fbase};
#endif
}

static const char *name_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash != NULL ? slash + 1 : file;
}

enum place_side place_side(uint64_t place)
{
    static const char *const own[] = {"libcuda.so", "libcudart", "libcupti",
                                      "libpipeline-record"};
    const struct code code = find_code(place);
    if (code.file == NULL)
        return PLACE_UNKNOWN;
    const char *name = name_of(code.file);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strncmp(name, own[i], strlen(own[i])) == 0)
            return PLACE_CUDAS;
    }
    return PLACE_PROGRAMS;
}

void places_write(const struct entry *entry, const uint64_t *words)
{
    struct field fields[1 + 2 * FRAMES_MOST] = {FIELD(entry->call)};
    size_t count = 1;
    for (uint32_t i = 0; i < entry->words; i++) {
        const struct code code = find_code(words[i]);
        if (code.file == NULL) /* it was unloaded meanwhile */
            continue;
        fields[count++] = FIELD(entry->kind == ENTRY_FROM ? name_of(code.file) : code.file);
        if (entry->kind != ENTRY_FROM)
            fields[count++] = FIELD(words[i] - code.begin);
    }
    if (entry->kind == ENTRY_FRAMES || count > 1)
        file_line(entry->kind == ENTRY_FROM ? "from" : "frames", fields, count);
}
