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

static void describe(const struct clock_doing *doing, const struct touch *touch, char *text,
                     size_t size)
{
    char source[256] = "";
    if (touch->code != NULL && watch_source != NULL)
        watch_source((uintptr_t)touch->code, source, sizeof source);
    else if (touch->code == NULL)
        snprintf(source, sizeof source, "%.200s:%d", doing->file, doing->line);
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
    return false;
}

void hazard_tell(const struct clock_doing *before, const struct touch *first,
                 const struct clock_doing *after, const struct touch *second)
{
    char one[280], other[280];
    const struct pair pair = {
        {first->code, before->file, before->kernel, second->code, after->file, after->kernel},
        {before->line, after->line}};
    if (was_told(&pair))
        return;
    describe(before, first, one, sizeof one);
    describe(after, second, other, sizeof other);
    const uintptr_t from = first->from > second->from ? first->from : second->from;
    const uintptr_t end = first->end < second->end ? first->end : second->end;
    fflush(stdout);
    fprintf(stderr,
            "pipeline: race: %s and %s touch the same bytes (%llu from 0x%llx), and nothing "
            "orders them\n",
            one, other, (unsigned long long)(end - from), (unsigned long long)from);
}
