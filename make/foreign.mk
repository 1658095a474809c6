# The programs of others, so to say, that `pipeline record` is proven on: tests/foreign/README.md.
# Each source is a program of its own, $(O)/foreign/NAME-wrong or NAME-right; those in `nasty` and
# `overhead` have no twin and are named for themselves.

FOREIGN_FOLDERS := $(wildcard tests/foreign/*/wrong.* tests/foreign/blind/*/wrong.*)
FOREIGN_SOURCES := $(sort $(FOREIGN_FOLDERS) $(subst /wrong.,/right.,$(FOREIGN_FOLDERS)))
FOREIGN_SINGLE := $(sort $(wildcard $(foreach f,nasty overhead,tests/foreign/$(f)/*.cu tests/foreign/$(f)/*.c)))
foreign_name = $(O)/foreign/$(notdir $(patsubst %/,%,$(dir $(1))))-$(basename $(notdir $(1)))
foreign_single = $(O)/foreign/$(patsubst lib%,lib%.so,$(basename $(notdir $(1))))
FOREIGN := $(foreach s,$(FOREIGN_SOURCES),$(call foreign_name,$(s))) \
           $(foreach s,$(FOREIGN_SINGLE),$(call foreign_single,$(s)))

# What a program's author would have written in a Makefile of theirs; by default cudart is static.
FOREIGN_SHARED := event_sync sync_loop few_tiles pool_streams d2d_copy graph_edge
$(O)/foreign/per_thread-wrong $(O)/foreign/per_thread-right: FOREIGN_FLAGS = -Xcompiler -fopenmp \
    $(if $(filter %-right,$@),--default-stream per-thread)
$(O)/foreign/one_stream-wrong $(O)/foreign/one_stream-right: FOREIGN_LIBS = -L$(CUDA_HOME)/lib64/stubs -lcuda
$(O)/foreign/libnasty.so: FOREIGN_FLAGS = -shared -Xcompiler -fPIC

.PHONY: foreign
ifeq ($(NVCC),)
foreign:
	@echo "foreign: no nvcc, so nothing was built for a GPU"; exit 77
else
foreign: $(FOREIGN)
endif

foreign_pair = $(patsubst %-wrong,%,$(patsubst %-right,%,$(notdir $@)))
FOREIGN_NVCC = $(NVCC) -std=c++17 -O2 $(GENCODE) -Xcompiler -Wall,-Wextra \
    $(if $(filter $(foreign_pair),$(FOREIGN_SHARED)),-cudart shared -Xlinker -rpath=$(CUDA_HOME)/lib64) $(FOREIGN_FLAGS)
FOREIGN_CC = $(CC) -std=gnu11 -O2 -Wall -Wextra -isystem $(CUDA_HOME)/include

define foreign_rule
$(1): $(sort $(2) $(wildcard $(dir $(2))wrong.* $(dir $(2))*.h))
	$$(say) FOREIGN $(2)
	$$(call write,$(if $(filter %.py,$(2)),install -m 755 $(2) $$(NEW),$(if $(filter %.cu,$(2)), \
		$$(FOREIGN_NVCC) -o $$(NEW) $(2),$$(FOREIGN_CC) -o $$(NEW) $(2) $$(FOREIGN_LIBS))))
endef
$(foreach s,$(FOREIGN_SOURCES),$(eval $(call foreign_rule,$(call foreign_name,$(s)),$(s))))
$(foreach s,$(FOREIGN_SINGLE),$(eval $(call foreign_rule,$(call foreign_single,$(s)),$(s))))

# What is committed of a real run, judged anew by the program as it is; first, whether the judge can tell.
# The bounds are what it reached (bench/results/h200-2026-11-22-record.txt), so that it gets no worse.
.PHONY: check-foreign
check-foreign: $(O)/pipeline
	$(Q)tests/foreign/self.py
	$(Q)tests/foreign/judge.sh $(O) --accused=1 --worst=0.19 || [ $$? -eq 77 ]
