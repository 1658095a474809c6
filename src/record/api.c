/* api.c - CUPTI's functions and the driver's, found at run time. */
#include "record/record.h"

#include <dlfcn.h>
#include <string.h>

struct record_api record_api;
const char *api_names[CALLS];

size_t api_place(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    return id + (domain == CUPTI_CB_DOMAIN_DRIVER_API ? OF_DRIVER : OF_RUNTIME);
}

bool api_find(void *library, const struct wanted *wanted, size_t count)
{
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        void *function = library != NULL ? dlsym(library, wanted[i].name) : NULL;
        memcpy(wanted[i].place, &function, sizeof function);
        all = all && (function != NULL || !wanted[i].needed);
    }
    return all;
}

/* Returns CUPTI's library, or NULL. It is never closed: the driver keeps calling into it. */
static void *open_cupti(void)
{
    /* One that the program has loaded comes first, then those that the linker finds, then the
     * toolkit's. */
    static const char *const names[] = {
        "libcupti.so.13",
        "libcupti.so.12",
        "libcupti.so",
        "/usr/local/cuda/lib64/libcupti.so",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
        "/usr/local/cuda/lib64/libcupti.so.13",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
        "/usr/local/cuda/lib64/libcupti.so.12",
    };
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            void *library =
                dlopen(names[i], RTLD_NOW | RTLD_LOCAL | (pass == 0 ? RTLD_NOLOAD : 0));
            if (library != NULL)
                return library;
        }
    }
    return NULL;
}

#define WANTED(function, member, needed) {#function, &record_api.member, needed},

bool api_find_cupti(void)
{
    const struct wanted wanted[] = {RECORD_CUPTI(WANTED)};
    return api_find(open_cupti(), wanted, sizeof wanted / sizeof *wanted);
}

void api_find_driver(void)
{
    const struct wanted wanted[] = {RECORD_DRIVER(WANTED)};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    api_find(driver, wanted, sizeof wanted / sizeof *wanted);
}
