/* finalists.h - the settings that the simulator finds nearly as good as the best, and which of
 * them a device finds the fastest. */
#ifndef PIPELINE_REPORT_FINALISTS_H
#define PIPELINE_REPORT_FINALISTS_H

#include "core/status.h"
#include "plan/settings.h"

enum { FINALISTS_MAX = 12 };

/* The fastest of the settings that were added, the fastest first, no two alike. Begin with
 * zeroes. */
struct finalists {
    struct finalist {
        struct settings settings;
        int64_t time_ns;
    } all[FINALISTS_MAX];
    int count;
};

/* Returns true if two settings are alike in all that may be chosen. */
bool finalists_are_alike(const struct settings *one, const struct settings *other);

/* Adds settings, unless others like them are there or as many are faster. */
void finalists_add(struct finalists *finalists, const struct settings *settings,
                   int64_t time_ns);

/* Adds all of another list. */
void finalists_add_all(struct finalists *finalists, const struct finalists *others);

/* Runs settings on a device, with arrays of their own, `runs` times once they are warm, and
 * sets *median_ns. STATUS_USAGE where the device can't run them, for want of memory, too. */
typedef enum status finalists_measure(void *context, const struct settings *settings,
                                      uint32_t runs, int64_t *median_ns, struct error *error);

/* The result of running settings on the device. */
struct tried {
    struct settings settings; /* the fastest */
    int64_t time_ns;          /* its median */
    int64_t chosen_ns;        /* that of the simulator's choice; 0: the device can't run it */
    int count;                /* settings that were run; 0: the device can't run any */
};

/* Measures the finalists, `chosen`, the simulator's choice, and `usual`, what would be without
 * a choice: each with few runs, then the fastest, and the choice, with more. The choice stays
 * unless another is faster by a hundredth. The simulator
 * doesn't know all that a host does to copies; where it finds settings alike, the device may
 * tell them apart. Sets *tried on STATUS_OK. */
enum status finalists_try(const struct finalists *finalists, const struct settings *chosen,
                          const struct settings *usual, finalists_measure *measure,
                          void *context, struct tried *tried, struct error *error);

#endif
