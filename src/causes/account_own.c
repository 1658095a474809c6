/* account_own.c - charges what was lost on the critical path to what it waited for.
 *
 * The critical path is cut into pieces (analysis/pieces.h). The headway of the work that bounds
 * the run says how much of each piece was lost (analysis/headway.h). What was lost is charged
 * to the piece's cause; where the piece is work that had to be done, to the nearest thing on
 * the path that kept the bounding engine from working meanwhile: the next that something waited
 * for, else the one before. */
#include "analysis/bound.h"
#include "analysis/headway.h"
#include "causes/judge.h"

#include <stdlib.h>

enum { HAND_OVERS = 8 }; /* a hand-over is long if that many fill the work */

/* --- charging --- */

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

static void charge_piece(const struct verdict_case *facts, const struct path_piece *piece,
                         int64_t lost_ns, enum verdict_code near, struct account *account)
{
    enum verdict_code slow, cause = verdict_piece_cause(facts, piece);
    /* The host would have handed the op over long before, had it not waited. */
    if (cause == VERDICT_SMALL_TILES && (verdict_rows[near].traits & KEEPS_ISSUE) != 0)
        cause = near;
    if (cause != VERDICT_REST) {
        account_charge(account, cause, lost_ns, piece->span);
        return;
    }
    int64_t slow_ns = verdict_slowness_ns(facts, piece, &slow);
    /* Kernels that leave room on the GPU lose only what others are kept from using. */
    if (slow == VERDICT_FEW_BLOCKS && near != VERDICT_REST)
        slow_ns = 0;
    slow_ns = slow_ns < lost_ns ? slow_ns : lost_ns;
    if (slow_ns > 0)
        account_charge(account, slow, slow_ns, piece->span);
    account_charge(account, near, lost_ns - (slow_ns > 0 ? slow_ns : 0), piece->span);
}

static enum status charge_all(const struct verdict_case *facts,
                              const struct path_pieces *pieces, const struct headway *headway,
                              struct account *account, struct error *error)
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
    account->causes[VERDICT_REST].cost_ns += headway->time_ns - headway->limit_ns - lost_ns;
    free(near);
    return STATUS_OK;
}

enum status verdict_account_find(const struct verdict_case *facts, struct account *account,
                                 struct error *error)
{
    struct bound bound;
    struct path_pieces pieces = {0};
    struct headway headway = {0};
    account_begin(account);
    bound_find(facts->plan, facts->machine, facts->limit, &bound);
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
