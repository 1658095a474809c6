/* rates.c - what the process has measured of a device. */
#include "cuda/rates.h"

#include "cuda/probe_copies.h"
#include "cuda/probe_kernels.h"
#include "cuda/process.h"
#include "plan/mistake.h"

#include <stdlib.h>
#include <string.h>

static struct {
    bool copies; /* they are measured; else nothing is known */
    int device;
    struct machine machine; /* the device with its copy rates */
    struct cuda_measured kernels[MACHINE_KERNELS_MAX];
    int kernel_count;
} known;

static bool is_same(const struct kernel_params *one, const struct kernel_params *other)
{
    return one->intensity == other->intensity && one->columns == other->columns &&
           one->stride == other->stride && one->rows == other->rows &&
           one->inner == other->inner;
}

/* Returns true if `measured` holds for what is wanted of the kernel. */
static bool is_known(const struct cuda_measured *measured, const struct kernel *kernel,
                     const struct cuda_measured *wanted)
{
    return strcmp(measured->row.name, kernel->name) == 0 &&
           is_same(&measured->params, &wanted->params) && measured->tile == wanted->tile &&
           (measured->cpu || !wanted->cpu);
}

/* Returns the kernel's rates, measured now unless they are known; NULL on failure. */
static const struct machine_kernel *
know_kernel(const struct settings *settings, const struct kernel *kernel, struct error *error)
{
    enum { TILES_MAYBE = 32 }; /* while the number of tiles is still to be chosen */
    const uint32_t tiles = settings->tiles > 0 ? settings->tiles : TILES_MAYBE;
    const struct cuda_measured wanted = {
        .params = settings_params(settings),
        .tile = kernel->rated ? settings->elements / tiles : 0,
        .cpu = settings->ways == 4,
    };
    for (int i = 0; i < known.kernel_count; i++) {
        if (is_known(&known.kernels[i], kernel, &wanted))
            return &known.kernels[i].row;
    }
    if (known.kernel_count == MACHINE_KERNELS_MAX)
        known.kernel_count = 0; /* a long sweep: forget and measure again */
    struct cuda_measured *measured = &known.kernels[known.kernel_count];
    *measured = wanted;
    cuda_kernel_loaded(kernel);
    if (probe_kernel(&known.machine, kernel, settings->elements, measured, error) != STATUS_OK)
        return NULL;
    known.kernel_count++;
    return &measured->row;
}

static enum status know_copies(const struct cuda_device *device, struct error *error)
{
    if (known.copies && known.device == device->number)
        return STATUS_OK;
    known.copies = false;
    known.kernel_count = 0;
    known.device = device->number;
    known.machine = device->machine;
    enum status status = probe_copies(&known.machine, error);
    known.copies = status == STATUS_OK;
    return status;
}

enum status cuda_rates_describe(const struct cuda_device *device,
                                const struct settings *settings, struct machine *machine,
                                struct error *error)
{
    enum status status = know_copies(device, error);
    if (status != STATUS_OK)
        return status;
    struct machine described = known.machine;
    const bool loads = !mistake_rows[settings->mistake].loads_lazily; /* before the timed run */
    const int measured =
        loads && getenv("PIPELINE_NO_RATES") == NULL ? settings->chain_length : 0;
    for (int i = 0; i < measured; i++) {
        const struct kernel *kernel = settings->chain[i];
        if (machine_kernel_find(&described, kernel->name) != NULL)
            continue; /* twice in the chain */
        const struct machine_kernel *row = know_kernel(settings, kernel, error);
        if (row == NULL)
            return error->status;
        described.kernels[described.kernel_count++] = *row;
    }
    *machine = described;
    return STATUS_OK;
}
