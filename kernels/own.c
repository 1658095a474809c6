/* own.c - see own.h.
 *
 * The hooks of a kernel don't say whose they are, so each library has hooks of its own: they
 * are written once and made for every place that there is. What a result must be is asked of
 * the CPU twin: it has no bounds, so these come from the tolerance and, where the elements
 * before have bounds, from what the twin makes of their ends. */
#include "kernels/own.h"

#include "kernels/host_util.h"
#include "kernels/kernel_code.h"
#include "kernels/own_kernel.h"

#include <dlfcn.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PLACES = 8,
    PART =
        509, /* elements that a twin is asked about at once: of the tile's, but for the first */
};

static struct place {
    char *path; /* NULL: nothing is here yet */
    struct pipeline_kernel own;
    struct kernel kernel;
    struct kernel_code code;
    struct kernel_launcher launcher;
} places[PLACES];

/* --- crashes --- */

/* What the thread is in: a library's path, and which part of it. NULL: no library's code. */
static _Thread_local struct {
    const char *path, *part;
} inside;

static void enter(const char *path, const char *part)
{
    inside.part = part;
    inside.path = path;
}

static void leave(void)
{
    inside.path = NULL;
}

/* Adds a text to one of `size` bytes, as signal handlers may. */
static void add(char *text, size_t size, const char *more)
{
    const size_t length = strlen(text), room = size - length - 1;
    const size_t added = strlen(more) < room ? strlen(more) : room;
    memcpy(text + length, more, added);
    text[length + added] = '\0';
}

/* Says whose code it was that crashed, and lets the signal do what it does. Other threads,
 * which may crash at once, wait for that. */
static void crashed(int number)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    char text[PATH_MAX + 256] = "pipeline: ";
    const char *what = sigdescr_np(number);
    while (atomic_flag_test_and_set(&told))
        pause();
    if (inside.path != NULL) {
        add(text, sizeof text, inside.path);
        add(text, sizeof text, ": ");
        add(text, sizeof text, inside.part);
        add(text, sizeof text, " crashed: ");
        add(text, sizeof text, what != NULL ? what : "a signal");
        add(text, sizeof text, ". That is the library's own code\n");
        if (write(STDERR_FILENO, text, strlen(text)) < 0)
            inside.path = NULL; /* nobody is left to tell */
    }
    signal(number, SIG_DFL);
    raise(number);
}

static bool opened, done;

void kernel_own_end(void)
{
    done = true;
}

/* A library that ends the program must not look like a run that went well. */
static void ended(void)
{
    static const char text[] = "pipeline: the library of your kernel ended the program\n";
    if (!opened || done)
        return;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        inside.path = NULL; /* nobody is left to tell */
    _exit(1);
}

static void watch_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static bool watched;
    const struct sigaction action = {.sa_handler = crashed};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0] && !watched; i++)
        sigaction(signals[i], &action, NULL);
    if (!watched && atexit(ended) == 0 && at_quick_exit(ended) == 0)
        watched = true;
}

/* --- the hooks --- */

static void call_twin(const struct place *place, const struct pipeline_work *work)
{
    enter(place->path, "the CPU twin of your kernel");
    place->own.host(work);
    leave();
}

static int call_launcher(const struct place *place, const struct pipeline_work *work,
                         void *stream)
{
    enter(place->path, "the launcher of your kernel");
    const int code = place->own.launch(work, stream);
    leave();
    return code;
}

static struct pipeline_work work_of(const struct kernel_args *args)
{
    return (struct pipeline_work){
        .in = {args->in[0], args->in[1]},
        .out = args->out,
        .count = args->count,
        .blocks = args->blocks,
    };
}

static double load(enum dtype dtype, const void *from, size_t i)
{
    return dtype == DTYPE_F32   ? ((const float *)from)[i]
           : dtype == DTYPE_I32 ? ((const int32_t *)from)[i]
                                : ((const double *)from)[i];
}

static void store(enum dtype dtype, void *to, size_t i, double value)
{
    if (dtype == DTYPE_F32)
        ((float *)to)[i] = (float)value;
    else if (dtype == DTYPE_I32)
        ((int32_t *)to)[i] = (int32_t)value;
    else
        ((double *)to)[i] = value;
}

/* Has the twin work on part `part` of SUM_PARTS of a tile, and leave the result at `out`. */
static void call_part(const struct place *place, const struct kernel_args *args, int part,
                      void *out)
{
    const uint64_t first = part_first(args->count, part, SUM_PARTS);
    const size_t size = dtype_bytes(place->kernel.in);
    struct pipeline_work work = work_of(args);
    for (int i = 0; i < place->kernel.inputs; i++)
        work.in[i] = (const char *)work.in[i] + first * size;
    work.out = out;
    work.count = part_first(args->count, part + 1, SUM_PARTS) - first;
    if (work.count > 0)
        call_twin(place, &work);
}

/* Works on a tile as the twins of pipeline's own kernels do: large ones in parts, which threads
 * share. The sum of the parts' values is that of the whole. */
static void host(const struct place *place, const struct kernel_args *args)
{
    const struct pipeline_work whole = work_of(args);
    const enum dtype type = place->kernel.out;
    union {
        float f;
        int32_t i;
        double d;
    } values[SUM_PARTS] = {{0}};
    if (!host_is_parallel(args)) {
        call_twin(place, &whole);
        return;
    }
#pragma omp parallel for schedule(static)
    for (int part = 0; part < SUM_PARTS; part++)
        call_part(place, args, part,
                  place->own.reduces
                      ? (void *)&values[part]
                      : (char *)args->out +
                            part_first(args->count, part, SUM_PARTS) * dtype_bytes(type));
    if (!place->own.reduces)
        return;
    double sum = 0;
    uint32_t bits = 0; /* of whole numbers, which wrap around */
    for (int part = 0; part < SUM_PARTS; part++) {
        if (type == DTYPE_I32)
            bits += (uint32_t)values[part].i;
        else
            sum += type == DTYPE_F32 ? values[part].f : values[part].d;
    }
    if (type == DTYPE_I32)
        memcpy(args->out, &bits, sizeof bits);
    else
        store(type, args->out, 0, sum);
}

/* Has the twin work on elements that are values plus `sign` times their bounds, rounded to the
 * type. `out` has room for as many. */
static void ask(const struct place *place, const struct oracle *oracle, size_t first,
                size_t count, int sign, const void *second, double *out)
{
    double in[PART], result[PART];
    for (size_t i = 0; i < count; i++)
        store(place->kernel.in, in, i,
              oracle->value[first + i] + sign * oracle->bound[first + i]);
    const size_t size = dtype_bytes(place->kernel.in);
    const struct pipeline_work work = {
        .in = {in, second != NULL ? (const char *)second + first * size : NULL},
        .out = result,
        .count = count,
        .blocks = 1,
    };
    call_twin(place, &work);
    const size_t results = place->own.reduces ? 1 : count;
    for (size_t i = 0; i < results; i++)
        out[i] = load(place->kernel.out, result, i);
}

static bool has_bounds(const struct oracle *oracle, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (oracle->bound[first + i] > 0)
            return true;
    return false;
}

/* Returns how many of `all` elements are the part that begins at `first`. The first part is one
 * element, and no other is of a size that tiles may have: what depends on a place in the tile
 * has another place there. */
static size_t part_at(size_t first, size_t all)
{
    const size_t most = first == 0 ? 1 : PART;
    return all - first < most ? all - first : most;
}

/* The twin is asked at the value and at both ends of its bound. It may jump in between and
 * slope back, so that an end shows as little as half of how far it goes: the bound is twice
 * what the ends show. */
enum { JUMP_ROOM = 2 };

static double farther(double bound, double value, double end)
{
    const double distance = fabs(end - value);
    return distance > bound ? distance : bound;
}

static void map(const struct place *place, struct oracle *oracle, const void *second)
{
    double value[PART], low[PART], high[PART];
    for (size_t first = 0, count; first < oracle->count; first += count) {
        count = part_at(first, oracle->count);
        const bool bounds = has_bounds(oracle, first, count);
        ask(place, oracle, first, count, 0, second, value);
        if (bounds) {
            ask(place, oracle, first, count, -1, second, low);
            ask(place, oracle, first, count, 1, second, high);
        }
        for (size_t i = 0; i < count; i++) {
            double bound = fabs(value[i]) * place->own.tolerance;
            if (bounds)
                bound += JUMP_ROOM * farther(farther(0, value[i], low[i]), value[i], high[i]);
            oracle->value[first + i] = value[i];
            oracle->bound[first + i] = isfinite(bound) ? bound : 0;
        }
    }
}

static void fold(const struct place *place, struct oracle_sum *sum, const struct oracle *oracle)
{
    for (size_t first = 0, count; first < oracle->count; first += count) {
        double value;
        count = part_at(first, oracle->count);
        ask(place, oracle, first, count, 0, NULL, &value);
        sum->value += value;
        sum->integer += (uint64_t)(int64_t)(place->kernel.out == DTYPE_I32 ? value : 0);
        for (size_t i = 0; i < count; i++) {
            sum->magnitude += fabs(oracle->value[first + i]);
            sum->bound += oracle->bound[first + i];
        }
        sum->count += count;
    }
}

static double result(const struct place *place, const struct oracle_sum *sum, double *bound)
{
    const uint32_t bits = (uint32_t)sum->integer;
    *bound = 0;
    if (place->kernel.out == DTYPE_I32)
        return bits <= INT32_MAX ? (double)bits : (double)bits - 4294967296.0;
    *bound = sum->bound + place->own.tolerance * (sum->magnitude + fabs(sum->value));
    if (!isfinite(*bound)) /* then the sum is none that could be a little off */
        *bound = 0;
    return sum->value;
}

static void cost(const struct place *place, uint64_t count, double *bytes, double *flops)
{
    *bytes = place->own.bytes * (double)count;
    *flops = place->own.flops * (double)count;
}

static int load_nothing(void)
{
    return 0; /* the first run of a kernel loads it, before anything is timed */
}

/* The hooks of one place. */
struct hooks {
    int (*launch)(const struct kernel_args *args, void *stream);
    void (*host)(const struct kernel_args *args);
    void (*map)(struct oracle *oracle, const void *second, const struct kernel_params *params);
    void (*fold)(struct oracle_sum *sum, const struct oracle *oracle);
    double (*result)(const struct oracle_sum *sum, double *bound);
    void (*work)(uint64_t count, const struct kernel_params *params, double *bytes,
                 double *flops);
};

#define HOOKS(n)                                                                               \
    static int launch_##n(const struct kernel_args *args, void *stream)                        \
    {                                                                                          \
        const struct pipeline_work work = work_of(args);                                       \
        return call_launcher(&places[n], &work, stream);                                       \
    }                                                                                          \
    static void host_##n(const struct kernel_args *args)                                       \
    {                                                                                          \
        host(&places[n], args);                                                                \
    }                                                                                          \
    static void map_##n(struct oracle *oracle, const void *second,                             \
                        const struct kernel_params *params)                                    \
    {                                                                                          \
        (void)params;                                                                          \
        map(&places[n], oracle, second);                                                       \
    }                                                                                          \
    static void fold_##n(struct oracle_sum *sum, const struct oracle *oracle)                  \
    {                                                                                          \
        fold(&places[n], sum, oracle);                                                         \
    }                                                                                          \
    static double result_##n(const struct oracle_sum *sum, double *bound)                      \
    {                                                                                          \
        return result(&places[n], sum, bound);                                                 \
    }                                                                                          \
    static void work_##n(uint64_t count, const struct kernel_params *params, double *bytes,    \
                         double *flops)                                                        \
    {                                                                                          \
        (void)params;                                                                          \
        cost(&places[n], count, bytes, flops);                                                 \
    }                                                                                          \
    static const struct hooks hooks_##n = {launch_##n, host_##n,   map_##n,                    \
                                           fold_##n,   result_##n, work_##n}
HOOKS(0);
HOOKS(1);
HOOKS(2);
HOOKS(3);
HOOKS(4);
HOOKS(5);
HOOKS(6);
HOOKS(7);

static const struct hooks *const hooks[PLACES] = {
    &hooks_0, &hooks_1, &hooks_2, &hooks_3, &hooks_4, &hooks_5, &hooks_6, &hooks_7,
};

/* --- opening --- */

static enum status refuse(const char *path, const char *why, struct error *error)
{
    return error_set(error, STATUS_USAGE, "%.200s: %.300s", path, why);
}

static enum status check(const char *path, const struct pipeline_kernel *own,
                         struct error *error)
{
    if (own->version != PIPELINE_KERNEL_VERSION)
        return error_set(error, STATUS_USAGE,
                         "%.200s: it was built for version %u of pipeline/kernel.h, and this "
                         "program has version %d: build it anew",
                         path, own->version, PIPELINE_KERNEL_VERSION);
    if (own->name == NULL || !kernel_is_name(own->name))
        return refuse(path, "its name is not 1 to 31 letters, digits, - and _", error);
    if (kernel_find(own->name) != NULL)
        return refuse(path, "its name is that of a kernel of pipeline's: give it another",
                      error);
    if (own->inputs < 1 || own->inputs > KERNEL_INPUTS_MAX)
        return refuse(path, "it reads neither 1 array nor 2 (inputs)", error);
    if ((unsigned)own->in > PIPELINE_FLOAT64 || (unsigned)own->out > PIPELINE_FLOAT64)
        return refuse(path, "its types are none of those of pipeline/kernel.h (in, out)",
                      error);
    if (own->reduces > 1 || (own->reduces == 1 && own->inputs != 1))
        return refuse(path, "a reduction reads one array (reduces, inputs)", error);
    if (!(own->flops >= 0 && own->flops < 1e9 && own->bytes >= 0 && own->bytes < 1e9))
        return refuse(path, "its cost is no number from 0 to 1e9 (flops, bytes)", error);
    if (!(own->tolerance >= 0 && own->tolerance < 1))
        return refuse(path, "its tolerance is not from 0 to 1", error);
    if (own->host == NULL && own->launch == NULL)
        return refuse(path, "it has neither a launcher nor a CPU twin (launch, host)", error);
    return STATUS_OK;
}

/* Returns the tolerance where none is given: some roundings of a float, or of a sum of doubles
 * many, for its twin's sum is no better; whole numbers are exact. */
static double usual_tolerance(const struct kernel *kernel)
{
    const int roundings = kernel->shape == KERNEL_REDUCE && kernel->out == DTYPE_F64
                              ? OWN_SUM_ROUNDINGS
                              : OWN_ROUNDINGS;
    return roundings * (kernel->out == DTYPE_F32   ? FLT_EPSILON
                        : kernel->out == DTYPE_F64 ? DBL_EPSILON
                                                   : 0);
}

static void fill(struct place *place, const struct hooks *own)
{
    static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_I32, DTYPE_F64};
    const bool reduces = place->own.reduces == 1;
    place->code = (struct kernel_code){0};
    if (place->own.host != NULL)
        place->code = (struct kernel_code){
            .host = own->host,
            .oracle_map = reduces ? NULL : own->map,
            .oracle_fold = reduces ? own->fold : NULL,
            .oracle_result = reduces ? own->result : NULL,
        };
    place->launcher = (struct kernel_launcher){
        .launch = own->launch, .preload = load_nothing, .call = "the launcher of your kernel"};
    place->kernel = (struct kernel){
        .name = place->own.name,
        .summary = place->own.summary != NULL ? place->own.summary : "",
        .file = place->path,
        .shape = reduces ? KERNEL_REDUCE : KERNEL_MAP,
        .fold = KERNEL_FOLD_SUM,
        .inputs = (int)place->own.inputs,
        .in = dtypes[place->own.in],
        .out = dtypes[place->own.out],
        .flops = place->own.flops,
        .per_thread = 1,
        .sweep = 1,
        .work = place->own.bytes > 0 ? own->work : NULL,
        .code = &place->code,
        .launcher = place->own.launch != NULL ? &place->launcher : NULL,
    };
    if (place->own.tolerance == 0)
        place->own.tolerance = usual_tolerance(&place->kernel);
    if (place->kernel.out == DTYPE_I32)
        place->own.tolerance = 0; /* whole numbers are exact */
    place->kernel.tolerance = place->own.tolerance;
}

/* Takes a kernel into a place that is free. */
static enum status take(struct place *place, const char *path,
                        const struct pipeline_kernel *found, struct error *error)
{
    enter(path, "what it calls pipeline_kernel is none: reading it");
    const enum status status = check(path, found, error);
    leave();
    if (status != STATUS_OK)
        return status;
    place->path = strdup(path);
    if (place->path == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory for a kernel");
    place->own = *found;
    fill(place, hooks[place - places]);
    return STATUS_OK;
}

static enum status open_into(struct place *place, const char *path, struct error *error)
{
    enter(path, "code that runs when it is opened");
    opened = true;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    leave();
    if (library == NULL)
        return error_set(error, STATUS_USAGE, "%.200s can't be opened as a library: %.300s",
                         path, dlerror());
    const struct pipeline_kernel *found = dlsym(library, "pipeline_kernel");
    const enum status status =
        found != NULL
            ? take(place, path, found, error)
            : refuse(path, "it defines no pipeline_kernel (pipeline/kernel.h)", error);
    if (status != STATUS_OK)
        dlclose(library);
    return status;
}

/* Returns the place of the path's kernel. One that is not known yet is `own` or, where that is
 * NULL, the library's. NULL: it can't be taken. */
static struct place *place_of(const char *path, const struct pipeline_kernel *own,
                              struct error *error)
{
    char here[PATH_MAX];
    snprintf(here, sizeof here, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    watch_crashes();
    for (struct place *place = places; place < places + PLACES; place++) {
        if (place->path != NULL && strcmp(place->path, here) == 0)
            return place;
        if (place->path != NULL)
            continue;
        const enum status status =
            own != NULL ? take(place, here, own, error) : open_into(place, here, error);
        return status == STATUS_OK ? place : NULL;
    }
    error_set(error, STATUS_USAGE, "%.200s is one library too many: allowed are %d", path,
              PLACES);
    return NULL;
}

const struct kernel *kernel_own_open(const char *path, struct error *error)
{
    const struct place *place = place_of(path, NULL, error);
    return place != NULL ? &place->kernel : NULL;
}

enum status kernel_own_add(const char *path, const struct pipeline_kernel *own,
                           struct error *error)
{
    return place_of(path, own, error) != NULL ? STATUS_OK : error->status;
}
