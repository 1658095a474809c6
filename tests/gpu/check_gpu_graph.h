/* check_gpu_graph.h - the suite of plans as one graph, and of kernels on the host's memory, on
 * a real device. */
#ifndef PIPELINE_TESTS_CHECK_GPU_GRAPH_H
#define PIPELINE_TESTS_CHECK_GPU_GRAPH_H

#include <check.h>

Suite *gpu_graph_suite(void);

#endif
