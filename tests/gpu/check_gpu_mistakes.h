/* check_gpu_mistakes.h - the suite of mistakes on a real device. */
#ifndef PIPELINE_TESTS_CHECK_GPU_MISTAKES_H
#define PIPELINE_TESTS_CHECK_GPU_MISTAKES_H

#include <check.h>

Suite *gpu_mistakes_suite(void);

#endif
