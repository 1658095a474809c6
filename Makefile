# `make demo` sets up, builds and shows the headline comparison; `make test` sets up and runs the
# quick tests; `make help` lists the rest. This file builds the programs; make/*.mk holds, by
# subject, what is done with them.

# --- settings ------------------------------------------------------------------------------------
O ?= build
PREFIX ?= /usr/local
CC := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
# CXX compiles the tests that emulate a GPU; by default it comes from the same maker as CC.
CXX := $(if $(filter default undefined,$(origin CXX)),$(if $(findstring clang,$(CC)),clang++,g++),$(CXX))
PKG_CONFIG ?= pkg-config
# The CUDA rooms are built where nvcc is found; `make NVCC=` leaves them out.
ifeq ($(origin NVCC),undefined)
NVCC := $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
endif
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
# NVTX is headers alone, and comes with the CUDA Toolkit: `make NVTX=` leaves its marks out.
NVTX ?= $(patsubst %/nvtx3/nvToolsExtCudaRt.h,%,$(firstword $(wildcard $(addsuffix \
          /include/nvtx3/nvToolsExtCudaRt.h,$(CUDA_HOME) /usr/local/cuda /usr))))
# SQLite lets `pipeline view` read what nsys exports as a database: `make SQLITE=` leaves it out.
ifeq ($(origin SQLITE),undefined)
SQLITE := $(shell $(PKG_CONFIG) --exists sqlite3 2>/dev/null && echo sqlite3)
endif
# zlib lets it read what gzip packed: `make ZLIB=` leaves it out.
ifeq ($(origin ZLIB),undefined)
ZLIB := $(shell $(PKG_CONFIG) --exists zlib 2>/dev/null && echo zlib)
endif
# The lab page has the simulator in WebAssembly, which Debian's clang, lld, wasi-libc and
# libclang-rt-*-dev-wasm32 make: `make LAB=` leaves it out.
LAB_CC ?= clang --target=wasm32-wasi
ifeq ($(origin LAB),undefined)
LAB := $(shell echo 'int main(void) { return 0; }' | $(LAB_CC) -x c -o /dev/null - 2>/dev/null && echo yes)
endif
# Where MPI's mpicc is found, ranks of a second program share a run: `make MPICC=` leaves that out.
MPICC ?= $(shell command -v mpicc 2>/dev/null)
# Machine code for Hopper, and PTX that any GPU since Turing turns into its own.
GENCODE ?= -gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75

# make splits names at spaces, so a folder with one in its name would build half of something else.
$(if $(word 2,$(CURDIR)),$(error the sources lie in "$(CURDIR)": make cannot build in a folder with a space in its name))

# A folder to build in with a space in its name gets one without, for another make: that of a descriptor.
ifneq ($(word 2,$(O)),)
GOALS := $(or $(MAKECMDGOALS),all)
.PHONY: $(GOALS)
$(firstword $(GOALS)):
	@$(if $(findstring n,$(filter-out -%,$(firstword $(MAKEFLAGS)))),exec 9</dev/null,mkdir -p "$(O)" && exec 9<"$(O)") && \
		MAKELEVEL=0 $(MAKE) --no-print-directory O=/proc/self/fd/9 $(GOALS)
$(wordlist 2,$(words $(GOALS)),$(GOALS)): $(firstword $(GOALS))
else

# What is built, and what `make clean` removes, must not lie among the sources.
$(if $(strip $(O)),,$(error O is empty: name the folder to build in))
$(if $(filter $(CURDIR) $(addprefix $(CURDIR)/,bench configs docs kernels make plots programs scripts src tests) \
       $(addsuffix /%,$(addprefix $(CURDIR)/,bench configs docs kernels make plots programs scripts src tests)),$(abspath $(O))), \
  $(error O is $(O), which has the sources in it: choose another folder to build in))

# One job for each processor; `make -j1` asks for one. A make that another make started shares the
# jobs of that one.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif
# The words of jobs that run side by side are kept apart; not for tests and measurements, whose
# words would then come only at the end.
ifeq ($(filter-out all pages $(O)/%,$(MAKECMDGOALS)),)
MAKEFLAGS += --output-sync=target
endif
MAKEFLAGS += --no-builtin-rules

Q := $(if $(V),,@)
say = $(if $(V),@:,@printf '  %-7s %s\n')

# --- flags ---------------------------------------------------------------------------------------
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wvla -Wpedantic -Wno-overlength-strings $(if $(WERROR),-Werror)
COMMA := ,
SANITIZE := $(if $(ASAN),-fsanitize=address$(COMMA)undefined -fno-sanitize-recover=all)
CFLAGS ?= -O2 -g
# What makes a mistake harder to use: calls that know the room they have, canaries, branches that
# land only where they may, a program that lies anywhere and tables of calls that nobody writes to.
# The calls need optimisation, and sanitizers look better themselves. `make HARDENING=` leaves all out.
FORTIFY := $(if $(findstring -fsanitize,$(CFLAGS) $(SANITIZE)),,$(if $(filter-out -O0,$(filter -O%,$(CFLAGS))), \
             -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3))
CF_PROTECTION := $(shell $(CC) -fcf-protection -fsyntax-only -x c /dev/null 2>/dev/null && echo -fcf-protection)
HARDENING ?= $(FORTIFY) -fstack-protector-strong $(CF_PROTECTION) -fPIE -pie -Wl,-z,relro -Wl,-z,now
HARDEN_LINK = $(filter -pie -Wl%,$(HARDENING))
HARDEN = $(filter-out $(HARDEN_LINK),$(HARDENING))
PACKAGE_CFLAGS := $(shell $(PKG_CONFIG) --cflags jansson $(SQLITE) $(ZLIB))
# No contraction: the simulator's arithmetic is the same on every machine.
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -Isrc -I. $(WARNINGS) $(CFLAGS) $(HARDEN) $(ROOM_CFLAGS) \
             $(SANITIZE) -fopenmp -ffp-contract=off -pthread $(PACKAGE_CFLAGS)
NVCCFLAGS = -std=c++17 -O3 -lineinfo -Isrc -I. $(GENCODE) -Xcompiler -Wall,-Wextra \
            $(HARDEN:%=-Xcompiler %)

# PORTABLE=1 links the libraries that another machine may lack statically.
static = $(if $(PORTABLE),-Wl$(COMMA)-Bstatic $(1) -Wl$(COMMA)-Bdynamic,$(1))
LIBS := $(call static,$(shell $(PKG_CONFIG) --libs jansson $(SQLITE) $(ZLIB))) -lm -pthread -ldl
CHECK_LIBS := $(if $(PORTABLE),$(call static,-lcheck -lsubunit),$(shell $(PKG_CONFIG) --libs check 2>/dev/null))
CUDA_LIBS := $(if $(NVCC),-L$(CUDA_HOME)/lib64 -lcudart_static -lrt -lstdc++)

# Objects and programs lie in a folder of their own for each compiler and set of flags, so that a
# change of flags deletes nothing and going back builds nothing. $(O) has the programs asked for last.
FLAGS_NOW := $(CURDIR) $(abspath $(O)) $(CC) $(CXX) $(ALL_CFLAGS) $(LIBS) $(CHECK_LIBS) \
             $(CUDA_LIBS) $(NVCC) $(NVCCFLAGS) $(NVTX) $(HARDEN_LINK)
OBJ := $(O)/obj-$(shell { printf %s '$(subst ','\'',$(FLAGS_NOW))'; $(CC) --version; } 2>/dev/null | \
                   cksum | cut -d ' ' -f 1)

# --- what is built from what ---------------------------------------------------------------------
MPI_NONE := src/mpi/ranks_none.c
MPI_ROOMS := $(filter-out $(MPI_NONE),$(wildcard src/mpi/*.c))
CUDA_NONE := src/cuda/backend_none.c kernels/launchers_none.c
CUDA_ROOMS := $(filter-out $(CUDA_NONE),$(wildcard src/cuda/*.c kernels/*_cublas.c)) kernels/launchers.c
ROOMS := $(filter-out $(CUDA_ROOMS) $(if $(NVCC),$(CUDA_NONE)) $(if $(NVTX),src/term/marks_none.c,src/term/marks.c) \
           $(MPI_ROOMS) $(if $(ZLIB),src/trace/gunzip_none.c,src/trace/gunzip.c) \
           $(if $(SQLITE),src/trace/sqlite_none.c,$(filter-out %_none.c,$(wildcard src/trace/sqlite*.c))) \
           src/app/main.c $(wildcard src/record/*.c src/lab/*.c src/cpu/*.c), \
           $(sort $(wildcard src/*/*.c kernels/*.c)))
GENERATED := machine_texts lesson_texts config_texts plot_texts lab_texts own_texts program_texts exercise_texts
# A kernel's file is compiled twice: its CPU twin and its oracle as C, its kernel as CUDA.
KERNELS := $(sort $(wildcard kernels/*.cu))
OBJECTS := $(ROOMS:%.c=$(OBJ)/%.o) $(KERNELS:%.cu=$(OBJ)/%.o) $(GENERATED:%=$(OBJ)/generated/%.o)
ifneq ($(NVCC),)
OBJECTS += $(CUDA_ROOMS:%.c=$(OBJ)/%.o) $(KERNELS:%=$(OBJ)/%.o)
$(CUDA_ROOMS:%.c=$(OBJ)/%.o) $(OBJ)/bench/%.o $(OBJ)/tests/gpu/%.o: \
	ROOM_CFLAGS += -isystem $(CUDA_HOME)/include -isystem $(CUDA_HOME)/extras/CUPTI/include
endif
$(OBJ)/src/term/marks.o: ROOM_CFLAGS += -isystem $(NVTX)
HEADERS := $(wildcard src/*/*.h src/lab/page/*.h kernels/*.h bench/*.h)
MACHINES := $(sort $(wildcard configs/machines/*.ini))
LESSONS := $(sort $(wildcard configs/lessons/*.ini))
CONFIGS := $(sort $(wildcard configs/*.ini configs/history/*.ini))
# What `pipeline kernel new` writes.
OWN_TEXTS := configs/kernels/mine.cu kernels/own_kernel.h
# What programs of --emit are made of: templates, and kernels that nvcc compiles as they stand.
PROGRAM_TEXTS := $(sort $(wildcard programs/*.cu programs/*.cu.in))
# Of `pipeline exercise`: programs, and what they must reach.
EXERCISES := $(sort $(wildcard programs/exercises/*.cu programs/exercises/*.ini))
PLOTS := $(sort $(wildcard plots/*.gp plots/*.awk plots/*.html plots/page.css plots/page.js))
# `pipeline bench` is in the program, and in nothing that tests link.
BENCH := $(filter-out $(if $(NVCC),bench/bench_none.c,bench/bench_cuda%),$(wildcard bench/*.c))
BENCH_OBJECTS := $(BENCH:%.c=$(OBJ)/%.o) $(if $(NVCC),$(patsubst %.cu,$(OBJ)/%.cu.o,$(wildcard bench/*.cu)))

# `pipeline record` loads it into other programs; it is made of CUDA's headers.
RECORD := $(if $(and $(NVCC),$(NVTX)),$(O)/libpipeline-record.so)

.PHONY: all
all: $(O)/pipeline $(if $(MPICC),$(O)/pipeline-mpi) $(RECORD)

$(OBJ)/bin/pipeline: $(OBJ)/src/app/main.o $(BENCH_OBJECTS) $(OBJECTS)

# --- how it is built -----------------------------------------------------------------------------
# Every result is written beside its place and then moved there, so that a make that is stopped, or
# two at once in one folder, never leave or see half a file. `write` is a command that writes the
# file $(NEW), and -MMD's list of headers that a compiler writes goes through the same door.
NEW = $@.$$$$
write = $(Q)mkdir -p $(@D); $(1) && mv $(NEW) $@ || { rm -f $(NEW); exit 1; }
compile = $(call write,$(1) -MMD -MP -MT $@ -MF $(NEW).d -c -o $(NEW) $< && mv $(NEW).d $(@:.o=.d))

$(OBJ)/%.o: %.c
	$(say) CC $<
	$(call compile,$(CC) $(ALL_CFLAGS))

$(OBJ)/kernels/%.o: kernels/%.cu
	$(say) CC $<
	$(call compile,$(CC) $(ALL_CFLAGS) -x c)

$(OBJ)/%.cu.o: %.cu
	$(say) NVCC $<
	$(call compile,$(NVCC) $(NVCCFLAGS))

$(OBJ)/generated/%.o: $(O)/generated/%.c
	$(call compile,$(CC) $(ALL_CFLAGS))

$(O)/generated/machine_texts.c: $(MACHINES)
$(O)/generated/lesson_texts.c: $(LESSONS)
$(O)/generated/config_texts.c: $(CONFIGS)
$(O)/generated/plot_texts.c: $(PLOTS)
$(O)/generated/own_texts.c: $(OWN_TEXTS)
$(O)/generated/program_texts.c: $(PROGRAM_TEXTS)
$(O)/generated/exercise_texts.c: $(EXERCISES)
$(O)/generated/%_texts.c: scripts/embed.sh
	$(say) EMBED $@
	$(call write,scripts/embed.sh $*_texts $(filter-out scripts/embed.sh,$^) >$(NEW))

# Rules elsewhere say what a program is made of.
LINKER = $(CC)
PROGRAM_LIBS = $(LIBS) $(CUDA_LIBS)
$(OBJ)/bin/%:
	$(say) LINK $*
	$(call write,$(LINKER) $(CFLAGS) $(HARDEN_LINK) $(SANITIZE) -fopenmp -o $(NEW) $^ $(PROGRAM_LIBS))

FUZZERS ?= $(patsubst tests/fuzz/target_%.c,%,$(wildcard tests/fuzz/target_*.c))
RECORD_FAKES := tests/record/fakes/libcupti.so.13 tests/record/fakes/libcuda.so.1 tests/record/fakes/libcudart.so.13 tests/record/old/libcupti.so.13
OWN_KERNELS := $(addprefix tests/own/,$(addsuffix .so,SOFT AXPY TOTAL PLACE NEWER NONAME SPACED TAKEN TWINLESS \
               INPUTS TYPES COST PAIR WIDE CRASH EXIT GARBLED NONE WILD MEDDLER LAZY BLIND BLINDSUM BLINDPLACE STRAY ODD \
               FAILING PARITY QUIT DOUBLES TALKER LEAVES QUITS FALLS HANGS LEAVES_LATE QUITS_LATE FALLS_LATE HANGS_LATE LEAVES_USED QUITS_BESIDE ELSEWHERE COMMAS))
OWN_LAUNCHERS := $(addprefix tests/own/launch-,$(addsuffix .so,RIGHT BLIND LEGACY APART WAITS ALLOCATES NOTHING BEHIND \
                 SHORT UNEVEN BOASTER TOILER))
EMIT_KERNELS := $(addprefix tests/emit/,$(addsuffix .so,half halfoff axpy total totaloff ints intsoff count countoff \
                twice squares place lost edges edgeoff fails blind newer none clash clash2 retyped widened steep weighted))
PROGRAMS := pipeline pipeline-mpi clocks-check libpipeline-record.so print-pages check hostile no-memory tests/hostile/no_memory.so check-emulator check-gpu nvtx-walk tests/nvtx/injection.so \
            $(OWN_KERNELS) $(OWN_LAUNCHERS) $(EMIT_KERNELS) tests/emit/pieces.h.gch tests/own/new.so record-guest tests/record/libpipeline-record.so record-player record-judge $(RECORD_FAKES) \
            tests/failing/libcuda.so.1 tests/stub/libcuda.so.1 failing-driver-check \
            pipeline-fake pipeline-mpi-fake tests/fake/libcupti.so $(FUZZERS:%=fuzz-%)
$(PROGRAMS:%=$(O)/%): $(O)/%: $(OBJ)/bin/% FORCE
	$(Q)cmp -s $< $@ || { mkdir -p $(@D) && cp $< $(NEW) && mv $(NEW) $@; }

.PHONY: FORCE
FORCE:
.SECONDARY:

# --- the rest ------------------------------------------------------------------------------------
include make/mpi.mk make/lab.mk make/demo.mk make/record.mk make/library.mk make/cpu.mk make/pages.mk make/lint.mk make/tests.mk make/foreign.mk make/experiments.mk

# Only what was made goes, and only where something was: $(O) may be a folder that has other things, too.
MADE := $(PROGRAMS) lab.html generated libpipeline.a libpipeline-cpu.a cuda pipeline-nvcc example walk walk.wasm pipeline.wasm share stage browser npm.log \
        suites tier foreign experiments lessons clang valgrind asan gcc fuzz corpus found machines
.PHONY: clean format help
clean:
	$(Q)[ -z "$(wildcard $(O)/obj-*)" ] || rm -rf $(O)/obj-* $(MADE:%=$(O)/%)
	$(Q)for folder in tests/nvtx tests/record tests/hostile tests/failing tests/stub tests/fake tests/own tests/emit tests .; do [ ! -d $(O)/$$folder ] || \
		rmdir --ignore-fail-on-non-empty "$$(realpath $(O)/$$folder)"; done

CLANG_FORMAT ?= $(or $(shell command -v clang-format-14),clang-format)
format:
	$(Q)$(CLANG_FORMAT) -i $(SOURCES)

help:
	@sed 's,@O@,$(O),' make/help.txt | PREFIX=$(call quoted,$(PREFIX)) awk \
		'{ at = index($$0, "@PREFIX@") } at { $$0 = substr($$0, 1, at - 1) ENVIRON["PREFIX"] substr($$0, at + 8) } 1'

-include $(shell find $(OBJ) -type f -name '*.d' 2>/dev/null)
endif
