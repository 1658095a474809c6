/* fields.c - the table of all keys of machine files.
 *
 * A new key is a row here and a member of its struct in machine/machine.h. Its row says what a
 * file from before means, so that files that users have calibrated stay as good as they were.
 *
 * Only what makes one GPU differ from another beyond all guessing is required: its name, which
 * generation's rules it obeys, the rates of its link, how many multiprocessors it has, and how
 * fast its memory and arithmetic are. Everything else has a figure that is typical of GPUs as
 * they are, or follows from one that is there. */
#include "machine/fields.h"

#include <math.h>
#include <string.h>

#define PLACE(section, member, type) section, #member, type, offsetof(struct machine, member)

/* Rows whose key every file must have; that mean `otherwise` without it; and that mean `times`
 * the value of `other`. */
#define NEEDED(section, member, type, least, most)                                             \
    {                                                                                          \
        PLACE(section, member, type), least, most, .required = true                            \
    }
#define MEANS(section, member, type, least, most, value)                                       \
    {                                                                                          \
        PLACE(section, member, type), least, most, .otherwise = value                          \
    }
#define LIKE(section, member, type, least, most, times, other)                                 \
    {                                                                                          \
        PLACE(section, member, type), least, most, .otherwise = times, .like = #other          \
    }
/* One of some words, of which `value` stands in. */
#define WORDS(section, member, words_, count, value)                                           \
    {                                                                                          \
        PLACE(section, member, FIELD_WORD), 0, (count)-1, .otherwise = value, .words = words_  \
    }

static const char *const shared_words[MACHINE_SHARED_COUNT] = {
    [MACHINE_SHARES_MEMORY] = "memory",
    [MACHINE_SHARES_SWITCH] = "switch",
};

/* The places of the sizes of rows in a machine's figures. */
#define ROW_PLACE(bytes) ROW_PLACE_##bytes,
enum { MACHINE_ROW_SIZES(ROW_PLACE) ROW_PLACES };
_Static_assert((int)ROW_PLACES == (int)MACHINE_ROW_SIZE_COUNT, "a figure for each size of row");

/* Rows of a size are not slowed down where nobody has measured it. */
#define ROW_SHARE(bytes)                                                                       \
    {"rows",                                                                                   \
     "h2d_share_" #bytes,                                                                      \
     FIELD_REAL,                                                                               \
     offsetof(struct machine, row_h2d_share) + ROW_PLACE_##bytes * sizeof(double),             \
     0.001,                                                                                    \
     1,                                                                                        \
     .otherwise = 1},                                                                          \
        {"rows",                                                                               \
         "d2h_share_" #bytes,                                                                  \
         FIELD_REAL,                                                                           \
         offsetof(struct machine, row_d2h_share) + ROW_PLACE_##bytes * sizeof(double),         \
         0.001,                                                                                \
         1,                                                                                    \
         .otherwise = 1},

/* A group of figures that nobody has measured twice differs by `value`. */
#define SPREAD(key, name, value)                                                               \
    {                                                                                          \
        "spread", #key, FIELD_REAL,                                                            \
            offsetof(struct machine, spread) + SPREAD_##name * sizeof(double), 0, 3,           \
            .otherwise = value                                                                 \
    }

const struct machine_field machine_fields[] = {
    /* Reports call the machine so, and devices find their machine file by it. */
    NEEDED("machine", summary, FIELD_TEXT, 0, 0),
    /* Lists of machines show it; nothing else asks. */
    MEANS("machine", architecture, FIELD_TEXT, 0, 0, 0),
    NEEDED("machine", compute_capability, FIELD_REAL, 1, 99),
    /* Most hosts have one. */
    MEANS("machine", devices, FIELD_U32, 1, MACHINE_DEVICES_MAX, 1),

    /* GPUs have one engine per direction since Fermi, but for small ones. */
    MEANS("copies", copy_engines, FIELD_INT, 1, 2, 2),
    NEEDED("copies", h2d_bytes_per_s, FIELD_REAL, 1e6, 1e15),
    NEEDED("copies", d2h_bytes_per_s, FIELD_REAL, 1e6, 1e15),
    NEEDED("copies", joint_bytes_per_s, FIELD_REAL, 1e6, 1e15),
    /* A file that says nothing of it was written when no rule asked for it: 0. */
    MEANS("copies", copy_start_ns, FIELD_NS, 0, 1e9, 0),
    /* Latencies and gaps were measured on an H200; others are assumed to be alike. */
    MEANS("copies", h2d_latency_ns, FIELD_NS, 0, 1e9, 1300),
    MEANS("copies", d2h_latency_ns, FIELD_NS, 0, 1e9, 1400),
    MEANS("copies", h2d_gap_ns, FIELD_NS, 0, 1e9, 1340),
    LIKE("copies", d2h_gap_ns, FIELD_NS, 0, 1e9, 1, h2d_gap_ns),
    /* Without it, a copy that something waits for is followed by the next one as any other. */
    LIKE("copies", signal_gap_ns, FIELD_NS, 0, 1e9, 1, h2d_gap_ns),
    /* Nobody guesses these two: batches of copies came with CUDA 12.8. */
    MEANS("copies", batch_gap_ns, FIELD_NS, 0, 1e9, 0),
    /* Half of the rate from page-locked memory, for each byte is moved twice. */
    LIKE("copies", pageable_h2d_bytes_per_s, FIELD_REAL, 1e6, 1e15, 0.5, h2d_bytes_per_s),
    LIKE("copies", pageable_d2h_bytes_per_s, FIELD_REAL, 1e6, 1e15, 0.5, d2h_bytes_per_s),
    /* Copies in of 64 KiB or less return at once: CUDA C++ programming guide. */
    MEANS("copies", staging_bytes, FIELD_U64, 1, 1e12, 65536),
    /* On an H200 copies of up to a MiB took the engine no longer than page-locked ones. */
    MEANS("copies", staging_piece_bytes, FIELD_U64, 1, 1e12, 1 << 20),
    /* A file that says nothing of peers is of a machine whose devices can't copy to each other:
     * 0. */
    MEANS("copies", peer_bytes_per_s, FIELD_REAL, 0, 1e15, 0),
    /* Without it, neither direction takes anything from the other. */
    LIKE("copies", peer_joint_bytes_per_s, FIELD_REAL, 0, 1e15, 2, peer_bytes_per_s),
    /* Where nobody has measured it, a copy begins as one out does. */
    LIKE("copies", peer_latency_ns, FIELD_NS, 0, 1e9, 1, d2h_latency_ns),
    /* Fitted to what an H200 did: the rates are assumed to be the same parts of copies' rates
     * everywhere, and the times the same. */
    LIKE("copies", prefetch_in_bytes_per_s, FIELD_REAL, 1e6, 1e15, 0.86, h2d_bytes_per_s),
    LIKE("copies", prefetch_out_bytes_per_s, FIELD_REAL, 1e6, 1e15, 0.29, d2h_bytes_per_s),
    MEANS("copies", prefetch_in_ns, FIELD_NS, 0, 1e9, 7500),
    MEANS("copies", prefetch_out_ns, FIELD_NS, 0, 1e9, 40000),
    MEANS("copies", prefetch_begin_ns, FIELD_NS, 0, 1e9, 65000),
    LIKE("copies", fault_bytes_per_s, FIELD_REAL, 1e6, 1e15, 0.17, h2d_bytes_per_s),
    MEANS("copies", fault_ns, FIELD_NS, 0, 1e9, 200000),

    MACHINE_ROW_SIZES(ROW_SHARE)

        NEEDED("kernels", sms, FIELD_U32, 1, 65536),
    /* Both are those of most compute capabilities from 5.0 on: CUDA C++ programming guide. */
    MEANS("kernels", threads_per_sm, FIELD_U32, KERNEL_THREADS, 65536, 2048),
    MEANS("kernels", blocks_per_sm, FIELD_U32, 1, 1024, 32),
    NEEDED("kernels", memory_bytes_per_s, FIELD_REAL, 1e6, 1e15),
    NEEDED("kernels", flops_per_s, FIELD_REAL, 1e6, 1e18),
    /* Half of the blocks keep memory and arithmetic busy: assumed of GPUs never measured. */
    MEANS("kernels", arithmetic_fill, FIELD_REAL, 0.001, 1, 0.5),
    MEANS("kernels", memory_fill, FIELD_REAL, 0.001, 1, 0.5),
    /* Without it, a block's rate is the same however few there are. */
    MEANS("kernels", idle_memory_share, FIELD_REAL, 0.05, 1, 1),
    /* Measured on an H200, and assumed to be the same everywhere. */
    MEANS("kernels", leftover_excess, FIELD_REAL, 1, 32, 1.35),
    /* Small for a GPU of today, so that a plan that fits here fits there. */
    MEANS("kernels", memory_bytes, FIELD_U64, 1, 1e15, 8589934592.0),
    MEANS("kernels", l2_bytes, FIELD_U64, 0, 1e12, 0), /* unknown: it keeps nothing */
    /* Measured on an H200, and assumed to be the same everywhere. */
    MEANS("kernels", kernel_latency_ns, FIELD_NS, 0, 1e9, 1700),
    MEANS("kernels", kernel_gap_ns, FIELD_NS, 0, 1e9, 1250),
    /* Without it, kernels follow one another in a graph as they do in streams. */
    LIKE("kernels", graph_gap_ns, FIELD_NS, 0, 1e9, 1, kernel_gap_ns),
    MEANS("kernels", kernel_fixed_ns, FIELD_NS, 0, 1e9, 1250),
    /* Nobody guesses it: a launch starts and ends as on the device's memory. */
    MEANS("kernels", mapped_latency_ns, FIELD_NS, 0, 1e9, 0),
    /* Measured on an H200, and assumed to be the same everywhere: the slice is the driver's. */
    MEANS("kernels", time_slice_ns, FIELD_NS, 1, 1e9, 2093600),
    MEANS("kernels", context_switch_ns, FIELD_NS, 1, 1e9, 137000),
    /* Resident grids of most devices from compute capability 5.0 on: the same guide. */
    MEANS("kernels", concurrent_kernels, FIELD_U32, 1, 65536, 128),

    /* CUDA_DEVICE_MAX_CONNECTIONS: its default and its largest value. */
    MEANS("streams", queues, FIELD_U32, 1, 1024, 8),
    MEANS("streams", queues_max, FIELD_U32, 1, 1024, 32),
    /* Measured on an H200, as are the next four, and assumed to be the same everywhere. */
    MEANS("streams", queue_depth, FIELD_U32, 1, 1e9, 1024),
    MEANS("streams", h2d_dependency_ns, FIELD_NS, 0, 1e9, 5300),
    MEANS("streams", kernel_dependency_ns, FIELD_NS, 0, 1e9, 5200),
    MEANS("streams", d2h_dependency_ns, FIELD_NS, 0, 1e9, 6200),
    MEANS("streams", poll_ns, FIELD_NS, 0, 1e9, 500),
    /* cudaDeviceGetStreamPriorityRange() on most GPUs from compute capability 7.0 on. */
    MEANS("streams", priority_least, FIELD_INT, -1000, 1000, 0),
    MEANS("streams", priority_greatest, FIELD_INT, -1000, 1000, -5),

    /* A file that says nothing of graphs is of a machine that knows none: 0. */
    MEANS("host", graph_launch_ns, FIELD_NS, 0, 1e9, 0),
    MEANS("host", graph_launch_node_ns, FIELD_NS, 0, 1e9, 0),
    MEANS("host", graph_node_ns, FIELD_NS, 0, 1e9, 0),
    /* A file that says nothing of it is of a time when no rule asked for it: every graph was
     * launched as a whole. */
    MEANS("host", graph_copies_node_ns, FIELD_NS, 0, 1e9, 0),
    MEANS("host", issue_batch_copy_ns, FIELD_NS, 0, 1e9, 0),
    /* Calls to the driver were measured beside an H200; other hosts are assumed to be alike. */
    MEANS("host", issue_copy_ns, FIELD_NS, 0, 1e9, 1900),
    MEANS("host", issue_kernel_ns, FIELD_NS, 0, 1e9, 4200),
    MEANS("host", issue_record_ns, FIELD_NS, 0, 1e9, 800),
    MEANS("host", issue_wait_ns, FIELD_NS, 0, 1e9, 150),
    MEANS("host", issue_callback_ns, FIELD_NS, 0, 1e9, 1500),
    MEANS("host", callback_ns, FIELD_NS, 0, 1e9, 2000),
    /* A file that says nothing of it was written when no rule asked for it: 0. */
    MEANS("host", callback_latency_ns, FIELD_NS, 0, 1e9, 0),
    MEANS("host", callback_wake_ns, FIELD_NS, 0, 1e9, 0),
    /* Code counts as loaded before the run, as it mostly is. */
    MEANS("host", lazy_load_ns, FIELD_NS, 0, 1e9, 0),
    /* Measured beside an H200, as are alloc_ns and pinned_bytes_per_s, and assumed to be the
     * same everywhere. */
    MEANS("host", sync_ns, FIELD_NS, 0, 1e9, 1000),
    MEANS("host", alloc_ns, FIELD_NS, 0, 1e9, 100000),
    /* A file that says nothing of it was written when no rule asked for it: 0. */
    MEANS("host", sync_latency_ns, FIELD_NS, 0, 1e9, 0),
    /* A file that lacks these three is of a time when only pinned_bytes_per_s went by size. */
    LIKE("host", alloc_small_ns, FIELD_NS, 0, 1e9, 1, alloc_ns),
    MEANS("host", alloc_mib_ns, FIELD_NS, 0, 1e9, 0),
    MEANS("host", pinned_ns, FIELD_NS, 0, 1e9, 0),
    MEANS("host", pinned_bytes_per_s, FIELD_REAL, 1e6, 1e15, 3.09e9),
    /* Measured beside an H200; other hosts are assumed to be alike. A file that says nothing of
     * the latter was written when no rule asked for it: 0. */
    MEANS("host", issue_take_ns, FIELD_NS, 0, 1e9, 500),
    MEANS("host", take_first_ns, FIELD_NS, 0, 1e9, 0),
    /* A file that says nothing of the host's memory knows of no limit that devices share. */
    MEANS("host", host_h2d_bytes_per_s, FIELD_REAL, 1e6, 1e15, 1e15),
    MEANS("host", host_d2h_bytes_per_s, FIELD_REAL, 1e6, 1e15, 1e15),
    MEANS("host", host_joint_bytes_per_s, FIELD_REAL, 1e6, 1e15, 1e15),
    /* Files were written when no machine had a switch. */
    WORDS("host", host_shared, shared_words, MACHINE_SHARED_COUNT, MACHINE_SHARES_MEMORY),
    /* A small workstation: 8 cores of 3 GHz, 16 operations each, and two DDR4-3200 channels. */
    MEANS("host", cpu_cores, FIELD_U32, 1, 65536, 8),
    MEANS("host", cpu_bytes_per_s, FIELD_REAL, 1e6, 1e15, 51.2e9),
    MEANS("host", cpu_flops_per_s, FIELD_REAL, 1e6, 1e18, 384e9),
    /* Measured on an H200's host of 16 cores; others are assumed to be alike. */
    MEANS("host", cpu_team_ns, FIELD_NS, 0, 1e9, 12000),
    MEANS("host", cpu_core_share, FIELD_REAL, 1e-6, 1, 0.15),
    /* Packing is work for the cores as any other, where nobody has measured it. */
    MEANS("host", pack_ns, FIELD_NS, 0, 1e9, 0),
    LIKE("host", pack_bytes_per_s, FIELD_REAL, 1e6, 1e15, 1, cpu_bytes_per_s),

    /* The spreads of H200s' figures from one host to another. */
    SPREAD(copies, COPIES, 0.03),
    SPREAD(pageable, PAGEABLE, 0.15),
    SPREAD(managed, MANAGED, 0.2),
    SPREAD(mapped, MAPPED, 0.2),
    SPREAD(kernels, KERNELS, 0.06),
    SPREAD(delays, DELAYS, 0.3),
    SPREAD(calls, CALLS, 0.5),
    SPREAD(callbacks, CALLBACKS, 0.5),
    SPREAD(cpu, CPU, 0.3),
    SPREAD(allocations, ALLOCATIONS, 0.3),
    {.key = NULL},
};

/* A kernel's figure that is missing is not known: then the machine's own stands for it. */
#define KERNEL_FIELD(member, type, least, most)                                                \
    {                                                                                          \
        "kernel", #member, type, offsetof(struct machine_kernel, member), least, most,         \
            .zero_unknown = true                                                               \
    }

const struct machine_field machine_kernel_fields[] = {
    KERNEL_FIELD(fixed_ns, FIELD_NS, 0, 1e9),
    KERNEL_FIELD(bytes_per_s, FIELD_REAL, 1e6, 1e18),
    KERNEL_FIELD(flops_per_s, FIELD_REAL, 1e6, 1e18),
    KERNEL_FIELD(memory_fill, FIELD_REAL, 0.001, 1),
    KERNEL_FIELD(arithmetic_fill, FIELD_REAL, 0.001, 1),
    KERNEL_FIELD(idle_memory_share, FIELD_REAL, 0.05, 1),
    KERNEL_FIELD(mapped_share, FIELD_REAL, 0.001, 1),
    KERNEL_FIELD(cpu_bytes_per_s, FIELD_REAL, 1e6, 1e18),
    KERNEL_FIELD(cpu_flops_per_s, FIELD_REAL, 1e6, 1e18),
    {.key = NULL},
};

_Static_assert(sizeof machine_fields / sizeof machine_fields[0] <= MACHINE_FIELDS_MAX,
               "a reader of files has a place for every key");

const struct machine_field *machine_field_find(const struct machine_field *fields,
                                               const char *key)
{
    for (; fields->key != NULL; fields++) {
        if (strcmp(fields->key, key) == 0)
            return fields;
    }
    return NULL;
}

void machine_field_put(const struct machine_field *field, void *record, double number)
{
    void *place = (char *)record + field->offset;
    switch (field->type) {
    case FIELD_WORD:
    case FIELD_INT:
        *(int *)place = (int)lround(number);
        break;
    case FIELD_U32:
        *(uint32_t *)place = (uint32_t)llround(number);
        break;
    case FIELD_U64:
        *(uint64_t *)place = (uint64_t)llround(number);
        break;
    case FIELD_NS:
        *(int64_t *)place = llround(number);
        break;
    case FIELD_REAL:
        *(double *)place = number;
        break;
    case FIELD_TEXT:
        break;
    }
}

double machine_field_get(const struct machine_field *field, const void *record)
{
    const void *place = (const char *)record + field->offset;
    switch (field->type) {
    case FIELD_WORD:
    case FIELD_INT:
        return *(const int *)place;
    case FIELD_U32:
        return *(const uint32_t *)place;
    case FIELD_U64:
        return (double)*(const uint64_t *)place;
    case FIELD_NS:
        return (double)*(const int64_t *)place;
    case FIELD_REAL:
        return *(const double *)place;
    case FIELD_TEXT:
        break;
    }
    return NAN;
}

void machine_field_default(const struct machine_field *field, struct machine *machine)
{
    double times = 1;
    if (field->like != NULL)
        times = machine_field_get(machine_field_find(machine_fields, field->like), machine);
    double number = times * field->otherwise;
    machine_field_put(field, machine, fmin(fmax(number, field->least), field->most));
}
