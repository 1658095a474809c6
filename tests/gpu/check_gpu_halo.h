/* check_gpu_halo.h - the suite of stencils on real devices. */
#ifndef PIPELINE_TESTS_CHECK_GPU_HALO_H
#define PIPELINE_TESTS_CHECK_GPU_HALO_H

#include <check.h>

Suite *gpu_halo_suite(void);

#endif
