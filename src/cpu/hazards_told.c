/* hazards_told.c - a race in words, once for each two places. */
#include "cpu/hazards.h"
#include "cpu/watch.h"

#include <stdio.h>
#include <string.h>

enum { TOLD_MOST = 64 };

/* Two races are the same if these are. */
struct pair {
    const void *places[6];
    int lines[2];
};
static struct pair told[TOLD_MOST];
static size_t told_count;

enum { SOURCE = 256 };

/* Writes where in the source a touch is: of an op where that is issued. */
static void find_source(const struct clock_doing *doing, const struct touch *touch,
                        char source[SOURCE])
{
    source[0] = '\0';
    if (touch->code != NULL && watch_source != NULL)
        watch_source((uintptr_t)touch->code, source, SOURCE);
    else if (touch->code == NULL)
        snprintf(source, SOURCE, "%.200s:%d", doing->file, doing->line);
}

static void describe(const struct clock_doing *doing, const struct touch *touch,
                     const char *source, char *text, size_t size)
{
    const char *what = doing->kernel != NULL ? "kernel "
                       : doing->is_function  ? "a host function"
                       : doing->call != NULL ? doing->call
                       : touch->writes       ? "the host's code, which writes or frees,"
                                             : "the host's code, which reads,";
    snprintf(text, size, "%s%s%s%s", source, source[0] != '\0' ? ": " : "", what,
             doing->kernel != NULL ? doing->kernel : "");
}

/* Returns true if a pair of places was told before, which costs less than to name them. */
static bool was_told(const struct pair *pair)
{
    for (size_t i = 0; i < told_count; i++)
        if (memcmp(&told[i], pair, sizeof *pair) == 0)
            return true;
    if (told_count == TOLD_MOST)
        return true;
    told[told_count++] = *pair;
    if (told_count == TOLD_MOST)
        fprintf(stderr, "pipeline: these are %d races: no more are named\n", TOLD_MOST);
    return false;
}

bool hazard_tell(const struct clock_doing *before, const struct touch *first,
                 const struct clock_doing *after, const struct touch *second)
{
    char one[280], other[280], sources[2][SOURCE];
    const struct pair pair = {
        {first->code, before->file, before->kernel, second->code, after->file, after->kernel},
        {before->line, after->line}};
    if (was_told(&pair))
        return false;
    find_source(before, first, sources[0]);
    find_source(after, second, sources[1]);
    describe(before, first, sources[0], one, sizeof one);
    describe(after, second, sources[1], other, sizeof other);
    const uintptr_t from = first->from > second->from ? first->from : second->from;
    const uintptr_t end = first->end < second->end ? first->end : second->end;
    fflush(stdout);
    fprintf(stderr,
            "pipeline: race: %s and %s touch the same bytes (%llu from 0x%llx), and nothing "
            "orders them\n",
            one, other, (unsigned long long)(end - from), (unsigned long long)from);
    tape_race((const struct tape_side[]){{before->id, before->node, first->writes, sources[0]},
                                         {after->id, after->node, second->writes, sources[1]}},
              from, end - from);
    return true;
}
