/* fake_launchers.c - every kernel's launcher without a GPU: the CPU twin does the work, on
 * memory that fake_runtime.c judges. */
#include "kernels/kernel_code.h"

#include <stdlib.h>

enum { ADDRESSES = KERNEL_INPUTS_MAX + 5, STREAMS_MOST = 4096 };

/* fake_runtime.c */
int fake_launch(void *stream, const void *const addresses[], int count,
                void (*work)(const void *argument), const void *argument);
int fake_preload(void);
int cudaMalloc(void **memory, size_t bytes);
int cudaFree(void *memory);

/* Which kernel a launch is of; a launcher has a function for each. */
struct launch {
    const struct kernel *kernel;
    const struct kernel_args *args;
    const struct kernel_tile *tiles;
    uint32_t tile_count;
};

static void work(const void *argument)
{
    const struct launch *launch = argument;
    struct kernel_args args = *launch->args;
    if (launch->tiles == NULL)
        kernel_code(launch->kernel)->host(&args);
    for (uint32_t i = 0; launch->tiles != NULL && i < launch->tile_count; i++) {
        const struct kernel_tile *tile = &launch->tiles[i];
        for (int input = 0; input < KERNEL_INPUTS_MAX; input++)
            args.in[input] = tile->in[input];
        args.out = tile->out;
        args.count = tile->count;
        if (tile->count > 0)
            kernel_code(launch->kernel)->host(&args);
    }
}

static int judge(const struct launch *launch, void *stream)
{
    const struct kernel_args *args = launch->args;
    const void *const addresses[ADDRESSES] = {args->in[0],    args->in[1],   args->resident,
                                              args->out,      args->scratch, args->carry_in,
                                              args->carry_out};
    const void *const tables[] = {launch->tiles,
                                  launch->tiles != NULL ? launch->tiles->in[0] : NULL,
                                  launch->tiles != NULL ? launch->tiles->out : NULL};
    return launch->tiles != NULL ? fake_launch(stream, tables, 3, work, launch)
                                 : fake_launch(stream, addresses, ADDRESSES, work, launch);
}

/* A context is memory of the device that is current as it is made. */
static const char *create(void *stream, void **context, char why[KERNEL_WHY])
{
    (void)stream, (void)why;
    return cudaMalloc(context, 1) == 0 ? NULL : "cudaMalloc failed for a workspace";
}

static void destroy(void *context)
{
    if (context != NULL)
        cudaFree(context);
}

static int launch_row(int row, const struct kernel_args *args, void *stream)
{
    const struct launch launch = {.kernel = &kernel_table[row], .args = args};
    return judge(&launch, stream);
}

static int launch_row_tiles(int row, const struct kernel_args *args,
                            const struct kernel_tile *tiles, uint32_t count, void *stream)
{
    const struct launch launch = {&kernel_table[row], args, tiles, count};
    return judge(&launch, stream);
}

/* The rows have numbers: a launcher's functions know theirs. */
enum {
#define KERNEL(launcher_name, code_name, ...) ROW_##launcher_name,
#include "kernels/kernels.def"
#undef KERNEL
};
#define KERNEL(launcher_name, code_name, ...)                                                  \
    static int launch_##launcher_name(const struct kernel_args *args, void *stream)            \
    {                                                                                          \
        return launch_row(ROW_##launcher_name, args, stream);                                  \
    }                                                                                          \
    static int tiles_##launcher_name(const struct kernel_args *args,                           \
                                     const struct kernel_tile *tiles, uint32_t count,          \
                                     void *stream)                                             \
    {                                                                                          \
        return launch_row_tiles(ROW_##launcher_name, args, tiles, count, stream);              \
    }
#include "kernels/kernels.def"
#undef KERNEL

static const struct kernel_launcher launchers[] = {
#define KERNEL(launcher_name, code_name, ...)                                                  \
    {.launch = launch_##launcher_name,                                                         \
     .launch_tiles = tiles_##launcher_name,                                                    \
     .preload = fake_preload,                                                                  \
     .call = "cudaLaunchKernel"},
#include "kernels/kernels.def"
#undef KERNEL
};

static struct kernel_launcher with_context;

const struct kernel_launcher *kernel_launcher(const struct kernel *kernel)
{
    if (kernel->code != NULL) /* it brings one along */
        return kernel->launcher;
    const struct kernel_launcher *found = &launchers[kernel - kernel_table];
    if (!kernel->alone)
        return found;
    with_context = *found;
    with_context.context_create = create;
    with_context.context_destroy = destroy;
    return &with_context;
}
