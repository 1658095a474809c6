/* account_run.c - charges what was lost on the critical path to what it waited for.
 *
 * The critical path is cut into pieces (analysis/critical.h). The headway of the work that
 * bounds the run says how much of each piece was lost (analysis/analysis.h). What was lost is
 * charged to the piece's cause; where the piece is work that had to be done, to the nearest
 * thing on the path that kept the bounding engine from working meanwhile: the next that
 * something waited for, else the one before. */
#include "analysis/analysis.h"
#include "causes/judge.h"
#include "core/arena.h"

enum { HAND_OVERS = 8 }; /* a hand-over is long if that many fill the work */

/* A piece that is work has no cause itself, so it is charged to `code`, for which the op
 * `waited` waited. The op `next` is the next one of an engine on the path: it waited for the
 * piece, or is that work. */
struct near {
    enum verdict_code code;
    uint32_t waited, next; /* SPAN_NONE: none */
};

struct charging {
    const struct verdict_case *facts;
    const struct path_pieces *pieces;
    struct near *near; /* by piece */
    int64_t *idle_ns;  /* by span: since when its engine had nothing to do before it */
    uint32_t last;     /* the op of an engine that ended last, and its end */
    int64_t end_ns;
    struct span **spans; /* those of each engine in the order of their starts; by engine: */
    size_t *next, *ends; /* its next one that starts behind a piece, and the end of its own */
    struct account *account;
    bool lacking[VERDICT_COUNT]; /* causes whose places on the path say too little of their cost
                                  */
    bool held[VERDICT_COUNT];    /* those of them that have other places by now */
};

/* --- what is near --- */

/* Finds for each piece that is work what it is charged to: the nearest cause on the path that
 * something waited for, the next one or else the last before. */
static void find_near(const struct charging *charging)
{
    const struct path_pieces *pieces = charging->pieces;
    const struct verdict_case *facts = charging->facts;
    struct near cause = {VERDICT_REST, SPAN_NONE, SPAN_NONE};
    for (uint32_t i = pieces->count; i-- > 0;) {
        const struct path_piece *piece = &pieces->items[i];
        const enum verdict_code link = verdict_link_cause(facts, piece);
        if (piece->span != SPAN_NONE &&
            facts->timeline->spans[piece->span].engine < ENGINE_WORKING)
            cause.next = piece->span;
        charging->near[i] = cause;
        if (link != VERDICT_REST)
            cause = (struct near){link, cause.next, cause.next};
    }
    enum verdict_code before = VERDICT_REST;
    for (uint32_t i = 0; i < pieces->count; i++) {
        const enum verdict_code link = verdict_link_cause(facts, &pieces->items[i]);
        struct near *near = &charging->near[i];
        before = link != VERDICT_REST ? link : before;
        near->code = near->code != VERDICT_REST ? near->code : before;
    }
}

static int64_t length_of(const struct path_piece *piece)
{
    return piece->end_ns - piece->start_ns;
}

/* Charges work that no cause is near to a hand-over right behind it: this kept the engines from
 * working side by side if it took long against the work. */
static void find_hand_overs(const struct charging *charging)
{
    const struct path_piece *items = charging->pieces->items;
    for (uint32_t i = 0; i + 1 < charging->pieces->count; i++) {
        struct near *near = &charging->near[i];
        if (near->code != VERDICT_REST || items[i + 1].kind == PIECE_WORK ||
            length_of(&items[i + 1]) < length_of(&items[i]) / HAND_OVERS)
            continue;
        near->code = verdict_piece_cause(charging->facts, &items[i + 1]);
        near->waited = near[1].next;
    }
}

/* --- where it was lost --- */

/* Finds the ops of each engine, since when it had nothing to do before each, and the last end.
 */
static void find_idle(struct charging *charging)
{
    const struct timeline *timeline = charging->facts->timeline;
    const uint32_t devices = timeline_devices(timeline);
    size_t begin = 0;
    for (uint32_t engine = 0; engine < resource_count(devices); engine++) {
        struct span **spans = charging->spans + begin;
        const size_t count =
            timeline_engine_spans(timeline, resource_at(engine, devices), spans);
        charging->next[engine] = begin;
        charging->ends[engine] = begin += count;
        int64_t idle_ns = 0;
        for (size_t i = 0; i < count; i++) {
            const uint32_t index = (uint32_t)(spans[i] - timeline->spans);
            charging->idle_ns[index] = idle_ns;
            idle_ns = later(idle_ns, spans[i]->end_ns);
            if (resource_at(engine, devices).kind < ENGINE_WORKING &&
                idle_ns > charging->end_ns) {
                charging->end_ns = idle_ns;
                charging->last = index;
            }
        }
    }
}

/* Returns the first op behind a piece on the engine of `span`, which is behind it, too: where
 * that engine has others to do before `span`, these are what waited. Pieces come in order. */
static uint32_t first_behind(const struct charging *charging, const struct path_piece *piece,
                             uint32_t span)
{
    const struct timeline *timeline = charging->facts->timeline;
    const uint32_t engine =
        resource_number(span_resource(&timeline->spans[span]), timeline_devices(timeline));
    size_t *next = &charging->next[engine];
    while (*next < charging->ends[engine] && charging->spans[*next]->start_ns < piece->end_ns)
        ++*next;
    return *next < charging->ends[engine] ? (uint32_t)(charging->spans[*next] - timeline->spans)
                                          : span;
}

/* Returns what of a piece an engine that an op waited for had nothing to do in; of the op's own
 * work all. Where no op waits, that is what is behind the last one. */
static struct loss loss_of(const struct charging *charging, const struct path_piece *piece,
                           uint32_t span)
{
    struct loss lost = {piece->start_ns, piece->end_ns, span};
    if (span == SPAN_NONE) {
        lost.span = charging->last;
        lost.start_ns = later(lost.start_ns, charging->end_ns);
    } else if (piece->kind != PIECE_WORK || piece->span != span) {
        lost.span = first_behind(charging, piece, span);
        lost.start_ns = later(lost.start_ns, charging->idle_ns[lost.span]);
    }
    return lost;
}

/* Nothing waits for few tiles: what they cost is lost before the first copy out. */
static struct loss filling_of(const struct timeline *timeline)
{
    struct loss lost = {0};
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->kind == OP_D2H && (lost.end_ns == 0 || span->start_ns < lost.end_ns))
            lost = (struct loss){0, span->start_ns, i};
    }
    return lost;
}

/* --- charging --- */

static void charge_piece(const struct charging *charging, uint32_t index, int64_t lost_ns)
{
    const struct verdict_case *facts = charging->facts;
    const struct path_piece *piece = &charging->pieces->items[index];
    const struct near *near = &charging->near[index];
    struct account *account = charging->account;
    const struct loss here = loss_of(charging, piece, near->next);
    const struct loss before = loss_of(charging, piece, near->waited);
    enum verdict_code slow, cause = verdict_piece_cause(facts, piece);
    /* The host would have handed the op over long before, had it not waited. */
    if (cause == VERDICT_SMALL_TILES && (verdict_rows[near->code].traits & KEEPS_ISSUE) != 0) {
        account_charge(account, near->code, lost_ns, before);
        return;
    }
    if (cause != VERDICT_REST) {
        account_charge(account, cause, lost_ns, here);
        return;
    }
    int64_t slow_ns = verdict_slowness_ns(facts, piece, &slow);
    /* Kernels that leave room on the GPU lose only what others are kept from using. */
    if (slow == VERDICT_FEW_BLOCKS && near->code != VERDICT_REST)
        slow_ns = 0;
    slow_ns = slow_ns < lost_ns ? slow_ns : lost_ns;
    if (slow_ns > 0)
        account_charge(account, slow, slow_ns, here);
    account_charge(account, near->code, lost_ns - (slow_ns > 0 ? slow_ns : 0), before);
}

static void charge_pieces(const struct charging *charging, const struct headway *headway)
{
    struct verdict *causes = charging->account->causes;
    uint32_t at = 0;
    int64_t lost_ns = 0;
    for (uint32_t i = 0; i < charging->pieces->count; i++) {
        int64_t until_ns = headway_lost_ns(headway, charging->pieces->items[i].end_ns, &at);
        charge_piece(charging, i, until_ns - lost_ns);
        lost_ns = until_ns;
    }
    /* Where there is no path, all that is lost is left over. */
    causes[VERDICT_REST].cost_ns += headway->time_ns - headway->limit_ns - lost_ns;
    account_place(charging->account, VERDICT_FEW_TILES, filling_of(charging->facts->timeline));
}

/* Allocates what find_idle() finds. */
static bool idle_begin(struct charging *charging, struct arena *arena)
{
    const size_t spans = charging->facts->timeline->span_count + (size_t)1;
    const size_t engines = resource_count(timeline_devices(charging->facts->timeline));
    charging->idle_ns = arena_zeros(arena, spans, sizeof *charging->idle_ns);
    charging->spans = arena_zeros(arena, spans, sizeof *charging->spans);
    charging->next = arena_zeros(arena, engines, sizeof *charging->next);
    charging->ends = arena_zeros(arena, engines, sizeof *charging->ends);
    return !arena->full;
}

static void charge_all(const struct verdict_case *facts, const struct path_pieces *pieces,
                       const struct headway *headway, struct account *account,
                       struct error *why)
{
    struct charging charging = {
        .facts = facts, .pieces = pieces, .last = SPAN_NONE, .account = account};
    struct arena arena = {0};
    charging.near = arena_zeros(&arena, pieces->count, sizeof *charging.near);
    if (idle_begin(&charging, &arena)) {
        find_near(&charging);
        find_hand_overs(&charging);
        find_idle(&charging);
        charge_pieces(&charging, headway);
    } else {
        (void)error_no_memory(why, "for the causes of %u pieces", pieces->count);
    }
    arena_free(&arena);
}

void verdict_account_find(const struct verdict_case *facts, struct account *account,
                          struct error *why)
{
    const struct bound bound = {facts->plan, facts->machine, facts->limit};
    struct path_pieces pieces = {0};
    struct headway headway = {0};
    account_begin(account, facts->timeline);
    if (pieces_find(facts->timeline, facts->critical, facts->plan, &pieces, why) == STATUS_OK &&
        headway_find(facts->timeline, facts->limit->ns, bound_work, &bound, &headway, why) ==
            STATUS_OK)
        charge_all(facts, &pieces, &headway, account, why);
    pieces_free(&pieces);
    arena_free(&headway.arena);
}

/* An op in a queue was ready before it was let go; any other waited since its engine was idle.
 */
static void place_hold(struct charging *charging, uint32_t index)
{
    const struct verdict_case *facts = charging->facts;
    const struct span *span = &facts->timeline->spans[index];
    const struct hold *hold = &facts->critical->holds[index];
    const struct path_piece piece = {.link = LINK_HELD, .span = index, .from = hold->span};
    if (hold->span == SPAN_NONE || span->engine >= ENGINE_WORKING)
        return;
    const enum verdict_code code = verdict_link_cause(facts, &piece);
    const bool queued = hold->by == HELD_BY_QUEUE || hold->by == HELD_BY_SIGNAL;
    const int64_t since_ns =
        queued ? hold->ready_ns : later(charging->idle_ns[index], span->issue_ns);
    if (code == VERDICT_REST || !charging->lacking[code])
        return;
    if (!charging->held[code])
        account_move_places(charging->account, code, VERDICT_REST);
    charging->held[code] = true;
    account_place(charging->account, code, (struct loss){since_ns, span->start_ns, index});
}

void verdict_place_holds(const struct verdict_case *facts, struct account *account,
                         struct error *why)
{
    struct charging charging = {.facts = facts, .account = account};
    struct arena arena = {0};
    const bool room = idle_begin(&charging, &arena);
    for (int code = 0; code < VERDICT_COUNT; code++)
        charging.lacking[code] = account_lacks_places(account, code);
    if (room)
        find_idle(&charging);
    for (uint32_t i = 0; i < facts->timeline->span_count && room; i++)
        place_hold(&charging, i);
    if (!room)
        (void)error_no_memory(why, "for the places of causes");
    arena_free(&arena);
}
