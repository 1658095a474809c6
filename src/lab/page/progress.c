/* progress.c - stands for term/progress.c on a page: notes go to standard error, which the page
 * shows, and there is no progress line. */
#include "term/progress.h"

#include <stdarg.h>
#include <stdio.h>

void note_print(bool quiet, const char *format, ...)
{
    va_list list;
    if (quiet)
        return;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
}

void progress_repeat(uint32_t repeat, uint32_t repeats)
{
    (void)repeat;
    (void)repeats;
}

void progress_timed(bool timed)
{
    (void)timed;
}

void progress_tile(uint32_t done, uint32_t tiles)
{
    (void)done;
    (void)tiles;
}
