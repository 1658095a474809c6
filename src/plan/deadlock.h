/* deadlock.h - whether ops of a plan wait for each other for ever. */
#ifndef PIPELINE_PLAN_DEADLOCK_H
#define PIPELINE_PLAN_DEADLOCK_H

#include "plan/plan.h"

/* Checks a plan's waits; its ops must refer to streams and events that are there. STATUS_FAILED
 * says the worst of what is wrong: an event is waited for that no op records, and the wait is
 * named; ops wait for each other, and those are named, in the order in which one waits for the
 * next; a wait comes before any record of its event, so that it orders nothing. Time and memory
 * are linear in ops. */
enum status plan_check_waits(const struct plan *plan, struct error *error);

#endif
