/* spread.c - how far the figures of a machine may be off, by groups that are off together.
 *
 * The host is slow or fast as a whole, and so is memory; so a group is made slower or faster as
 * a whole, and the simulator then tells what that does to a run. */
#include "machine/spread.h"

#include <math.h>
#include <string.h>

/* The figures of a group, by how their keys begin; the first row that fits counts. */
static const struct {
    const char *begin;
    enum machine_spread group;
} rows[] = {
    {"h2d_bytes_per_s", SPREAD_COPIES},
    {"d2h_bytes_per_s", SPREAD_COPIES},
    {"joint_bytes_per_s", SPREAD_COPIES},
    {"peer_", SPREAD_COPIES},
    {"host_", SPREAD_COPIES},
    {"h2d_share_", SPREAD_COPIES},
    {"d2h_share_", SPREAD_COPIES},
    {"pageable_", SPREAD_PAGEABLE},
    {"prefetch_", SPREAD_MANAGED},
    {"fault_", SPREAD_MANAGED},
    {"mapped_", SPREAD_MAPPED},
    {"memory_bytes_per_s", SPREAD_KERNELS},
    {"bytes_per_s", SPREAD_KERNELS},
    {"flops_per_s", SPREAD_KERNELS},
    {"cpu_bytes", SPREAD_CPU},
    {"cpu_flops", SPREAD_CPU},
    {"cpu_team_ns", SPREAD_CPU},
    {"cpu_core_share", SPREAD_CPU},
    {"pack_", SPREAD_CPU},
    {"callback_", SPREAD_CALLBACKS},
    {"issue_callback_ns", SPREAD_CALLBACKS},
    {"issue_take_ns", SPREAD_ALLOCATIONS},
    {"take_first_ns", SPREAD_ALLOCATIONS},
    {"alloc_", SPREAD_ALLOCATIONS},
    {"pinned_", SPREAD_ALLOCATIONS},
    {"lazy_load_ns", SPREAD_ALLOCATIONS},
    {"issue_", SPREAD_CALLS},
    {"sync_ns", SPREAD_CALLS},
    {"graph_launch_", SPREAD_CALLS},
    {"graph_copies_node_ns", SPREAD_CALLS},
    {"time_slice_ns", SPREAD_COUNT},
    {"context_switch_ns", SPREAD_COUNT},
};

enum machine_spread machine_spread_of(const struct machine_field *field)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strncmp(field->key, rows[i].begin, strlen(rows[i].begin)) == 0)
            return field->type == FIELD_WORD ? SPREAD_COUNT : rows[i].group;
    }
    return field->type == FIELD_NS ? SPREAD_DELAYS : SPREAD_COUNT;
}

/* Makes the figures of one record slower: times longer, and rates and shares less. */
static void slow_record(const struct machine_field *fields, void *record,
                        enum machine_spread group, double times)
{
    for (const struct machine_field *field = fields; field->key != NULL; field++) {
        if (machine_spread_of(field) != group)
            continue;
        const double value = machine_field_get(field, record);
        const double slower = field->type == FIELD_NS ? value * times : value / times;
        machine_field_put(field, record, value > 0 ? fmin(field->most, slower) : value);
    }
}

void machine_slow(struct machine *machine, enum machine_spread group, double times)
{
    slow_record(machine_fields, machine, group, times);
    for (int i = 0; i < machine->kernel_count; i++)
        slow_record(machine_kernel_fields, &machine->kernels[i], group, times);
}
