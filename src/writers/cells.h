/* cells.h - the figures of a run, as tables show them: shared by the writers of tables.
 */
#ifndef PIPELINE_WRITERS_CELLS_H
#define PIPELINE_WRITERS_CELLS_H

#include "report/report.h"

enum { CELL_TEXT = 64 };

/* Writes one figure of `run` into `text`: "5.67 ms", "1.84x", "99.1%"; "-" where there is none.
 */
typedef void cell_show(const struct run_report *run, char text[CELL_TEXT]);

/* Figures of the settings and the plan. */
cell_show cell_ways, cell_order, cell_layout, cell_streams, cell_tiles, cell_cpu_tiles,
    cell_slots;
cell_show cell_host_bytes, cell_device_bytes;

/* Results. cell_copied is both directions' bytes over the run's time. */
cell_show cell_time, cell_fastest, cell_slowest, cell_speedup, cell_limit, cell_limit_share;
cell_show cell_limit_cause, cell_result, cell_verified, cell_issued_by, cell_issue, cell_copied,
    cell_gflops;

/* Figures of the run that was traced. */
cell_show cell_h2d, cell_compute, cell_d2h, cell_cpu, cell_concurrency;

#endif
