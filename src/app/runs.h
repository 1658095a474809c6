/* runs.h - the runs that options ask for, and their report. */
#ifndef PIPELINE_APP_RUNS_H
#define PIPELINE_APP_RUNS_H

#include "options/options.h"

/* Makes all runs, one after another, and writes their files and their report; with --dry-run or
 * --emit it writes their plans or programs instead. An error says in which of several runs it
 * was. STATUS_FAILED where a result is wrong, too, also one that was asked for. */
enum status runs_all(const struct options *options, struct error *error);

#endif
