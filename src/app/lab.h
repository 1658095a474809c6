/* lab.h - `pipeline lab`: writes the lab page. */
#ifndef PIPELINE_APP_LAB_H
#define PIPELINE_APP_LAB_H

#include "options/options.h"

/* Writes the page into options->output, or lab.html in the current folder, and says so on
 * standard output. STATUS_FAILED where the program was built without the page. */
enum status lab_command(const struct options *options, struct error *error);

#endif
