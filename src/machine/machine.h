/* machine.h - a GPU and its host, as the simulator obeys it and the limit is judged by it.
 *
 * Read from an INI file (configs/machines/NAME.ini, which are also embedded in the binary) or
 * filled by a backend that measured the real device. */
#ifndef PIPELINE_MACHINE_H
#define PIPELINE_MACHINE_H

#include "core/embedded.h"
#include "core/status.h"
#include "kernels/kernels.h"

#include <stdint.h>

enum { MACHINE_TEXT = 96, MACHINE_KERNELS_MAX = 64 };

/* A kernel's measured speed, where there is one; else the memory and arithmetic rates are used.
 */
struct machine_kernel {
    char name[MACHINE_TEXT];
    int64_t fixed_ns;                    /* of a launch, beside its work */
    double arithmetic_fill, memory_fill; /* as the machine's; 0: those */
    double
        bytes_per_s; /* of device memory, when memory-bound and filling the GPU; 0: unknown */
    double flops_per_s; /* of its own `flops`, when arithmetic-bound and filling the GPU; 0
                           likewise */
    double cpu_bytes_per_s, cpu_flops_per_s; /* the CPU twin's, all cores; 0: the machine's */
};

struct machine {
    char name[MACHINE_TEXT];
    char summary[MACHINE_TEXT];
    char architecture[MACHINE_TEXT]; /* "sm_90" */
    double compute_capability;       /* 9.0: which of the rules for old GPUs hold */

    /* Copies. */
    int copy_engines; /* 2: one per direction; 1: shared */
    double h2d_bytes_per_s, d2h_bytes_per_s;
    double joint_bytes_per_s;               /* both directions together, when both are busy */
    int64_t h2d_latency_ns, d2h_latency_ns; /* from a copy's start to its first byte */
    int64_t h2d_gap_ns,
        d2h_gap_ns; /* from a copy's end to the next one's start on its engine, in one stream */
    int64_t signal_gap_ns; /* likewise, where something else waits for the copy that ended */
    /* Pageable memory: as fast as the host can copy to or from its staging buffer, and the
     * piece that it does so with. */
    double pageable_h2d_bytes_per_s, pageable_d2h_bytes_per_s;
    uint64_t staging_bytes;

    /* Kernels. */
    uint32_t sms, threads_per_sm, blocks_per_sm;
    double memory_bytes_per_s; /* device memory, read and write together */
    double flops_per_s;
    /* Shares of the resident blocks that do all the arithmetic, and saturate the memory; 0 < f
     * <= 1 */
    double arithmetic_fill, memory_fill;
    /* Of a launch's first blocks the fullest SM has this many times its even share. */
    double leftover_excess;
    uint64_t memory_bytes;     /* device memory */
    int64_t kernel_latency_ns; /* from its issue in an idle stream to the first block's start */
    int64_t kernel_gap_ns;     /* from a kernel's end to the next one's start in its stream */
    int64_t kernel_fixed_ns; /* what a launch takes beside its work, of kernels not measured */
    uint32_t concurrent_kernels;

    /* Streams. */
    uint32_t queues, queues_max; /* hardware queues: by default, and at most */
    uint32_t queue_depth;        /* ops one queue holds before the host's call blocks */
    /* From an op's end to the start of what waited for it in another engine, by what that is;
     * and more for every other queue of that engine in which something waits. Means: hardware
     * finds out by looking at them in turn. */
    int64_t h2d_dependency_ns, kernel_dependency_ns, d2h_dependency_ns;
    int64_t poll_ns;
    int priority_least, priority_greatest; /* 0 and -5: lower is more urgent */

    /* The host. */
    /* A graph's launch: the host's call, and of it each node's part; and what the device takes
     * for each node, one after another, before it can start. No launch: it knows no graphs. */
    int64_t graph_launch_ns, graph_launch_node_ns, graph_node_ns;
    int64_t issue_copy_ns, issue_kernel_ns, issue_record_ns, issue_wait_ns, issue_callback_ns;
    int64_t callback_ns;  /* a callback's run on the driver's thread */
    int64_t lazy_load_ns; /* the call of a kernel's first launch, beside: it loads the code */
    int64_t sync_ns;      /* a synchronising call's own time, beside what it waits for */
    int64_t alloc_ns;     /* a call that takes memory, and the one that gives it back */
    double pinned_bytes_per_s; /* page-locked memory taken, beside that */
    uint32_t cpu_cores;
    double cpu_bytes_per_s, cpu_flops_per_s; /* all cores */

    struct machine_kernel kernels[MACHINE_KERNELS_MAX];
    int kernel_count;
};

/* Reads the machine called `name` (embedded), or from the file `name` if it holds a '/' or ends
 * in
 * ".ini". STATUS_USAGE names the file and line, or the machines that there are. */
enum status machine_load(struct machine *machine, const char *name, struct error *error);

/* Reads from text; `where` is what errors call it. */
enum status machine_parse(struct machine *machine, const char *text, const char *where,
                          struct error *error);

/* Blocks of KERNEL_THREADS threads that the whole GPU holds at once. */
uint32_t machine_resident_blocks(const struct machine *machine);

/* The row with `kernel`'s measured speeds, or NULL. */
const struct machine_kernel *machine_kernel_find(const struct machine *machine,
                                                 const char *kernel);

/* What a launch's work takes at the full rate of the device's memory and of its arithmetic, in
 * ns, in the mean of a tile's launches of that kernel: the two sides of its roofline; which
 * shares of the resident blocks that takes; and what a launch takes beside. */
struct kernel_cost {
    double memory_ns, arithmetic_ns;
    double memory_fill, arithmetic_fill;
    int64_t fixed_ns;
};
struct kernel_cost machine_kernel_cost(const struct machine *machine,
                                       const struct kernel *kernel,
                                       const struct kernel_params *params, uint64_t count);

/* The shortest time the whole GPU can do the work of all those launches in, in ns: the slower
 * side. */
double machine_kernel_ns(const struct machine *machine, const struct kernel *kernel,
                         const struct kernel_params *params, uint64_t count);

/* How long the CPU's cores take for the same work, in ns. */
double machine_cpu_ns(const struct machine *machine, const struct kernel *kernel,
                      const struct kernel_params *params, uint64_t count);

/* The shortest time in which `in` bytes can cross the link into the device and `out` bytes out
 * of it, in ns, whatever moves them: each direction at its own rate, both at the joint one. */
double machine_link_ns(const struct machine *machine, double in, double out);

/* What kernels that work on the host's memory get of the link's rates, against copy engines:
 * they ask for small pieces. An H200 takes 25 ms for one GiB each way, for which the joint rate
 * of its copies would allow 21.3; that other GPUs are alike is assumed, and so is that each
 * byte crosses once, whatever the kernel's order of access. */
#define MACHINE_MAPPED_SHARE 0.85

/* A time as a whole number of ns. Times are below MACHINE_NEVER_NS, 146 years, which stands for
 * all that are not: with absurd figures work can take longer than an int64_t tells. */
#define MACHINE_NEVER_NS (INT64_MAX / 2)
int64_t machine_round_ns(double ns);

/* A copy of `bytes` on an idle engine with the other direction idle, in ns. */
double machine_copy_ns(const struct machine *machine, int to_device, uint64_t bytes);

#endif
