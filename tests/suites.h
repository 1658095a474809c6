/* suites.h - every room's test suite; check_main.c runs them all. */
#ifndef PIPELINE_TESTS_SUITES_H
#define PIPELINE_TESTS_SUITES_H

#include <check.h>

Suite *status_suite(void);
Suite *units_suite(void);
Suite *options_suite(void);
Suite *record_suite(void);
Suite *kernels_suite(void);
Suite *reductions_suite(void);
Suite *scan_suite(void);
Suite *carry_suite(void);
Suite *branches_suite(void);
Suite *launches_suite(void);
Suite *transpose_suite(void);
Suite *npy_suite(void);
Suite *arrays_suite(void);
Suite *output_file_suite(void);
Suite *files_suite(void);
Suite *verify_suite(void);
Suite *machine_suite(void);
Suite *plan_suite(void);
Suite *plan_build_suite(void);
Suite *deadlock_suite(void);
Suite *hazard_suite(void);
Suite *hazard_bytes_suite(void);
Suite *recorded_suite(void);
Suite *mistake_suite(void);
Suite *mistakes_suite(void);
Suite *event_queue_suite(void);
Suite *sim_suite(void);
Suite *sim_rules_suite(void);
Suite *sim_queues_suite(void);
Suite *sim_sync_suite(void);
Suite *calls_suite(void);
Suite *history_suite(void);
Suite *dgemm_suite(void);
Suite *dgemm_plans_suite(void);
Suite *graph_suite(void);
Suite *mapped_suite(void);
Suite *timeline_suite(void);
Suite *analysis_suite(void);
Suite *latency_suite(void);
Suite *critical_suite(void);
Suite *verdict_suite(void);
Suite *trace_suite(void);
Suite *recording_suite(void);
Suite *foreign_suite(void);
Suite *view_suite(void);
Suite *limit_suite(void);
Suite *reference_suite(void);
Suite *tune_suite(void);
Suite *compare_suite(void);
Suite *compare_cli_suite(void);
Suite *calibrate_suite(void);
Suite *calibrate_file_suite(void);
Suite *calibrate_cli_suite(void);
Suite *tile_fold_suite(void);
Suite *backend_suite(void);
Suite *writer_suite(void);
Suite *writer_put_suite(void);
Suite *writer_trace_suite(void);
Suite *writer_hostile_suite(void);
Suite *escapes_suite(void);
Suite *inputs_suite(void);
Suite *dry_run_suite(void);
Suite *html_suite(void);
Suite *cli_suite(void);
Suite *environment_suite(void);
Suite *sweep_suite(void);
Suite *terminal_suite(void);
Suite *plot_suite(void);
Suite *pages_suite(void);
Suite *marks_suite(void);
Suite *profiled_suite(void);
Suite *fuzz_seeds_suite(void);
Suite *bench_suite(void);
Suite *lessons_suite(void);
Suite *library_suite(void);
Suite *needed_suite(void);
Suite *rework_suite(void);

/* The contract suite: the same tests for any backend; `device` is a --device value. */
Suite *contract_suite(const char *device);

#endif
