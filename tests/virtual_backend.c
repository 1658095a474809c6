/* virtual_backend.c - see virtual_backend.h. */
#include "virtual_backend.h"

#include "calibrate/calibrate.h"
#include "fixtures.h"
#include "machine/fields.h"
#include "sim/simulator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many times as long a host takes for what it does, by its speed. */
static const double slowness[VIRTUAL_SPEEDS] = {1, 1.1, 1.4, 1.7, 3};
enum { MOOD = 3 };

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
    device->prepared_ns = device->busy_ns;
    memset(device->times, 0, sizeof device->times);
    return status;
}

static double random_share(struct virtual_device *device)
{
    return test_random_below(&device->random, 1000001) / 1e6;
}

/* Returns how many times as long something takes, by chance. */
static double disturbed(struct virtual_device *device)
{
    const struct virtual_noise *noise = &device->noise;
    bool slow = noise->slow > 0 && random_share(device) < noise->slow;
    double factor = noise->jitter > 0 ? 1 + noise->jitter * (2 * random_share(device) - 1) : 1;
    return slow ? factor * (1.1 + 1.9 * random_share(device)) : factor;
}

/* Returns how many times as long all takes now. */
static double paced(const struct virtual_device *device)
{
    const struct virtual_noise *noise = &device->noise;
    if (noise->drift_ns == 0)
        return 1;
    double done = (double)device->busy_ns / (double)noise->drift_ns;
    return 1 + noise->drift * (fabs(remainder(done, 2)) - 0.5);
}

/* Returns true if any of it is the device's. */
static bool has_work(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->op_count; i++)
        if (op_in_stream(plan->ops[i].kind))
            return true;
    return false;
}

/* Returns how many times as long the device takes for work of `ns` because it is cold. */
static double cold(const struct virtual_device *device, int64_t ns)
{
    int64_t until = device->prepared_ns + device->noise.cold_ns, ramp = device->noise.ramp_ns;
    double left = (double)((until > ramp ? until : ramp) - device->busy_ns), own = (double)ns;
    if (left <= 0 || ns <= 0 || !has_work(device->workload->plan))
        return 1;
    return 2 * own <= left ? 2 : 1 + left / 2 / own;
}

static int64_t ticked(const struct virtual_device *device, double ns)
{
    int64_t tick = device->noise.tick_ns > 0 ? device->noise.tick_ns : 1;
    return (int64_t)ns / tick * tick;
}

enum { START_NS = 1000 }; /* about what an op takes to start */

/* Makes ops of a trace start late and take longer, each by chance, and those behind them later,
 * and so the calls that come when they would have ended. */
static void disturb_trace(struct virtual_device *device, struct timeline *timeline, double pace,
                          double host_pace)
{
    double later = 0;
    for (uint32_t i = 0, call = 0; i < timeline->span_count; i++) {
        struct span *span = &timeline->spans[i];
        double start = pace * (double)span->start_ns;
        double own =
            (span->kind == OP_CPU ? host_pace : pace) * (double)(span->end_ns - span->start_ns);
        for (; call < timeline->issue_count && timeline->issue_ns[call] < span->end_ns; call++)
            timeline->issue_ns[call] =
                ticked(device, host_pace * (double)timeline->issue_ns[call] + later);
        later += fmax(0, disturbed(device) - 1) * START_NS;
        span->start_ns = ticked(device, start + later);
        later += fmax(0, disturbed(device) - 1) * own;
        span->end_ns = ticked(device, start + own + later);
    }
}

void virtual_slow_host(struct machine *machine, double factor)
{
    static const char *const rates[] = {"pinned_bytes_per_s", "cpu_bytes_per_s",
                                        "cpu_flops_per_s", "pack_bytes_per_s"};
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        bool host = strcmp(field->section, "host") == 0;
        bool device = strcmp(field->key, "graph_node_ns") == 0;
        if (host && !device && field->type == FIELD_NS)
            machine_field_put(field, machine, factor * machine_field_get(field, machine));
    }
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        const struct machine_field *field = machine_field_find(machine_fields, rates[i]);
        machine_field_put(field, machine, machine_field_get(field, machine) / factor);
    }
    for (int i = 0; i < machine->kernel_count; i++) {
        machine->kernels[i].cpu_bytes_per_s /= factor;
        machine->kernels[i].cpu_flops_per_s /= factor;
    }
}

static enum status simulate(struct virtual_device *device, double slow_host,
                            struct timeline *timeline, struct run_times *times,
                            struct error *error)
{
    struct machine machine = *device->machine;
    if (device->twist != NULL)
        device->twist(&machine, device->workload->plan);
    if (slow_host > 1)
        virtual_slow_host(&machine, slow_host);
    enum status status = simulator_run(&machine, 0, device->workload->plan, NULL, timeline,
                                       &times->issue_ns, error);
    timeline->timing = TIMING_VIRTUAL;
    times->time_ns = timeline_time_ns(timeline);
    return status;
}

/* Returns which of the host's speeds a run has: the first is the usual one. */
static int host_speed(struct virtual_device *device)
{
    const int64_t mood_ns = device->noise.mood_ns;
    if (mood_ns > 0) {
        uint64_t state =
            (uint64_t)(1 + device->busy_ns / mood_ns) * UINT64_C(0x9E3779B97F4A7C15);
        return test_random_below(&state, 2) == 0 ? MOOD : 0;
    }
    bool busy = device->noise.busy > 0 && random_share(device) < device->noise.busy;
    return busy ? 1 + (int)test_random_below(&device->random, VIRTUAL_SPEEDS - 1) : 0;
}

static enum status run(struct backend *backend, struct timeline *timeline,
                       struct run_times *times, struct error *error)
{
    struct virtual_device *device = &backend->device;
    struct timeline own = {0};
    if (!device->prepared)
        ck_abort_msg("not prepared");
    enum status status = called(device, VIRTUAL_RUN, error);
    if (status != STATUS_OK)
        return status;
    int speed = host_speed(device);
    struct run_times *known = &device->times[speed];
    if (timeline != NULL || known->issue_ns == 0)
        status =
            simulate(device, slowness[speed], timeline != NULL ? timeline : &own, known, error);
    timeline_free(&own);
    double host_pace = paced(device);
    double pace = host_pace * cold(device, known->time_ns);
    times->time_ns = ticked(device, pace * disturbed(device) * (double)known->time_ns);
    times->issue_ns = ticked(device, host_pace * disturbed(device) * (double)known->issue_ns);
    device->busy_ns += times->time_ns;
    if (timeline != NULL && device->random != 0)
        disturb_trace(device, timeline, pace, host_pace);
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

/* --- calibrating it --- */

struct machine virtual_built_in(const char *name)
{
    return test_machine_named(name);
}

struct calibration *virtual_calibrate(struct virtual_device *device, struct error *error)
{
    struct settings settings = test_settings("scale");
    struct calibration *calibration = calloc(1, sizeof *calibration);
    *error = (struct error){0};
    settings.no_data = true;
    if (calibrate(&virtual_noisy_ops, virtual_backend(device), &settings, CALIBRATE_ALL,
                  calibration, error) == STATUS_OK)
        return calibration;
    ck_assert_msg(strstr(error->text, "can't be calibrated") != NULL, "%s", error->text);
    ck_assert_int_eq(error->status, STATUS_FAILED);
    free(calibration);
    return NULL;
}

enum status virtual_calibrate_calls(struct virtual_device *device, struct machine *file,
                                    struct error *error)
{
    struct settings settings = test_settings("scale");
    *error = (struct error){0};
    settings.no_data = true;
    return calibrate_host_of(&virtual_noisy_ops, virtual_backend(device), &settings,
                             CALIBRATE_HOST, file, error);
}
