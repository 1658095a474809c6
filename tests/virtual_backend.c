/* virtual_backend.c - see virtual_backend.h. */
#include "virtual_backend.h"

#include "fixtures.h"
#include "sim/simulator.h"

struct backend {
    struct virtual_device device;
};

struct backend *virtual_backend(struct virtual_device *device)
{
    return (struct backend *)device;
}

static enum status called(struct virtual_device *device, enum virtual_hook hook,
                          struct error *error)
{
    static const char *const names[] = {"describe", "prepare", "run"};
    int call = ++device->calls[hook];
    if (hook != device->fails || call != device->fails_at)
        return STATUS_OK;
    return error_set(error, STATUS_FAILED, "%s failed at call %d", names[hook], call);
}

static enum status describe(struct backend *backend, const struct settings *settings,
                            struct machine *machine, struct error *error)
{
    (void)settings;
    enum status status = called(&backend->device, VIRTUAL_DESCRIBE, error);
    if (status == STATUS_OK)
        *machine = *backend->device.machine;
    return status;
}

static enum status prepare(struct backend *backend, const struct workload *workload,
                           struct error *error)
{
    struct virtual_device *device = &backend->device;
    enum status status = called(device, VIRTUAL_PREPARE, error);
    ck_assert_msg(!device->prepared, "prepared twice");
    device->prepared = status == STATUS_OK;
    device->workload = workload;
    return status;
}

static int64_t varied_ns(struct virtual_device *device, int64_t ns)
{
    if (device->noise == 0)
        return ns;
    double share = (test_random_below(&device->random, 2001) - 1000.0) / 1000;
    return (int64_t)((double)ns * (1 + share * device->noise));
}

static enum status run(struct backend *backend, struct timeline *timeline,
                       struct run_times *times, struct error *error)
{
    struct virtual_device *device = &backend->device;
    struct timeline own;
    ck_assert_msg(device->prepared, "not prepared");
    enum status status = called(device, VIRTUAL_RUN, error);
    if (status != STATUS_OK)
        return status;
    timeline_init(&own);
    struct timeline *filled = timeline != NULL ? timeline : &own;
    status = simulator_run(device->machine, 0, device->workload->plan, NULL, filled,
                           &times->issue_ns, error);
    filled->timing = TIMING_VIRTUAL;
    times->time_ns = varied_ns(device, timeline_time_ns(filled));
    times->issue_ns = varied_ns(device, times->issue_ns);
    timeline_free(&own);
    return status;
}

static void release(struct backend *backend)
{
    backend->device.prepared = false;
}

const struct backend_ops virtual_ops = {
    .name = "virtual",
    .describe = describe,
    .prepare = prepare,
    .run = run,
    .release = release,
};

const struct backend_ops virtual_noisy_ops = {
    .name = "virtual",
    .describe = describe,
    .prepare = prepare,
    .run = run,
    .release = release,
    .measures = true,
};
