/* own.c - see own.h: opens libraries, and takes the kernels that they define. */
#include "kernels/own.h"

#include "core/anonymous.h"
#include "kernels/own_parts.h"

#include <dlfcn.h>
#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { OWN_SECONDS = 60 }; /* that opening a library and closing it may take */

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

static int load_nothing(void)
{
    return 0; /* the first run of a kernel loads it, before anything is timed */
}

static void fill(struct own_place *place, const struct own_hooks *own)
{
    static const struct kernel_code no_twin;
    static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_I32, DTYPE_F64};
    const bool reduces = place->own.reduces == 1;
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
        .code = place->own.host != NULL ? &own->code : &no_twin,
        .launcher = place->own.launch != NULL ? &place->launcher : NULL,
    };
    if (place->own.tolerance == 0)
        place->own.tolerance = usual_tolerance(&place->kernel);
    if (place->kernel.out == DTYPE_I32)
        place->own.tolerance = 0; /* whole numbers are exact */
    place->kernel.tolerance = place->own.tolerance;
}

/* Takes a kernel into a place that is free. */
static enum status take(struct own_place *place, const char *path,
                        const struct pipeline_kernel *found, struct error *error)
{
    own_enter(path, "what it calls pipeline_kernel is none: reading it");
    const enum status status = check(path, found, error);
    own_leave();
    if (status != STATUS_OK)
        return status;
    place->path = strdup(path);
    if (place->path == NULL)
        return error_no_memory(error, "for a kernel");
    place->own = *found;
    fill(place, own_hooks[place - own_places]);
    return STATUS_OK;
}

static enum status open_into(struct own_place *place, const char *path, struct error *error)
{
    enum status status = own_try(path, OWN_SECONDS, error);
    if (status != STATUS_OK)
        return status;
    void *library = own_open(path);
    if (library == NULL)
        return error_set(error, STATUS_USAGE, "%.200s can't be opened as a library: %.300s",
                         path, dlerror());
    const struct pipeline_kernel *found = dlsym(library, OWN_SYMBOL);
    status = found != NULL
                 ? take(place, path, found, error)
                 : refuse(path, "it defines no pipeline_kernel (pipeline/kernel.h)", error);
    if (status != STATUS_OK) {
        own_enter(path, "code that runs when it is closed");
        dlclose(library);
        own_leave();
    }
    return status;
}

/* Returns the place of the path's kernel. One that is not known yet is `own` or, where that is
 * NULL, the library's. NULL: it can't be taken. */
static struct own_place *place_of(const char *path, const struct pipeline_kernel *own,
                                  struct error *error)
{
    char here[PATH_MAX];
    snprintf(here, sizeof here, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    own_watch_crashes();
    for (struct own_place *place = own_places; place < own_places + OWN_PLACES; place++) {
        if (place->path != NULL && strcmp(place->path, here) == 0)
            return place;
        if (place->path != NULL)
            continue;
        const enum status status =
            own != NULL ? take(place, here, own, error) : open_into(place, here, error);
        return status == STATUS_OK ? place : NULL;
    }
    error_set(error, STATUS_USAGE, "%.200s is one library too many: at most %d", path,
              OWN_PLACES);
    return NULL;
}

const struct kernel *kernel_own_open(const char *path, struct error *error)
{
    const struct own_place *place = place_of(path, NULL, error);
    return place != NULL ? &place->kernel : NULL;
}

enum status kernel_own_add(const char *path, const struct pipeline_kernel *own,
                           struct error *error)
{
    return place_of(path, own, error) != NULL ? STATUS_OK : error->status;
}

void kernel_own_forget_folders(void)
{
    for (struct own_place *place = own_places; place < own_places + OWN_PLACES; place++)
        if (place->path != NULL)
            place->kernel.file = anonymous_file(place->path);
}
