# Experiments that take one thing of a GPU apart (bench/experiments/README.md). Each source is a program of its
# own, $(O)/experiments/NAME; bench/experiments/run.sh runs them all.

EXPERIMENTS := $(patsubst bench/experiments/%.cu,$(O)/experiments/%,$(sort $(wildcard bench/experiments/*.cu)))

.PHONY: experiments
ifeq ($(NVCC),)
experiments:
	@echo "experiments: no nvcc, so nothing was built for a GPU"; exit 77
else
experiments: $(EXPERIMENTS)
$(EXPERIMENTS): $(O)/experiments/%: bench/experiments/%.cu $(wildcard bench/experiments/*.h)
	$(say) NVCC $<
	$(call write,$(NVCC) $(NVCCFLAGS) -Xcompiler -Wshadow$(COMMA)-fopenmp $(if $(WERROR),-Werror all-warnings) -o $(NEW) $<)
endif
