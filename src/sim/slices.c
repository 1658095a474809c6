/* slices.c - whose turn it is where processes share a device without MPS: kernels of one of
 * them run at a time (docs/machine-figures.md, "Processes on one device").
 *
 * The process that has the device keeps it while it has kernels there, or the next op of one of
 * its streams is a kernel that was launched, and for a slice of time at most where others have
 * some; then the next one in turn gets it. Kernels in flight stop where they are, and go on
 * when their process has its next turn. Copies go on meanwhile. */
#include "sim/parts.h"

static bool has_work(const struct simulation *sim, uint32_t process)
{
    const struct gpu *gpu = &sim->gpus[process];
    bool work = gpu->kernels_running > 0 || gpu->kernels_due > 0;
    for (int level = 0; level < sim->level_count && !work; level++)
        work = gpu->levels[level].first != NONE;
    return work;
}

/* Returns the next process behind the one that has the device, in turn, that has kernels there;
 * that one itself where no other has. */
static uint32_t next_process(const struct simulation *sim)
{
    const uint32_t holder = sim->slices.holder;
    for (uint32_t i = 1; i < sim->gpu_count; i++) {
        const uint32_t process = (holder + i) % sim->gpu_count;
        if (has_work(sim, process))
            return process;
    }
    return holder;
}

/* Posts the end of a slice or of a change; what was posted before no longer counts. */
static enum status post(struct simulation *sim, int64_t delay_ns)
{
    sim->slices.posted = true;
    return simulation_post(sim, later(1, delay_ns), EVENT_SLICE, 0, ++sim->slices.stamp);
}

static enum status change(struct simulation *sim, uint32_t next)
{
    sim->slices.next = next;
    sim->slices.changing = true;
    return post(sim, sim->machine->context_switch_ns);
}

bool slices_holds(const struct simulation *sim, const struct gpu *gpu)
{
    const struct slices *slices = &sim->slices;
    return !slices->changing && gpu == &sim->gpus[slices->holder];
}

enum status slices_look(struct simulation *sim)
{
    struct slices *slices = &sim->slices;
    const uint32_t next = next_process(sim);
    if (slices->changing || next == slices->holder)
        return STATUS_OK;
    if (!has_work(sim, slices->holder)) /* its streams go on first: they may have some */
        return post(sim, 0);
    const int64_t slice_ns = later(1, sim->machine->time_slice_ns);
    if (slices->posted)
        return STATUS_OK;
    return post(sim, slice_ns - (sim->now - slices->since_ns) % slice_ns);
}

enum status slices_turn(struct simulation *sim)
{
    struct slices *slices = &sim->slices;
    slices->posted = false;
    if (!slices->changing) {
        const int64_t had_ns = sim->now - slices->since_ns;
        const bool over = had_ns % later(1, sim->machine->time_slice_ns) == 0;
        const uint32_t next = next_process(sim);
        const bool goes = next != slices->holder && (over || !has_work(sim, slices->holder));
        return goes ? change(sim, next) : STATUS_OK;
    }
    slices->changing = false;
    slices->holder = slices->next;
    slices->since_ns = sim->now;
    return STATUS_OK;
}
