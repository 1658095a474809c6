/* predict.c - a plan's time on a simulated machine, without its timeline. */
#include "report/predict.h"

#include "plan/timeline.h"
#include "sim/simulator.h"

enum status predict_time_ns(const struct machine *machine, const struct plan *plan,
                            int64_t *time_ns, struct error *error)
{
    struct timeline timeline;
    int64_t issued_ns;
    timeline_init(&timeline);
    enum status status = simulator_run(machine, 0, plan, NULL, &timeline, &issued_ns, error);
    if (status == STATUS_OK)
        *time_ns = timeline_time_ns(&timeline);
    timeline_free(&timeline);
    return status;
}
