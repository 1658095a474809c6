/* cupti_library.c - opens CUPTI at run time. */
#include "cuda/cupti_library.h"

#include <dlfcn.h>
#include <string.h>

void *cupti_library_open(void)
{
    /* First the names that the linker's own places are searched for, then the toolkit's. */
    static const char *const names[] = {
        "libcupti.so",
        "libcupti.so.13",
        "libcupti.so.12",
        "/usr/local/cuda/lib64/libcupti.so",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
        "/usr/local/cuda/lib64/libcupti.so.13",
        "/usr/local/cuda/lib64/libcupti.so.12",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL)
            return library;
    }
    return NULL;
}

bool cupti_library_find(void *library, const struct cupti_function *functions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(library, functions[i].name);
        if (function == NULL)
            return false;
        memcpy(functions[i].place, &function, sizeof function);
    }
    return true;
}
