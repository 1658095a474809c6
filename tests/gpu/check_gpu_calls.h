/* check_gpu_calls.h - the suite of syncs, allocations, memsets, copies within the device and
 * kinds of streams on a real device. */
#ifndef PIPELINE_TESTS_CHECK_GPU_CALLS_H
#define PIPELINE_TESTS_CHECK_GPU_CALLS_H

#include <check.h>

Suite *gpu_calls_suite(void);

#endif
