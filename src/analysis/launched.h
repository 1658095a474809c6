/* launched.h - what a traced program's launches tell: the functions are traced.h's. */
#ifndef PIPELINE_ANALYSIS_LAUNCHED_H
#define PIPELINE_ANALYSIS_LAUNCHED_H

#include "analysis/traced.h"

/* For traced_begin(), when it knows which call issued which op: finds the first launches of
 * kernels, what launches have in common, and when the device was elsewhere. Returns false when
 * memory runs out. */
bool launched_find(struct traced *traced);

#endif
