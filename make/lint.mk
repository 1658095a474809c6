# Checks that run nothing: format, headers, cppcheck, rooms, hardening.

SOURCES := $(sort $(wildcard src/*/*.[ch] src/lab/page/*.[ch] kernels/*.[ch] kernels/*.cu kernels/*.cuh kernels/*.def src/cpu/*.cpp src/cpu/include/*.h src/cpu/include/*/*.h src/options/*.def src/plan/*.def src/record/*.def tests/*.[ch] \
             tests/fuzz/*.[ch] tests/hostile/*.[ch] tests/gpu/*.[ch] tests/nvtx/*.[ch] tests/record/*.[ch] tests/emulator/*.[ch] \
             tests/emulator/*.cpp bench/*.[ch] bench/experiments/*.h bench/experiments/*.cu docs/manual/*.[ch]))
.PHONY: check-format check-headers check-static
# Runs what follows on as many files at once as there are processors: each gets $(1) of them.
each = printf '%s\n' $(2) | xargs -P "$$(nproc)" -n $(1)
# Linters of other versions find other things: one who builds the program gets a note, CI a failure.
# $(call by,PROGRAM,VERSION) ends the line of a rule where PROGRAM is of another version.
by = $(1) --version 2>/dev/null | grep -q '$(2)' || { echo "$@: left out: it goes by $(1) $(2), and here is \
	$$($(1) --version 2>/dev/null | grep . || echo none)"; test -z "$$CI"; exit; }
check-format:
	$(say) FORMAT "$(words $(SOURCES)) files"
	$(Q)$(call by,$(CLANG_FORMAT),version 14); $(call each,80,$(SOURCES)) $(CLANG_FORMAT) --dry-run --Werror

# Each header stands alone. Those that include CUDA's are left out where there is no nvcc, and the one
# that includes MPI's where there is no mpicc.
CUDA_HEADERS := $(wildcard src/cuda/*.h src/record/*.h) bench/bench_cuda.h
check-headers:
	$(say) HEADERS "$(words $(HEADERS)) files"
	$(Q)$(call each,1,$(filter-out $(if $(NVCC),,$(CUDA_HEADERS)) $(if $(MPICC),,src/mpi/parts.h),$(HEADERS))) \
		sh -c 'echo "#include \"$$0\"" | $(CC) -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror \
			-I. -Isrc $(if $(NVCC),-isystem $(CUDA_HOME)/include) $(MPI_INCLUDES) -fsyntax-only -x c -'

check-static:
	$(say) CPPCHECK "src kernels docs/manual bench"
	$(Q)$(call by,cppcheck,2.10); cppcheck -q -j "$$(nproc)" --std=c11 --language=c --error-exitcode=1 --inline-suppr \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		-D_GNU_SOURCE -Isrc -I. \
		$(filter-out $(CUDA_ROOMS) bench/bench_cuda% src/record/%,$(wildcard src/*/*.c src/lab/page/*.c kernels/*.c kernels/*.cu docs/manual/*.c bench/*.c))

# What clang warns of in all that it may compile; the fuzzers are what it builds and runs.
CLANG_SOURCES := $(filter-out $(if $(NVCC),,$(CUDA_ROOMS) bench/bench_cuda% src/record/%) $(if $(MPICC),,$(MPI_ROOMS)) \
                   src/lab/page/%,$(filter %.c,$(filter src/% kernels/% bench/% docs/%,$(SOURCES))))
.PHONY: check-clang
check-clang: $(if $(RECORD),$(O)/generated/nothing.h)
	$(say) CLANG "$(words $(CLANG_SOURCES)) files"
	$(Q)$(call each,10,$(CLANG_SOURCES)) clang -std=c17 -D_GNU_SOURCE -Isrc -I. -I$(O)/generated $(WARNINGS) -Werror -O2 -fopenmp -pthread \
		$(PACKAGE_CFLAGS) $(if $(NVCC),-isystem $(CUDA_HOME)/include -isystem $(CUDA_HOME)/extras/CUPTI/include) \
		$(if $(NVTX),-isystem $(NVTX)) $(MPI_INCLUDES) -fsyntax-only

# The rooms of docs/rooms.txt, by includes and by the symbols of objects; first, whether planted
# faults would be found. The objects are those of plain flags: sanitizers add symbols of their own.
.PHONY: check-rooms
check-rooms: $(O)/pipeline $(O)/print-pages $(RECORD)
	$(say) ROOMS docs/rooms.txt
	$(Q)tests/rooms/self.sh
	$(Q)tests/rooms/check.sh $(OBJ)

# What HARDENING asked for is in the program.
.PHONY: check-hardening
check-hardening: $(O)/pipeline
	$(say) HARDEN $<
	$(Q)tests/hardened.sh $< $(HARDENING)
