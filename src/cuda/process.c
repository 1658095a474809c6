/* process.c - what CUDA takes from a process only once. */
#include "cuda/process.h"

#include "core/units.h"
#include "plan/mistake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { KERNELS_LOADED_MAX = 128 };

static struct {
    bool configured;
    uint32_t connections; /* that CUDA was started with; 0: the driver's own number */
    bool launch_blocking; /* CUDA was started so that launches wait for their kernels */
    const struct kernel *loaded[KERNELS_LOADED_MAX];
    int loaded_count;
} process;

void cuda_process_configure(const struct settings *settings)
{
    char wanted[UNITS_TEXT];
    if (process.configured)
        return;
    process.configured = true;
    process.connections = settings->connections;
    process.launch_blocking = mistake_rows[settings->mistake].launches_block;
    if (process.launch_blocking)
        setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    if (mistake_rows[settings->mistake].loads_lazily) /* the default, but the user may differ */
        setenv("CUDA_MODULE_LOADING", "LAZY", 1);
    if (settings->connections == 0)
        return;
    snprintf(wanted, sizeof wanted, "%" PRIu32, settings->connections);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", wanted, 1);
}

static const char *connections_text(uint32_t connections, char text[UNITS_TEXT])
{
    if (connections == 0)
        return "the driver's own number";
    snprintf(text, UNITS_TEXT, "%" PRIu32, connections);
    return text;
}

enum status cuda_process_check(const struct settings *settings, struct error *error)
{
    char wanted[UNITS_TEXT], present[UNITS_TEXT];
    bool blocks = mistake_rows[settings->mistake].launches_block;
    if (settings->connections != process.connections)
        return error_set(error, STATUS_USAGE,
                         "--connections: %s: CUDA was started with %s, and takes it only once "
                         "in a process: do these runs one at a time",
                         connections_text(settings->connections, wanted),
                         connections_text(process.connections, present));
    if (blocks != process.launch_blocking)
        return error_set(
            error, STATUS_USAGE,
            "--mistake=%s: CUDA was started %s CUDA_LAUNCH_BLOCKING, and takes it only "
            "once in a process: do these runs one at a time",
            mistake_name(settings->mistake), process.launch_blocking ? "with" : "without");
    return STATUS_OK;
}

bool cuda_kernel_is_loaded(const struct kernel *kernel)
{
    for (int i = 0; i < process.loaded_count; i++) {
        if (process.loaded[i] == kernel)
            return true;
    }
    /* Once the list is full, a kernel that is not in it may have been loaded all the same. */
    return process.loaded_count == KERNELS_LOADED_MAX;
}

void cuda_kernel_loaded(const struct kernel *kernel)
{
    if (!cuda_kernel_is_loaded(kernel))
        process.loaded[process.loaded_count++] = kernel;
}
