/* limit.h - the shortest time a machine allows for some work, however it is arranged.
 *
 * It depends on the elements, the chain, the devices given, whether the CPU may take a share,
 * and the machine; not on tiles, streams, order, layout, memory, issue, blocks or the share
 * that the CPU was given. So two runs of the same work always have the same limit. It is the
 * larger of what the copies and the kernels need: both directions side by side at the rates
 * that they have then, until one is done and the other goes on alone (one copy engine does them
 * in turn, or kernels reach mapped memory, if that is faster); and the kernels at the whole
 * GPU's rate. Devices have equal parts, and their copies need what the host gives them
 * together; or each has its part of the chain, of which the slowest counts, the first one's
 * copies in, the last one's out, and what goes from one to the next over the devices' own
 * links, or by the host where they have none or that is faster. Of a stencil it is a device's
 * copies in, all steps and copies out, one after another, for a step works on all of its rows.
 * With the CPU it is the time of the best split, tiles being as small as one likes. Filling and
 * draining the pipeline is no part of it. */
#ifndef PIPELINE_ANALYSIS_LIMIT_H
#define PIPELINE_ANALYSIS_LIMIT_H

#include "machine/machine.h"
#include "plan/plan.h"

/* LIMIT_CPU: more than half of the work is best done by the CPU. LIMIT_HOST and
 * LIMIT_SWITCH: what all devices share bounds the copies, not their own links: the host's
 * memory, or the link of the switch that they are behind. LIMIT_PEER: the links between devices
 * do. */
enum limit_cause {
    LIMIT_COPIES,
    LIMIT_COMPUTE,
    LIMIT_CPU,
    LIMIT_HOST,
    LIMIT_SWITCH,
    LIMIT_PEER
};

/* These rates bind the copies, of all that the machine file has. */
struct limit_by {
    const char *figure;            /* of the machine file: "h2d_bytes_per_s" */
    double in_ns, out_ns, peer_ns; /* that a byte takes in, out and to another device; 0: those
                                      of that kind are not what binds */
};

struct limit {
    int64_t ns;
    enum limit_cause cause; /* what sets it */
    const char *figure;     /* the machine file's figure that sets it: "h2d_bytes_per_s" */
    struct limit_by copies; /* where copies are part of it */
    uint32_t device;        /* by links: the one whose kernels take longest */
    bool by_host;           /* by links: the best way from one to the next is by the host */
    double cpu_share;       /* of the elements, in the best split; 0 without the CPU */
    /* The times that all the work takes on the copy engines, on the GPU's units, and on the CPU
     * alone, which is 0 where that may take no share. */
    int64_t copies_ns, compute_ns, cpu_ns;
    int64_t claimed_ns; /* a measured run was faster than this, so that the limit is the run's
                           time and `figure` is too low; else 0 */
};

/* Computes the limit of the work of `plan` on `machine`. */
struct limit limit_of(const struct machine *machine, const struct plan *plan);

/* Computes the limit of a recorded plan: its copies at the machine's rates, beside its kernels,
 * which are taken to share the GPU as well as their blocks allow, each in the time that it
 * took. Side by side they may have slowed each other down, so they count for `kernels_most_ns`
 * at most, the time in which any ran, and for just that where nothing is known of what ops work
 * on. Memsets and copies within the device need not be. */
struct limit limit_of_recorded(const struct machine *machine, const struct plan *plan,
                               int64_t kernels_most_ns);

/* Corrects a limit that a measured run of `time_ns` has beaten; otherwise changes nothing. */
void limit_correct(struct limit *limit, int64_t time_ns);

/* Returns true if what all devices share sets the limit. */
static inline bool limit_is_shared(enum limit_cause cause)
{
    return cause == LIMIT_HOST || cause == LIMIT_SWITCH;
}

/* "copies", "compute", "cpu", "host-memory", "switch", "peer". */
const char *limit_cause_name(enum limit_cause cause);

#endif
