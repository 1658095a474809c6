/* own_calls.c - calls the code of libraries with kernels of users' own, and says so where that
 * crashes.
 *
 * The hooks of a kernel don't say whose they are, so each library has hooks of its own: they
 * are written once and made for every place that there is. What a result must be is asked of
 * the CPU twin: it has no bounds, so these come from the tolerance and, where the elements
 * before have bounds, from what the twin makes of their ends. */
#include "core/c_locale.h"
#include "kernels/host_util.h"
#include "kernels/own.h"
#include "kernels/own_parts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Elements that a twin is asked about at once: of the tile's, but for the first. */
enum { PART = 509 };

struct own_place own_places[OWN_PLACES];

/* --- crashes --- */

/* A crash is told by where its thread is: the path of the library whose code runs, and which
 * part of it; both are NULL outside of libraries. */
static _Thread_local struct {
    const char *path, *part;
} inside;

void own_enter(const char *path, const char *part)
{
    inside.part = part;
    inside.path = path;
}

void own_leave(void)
{
    inside.path = NULL;
    c_locale_enter(); /* the library may have chosen another */
}

static pid_t process; /* this one: those that a library starts may end as they like */
static void (*clean_up)(void);

void kernel_own_on_end(void (*clean)(void))
{
    clean_up = clean;
}

/* Cleans up behind this process, not behind one that was started only to try a library. */
static void clean(void)
{
    if (clean_up != NULL && getpid() == process)
        clean_up();
}

/* Says whose code it was that crashed, and lets the signal do what it does. Other threads,
 * which may crash at once, wait for that. */
static void crashed(int number)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const char *what = sigdescr_np(number);
    const char *const texts[] = {"pipeline: ",
                                 inside.path,
                                 ": ",
                                 inside.part,
                                 " crashed: ",
                                 what != NULL ? what : "a signal",
                                 ". That is the library's own code\n"};
    enum { TEXTS = sizeof texts / sizeof texts[0] };
    struct iovec pieces[TEXTS];
    while (atomic_flag_test_and_set(&told))
        pause();
    for (int i = 0; i < TEXTS && inside.path != NULL; i++)
        pieces[i] = (struct iovec){(void *)texts[i], strlen(texts[i])};
    if (inside.path != NULL && writev(STDERR_FILENO, pieces, TEXTS) < 0)
        inside.path = NULL; /* nobody is left to tell */
    clean();
    signal(number, SIG_DFL);
    raise(number);
}

/* --- ends --- */

static bool opened, done;

void kernel_own_end(int code)
{
    done = true;
    if (!opened)
        return;
    fflush(NULL);
    clean();
    _exit(code);
}

/* Ends the process at once. */
_Noreturn static void end(int code)
{
    for (;;)
        syscall(SYS_exit_group, code);
}

/* A library that ends the program must not look like a run that went well. */
static void ended(void)
{
    static const char text[] = "pipeline: the library of your kernel ended the program\n";
    if (!opened || done || getpid() != process)
        return;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        inside.path = NULL; /* nobody is left to tell */
    clean();
    end(1);
}

/* Stands in the C library's place for libraries that are opened, too: nothing else sees that
 * one, or a thread that it started, ends the process so. */
void _exit(int code)
{
    if (inside.path != NULL || code == 0)
        ended();
    end(code);
}

void _Exit(int code)
{
    _exit(code);
}

void own_watch_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static bool watched;
    const struct sigaction action = {.sa_handler = crashed};
    process = getpid();
    for (size_t i = 0; i < sizeof signals / sizeof signals[0] && !watched; i++)
        sigaction(signals[i], &action, NULL);
    if (!watched && atexit(ended) == 0 && at_quick_exit(ended) == 0)
        watched = true;
}

void *own_open(const char *path)
{
    const int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    own_enter(path, "code that runs when it is opened");
    opened = true;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    own_leave();
    if (folder >= 0 && fchdir(folder) != 0) /* it may have gone elsewhere, where our files */
        library = NULL;                     /* would then lie */
    if (folder >= 0)
        close(folder);
    return library;
}

/* --- the hooks --- */

static void call_twin(const struct own_place *place, const struct pipeline_work *work)
{
    own_enter(place->path, "the CPU twin of your kernel");
    place->own.host(work);
    own_leave();
}

static int call_launcher(const struct own_place *place, const struct pipeline_work *work,
                         void *stream)
{
    own_enter(place->path, "the launcher of your kernel");
    const int code = place->own.launch(work, stream);
    own_leave();
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
static void call_part(const struct own_place *place, const struct kernel_args *args, int part,
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
static void host(const struct own_place *place, const struct kernel_args *args)
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
static void ask(const struct own_place *place, const struct oracle *oracle, size_t first,
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
        out[i] = dtype_load(place->kernel.out, result, i);
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

static void map(const struct own_place *place, struct oracle *oracle, const void *second)
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

static void fold(const struct own_place *place, struct oracle_sum *sum,
                 const struct oracle *oracle)
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

static double result(const struct own_place *place, const struct oracle_sum *sum, double *bound)
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

static void cost(const struct own_place *place, uint64_t count, double *bytes, double *flops)
{
    *bytes = place->own.bytes * (double)count;
    *flops = place->own.flops * (double)count;
}

#define HOOKS(n)                                                                               \
    static int launch_##n(const struct kernel_args *args, void *stream)                        \
    {                                                                                          \
        const struct pipeline_work work = work_of(args);                                       \
        return call_launcher(&own_places[n], &work, stream);                                   \
    }                                                                                          \
    static void host_##n(const struct kernel_args *args)                                       \
    {                                                                                          \
        host(&own_places[n], args);                                                            \
    }                                                                                          \
    static void map_##n(struct oracle *oracle, const void *second,                             \
                        const struct kernel_params *params)                                    \
    {                                                                                          \
        (void)params;                                                                          \
        map(&own_places[n], oracle, second);                                                   \
    }                                                                                          \
    static void fold_##n(struct oracle_sum *sum, const struct oracle *oracle)                  \
    {                                                                                          \
        fold(&own_places[n], sum, oracle);                                                     \
    }                                                                                          \
    static double result_##n(const struct oracle_sum *sum, double *bound)                      \
    {                                                                                          \
        return result(&own_places[n], sum, bound);                                             \
    }                                                                                          \
    static void work_##n(uint64_t count, const struct kernel_params *params, double *bytes,    \
                         double *flops)                                                        \
    {                                                                                          \
        (void)params;                                                                          \
        cost(&own_places[n], count, bytes, flops);                                             \
    }                                                                                          \
    static const struct own_hooks hooks_##n = {launch_##n,                                     \
                                               work_##n,                                       \
                                               {.host = host_##n,                              \
                                                .oracle_map = map_##n,                         \
                                                .oracle_fold = fold_##n,                       \
                                                .oracle_result = result_##n}}
HOOKS(0);
HOOKS(1);
HOOKS(2);
HOOKS(3);
HOOKS(4);
HOOKS(5);
HOOKS(6);
HOOKS(7);

const struct own_hooks *const own_hooks[OWN_PLACES] = {
    &hooks_0, &hooks_1, &hooks_2, &hooks_3, &hooks_4, &hooks_5, &hooks_6, &hooks_7,
};
