/* check_main.c - runs every suite that needs no GPU. CK_RUN_SUITE=name picks one; with
 * `--list`, their names are printed instead, one a line, for tests/run-suites.sh. */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Suite *contract_sim_suite(void)
{
    return contract_suite("sim:h200");
}

static const struct {
    const char *name;
    Suite *(*create)(void);
} suites[] = {
    /* clang-format off */ /* a line each: lists of them merge */
    {"status", status_suite},
    {"units", units_suite},
    {"options", options_suite},
    {"kernels", kernels_suite},
    {"npy", npy_suite},
    {"arrays", arrays_suite},
    {"output_file", output_file_suite},
    {"files", files_suite},
    {"verify", verify_suite},
    {"machine", machine_suite},
    {"plan", plan_suite},
    {"plan_build", plan_build_suite},
    {"plan_loops", plan_loops_suite},
    {"batch", batch_suite},
    {"event_queue", event_queue_suite},
    {"sim", sim_suite},
    {"timeline", timeline_suite},
    {"analysis", analysis_suite},
    {"limit", limit_suite},
    {"devices", devices_suite},
    {"topology", topology_suite},
    {"peers", peers_suite},
    {"portion", portion_suite},
    {"chain", chain_suite},
    {"stencil", stencil_suite},
    {"halo", halo_suite},
    {"tile_fold", tile_fold_suite},
    {"backend", backend_suite},
    {"writer", writer_suite},
    {"cli", cli_suite},
    {"environment", environment_suite},
    {"anonymous", anonymous_suite},
    {"critical", critical_suite},
    {"verdict", verdict_suite},
    {"fixes", fixes_suite},
    {"trace", trace_suite},
    {"lab", lab_suite},
    {"recording", recording_suite},
    {"foreign", foreign_suite},
    {"record", record_suite},
    {"try", try_suite},
    {"view", view_suite},
    {"plot", plot_suite},
    {"marks", marks_suite},
    {"profiled", profiled_suite},
    {"pages", pages_suite},
    {"sim_rules", sim_rules_suite},
    {"sim_queues", sim_queues_suite},
    {"sim_sync", sim_sync_suite},
    {"calls", calls_suite},
    {"history", history_suite},
    {"writer_trace", writer_trace_suite},
    {"writer_put", writer_put_suite},
    {"writer_hostile", writer_hostile_suite},
    {"escapes", escapes_suite},
    {"inputs", inputs_suite},
    {"dry_run", dry_run_suite},
    {"emit", emit_suite},
    {"emit_calls", emit_calls_suite},
    {"emit_needs", emit_needs_suite},
    {"emit_own", emit_own_suite},
    {"emit_back", emit_back_suite},
    {"emit_halo", emit_halo_suite},
    {"emit_stencil", emit_stencil_suite},
    {"emit_chain", emit_chain_suite},
    {"emit_devices", emit_devices_suite},
    {"emit_spread", emit_spread_suite},
    {"sweep", sweep_suite},
    {"terminal", terminal_suite},
    {"html", html_suite},
    {"fuzz_seeds", fuzz_seeds_suite},
    {"compare", compare_suite},
    {"compare_cli", compare_cli_suite},
    {"accuracy", accuracy_suite},
    {"deadlock", deadlock_suite},
    {"hazard", hazard_suite},
    {"hazard_bytes", hazard_bytes_suite},
    {"needed", needed_suite},
    {"recorded", recorded_suite},
    {"host_bound", host_bound_suite},
    {"rework", rework_suite},
    {"replan", replan_suite},
    {"replan_view", replan_view_suite},
    {"loop_causes", loop_causes_suite},
    {"proof", proof_suite},
    {"rework_view", rework_view_suite},
    {"mistake", mistake_suite},
    {"reference", reference_suite},
    {"tune", tune_suite},
    {"calibrate", calibrate_suite},
    {"calibrate_file", calibrate_file_suite},
    {"calibrate_devices", calibrate_devices_suite},
    {"calibrate_held", calibrate_held_suite},
    {"calibrate_noise", calibrate_noise_suite},
    {"calibrate_own", calibrate_own_suite},
    {"calibrate_cli", calibrate_cli_suite},
    {"reductions", reductions_suite},
    {"bench", bench_suite},
    {"scan", scan_suite},
    {"branches", branches_suite},
    {"launches", launches_suite},
    {"transpose", transpose_suite},
    {"dgemm", dgemm_suite},
    {"dgemm_plans", dgemm_plans_suite},
    {"mistakes", mistakes_suite},
    {"latency", latency_suite},
    {"loop", loop_suite},
    {"carry", carry_suite},
    {"alloc", alloc_suite},
    {"own", own_suite},
    {"graph", graph_suite},
    {"managed", managed_suite},
    {"share", share_suite},
    {"mapped", mapped_suite},
    {"scatter", scatter_suite},
    {"scatter_runs", scatter_runs_suite},
    {"columns", columns_suite},
    {"lesson_heads", lesson_heads_suite},
    {"lessons", lessons_suite},
    {"library", library_suite},
    {"contract sim:h200", contract_sim_suite},
    /* clang-format on */
};
enum { SUITE_COUNT = sizeof suites / sizeof suites[0] };

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; i < SUITE_COUNT; i++)
            puts(suites[i].name);
        return EXIT_SUCCESS;
    }
    SRunner *runner = srunner_create(suites[0].create());
    for (int i = 1; i < SUITE_COUNT; i++)
        srunner_add_suite(runner, suites[i].create());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
