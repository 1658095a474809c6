/* sends.c - says on standard error that a message is sent without being waited for, as what
 * crosses from rank to rank is. tests/mpi/run.sh preloads it. */
#include <mpi.h>
#include <stdio.h>

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    fputs("a message\n", stderr);
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}
