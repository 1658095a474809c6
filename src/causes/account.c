/* account.c - what causes are charged, where that was lost, and which are worth a name. */
#include "causes/judge.h"

#include <math.h>
#include <stdio.h>

static const double LISTED_PERCENT = 0.5; /* a cause of less is no listed part of the rest */

/* --- charges --- */

void account_begin(struct account *account, const struct timeline *timeline)
{
    enum { PARTS = 2048 }; /* of the run's time: two pixels of a large picture */
    *account = (struct account){.timeline = timeline};
    account->lost.near_ns = timeline_time_ns(timeline) / PARTS + 1;
    for (int code = 0; code < VERDICT_COUNT; code++)
        account->causes[code] = (struct verdict){.code = (enum verdict_code)code};
}

static int64_t length_of(const struct loss *lost)
{
    return lost->end_ns - lost->start_ns;
}

static bool is_own_work(const struct span *span, const struct loss *lost)
{
    return span->start_ns <= lost->start_ns && lost->start_ns < span->end_ns;
}

/* Returns true if two stretches lie in one row, both in idle times or both in ops' own work. */
static bool is_one_row(const struct timeline *timeline, const struct loss *x,
                       const struct loss *y)
{
    const struct span *one = &timeline->spans[x->span], *other = &timeline->spans[y->span];
    return one->engine == other->engine && one->device == other->device &&
           is_own_work(one, x) == is_own_work(other, y);
}

/* Returns true if two stretches that are near are to be one. One that is longer would be marked
 * far from where most of its gaps are. */
static bool are_one(const struct timeline *timeline, const struct losses *places,
                    const struct charged *x, const struct charged *y)
{
    enum { LONGEST = 32 };
    const int64_t from_ns = earlier(x->at.start_ns, y->at.start_ns);
    const int64_t to_ns = later(x->at.end_ns, y->at.end_ns);
    return x->code == y->code && x->at.start_ns - places->near_ns <= y->at.end_ns &&
           (to_ns - from_ns) / LONGEST <= places->near_ns &&
           is_one_row(timeline, &x->at, &y->at);
}

/* Adds a place, if only to a near one. They come about in order of time. */
static void add_place(const struct timeline *timeline, struct losses *places,
                      struct charged place)
{
    for (uint32_t i = places->count; i-- > 0;) {
        struct charged *near = &places->items[i];
        if (near->at.end_ns < place.at.start_ns - places->near_ns)
            break;
        if (!are_one(timeline, places, near, &place))
            continue;
        near->at.start_ns = earlier(near->at.start_ns, place.at.start_ns);
        near->at.end_ns = later(near->at.end_ns, place.at.end_ns);
        near->cost_ns = earlier(plus(near->cost_ns, place.cost_ns), length_of(&near->at));
        return;
    }
    if (places->count < LOSSES_MAX)
        places->items[places->count++] = place;
}

void account_place(struct account *account, enum verdict_code code, struct loss lost)
{
    struct losses *places = &account->lost;
    if (lost.start_ns >= lost.end_ns || lost.span == SPAN_NONE)
        return;
    add_place(account->timeline, places, (struct charged){lost, length_of(&lost), code});
    while (places->count == LOSSES_MAX &&
           places->near_ns < timeline_time_ns(account->timeline)) {
        places->near_ns *= 2;
        places->count = 0;
        for (int i = 0; i < LOSSES_MAX; i++)
            add_place(account->timeline, places, places->items[i]);
    }
}

void account_charge(struct account *account, enum verdict_code code, int64_t cost_ns,
                    struct loss lost)
{
    account->causes[code].cost_ns += cost_ns;
    if (cost_ns < length_of(&lost))
        lost.start_ns = lost.end_ns - cost_ns;
    account_place(account, code, lost);
}

static int64_t placed_ns(const struct account *account, int code)
{
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < account->lost.count; i++) {
        if ((int)account->lost.items[i].code == code)
            sum_ns = plus(sum_ns, account->lost.items[i].cost_ns);
    }
    return sum_ns;
}

bool account_lacks_places(const struct account *account, int code)
{
    return account->causes[code].cost_ns > 2 * placed_ns(account, code);
}

void account_move_places(struct account *account, enum verdict_code from, enum verdict_code to)
{
    for (uint32_t i = 0; i < account->lost.count; i++) {
        if (account->lost.items[i].code == from)
            account->lost.items[i].code = to;
    }
}

void account_move(struct account *account, enum verdict_code from, enum verdict_code to)
{
    if (from == to || account->causes[from].cost_ns == 0)
        return;
    account->causes[to].cost_ns += account->causes[from].cost_ns;
    account->causes[from].cost_ns = 0;
    account_move_places(account, from, to);
}

int64_t account_leave(struct account *account, int64_t ns, int64_t *from_ns)
{
    ns = earlier(ns, *from_ns);
    account->causes[VERDICT_REST].cost_ns += ns;
    *from_ns -= ns;
    return ns;
}

/* Returns the cause whose places say more than it cost by most; VERDICT_REST: none's do. */
static enum verdict_code overfull(const struct account *account)
{
    int found = VERDICT_REST;
    int64_t most_ns = 0;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
        const int64_t ns = placed_ns(account, code) - later(0, account->causes[code].cost_ns);
        found = ns > most_ns ? code : found;
        most_ns = later(most_ns, ns);
    }
    return (enum verdict_code)found;
}

void account_place_others(struct account *account)
{
    const enum verdict_code from = overfull(account);
    int64_t most_ns = 0;
    int to = VERDICT_REST;
    for (int code = 0; code < VERDICT_COPY_BOUND; code++) {
        const int64_t cost_ns = account->causes[code].cost_ns;
        if (!account_lacks_places(account, code) || cost_ns <= most_ns ||
            (verdict_rows[code].traits & NO_PLACE) != 0)
            continue;
        to = code;
        most_ns = cost_ns;
    }
    if (to == VERDICT_REST || from == VERDICT_REST)
        return;
    if (account->causes[from].cost_ns <= 0)
        account_move_places(account, from, (enum verdict_code)to);
    for (uint32_t i = account->lost.count; i-- > 0;) {
        if (account->lost.items[i].code == from)
            account_place(account, (enum verdict_code)to, account->lost.items[i].at);
    }
}

/* Returns the last `ns` of a stretch that are not marked in its row yet. */
static struct loss free_part(const struct timeline *timeline, const struct losses *taken,
                             struct loss lost, int64_t ns)
{
    const struct loss whole = lost;
    for (uint32_t i = 0; i < taken->count; i++) {
        const struct charged *other = &taken->items[i];
        if (other->cost_ns < length_of(&other->at) || other->at.start_ns >= lost.end_ns ||
            other->at.end_ns <= later(lost.start_ns, lost.end_ns - ns) ||
            !is_one_row(timeline, &whole, &other->at))
            continue;
        lost.end_ns = other->at.start_ns;
        i = UINT32_MAX; /* what is before it may be marked, too */
    }
    lost.start_ns = later(lost.start_ns, lost.end_ns - ns);
    return lost;
}

void account_list_places(const struct account *account, const struct verdict *cause,
                         struct losses *listed)
{
    const double all_ns = 1 + (double)placed_ns(account, (int)cause->code);
    const double part = fmin(1, (double)cause->cost_ns / all_ns);
    for (uint32_t i = 0; i < account->lost.count; i++) {
        struct charged one = account->lost.items[i];
        const bool single = one.cost_ns == length_of(&one.at);
        one.cost_ns = (int64_t)(part * (double)one.cost_ns);
        if (one.code == cause->code && single) {
            one.at = free_part(account->timeline, listed, one.at, one.cost_ns);
            one.cost_ns = length_of(&one.at);
        }
        if (one.code == cause->code && one.cost_ns > 0)
            listed->items[listed->count++] = one;
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

/* Puts a race before all that cost time. */
static void put_race_first(const struct verdict_case *facts, struct verdicts *verdicts)
{
    const struct verdict_row *row = &verdict_rows[VERDICT_MISSING_WAIT];
    struct verdict race = {.code = VERDICT_MISSING_WAIT,
                           .evidence = facts->likely ? EVIDENCE_LIKELY : row->evidence};
    snprintf(race.seen, sizeof race.seen, "%s", facts->race != NULL ? facts->race : row->seen);
    for (int i = verdicts->count++; i > 0; i--)
        verdicts->items[i] = verdicts->items[i - 1];
    verdicts->items[0] = race;
}

void judge_complete(const struct judge *judge, struct verdicts *verdicts)
{
    if (judge->facts->races)
        put_race_first(judge->facts, verdicts);
    verdicts->named = verdicts->count;
    for (int i = 0; i < verdicts->named; i++)
        account_list_places(&judge->charges, &verdicts->items[i], &verdicts->lost);
    verdicts->items[verdicts->count++] =
        (struct verdict){.code = verdict_marked(MARKED_LIMIT, verdicts->bound)};
    verdicts->items[verdicts->count++] = judge->charges.causes[VERDICT_REST];
}
