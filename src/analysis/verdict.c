/* verdict.c - charges what was lost to causes, and says which of them are worth a name. */
#include "analysis/headway.h"
#include "analysis/verdict_parts.h"

#include <inttypes.h>
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

static int compare_costs(const void *a, const void *b)
{
    const struct verdict *x = a, *y = b;
    if (x->cost_ns != y->cost_ns)
        return x->cost_ns > y->cost_ns ? -1 : 1;
    return (int)x->code - (int)y->code;
}

/* Every tile has to be handed over, so small tiles are named only where they cost twice as
 * much.
 */
static double named_share(enum verdict_code code)
{
    return code == VERDICT_SMALL_TILES ? 2 * NAMED_SHARE : NAMED_SHARE;
}

static void name_causes(const struct verdict_case *facts, const struct account *account,
                        struct verdicts *verdicts)
{
    static const enum verdict_code bounds[] = {[LIMIT_COPIES] = VERDICT_COPY_BOUND,
                                               [LIMIT_COMPUTE] = VERDICT_KERNEL_BOUND,
                                               [LIMIT_CPU] = VERDICT_CPU_BOUND,
                                               [LIMIT_LINK] = VERDICT_LINK_BOUND};
    struct verdict rest = account->items[VERDICT_REST];
    for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
        const struct verdict *item = &account->items[code];
        if (item->cost_ns > 0 &&
            (double)item->cost_ns >= named_share(item->code) * (double)verdicts->time_ns) {
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
        status = headway_find(facts->timeline, bound->limit.ns, verdict_bound_work, bound,
                              &headway, error);
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
    if (status == STATUS_OK)
        status = verdict_bound_find(facts, &bound, error);
    return status == STATUS_OK ? find_all(&bound, verdicts, error) : status;
}
