/* loop.h - the loop that another program was in, as its timeline shows it.
 *
 * A program that was recorded or profiled starts up, then does the same again and again, then
 * ends. What it did again and again is what counts: it is found by what ran, unless steps
 * of it are marked. Ops are the same where their kind is, the kernel's name, and about the
 * bytes of a copy or memset; two passes are the same where they have the same ops, in any
 * order, as streams and threads mix them. */
#ifndef PIPELINE_ANALYSIS_LOOP_H
#define PIPELINE_ANALYSIS_LOOP_H

#include "core/status.h"
#include "plan/timeline.h"

enum { LOOP_PASSES_MIN = 3 };

/* The thread that issues the loop did this before it. For the rest of that time it was outside
 * of CUDA. */
struct loop_startup {
    int64_t loads_ns;  /* launches' calls that loaded code, and calls that load modules */
    int64_t allocs_ns; /* calls that take and give back memory */
    int64_t waits_ns;  /* calls that wait for the device */
    int64_t calls_ns;  /* all other calls */
};

struct loop {
    uint32_t passes;        /* in the window; 0: no loop was found */
    uint32_t first;         /* the op of the device that it begins with, in order of start */
    uint32_t ops;           /* of the device, of a pass */
    uint32_t unlike;        /* passes in the window that differ from the others */
    bool marked;            /* the program says itself what a pass is, a step */
    int64_t pass_ns;        /* what one takes in the mean */
    int64_t from_ns, to_ns; /* the window: from one pass's beginning to another's, or to the end
                               of the last. The first passes are left out where they took
                               longer; with many unlike passes among them it has the longest
                               stretch without one */
    struct loop_startup startup;
};

/* Finds the loop of a timeline whose spans are in order of start. Passes that differ, such as
 * an evaluation now and then, are no part of it: the commonest pass is. Nothing is found where
 * fewer than LOOP_PASSES_MIN follow each other, or they have less than half of the ops. O(n log
 * n). STATUS_NO_MEMORY; set only on STATUS_OK. */
enum status loop_find(const struct timeline *timeline, struct loop *loop, struct error *error);

#endif
