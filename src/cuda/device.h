/* device.h - real devices: starts them and reads their properties; and what CUDA takes from a
 * process only once.
 *
 * A device's context belongs to the process: it stays when a backend closes, and the next one
 * to open takes it up again. CUDA reads CUDA_DEVICE_MAX_CONNECTIONS and CUDA_LAUNCH_BLOCKING
 * when it starts, and it loads a kernel's code once. Both are remembered here, in global state,
 * for the process's later runs. */
#ifndef PIPELINE_CUDA_DEVICE_H
#define PIPELINE_CUDA_DEVICE_H

#include "core/status.h"
#include "kernels/kernel.h"
#include "machine/machine.h"
#include "plan/settings.h"
#include "plan/timeline.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

/* --- every CUDA call is checked: errors return in set-up and warn in clean-up --- */

/* STATUS_OK, or the error with the call's name: "cudaMalloc failed: cudaErrorMemoryAllocation:
 * out of memory". */
#define CUDA_CHECK(call, error) cuda_check((call), #call, (error))

/* For clean-up, which goes on whatever happens: a line on standard error. */
#define CUDA_WARN(call) cuda_warn((call), #call)

static inline enum status cuda_check(cudaError_t result, const char *call, struct error *error)
{
    if (result == cudaSuccess)
        return STATUS_OK;
    cudaGetLastError(); /* reported here; a later launch must not report it again */
    return error_set(error, STATUS_FAILED, "%.*s failed: %s: %s", (int)strcspn(call, "("), call,
                     cudaGetErrorName(result), cudaGetErrorString(result));
}

static inline void cuda_warn(cudaError_t result, const char *call)
{
    if (result == cudaSuccess)
        return;
    cudaGetLastError();
    fprintf(stderr, "pipeline: warning: %.*s failed: %s: %s\n", (int)strcspn(call, "("), call,
            cudaGetErrorName(result), cudaGetErrorString(result));
}

/* For clean-up that can fail. The first call that fails is the error, and behind an error it is
 * a warning. */
static inline void cuda_check_first(cudaError_t result, const char *call, enum status *status,
                                    struct error *error)
{
    if (*status == STATUS_OK)
        *status = cuda_check(result, call, error);
    else
        cuda_warn(result, call);
}

/* --- the devices of a run --- */

enum { CUDA_BUS_ID = 32 };

struct cuda_device {
    int number;
    char driver[TIMELINE_TEXT / 2]; /* "driver 13.0, runtime 13.0" */
    char bus_id[CUDA_BUS_ID];       /* "0000:65:00.0", as Linux writes it */
    struct machine machine;         /* the properties alone: rates are not known yet */
};

/* The devices of a run, in the order in which they were named. CUDA's calls go to the current
 * one, which is the first unless a function here says otherwise: so one device alone never has
 * to be made current again. */
struct cuda_devices {
    uint32_t count;
    struct cuda_device items[MACHINE_DEVICES_MAX];
    /* A device's context is unusable: clean-up frees there what it can and is silent. */
    bool lost[MACHINE_DEVICES_MAX];
};

/* Starts the devices that `argument` names ("", a number, several such as "2,0", or "all"),
 * makes the first the current one and fills *devices. STATUS_NO_DEVICE when one isn't there,
 * STATUS_USAGE when the name is wrong. */
enum status cuda_devices_open(const char *argument, struct cuda_devices *devices,
                              struct error *error);

/* Refuses a way of sharing a device, of that number, with other processes that is not the one
 * in which it is shared. STATUS_USAGE, STATUS_FAILED. */
enum status cuda_sharing_check(const struct settings *settings, int device,
                               struct error *error);

/* Makes device `index` current; one device alone is, so there is no call. */
static inline cudaError_t cuda_devices_enter(const struct cuda_devices *devices, uint32_t index)
{
    return devices->count > 1 ? cudaSetDevice(devices->items[index].number) : cudaSuccess;
}

/* Makes it current in set-up, where a failure is an error. */
enum status cuda_devices_select(const struct cuda_devices *devices, uint32_t index,
                                struct error *error);

/* Makes device `index` current for a loop over all of them, in set-up. Returns false, which
 * ends the loop, behind the last one and where *status, which is set, is a failure. */
bool cuda_devices_reach(const struct cuda_devices *devices, uint32_t index, enum status *status,
                        struct error *error);

/* Waits for all that was issued to all devices, and makes the first current. Returns the first
 * failure, of which device *failed says; the others are waited for all the same. */
cudaError_t cuda_devices_wait(const struct cuda_devices *devices, uint32_t *failed);

/* Waits in set-up, where a failure is an error. */
enum status cuda_devices_settle(const struct cuda_devices *devices, struct error *error);

/* Warns of a failed call of clean-up, unless the device's context is lost: then every call
 * fails with the error already reported. They are made all the same, since they still free host
 * memory. */
static inline void cuda_devices_warn(const struct cuda_devices *devices, uint32_t index,
                                     cudaError_t result, const char *call)
{
    if (!devices->lost[index])
        cuda_warn(result, call);
}

/* Writes " on cuda:1" into `text`, or nothing where there is one device, and returns it. */
enum { CUDA_DEVICE_NAME = 24 };
const char *cuda_devices_name(const struct cuda_devices *devices, uint32_t index,
                              char text[CUDA_DEVICE_NAME]);

/* Writes the devices' model into a text of `size` bytes; of several models each device's, as in
 * "NVIDIA A100 + NVIDIA H200". */
void cuda_devices_model(const struct cuda_devices *devices, char *text, size_t size);

/* Sets each device's bus id, which stays the devices'. */
void cuda_devices_bus_ids(const struct cuda_devices *devices,
                          const char *bus_ids[MACHINE_DEVICES_MAX]);

/* Sets the timeline's device, as its model, and driver. */
void cuda_devices_sign(const struct cuda_devices *devices, struct timeline *timeline);

/* Calls `each` for every device, with its name for --device and one line about it. */
void cuda_device_list(void (*each)(void *context, const char *device, const char *summary),
                      void *context);

/* Sets the environment that CUDA will start with, from the first run's settings. Later calls do
 * nothing. */
void cuda_process_configure(const struct settings *settings);

/* STATUS_USAGE if `settings` ask for another start than the process had. */
enum status cuda_process_check(const struct settings *settings, struct error *error);

/* Returns true if the process has loaded the kernel's code, or may have. */
bool cuda_kernel_is_loaded(const struct kernel *kernel);

/* Remembers that the kernel's code is loaded, or is about to be. */
void cuda_kernel_loaded(const struct kernel *kernel);

/* --- describe.c: the devices of a run as one machine --- */

/* Sets *machine to a device with its copy rates, and the rates of the kernels (and with 4 ways
 * of their CPU twins) in the chain of `settings`: measured now, unless the process knows them.
 * Of several devices each is measured alone, and then what the host's memory gives all of them
 * at once. Tiles are dealt evenly, so a run waits for the slowest: each figure is that of the
 * device with which it is worst. */
enum status cuda_describe(const struct cuda_devices *devices, const struct settings *settings,
                          struct machine *machine, struct error *error);

#endif
