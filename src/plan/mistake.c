/* mistake.c - the table of mistakes. */
#include "plan/mistake.h"

#include "core/nearest.h"

#include <stddef.h>
#include <string.h>

const struct mistake_row mistake_rows[MISTAKE_COUNT + 1] = {
    [MISTAKE_NONE] =
        {
            .name = "none",
            .summary = "nothing is broken",
            .effect = "what a run does unless it is told otherwise",
            .shows = "no GPU",
        },
    [MISTAKE_MISSING_WAIT] =
        {
            .name = "missing-wait",
            .summary = "kernels do not wait for copies that come in through another stream",
            .effect = "a race: a kernel that comes too early reads what was there before",
            .shows = "every GPU",
            .races = true,
        },
    [MISTAKE_PAGEABLE_MEMORY] =
        {
            .name = "pageable-memory",
            .summary = "the host arrays are not page-locked",
            .effect = "the host stages each copy, slowly, and its call returns only then",
            .shows = "every GPU",
        },
    [MISTAKE_LEGACY_STREAM] =
        {
            .name = "legacy-stream",
            .summary = "kernels are launched without a stream, so in the legacy default stream",
            .effect =
                "each waits for all copies issued before it, and holds up all issued later",
            .shows = "every GPU, where copies and kernels would overlap",
        },
    [MISTAKE_BLOCKING_STREAM] =
        {
            .name = "blocking-stream",
            .summary =
                "streams are of cudaStreamCreate(), and other code uses the default stream",
            .effect = "after each tile all streams wait for that code, and it for them",
            .shows =
                "every GPU, where copies and kernels would overlap; most in depth-first order",
        },
    [MISTAKE_SYNC_IN_LOOP] =
        {
            .name = "sync-in-loop",
            .summary = "the host synchronises after each tile",
            .effect = "the next tile is issued only when this one is done: nothing overlaps it",
            .shows =
                "every GPU, where copies and kernels would overlap; most in depth-first order",
        },
    [MISTAKE_ALLOC_IN_LOOP] =
        {
            .name = "alloc-in-loop",
            .summary = "device memory is taken and given back for each tile",
            .effect = "every time the host waits until the whole GPU is idle",
            .shows = "every GPU",
        },
    [MISTAKE_PINNED_ALLOC_IN_LOOP] =
        {
            .name = "pinned-alloc-in-loop",
            .summary = "page-locked memory is taken and given back for each tile",
            .effect =
                "the host is slow to issue; on old GPUs it also waits until the GPU is idle",
            .shows = "every GPU; that wait below compute capability 5.0",
        },
    [MISTAKE_MEMSET_IN_LOOP] =
        {
            .name = "memset-in-loop",
            .summary = "each tile's device memory is set before it is copied over",
            .effect = "nothing issued before a memset overlaps what is issued after it",
            .shows = "below compute capability 5.0; elsewhere it is only more work",
        },
    [MISTAKE_LAUNCH_BLOCKING] =
        {
            .name = "launch-blocking",
            .summary = "CUDA_LAUNCH_BLOCKING=1 is left set, as for debugging",
            .effect = "each launch returns when its kernel has ended: what comes later is "
                      "issued late",
            .shows = "every GPU, where copies and kernels would overlap",
        },
    [MISTAKE_SLOW_CALLBACK] =
        {
            .name = "slow-callback",
            .summary = "a host callback after each tile takes longer than its copies",
            .effect = "one thread of the driver runs them in turn, and their streams wait",
            .shows = "every GPU",
        },
    [MISTAKE_LAZY_LOADING] =
        {
            .name = "lazy-loading",
            .summary = "the first launch of each kernel is in the timed run, without a warm-up",
            .effect = "that launch also loads the kernel's code",
            .shows = "compute capability 5.0 and later: CUDA 12.2 and later load on first use",
        },
    [MISTAKE_PIN_IN_RUN] =
        {
            .name = "pin-in-run",
            .summary = "memory for all host arrays is page-locked within the time that counts",
            .effect = "pinning costs more than faster copies save",
            .shows = "every GPU, unless the same memory is used for many runs",
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
