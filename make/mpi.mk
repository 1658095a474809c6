# The program whose ranks share a run: the same one, with MPI in the place of src/mpi/ranks_none.c.
# `make mpi` installs Open MPI, where it is missing.
.PHONY: mpi
mpi:
	$(Q)scripts/bootstrap.sh mpi
	$(Q)$(MAKE) --no-print-directory $(O)/pipeline-mpi

MPI_OBJECTS := $(MPI_ROOMS:%.c=$(OBJ)/%.o)
$(MPI_OBJECTS): ROOM_CFLAGS += $(patsubst -I%,-isystem %,$(filter -I%,$(shell $(MPICC) --showme:compile)))
$(OBJ)/bin/pipeline-mpi: PROGRAM_LIBS = $(LIBS) $(CUDA_LIBS) $(shell $(MPICC) --showme:link)
$(OBJ)/bin/pipeline-mpi: $(OBJ)/src/app/main.o $(BENCH_OBJECTS) $(MPI_OBJECTS) \
	$(filter-out $(MPI_NONE:%.c=$(OBJ)/%.o),$(OBJECTS))
