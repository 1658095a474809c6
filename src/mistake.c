/* mistake.c - the table of mistakes. */
#include "mistake.h"

#include "nearest.h"

#include <stddef.h>
#include <string.h>

const struct mistake_row mistake_rows[MISTAKE_COUNT + 1] = {
    [MISTAKE_NONE] =
        {
            .name = "none",
            .summary = "nothing is broken",
            .effect = "what a run does unless it is told otherwise",
        },
    [MISTAKE_MISSING_WAIT] =
        {
            .name = "missing-wait",
            .summary = "kernels do not wait for copies that come in through another stream",
            .effect = "a race: a kernel that comes too early reads what was there before",
            .races = true,
        },
    [MISTAKE_COUNT] = {.name = NULL},
};

bool mistake_find(const char *name, enum mistake *mistake)
{
    for (int i = 0; mistake_rows[i].name != NULL; i++) {
        if (strcmp(mistake_rows[i].name, name) == 0) {
            *mistake = (enum mistake)i;
            return true;
        }
    }
    return false;
}

const char *mistake_nearest(const char *name)
{
    struct nearest nearest = nearest_begin(name);
    for (const struct mistake_row *row = mistake_rows; row->name != NULL; row++)
        nearest_offer(&nearest, row->name);
    return nearest.best;
}

const char *mistake_name(enum mistake mistake)
{
    return mistake_rows[mistake].name;
}
