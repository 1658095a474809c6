/* backend.c - the list of backends, and which one a --device value means. */
#include "run/backend.h"

#include "run/backend_sim.h"

#include <stdlib.h>
#include <string.h>

/* Linked only where nvcc was found: otherwise its address is NULL and the list ends before it.
 */
extern const struct backend_ops backend_cuda_ops __attribute__((weak));

const struct backend_ops *const backends[] = {&backend_sim_ops, &backend_cuda_ops, NULL};

void backends_configure(const struct settings *settings)
{
    for (int i = 0; backends[i] != NULL; i++)
        backends[i]->configure(settings);
}

static void count_device(void *context, const char *device, const char *summary)
{
    (void)device;
    (void)summary;
    ++*(int *)context;
}

static bool any_device(const struct backend_ops *ops)
{
    int count = 0;
    if (ops != NULL)
        ops->list(count_device, &count);
    return count > 0;
}

static const struct backend_ops *find(const char *name, size_t length)
{
    for (int i = 0; backends[i] != NULL; i++) {
        if (strlen(backends[i]->name) == length && memcmp(backends[i]->name, name, length) == 0)
            return backends[i];
    }
    return NULL;
}

enum status backend_select(const char *device, const struct backend_ops **ops,
                           const char **argument, struct error *error)
{
    const struct backend_ops *cuda = find("cuda", 4);
    if (strcmp(device, "auto") == 0) {
        bool real = any_device(cuda);
        *ops = real ? cuda : &backend_sim_ops;
        *argument = real ? "0" : SIM_DEFAULT_MACHINE;
        return STATUS_OK;
    }
    size_t length = strcspn(device, ":");
    const struct backend_ops *found = find(device, length);
    if (found == NULL && length == 4 && memcmp(device, "cuda", 4) == 0)
        return error_set(error, STATUS_NO_DEVICE,
                         "--device=%s: this program was built without CUDA (no nvcc was found)",
                         device);
    if (found == NULL)
        return error_set(error, STATUS_USAGE,
                         "--device=%s: allowed are auto, cuda, cuda:INDEX, sim:NAME and "
                         "sim:./FILE.ini",
                         device);
    *ops = found;
    *argument = device[length] == ':' ? device + length + 1 : "";
    return STATUS_OK;
}
