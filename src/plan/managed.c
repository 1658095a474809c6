/* managed.c - managed memory: the rules of its pages, and where it can't be had. */
#include "plan/managed.h"

#include "core/units.h"
#include "plan/host_layout.h"

double rule_prefetch_bytes_per_s(const struct machine *machine, enum op_kind kind)
{
    return kind == OP_H2D ? machine->prefetch_in_bytes_per_s
                          : machine->prefetch_out_bytes_per_s;
}

int64_t rule_prefetch_ns(const struct machine *machine, enum op_kind kind)
{
    return kind == OP_H2D ? machine->prefetch_in_ns : machine->prefetch_out_ns;
}

int64_t rule_prefetch_begin_ns(const struct machine *machine, enum op_kind kind)
{
    return kind == OP_H2D ? machine->prefetch_begin_ns : 0;
}

double rule_fault_ns(const struct machine *machine, double bytes)
{
    return 1e9 * bytes / machine->fault_bytes_per_s;
}

double rule_managed_ns(const struct machine *machine, bool prefetches, double in, double out)
{
    if (!prefetches)
        return rule_fault_ns(machine, in + out);
    return 1e9 * ((in + out) / machine->prefetch_in_bytes_per_s +
                  out / machine->prefetch_out_bytes_per_s);
}

/* Near the device's memory the driver moves out pages that are still to be used, for which
 * nobody has made a rule. */
enum status managed_check_room(const struct plan *plan, uint64_t bytes, const char *are,
                               struct error *error)
{
    enum { PART = 4 };
    char need[UNITS_TEXT], have[UNITS_TEXT];
    const uint64_t needed = plan_host_bytes(plan);
    if (plan->memory != MEMORY_MANAGED || needed <= bytes / PART)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "--memory=managed: the arrays take %s and %s of device memory %s: allowed "
                     "is a quarter of that, since beyond it pages may be moved out again",
                     units_bytes(needed, need), units_bytes(bytes, have), are);
}

/* [Guide 13, "Unified memory"] Devices of compute capability 6.0 and above page, and under
 * Linux host and device may work on managed memory at once. */
enum status managed_check(const struct plan *plan, const struct machine *machine,
                          struct error *error)
{
    const double least = 6.0;
    if (plan->memory == MEMORY_MANAGED && machine->compute_capability < least)
        return error_set(
            error, STATUS_USAGE,
            "--memory=managed: a device of compute capability %.1f has no page "
            "faults, so that nothing moves while kernels work: allowed are devices "
            "from %.1f on, or other memory",
            machine->compute_capability, least);
    return managed_check_room(plan, machine->memory_bytes, "are there", error);
}
