/* settings.h - what all ranks must have in common, and each run's devices. */
#ifndef PIPELINE_MPI_SETTINGS_H
#define PIPELINE_MPI_SETTINGS_H

#include "options/options.h"

#include <stdbool.h>

/* Refuses settings that differ between ranks. STATUS_USAGE: the first of rank 0's settings that
 * another rank has otherwise, and that rank. */
enum status ranks_compare_settings(const struct options *options,
                                   bool (*measures)(const char *device), struct error *error);

/* Refuses what ranks don't share, and has each run's --device name a device for each rank. The
 * names are kept until ranks_free_names(). STATUS_USAGE. */
enum status ranks_name_devices(struct options *options, bool (*measures)(const char *device),
                               struct error *error);
void ranks_free_names(void);

#endif
