/* virtual_backend.h - a backend for tests: simulates any struct machine, and fails when told
 * to.
 */
#ifndef PIPELINE_TESTS_VIRTUAL_BACKEND_H
#define PIPELINE_TESTS_VIRTUAL_BACKEND_H

#include "run/backend.h"

enum virtual_hook { VIRTUAL_DESCRIBE, VIRTUAL_PREPARE, VIRTUAL_RUN, VIRTUAL_HOOKS };

enum { VIRTUAL_SPEEDS = 5 }; /* of a host */

/* The ways in which a device's times are not its own. All zero: in none. */
struct virtual_noise {
    double jitter; /* every time varies by up to that share */
    double slow;   /* that share of runs, and of ops in a trace, takes 1.1 to 3 times as long */
    /* The device, not the host, takes twice as long until it was busy for so long: whenever it
     * is prepared, and at the beginning. */
    int64_t cold_ns, ramp_ns;
    /* All gets slower by that share while it is busy for drift_ns, and then as slowly faster
     * again; half-way it is as fast as it should be. */
    double drift;
    int64_t drift_ns;
    int64_t tick_ns; /* clocks count in so many */
    double busy; /* in that share of runs the host has other things to do: its calls, callbacks
                    and CPU take 1.1 to 3 times as long */
    int64_t mood_ns; /* that long at a time they take 1.7 times as long, or do not, by chance */
};

/* The device that the hooks are given as their struct backend. */
struct virtual_device {
    const struct machine *machine;
    enum virtual_hook fails; /* that hook ... */
    int fails_at;            /* ... at that call of it, from 1; 0: never */
    int calls[VIRTUAL_HOOKS];
    bool prepared; /* and not yet released */
    struct virtual_noise noise;
    uint64_t random; /* test_random()'s state, not 0 where there is noise */
    /* Makes it another machine for some plans: sets what `machine`, a copy, has to be changed
     * to for this one. NULL: none. */
    void (*twist)(struct machine *machine, const struct plan *plan);
    int64_t busy_ns, prepared_ns; /* in all; when it was prepared last */
    /* Of what is prepared, by the simulator, at each speed of the host; 0: not known yet. */
    struct run_times times[VIRTUAL_SPEEDS];
    const struct workload *workload;
};

/* describe, prepare, run and release; nothing opens or closes it. The second says that its
 * times vary, as a real device's. */
extern const struct backend_ops virtual_ops, virtual_noisy_ops;

struct machine virtual_built_in(const char *name);

/* Calibrate the device, whose times are simulated, so that no bytes are needed, as one that
 * measures: all of it, into a result that is to be freed (NULL: it was refused, and the error
 * says that it can't be calibrated), or the host's calls of `file`. */
struct calibration;
struct calibration *virtual_calibrate(struct virtual_device *device, struct error *error);
enum status virtual_calibrate_calls(struct virtual_device *device, struct machine *file,
                                    struct error *error);

/* Makes all that the host does take `factor` times as long. */
void virtual_slow_host(struct machine *machine, double factor);

struct backend *virtual_backend(struct virtual_device *device);

#endif
