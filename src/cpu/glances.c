/* glances.c - what is known of the host's accesses at a glance: a place in its code that has
 * been looked at may go on nearby, until something changes. Most of the host's accesses are of
 * loops, so few have to be looked at (hazards.c). */
#include "cpu/hazards.h"

#include <stdatomic.h>

enum { GLANCES = 64 }; /* of each thread, by code */

/* A thread's glances; they outlive it, and other threads end them. */
static struct glances {
    struct glances *next;
    struct glance by_code[GLANCES];
} * all;
static __thread struct glances *own;
static atomic_uint changes; /* of what could race */
static bool any;            /* there may be some that are of use */

struct glance *glance_at(const void *where)
{
    const uintptr_t code = (uintptr_t)where;
    return own != NULL ? &own->by_code[(code >> 2 ^ code >> 8) % GLANCES] : NULL;
}

struct glance *glance_add(const void *where)
{
    own = all = clock_copy(&(struct glances){.next = all}, sizeof *own);
    return glance_at(where);
}

bool glance_knows(struct glance *glance, const struct touch *touch)
{
    struct touch *last = &glance->touch;
    if (glance->changes != changes || last->code != touch->code || touch->from < glance->from ||
        touch->end > glance->end ||
        (glance->log != NULL && (touch->from > last->end || touch->end < last->from)))
        return false;
    last->from = touch->from < last->from ? touch->from : last->from;
    last->end = touch->end > last->end ? touch->end : last->end;
    return true;
}

static void end(struct glance *glance)
{
    if (glance->log != NULL)
        glance->log(&glance->touch);
    glance->log = NULL;
}

void glance_begin(struct glance *glance, const struct touch *touch, const struct touch *nearby,
                  void (*log)(const struct touch *touch))
{
    end(glance);
    *glance = (struct glance){*touch, nearby->from, nearby->end, changes, log};
    any = true;
}

void glances_end(void)
{
    changes += any;
    for (struct glances *of = all; of != NULL && any; of = of->next)
        for (int i = 0; i < GLANCES; i++)
            end(&of->by_code[i]);
    any = false;
}
