/* guest.h - another program, run in our place: it has all that we were given, and is told what
 * we are told. */
#ifndef PIPELINE_APP_GUEST_H
#define PIPELINE_APP_GUEST_H

#include "term/child.h"

#include <signal.h>
#include <sys/types.h>

struct guest {
    /* The owner sets these before guest_run(). */
    const char *path;       /* of the program */
    char *const *arguments; /* ended by NULL; the first is the program as it was called */
    sigset_t mask;          /* the signals that it finds blocked */

    /* guest_run() sets these. */
    pid_t process; /* the number that it had */
    int code;      /* as enum child_end says */
};

/* Runs the program, in our process group and with our environment, and waits for its end. The
 * caller has all signals blocked, and leaves them so: what reaches us alone is passed on, what
 * the terminal sends to the whole group is not, and where the program is stopped so are we.
 * Standard input, standard output and whatever else we were given open is the program's alone
 * from then on: who reads or writes the other end sees it closed when the program closes it.
 * Should we be killed, so is the program. Returns CHILD_EXITED, CHILD_SIGNALLED,
 * CHILD_NOT_STARTED or CHILD_LOST. */
enum child_end guest_run(struct guest *guest);

#endif
