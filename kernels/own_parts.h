/* own_parts.h - a library that is open: private to own.c, which opens it, own_try.c, which has
 * tried that before, and own_calls.c, which calls its code. */
#ifndef PIPELINE_OWN_PARTS_H
#define PIPELINE_OWN_PARTS_H

#include "core/status.h"
#include "kernels/kernel_code.h"
#include "kernels/own_kernel.h"

enum { OWN_PLACES = 8 };
#define OWN_SYMBOL "pipeline_kernel"

struct own_place {
    char *path; /* NULL: nothing is here yet */
    struct pipeline_kernel own;
    struct kernel kernel;
    struct kernel_launcher launcher;
};
extern struct own_place own_places[OWN_PLACES];

/* The hooks of one place. */
struct own_hooks {
    int (*launch)(const struct kernel_args *args, void *stream);
    void (*work)(uint64_t count, const struct kernel_params *params, double *bytes,
                 double *flops);
    struct kernel_code code; /* of a map and of a reduction: who asks knows which it is */
};
extern const struct own_hooks *const own_hooks[OWN_PLACES];

/* Tells of crashes of such code from here on, and of a library that ends the program. */
void own_watch_crashes(void);

/* Opens a library, as dlopen() does: code of it may run. */
void *own_open(const char *path);

/* Opens and closes a library in a process of its own. STATUS_USAGE, and an error that begins
 * with the path, where it is no regular file, or where its code crashes, ends the process, or
 * has not returned after so many seconds. One that can't be opened is not told of. */
enum status own_try(const char *path, int seconds, struct error *error);

/* Say that the thread runs `part` of a library's code from here on, and that it is back: a
 * crash in between is the library's, and the locale is what it was. */
void own_enter(const char *path, const char *part);
void own_leave(void);

#endif
