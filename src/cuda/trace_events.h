/* trace_events.h - a traced run that takes the device's times from events. */
#ifndef PIPELINE_CUDA_TRACE_EVENTS_H
#define PIPELINE_CUDA_TRACE_EVENTS_H

#include "cuda/traced_run.h"

enum { CUDA_EVENT_RESOLUTION_NS = 500 }; /* cudaEventElapsedTime()'s documentation */

/* Runs once with an event behind every copy, memset and kernel, which gives their ends; their
 * starts are rebuilt from the engines' order. */
enum status trace_with_events(struct traced_run *traced, struct run_times *times,
                              struct error *error);

#endif
