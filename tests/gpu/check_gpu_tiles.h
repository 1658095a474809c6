/* check_gpu_tiles.h - launches over several tiles on a real device. */
#ifndef PIPELINE_TESTS_CHECK_GPU_TILES_H
#define PIPELINE_TESTS_CHECK_GPU_TILES_H

#include <check.h>

Suite *gpu_tiles_suite(void);

#endif
