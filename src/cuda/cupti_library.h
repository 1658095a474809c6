/* cupti_library.h - opens CUPTI at run time, so that the program needs it neither to be built
 * nor to run. */
#ifndef PIPELINE_CUDA_CUPTI_LIBRARY_H
#define PIPELINE_CUDA_CUPTI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* A function of the library, and the function pointer to put its address in. */
struct cupti_function {
    const char *name;
    void *place;
};

/* Returns the library as dlopen() gives it, or NULL. It is never closed: the driver keeps
 * calling into it. */
void *cupti_library_open(void);

/* Sets every function's pointer. Returns false if the library lacks one: it is too old. */
bool cupti_library_find(void *library, const struct cupti_function *functions, size_t count);

#endif
