/* check_main.c - runs every suite that needs no GPU. CK_RUN_SUITE=name picks one. */
#include "suites.h"

#include <stdlib.h>

int main(void)
{
    /* clang-format off */ /* a line each: lists of them merge */
    Suite *(*const suites[])(void) = {
        status_suite,
        options_suite,
        kernels_suite,
        npy_suite,
        arrays_suite,
        output_file_suite,
        verify_suite,
        machine_suite,
        plan_suite,
        plan_build_suite,
        event_queue_suite,
        sim_suite,
        timeline_suite,
        analysis_suite,
        limit_suite,
        tile_fold_suite,
        backend_suite,
        writer_suite,
        cli_suite,
        critical_suite,
        verdict_suite,
        trace_suite,
        view_suite,
        plot_suite,
        marks_suite,
        profiled_suite,
        pages_suite,
        sim_rules_suite,
        sim_queues_suite,
        sim_sync_suite,
        calls_suite,
        history_suite,
        writer_trace_suite,
        writer_put_suite,
        writer_hostile_suite,
        sweep_suite,
        terminal_suite,
        html_suite,
        fuzz_seeds_suite,
        compare_suite,
        compare_cli_suite,
        deadlock_suite,
        hazard_suite,
        hazard_bytes_suite,
        mistake_suite,
        reference_suite,
        model_suite,
        tune_suite,
        calibrate_suite,
        calibrate_file_suite,
        calibrate_cli_suite,
        reductions_suite,
        bench_suite,
        scan_suite,
        branches_suite,
        launches_suite,
        transpose_suite,
        dgemm_suite,
        dgemm_plans_suite,
        mistakes_suite,
        latency_suite,
        carry_suite,
        graph_suite,
        mapped_suite,
        lessons_suite,
    };
    /* clang-format on */
    SRunner *runner = srunner_create(units_suite());
    for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++)
        srunner_add_suite(runner, suites[i]());
    srunner_add_suite(runner, contract_suite("sim:h200"));
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
