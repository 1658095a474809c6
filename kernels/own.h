/* own.h - kernels of users' own, from shared libraries (kernels/own_kernel.h). */
#ifndef PIPELINE_KERNELS_OWN_H
#define PIPELINE_KERNELS_OWN_H

#include "core/status.h"
#include "kernels/kernel.h"

struct pipeline_kernel;

/* Roundings that a result may be off where a library names no tolerance; and a sum of doubles.
 */
enum { OWN_ROUNDINGS = 16, OWN_SUM_ROUNDINGS = 4096 };

/* Opens the library `path` and returns its kernel, which stays for as long as the process. A
 * path without a slash is one in the present folder. NULL, and a STATUS_USAGE error that begins
 * with the path, where it is no such library. Not for several threads at once. */
const struct kernel *kernel_own_open(const char *path, struct error *error);

/* Makes a kernel that is part of the program known under `path`, by which kernel_own_open()
 * then finds it without a library; all else is as with one. A path that is known keeps the
 * kernel that it has. The names in `own` stay for as long as the process. STATUS_USAGE, as
 * above, where `own` is no such kernel, or is one too many. */
enum status kernel_own_add(const char *path, const struct pipeline_kernel *own,
                           struct error *error);

/* Has kernels say of the file that they are from only its own name: for what is handed on. None
 * is opened after that. */
void kernel_own_forget_folders(void);

/* Has `clean` called where a library ends the program, before that. */
void kernel_own_on_end(void (*clean)(void));

/* Says that the program ends by itself now, with this code: an exit() before it is a library's,
 * and fails the run. Where a library is open this does not return: a destructor, which could
 * end the process with a code of its own, or never, no longer runs. */
void kernel_own_end(int code);

#endif
