/* virtual_backend.h - a backend for tests: simulates any struct machine, and fails when told
 * to.
 */
#ifndef PIPELINE_TESTS_VIRTUAL_BACKEND_H
#define PIPELINE_TESTS_VIRTUAL_BACKEND_H

#include "run/backend.h"

enum virtual_hook { VIRTUAL_DESCRIBE, VIRTUAL_PREPARE, VIRTUAL_RUN, VIRTUAL_HOOKS };

/* The device that the hooks are given as their struct backend. */
struct virtual_device {
    const struct machine *machine;
    enum virtual_hook fails; /* that hook ... */
    int fails_at;            /* ... at that call of it, from 1; 0: never */
    int calls[VIRTUAL_HOOKS];
    bool prepared;   /* and not yet released */
    double noise;    /* times vary by up to that share, at random */
    uint64_t random; /* test_random()'s state, not 0 where there is noise */
    const struct workload *workload;
};

/* describe, prepare, run and release; nothing opens or closes it. The second says that its
 * times vary, as a real device's. */
extern const struct backend_ops virtual_ops, virtual_noisy_ops;

struct backend *virtual_backend(struct virtual_device *device);

#endif
