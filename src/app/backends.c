/* backends.c - the list of backends, in the order of devices.def. */
#include "app/backends.h"

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
