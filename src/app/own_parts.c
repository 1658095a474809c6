/* own_parts.c - the parts of a kernel of the user's, each tried in this process: its twin, its
 * launcher, and what it says that it costs. */
#include "app/commands.h"

#include "app/backends.h"
#include "kernels/kernel_code.h"
#include "run/backend.h"

#include <string.h>

/* By how much faster a kernel's claimed bytes may move than those of a plain map before the
 * claim is refused: rates of two kernels that only move bytes are at most some per cent apart.
 */
#define FASTEST 1.25

/* The same for arithmetic, beside that of a plain map that only multiplies and adds floats.
 * Narrower numbers and tensor cores do more, on an H200 up to 59 times as much: four times that
 * leaves room for others. [Its data sheet: 67 Tflop/s in float32, 3958 in FP8 with sparsity] */
#define MOST_NARROW 256

/* By how much a kernel's operations may exceed the plain map's before that is said: from there
 * on floats alone can't be what it computes with. */
#define MOST_PLAIN 1.25

/* Repeats of the plain map in which an element's bytes are next to nothing. */
enum { HEAVY = 4096 };

static enum status try_twin(const struct kernel *kernel, FILE *out, struct error *error)
{
    int alone, at_once;
    struct error why = {0};
    if (trial_kernel(kernel, 1, trial_on_host, NULL, &alone, error) != STATUS_OK)
        return error->status;
    if (trial_threads(kernel, &at_once, &why) != STATUS_OK)
        return error_set(error, why.status, "called from many threads at once, %.400s",
                         why.text);
    fprintf(out, "%d trials, and %d from many threads at once\n", alone, at_once);
    return STATUS_OK;
}

/* A device that was opened, with what tries launchers on it. */
struct opened {
    const struct backend_ops *ops;
    struct backend *backend;
    struct settings settings;
    struct machine machine;
};

static enum status open_device(struct opened *opened, const char *device,
                               const struct kernel *kernel, struct error *error)
{
    const char *argument;
    enum status status = settings_set_defaults(&opened->settings, error);
    opened->settings.device = device;
    opened->settings.chain[0] = kernel;
    opened->settings.chain_length = 1;
    if (status == STATUS_OK)
        status = backend_select(backends, device, &opened->ops, &argument, error);
    if (status == STATUS_OK)
        status = opened->ops->open(argument, &opened->settings, &opened->backend, error);
    return status == STATUS_OK ? opened->ops->describe(opened->backend, &opened->settings,
                                                       &opened->machine, error)
                               : status;
}

static enum status run_trial(void *context, const struct kernel *kernel,
                             const struct trial_work *work, char *image, uint64_t bytes,
                             struct error *error)
{
    struct opened *opened = context;
    return opened->ops->try_work(opened->backend, kernel, work, image, bytes, error);
}

static enum status try_launcher(const struct kernel *kernel, struct opened *opened, FILE *out,
                                struct error *error)
{
    int trials;
    const enum status status = trial_kernel(kernel, machine_resident_blocks(&opened->machine),
                                            run_trial, opened, &trials, error);
    if (status == STATUS_OK)
        fprintf(out, "%d trials\n", trials);
    return status;
}

/* Returns the ns that an element takes in the device's memory, as the backend has measured it.
 */
static double element_ns(const struct opened *opened, const struct kernel *kernel)
{
    const struct machine_kernel *row = machine_kernel_find(&opened->machine, kernel->name);
    return row == NULL || row->bytes_per_s <= 0
               ? 0
               : 1e9 * kernel_bytes_per_element(kernel) / row->bytes_per_s;
}

/* Compares the bytes and operations that the kernel says it has with those of a plain map. */
static enum status try_cost(const struct kernel *kernel, struct opened *opened, FILE *out,
                            struct error *error)
{
    const struct kernel *plain = kernel_find("scale");
    const struct kernel_params params = {.intensity = 1, .columns = 1, .stride = 1};
    double bytes, flops, plain_bytes, plain_flops;
    const double ns = element_ns(opened, kernel);
    opened->settings.chain[0] = plain;
    opened->settings.intensity = HEAVY;
    const enum status status =
        opened->ops->describe(opened->backend, &opened->settings, &opened->machine, error);
    if (status != STATUS_OK)
        return status;
    const struct machine_kernel *row = machine_kernel_find(&opened->machine, plain->name);
    const double plain_ns = element_ns(opened, plain);
    const double adds = row == NULL ? 0 : row->flops_per_s / 1e9; /* in a ns */
    if (ns <= 0 || plain_ns <= 0 || adds <= 0)
        return error_set(error, STATUS_NO_DEVICE, "no rate could be measured");
    kernel_work(kernel, &params, 1, &bytes, &flops);
    kernel_work(plain, &params, 1, &plain_bytes, &plain_flops);
    const double rate = bytes / ns, most = plain_bytes / plain_ns;
    if (rate > FASTEST * most)
        return error_set(
            error, STATUS_FAILED,
            "an element takes %.3g ns, and with %g bytes of it as .bytes says, that "
            "were %.0f GB/s, where %s moves %.0f: fewer are moved",
            ns, bytes, rate, plain->name, most);
    if (flops / ns > MOST_NARROW * adds)
        return error_set(
            error, STATUS_FAILED,
            "an element takes %.3g ns, and with %g operations of it as .flops says, that "
            "were %.3g Gflop/s, where %s does %.3g: fewer are done",
            ns, flops, flops / ns, plain->name, adds);
    fprintf(out,
            "an element takes %.3g ns: %.0f GB/s of the memory, where %s moves %.0f; %.3g "
            "Gflop/s, where it does %.3g%s\n",
            ns, rate, plain->name, most, flops / ns, adds,
            flops / ns > MOST_PLAIN * adds
                ? ": so many only with narrower numbers or tensor cores"
                : "");
    return STATUS_OK;
}

enum status own_part_open(const char *device, struct error *error)
{
    struct opened opened = {0};
    const enum status status = open_device(&opened, device, kernel_find("scale"), error);
    if (opened.backend != NULL)
        opened.ops->close(opened.backend);
    return status;
}

enum status own_part_try(const char *part, const char *device, const struct kernel *kernel,
                         FILE *out, struct error *error)
{
    if (strcmp(part, "twin") == 0)
        return kernel_lacks_twin(kernel) ? error_set(error, STATUS_USAGE, "there is no twin")
                                         : try_twin(kernel, out, error);
    const bool costs = strcmp(part, "cost") == 0;
    struct opened opened = {0};
    enum status status = STATUS_OK;
    if (kernel_launcher(kernel) == NULL)
        return error_set(error, STATUS_USAGE, "there is no launcher");
    /* A device is described by measuring a kernel: one that is not tried yet may spoil it. */
    status = open_device(&opened, device, costs ? kernel : kernel_find("scale"), error);
    if (status == STATUS_OK && opened.ops->try_work == NULL)
        status = error_set(
            error, STATUS_USAGE,
            "launchers are tried on a CUDA device, and %s is a simulated machine", device);
    if (status == STATUS_OK)
        status = costs ? try_cost(kernel, &opened, out, error)
                       : try_launcher(kernel, &opened, out, error);
    if (opened.backend != NULL)
        opened.ops->close(opened.backend);
    return status;
}
