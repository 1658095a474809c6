/* check_gpu_latency.h - the suite of what stream priorities do on a real device. */
#ifndef PIPELINE_TESTS_CHECK_GPU_LATENCY_H
#define PIPELINE_TESTS_CHECK_GPU_LATENCY_H

#include <check.h>

Suite *gpu_latency_suite(void);

#endif
