# The tests: of every room, of kernels without a GPU, with one, and fuzzing.

# --- the two tiers ------------------------------------------------------------------------------
# `test` is what one runs before a commit; `test-deep` takes four times as long.
.PHONY: test test-deep
test:
	$(Q)scripts/bootstrap.sh test
	$(Q)tests/tier.sh quick $(O)

test-deep:
	$(Q)scripts/bootstrap.sh deep
	$(Q)tests/tier.sh deep $(O)

# README's commands on a fresh Debian of each suite, each made in $(O)/fresh: by hand, as root.
FRESH ?= bookworm trixie
.PHONY: check-fresh
check-fresh:
	$(Q)tests/fresh.sh $(O)/fresh $(FRESH)

# --- the suites ----------------------------------------------------------------------------------
SUITES := $(filter-out $(if $(SQLITE),%_none.c,tests/sqlite_file.c tests/fuzz/fuzz_sqlite.c), \
            $(wildcard tests/*.c tests/fuzz/fuzz_*.c))
# How the tests compile programs of --emit for the CPU.
EMIT_WATCH := -fsanitize=thread $(if $(findstring clang,$(CXX)),-mllvm -tsan-instrument-read-before-write \
	-mllvm -tsan-distinguish-volatile,--param=tsan-distinguish-volatile=1 -fno-ipa-icf)
EMIT_COMPILE := $(CXX) -std=c++17 -O1 -w -pthread -ffp-contract=off $(EMIT_WATCH)
TEST_CFLAGS = -Itests -DPIPELINE_PROGRAM='"$(abspath $(O))/pipeline"' \
              -DTESTS_FOLDER='"$(CURDIR)/tests"' -DBUILD_FOLDER='"$(abspath $(O))"' \
              -DEMIT_COMPILE='"$(EMIT_COMPILE)"' -DEMIT_LINK='"$(CXX) -pthread"' \
              -DTESTS_NVTX=$(if $(NVTX),1,0)
$(OBJ)/tests/%.o: ROOM_CFLAGS += $(TEST_CFLAGS)
SUITE_OBJECTS := $(SUITES:%.c=$(OBJ)/%.o)
$(OBJ)/bin/check $(OBJ)/bin/check-emulator $(OBJ)/bin/check-gpu: \
	PROGRAM_LIBS = $(CHECK_LIBS) $(LIBS) $(CUDA_LIBS)
# The lab page's questions are C as well, and are asked without WebAssembly here.
LAB_NATIVE := $(patsubst %.c,$(OBJ)/%.o,$(wildcard src/lab/*.c))
$(OBJ)/bin/check: $(SUITE_OBJECTS) $(OBJECTS) $(LAB_NATIVE)

# The tests of NVTX's marks need a tool that writes down what it is told, and a program that issues
# a plan without a device.
NVTX_TESTS := $(if $(NVTX),$(O)/tests/nvtx/injection.so $(O)/nvtx-walk)
$(OBJ)/bin/tests/nvtx/injection.so: tests/nvtx/injection.c
	$(say) CC $<
	$(call write,$(CC) -std=c17 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -isystem $(NVTX) -shared -fPIC \
		-pthread -o $(NEW) $<)
$(OBJ)/bin/nvtx-walk: $(OBJ)/tests/nvtx/walk.o $(OBJECTS)

# `pipeline record` without a GPU: a program to be recorded, and a recorder that CUDA does not load.
RECORD_TESTS := $(O)/record-guest $(O)/tests/record/libpipeline-record.so
# Neither has sanitizers, which would answer a crash in the program's place.
$(OBJ)/bin/record-guest: tests/record/guest.c
	$(say) CC $<
	$(call write,$(CC) -std=c17 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -o $(NEW) $< -ldl)
$(OBJ)/bin/tests/record/libpipeline-record.so: tests/record/fake_library.c
	$(say) CC $<
	$(call write,$(CC) -std=c17 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -shared -fPIC -o $(NEW) $< -ldl)
$(O)/check: | $(RECORD_TESTS)

# Kernels of users' own, built as users build them.
$(addprefix $(OBJ)/bin/,$(OWN_KERNELS)): $(OBJ)/bin/tests/own/%.so: tests/own/kernel.c kernels/own_kernel.h
	$(say) CC $@
	$(call write,$(CC) -std=c17 -I. $(WARNINGS) -O2 -DOWN=$* -DOWN_$* -shared -fPIC -o $(NEW) $< -lm)
# Those that nvcc builds, for a GPU: what `pipeline kernel new` writes, and launchers right and wrong. They are
# many and do little: PTX alone, which every GPU turns into its own, takes half the time to compile.
OWN_NVCC = $(call write,$(NVCC) -O3 -gencode arch=compute_75$(COMMA)code=compute_75 -I. -I$(OBJ)/own -shared -Xcompiler -fPIC -Xcompiler -Wall $(1) -o $(NEW) $<)
$(OBJ)/own/pipeline/kernel.h: kernels/own_kernel.h
	$(Q)mkdir -p $(@D) && cp $< $@
$(OBJ)/bin/tests/own/new.so: configs/kernels/mine.cu $(OBJ)/own/pipeline/kernel.h
	$(say) NVCC $@
	$(call OWN_NVCC)
$(addprefix $(OBJ)/bin/,$(OWN_LAUNCHERS)): $(OBJ)/bin/tests/own/launch-%.so: tests/own/launcher.cu kernels/own_kernel.h
	$(say) NVCC $@
	$(call OWN_NVCC,-DOWN=$*)
$(O)/check: | $(OWN_KERNELS:%=$(O)/%)

# And those that programs of --emit open where they are compiled for the CPU.
$(addprefix $(OBJ)/bin/,$(EMIT_KERNELS)): $(OBJ)/bin/tests/emit/%.so: tests/emit/own.cu kernels/own_kernel.h
	$(say) CXX $@
	$(call write,$(CXX) -std=c++17 -I. -Wall -Wextra -O2 -DOWN_$* -shared -fPIC -o $(NEW) -x c++ $<)
$(O)/check: | $(EMIT_KERNELS:%=$(O)/%)

# What they include is compiled once: without that each program would take twice as long.
$(OBJ)/bin/tests/emit/pieces.h.gch: tests/emit/pieces.h kernels/own_kernel.h $(CPU_HEADERS)
	$(say) CXX $@
	$(call write,$(EMIT_COMPILE) -I$(O)/cuda -x c++-header -o $(NEW) $<)
$(O)/check: | $(if $(CPU_LIBRARY),$(CPU_LIBRARY) $(O)/tests/emit/pieces.h.gch)

# Every launcher without a GPU: the kernels compiled as C++ for the grid of src/cpu. What the compiler's
# checks find there traps, so that the grid can say which thread it was.
EMULATED := $(KERNELS:kernels/%=$(OBJ)/tests/emulator/%.o) \
            $(OBJ)/kernels/launchers.o $(OBJ)/src/cuda/backend_none.o \
            $(patsubst %.cpp,$(OBJ)/%.o,$(wildcard tests/emulator/*.cpp)) \
            $(patsubst src/%.cpp,$(OBJ)/tests/emulator/%.o,$(wildcard src/cpu/*.cpp)) \
            $(addprefix $(OBJ)/src/cpu/,state.o watch.o watched.o sectors.o arithmetic.o races.o)
EMULATOR_CFLAGS = -std=c++17 -D_GNU_SOURCE -Isrc -I. -Isrc/cpu/include -Wall -Wextra \
                  -Wno-unknown-pragmas $(if $(WERROR),-Werror) $(CFLAGS) $(if $(ASAN),-fsanitize=address) \
                  -ffp-contract=off -pthread
EMULATOR_TRAPS := -fsanitize=alignment,bounds,null,shift,integer-divide-by-zero,signed-integer-overflow \
                  -fsanitize-undefined-trap-on-error
$(OBJ)/tests/emulator/%.cu.o: kernels/%.cu
	$(say) CXX $<
	$(call compile,$(CXX) $(EMULATOR_CFLAGS) $(EMULATOR_TRAPS) -x c++)

$(OBJ)/tests/emulator/cpu/%.o: src/cpu/%.cpp
	$(say) CXX $<
	$(call compile,$(CXX) $(EMULATOR_CFLAGS))

$(OBJ)/tests/emulator/%.o: tests/emulator/%.cpp
	$(say) CXX $<
	$(call compile,$(CXX) $(EMULATOR_CFLAGS) $(if $(findstring check,$*),$(EMULATOR_TRAPS)) \
		$(if $(findstring watch,$*),$(if $(SANITIZE),,-g -fsanitize=thread -fsanitize-coverage=trace-pc -fno-ipa-icf)))

$(OBJ)/bin/check-emulator: LINKER = $(CXX)
$(OBJ)/bin/check-emulator: $(EMULATED) $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/emulator/*.c)) \
	$(OBJ)/tests/fixtures.o $(OBJ)/tests/check_kernels_util.o $(OBJ)/tests/tiles_cases.o \
	$(filter-out $(CUDA_ROOMS:%.c=$(OBJ)/%.o) %/launchers_none.o %.cu.o,$(OBJECTS))

# Inputs that nobody means well with, dealt to the program itself.
HOSTILE := $(filter-out tests/hostile/no_memory%,$(wildcard tests/hostile/*.c))
$(OBJ)/bin/hostile: $(HOSTILE:%.c=$(OBJ)/%.o) \
	$(OBJ)/tests/hostile_texts.o $(OBJECTS)
$(O)/hostile: | $(OWN_KERNELS:%=$(O)/%)

# Every command with each of its allocations failing: a library that lets them fail, and what judges.
# Its calls of the real allocator are jumps at -O2, and a leak checker then sees who called: what the
# loader keeps is no leak.
$(OBJ)/bin/tests/hostile/no_memory.so: tests/hostile/no_memory.c
	$(say) CC $<
	$(call write,$(CC) -std=c17 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -O2 -shared -fPIC -o $(NEW) $<)
$(OBJ)/bin/no-memory: PROGRAM_LIBS = -ldl
$(OBJ)/bin/no-memory: $(OBJ)/tests/hostile/no_memory_run.o
NO_MEMORY := $(O)/no-memory $(O)/tests/hostile/no_memory.so

# `make no-memory SECONDS=600`, or all there are; SEED=N draws others.
.PHONY: no-memory
no-memory: $(O)/pipeline $(NO_MEMORY)
	$(Q)tests/hostile/no_memory.sh $(O) $(if $(SEED),--seed=$(SEED)) $(if $(SECONDS),--seconds=$(SECONDS))

# `make hostile SECONDS=600` or INPUTS=50000; SEED=N and CLASS=NAME repeat what was found.
.PHONY: hostile
hostile: $(O)/hostile $(O)/pipeline $(O)/tests/hostile/no_memory.so
	$(Q)$(O)/hostile $(if $(SEED),--seed=$(SEED)) $(if $(CLASS),--class=$(CLASS)) \
		$(if $(INPUTS),--inputs=$(INPUTS),--seconds=$(or $(SECONDS),600))

# Seconds for one test, for a slow and busy machine: no test is about time.
TIMEOUT ?= 300
.PHONY: check check-programs
check: check-programs
	$(Q)TIMEOUT=$(TIMEOUT) $(if $(ASAN),PIPELINE_TESTS=quick) tests/run-suites.sh $(O) emulator all

check-programs: $(if $(MPICC),$(O)/clocks-check) $(O)/check $(O)/check-emulator $(O)/hostile $(O)/pipeline $(NVTX_TESTS) $(RECORD_TESTS) $(RECORDER_TESTS) $(NO_MEMORY) $(PAGES)

# The page of --timeline=FILE.html in a headless Chromium; says so where that can't be had.
.PHONY: check-browser
check-browser: $(O)/check $(O)/pipeline
	$(say) BROWSER tests/browser
	$(Q)tests/browser/run.sh $(O)

# The programs of all settings of --emit, where the tiers have those of tests/emit/chosen.txt; and
# that choice, made anew for another emitter: of a program with gcov's counters.
EMIT_ALL := $(CURDIR)/tests/emit/settings.txt
.PHONY: test-emit-all emit-choice
test-emit-all: $(O)/check $(O)/pipeline
	$(Q)EMIT_SETTINGS=$(EMIT_ALL) PIPELINE_TESTS=deep tests/run-suites.sh $(O) emit emit_calls emit_needs
emit-choice: $(O)/check
	$(Q)$(MAKE) --no-print-directory O=$(O)/gcov CFLAGS='-O0 --coverage' HARDENING= NVCC= LAB= $(O)/gcov/pipeline
	$(Q)tests/emit/choose.py $(O)/gcov/pipeline $(O)/check

# --- fuzzing -------------------------------------------------------------------------------------
# libFuzzer on each reader of files, for FUZZ_SECONDS each, from the seeds that `test` replays.
FUZZ_SECONDS ?= 600
FUZZ_CFLAGS := -O1 -g -Wno-pass-failed -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow \
               -fno-sanitize-recover=all
$(FUZZERS:%=$(OBJ)/bin/fuzz-%): LINKER = $(CC) -fsanitize=fuzzer
$(FUZZERS:%=$(OBJ)/bin/fuzz-%): $(OBJ)/bin/fuzz-%: $(OBJ)/tests/fuzz/target_%.o \
	$(filter $(OBJ)/tests/fuzz/%,$(SUITE_OBJECTS)) $(OBJECTS)

.PHONY: fuzz run-fuzz
fuzz:
	$(Q)echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
		clang -fsanitize=fuzzer -x c -o /dev/null - || { echo "fuzz: needs clang, its run-time" \
		"library and OpenMP: scripts/bootstrap.sh deep" >&2; exit 1; }
	$(Q)$(MAKE) --no-print-directory O=$(O)/fuzz CC=clang NVCC= CFLAGS='$(FUZZ_CFLAGS)' WERROR=$(WERROR) run-fuzz

run-fuzz: $(FUZZERS:%=$(O)/fuzz-%)
	$(Q)tests/fuzz/run.sh $(O) $(FUZZ_SECONDS) $(FUZZERS)

# --- on a real GPU -------------------------------------------------------------------------------
GPU_TESTS := $(wildcard tests/gpu/check_gpu*.c)
$(OBJ)/bin/check-gpu: $(GPU_TESTS:%.c=$(OBJ)/%.o) $(filter-out %/check_main.o,$(SUITE_OBJECTS)) $(OBJECTS) $(LAB_NATIVE)

# A driver whose calls fail when told to, which has the names of the one that it stands before; and a
# stub of that for its own test, which needs no GPU. Its thunks are in x86-64's machine language.
FAILING := tests/failing/libcuda.so.1
FAKE_DRIVERS := $(if $(filter x86_64,$(shell uname -m)),$(O)/$(FAILING) $(O)/tests/stub/libcuda.so.1)
FAKE_DRIVER_CHECK := $(if $(FAKE_DRIVERS),$(O)/failing-driver-check)
FAKE_DRIVER_CC = $(CC) -std=c17 -D_GNU_SOURCE $(WARNINGS) -Wno-missing-prototypes $(CFLAGS) -shared -fPIC -Wl,-soname,libcuda.so.1
$(OBJ)/generated/failing_names.h: $(if $(NVCC),$(CUDA_HOME)/lib64/stubs/libcuda.so,$(OBJ)/bin/tests/stub/libcuda.so.1)
	$(say) EMBED $@
	$(call write,nm -D --defined-only $< | sed -n 's/.* T \(cu[A-Za-z0-9_]*\)$$/NAME(\1)/p' >$(NEW))
$(OBJ)/bin/$(FAILING): tests/gpu/failing_driver.c $(OBJ)/generated/failing_names.h
	$(say) CC $<
	$(call write,$(FAKE_DRIVER_CC) -fno-toplevel-reorder -I$(OBJ)/generated -pthread -o $(NEW) $< -ldl)
$(OBJ)/bin/tests/stub/libcuda.so.1: tests/gpu/stub_driver.c
	$(say) CC $<
	$(call write,$(FAKE_DRIVER_CC) -o $(NEW) $<)
$(OBJ)/bin/failing-driver-check: $(OBJ)/tests/gpu/failing_driver_check.o

.PHONY: check-failing-driver
check-failing-driver: $(FAKE_DRIVER_CHECK) $(FAKE_DRIVERS)
	$(Q)$(FAKE_DRIVER_CHECK) $(FAKE_DRIVERS)

# The program with several devices and no GPU: CUDA's runtime and CUPTI are one library that judges
# whether each call was made for the right device. Only CUDA's headers are needed.
FAKE_DEVICES := tests/fake/libcupti.so
FAKE_OBJECTS := $(filter-out $(KERNELS:%=$(OBJ)/%.o) %_cublas.o %/kernels/launchers.o,$(OBJECTS)) \
                $(OBJ)/src/app/main.o $(OBJ)/tests/gpu/fake_launchers.o \
                $(patsubst %.c,$(OBJ)/%.o,$(filter-out bench/bench_cuda%,$(wildcard bench/*.c)))
$(OBJ)/bin/$(FAKE_DEVICES): tests/gpu/fake_runtime.c
	$(say) CC $<
	$(call write,$(CC) -std=gnu17 $(WARNINGS) -Wno-missing-prototypes -Wno-unused-parameter $(CFLAGS) \
		-isystem $(CUDA_HOME)/include -isystem $(CUDA_HOME)/extras/CUPTI/include -shared -fPIC \
		-Wl$(COMMA)-soname$(COMMA)libcupti.so -pthread -o $(NEW) $<)
$(OBJ)/bin/pipeline-fake: PROGRAM_LIBS = $(LIBS)
$(OBJ)/bin/pipeline-fake: $(FAKE_OBJECTS) $(OBJ)/bin/$(FAKE_DEVICES)
$(OBJ)/bin/pipeline-mpi-fake: PROGRAM_LIBS = $(LIBS) $(MPI_LIBS)
$(OBJ)/bin/pipeline-mpi-fake: $(filter-out $(MPI_NONE:%.c=$(OBJ)/%.o),$(FAKE_OBJECTS)) $(MPI_OBJECTS) $(OBJ)/bin/$(FAKE_DEVICES)

.PHONY: check-fake-devices
check-fake-devices: $(if $(NVCC),$(O)/tests/own/new.so $(OWN_KERNELS:%=$(O)/%) $(O)/pipeline-fake $(if $(MPICC),$(O)/pipeline-mpi-fake) $(O)/$(FAKE_DEVICES))
	$(Q)$(if $(NVCC),tests/gpu/fake_devices.sh $(O),echo "check-fake-devices: left out: it needs CUDA's headers")

# What has threads, under ThreadSanitizer; the recorder's library and player are linked by CFLAGS alone.
THREADS := O='$(O)/threads' CC=clang HARDENING= LAB=
.PHONY: check-threads
check-threads:
	$(Q)$(MAKE) --no-print-directory $(THREADS) SANITIZE=-fsanitize=thread CFLAGS='-O1 -g' NVCC= \
		$(addprefix $(O)/threads/,pipeline $(if $(MPICC),pipeline-mpi))
	$(Q)$(if $(RECORD),$(MAKE) --no-print-directory $(THREADS) SANITIZE=-fsanitize=thread CFLAGS='-O1 -g' \
		$(addprefix $(O)/threads/,pipeline-fake $(FAKE_DEVICES) tests/own/new.so))
	$(Q)$(if $(RECORD),$(MAKE) --no-print-directory $(THREADS) CFLAGS='-O1 -g -fsanitize=thread' \
		$(patsubst $(O)/%,$(O)/threads/%,$(RECORDER_TESTS)))
	$(Q)tests/threads.sh $(O)/threads || [ $$? -eq 77 ]

.PHONY: gpu-binaries gpu-test
gpu-binaries: $(O)/tests/own/new.so $(OWN_LAUNCHERS:%=$(O)/%) $(O)/check-gpu $(O)/pipeline $(NVTX_TESTS) $(FAKE_DRIVERS) $(FAKE_DRIVER_CHECK)
gpu-test:
ifeq ($(NVCC),)
	@echo "gpu-test: no nvcc, so nothing was built for a GPU"; exit 77
else
	$(Q)$(MAKE) --no-print-directory gpu-binaries
	$(Q)tests/gpu/run.sh $(O)
endif
