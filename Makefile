# pipeline: `make demo` sets up, builds and shows the headline comparison; `make test` sets up and
# runs every test this machine can run; `make help` lists the rest.

# --- settings ------------------------------------------------------------------------------------
O ?= build
PREFIX ?= /usr/local
CC := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
# Of the same make as CC: it compiles the tests that emulate a GPU.
CXX := $(if $(filter default undefined,$(origin CXX)),$(if $(findstring clang,$(CC)),clang++,g++),$(CXX))
PKG_CONFIG ?= pkg-config
# The CUDA rooms are built where nvcc is found; `make NVCC=` leaves them out.
NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
# NVTX is headers alone, and comes with the CUDA Toolkit: `make NVTX=` leaves its marks out.
NVTX ?= $(patsubst %/nvtx3/nvToolsExtCudaRt.h,%,$(firstword $(wildcard $(addsuffix \
          /include/nvtx3/nvToolsExtCudaRt.h,$(CUDA_HOME) /usr/local/cuda /usr))))
# SQLite lets `pipeline view` read what nsys exports as a database: `make SQLITE=` leaves it out.
SQLITE ?= $(shell $(PKG_CONFIG) --exists sqlite3 2>/dev/null && echo sqlite3)
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
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -Isrc -I. $(WARNINGS) $(CFLAGS) $(ROOM_CFLAGS) $(SANITIZE) \
             -fopenmp -ffp-contract=off -pthread -MMD -MP \
             $(shell $(PKG_CONFIG) --cflags inih jansson $(SQLITE))
NVCCFLAGS = -std=c++17 -O3 -lineinfo -Isrc -I. $(GENCODE) -Xcompiler -Wall,-Wextra

# PORTABLE=1 links the libraries that another machine may lack statically.
static = $(if $(PORTABLE),-Wl$(COMMA)-Bstatic $(1) -Wl$(COMMA)-Bdynamic,$(1))
LIBS = $(call static,$(shell $(PKG_CONFIG) --libs inih jansson $(SQLITE))) -lm -pthread -ldl
CHECK_LIBS = $(if $(PORTABLE),$(call static,-lcheck -lsubunit),$(shell $(PKG_CONFIG) --libs check))
CUDA_LIBS = $(if $(NVCC),-L$(CUDA_HOME)/lib64 -lcudart_static -lrt -lstdc++)

# --- what is built from what ---------------------------------------------------------------------
CUDA_ROOMS := $(wildcard src/cuda/*.c kernels/*_cublas.c)
ROOMS := $(filter-out $(CUDA_ROOMS) $(if $(NVTX),src/term/marks_none.c,src/term/marks.c) \
           $(if $(SQLITE),src/trace/sqlite_none.c,src/trace/sqlite.c) src/app/main.c,$(sort $(wildcard src/*/*.c kernels/*.c)))
OBJECTS := $(ROOMS:%.c=$(O)/%.o) $(O)/machine_texts.o $(O)/lesson_texts.o $(O)/plot_texts.o
ifneq ($(NVCC),)
OBJECTS += $(CUDA_ROOMS:%.c=$(O)/%.o) $(patsubst %.cu,$(O)/%.cu.o,$(wildcard kernels/*.cu))
$(CUDA_ROOMS:%.c=$(O)/%.o) $(O)/bench/%.o $(O)/tests/gpu/%.o: \
	ROOM_CFLAGS += -isystem $(CUDA_HOME)/include -isystem $(CUDA_HOME)/extras/CUPTI/include
endif
$(O)/src/term/marks.o: ROOM_CFLAGS += -isystem $(NVTX)
HEADERS := $(wildcard src/*/*.h kernels/*.h bench/*.h)
SUITES := $(filter-out $(if $(SQLITE),%_none.c,tests/sqlite_file.c tests/fuzz/fuzz_sqlite.c), \
            $(wildcard tests/*.c tests/fuzz/fuzz_*.c))
MACHINES := $(sort $(wildcard configs/machines/*.ini))
LESSONS := $(sort $(wildcard configs/lessons/*.ini))
PLOTS := $(sort $(wildcard plots/*.gp plots/*.awk plots/page.*))

.PHONY: all
all: $(O)/pipeline

# `pipeline bench` is in the program, and in nothing that tests link.
BENCH := $(filter-out $(if $(NVCC),,bench/bench_cuda%),$(wildcard bench/*.c))
BENCH_OBJECTS := $(BENCH:%.c=$(O)/%.o) $(if $(NVCC),$(patsubst %.cu,$(O)/%.cu.o,$(wildcard bench/*.cu)))
$(O)/pipeline: $(O)/src/app/main.o $(BENCH_OBJECTS) $(OBJECTS)
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
$(O)/lesson_texts.c: $(LESSONS)
$(O)/plot_texts.c: $(PLOTS)
$(O)/%_texts.c: scripts/embed.sh
	$(say) EMBED $@
	$(Q)mkdir -p $(@D)
	$(Q)scripts/embed.sh $*_texts $(filter-out scripts/embed.sh,$^) > $@.new && mv $@.new $@

$(O)/%_texts.o: $(O)/%_texts.c
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Everything is built anew when the compiler or its flags change. Seen to while the Makefile is read:
# once rules run, make has already looked at what there is.
FLAGS_NOW := $(strip $(CC) $(CXX) $(CFLAGS) $(ASAN) $(WERROR) $(PORTABLE) $(NVCC) $(GENCODE) $(NVTX) $(SQLITE))
ifneq ($(FLAGS_NOW),$(strip $(file <$(O)/flags)))
$(shell rm -rf $(O)/src $(O)/kernels $(O)/tests $(O)/bench $(O)/docs)
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

# Pictures are drawn where there is gnuplot.
run-demo: DRAW = $(if $(shell command -v gnuplot 2>/dev/null),out/ways.svg)
run-demo: $(O)/pipeline
	$(Q)mkdir -p out
	$(Q)$(O)/pipeline --timeline=out/ways.csv --timeline=out/ways.html $(DRAW:%=--timeline=%) \
		configs/ways.ini
	$(Q)echo "timelines: out/ways.csv out/ways.html $(DRAW)"

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
	$(Q)$(MAKE) --no-print-directory O=$(O)/gcc WERROR=1 all check-install check-browser
	$(Q)$(MAKE) --no-print-directory O=$(O)/gcc WERROR=1 NVCC="$(NVCC)" \
		$(if $(NVCC),gpu-binaries) check

# --- the lessons ---------------------------------------------------------------------------------
# Reports and pictures of docs/lessons.md, anew; and all of it as one page and one PDF, where
# DEVICE=cuda has them measured.
.PHONY: lessons lecture
lessons: $(O)/pipeline
	$(Q)DEVICE= scripts/lessons.sh $(abspath $(O))/pipeline docs

lecture: $(O)/pipeline
	$(Q)scripts/bootstrap.sh lecture
	$(Q)DEVICE='$(DEVICE)' scripts/lecture.sh $(abspath $(O))/pipeline $(abspath out/lecture)

# --- man page and completions, from the program's tables -----------------------------------------
PAGES := $(addprefix $(O)/share/,man/man1/pipeline.1 bash-completion/completions/pipeline \
           zsh/site-functions/_pipeline fish/vendor_completions.d/pipeline.fish)
$(O)/print-pages: $(patsubst %.c,$(O)/%.o,$(wildcard docs/manual/*.c)) $(OBJECTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -fopenmp -o $@ $^ $(LIBS) $(CUDA_LIBS)

# The date is that of the last commit, never that of the build.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
.PHONY: pages
pages: $(PAGES)
$(O)/share/man/man1/pipeline.1: docs/manual/pipeline.1
$(O)/share/bash-completion/completions/pipeline: docs/manual/complete.bash
$(O)/share/zsh/site-functions/_pipeline: docs/manual/complete.zsh
$(O)/share/fish/vendor_completions.d/pipeline.fish: docs/manual/complete.fish
$(PAGES): $(O)/print-pages FORCE
	$(Q)mkdir -p $(@D)
	$(Q)SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) $(O)/print-pages $(PREFIX) \
		< $(filter docs/manual/%,$^) > $@.new
	$(Q)mv $@.new $@

# --- tests ---------------------------------------------------------------------------------------
TEST_CFLAGS = -Itests -DPIPELINE_PROGRAM='"$(abspath $(O))/pipeline"' \
              -DTESTS_FOLDER='"$(CURDIR)/tests"' -DBUILD_FOLDER='"$(abspath $(O))"' \
              -DTESTS_NVTX=$(if $(NVTX),1,0)
$(O)/tests/%.o: ROOM_CFLAGS += $(TEST_CFLAGS)

$(O)/check: $(SUITES:%.c=$(O)/%.o) $(OBJECTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -fopenmp -o $@ $^ $(CHECK_LIBS) $(LIBS) $(CUDA_LIBS)

# What tests NVTX's marks: a tool that writes down what it is told, and a program that issues a plan
# without a device.
NVTX_TESTS := $(if $(NVTX),$(O)/tests/nvtx/injection.so $(O)/nvtx-walk)
$(O)/tests/nvtx/injection.so: tests/nvtx/injection.c | $(O)/flags
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -isystem $(NVTX) -shared -fPIC -pthread -o $@ $<

$(O)/nvtx-walk: $(O)/tests/nvtx/walk.o $(OBJECTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -fopenmp -o $@ $^ $(LIBS) $(CUDA_LIBS)

# Every launcher without a GPU: the kernels compiled as C++ for the emulator. What the compiler's
# checks find there traps, so that the emulator can say which thread it was.
EMULATED := $(patsubst kernels/%.cu,$(O)/tests/emulator/%.cu.o,$(wildcard kernels/*.cu)) \
            $(patsubst %.cpp,$(O)/%.o,$(wildcard tests/emulator/*.cpp))
EMULATOR_CFLAGS = -std=c++17 -D_GNU_SOURCE -Isrc -I. -Itests/emulator -Wall -Wextra \
                  -Wno-unknown-pragmas $(if $(WERROR),-Werror) $(CFLAGS) $(if $(ASAN),-fsanitize=address) \
                  -U_FORTIFY_SOURCE -ffp-contract=off -pthread -MMD -MP
EMULATOR_TRAPS := -fsanitize=alignment,bounds,null,shift,integer-divide-by-zero,signed-integer-overflow \
                  -fsanitize-undefined-trap-on-error
$(O)/tests/emulator/%.cu.o: kernels/%.cu | $(O)/flags
	$(say) CXX $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(EMULATOR_CFLAGS) $(EMULATOR_TRAPS) -x c++ -c -o $@ $<

$(O)/tests/emulator/%.o: tests/emulator/%.cpp | $(O)/flags
	$(say) CXX $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(EMULATOR_CFLAGS) $(if $(findstring check,$*),$(EMULATOR_TRAPS)) -c -o $@ $<

$(O)/check-emulator: $(EMULATED) $(O)/tests/emulator/check_launchers.o $(O)/tests/fixtures.o \
		$(filter-out $(CUDA_ROOMS:%.c=$(O)/%.o) %.cu.o,$(OBJECTS))
	$(say) LINK $@
	$(Q)$(CXX) $(CFLAGS) $(SANITIZE) -fopenmp -o $@ $^ $(CHECK_LIBS) $(LIBS)

# Seconds for one test, for a slow and busy machine: no test is about time.
TIMEOUT ?= 300
.PHONY: check check-valgrind check-format check-headers check-static
check: $(O)/check $(O)/check-emulator $(O)/pipeline $(NVTX_TESTS) $(PAGES)
	$(Q)$(if $(ASAN),PIPELINE_TESTS=quick) CK_DEFAULT_TIMEOUT=$(TIMEOUT) OMP_NUM_THREADS=1 \
		$(O)/check-emulator
	$(Q)$(if $(ASAN),PIPELINE_TESTS=quick) CK_DEFAULT_TIMEOUT=$(TIMEOUT) OMP_WAIT_POLICY=passive $(O)/check

# Without forks, so that valgrind sees it all; OpenMP's team keeps memory for ever.
check-valgrind: $(O)/check $(O)/pipeline $(NVTX_TESTS) $(PAGES)
	$(say) MEMCHECK $(O)/check
	$(Q)PIPELINE_TESTS=quick CK_FORK=no CK_DEFAULT_TIMEOUT=$(TIMEOUT) OMP_NUM_THREADS=1 valgrind -q --error-exitcode=1 \
		--leak-check=full --errors-for-leak-kinds=definite --suppressions=tests/valgrind.supp \
		$(O)/check

# The page of --timeline=FILE.html in a headless Chromium; says so where that can't be had.
.PHONY: check-browser bench-browser
check-browser: $(O)/check $(O)/pipeline
	$(say) BROWSER tests/browser
	$(Q)tests/browser/run.sh $(O)

bench-browser: $(O)/pipeline
	$(Q)tests/browser/run.sh $(O) measure

SOURCES := $(sort $(wildcard src/*/*.[ch] kernels/*.[ch] kernels/*.cu kernels/*.cuh tests/*.[ch] \
             tests/fuzz/*.[ch] tests/gpu/*.[ch] tests/nvtx/*.[ch] tests/emulator/*.[ch] tests/emulator/*.cpp bench/*.[ch] docs/manual/*.[ch]))
CLANG_FORMAT ?= clang-format-14
check-format:
	$(say) FORMAT "$(words $(SOURCES)) files"
	$(Q)$(CLANG_FORMAT) --dry-run --Werror $(SOURCES)

check-headers:
	$(say) HEADERS "$(words $(HEADERS)) files"
	$(Q)for header in $(filter-out src/cuda/check.h src/cuda/backend.h src/cuda/cupti_trace.h \
		bench/bench_cuda.h,$(HEADERS)); do \
		echo "#include \"$$header\"" | $(CC) -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror \
			-I. -Isrc -fsyntax-only -x c - || exit 1; done

check-static:
	$(say) CPPCHECK "src kernels docs/manual bench"
	$(Q)cppcheck -q --std=c11 --language=c --error-exitcode=1 --inline-suppr \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		-D_GNU_SOURCE -Isrc -I. \
		$(filter-out $(CUDA_ROOMS) bench/bench_cuda%,$(wildcard src/*/*.c kernels/*.c docs/manual/*.c bench/*.c))

# --- fuzzing -------------------------------------------------------------------------------------
# libFuzzer on each reader of files, for FUZZ_SECONDS each, from the seeds that `test` replays.
FUZZ_SECONDS ?= 600
FUZZERS ?= $(patsubst tests/fuzz/target_%.c,%,$(wildcard tests/fuzz/target_*.c))
FUZZ_CFLAGS := -O1 -g -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow \
               -fno-sanitize-recover=all
FUZZ_OBJECTS := $(patsubst %.c,$(O)/%.o,$(filter tests/fuzz/%,$(SUITES))) $(OBJECTS)
$(FUZZERS:%=$(O)/fuzz-%): $(O)/fuzz-%: $(O)/tests/fuzz/target_%.o $(FUZZ_OBJECTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer -fopenmp -o $@ $^ $(LIBS)

.PHONY: fuzz run-fuzz
fuzz:
	$(Q)echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
		clang -fsanitize=fuzzer -x c -o /dev/null - || { echo "fuzz: needs clang, its run-time" \
		"library and OpenMP: apt-get install clang libclang-rt-14-dev libomp-dev" >&2; exit 1; }
	$(Q)$(MAKE) --no-print-directory O=$(O)/fuzz CC=clang NVCC= CFLAGS='$(FUZZ_CFLAGS)' run-fuzz

run-fuzz: $(FUZZERS:%=$(O)/fuzz-%)
	$(Q)tests/fuzz/run.sh $(O) $(FUZZ_SECONDS) $(FUZZERS)

# --- on a real GPU -------------------------------------------------------------------------------
GPU_TESTS := $(wildcard tests/gpu/*.c)
$(O)/check-gpu: $(GPU_TESTS:%.c=$(O)/%.o) $(filter-out %/check_main.o,$(SUITES:%.c=$(O)/%.o)) $(OBJECTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -fopenmp -o $@ $^ $(CHECK_LIBS) $(LIBS) $(CUDA_LIBS)

.PHONY: gpu-binaries gpu-test
gpu-binaries: $(O)/check-gpu $(O)/pipeline $(NVTX_TESTS)
gpu-test:
ifeq ($(NVCC),)
	@echo "gpu-test: no nvcc, so nothing was built for a GPU"; exit 77
else
	$(Q)$(MAKE) --no-print-directory gpu-binaries
	$(Q)tests/gpu/run.sh $(O)
endif

# Installs into an empty folder and looks at everything there.
.PHONY: check-install
check-install:
	$(say) INSTALL $(O)/stage
	$(Q)rm -rf $(O)/stage
	$(Q)$(MAKE) --no-print-directory DESTDIR=$(abspath $(O))/stage PREFIX=/opt/p install
	$(Q)tests/install.sh $(abspath $(O))/stage /opt/p
	$(Q)$(MAKE) --no-print-directory DESTDIR=$(abspath $(O))/stage PREFIX=/opt/p uninstall
	$(Q)[ -z "$$(find $(O)/stage -type f)" ]

# --- measurements --------------------------------------------------------------------------------
.PHONY: bench accuracy
bench: $(O)/pipeline
	$(Q)$(O)/pipeline bench

# MACHINE= names the machine file; DEVICE= another device than the GPU.
accuracy: $(O)/pipeline
	$(Q)DEVICE='$(DEVICE)' bench/accuracy/run.sh $(O) out/accuracy $(MACHINE)

# --- the rest ------------------------------------------------------------------------------------
.PHONY: install uninstall clean format help
INSTALLED := $(sort $(shell find configs -name '*.ini')) $(PLOTS)
install: $(O)/pipeline $(PAGES)
	$(Q)install -d $(DESTDIR)$(PREFIX)/bin
	$(Q)install -m 755 $(O)/pipeline $(DESTDIR)$(PREFIX)/bin/pipeline
	$(Q)for page in $(PAGES:$(O)/%=%); do \
		install -D -m 644 $(O)/$$page $(DESTDIR)$(PREFIX)/$$page || exit 1; done
	$(Q)for file in $(INSTALLED); do \
		install -D -m 644 $$file $(DESTDIR)$(PREFIX)/share/pipeline/$$file || exit 1; done

uninstall:
	$(Q)rm -f $(DESTDIR)$(PREFIX)/bin/pipeline $(PAGES:$(O)/%=$(DESTDIR)$(PREFIX)/%)
	$(Q)rm -rf $(DESTDIR)$(PREFIX)/share/pipeline

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
	@echo 'make check-browser  the tests of the HTML page, in a headless Chromium'
	@echo 'make fuzz           fuzz each reader of files for FUZZ_SECONDS ($(FUZZ_SECONDS)), with clang'
	@echo 'make lessons        run the lessons; their reports and pictures into docs/'
	@echo 'make lecture        all lessons as one HTML page and one PDF, into out/lecture/ (DEVICE=cuda: measured)'
	@echo 'make bench          measure, and print the ratios that matter'
	@echo 'make accuracy       how far the simulated machine is from this GPU, into out/accuracy/'
	@echo 'make bench-browser  how long the HTML page takes to open and to step'
	@echo 'make install        into PREFIX ($(PREFIX)), under DESTDIR; make uninstall takes it back'
	@echo 'make pages          build the man page and the completions alone'
	@echo 'make clean          remove $(O)'
	@echo
	@echo 'V=1 shows commands; O=DIR builds elsewhere; ASAN=1 with sanitizers; WERROR=1 with'
	@echo 'warnings as errors; NVCC= without CUDA; NVTX= without marks for profilers;'
	@echo 'PORTABLE=1 links libraries statically; BOOTSTRAP=no installs nothing.'

-include $(shell find $(O) -type f -name '*.d' 2>/dev/null)
