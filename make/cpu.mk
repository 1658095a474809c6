# libpipeline-cpu.a and the headers beside it: CUDA on the CPU, which `pipeline try` links programs with.
# They take a C++ compiler: `make CXX=` leaves them out. Sanitizers don't know the fibers that threads are.

CPU_LIBRARY := $(if $(SANITIZE),,$(if $(shell command -v $(firstword $(CXX)) 2>/dev/null),$(O)/libpipeline-cpu.a))
CPU_HEADERS := $(if $(CPU_LIBRARY),$(patsubst src/cpu/include/%,$(O)/cuda/%,$(shell find src/cpu/include -type f 2>/dev/null)))
all run-demo: $(CPU_LIBRARY) $(CPU_HEADERS) $(if $(CPU_LIBRARY),$(O)/pipeline-nvcc)

CPU := $(wildcard src/cpu/*.c src/cpu/*.cpp)
CPU_PURE := $(wildcard src/core/*.c src/machine/*.c src/plan/*.c src/sim/*.c) kernels/kernel.c src/run/backend.c src/options/input_file.c
CPU_OBJECTS := $(addsuffix .o,$(basename $(CPU:%=$(OBJ)/%) $(CPU_PURE:%=$(OBJ)/%))) $(OBJ)/generated/machine_texts.o
$(OBJ)/src/cpu/%.o: src/cpu/%.cpp
	$(say) CXX $<
	$(call compile,$(CXX) -std=c++17 -D_GNU_SOURCE -Isrc -I. $(filter-out -Wstrict-prototypes -Wmissing-prototypes -Wshadow,$(WARNINGS)) \
		$(CFLAGS) $(HARDEN) -ffp-contract=off -pthread)

# What a program may call stays visible; of its own it may have a plan_build() as we do. So may it have a
# type `thread`, and templates of it, which are not to stand for ours: ours are in no group any more, of
# which the linker would keep one.
CPU_NAMES := pipeline_* cuda* cublas* nvtx* __tsan_* __sanitizer_* __assert_fail __wrap_* clock threadIdx blockIdx blockDim gridDim warpSize
CPU_OWN := free realloc munmap _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm
$(OBJ)/cpu/cuda.o: $(CPU_OBJECTS) make/cpu.mk
	$(call write,$(LD) -r --force-group-allocation -o $(NEW) $(CPU_OBJECTS) && \
		$(OBJCOPY) --wildcard $(CPU_NAMES:%=--keep-global-symbol='%') $(NEW) && \
		$(OBJCOPY) $(foreach f,$(CPU_OWN),--redefine-sym $(f)=__real_$(f)) $(NEW))
$(O)/libpipeline-cpu.a: $(OBJ)/cpu/cuda.o
	$(say) AR $@
	$(call write,rm -f $(NEW) && $(AR) rcs $(NEW) $<)

$(O)/cuda/%: src/cpu/include/%
	$(call write,cp $< $(NEW))

# The name by which the program takes nvcc's command line.
$(O)/pipeline-nvcc:
	$(Q)ln -sf pipeline $@
