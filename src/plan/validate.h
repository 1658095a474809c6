/* validate.h - whether a plan can be carried out. */
#ifndef PIPELINE_PLAN_VALIDATE_H
#define PIPELINE_PLAN_VALIDATE_H

#include "plan/plan.h"

/* Checks that every op refers to streams, events, kernels and bytes that are there, and that
 * each event is recorded before it is waited for. STATUS_FAILED names the op, or, where the
 * plan could never end, the ops that wait for each other. */
enum status plan_validate(const struct plan *plan, struct error *error);

#endif
