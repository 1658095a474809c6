# libpipeline.a: the pure rooms and the option table behind src/lib/pipeline.h, and the same compiled
# to WebAssembly.

LIBRARY := $(wildcard src/lib/*.c src/core/*.c src/machine/*.c src/plan/*.c src/sim/*.c src/analysis/*.c src/rework/*.c src/causes/*.c) \
           $(addprefix src/options/,table.c value.c chain.c part.c text.c draft.c check.c) \
           kernels/kernel.c
LIBRARY_OBJECTS := $(LIBRARY:%.c=$(OBJ)/%.o) $(OBJ)/generated/machine_texts.o

# All of it is linked to one object, in which only the names of pipeline.h stay visible: a program's
# own plan_build() does not clash with ours.
$(OBJ)/library/pipeline.o: $(LIBRARY_OBJECTS) make/library.mk
	$(call write,$(LD) -r -o $(NEW) $(LIBRARY_OBJECTS) && $(OBJCOPY) --wildcard --keep-global-symbol='pipeline_*' $(NEW))

OBJCOPY ?= objcopy
$(O)/libpipeline.a: $(OBJ)/library/pipeline.o
	$(say) AR $@
	$(call write,rm -f $(NEW) && $(AR) rcs $(NEW) $<)

$(O)/example: docs/example.c $(O)/libpipeline.a
	$(say) CC $<
	$(call write,$(CC) -std=c17 $(WARNINGS) $(CFLAGS) $(SANITIZE) -Isrc/lib -o $(NEW) $^ -lm)

$(O)/walk: tests/library/walk.c $(O)/libpipeline.a
	$(say) CC $<
	$(call write,$(CC) -std=c17 $(WARNINGS) $(CFLAGS) $(SANITIZE) -Isrc/lib -o $(NEW) $^ -lm)

# Debian's clang, lld, wasi-libc and libclang-rt-*-dev-wasm32 are all that WebAssembly takes.
WASM_CC ?= clang --target=wasm32-wasi
WASM_CFLAGS := -std=c17 -D_GNU_SOURCE -O2 -ffp-contract=off -Isrc -Isrc/lib -I. -Wall
# The linker's own 64 KiB of stack are too few, and what grows beyond them grows into the data.
WASM_STACK := -Wl$(COMMA)-z$(COMMA)stack-size=1048576
WASM_OBJECTS := $(LIBRARY:%.c=$(OBJ)/wasm/%.o) $(OBJ)/wasm/machine_texts.o
$(OBJ)/wasm/machine_texts.o: $(O)/generated/machine_texts.c
	$(call compile,$(WASM_CC) $(WASM_CFLAGS))
$(OBJ)/wasm/%.o: %.c
	$(say) WASM $<
	$(call compile,$(WASM_CC) $(WASM_CFLAGS))
$(O)/walk.wasm: $(OBJ)/wasm/tests/library/walk.o $(WASM_OBJECTS)
	$(say) LINK $@
	$(call write,$(WASM_CC) $(WASM_STACK) -o $(NEW) $^ -lm)
# The library as a page loads it: its own functions, and memory to pass strings in.
EXPORTS := malloc free $(shell grep -ow 'pipeline_[a-z_]*' src/lib/pipeline.h | sort -u)
$(O)/pipeline.wasm: $(WASM_OBJECTS)
	$(say) LINK $@
	$(call write,$(WASM_CC) $(WASM_STACK) -mexec-model=reactor $(EXPORTS:%=-Wl$(COMMA)--export-if-defined=%) -o $(NEW) $^ -lm)

# The command, the library and, in `check-wasm`, WebAssembly give the same nanoseconds.
.PHONY: library check-library check-wasm
library: $(O)/libpipeline.a
check-library: $(O)/pipeline $(O)/example $(O)/walk
	$(say) LIBRARY tests/library
	$(Q)tests/library/run.sh $(O)
check-wasm: $(O)/pipeline $(O)/example $(O)/walk $(O)/walk.wasm $(O)/pipeline.wasm
	$(say) WASM tests/library
	$(Q)tests/library/run.sh $(O) $(O)/walk.wasm
	$(Q)node tests/library/page.mjs $(O)/pipeline.wasm
