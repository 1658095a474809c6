# pipeline: `make demo` sets up, builds and shows the headline comparison; `make test` sets up and
# runs every test this machine can run; `make help` lists the rest.

# --- settings ------------------------------------------------------------------------------------
O ?= build
PREFIX ?= /usr/local
CC := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
PKG_CONFIG ?= pkg-config
# The CUDA rooms are built where nvcc is found; `make NVCC=` leaves them out.
NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
# Machine code for Hopper, and PTX that any GPU since Turing turns into its own.
GENCODE ?= -gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75

Q := $(if $(V),,@)
say = $(if $(V),@:,@printf '  %-7s %s\n')

# --- flags ---------------------------------------------------------------------------------------
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wvla $(if $(WERROR),-Werror)
COMMA := ,
SANITIZE := $(if $(ASAN),-fsanitize=address$(COMMA)undefined -fno-sanitize-recover=all)
CFLAGS ?= -O2 -g
# No contraction: the simulator's arithmetic is the same on every machine.
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -Isrc -Ikernels $(WARNINGS) $(CFLAGS) $(ROOM_CFLAGS) $(SANITIZE) \
             -fopenmp -ffp-contract=off -pthread -MMD -MP \
             $(shell $(PKG_CONFIG) --cflags inih jansson)
NVCCFLAGS = -std=c++17 -O3 -lineinfo -Isrc -Ikernels $(GENCODE) -Xcompiler -Wall,-Wextra

# PORTABLE=1 links the libraries that another machine may lack statically.
static = $(if $(PORTABLE),-Wl$(COMMA)-Bstatic $(1) -Wl$(COMMA)-Bdynamic,$(1))
LIBS = $(call static,$(shell $(PKG_CONFIG) --libs inih jansson)) -lm -pthread -ldl
CHECK_LIBS = $(if $(PORTABLE),$(call static,-lcheck -lsubunit),$(shell $(PKG_CONFIG) --libs check))
CUDA_LIBS = $(if $(NVCC),-L$(CUDA_HOME)/lib64 -lcudart_static -lrt -lstdc++)

# --- what is built from what ---------------------------------------------------------------------
CUDA_ROOMS := $(wildcard src/backend_cuda.c src/cuda_*.c src/cupti_*.c)
ROOMS := $(filter-out $(CUDA_ROOMS) src/main.c,$(sort $(wildcard src/*.c kernels/*.c)))
OBJECTS := $(ROOMS:%.c=$(O)/%.o) $(O)/machine_texts.o
ifneq ($(NVCC),)
OBJECTS += $(CUDA_ROOMS:%.c=$(O)/%.o) $(patsubst %.cu,$(O)/%.cu.o,$(wildcard kernels/*.cu))
$(CUDA_ROOMS:%.c=$(O)/%.o) $(O)/bench/%.o $(O)/tests/gpu/%.o: \
	ROOM_CFLAGS += -isystem $(CUDA_HOME)/include -isystem $(CUDA_HOME)/extras/CUPTI/include
endif
HEADERS := $(wildcard src/*.h kernels/*.h)
SUITES := $(wildcard tests/*.c)
MACHINES := $(sort $(wildcard configs/machines/*.ini))

.PHONY: all
all: $(O)/pipeline

$(O)/pipeline: $(O)/src/main.o $(OBJECTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -fopenmp -o $@ $^ $(LIBS) $(CUDA_LIBS)

$(O)/%.o: %.c | $(O)/flags
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(O)/%.cu.o: %.cu | $(O)/flags
	$(say) NVCC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(NVCCFLAGS) -MMD -MP -c -o $@ $<

$(O)/machine_texts.c: $(MACHINES)
$(O)/%_texts.c: scripts/embed.sh
	$(say) EMBED $@
	$(Q)mkdir -p $(@D)
	$(Q)scripts/embed.sh $*_texts $(filter-out scripts/embed.sh,$^) > $@.new && mv $@.new $@

$(O)/%_texts.o: $(O)/%_texts.c
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Everything is built anew when the compiler or its flags change. Seen to while the Makefile is read:
# once rules run, make has already looked at what there is.
FLAGS_NOW := $(strip $(CC) $(CFLAGS) $(ASAN) $(WERROR) $(PORTABLE) $(NVCC) $(GENCODE))
ifneq ($(FLAGS_NOW),$(strip $(file <$(O)/flags)))
$(shell rm -rf $(O)/src $(O)/kernels $(O)/tests $(O)/bench)
endif
$(O)/flags: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)[ "$$(cat $@ 2>/dev/null)" = "$(FLAGS_NOW)" ] || echo "$(FLAGS_NOW)" > $@
.PHONY: FORCE
FORCE:

# --- the two commands ----------------------------------------------------------------------------
.PHONY: demo run-demo
demo:
	$(Q)scripts/bootstrap.sh build
	$(Q)$(MAKE) --no-print-directory run-demo

run-demo: $(O)/pipeline
	$(Q)mkdir -p out
	$(Q)$(O)/pipeline --timeline=out/ways.csv configs/ways.ini
	$(Q)echo "timelines: out/ways.csv"

# The plain suite comes last: its summary closes the output.
.PHONY: test run-tests
test:
	$(Q)scripts/bootstrap.sh test
	$(Q)$(MAKE) --no-print-directory run-tests

run-tests:
	$(Q)$(MAKE) --no-print-directory check-format check-headers check-static
	$(Q)$(MAKE) --no-print-directory O=$(O)/clang CC=clang WERROR=1 all
	$(Q)$(MAKE) --no-print-directory O=$(O)/valgrind NVCC= check-valgrind
	$(Q)$(MAKE) --no-print-directory O=$(O)/asan ASAN=1 WERROR=1 NVCC= check
	$(Q)$(MAKE) --no-print-directory O=$(O)/gcc WERROR=1 all
	$(Q)$(MAKE) --no-print-directory O=$(O)/gcc WERROR=1 NVCC="$(NVCC)" \
		$(if $(NVCC),gpu-binaries) check

# --- tests ---------------------------------------------------------------------------------------
TEST_CFLAGS = -Itests -DPIPELINE_PROGRAM='"$(abspath $(O))/pipeline"' \
              -DTESTS_FOLDER='"$(CURDIR)/tests"'
$(O)/tests/%.o: ROOM_CFLAGS += $(TEST_CFLAGS)

$(O)/check: $(SUITES:%.c=$(O)/%.o) $(OBJECTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -fopenmp -o $@ $^ $(CHECK_LIBS) $(LIBS) $(CUDA_LIBS)

# Seconds for one test, for a slow and busy machine: no test is about time.
TIMEOUT ?= 300
.PHONY: check check-valgrind check-format check-headers check-static
check: $(O)/check $(O)/pipeline
	$(Q)CK_DEFAULT_TIMEOUT=$(TIMEOUT) OMP_WAIT_POLICY=passive $(O)/check

# Without forks, so that valgrind sees it all; OpenMP's team keeps memory for ever.
check-valgrind: $(O)/check $(O)/pipeline
	$(say) MEMCHECK $(O)/check
	$(Q)PIPELINE_TESTS=quick CK_FORK=no CK_DEFAULT_TIMEOUT=$(TIMEOUT) OMP_NUM_THREADS=1 valgrind -q --error-exitcode=1 \
		--leak-check=full --errors-for-leak-kinds=definite --suppressions=tests/valgrind.supp \
		$(O)/check

SOURCES := $(sort $(wildcard src/*.[ch] kernels/*.[ch] kernels/*.cu kernels/*.cuh tests/*.[ch] \
             tests/gpu/*.[ch] bench/*.[ch]))
CLANG_FORMAT ?= clang-format-14
check-format:
	$(say) FORMAT "$(words $(SOURCES)) files"
	$(Q)$(CLANG_FORMAT) --dry-run --Werror $(SOURCES)

check-headers:
	$(say) HEADERS "$(words $(HEADERS)) files"
	$(Q)for header in $(filter-out src/cuda_check.h src/backend_cuda.h src/cupti_trace.h,$(HEADERS)); do \
		echo "#include \"$$header\"" | $(CC) -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror \
			-I. -Isrc -Ikernels -fsyntax-only -x c - || exit 1; done

check-static:
	$(say) CPPCHECK "src kernels"
	$(Q)cppcheck -q --std=c11 --language=c --error-exitcode=1 --inline-suppr \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		-D_GNU_SOURCE -Isrc -Ikernels $(filter-out $(CUDA_ROOMS),$(wildcard src/*.c kernels/*.c))

# --- on a real GPU -------------------------------------------------------------------------------
GPU_TESTS := $(wildcard tests/gpu/*.c)
$(O)/check-gpu: $(GPU_TESTS:%.c=$(O)/%.o) $(filter-out %/check_main.o,$(SUITES:%.c=$(O)/%.o)) $(OBJECTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -fopenmp -o $@ $^ $(CHECK_LIBS) $(LIBS) $(CUDA_LIBS)

.PHONY: gpu-binaries gpu-test
gpu-binaries: $(O)/check-gpu $(O)/pipeline
gpu-test:
ifeq ($(NVCC),)
	@echo "gpu-test: no nvcc, so nothing was built for a GPU"; exit 77
else
	$(Q)$(MAKE) --no-print-directory gpu-binaries
	$(Q)tests/gpu/run.sh $(O)
endif

# --- measurements --------------------------------------------------------------------------------
BENCH := $(filter-out $(if $(NVCC),,bench/bench_cuda%),$(wildcard bench/*.c))
$(O)/bench-pipeline: $(BENCH:%.c=$(O)/%.o) $(OBJECTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) -fopenmp -o $@ $^ $(LIBS) $(CUDA_LIBS)

.PHONY: bench
bench: $(O)/bench-pipeline $(O)/pipeline
	$(Q)$(O)/bench-pipeline

# --- the rest ------------------------------------------------------------------------------------
.PHONY: install clean format help
install: $(O)/pipeline
	$(Q)install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/pipeline/configs/machines \
		$(DESTDIR)$(PREFIX)/share/pipeline/configs/history
	$(Q)install -m 755 $(O)/pipeline $(DESTDIR)$(PREFIX)/bin/pipeline
	$(Q)install -m 644 $(wildcard configs/*.ini) $(DESTDIR)$(PREFIX)/share/pipeline/configs
	$(Q)install -m 644 $(MACHINES) $(DESTDIR)$(PREFIX)/share/pipeline/configs/machines
	$(Q)install -m 644 $(wildcard configs/history/*.ini) $(DESTDIR)$(PREFIX)/share/pipeline/configs/history

clean:
	$(Q)rm -rf $(O)

format:
	$(Q)$(CLANG_FORMAT) -i $(SOURCES)

help:
	@echo 'make demo           set up, build, and show serial, 2-, 3- and 4-way'
	@echo 'make test           set up, and run every test that this machine can run'
	@echo 'make                build $(O)/pipeline'
	@echo 'make check          build and run the test suites alone'
	@echo 'make gpu-test       the tests that need a CUDA device (exit 77 without one)'
	@echo 'make bench          measure, and print the ratios that matter'
	@echo 'make install        into PREFIX ($(PREFIX)), under DESTDIR'
	@echo 'make clean          remove $(O)'
	@echo
	@echo 'V=1 shows commands; O=DIR builds elsewhere; ASAN=1 with sanitizers; WERROR=1 with'
	@echo 'warnings as errors; NVCC= without CUDA; PORTABLE=1 links libraries statically;'
	@echo 'BOOTSTRAP=no installs nothing.'

-include $(shell find $(O) -name '*.d' 2>/dev/null)
