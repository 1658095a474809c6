/* search.c - what every search for better knobs does. */
#include "causes/search.h"

#include <string.h>

/* --- knobs --- */

void knob_turn(const struct knob_set *set, int knob, const union choice *from, union choice *to)
{
    EACH (const struct knob_field, field, set->fields, set->field_count) {
        if (field->knob == knob)
            memcpy((char *)to + field->offset, (const char *)from + field->offset, field->size);
    }
    if (set->fit != NULL)
        set->fit(knob, to);
}

bool knob_is_turned(const struct knob_set *set, int knob, const union choice *a,
                    const union choice *b)
{
    bool turned = false;
    EACH (const struct knob_field, field, set->fields, set->field_count) {
        turned |=
            field->knob == knob && memcmp((const char *)a + field->offset,
                                          (const char *)b + field->offset, field->size) != 0;
    }
    return turned;
}

/* --- trials --- */

int64_t search_try(struct search *search, const union choice *choice)
{
    int64_t time_ns;
    struct error refused = {0};
    if (search->why.status != STATUS_OK)
        return SEARCH_NO_TIME;
    const enum status status = search->time(search->context, choice, &time_ns, &refused);
    if (status == STATUS_NO_MEMORY) /* which says nothing of the choice */
        search->why = refused;
    return status == STATUS_OK ? time_ns : SEARCH_NO_TIME;
}

bool search_gains(int64_t time_ns, int64_t than_ns, double part)
{
    return time_ns != SEARCH_NO_TIME &&
           (than_ns == SEARCH_NO_TIME || (double)time_ns <= (1 - part) * (double)than_ns);
}

bool search_take(struct search *search, const union choice *choice, double part)
{
    union choice taken = *choice;
    if (search->knobs->settle != NULL)
        search->knobs->settle(&taken);
    int64_t time_ns = search_try(search, &taken);
    if (!search_gains(time_ns, search->best_ns, part))
        return false;
    search->best = taken;
    search->best_ns = time_ns;
    return true;
}

/* --- what need not have been turned --- */

static void turn_back(struct search *search)
{
    for (int knob = 0; knob < search->knobs->count; knob++) {
        union choice choice = search->best;
        search->costs_ns[knob] = 0;
        if (!knob_is_turned(search->knobs, knob, &search->given, &search->best))
            continue;
        knob_turn(search->knobs, knob, &search->given, &choice);
        int64_t time_ns = search_try(search, &choice);
        if (time_ns != SEARCH_NO_TIME && !search_gains(search->best_ns, time_ns, SEARCH_KEEP)) {
            search->best = choice;
            search->best_ns = time_ns;
            continue;
        }
        search->costs_ns[knob] =
            time_ns == SEARCH_NO_TIME ? search->best_ns : time_ns - search->best_ns;
    }
}

static void turn_alternatives(struct search *search, const union choice *all)
{
    for (int knob = 0; knob < search->knobs->count; knob++) {
        union choice alone = search->given, both = search->best;
        if (!knob_is_turned(search->knobs, knob, &search->given, all) ||
            knob_is_turned(search->knobs, knob, &search->given, &search->best))
            continue;
        knob_turn(search->knobs, knob, all, &alone);
        knob_turn(search->knobs, knob, all, &both);
        if (!search_gains(search_try(search, &alone), search->given_ns, SEARCH_ALONE))
            continue;
        int64_t both_ns = search_try(search, &both);
        if (both_ns == SEARCH_NO_TIME || search_gains(search->best_ns, both_ns, SEARCH_KEEP))
            continue;
        search->best = both;
        search->best_ns = both_ns;
    }
}

void search_settle(struct search *search)
{
    const union choice all = search->best;
    turn_back(search);
    turn_alternatives(search, &all);
}

static void list_turned(const struct search *search, struct found *found)
{
    for (int knob = 0; knob < search->knobs->count; knob++) {
        if (!knob_is_turned(search->knobs, knob, &found->given, &found->better))
            continue;
        int place = found->count++;
        for (; place > 0 &&
               search->costs_ns[found->knobs[place - 1].knob] < search->costs_ns[knob];
             place--)
            found->knobs[place] = found->knobs[place - 1];
        found->knobs[place] = (struct knob_gain){.knob = knob};
    }
}

/* --- the causes' parts --- */

/* Turns the knob that `knob` turns as well, if it is a cause of its own, and returns the time
 * then: what `knob` gains beyond that is its own. */
static int64_t turn_shared(struct search *search, const struct found *found, int knob,
                           int64_t before_ns, union choice *choice)
{
    const struct knob_set *set = search->knobs;
    if (set->shared == KNOB_NONE || !set->shares[knob] ||
        !knob_is_turned(set, set->shared, choice, &found->better))
        return before_ns;
    knob_turn(set, set->shared, &found->better, choice);
    int64_t time_ns = search_try(search, choice);
    return time_ns == SEARCH_NO_TIME ? before_ns : time_ns;
}

/* Adds what each knob gains, one after another in their order or in the reverse one; `alone_ns`
 * has the time with each alone. A knob that gains nothing where it comes costs nothing there;
 * what it takes away, the next one gives back. */
static void add_gains(struct search *search, const struct found *found, bool reverse,
                      const int64_t alone_ns[], int64_t sums_ns[])
{
    union choice choice = found->given;
    int64_t least_ns = found->given_ns;
    for (int i = 0; i < found->count; i++) {
        const int at = reverse ? found->count - 1 - i : i;
        const int knob = found->knobs[at].knob;
        const int64_t shared_ns =
            later(turn_shared(search, found, knob, least_ns, &choice), found->better_ns);
        for (int k = 0; k < found->count && shared_ns < least_ns; k++)
            sums_ns[k] +=
                found->knobs[k].knob == search->knobs->shared ? least_ns - shared_ns : 0;
        least_ns = earlier(least_ns, shared_ns);
        knob_turn(search->knobs, knob, &found->better, &choice);
        int64_t time_ns = i + 1 == found->count ? found->better_ns
                          : i == 0              ? alone_ns[at]
                                                : search_try(search, &choice);
        if (time_ns == SEARCH_NO_TIME || time_ns >= least_ns)
            continue;
        time_ns = later(time_ns, found->better_ns);
        sums_ns[at] += least_ns - time_ns;
        least_ns = time_ns;
    }
}

static void share_out(struct search *search, struct found *found)
{
    int64_t sums_ns[KNOBS_MOST] = {0}, alone_ns[KNOBS_MOST];
    int64_t left_ns = found->given_ns - found->better_ns;
    for (int i = 0; i < found->count; i++) {
        union choice choice = found->given;
        struct knob_gain *one = &found->knobs[i];
        const int64_t before_ns =
            turn_shared(search, found, one->knob, found->given_ns, &choice);
        knob_turn(search->knobs, one->knob, &found->better, &choice);
        alone_ns[i] = found->count > 1 ? search_try(search, &choice) : found->better_ns;
        one->fixed_ns = alone_ns[i] == SEARCH_NO_TIME
                            ? found->given_ns
                            : found->given_ns - (before_ns - alone_ns[i]);
    }
    add_gains(search, found, false, alone_ns, sums_ns);
    add_gains(search, found, true, alone_ns, sums_ns);
    for (int i = 0; i < found->count; i++) {
        found->knobs[i].cost_ns = sums_ns[i] / 2;
        left_ns -= sums_ns[i] / 2;
    }
    if (found->count > 0) /* the halves of odd numbers */
        found->knobs[0].cost_ns += left_ns;
}

void search_deal(struct search *search, struct found *found)
{
    list_turned(search, found);
    if (found->count == 0 || found->better_ns >= found->given_ns) {
        found->count = 0;
        found->better = found->given;
        found->better_ns = found->given_ns;
    }
    share_out(search, found);
}
