/* machine_file.h - a machine by its name, or from a file of the user's. */
#ifndef PIPELINE_RUN_MACHINE_FILE_H
#define PIPELINE_RUN_MACHINE_FILE_H

#include "machine/machine.h"

/* Reads the file `name` if it holds a '/' or ends in ".ini", else the machine of that name that
 * is part of the program. STATUS_USAGE names the file and line, or all machines. */
enum status machine_load(struct machine *machine, const char *name, struct error *error);

#endif
