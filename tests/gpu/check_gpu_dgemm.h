/* check_gpu_dgemm.h - the matrix product by cuBLAS. */
#ifndef PIPELINE_TESTS_CHECK_GPU_DGEMM_H
#define PIPELINE_TESTS_CHECK_GPU_DGEMM_H

#include <check.h>

Suite *gpu_dgemm_suite(void);

#endif
