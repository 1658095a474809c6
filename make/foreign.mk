# The programs of others, so to say, that `pipeline record` is proven on: tests/foreign/README.md.
# Each source in `twins` is two programs, $(O)/foreign/NAME-wrong, compiled with -DWRONG, and
# NAME-right. Those in `blind` have a source each; those in `nasty` and `overhead` have no twin and are
# named for themselves. The sets `loops`, `drawn` and `drawn2` are in folders of their own, as their tables are; the first
# line of a source there may say `// libs:`, and Python is run where it is.

FOREIGN_TWINS := $(sort $(wildcard tests/foreign/twins/*))
FOREIGN_BLIND := $(sort $(wildcard tests/foreign/blind/*/wrong.* tests/foreign/blind/*/right.*))
FOREIGN_SINGLE := $(sort $(wildcard $(foreach f,nasty overhead,tests/foreign/$(f)/*.cu tests/foreign/$(f)/*.c)))
FOREIGN_SETS := $(sort $(foreach f,loops drawn drawn2,$(wildcard tests/foreign/$(f)/*.cu tests/foreign/$(f)/*.c)))
foreign_set = $(addprefix $(O)/foreign/$(notdir $(patsubst %/,%,$(dir $(1))))/$(basename $(notdir $(1)))-,wrong right)
foreign_twins = $(foreach t,wrong right,$(O)/foreign/$(basename $(notdir $(1)))-$(t))
foreign_blind = $(O)/foreign/$(notdir $(patsubst %/,%,$(dir $(1))))-$(basename $(notdir $(1)))
foreign_single = $(O)/foreign/$(patsubst lib%,lib%.so,$(basename $(notdir $(1))))
FOREIGN := $(foreach s,$(FOREIGN_TWINS),$(call foreign_twins,$(s))) \
           $(foreach s,$(FOREIGN_BLIND),$(call foreign_blind,$(s))) \
           $(foreach s,$(FOREIGN_SETS),$(call foreign_set,$(s))) \
           $(foreach s,$(FOREIGN_SINGLE),$(call foreign_single,$(s)))

# What a program's author would have written in a Makefile of theirs; by default cudart is static.
FOREIGN_SHARED := event_sync sync_loop few_tiles pool_streams d2d_copy graph_edge
$(O)/foreign/per_thread-wrong $(O)/foreign/per_thread-right: FOREIGN_FLAGS = -Xcompiler -fopenmp \
    $(if $(filter %-right,$@),--default-stream per-thread)
$(O)/foreign/one_stream-wrong $(O)/foreign/one_stream-right: FOREIGN_LIBS = -L$(CUDA_HOME)/lib64/stubs -lcuda
$(O)/foreign/libnasty.so: FOREIGN_FLAGS = -shared -Xcompiler -fPIC
$(O)/foreign/libprobe.so: FOREIGN_LIBS = -shared -fPIC -isystem $(CUDA_HOME)/extras/CUPTI/include -ldl

.PHONY: foreign
ifeq ($(NVCC),)
foreign:
	@echo "foreign: no nvcc, so nothing was built for a GPU"; exit 77
else
foreign: $(FOREIGN)
endif

foreign_wrong = $(if $(filter %-wrong,$@),-DWRONG)
foreign_pair = $(patsubst %-wrong,%,$(patsubst %-right,%,$(notdir $@)))
FOREIGN_NVCC = $(NVCC) -std=c++17 -O2 $(GENCODE) -Xcompiler -Wall,-Wextra $(foreign_wrong) \
    $(if $(filter $(foreign_pair),$(FOREIGN_SHARED)),-cudart shared -Xlinker -rpath=$(CUDA_HOME)/lib64) $(FOREIGN_FLAGS)
foreign_said = $(shell sed -n '1s,^// libs:,-L$(CUDA_HOME)/lib64 -L$(CUDA_HOME)/lib64/stubs ,p' $<)
FOREIGN_CC = $(CC) -std=gnu11 -O2 -Wall -Wextra $(foreign_wrong) -isystem $(CUDA_HOME)/include

define foreign_rule
$(1): $(2) $(wildcard $(dir $(2))*.h)
	$$(say) FOREIGN $(2)
	$$(call write,$(if $(filter %.py,$(2)),install -m 755 $(2) $$(NEW),$(if $(filter %.cu,$(2)), \
		$$(FOREIGN_NVCC) -o $$(NEW) $(2),$$(FOREIGN_CC) -o $$(NEW) $(2)) $$(FOREIGN_LIBS) $$(foreign_said)))
endef
$(foreach s,$(FOREIGN_TWINS),$(foreach p,$(call foreign_twins,$(s)),$(eval $(call foreign_rule,$(p),$(s)))))
$(foreach s,$(FOREIGN_SETS),$(foreach p,$(call foreign_set,$(s)),$(eval $(call foreign_rule,$(p),$(s)))))
$(foreach s,$(FOREIGN_BLIND),$(eval $(call foreign_rule,$(call foreign_blind,$(s)),$(s))))
$(foreach s,$(FOREIGN_SINGLE),$(eval $(call foreign_rule,$(call foreign_single,$(s)),$(s))))

# What is committed of a real run, judged anew by the program as it is; first, whether the judge can tell.
# The bounds are what it reached (bench/results/h200-2026-11-22-record.txt), so that it gets no worse;
# the second twin that is accused, `staging`, has a host that packs for most of its time, which was `unknown` then.
.PHONY: check-foreign
check-foreign: $(O)/pipeline
	$(Q)tests/foreign/self.py
	$(Q)tests/foreign/judge.sh $(O) --right=1 --accused=2 --worst=0.19 || [ $$? -eq 77 ]
