/* verdict.c - charges what was lost to causes, and says which of them are worth a name. */
#include "analysis/analysis.h"
#include "analysis/foreign.h"
#include "analysis/headway.h"
#include "analysis/verdict_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const double NAMED_SHARE = 0.04;    /* a cause of less of the run's time is not named */
static const double PROFILER_SHARE = 0.03; /* nor is the tracing itself, of less than this */
enum {
    HAND_OVERS = 8,     /* a hand-over is long if that many fill the work */
    MEASURED_NS = 1000, /* measured times may be off against each other by that much */
};

/* --- timelines that can't be get no verdict --- */

static enum status refuse(const struct timeline *timeline, const struct span *span,
                          const char *what, struct error *error)
{
    char name[SPAN_NAME];
    return error_set(error, STATUS_FAILED, "no verdict: op %" PRIu32 " (%s) %s", span->op,
                     timeline_span_name(timeline, span, name), what);
}

static enum status check_span(const struct timeline *timeline, const struct span *span,
                              const struct plan *plan, struct error *error)
{
    if (span->kind >= OP_KIND_COUNT || span->engine >= ENGINE_COUNT)
        return error_set(error, STATUS_FAILED, "no verdict: op %" PRIu32 " is of no kind",
                         span->op);
    if (span->end_ns < span->start_ns)
        return refuse(timeline, span, "ends before it starts", error);
    if (span->start_ns < 0)
        return refuse(timeline, span, "starts before the run", error);
    if (plan == NULL)
        return STATUS_OK;
    if (span->op >= plan->op_count)
        return error_set(error, STATUS_FAILED,
                         "no verdict: the plan has %" PRIu32 " ops, and none numbered %" PRIu32,
                         plan->op_count, span->op);
    const struct op *op = &plan->ops[span->op];
    if (span->kind != op->kind || span->stream != op->stream || span->tile != op->tile)
        return refuse(timeline, span, "is not what the plan has in its place", error);
    return STATUS_OK;
}

static enum status check_engine(const struct timeline *timeline, enum engine engine,
                                struct span **spans, struct error *error)
{
    int64_t leeway_ns = timeline->timing == TIMING_VIRTUAL ? 0 : MEASURED_NS;
    size_t count = timeline_engine_spans(timeline, engine, spans);
    for (size_t i = 1; i < count; i++) {
        const struct span *before = spans[i - 1], *span = spans[i];
        char name[SPAN_NAME];
        if (span->start_ns + leeway_ns >= before->end_ns)
            continue;
        return error_set(error, STATUS_FAILED,
                         "no verdict: op %" PRIu32 " (%s) starts while op %" PRIu32
                         " is on the same copy engine",
                         span->op, timeline_span_name(timeline, span, name), before->op);
    }
    return STATUS_OK;
}

enum status verdict_check(const struct timeline *timeline, const struct plan *plan,
                          struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < timeline->span_count && status == STATUS_OK; i++)
        status = check_span(timeline, &timeline->spans[i], plan, error);
    if (status != STATUS_OK)
        return status;
    struct span **spans = malloc((timeline->span_count + (size_t)1) * sizeof *spans);
    if (spans == NULL)
        return error_set(error, STATUS_FAILED, "no memory to check %" PRIu32 " spans",
                         timeline->span_count);
    status = check_engine(timeline, ENGINE_H2D, spans, error);
    if (status == STATUS_OK)
        status = check_engine(timeline, ENGINE_D2H, spans, error);
    free(spans);
    return status;
}

/* --- the work that bounds a run: the parts of the sums in limit.c --- */

struct verdict_bound {
    const struct verdict_case *facts;
    struct limit limit;
    enum engine engine;            /* a trace's busiest */
    double in_ns, out_ns;          /* per byte, where copies bind, in the middle of the run */
    int32_t first_tile, last_tile; /* the tile that went in first, and that came out last */
};

static double kernel_work_ns(const struct verdict_case *facts, const struct op *op)
{
    const struct kernel *kernel = facts->plan->chain[op->kernel.link];
    struct kernel_cost cost =
        machine_kernel_cost(facts->machine, kernel, &facts->plan->params, op->kernel.count);
    return fmax(cost.memory_ns, cost.arithmetic_ns);
}

static double copy_work_ns(const struct verdict_bound *bound, const struct span *span)
{
    const struct machine *machine = bound->facts->machine;
    bool in = span->kind == OP_H2D, copies = bound->limit.cause == LIMIT_COPIES;
    double alone = 1e9 / (in ? machine->h2d_bytes_per_s : machine->d2h_bytes_per_s);
    bool edge =
        in ? span->tile == bound->first_tile || span->tile < 0 : span->tile == bound->last_tile;
    double rate = edge ? alone : !copies ? 0 : in ? bound->in_ns : bound->out_ns;
    return rate * (double)span->bytes;
}

/* Returns how much of the limit is a span's work, in ns at the machine's rate: a headway_weight
 * with a struct verdict_bound. Before the first tile is in, and behind the last one's kernels,
 * its copies are all that can be done, so they count whatever binds. */
static double bound_work(const void *context, const struct span *span)
{
    const struct verdict_bound *bound = context;
    const struct verdict_case *facts = bound->facts;
    if (facts->plan == NULL)
        return span->engine == bound->engine ? (double)(span->end_ns - span->start_ns) : 0;
    const struct op *op = &facts->plan->ops[span->op];
    bool copies = bound->limit.cause == LIMIT_COPIES;
    bool edge = span->tile == bound->first_tile || span->tile == bound->last_tile;
    if (bound->limit.cause == LIMIT_CPU)
        return span->kind == OP_CPU ? (double)op->cpu.count : 0;
    if (op_is_copy(span->kind))
        return copy_work_ns(bound, span);
    if (span->kind != OP_KERNEL)
        return 0;
    if (bound->limit.cause == LIMIT_LINK)
        return (double)span->bytes;
    return !copies || edge ? kernel_work_ns(facts, op) : 0;
}

/* Finds which direction binds, or that both do by the link that they share. */
static void find_rates(struct verdict_bound *bound)
{
    const struct machine *machine = bound->facts->machine;
    const struct timeline *timeline = bound->facts->timeline;
    double in = 0, out = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        in += span->kind == OP_H2D ? (double)span->bytes : 0;
        out += span->kind == OP_D2H ? (double)span->bytes : 0;
    }
    double in_s = in / machine->h2d_bytes_per_s, out_s = out / machine->d2h_bytes_per_s;
    double both_s = (in + out) / machine->joint_bytes_per_s;
    bool joint = both_s >= fmax(in_s, out_s) && machine->copy_engines > 1;
    bool turns = machine->copy_engines == 1;
    bound->in_ns = joint                    ? 1e9 / machine->joint_bytes_per_s
                   : turns || in_s >= out_s ? 1e9 / machine->h2d_bytes_per_s
                                            : 0;
    bound->out_ns = joint                   ? 1e9 / machine->joint_bytes_per_s
                    : turns || in_s < out_s ? 1e9 / machine->d2h_bytes_per_s
                                            : 0;
}

static void find_edges(struct verdict_bound *bound)
{
    const struct timeline *timeline = bound->facts->timeline;
    const struct span *first = NULL, *last = NULL;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->tile < 0 || !op_on_device(span->kind))
            continue;
        if (first == NULL || span->start_ns < first->start_ns)
            first = span;
        if (last == NULL || span->end_ns > last->end_ns)
            last = span;
    }
    bound->first_tile = first != NULL ? first->tile : -1;
    bound->last_tile = last != NULL ? last->tile : -1;
}

static enum status bound_of_trace(struct verdict_bound *bound, struct error *error)
{
    static const enum limit_cause causes[ENGINE_WORKING] = {
        [ENGINE_H2D] = LIMIT_COPIES,
        [ENGINE_COMPUTE] = LIMIT_COMPUTE,
        [ENGINE_D2H] = LIMIT_COPIES,
        [ENGINE_CPU] = LIMIT_CPU,
    };
    struct analysis analysis;
    enum status status = analyse(bound->facts->timeline, &analysis, error);
    for (int i = 0; i < ENGINE_WORKING && status == STATUS_OK; i++) {
        if (analysis.engines[i].busy_ns <= bound->limit.ns)
            continue;
        bound->limit.ns = analysis.engines[i].busy_ns;
        bound->limit.cause = causes[i];
        bound->engine = (enum engine)i;
    }
    return status;
}

/* Finds what bounds the run: its limit says it; a trace has none, and the busiest engine's time
 * stands for it. STATUS_FAILED only when memory runs out. */
static enum status find_bound(const struct verdict_case *facts, struct verdict_bound *bound,
                              struct error *error)
{
    *bound = (struct verdict_bound){.facts = facts, .engine = ENGINE_NONE};
    if (facts->plan == NULL)
        return bound_of_trace(bound, error);
    bound->limit = *facts->limit;
    find_rates(bound);
    find_edges(bound);
    return STATUS_OK;
}

/* --- charging --- */

struct account {
    struct verdict items[VERDICT_COUNT];
    int64_t most_ns[VERDICT_COUNT]; /* of one piece */
};

static void charge(struct account *account, enum verdict_code code, int64_t cost_ns,
                   const struct path_piece *piece)
{
    struct verdict *item = &account->items[code];
    item->cost_ns += cost_ns;
    item->pieces++;
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
           cause == VERDICT_PINNED_ALLOC_IN_LOOP || cause == VERDICT_LAUNCH_BLOCKING;
}

static void charge_piece(const struct verdict_case *facts, const struct path_piece *piece,
                         int64_t lost_ns, enum verdict_code near, struct account *account)
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
                              struct account *account, struct error *error)
{
    enum verdict_code *near = malloc((pieces->count + (size_t)1) * sizeof *near);
    if (near == NULL)
        return error_set(error, STATUS_FAILED, "no memory for the causes of %u pieces",
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

/* Charges what the tracing cost, which runs without it tell: it may be anywhere on the path. */
static void charge_profiler(const struct verdict_case *facts, struct account *account)
{
    int64_t time_ns = timeline_time_ns(facts->timeline);
    int64_t more_ns = time_ns - facts->untraced_ns;
    if (facts->untraced_ns <= 0 || (double)more_ns < PROFILER_SHARE * (double)time_ns)
        return;
    account->items[VERDICT_PROFILER].cost_ns += more_ns;
    account->items[VERDICT_REST].cost_ns -= more_ns;
}

/* --- the verdicts --- */

const char *evidence_name(enum evidence evidence)
{
    static const char *const names[EVIDENCE_COUNT] = {"unknown", "likely", "certain"};
    return names[evidence];
}

static int compare_costs(const void *a, const void *b)
{
    const struct verdict *x = a, *y = b;
    if (x->cost_ns != y->cost_ns)
        return x->cost_ns > y->cost_ns ? -1 : 1;
    return (int)x->code - (int)y->code;
}

static void name_causes(const struct verdict_case *facts, const struct account *account,
                        struct verdicts *verdicts)
{
    static const enum verdict_code bounds[] = {[LIMIT_COPIES] = VERDICT_COPY_BOUND,
                                               [LIMIT_COMPUTE] = VERDICT_KERNEL_BOUND,
                                               [LIMIT_CPU] = VERDICT_CPU_BOUND,
                                               [LIMIT_LINK] = VERDICT_COPY_BOUND};
    struct verdict rest = account->items[VERDICT_REST];
    for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
        const struct verdict *item = &account->items[code];
        /* Every tile has to be handed over, so small tiles are named only at twice the cost. */
        double share = code == VERDICT_SMALL_TILES ? 2 * NAMED_SHARE : NAMED_SHARE;
        if (item->cost_ns > 0 && (double)item->cost_ns >= share * (double)verdicts->time_ns) {
            verdicts->items[verdicts->count++] = *item;
            continue;
        }
        rest.cost_ns += item->cost_ns;
        rest.pieces += item->pieces;
    }
    qsort(verdicts->items, (size_t)verdicts->count, sizeof *verdicts->items, compare_costs);
    if (facts->races) {
        for (int i = verdicts->count++; i > 0; i--)
            verdicts->items[i] = verdicts->items[i - 1];
        verdicts->items[0] = (struct verdict){.code = VERDICT_MISSING_WAIT, .span = SPAN_NONE};
    }
    verdicts->named = verdicts->count;
    verdicts->items[verdicts->count++] =
        (struct verdict){.code = bounds[verdicts->bound], .span = SPAN_NONE};
    verdicts->items[verdicts->count++] = rest;
}

static enum status find_all(const struct verdict_bound *bound, struct verdicts *verdicts,
                            struct error *error)
{
    const struct verdict_case *facts = bound->facts;
    struct path_pieces pieces = {0};
    struct headway headway = {0};
    struct account account = {0};
    for (int code = 0; code < VERDICT_COUNT; code++)
        account.items[code] =
            (struct verdict){.code = (enum verdict_code)code, .span = SPAN_NONE};
    enum status status =
        pieces_find(facts->timeline, facts->critical, facts->plan, &pieces, error);
    if (status == STATUS_OK)
        status =
            headway_find(facts->timeline, bound->limit.ns, bound_work, bound, &headway, error);
    if (status == STATUS_OK)
        status = charge_all(facts, &pieces, &headway, &account, error);
    if (status == STATUS_OK) {
        *verdicts = (struct verdicts){.time_ns = headway.time_ns,
                                      .limit_ns = bound->limit.ns,
                                      .limit_known = facts->plan != NULL,
                                      .bound = bound->limit.cause};
        charge_profiler(facts, &account);
        name_causes(facts, &account, verdicts);
    }
    pieces_free(&pieces);
    headway_free(&headway);
    return status;
}

enum status verdicts_find(const struct verdict_case *facts, struct verdicts *verdicts,
                          struct error *error)
{
    struct verdict_bound bound;
    enum status status = verdict_check(facts->timeline, facts->plan, error);
    if (status == STATUS_OK && facts->plan == NULL)
        return foreign_verdicts_find(facts, verdicts, error);
    if (status == STATUS_OK)
        status = find_bound(facts, &bound, error);
    return status == STATUS_OK ? find_all(&bound, verdicts, error) : status;
}
