/* check_gpu_devices.h - the suite of runs on several real devices; where there is one, nothing
 * is checked. */
#ifndef PIPELINE_TESTS_CHECK_GPU_DEVICES_H
#define PIPELINE_TESTS_CHECK_GPU_DEVICES_H

#include <check.h>

Suite *gpu_devices_suite(void);

#endif
