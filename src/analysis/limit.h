/* limit.h - the shortest time a machine allows for a plan's work.
 *
 * This holds however the work is ordered: bytes in, bytes out and kernels each need their
 * engine; both directions share the link; nothing can come out before the first tile has gone
 * in and been worked on, and nothing can go in while the last tile is worked on and comes out.
 * The tiles that the plan gives to the CPU need the CPU. */
#ifndef PIPELINE_ANALYSIS_LIMIT_H
#define PIPELINE_ANALYSIS_LIMIT_H

#include "machine/machine.h"
#include "plan/plan.h"

/* LIMIT_LINK stands for kernels that work on the host's memory, where there are no copies. */
enum limit_cause { LIMIT_COPIES, LIMIT_COMPUTE, LIMIT_CPU, LIMIT_LINK };

struct limit {
    int64_t ns;
    enum limit_cause cause;                /* which bound is the largest */
    int64_t first_in_ns;                   /* the unavoidable first copy in */
    int64_t last_out_ns;                   /* and last copy out; 0 with mapped memory */
    int64_t copies_ns, compute_ns, cpu_ns; /* each bound by itself */
};

/* Computes the limit of `plan` on `machine`. */
struct limit limit_of(const struct machine *machine, const struct plan *plan);

/* "copies", "compute", "cpu", "link". */
const char *limit_cause_name(enum limit_cause cause);

#endif
