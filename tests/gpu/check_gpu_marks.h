/* check_gpu_marks.h - the suite of NVTX and --profile on a real device. */
#ifndef PIPELINE_TESTS_CHECK_GPU_MARKS_H
#define PIPELINE_TESTS_CHECK_GPU_MARKS_H

#include <check.h>

Suite *gpu_marks_suite(void);

#endif
