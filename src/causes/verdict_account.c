/* verdict_account.c - charges what was lost on the critical path to what it waited for.
 *
 * The critical path is cut into pieces (analysis/pieces.h). The headway of the work that bounds
 * the run says how much of each piece was lost (analysis/headway.h). What was lost is charged
 * to the piece's cause; where the piece is work that had to be done, to the nearest thing on
 * the path that kept the bounding engine from working meanwhile: the next that something waited
 * for, else the one before. */
#include "analysis/headway.h"
#include "causes/verdict_parts.h"
#include "plan/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HAND_OVERS = 8 }; /* a hand-over is long if that many fill the work */

/* --- the work that bounds a run: the parts of the sums in limit.c --- */

struct verdict_bound {
    const struct verdict_case *facts;
    double in_ns, out_ns, peer_ns; /* per byte, where copies bind */
};

static double kernel_work_ns(const struct verdict_case *facts, const struct op *op)
{
    const struct kernel *kernel = facts->plan->chain[op->kernel.link];
    struct kernel_cost cost =
        machine_kernel_cost(facts->machine, kernel, &facts->plan->params, op->kernel.count);
    const double ns = fmax(cost.memory_ns, cost.arithmetic_ns);
    if (facts->plan->by_link) /* the other devices' kernels are not what binds */
        return plan_link_device(facts->plan, op->kernel.link) == facts->limit->device ? ns : 0;
    return ns / plan_gpus(facts->plan);
}

/* Returns how much of the limit is a span's work, in ns at the machine's rate: a headway_weight
 * with a struct verdict_bound. */
static double bound_work(const void *context, const struct span *span)
{
    const struct verdict_bound *bound = context;
    const struct verdict_case *facts = bound->facts;
    const struct op *op = &facts->plan->ops[span->op];
    if (facts->limit->cause == LIMIT_CPU)
        return span->kind == OP_CPU ? (double)op->cpu.count : 0;
    if (span->kind == OP_KERNEL && facts->plan->has_halo)
        return kernel_work_ns(facts, op); /* copies and kernels are parts of one sum */
    if (facts->limit->cause == LIMIT_COMPUTE && !facts->plan->has_halo)
        return span->kind == OP_KERNEL ? kernel_work_ns(facts, op) : 0;
    if (span->kind == OP_KERNEL && plan_kernels_move_bytes(facts->plan))
        return (double)span->bytes;
    if (op_is_copy(span->kind) && op->copy.host.buffer == BUFFER_HOST_EXCHANGE &&
        !facts->limit->by_host)
        return 0; /* the limit knows a better way */
    double rate = span->kind == OP_H2D    ? bound->in_ns
                  : span->kind == OP_D2H  ? bound->out_ns
                  : span->kind == OP_PEER ? bound->peer_ns
                                          : 0;
    return rate * (double)span->bytes;
}

/* Finds what of the copies binds where devices hand tiles on as peers: one copies in and one
 * out, and each but the last sends as much as another. */
static void find_peer_rates(struct verdict_bound *bound)
{
    const struct machine *machine = bound->facts->machine;
    const struct limit *limit = bound->facts->limit;
    const double in = machine->h2d_bytes_per_s, out = machine->d2h_bytes_per_s;
    const double both = rule_apart_bytes_per_s(machine);
    const uint32_t senders = plan_gpus(bound->facts->plan) - 1;
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

/* Does it for copies from and to the host: which direction binds, or that both do by the link
 * or the engine that they share. */
static void find_copy_rates(struct verdict_bound *bound)
{
    const struct machine *machine = bound->facts->machine;
    const char *figure = bound->facts->limit->figure;
    const uint32_t devices = plan_gpus(bound->facts->plan);
    if (bound->facts->plan->has_halo) {
        const struct host_rates host = rule_host_rates(machine, devices);
        const bool shared = limit_is_shared(bound->facts->limit->cause);
        bound->in_ns = 1e9 / (shared ? host.in : machine->h2d_bytes_per_s * devices);
        bound->out_ns = 1e9 / (shared ? host.out : machine->d2h_bytes_per_s * devices);
        return;
    }
    if (limit_is_shared(bound->facts->limit->cause)) {
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

static void find_rates(struct verdict_bound *bound)
{
    const bool by_host = bound->facts->limit->by_host;
    if (bound->facts->plan->by_link && !by_host)
        find_peer_rates(bound);
    else
        find_copy_rates(bound);
    if (by_host) /* a copy to another device does what one out and one in would */
        bound->peer_ns = bound->in_ns + bound->out_ns;
}

/* --- charging --- */

static void charge(struct verdict_account *account, enum verdict_code code, int64_t cost_ns,
                   const struct path_piece *piece)
{
    struct verdict *item = &account->items[code];
    item->cost_ns += cost_ns;
    if (cost_ns > account->most_ns[code]) {
        account->most_ns[code] = cost_ns;
        item->span = piece->span;
    }
}

/* Finds for each piece that is work what it is charged to: the nearest cause on the path that
 * something waited for, the next one or else the last before. */
static void find_near(const struct verdict_case *facts, const struct path_pieces *pieces,
                      enum verdict_code *near)
{
    enum verdict_code cause = VERDICT_REST;
    for (uint32_t i = pieces->count; i-- > 0;) {
        near[i] = cause;
        enum verdict_code own = verdict_link_cause(facts, &pieces->items[i]);
        cause = own != VERDICT_REST ? own : cause;
    }
    cause = VERDICT_REST;
    for (uint32_t i = 0; i < pieces->count; i++) {
        enum verdict_code own = verdict_link_cause(facts, &pieces->items[i]);
        cause = own != VERDICT_REST ? own : cause;
        near[i] = near[i] != VERDICT_REST ? near[i] : cause;
    }
}

static int64_t length_of(const struct path_piece *piece)
{
    return piece->end_ns - piece->start_ns;
}

/* Charges work that no cause is near to a hand-over right behind it: this kept the engines from
 * working side by side if it took long against the work. */
static void find_hand_overs(const struct verdict_case *facts, const struct path_pieces *pieces,
                            enum verdict_code *near)
{
    for (uint32_t i = 0; i + 1 < pieces->count; i++) {
        const struct path_piece *next = &pieces->items[i + 1];
        if (near[i] == VERDICT_REST && next->kind != PIECE_WORK &&
            length_of(next) >= length_of(&pieces->items[i]) / HAND_OVERS)
            near[i] = verdict_piece_cause(facts, next);
    }
}

static bool keeps_host(enum verdict_code cause)
{
    return cause == VERDICT_SYNC_IN_LOOP || cause == VERDICT_ALLOC_IN_LOOP ||
           cause == VERDICT_PINNED_ALLOC_IN_LOOP || cause == VERDICT_LAUNCH_BLOCKING ||
           cause == VERDICT_PACKING;
}

static void charge_piece(const struct verdict_case *facts, const struct path_piece *piece,
                         int64_t lost_ns, enum verdict_code near,
                         struct verdict_account *account)
{
    enum verdict_code slow, cause = verdict_piece_cause(facts, piece);
    /* The host would have handed the op over long before, had it not waited. */
    if (cause == VERDICT_SMALL_TILES && keeps_host(near))
        cause = near;
    if (cause != VERDICT_REST) {
        charge(account, cause, lost_ns, piece);
        return;
    }
    int64_t slow_ns = verdict_slowness_ns(facts, piece, &slow);
    /* Kernels that leave room on the GPU lose only what others are kept from using. */
    if (slow == VERDICT_FEW_BLOCKS && near != VERDICT_REST)
        slow_ns = 0;
    slow_ns = slow_ns < lost_ns ? slow_ns : lost_ns;
    if (slow_ns > 0)
        charge(account, slow, slow_ns, piece);
    charge(account, near, lost_ns - (slow_ns > 0 ? slow_ns : 0), piece);
}

static enum status charge_all(const struct verdict_case *facts,
                              const struct path_pieces *pieces, const struct headway *headway,
                              struct verdict_account *account, struct error *error)
{
    enum verdict_code *near = malloc((pieces->count + (size_t)1) * sizeof *near);
    if (near == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory for the causes of %u pieces",
                         pieces->count);
    find_near(facts, pieces, near);
    find_hand_overs(facts, pieces, near);
    uint32_t at = 0;
    int64_t lost_ns = 0;
    for (uint32_t i = 0; i < pieces->count; i++) {
        int64_t until_ns = headway_lost_ns(headway, pieces->items[i].end_ns, &at);
        charge_piece(facts, &pieces->items[i], until_ns - lost_ns, near[i], account);
        lost_ns = until_ns;
    }
    /* Where there is no path, all that is lost is left over. */
    account->items[VERDICT_REST].cost_ns += headway->time_ns - headway->limit_ns - lost_ns;
    free(near);
    return STATUS_OK;
}

enum status verdict_account_find(const struct verdict_case *facts,
                                 struct verdict_account *account, struct error *error)
{
    struct verdict_bound bound = {.facts = facts};
    struct path_pieces pieces = {0};
    struct headway headway = {0};
    *account = (struct verdict_account){0};
    for (int code = 0; code < VERDICT_COUNT; code++)
        account->items[code] =
            (struct verdict){.code = (enum verdict_code)code, .span = SPAN_NONE};
    find_rates(&bound);
    enum status status =
        pieces_find(facts->timeline, facts->critical, facts->plan, &pieces, error);
    if (status == STATUS_OK)
        status = headway_find(facts->timeline, facts->limit->ns, bound_work, &bound, &headway,
                              error);
    if (status == STATUS_OK)
        status = charge_all(facts, &pieces, &headway, account, error);
    pieces_free(&pieces);
    headway_free(&headway);
    return status;
}
