# The lab page: the simulator in WebAssembly, in one HTML file that is part of the program.

# The command's own sources, less what a page has no use for or can't have: files, bytes, threads
# and SQLite, for which src/lab/page/ has what stands in their place.
LAB_SOURCES := $(wildcard src/lab/*.c src/lab/page/*.c src/core/*.c src/machine/*.c src/plan/*.c src/sim/*.c \
  src/analysis/*.c src/rework/*.c src/causes/*.c src/report/*.c) kernels/kernel.c \
  $(filter-out src/options/input_file.c,$(wildcard src/options/*.c)) \
  $(filter-out src/run/array% src/run/cpu_worker.c src/run/npy% src/run/topology.c src/run/verify.c,$(wildcard src/run/*.c)) \
  src/app/job.c src/app/job_run.c src/app/choice.c src/app/untiled.c src/app/backends.c src/cuda/backend_none.c src/mpi/ranks_none.c src/term/marks_none.c \
  $(filter-out src/trace/gunzip.c src/trace/sqlite.c src/trace/sqlite_file.c src/trace/sqlite_host.c,$(wildcard src/trace/*.c)) \
  $(wildcard src/emit/*.c) $(addprefix src/writers/,html.c html_threads.c json.c put.c cause.c writer.c)
LAB_TEXTS := machine_texts lesson_texts config_texts plot_texts program_texts exercise_texts
LAB_CFLAGS := -std=c17 -D_GNU_SOURCE -O2 -flto -ffp-contract=off -fvisibility=hidden -Isrc -I. \
              -include src/lab/page/sort.h -Wall -Wextra -Wno-unknown-pragmas $(if $(WERROR),-Werror)
LAB_EXPORTS := malloc free lab_run lab_code lab_view lab_drop lab_catalogue
LAB_LINK := -O2 -flto -mexec-model=reactor $(LAB_EXPORTS:%=-Wl$(COMMA)--export=%) -Wl$(COMMA)--gc-sections \
            -Wl$(COMMA)--strip-all -Wl$(COMMA)-z$(COMMA)stack-size=1048576

# Its objects have a folder for each compiler, set of flags and list of sources, and none for what
# other compilers are told.
LAB_OBJ := $(O)/obj-lab-$(if $(LAB),$(shell { echo '$(CURDIR) $(LAB_CC) $(LAB_CFLAGS) $(LAB_LINK) $(LAB_SOURCES)'; \
             $(LAB_CC) --version; } 2>/dev/null | cksum | cut -d ' ' -f 1))
$(LAB_OBJ)/generated/%.o: $(O)/generated/%.c
	$(call compile,$(LAB_CC) $(LAB_CFLAGS))
$(LAB_OBJ)/%.o: %.c
	$(say) WASM $<
	$(call compile,$(LAB_CC) $(LAB_CFLAGS))
$(LAB_OBJ)/lab.wasm: $(LAB_SOURCES:%.c=$(LAB_OBJ)/%.o) $(LAB_TEXTS:%=$(LAB_OBJ)/generated/%.o)
	$(say) LINK $(@F)
	$(call write,$(LAB_CC) $(LAB_LINK) -o $(NEW) $^ -lm)
$(LAB_OBJ)/lab.wasm.gz.base64: $(LAB_OBJ)/lab.wasm
	$(call write,gzip -9 -n -c $< | base64 >$(NEW))
-include $(shell find $(LAB_OBJ) -type f -name '*.d' 2>/dev/null)

# What the page is made of, as the program has it. A compiler for WebAssembly may come or go: the
# file changes only where its content does.
LAB_PARTS := $(wildcard src/lab/*.html src/lab/*.css src/lab/*.js) $(LAB_OBJ)/lab.wasm.gz.base64
$(O)/generated/lab_texts.c: $(if $(LAB),$(LAB_PARTS)) FORCE
	$(Q)mkdir -p $(@D); scripts/embed.sh lab_texts $(filter-out FORCE,$^) >$(NEW) && \
		{ cmp -s $(NEW) $@ && rm -f $(NEW) || mv $(NEW) $@; } || { rm -f $(NEW); exit 1; }

.PHONY: lab
lab:
	$(Q)scripts/bootstrap.sh lab
	$(Q)$(MAKE) --no-print-directory $(O)/pipeline
	$(Q)$(O)/pipeline lab -o $(O)/lab.html
