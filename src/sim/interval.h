/* interval.h - how sure simulated times are.
 *
 * A group of a machine's figures is off as a whole (machine/spread.h), and so are the rules
 * that use it. So a run is simulated once more on the machine with each group slower and, where
 * that changes its time, faster: whatever bounds it, what moves it is then known, for some 10
 * to 20 simulations. The groups are independent of each other. */
#ifndef PIPELINE_SIM_INTERVAL_H
#define PIPELINE_SIM_INTERVAL_H

#include "core/status.h"
#include "machine/machine.h"
#include "plan/plan.h"

/* Nine of ten measured times lie in it, ends included. */
struct time_range {
    int64_t low_ns, high_ns;
};

/* Sets *time_ns to a run's time on a machine. */
typedef enum status interval_time(const void *context, const struct machine *machine,
                                  int64_t *time_ns, struct error *error);

/* A time, and the same with each group of figures slower and faster. The last group is what no
 * figure tells: it moves times that are compared each by itself, all others move both. */
enum { OUTLOOK_REST = SPREAD_COUNT, OUTLOOK_GROUPS };
struct outlook {
    int64_t time_ns;
    int64_t slower_ns[OUTLOOK_GROUPS], faster_ns[OUTLOOK_GROUPS];
};

/* Sets *outlook for a run that takes `time_ns` on `machine`. The statuses of `time`. */
enum status interval_look(const struct machine *machine, int64_t time_ns, interval_time *time,
                          const void *context, struct outlook *outlook, struct error *error);

/* Does so of a plan, on so many queues (as simulator_run() takes them). STATUS_FAILED where it
 * has so many ops that this takes long. */
enum status interval_look_plan(const struct machine *machine, uint32_t queues,
                               const struct plan *plan, int64_t time_ns,
                               struct outlook *outlook, struct error *error);

/* Adds to the last group what else is known to be off, as a part of the time. */
void interval_widen(struct outlook *outlook, double part);

struct time_range interval_of(const struct outlook *outlook);

/* Returns the interval of what `after` takes less than `before`, on the same machine. */
struct time_range interval_gain(const struct outlook *before, const struct outlook *after);

#endif
