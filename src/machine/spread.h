/* spread.h - how far the figures of a machine may be off, and what it is like if they are. */
#ifndef PIPELINE_MACHINE_SPREAD_H
#define PIPELINE_MACHINE_SPREAD_H

#include "machine/fields.h"

/* Returns the group whose spread the field's figure has; SPREAD_COUNT: it is known. */
enum machine_spread machine_spread_of(const struct machine_field *field);

/* Makes all figures of a group that many times as slow; less than 1 makes them faster. What is
 * 0, and so not known, stays so. */
void machine_slow(struct machine *machine, enum machine_spread group, double times);

#endif
