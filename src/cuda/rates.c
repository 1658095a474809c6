/* rates.c - measures kernels on the current device, and their CPU twins.
 *
 * Launches take turns through several sets of buffers, so that none finds its data in a cache.
 */
#include "cuda/probe.h"

#include "run/arrays.h"

#include <math.h>

/* Launches of one kernel, to be timed by probe_time(). In two streams the blocks of one take
 * the places that those of the one before leave, as in runs that deal tiles to streams: alone,
 * each launch ends with some of the device idle, and in a heavy kernel all blocks wait for
 * their next elements at once. Runs whose kernels are in one stream come less near their limit
 * for that. */
struct launches {
    const struct kernel *kernel;
    const struct kernel_args *args; /* `sets` of them, taken in turn */
    int sets, count, streams;
};

static enum status issue_launches(struct probe *probe, const void *work, struct error *error)
{
    const struct launches *launches = work;
    enum status status = STATUS_OK;
    const struct kernel_launcher *launcher = kernel_launcher(launches->kernel);
    for (int i = 0; i < launches->count && status == STATUS_OK; i++) {
        const struct kernel_args *args = &launches->args[i % launches->sets];
        status = cuda_check(
            (cudaError_t)launcher->launch(args, probe->streams[i % launches->streams]),
            launcher->call, error);
    }
    return status;
}

/* --- a kernel whose time grows with its elements --- */

enum {
    REPEATS = 9,
    SETS = 3,
    LAUNCHES = 2 * SETS,    /* in a repeat */
    KERNEL_MOST = 32 << 20, /* elements of a set */
    KERNEL_LEAST = 1 << 20, /* they still fill a GPU */
    TWIN_MOST = 64 << 20,   /* elements: beyond the CPU's caches */
    TWIN_LEAST = 64 << 10,
};

/* Heavy kernels get fewer elements, so that one launch stays under some 10 ms, and a call of
 * the twin under some 0.1 s. */
static const double KERNEL_FLOPS = 5e10, TWIN_FLOPS = 1e10;

/* Bytes of one set: the inputs and an array for the output. */
static uint64_t set_bytes(const struct kernel *kernel, uint64_t count)
{
    return count *
           ((uint64_t)kernel->inputs * dtype_bytes(kernel->in) + dtype_bytes(kernel->out));
}

/* Lays out the sets, of `count` elements each, in the probe's memory and fills it. */
static enum status lay_out(struct probe *probe, const struct kernel *kernel, uint64_t count,
                           struct kernel_args args[SETS], struct error *error)
{
    char *scratch = probe->device + SETS * set_bytes(kernel, count);
    if (probe_fill(probe, kernel->in, error) != STATUS_OK ||
        CUDA_CHECK(
            cudaMemsetAsync(scratch, 0, kernel_scratch_bytes(kernel, count), probe->streams[0]),
            error) != STATUS_OK)
        return error->status;
    for (int i = 0; i < SETS; i++) {
        char *set = probe->device + (uint64_t)i * set_bytes(kernel, count);
        for (int input = 0; input < kernel->inputs; input++) {
            args[i].in[input] = set;
            set += count * dtype_bytes(kernel->in);
        }
        args[i].out = set;
        args[i].repeat = kernel->launch_per_repeat; /* a launch after the first reads more */
        args[i].scratch = scratch;
    }
    return STATUS_OK;
}

/* Returns the elements that take `flops_most` arithmetic, between `least` and `most`. */
static uint64_t elements_for(const struct kernel *kernel, const struct kernel_params *params,
                             double flops_most, uint64_t least, uint64_t most)
{
    double count = flops_most / fmax(1, kernel_flops_per_element(kernel, params));
    if (most < least || count > (double)most)
        return most;
    return count > (double)least ? (uint64_t)count : least;
}

/* Sets one element's share of a launch at `intensity`, in ns. */
static enum status time_kernel(struct probe *probe, const struct kernel *kernel,
                               const struct machine *machine, uint64_t room,
                               const struct kernel_params *params, uint32_t intensity,
                               struct kernel_args args[SETS], double *ns, struct error *error)
{
    /* Launches that share scratch, or read what the one before has written, follow one another;
     * so do a stencil's steps in a run. */
    const bool apart = kernel->shape == KERNEL_MAP && !kernel->stencil &&
                       !kernel->launch_per_repeat && kernel_scratch_bytes(kernel, room) == 0;
    const struct launches launches = {kernel, args, SETS, LAUNCHES, apart ? 2 : 1};
    struct kernel_params told = *params;
    told.intensity = intensity;
    uint64_t count = elements_for(kernel, &told, KERNEL_FLOPS, KERNEL_LEAST, room);
    for (int i = 0; i < SETS; i++) {
        args[i].params = told;
        args[i].count = count;
        args[i].blocks = kernel_blocks(kernel, count, machine_resident_blocks(machine));
    }
    enum status status = probe_time(probe, REPEATS, issue_launches, &launches, ns, error);
    *ns /= (double)count * LAUNCHES;
    return status;
}

/* Makes rates of an element's `light` ns at intensity 1 and `heavy` ns at the one asked for. */
static void set_rates(const struct kernel *kernel, const struct kernel_params *params,
                      double light, double heavy, double *bytes_per_s, double *flops_per_s)
{
    *bytes_per_s = 1e9 * kernel_bytes_per_element(kernel) / light;
    *flops_per_s = 1e9 * kernel_flops_per_element(kernel, params) / heavy;
}

static enum status measure_kernel(struct probe *probe, const struct machine *machine,
                                  const struct kernel *kernel,
                                  const struct kernel_params *params,
                                  struct machine_kernel *row, struct error *error)
{
    struct kernel_args args[SETS] = {0};
    uint64_t scratch = kernel_scratch_bytes(kernel, KERNEL_MOST);
    uint64_t room = (probe->device_bytes - scratch) / SETS / set_bytes(kernel, 1);
    uint64_t count = (room < KERNEL_MOST ? room : KERNEL_MOST) & ~(uint64_t)1023;
    double light, heavy;
    if (cuda_check((cudaError_t)kernel_launcher(kernel)->preload(), "cudaFuncGetAttributes",
                   error) != STATUS_OK ||
        lay_out(probe, kernel, count, args, error) != STATUS_OK ||
        time_kernel(probe, kernel, machine, count, params, 1, args, &light, error) != STATUS_OK)
        return error->status;
    heavy = light;
    if (params->intensity > 1 &&
        time_kernel(probe, kernel, machine, count, params, params->intensity, args, &heavy,
                    error) != STATUS_OK)
        return error->status;
    set_rates(kernel, params, light, heavy, &row->bytes_per_s, &row->flops_per_s);
    return STATUS_OK;
}

/* Returns one element's share of the twin's time at `intensity`, in ns. */
static double time_twin(const struct kernel *kernel, struct kernel_args *args, uint64_t room,
                        uint32_t intensity)
{
    args->params.intensity = intensity;
    args->count = elements_for(kernel, &args->params, TWIN_FLOPS, TWIN_LEAST, room);
    return probe_twin_ns(kernel, args, REPEATS) / (double)args->count;
}

/* Measures the twin. The host memory for it is no more than the run's own, and is given back
 * before that is taken. */
static enum status measure_twin(const struct kernel *kernel, const struct kernel_params *params,
                                uint64_t elements, struct machine_kernel *row,
                                struct error *error)
{
    uint64_t room = elements < TWIN_MOST ? elements : TWIN_MOST, mapped;
    uint64_t in_bytes = room * dtype_bytes(kernel->in);
    char *memory = host_map(set_bytes(kernel, room), true, &mapped);
    if (memory == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no host memory to measure the CPU with");
    struct kernel_args args = {.out = memory + (uint64_t)kernel->inputs * in_bytes,
                               .repeat = kernel->launch_per_repeat,
                               .params = *params};
    for (int input = 0; input < kernel->inputs; input++) {
        args.in[input] = memory + (uint64_t)input * in_bytes;
        arrays_generate(kernel->in, 1, input, 0, room, memory + (uint64_t)input * in_bytes);
    }
    const uint32_t intensity = params->intensity;
    double light = time_twin(kernel, &args, room, 1);
    double heavy = intensity > 1 ? time_twin(kernel, &args, room, intensity) : light;
    set_rates(kernel, params, light, heavy, &row->cpu_bytes_per_s, &row->cpu_flops_per_s);
    host_unmap(memory, mapped);
    return STATUS_OK;
}

static enum status probe_elements(const struct machine *machine, uint64_t elements,
                                  struct cuda_measured *measured, struct error *error)
{
    const struct kernel *kernel = measured->kernel;
    struct kernel_params told = measured->params;
    if (kernel->launch_per_repeat)
        told.intensity = 1; /* a launch does one repeat */
    struct probe probe = {0};
    uint64_t bytes, wanted = SETS * set_bytes(kernel, KERNEL_MOST) +
                             kernel_scratch_bytes(kernel, KERNEL_MOST);
    if (probe_room(wanted, &bytes, error) != STATUS_OK)
        return error->status;
    enum status status = probe_open(&probe, PROBE_HOST_BYTES, bytes, error);
    if (status == STATUS_OK)
        status = measure_kernel(&probe, machine, kernel, &told, &measured->row, error);
    status = probe_close(&probe, status, error);
    if (status == STATUS_OK && measured->cpu)
        status = measure_twin(kernel, &told, elements, &measured->row, error);
    return status;
}

/* --- a kernel whose speed depends on the shape of a tile: a matrix product --- */

enum {
    TILE_REPEATS = 5,
    TILE_SETS = 2,
    ALIGNMENT = 256, /* of cudaMalloc(), and of the plans' slots */
};

/* A tile, or a part of it, in memory: the resident matrix, then per set the two inputs. The
 * result takes the place of the first. */
struct product {
    const struct cuda_measured *measured;
    uint64_t count; /* elements */
    uint64_t first_bytes, second_bytes, resident_bytes;
};

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static struct product product_of(const struct cuda_measured *measured, uint64_t count)
{
    const struct kernel *kernel = measured->kernel;
    const struct kernel_params *params = &measured->params;
    const uint64_t size = dtype_bytes(kernel->in);
    return (struct product){
        .measured = measured,
        .count = count,
        .first_bytes = aligned(count * size),
        .second_bytes = aligned(kernel_second_count(kernel, params, count) * size),
        .resident_bytes = aligned(chain_resident_bytes(&kernel, 1, params))};
}

static uint64_t product_bytes(const struct product *product, int sets)
{
    return product->resident_bytes +
           (uint64_t)sets * (product->first_bytes + product->second_bytes);
}

static struct kernel_args args_at(const struct product *product, char *memory, int set,
                                  void *context)
{
    char *first = memory + product->resident_bytes +
                  (uint64_t)set * (product->first_bytes + product->second_bytes);
    return (struct kernel_args){.in = {first, first + product->first_bytes},
                                .resident = memory,
                                .out = first,
                                .count = product->count,
                                .params = product->measured->params,
                                .context = context};
}

/* Returns the floating-point operations per second of one launch in `ns`. */
static double rate_of(const struct product *product, double ns)
{
    double bytes, flops;
    kernel_work(product->measured->kernel, &product->measured->params, product->count, &bytes,
                &flops);
    return 1e9 * flops / fmax(ns, 1);
}

/* Returns as large a part of the tile, in whole units, as a quarter of the free memory holds;
 * 0: an error. */
static uint64_t part_that_fits(const struct cuda_measured *measured, struct error *error)
{
    size_t available, all;
    const uint64_t unit = measured->kernel->unit(&measured->params);
    uint64_t units = measured->tile / unit;
    if (CUDA_CHECK(cudaMemGetInfo(&available, &all), error) != STATUS_OK)
        return 0;
    for (; units > 1; units /= 2) {
        const struct product product = product_of(measured, units * unit);
        if (product_bytes(&product, TILE_SETS) <= available / 4)
            break;
    }
    return (units > 0 ? units : 1) * unit;
}

/* Sets the mean time of a launch, in ns, in the fastest repeat. */
static enum status time_product(struct probe *probe, const struct product *product, double *ns,
                                struct error *error)
{
    const struct kernel *kernel = product->measured->kernel;
    struct kernel_args args[TILE_SETS];
    const struct launches launches = {kernel, args, TILE_SETS, TILE_SETS, 1};
    void *context = NULL;
    char why[KERNEL_WHY];
    if (probe_fill(probe, kernel->in, error) != STATUS_OK)
        return error->status;
    const char *failed =
        kernel_launcher(kernel)->context_create(probe->streams[0], &context, why);
    if (failed != NULL)
        return error_set(error, STATUS_FAILED, "kernel %s: %s", kernel->name, failed);
    for (int set = 0; set < TILE_SETS; set++)
        args[set] = args_at(product, probe->device, set, context);
    enum status status = probe_time(probe, TILE_REPEATS, issue_launches, &launches, ns, error);
    *ns /= TILE_SETS;
    CUDA_WARN(cudaDeviceSynchronize()); /* a measurement that failed may have left launches */
    kernel_launcher(kernel)->context_destroy(context);
    return status;
}

static enum status measure_product(struct cuda_measured *measured, struct error *error)
{
    double fastest;
    const uint64_t count = part_that_fits(measured, error);
    if (count == 0)
        return error->status;
    const struct product product = product_of(measured, count);
    struct probe probe = {0};
    enum status status =
        probe_open(&probe, PROBE_HOST_BYTES, product_bytes(&product, TILE_SETS), error);
    if (status == STATUS_OK)
        status = time_product(&probe, &product, &fastest, error);
    status = probe_close(&probe, status, error);
    if (status == STATUS_OK)
        measured->row.flops_per_s = rate_of(&product, fastest);
    return status;
}

/* Measures the twin, on fewer columns than the tile has if one call would take too long. */
static enum status measure_product_twin(struct cuda_measured *measured, struct error *error)
{
    const struct kernel *kernel = measured->kernel;
    const uint64_t unit = kernel->unit(&measured->params);
    double bytes, flops;
    uint64_t mapped;
    kernel_work(kernel, &measured->params, unit, &bytes, &flops);
    uint64_t most = (uint64_t)fmax(1, TWIN_FLOPS / flops), units = measured->tile / unit;
    units = units < most ? units : most;
    const struct product product = product_of(measured, (units > 0 ? units : 1) * unit);
    char *memory = host_map(product_bytes(&product, 1), true, &mapped);
    if (memory == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no host memory to measure the CPU with");
    arrays_generate(kernel->in, 1, 0, 0, product_bytes(&product, 1) / dtype_bytes(kernel->in),
                    memory);
    const struct kernel_args args = args_at(&product, memory, 0, NULL);
    double fastest = probe_twin_ns(kernel, &args, TILE_REPEATS);
    host_unmap(memory, mapped);
    measured->row.cpu_flops_per_s = rate_of(&product, fastest);
    /* The CPU's memory kept up with that at least; larger products have more arithmetic per
     * byte. */
    kernel_work(kernel, &measured->params, product.count, &bytes, &flops);
    measured->row.cpu_bytes_per_s = 1e9 * bytes / fastest;
    return STATUS_OK;
}

enum status cuda_rates_measure(const struct machine *machine, uint64_t elements,
                               struct cuda_measured *measured, struct error *error)
{
    snprintf(measured->row.name, sizeof measured->row.name, "%s", measured->kernel->name);
    if (!measured->kernel->rated)
        return probe_elements(machine, elements, measured, error);
    if (measure_product(measured, error) != STATUS_OK)
        return error->status;
    return measured->cpu ? measure_product_twin(measured, error) : STATUS_OK;
}
