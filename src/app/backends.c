/* backends.c - the list of backends, in the order of devices.def, and which runs on them one
 * process can make. It is a room of its own (docs/rooms.txt), above all others that choose one
 * from the list. */
#include "app/backends.h"

#include "plan/mistake.h"

#include <stddef.h>

#define DEVICE(id, ...) extern const struct backend_ops backend_##id##_ops;
#include "plan/devices.def"
#undef DEVICE

const struct backend_ops *const backends[] = {
#define DEVICE(id, ...) &backend_##id##_ops,
#include "plan/devices.def"
#undef DEVICE
    NULL,
};

bool backends_measure(const char *device)
{
    const struct backend_ops *ops;
    const char *argument;
    return backend_select(backends, device, &ops, &argument, NULL) == STATUS_OK &&
           ops->measures;
}

/* --- what one process can run --- */

/* Returns a kernel that both runs have, or NULL. */
static const struct kernel *shared_kernel(const struct settings *one,
                                          const struct settings *other)
{
    for (int i = 0; i < one->chain_length; i++) {
        for (int j = 0; j < other->chain_length; j++) {
            if (one->chain[i] == other->chain[j])
                return one->chain[i];
        }
    }
    return NULL;
}

static enum status check_loading(const struct options *options, int run, struct error *error)
{
    for (int i = 0; i < run; i++) {
        const struct kernel *kernel = shared_kernel(&options->runs[i], &options->runs[run]);
        if (kernel != NULL && backends_measure(options->runs[i].device))
            return error_set(
                error, STATUS_USAGE,
                "--mistake=%s: another run loads kernel %s before it, and a process does that "
                "once: make this the first run, or use a device sim:NAME",
                mistake_name(options->runs[run].mistake), kernel->name);
    }
    return STATUS_OK;
}

enum status process_check(const struct options *options, int run, struct error *error)
{
    const struct settings *settings = &options->runs[run], *first = &options->runs[0];
    if (settings->connections != first->connections)
        return error_set(error, STATUS_USAGE,
                         "another run has other --connections, and CUDA takes them once in a "
                         "process: allowed is one number for all runs, or a device sim:NAME");
    bool waits = mistake_rows[settings->mistake].launches_block;
    if (waits != mistake_rows[first->mistake].launches_block)
        return error_set(error, STATUS_USAGE,
                         "runs with and without --mistake=%s are not possible in one process, "
                         "for CUDA takes that once: allowed is one kind of them, or a device "
                         "sim:NAME",
                         mistake_name((waits ? settings : first)->mistake));
    return mistake_rows[settings->mistake].loads_lazily ? check_loading(options, run, error)
                                                        : STATUS_OK;
}
