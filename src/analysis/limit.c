/* limit.c - the lower bound on the time of some work.
 *
 * The link is a fluid: while both directions are busy they share the joint rate, and no
 * direction exceeds its own. Elements are a fluid, too, of which the CPU takes the part that
 * lets it end together with the GPU. */
#include "analysis/limit.h"

#include "plan/rules.h"

#include <math.h>

/* The times in ns that a share of the elements needs on the links (or in what all devices
 * share, if that takes longer) and on the GPUs' units; and what sets the former. */
struct limit_needs {
    double copies, kernels;
    enum limit_cause cause; /* what sets the former */
    struct limit_by by;
    bool by_host; /* by links: tiles are passed on through the host's memory */
};

/* The work as the limit counts it: bytes and ns of all elements. */
struct limit_work {
    uint32_t devices;
    bool by_link;
    uint32_t steps;      /* of a stencil, whose kernels_ns are of all of them; else 0 */
    uint32_t slowest;    /* by links: the device whose kernels take longest */
    double handed_bytes; /* by links: from each device to the next */
    double in_bytes, out_bytes;
    double resident_bytes; /* of inputs that every tile needs, whole on each device */
    double result_bytes;   /* of a reduction: the same for any share */
    double kernels_ns, cpu_ns;
};

/* Sets the time of the kernels: of all or, by links, of the slowest device's. */
static void add_kernels(const struct machine *machine, const struct plan *plan,
                        struct limit_work *work)
{
    double each[MACHINE_DEVICES_MAX] = {0};
    for (uint32_t link = 0; link < (uint32_t)plan->chain_length; link++) {
        const struct kernel *kernel = plan->chain[link];
        const uint32_t device = plan_link_device(plan, link);
        const double handed = (double)plan->elements * (double)dtype_bytes(kernel->out);
        each[device] += machine_kernel_ns(machine, kernel, &plan->params, plan->elements);
        if (device + 1 < work->devices && kernel->shape != KERNEL_REDUCE)
            work->handed_bytes = fmax(work->handed_bytes, handed);
    }
    for (uint32_t device = 1; device < work->devices; device++)
        work->slowest = each[device] > each[work->slowest] ? device : work->slowest;
    work->kernels_ns = each[work->slowest];
}

static struct limit_work work_of(const struct machine *machine, const struct plan *plan)
{
    uint64_t second =
        chain_second_count(plan->chain, plan->chain_length, &plan->params, plan->elements);
    const struct kernel *last = plan_last_kernel(plan);
    double out = (double)dtype_bytes(last->out);
    bool reduces = last->shape == KERNEL_REDUCE;
    struct limit_work work = {
        .devices = plan_gpus(plan),
        .by_link = plan->by_link,
        .steps = plan->has_halo ? plan->params.steps : 0,
        .in_bytes = (double)(plan->elements + second) * (double)dtype_bytes(plan->chain[0]->in),
        .out_bytes = reduces ? 0 : (double)plan->elements * out,
        .result_bytes = reduces ? out : 0,
        .resident_bytes =
            (double)chain_resident_bytes(plan->chain, plan->chain_length, &plan->params),
        .cpu_ns = machine_chain_cpu_ns(machine, plan->chain, plan->chain_length, &plan->params,
                                       plan->elements),
    };
    add_kernels(machine, plan, &work);
    work.kernels_ns *= plan->has_halo ? work.steps : 1;
    return work;
}

/* Returns the time of copies of `in` and `out` bytes. With an engine each, both directions run
 * at once, at the rates that they then have, until one is done; with one engine, they take
 * turns. */
static double copies_ns(const struct machine *machine, double in, double out)
{
    double in_rate = machine->h2d_bytes_per_s, out_rate = machine->d2h_bytes_per_s;
    double in_beside = rule_copy_bytes_per_s(machine, OP_H2D, true);
    double out_beside = rule_copy_bytes_per_s(machine, OP_D2H, true);
    double together_s = fmin(in / in_beside, out / out_beside);
    if (machine->copy_engines == 1 || in_beside / in_rate + out_beside / out_rate <= 1)
        together_s = 0;
    return 1e9 * (together_s + (in - in_beside * together_s) / in_rate +
                  (out - out_beside * together_s) / out_rate);
}

/* Returns the time to move `in` and `out` bytes over the link of each of `devices`, and sets
 * which rate sets it. Kernels on mapped memory need no engine and can move both at once, but
 * use the link less well. */
static double link_ns(const struct machine *machine, uint32_t devices, double in, double out,
                      struct limit_by *by)
{
    double in_s = in / machine->h2d_bytes_per_s, out_s = out / machine->d2h_bytes_per_s;
    double copies = copies_ns(machine, in, out);
    double mapped = machine_link_ns(machine, in, out) / machine_mapped_share(machine, NULL);
    bool shared = machine->copy_engines == 2 || mapped < copies;
    const bool joint = shared && (in + out) / machine->joint_bytes_per_s > fmax(in_s, out_s);
    const bool turns = machine->copy_engines == 1; /* whichever takes longer, both do */
    const double both_ns = 1e9 / machine->joint_bytes_per_s / devices,
                 in_ns = 1e9 / machine->h2d_bytes_per_s / devices,
                 out_ns = 1e9 / machine->d2h_bytes_per_s / devices;
    if (joint)
        *by = (struct limit_by){"joint_bytes_per_s", both_ns, both_ns, 0};
    else if (in_s >= out_s)
        *by = (struct limit_by){"h2d_bytes_per_s", in_ns, 0, 0};
    else
        *by = (struct limit_by){"d2h_bytes_per_s", 0, out_ns, 0};
    if (turns)
        *by = (struct limit_by){by->figure, in_ns, out_ns, 0};
    return fmin(copies, mapped);
}

/* Returns the least time that what devices share takes for all their copies of `in` and `out`
 * bytes, and sets which figure sets it; 0 for a single device, whose own rates include that. */
static double host_ns(const struct machine *machine, uint32_t devices, double in, double out,
                      struct limit_by *by)
{
    if (devices == 1)
        return 0;
    const struct host_rates rates = rule_host_rates(machine, devices);
    const double in_s = in / rates.in, out_s = out / rates.out;
    const double joint_s = (in + out) / rates.joint;
    if (joint_s > fmax(in_s, out_s))
        *by = (struct limit_by){"host_joint_bytes_per_s", 1e9 / rates.joint, 1e9 / rates.joint,
                                0};
    else if (in_s >= out_s)
        *by = (struct limit_by){"host_h2d_bytes_per_s", 1e9 / rates.in, 0, 0};
    else
        *by = (struct limit_by){"host_d2h_bytes_per_s", 0, 1e9 / rates.out, 0};
    return 1e9 * fmax(joint_s, fmax(in_s, out_s));
}

static enum limit_cause shared_cause(const struct machine *machine)
{
    return machine->host_shared == MACHINE_SHARES_SWITCH ? LIMIT_SWITCH : LIMIT_HOST;
}

/* Raises what the copies need to `ns`, if that is more. */
static void need(struct limit_needs *needs, double ns, enum limit_cause cause,
                 struct limit_by by)
{
    if (ns <= needs->copies)
        return;
    needs->copies = ns;
    needs->cause = cause;
    needs->by = by;
}

/* By links and the host: each device's link carries what comes in and what goes on. */
static void need_by_host(const struct machine *machine, uint32_t devices, double in, double out,
                         double handed, struct limit_needs *needs)
{
    struct limit_by by = {0};
    double ns = link_ns(machine, devices, in, handed, &by);
    need(needs, ns, LIMIT_COPIES, by);
    ns = link_ns(machine, devices, handed, out, &by);
    need(needs, ns, LIMIT_COPIES, by);
    if (devices > 2) {
        ns = link_ns(machine, devices, handed, handed, &by);
        need(needs, ns, LIMIT_COPIES, by);
    }
    const double more = (devices - 1) * handed;
    ns = host_ns(machine, devices, in + more, out + more, &by);
    need(needs, ns, shared_cause(machine), by);
    needs->by_host = true; /* a copy to another device does what one out and one in would */
    needs->by.peer_ns = needs->by.in_ns + needs->by.out_ns;
}

/* By links, as peers: one device's link carries what comes in, and another's what goes out; a
 * device in between receives and sends at once. */
static void need_as_peers(const struct machine *machine, uint32_t devices, double in,
                          double out, double handed, struct limit_needs *needs)
{
    const double in_rate = machine->h2d_bytes_per_s, out_rate = machine->d2h_bytes_per_s;
    const double both = rule_apart_bytes_per_s(machine), peer = machine->peer_bytes_per_s;
    /* Between two others a device may also do one after the other. */
    const bool at_once = machine->peer_joint_bytes_per_s > peer;
    const double joint = at_once ? machine->peer_joint_bytes_per_s : peer;
    /* Each but the last sends as much as another. */
    const double peer_ns = 1e9 / fmin(peer, devices > 2 ? joint / 2 : peer) / (devices - 1);
    need(needs, 1e9 * in / in_rate, LIMIT_COPIES,
         (struct limit_by){"h2d_bytes_per_s", 1e9 / in_rate, 0, 0});
    need(needs, 1e9 * out / out_rate, LIMIT_COPIES,
         (struct limit_by){"d2h_bytes_per_s", 0, 1e9 / out_rate, 0});
    need(needs, 1e9 * (in + out) / both, shared_cause(machine),
         (struct limit_by){"host_joint_bytes_per_s", 1e9 / both, 1e9 / both, 0});
    need(needs, 1e9 * handed / peer, LIMIT_PEER,
         (struct limit_by){"peer_bytes_per_s", 0, 0, peer_ns});
    if (devices > 2)
        need(needs, 2e9 * handed / joint, LIMIT_PEER,
             (struct limit_by){at_once ? "peer_joint_bytes_per_s" : "peer_bytes_per_s", 0, 0,
                               peer_ns});
}

/* Does what needs_of() does if devices have parts of the chain. */
static struct limit_needs needs_by_link(const struct machine *machine,
                                        const struct limit_work *work, double share)
{
    const double in = share * work->in_bytes + work->resident_bytes;
    const double out = share * work->out_bytes + work->result_bytes;
    const double handed = share * work->handed_bytes;
    struct limit_needs needs = {.kernels = share * work->kernels_ns,
                                .by.figure = "h2d_bytes_per_s"};
    struct limit_needs as_peers = needs, by_host = needs;
    need_by_host(machine, work->devices, in, out, handed, &by_host);
    if (machine_has_peers(machine))
        need_as_peers(machine, work->devices, in, out, handed, &as_peers);
    return machine_has_peers(machine) && as_peers.copies <= by_host.copies ? as_peers : by_host;
}

/* Does what needs_of() does for a stencil. A step works on all rows, so a device's copies in,
 * its steps and its copies out follow one another: `copies` is both ways. With at least as many
 * steps as devices the last ones need what came to any device, so everything is in before
 * anything goes out; the steps in which a device may be ahead of others are then not counted.
 */
static struct limit_needs needs_in_steps(const struct machine *machine,
                                         const struct limit_work *work)
{
    const uint32_t devices = work->devices, ahead = devices - 1;
    const double in = work->in_bytes, out = work->out_bytes;
    const double in_rate = machine->h2d_bytes_per_s, out_rate = machine->d2h_bytes_per_s;
    const double link = 1e9 / devices * (in / in_rate + out / out_rate);
    const struct limit_by links = {in / in_rate >= out / out_rate ? "h2d_bytes_per_s"
                                                                  : "d2h_bytes_per_s",
                                   1e9 / (in_rate * devices), 1e9 / (out_rate * devices), 0};
    struct limit_needs needs = {.kernels = work->kernels_ns / devices};
    need(&needs, link, LIMIT_COPIES, links);
    if (devices == 1 || work->steps <= ahead)
        return needs;
    const struct host_rates rates = rule_host_rates(machine, devices);
    const double host = 1e9 * (in / rates.in + out / rates.out);
    need(&needs, host - needs.kernels * ahead / work->steps, shared_cause(machine),
         (struct limit_by){in / rates.in >= out / rates.out ? "host_h2d_bytes_per_s"
                                                            : "host_d2h_bytes_per_s",
                           1e9 / rates.in, 1e9 / rates.out, 0});
    if (needs.copies < needs.kernels) /* copies are the lesser part, and count as on a link */
        needs.by = links;
    return needs;
}

static struct limit_needs needs_of(const struct machine *machine, const struct limit_work *work,
                                   double share)
{
    if (work->steps > 0)
        return needs_in_steps(machine, work);
    if (work->by_link)
        return needs_by_link(machine, work, share);
    const uint32_t devices = work->devices;
    const double in = share * work->in_bytes, out = share * work->out_bytes;
    struct limit_by by = {0};
    struct limit_needs needs = {.kernels = share * work->kernels_ns / devices};
    needs.copies = link_ns(machine, devices, in / devices + work->resident_bytes,
                           out / devices + work->result_bytes, &needs.by);
    const double host = host_ns(machine, devices, in + devices * work->resident_bytes,
                                out + work->result_bytes, &by);
    need(&needs, host, shared_cause(machine), by);
    return needs;
}

/* Returns the GPU's share with which it and the CPU end together; 0 if the CPU is done before
 * the GPU has what it needs to begin. The GPU's time grows with its share, and the CPU's falls.
 */
static double best_share(const struct machine *machine, const struct limit_work *work)
{
    enum { HALVINGS = 60 };
    double low = 0, high = 1;
    for (int i = 0; i < HALVINGS; i++) {
        double share = (low + high) / 2;
        struct limit_needs needs = needs_of(machine, work, share);
        if (fmax(needs.copies, needs.kernels) < (1 - share) * work->cpu_ns)
            low = share;
        else
            high = share;
    }
    return low;
}

/* Returns the figure of the chain's kernel that takes most of the GPU's time. */
static const char *kernel_figure(const struct machine *machine, const struct plan *plan)
{
    double most = -1;
    const char *figure = "flops_per_s";
    for (int i = 0; i < plan->chain_length; i++) {
        struct kernel_cost cost =
            machine_kernel_cost(machine, plan->chain[i], &plan->params, plan->elements);
        double ns = fmax(cost.memory_ns, cost.arithmetic_ns);
        if (ns <= most)
            continue;
        most = ns;
        figure = cost.memory_ns > cost.arithmetic_ns ? "bytes_per_s" : "flops_per_s";
    }
    return figure;
}

/* Rounds down, because the limit has to be below a sum of whole ns. */
static int64_t floor_ns(double ns)
{
    return ns < (double)MACHINE_NEVER_NS ? (int64_t)floor(ns) : MACHINE_NEVER_NS;
}

struct limit limit_of(const struct machine *machine, const struct plan *plan)
{
    struct limit_work work = work_of(machine, plan);
    struct limit_needs all = needs_of(machine, &work, 1);
    struct limit limit = {.copies_ns = floor_ns(all.copies),
                          .compute_ns = floor_ns(all.kernels)};
    double share = plan->cpu_helps ? best_share(machine, &work) : 1;
    struct limit_needs needs = needs_of(machine, &work, share);
    double ns =
        plan->has_halo ? needs.copies + needs.kernels : fmax(needs.copies, needs.kernels);
    if (plan->cpu_helps) {
        limit.cpu_ns = floor_ns(work.cpu_ns);
        limit.cpu_share = 1 - share;
        ns = fmin(ns, (1 - share) * work.cpu_ns);
    }
    bool copies = needs.copies >= needs.kernels;
    limit.ns = floor_ns(ns);
    limit.device = work.slowest;
    limit.by_host = needs.by_host;
    limit.cause = limit.cpu_share > 0.5 ? LIMIT_CPU : copies ? needs.cause : LIMIT_COMPUTE;
    limit.figure = limit.cause == LIMIT_CPU       ? "cpu_flops_per_s"
                   : limit.cause == LIMIT_COMPUTE ? kernel_figure(machine, plan)
                                                  : needs.by.figure;
    limit.copies = needs.by;
    return limit;
}

struct limit limit_of_recorded(const struct machine *machine, const struct plan *plan,
                               int64_t kernels_most_ns)
{
    double in = 0, out = 0, kernels = 0, peers = 0;
    struct limit_by by;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        const struct op_recorded *seen = &plan->recorded->ops[i];
        in += op->kind == OP_H2D && !seen->repeats ? (double)op_bytes(op) : 0;
        out += op->kind == OP_D2H ? (double)op_bytes(op) : 0;
        kernels += op->kind == OP_KERNEL ? (double)seen->work_ns * seen->fill : 0;
        if (op->kind == OP_PEER)
            peers += machine_has_peers(machine)
                         ? 1e9 * (double)op_bytes(op) / machine->peer_bytes_per_s
                         : (double)seen->work_ns;
    }
    /* Kernels of which it is not known what they work on may need their order. */
    if (kernels > (double)kernels_most_ns || plan->recorded->access_count == 0)
        kernels = (double)kernels_most_ns;
    double copies = link_ns(machine, 1, in, out, &by);
    bool bound = copies >= kernels, by_peers = peers > fmax(copies, kernels);
    return (struct limit){
        .ns = floor_ns(fmax(peers, fmax(copies, kernels))),
        .cause = by_peers ? LIMIT_PEER
                 : bound  ? LIMIT_COPIES
                          : LIMIT_COMPUTE,
        .figure = by_peers ? "peer_bytes_per_s"
                  : bound  ? by.figure
                           : "kernels",
        .copies_ns = floor_ns(copies),
        .compute_ns = floor_ns(kernels),
    };
}

void limit_correct(struct limit *limit, int64_t time_ns)
{
    if (time_ns >= limit->ns)
        return;
    limit->claimed_ns = limit->ns;
    limit->ns = time_ns;
}

const char *limit_cause_name(enum limit_cause cause)
{
    static const char *const names[] = {
        [LIMIT_COPIES] = "copies",    [LIMIT_COMPUTE] = "compute", [LIMIT_CPU] = "cpu",
        [LIMIT_HOST] = "host-memory", [LIMIT_SWITCH] = "switch",   [LIMIT_PEER] = "peer",
    };
    return names[cause];
}
