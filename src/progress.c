/* progress.c - draws over one line of the terminal. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR_COLUMNS = 30 };
static const int64_t redraw_ns = 100000000;

void progress_begin(struct progress *progress, const char *name, bool quiet)
{
    *progress = (struct progress){.name = name, .on = !quiet && isatty(STDERR_FILENO)};
}

static bool is_due(struct progress *progress)
{
    struct timespec now;
    if (!progress->on)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    if (progress->shown_ns != 0 && ns - progress->shown_ns < redraw_ns)
        return false;
    progress->shown_ns = ns;
    return true;
}

static void draw(const struct progress *progress, double done)
{
    char bar[BAR_COLUMNS + 1];
    int filled = (int)(done * BAR_COLUMNS);
    memset(bar, '.', BAR_COLUMNS);
    memset(bar, '#', (size_t)(filled < BAR_COLUMNS ? filled : BAR_COLUMNS));
    bar[BAR_COLUMNS] = '\0';
    fprintf(stderr, "\r%.24s: run %" PRIu32 " of %" PRIu32 " [%s]", progress->name,
            progress->run + 1, progress->runs, bar);
    fflush(stderr);
}

void progress_run(struct progress *progress, uint32_t run, uint32_t runs)
{
    progress->run = run;
    progress->runs = runs;
    if (is_due(progress))
        draw(progress, 0);
}

void progress_tile(struct progress *progress, uint32_t done, uint32_t tiles)
{
    if (is_due(progress))
        draw(progress, (double)done / tiles);
}

void progress_end(struct progress *progress)
{
    if (progress->on && progress->shown_ns != 0)
        fprintf(stderr, "\r%*s\r", BAR_COLUMNS + 60, "");
}
