/* check_gpu_scan.h - the scans' launchers on a real device, with a carry. */
#ifndef PIPELINE_TESTS_CHECK_GPU_SCAN_H
#define PIPELINE_TESTS_CHECK_GPU_SCAN_H

#include <check.h>

Suite *gpu_scan_suite(void);

#endif
