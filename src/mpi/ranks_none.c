/* ranks_none.c - the program without MPI: one rank. */
#include "mpi/ranks.h"

/* One rank has nothing to agree on: it uses none of what it is given. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum status ranks_begin(int *argc, char ***argv, struct error *error)
{
    return STATUS_OK;
}

enum status ranks_end(enum status status, struct error *error)
{
    return status;
}

uint32_t ranks_count(void)
{
    return 1;
}

bool ranks_speak(void)
{
    return true;
}

enum status ranks_agree(enum status status, struct error *error)
{
    return status;
}

enum status ranks_take(struct options *options, bool (*measures)(const char *device),
                       struct error *error)
{
    return STATUS_OK;
}

enum status ranks_compare_plans(const struct plan *plan, struct error *error)
{
    return STATUS_OK;
}

const struct backend_ops *ranks_backend(const struct backend_ops *ops)
{
    return ops;
}

judgement_agree *ranks_judges(void)
{
    return NULL;
}
