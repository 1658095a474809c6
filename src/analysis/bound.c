/* bound.c - the work that bounds a run: the parts of the sums in limit.c. */
#include "analysis/analysis.h"

#include "plan/rules.h"

#include <math.h>
#include <string.h>

static double kernel_work_ns(const struct bound *bound, const struct op *op)
{
    const struct kernel *kernel = bound->plan->chain[op->kernel.link];
    struct kernel_cost cost =
        machine_kernel_cost(bound->machine, kernel, &bound->plan->params, op->kernel.count);
    const double ns = fmax(cost.memory_ns, cost.arithmetic_ns);
    if (bound->plan->by_link) /* the other devices' kernels are not what binds */
        return plan_link_device(bound->plan, op->kernel.link) == bound->limit->device ? ns : 0;
    return ns / plan_gpus(bound->plan);
}

double bound_work(const void *context, const struct span *span)
{
    const struct bound *bound = context;
    const struct op *op = &bound->plan->ops[span->op];
    if (bound->limit->cause == LIMIT_CPU)
        return span->kind == OP_CPU ? (double)op->cpu.count : 0;
    if (span->kind == OP_KERNEL && bound->plan->has_halo)
        return kernel_work_ns(bound, op); /* copies and kernels are parts of one sum */
    if (bound->limit->cause == LIMIT_COMPUTE && !bound->plan->has_halo)
        return span->kind == OP_KERNEL ? kernel_work_ns(bound, op) : 0;
    if (span->kind == OP_KERNEL && plan_kernels_move_bytes(bound->plan))
        return (double)span->bytes;
    if (op_is_copy(span->kind) && op->copy.host.buffer == BUFFER_HOST_EXCHANGE &&
        !bound->limit->by_host)
        return 0; /* the limit knows a better way */
    double rate = span->kind == OP_H2D    ? bound->in_ns
                  : span->kind == OP_D2H  ? bound->out_ns
                  : span->kind == OP_PEER ? bound->peer_ns
                                          : 0;
    return rate * (double)span->bytes;
}

/* Finds what of the copies binds where devices hand tiles on as peers: one copies in and one
 * out, and each but the last sends as much as another. */
static void find_peer_rates(struct bound *bound)
{
    const struct machine *machine = bound->machine;
    const struct limit *limit = bound->limit;
    const double in = machine->h2d_bytes_per_s, out = machine->d2h_bytes_per_s;
    const double both = rule_apart_bytes_per_s(machine);
    const uint32_t senders = plan_gpus(bound->plan) - 1;
    const bool into = strcmp(limit->figure, "h2d_bytes_per_s") == 0;
    const double peer = machine->peer_bytes_per_s;
    const double through = senders > 1 ? fmax(machine->peer_joint_bytes_per_s, peer) / 2 : peer;
    if (limit->cause == LIMIT_PEER)
        bound->peer_ns = 1e9 / fmin(peer, through) / senders;
    else if (limit_is_shared(limit->cause))
        bound->in_ns = bound->out_ns = 1e9 / both;
    else if (into)
        bound->in_ns = 1e9 / in;
    else
        bound->out_ns = 1e9 / out;
}

/* Finds what of the copies from and to the host binds: one direction, or both by the link or
 * the engine that they share. */
static void find_copy_rates(struct bound *bound)
{
    const struct machine *machine = bound->machine;
    const char *figure = bound->limit->figure;
    const uint32_t devices = plan_gpus(bound->plan);
    if (bound->plan->has_halo) {
        const struct host_rates host = rule_host_rates(machine, devices);
        const bool shared = limit_is_shared(bound->limit->cause);
        bound->in_ns = 1e9 / (shared ? host.in : machine->h2d_bytes_per_s * devices);
        bound->out_ns = 1e9 / (shared ? host.out : machine->d2h_bytes_per_s * devices);
        return;
    }
    if (limit_is_shared(bound->limit->cause)) {
        const struct host_rates host = rule_host_rates(machine, devices);
        const bool both = strcmp(figure, "host_joint_bytes_per_s") == 0;
        const bool one = strcmp(figure, "host_h2d_bytes_per_s") == 0;
        bound->in_ns = both ? 1e9 / host.joint : one ? 1e9 / host.in : 0;
        bound->out_ns = both ? 1e9 / host.joint : one ? 0 : 1e9 / host.out;
        return;
    }
    bool turns = machine->copy_engines == 1;
    bool joint = !turns && strcmp(figure, "joint_bytes_per_s") == 0;
    bool in = turns || strcmp(figure, "h2d_bytes_per_s") == 0;
    bool out = turns || strcmp(figure, "d2h_bytes_per_s") == 0;
    bound->in_ns = joint ? 1e9 / machine->joint_bytes_per_s
                   : in  ? 1e9 / machine->h2d_bytes_per_s
                         : 0;
    bound->out_ns = joint ? 1e9 / machine->joint_bytes_per_s
                    : out ? 1e9 / machine->d2h_bytes_per_s
                          : 0;
    bound->in_ns /= devices;
    bound->out_ns /= devices;
}

void bound_find(const struct plan *plan, const struct machine *machine,
                const struct limit *limit, struct bound *bound)
{
    *bound = (struct bound){.plan = plan, .machine = machine, .limit = limit};
    const bool by_host = bound->limit->by_host;
    if (bound->plan->by_link && !by_host)
        find_peer_rates(bound);
    else
        find_copy_rates(bound);
    if (by_host) /* a copy to another device does what one out and one in would */
        bound->peer_ns = bound->in_ns + bound->out_ns;
}
