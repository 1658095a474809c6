/* model.h - predictions of a run's span: by simulating it, and by closed formulas.
 *
 * The formulas are a second opinion, from the same figures as the simulator's:
 *   [Werkhoven]  van Werkhoven, Maassen, Seinstra, Bal: "Performance Models for CPU-GPU Data
 *                Transfers", CCGrid 2014.
 *   [GomezLuna]  Gomez-Luna, Gonzalez-Linares, Benavides, Guil: "Performance models for
 *                asynchronous data transfers on consumer Graphics Processing Units", JPDC
 *                72(9), 2012.
 * Neither paper's text was at hand. What is certain: [Werkhoven]'s time of a series of copies
 * (the authors' published benchmarks, com-com-kernels, measure its terms) and its case of two
 * copy engines (restated in the code of CoCoPeLia, Anastasiadis et al.). The rest is from
 * memory, or derived: report/model_formulas.c says which. */
#ifndef PIPELINE_REPORT_MODEL_H
#define PIPELINE_REPORT_MODEL_H

#include "machine/machine.h"
#include "options/options.h"
#include "plan/plan.h"

#include <stdbool.h>

/* The copies of a direction, in ns, and nothing beside them; from the first one's issue. */
struct model_copies {
    double whole_ns; /* all bytes in one copy */
    double all_ns;   /* as they are divided, one copy after another */
    double chunk_ns; /* of one tile */
};

/* The parts of a run that the formulas know, in ns. */
struct model_parts {
    struct model_copies in, out;
    double kernels_ns;  /* all kernels, as they are launched, each with the GPU to itself */
    double overhead_ns; /* of a chunk: what dividing the work once more costs */
    uint32_t chunks;    /* tiles of the GPU */
    int copy_engines;
    bool synchronises; /* copies out wait for kernels that were issued before: rule 5 */
};

/* Times the parts of a plan on the simulated machine, each alone.
 * *parts is set on STATUS_OK. STATUS_FAILED when memory runs out. Linear in ops. */
enum status model_parts_of(const struct machine *machine, const struct plan *plan,
                           struct model_parts *parts, struct error *error);

/* The formulas: the span in ns of a run of `ways` ways, of which 4 is 3: they know nothing of
 * streams, orders, queues, the joint rate of both directions, or the CPU. 0 where the GPU has
 * no tiles. */
double model_werkhoven_ns(const struct model_parts *parts, int ways);
double model_gomez_luna_ns(const struct model_parts *parts, int ways);

/* The span in ns that `model`, not MODEL_NONE, predicts for a plan of `settings` on `machine`,
 * with its default queues. MODEL_SIM simulates it without data. *span_ns is set on STATUS_OK;
 * it is 0 where a formula knows nothing of the plan, for it is all the CPU's. STATUS_FAILED
 * when the simulation fails. */
enum status model_span_ns(enum model model, const struct machine *machine,
                          const struct plan *plan, const struct settings *settings,
                          int64_t *span_ns, struct error *error);

#endif
