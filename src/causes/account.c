/* account.c - what causes are charged, where that was lost, and which are worth a name. */
#include "causes/judge.h"

static const double LISTED_PERCENT = 0.5; /* a cause of less is no listed part of the rest */

/* --- charges --- */

void account_begin(struct account *account)
{
    *account = (struct account){0};
    for (int code = 0; code < VERDICT_COUNT; code++) {
        account->causes[code] = (struct verdict){.code = (enum verdict_code)code};
        account->last[code].lost.span = SPAN_NONE;
    }
}

static int64_t length_of(const struct loss *lost)
{
    return lost->end_ns - lost->start_ns;
}

/* Returns a charge and the one before it as one piece, where the same op waited in both and
 * what lies between, such as a hand-over, is less than they are. The times of a trace may be so
 * large that no two of them can be added. */
static struct charge joined(const struct charge *before, struct charge charge)
{
    const struct loss lost = {earlier(charge.lost.start_ns, before->lost.start_ns),
                              later(charge.lost.end_ns, before->lost.end_ns), charge.lost.span};
    const int64_t whole_ns = length_of(&lost);
    const double sum_ns = (double)length_of(&charge.lost) + (double)length_of(&before->lost);
    if (before->lost.span != lost.span || (double)whole_ns > 2 * sum_ns)
        return charge;
    return (struct charge){
        before->cost_ns + earlier(charge.cost_ns, whole_ns - before->cost_ns), lost};
}

void account_charge(struct account *account, enum verdict_code code, int64_t cost_ns,
                    struct loss lost)
{
    account->causes[code].cost_ns += cost_ns;
    if (lost.start_ns >= lost.end_ns || lost.span == SPAN_NONE)
        return;
    struct charge *last = &account->last[code];
    cost_ns = earlier(cost_ns, length_of(&lost)); /* as much as can have been there */
    *last = joined(last, (struct charge){cost_ns, lost});
    if (last->cost_ns <= account->most_ns[code])
        return;
    account->most_ns[code] = last->cost_ns;
    account->causes[code].lost = last->lost;
}

void account_move(struct account *account, enum verdict_code from, enum verdict_code to)
{
    if (from == to || account->causes[from].cost_ns == 0)
        return;
    account->causes[to].cost_ns += account->causes[from].cost_ns;
    account->causes[from].cost_ns = 0;
    if (account->most_ns[from] <= account->most_ns[to])
        return;
    account->most_ns[to] = account->most_ns[from];
    account->causes[to].lost = account->causes[from].lost;
}

int64_t account_leave(struct account *account, int64_t ns, int64_t *from_ns)
{
    ns = earlier(ns, *from_ns);
    account->causes[VERDICT_REST].cost_ns += ns;
    *from_ns -= ns;
    return ns;
}

void account_place_others(struct account *account)
{
    const struct loss *most = NULL;
    int64_t most_ns = 0;
    for (int code = 0; code < VERDICT_COUNT; code++) {
        if (account->causes[code].cost_ns > 0 || account->most_ns[code] <= most_ns)
            continue;
        most_ns = account->most_ns[code];
        most = &account->causes[code].lost;
    }
    for (int code = 0; code < VERDICT_COPY_BOUND && most != NULL; code++) {
        struct verdict *cause = &account->causes[code];
        if (cause->cost_ns > 0 && length_of(&cause->lost) == 0 &&
            (verdict_rows[code].traits & NO_PLACE) == 0)
            cause->lost = *most;
    }
}

/* --- the list --- */

bool judge_is_dear(const struct judge *judge, enum verdict_code code, double share, bool gains)
{
    const int64_t cost_ns = judge->charges.causes[code].cost_ns;
    return cost_ns > 0 && (gains || (double)cost_ns >= share * (double)judge->time_ns);
}

/* Returns true if a cause is worth a name: for what it cost, or for what its fix alone would
 * gain. */
static bool is_named(const struct judge *judge, const struct verdict *cause)
{
    const int64_t gain_ns = cause->predicted_ns > 0 ? judge->time_ns - cause->predicted_ns : 0;
    const bool gains = (double)gain_ns >= VERDICT_NAMED_SHARE * (double)judge->time_ns;
    return judge_is_dear(judge, cause->code, judge->foreign ? 0 : VERDICT_NAMED_SHARE, gains);
}

/* Adds a cause that is too little to be named to the rest, which lists it if it is anything. */
static void add_to_rest(const struct judge *judge, const struct verdict *cause,
                        struct verdict *rest)
{
    double percent = 100 * (double)cause->cost_ns / (double)judge->time_ns;
    rest->cost_ns += cause->cost_ns;
    if (percent >= LISTED_PERCENT)
        text_add(rest->seen, sizeof rest->seen, ", ", "%s %.1f%%",
                 verdict_rows[cause->code].name, percent);
}

void judge_list(struct judge *judge, struct verdicts *verdicts)
{
    struct verdict *causes = judge->charges.causes;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
        /* A race stands first, whatever it costs. */
        if (code != VERDICT_MISSING_WAIT && is_named(judge, &causes[code]))
            verdicts->items[verdicts->count++] = causes[code];
        else
            add_to_rest(judge, &causes[code], &causes[VERDICT_REST]);
    }
}
