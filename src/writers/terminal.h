/* terminal.h - how standard output wants to be written to. */
#ifndef PIPELINE_WRITERS_TERMINAL_H
#define PIPELINE_WRITERS_TERMINAL_H

#include "options/options.h"
#include "writers/writer.h"

/* Returns the style for standard output: its width (80 columns when it is no terminal), and
 * colours only on a terminal, unless --no-color, NO_COLOR (no-color.org) or TERM=dumb says
 * otherwise.
 */
struct writer_style terminal_style(const struct options *options);

#endif
