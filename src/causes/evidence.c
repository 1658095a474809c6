/* evidence.c - words that name figures. */
#include "causes/evidence.h"

#include "core/units.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct figure {
    const char *name;
    size_t offset;
} figures[] = {
#define FIGURE(member) {#member, offsetof(struct sight, member)},
    FIGURES(FIGURE)
#undef FIGURE
};

/* Sets *value to a figure that words name; returns false where there is none of that name. */
static bool find_figure(const struct sight *sight, const char *name, size_t length,
                        double *value)
{
    EACH (const struct figure, figure, figures, sizeof figures / sizeof figures[0]) {
        if (strlen(figure->name) != length || memcmp(figure->name, name, length) != 0)
            continue;
        memcpy(value, (const char *)sight + figure->offset, sizeof *value);
        return true;
    }
    return false;
}

/* Writes a figure, and behind a count its words, if it has any. A test holds that no row names
 * a figure that is not there. */
static void put_figure(const struct sight *sight, const char *name, char seen[VERDICT_SEEN])
{
    const size_t length = strcspn(name, ",:}"), first = strcspn(name, "|}");
    const size_t used = strlen(seen), room = VERDICT_SEEN - used;
    char *text = seen + used, unit[UNITS_TEXT];
    double value;
    if (!find_figure(sight, name, length, &value))
        snprintf(text, room, "?");
    else if (name[length] == ',' && value == 0)
        return;
    else if (name[length] != '}')
        snprintf(text, room, "%s%.0f %.*s",
                 name[length] == ',' && used > 1 && text[-2] != ':' ? ", " : "", value,
                 value == 1 ? (int)(first - length - 1) : (int)strcspn(name + first + 1, "}"),
                 value == 1 ? name + length + 1 : name + first + 1);
    else if (length > 3 && memcmp(name + length - 3, "_ns", 3) == 0)
        snprintf(text, room, "%s", units_time((int64_t)value, unit));
    else if (length > 6 && memcmp(name + length - 6, "_bytes", 6) == 0)
        snprintf(text, room, "%s", units_bytes((uint64_t)value, unit));
    else if (length > 5 && memcmp(name + length - 5, "_rate", 5) == 0)
        snprintf(text, room, "%.3g", value);
    else
        snprintf(text, room, "%.0f", value);
}

/* Writes what is in braces: the name of a call, its line, other words, or a figure. */
static void put_named(const struct sight *sight, const char *name, char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = sight->judge->timeline;
    if (strncmp(name, "call}", 5) == 0)
        text_add(seen, VERDICT_SEEN, "", "%s",
                 host_call_name(sight->call < timeline->call_count
                                    ? timeline->calls[sight->call].row
                                    : 0));
    else if (strncmp(name, "line", 4) == 0)
        sight_put_line(sight, name[4] == ':' ? name + 5 : "}", seen);
    else if (strncmp(name, "also}", 5) == 0)
        text_add(seen, VERDICT_SEEN, "", "%s", sight->also);
    else
        put_figure(sight, name, seen);
}

enum evidence sight_say(struct sight *sight, enum evidence evidence, const char *words)
{
    char *seen = sight->verdict->seen;
    for (; *words != '\0'; words++) {
        if (*words == '{') {
            put_named(sight, words + 1, seen);
            words += strcspn(words, "}");
        } else {
            text_add(seen, VERDICT_SEEN, "", "%c", *words);
        }
    }
    return evidence;
}

void sight_times(struct sight *sight, uint32_t times)
{
    sight->verdict->times = times;
    sight->times = times;
}

void sight_note(struct sight *sight, const struct tally *seen)
{
    const enum verdict_code code = sight->verdict->code;
    const bool host =
        (verdict_rows[code].traits & KEEPS_ISSUE) != 0 || code == VERDICT_HOST_WORK;
    const int64_t ways_ns = host ? 0 : (int64_t)seen->count * TRACED_LATE_NS;
    sight_times(sight, seen->count);
    sight->verdict->carries_ns = plus(seen->sum_ns, ways_ns);
    sight->sum_ns = (double)seen->sum_ns;
    sight->longest_ns = (double)seen->longest_ns;
    sight->call = seen->count > 0 ? seen->longest : SPAN_NONE;
}
