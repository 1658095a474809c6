# The program whose ranks share a run: the same one, with MPI in the place of src/mpi/ranks_none.c.
# `make mpi` installs Open MPI, where it is missing.
.PHONY: mpi
mpi:
	$(Q)scripts/bootstrap.sh mpi
	$(Q)$(MAKE) --no-print-directory $(O)/pipeline-mpi

MPI_OBJECTS := $(MPI_ROOMS:%.c=$(OBJ)/%.o)
MPI_INCLUDES = $(if $(MPICC),$(patsubst -I%,-isystem %,$(filter -I%,$(shell $(MPICC) --showme:compile))))
$(MPI_OBJECTS): ROOM_CFLAGS += $(MPI_INCLUDES)
MPI_LIBS = $(shell $(MPICC) --showme:link)
$(OBJ)/bin/pipeline-mpi: PROGRAM_LIBS = $(LIBS) $(CUDA_LIBS) $(MPI_LIBS)
$(OBJ)/bin/pipeline-mpi: $(OBJ)/src/app/main.o $(BENCH_OBJECTS) $(MPI_OBJECTS) \
	$(filter-out $(MPI_NONE:%.c=$(OBJ)/%.o),$(OBJECTS))

# The ranks' clocks, each of which is made to be off.
$(OBJ)/tests/mpi/clocks.o: ROOM_CFLAGS += $(MPI_INCLUDES)
$(OBJ)/bin/clocks-check: PROGRAM_LIBS = -Wl,--wrap=clock_now_ns $(LIBS) $(CUDA_LIBS) $(MPI_LIBS)
$(OBJ)/bin/clocks-check: $(OBJ)/tests/mpi/clocks.o $(MPI_OBJECTS) \
	$(filter-out $(MPI_NONE:%.c=$(OBJ)/%.o),$(OBJECTS))

# Exits with 77 where Open MPI is missing.
.PHONY: check-ranks
check-ranks: $(O)/pipeline $(if $(MPICC),$(O)/pipeline-mpi $(O)/clocks-check)
	$(Q)tests/mpi/run.sh $(O)
