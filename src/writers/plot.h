/* plot.h - pictures drawn by gnuplot, which may take its time or be somebody else's program. */
#ifndef PIPELINE_WRITERS_PLOT_H
#define PIPELINE_WRITERS_PLOT_H

#include "writers/writer.h"

/* Does what plot_draw() does, with `seconds` for gnuplot instead of a minute. STATUS_FAILED:
 * `error` says why there is no picture, and where its data was kept. Nothing is written to
 * `file` before the picture is whole. */
enum status plot_draw_within(int seconds, struct output_file *file, const struct report *report,
                             const struct picture_style *style, struct error *error);

#endif
