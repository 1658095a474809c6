/* machine.h - a GPU and its host, as the simulator obeys it and the limit is judged by it.
 *
 * A machine is read from the text of a machine file, of which those of configs/machines/ are
 * part of the program, or filled by a backend that measured the real device. */
#ifndef PIPELINE_MACHINE_H
#define PIPELINE_MACHINE_H

#include "core/embedded.h"
#include "core/status.h"
#include "kernels/kernel.h"

#include <stdint.h>

enum {
    MACHINE_TEXT = 96,
    MACHINE_KERNELS_MAX = 64,
    MACHINE_DEVICES_MAX = 8,
    MACHINE_FORMAT = 1, /* of machine files: the newest that this program reads, and writes */
};

/* A kernel's measured speeds. 0 stands for what was not measured: then the machine's own
 * figures hold. The rates are those of a launch that fills the GPU. One measurement gives both
 * rates of a kernel of a user's own, which can't be made heavier: its bytes then tell all of
 * its time, and its arithmetic takes none beside them. */
struct machine_kernel {
    char name[MACHINE_TEXT];
    int64_t fixed_ns;   /* a launch's time beside its work */
    double bytes_per_s; /* of device memory, where memory is the bound */
    double flops_per_s; /* of the kernel's own `flops`, where arithmetic is the bound */
    double memory_fill, arithmetic_fill, idle_memory_share;
    double mapped_share; /* of the link's rates, on the host's memory: machine_mapped_share() */
    double cpu_bytes_per_s, cpu_flops_per_s; /* of the CPU twin on all cores */
};

/* What the copies of several devices share on their way, which bounds them together. */
enum machine_shared {
    MACHINE_SHARES_MEMORY, /* the host's memory: each device has a link of its own */
    MACHINE_SHARES_SWITCH, /* the one link of the switch that all of them are behind */
    MACHINE_SHARED_COUNT
};

/* Smaller pieces of the device's memory the driver takes out of one that it has. */
enum { MACHINE_SMALL_ALLOC = 1 << 20 };

/* The sizes of a row, in bytes, of which machine files have figures. */
#define MACHINE_ROW_SIZES(X) X(64) X(256) X(1024) X(2048) X(4096) X(8192) X(16384) X(65536)
enum { MACHINE_ROW_SIZE_COUNT = 8 };

/* Figures that are off together: by so large a part may each group's be, machine->spread. */
#define MACHINE_SPREADS(X)                                                                     \
    X(COPIES, copies)           /* the rates of copies of page-locked memory */                \
    X(PAGEABLE, pageable)       /* and of pageable memory */                                   \
    X(MANAGED, managed)         /* pages of managed memory */                                  \
    X(MAPPED, mapped)           /* kernels on the host's memory */                             \
    X(KERNELS, kernels)         /* the rates of memory and arithmetic */                       \
    X(DELAYS, delays)           /* what the device takes between ops and beside their work */  \
    X(CALLS, calls)             /* what calls cost the host */                                 \
    X(CALLBACKS, callbacks)     /* callbacks, and how soon they are called */                  \
    X(CPU, cpu)                 /* work of the host's cores */                                 \
    X(ALLOCATIONS, allocations) /* taking memory, and loading code */
enum machine_spread {
#define SPREAD(name, key) SPREAD_##name,
    MACHINE_SPREADS(SPREAD)
#undef SPREAD
        SPREAD_COUNT
};

struct machine {
    char name[MACHINE_TEXT];
    char summary[MACHINE_TEXT];
    char architecture[MACHINE_TEXT]; /* "sm_90" */
    double compute_capability;       /* 9.0: it decides which of the rules for old GPUs hold */
    uint32_t devices;                /* such GPUs in the host, up to MACHINE_DEVICES_MAX */

    /* Copies. */
    int copy_engines; /* 2: one per direction; 1: shared */
    double h2d_bytes_per_s, d2h_bytes_per_s;
    double joint_bytes_per_s; /* both directions together, when both are busy */
    int64_t copy_start_ns;    /* from a copy's issue in an idle stream to its start */
    int64_t h2d_latency_ns, d2h_latency_ns; /* from a copy's start to its first byte */
    /* From a copy's end to the next one's start on its engine: in one stream; and where
     * something else waits for the copy that ended. */
    int64_t h2d_gap_ns, d2h_gap_ns, signal_gap_ns;
    /* From a copy's last byte to the first one of the next copy of its batch. A machine whose
     * gap is 0 knows no batches. */
    int64_t batch_gap_ns;
    /* The parts of the rates above, up to 1, at which one call copies the rows of a block of
     * columns, of each of the sizes. */
    double row_h2d_share[MACHINE_ROW_SIZE_COUNT], row_d2h_share[MACHINE_ROW_SIZE_COUNT];
    /* Pageable memory: the rates at which the host copies to and from its staging buffer; the
     * most bytes that are staged before their call returns, whatever their stream waits for;
     * and the pieces of longer copies. */
    double pageable_h2d_bytes_per_s, pageable_d2h_bytes_per_s;
    uint64_t staging_bytes, staging_piece_bytes;
    /* From device to device, over links that are not the host's: what a device sends or
     * receives, 0 where they can't; what it does of both together; and as h2d_latency_ns. */
    double peer_bytes_per_s, peer_joint_bytes_per_s;
    int64_t peer_latency_ns;
    /* Managed memory. Its pages that are prefetched go into the device and out of it one call's
     * after another's: each call takes its bytes' time and some beside; and before that one in
     * waits in its own stream. Pages that a kernel faults on come at another rate, and the
     * first of them after some time. */
    double prefetch_in_bytes_per_s, prefetch_out_bytes_per_s;
    int64_t prefetch_in_ns, prefetch_out_ns, prefetch_begin_ns;
    double fault_bytes_per_s;
    int64_t fault_ns;
    /* Where processes take turns: how long one has the device, and the change to another. */
    int64_t time_slice_ns, context_switch_ns;

    /* Kernels. */
    uint32_t sms, threads_per_sm, blocks_per_sm;
    double memory_bytes_per_s; /* device memory, reads and writes together */
    double flops_per_s;
    /* Shares of the resident blocks, above 0 and up to 1, that do arithmetic at the full rate,
     * and that saturate the memory. */
    double arithmetic_fill, memory_fill;
    /* A block waits for the memory this part of the time, where nearly none are resident, that
     * it waits where as many are as saturate it; up to 1. */
    double idle_memory_share;
    /* The fullest SM has this many times its even share of a launch's first blocks. */
    double leftover_excess;
    uint64_t memory_bytes;     /* device memory */
    uint64_t l2_bytes;         /* its cache */
    int64_t kernel_latency_ns; /* from its issue in an idle stream to the first block's start */
    int64_t kernel_gap_ns;     /* from a kernel's end to the next one's start in its stream */
    int64_t graph_gap_ns;      /* likewise in a branch of a graph that is launched as a whole */
    int64_t kernel_fixed_ns;   /* a launch's time beside its work, of kernels not measured */
    int64_t mapped_latency_ns; /* that it takes longer on the host's memory, beside its bytes */
    uint32_t concurrent_kernels;

    /* Streams. */
    uint32_t queues, queues_max; /* hardware queues: by default, and at most */
    uint32_t queue_depth;        /* ops that a queue holds before the host's call blocks */
    /* From an op's end to the start of an op that waited for it in another engine, by the kind
     * of the one that waited; and the same again for every other queue of that engine in which
     * something waits. These are means: hardware finds out by looking at its queues in turn. */
    int64_t h2d_dependency_ns, kernel_dependency_ns, d2h_dependency_ns;
    int64_t poll_ns;
    int priority_least, priority_greatest; /* 0 and -5: lower is more urgent */

    /* The host. */
    /* A graph's launch: the host's call, each node's part of that call, and the device's time
     * for each node, one after another, before it can start. A machine whose launch takes 0
     * knows no graphs. Where a node's part of the call is another in a graph that has more than
     * kernels, the call hands such a graph over node by node; 0: it never does. */
    int64_t graph_launch_ns, graph_launch_node_ns, graph_node_ns;
    int64_t graph_copies_node_ns;
    int64_t issue_batch_copy_ns; /* a copy's part of the call that issues a batch of them */
    int64_t issue_copy_ns, issue_kernel_ns, issue_record_ns, issue_wait_ns, issue_callback_ns;
    int64_t callback_ns; /* a callback's time on the driver's thread */
    /* From when a stream has come to a callback until the thread can run it, and what a thread
     * takes beside that has slept for long: rule_callback_told_ns(). */
    int64_t callback_latency_ns, callback_wake_ns;
    int64_t lazy_load_ns; /* loading a kernel's code: added to the call of its first launch */
    int64_t sync_ns;      /* a synchronising call's own time, beside what it waits for */
    int64_t sync_latency_ns; /* from the end of what a call waited for until it hears of that */
    /* A call that takes memory and the one that gives it back, together: in all for less than
     * MACHINE_SMALL_ALLOC of the device's; else beside its MiB, or beside what page-locked
     * memory takes in any case and for its bytes. */
    int64_t alloc_small_ns, alloc_ns, alloc_mib_ns, pinned_ns;
    double pinned_bytes_per_s;
    /* A call that takes memory in stream order, or gives it back; and what the first such call
     * of a run takes beside that. */
    int64_t issue_take_ns, take_first_ns;
    /* What the host gives the copies of many devices at once: into them, out of them, and in
     * both directions together; and what it is that they share there, an enum machine_shared.
     */
    double host_h2d_bytes_per_s, host_d2h_bytes_per_s, host_joint_bytes_per_s;
    int host_shared;
    uint32_t cpu_cores;
    double cpu_bytes_per_s, cpu_flops_per_s; /* all cores */
    /* Waking the cores for a tile and waiting for the last of them; and the part of those rates
     * that one core reaches, which works alone on a tile that is too small for all. */
    int64_t cpu_team_ns;
    double cpu_core_share;
    /* Packing tiles: waking the cores and waiting for the last of them, and the rate at which
     * they read and write. */
    int64_t pack_ns;
    double pack_bytes_per_s;

    double spread[SPREAD_COUNT]; /* 0.02: two in three of the times lie within 2 % */

    struct machine_kernel kernels[MACHINE_KERNELS_MAX];
    int kernel_count;
};

/* Returns the name of a machine of the program's that `name` was meant to be, or NULL. */
const char *machine_nearest(const char *name);

/* Reads the machine called `name` that is part of the program. STATUS_USAGE: there is none. */
enum status machine_built_in(struct machine *machine, const char *name, struct error *error);

/* Returns true if a machine of that `name` is read from a file: it has a slash, or ends in
 * ".ini". */
bool machine_is_path(const char *name);

/* Reads the text of a machine file; `where` is what errors call it. Keys that it lacks get what
 * the table in machine/fields.c has for them. STATUS_USAGE names the line. The machine has no
 * name yet. */
enum status machine_parse(struct machine *machine, const char *text, const char *where,
                          struct error *error);

/* Returns what people call a machine, and its compute capability in tenths: 90 for 9.0. */
const char *machine_title(const struct machine *machine);
int machine_capability(const struct machine *machine);

/* Returns how many blocks of KERNEL_THREADS threads the whole GPU holds at once. */
uint32_t machine_resident_blocks(const struct machine *machine);

/* Returns the row with `kernel`'s measured speeds, or NULL. */
const struct machine_kernel *machine_kernel_find(const struct machine *machine,
                                                 const char *kernel);

/* Returns the kind of section that machine files have for a kernel of that name: "kernel" for
 * one of the table, else "own". */
const char *machine_kernel_section(const char *kernel);

/* A launch's two sides of the roofline: the times in ns that its work takes at the full rate of
 * the device's memory and of its arithmetic, in the mean of a tile's launches of that kernel;
 * the shares of the resident blocks that reach those rates; the part of a block's wait for the
 * memory that is left where that is idle; and the time beside the work. */
struct kernel_cost {
    double memory_ns, arithmetic_ns;
    double memory_fill, arithmetic_fill;
    double idle_memory_share;
    int64_t fixed_ns;
};
struct kernel_cost machine_kernel_cost(const struct machine *machine,
                                       const struct kernel *kernel,
                                       const struct kernel_params *params, uint64_t count);

/* Returns the shortest time in ns in which the whole GPU can do the work of all those launches:
 * the slower side's. */
double machine_kernel_ns(const struct machine *machine, const struct kernel *kernel,
                         const struct kernel_params *params, uint64_t count);

/* Return how long the CPU takes for the same work, and for that of a chain, in ns: one core for
 * work that is not worth a team's (kernel_is_for_team()), else all. Where a kernel's own rate
 * of bytes gives one repeat less time than its rate of arithmetic, which was measured with
 * many, the first repeat takes that. [Measured on two H200s' hosts: `wave` took 1.01 to 1.08 ms
 * for tiles of 1 MiB and 4.1 for 4, where ten repeats say 1.5 and 4.9:
 * bench/results/h200-2026-11-30-rules-again.csv.xz, -rules.csv.xz] */
double machine_cpu_ns(const struct machine *machine, const struct kernel *kernel,
                      const struct kernel_params *params, uint64_t count);

double machine_chain_cpu_ns(const struct machine *machine, const struct kernel *const chain[],
                            int length, const struct kernel_params *params, uint64_t count);

/* Returns the shortest time in ns in which `in` bytes can cross the link into the device and
 * `out` bytes out of it, whatever moves them: each direction at its own rate, both at the joint
 * one. */
double machine_link_ns(const struct machine *machine, double in, double out);

/* Kernels that work on the host's memory get a share of the link's rates, which copy engines
 * get in full: they ask for small pieces, and some for more than their bytes, by their order of
 * access. This share is of kernels that were not measured: an H200 takes 25 ms for one GiB each
 * way, for which the joint rate of its copies would allow 21.3. It is assumed that other GPUs
 * are alike. */
#define MACHINE_MAPPED_SHARE 0.85

/* Returns the share of a kernel; with NULL the largest that any has. */
double machine_mapped_share(const struct machine *machine, const struct kernel *kernel);

/* Rounds a time to whole ns. Times are below MACHINE_NEVER_NS, 36 years, which stands for all
 * that are not: with absurd figures work can take longer than an int64_t tells. The sums and
 * differences of a few times can then be told, too. */
#define MACHINE_NEVER_NS (INT64_MAX / 8)
int64_t machine_round_ns(double ns);

/* Returns true if the machine's devices copy to one another, and its file says how fast. */
static inline bool machine_has_peers(const struct machine *machine)
{
    return machine->peer_bytes_per_s > 0 && machine->peer_joint_bytes_per_s > 0;
}

/* Rounds a time up to whole ns, as simulated work does, lest very short work takes none. */
static inline int64_t machine_ceil_ns(double ns)
{
    if (!(ns < (double)MACHINE_NEVER_NS))
        return MACHINE_NEVER_NS;
    int64_t whole = (int64_t)ns; /* far faster than ceil() where that is a call */
    return whole + ((double)whole < ns);
}

/* Returns the time in ns of a copy of `bytes` with both directions idle before it. */
double machine_copy_ns(const struct machine *machine, int to_device, uint64_t bytes);

/* --- the rate and the latency of copies, from the times of some --- */

/* A line through the times of copies: ns = latency_ns + 1e9 * bytes / bytes_per_s. */
struct copy_line {
    double bytes_per_s;
    double latency_ns; /* may be negative where the times are no line */
    double worst;      /* the largest relative error of a time */
};

/* Fits the line to `count` copies of different sizes, at least two: least squares of the
 * relative errors, for a small copy's time matters as much as a large one's. */
struct copy_line copy_line_fit(const double bytes[], const double ns[], int count);

#endif
