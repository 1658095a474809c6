/* past.c - vector clocks of the hazards, and whether two touches race where nothing orders
 * them: both look at what they are given alone. */
#include "cpu/hazards.h"

#include <string.h>

static void grow(struct past *past, uint32_t count)
{
    if (past->count >= count)
        return;
    past->places = clock_room(past->places, count * sizeof *past->places);
    memset(past->places + past->count, 0, (count - past->count) * sizeof *past->places);
    past->count = count;
}

void past_join(struct past *past, const struct past *other)
{
    grow(past, other->count);
    for (uint32_t i = 0; i < other->count; i++)
        if (other->places[i] > past->places[i])
            past->places[i] = other->places[i];
}

void past_join_place(struct past *past, uint32_t lane, uint32_t place)
{
    grow(past, lane + 1);
    past->places[lane] = place > past->places[lane] ? place : past->places[lane];
}

bool past_covers(const struct past *past, const struct clock_doing *doing)
{
    return doing->lane < past->count && past->places[doing->lane] >= doing->place;
}

const struct touch *touch_find(const struct clock_doing *doing, const struct touch *touch)
{
    size_t low = 0, high = doing->count;
    while (!doing->is_host && !doing->is_function && low < high) {
        const size_t middle = low + (high - low) / 2;
        if (doing->touches[middle].end <= touch->from)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < doing->count; low++) {
        const struct touch *other = &doing->touches[low];
        if (other->from >= touch->end && !doing->is_host && !doing->is_function)
            return NULL;
        if (other->from < touch->end && touch->from < other->end &&
            (other->writes || touch->writes) && !(other->atomic && touch->atomic))
            return other;
    }
    return NULL;
}

bool touch_may_race(const struct clock_doing *one, const struct clock_doing *other)
{
    return one != other &&
           !((one->is_host || one->is_function) && (other->is_host || other->is_function));
}
