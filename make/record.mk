# libpipeline-record.so: what `pipeline record` has loaded into other programs. It needs CUDA's headers.

RECORD_CFLAGS = -std=c17 -D_GNU_SOURCE -Isrc -I. -isystem $(CUDA_HOME)/include \
                -isystem $(CUDA_HOME)/extras/CUPTI/include -isystem $(NVTX) $(WARNINGS) $(CFLAGS) \
                $(filter-out -fPIE,$(HARDEN)) -fPIC -fvisibility=hidden -pthread
$(OBJ)/record/%.o: src/record/%.c
	$(say) CC $<
	$(call compile,$(CC) $(RECORD_CFLAGS))

# It stays in the program until that ends, for the driver keeps calling into it.
$(OBJ)/bin/libpipeline-record.so: $(patsubst src/%.c,$(OBJ)/%.o,$(wildcard src/record/*.c))
	$(say) LINK $(@F)
	$(call write,$(CC) $(CFLAGS) $(filter-out -pie,$(HARDEN_LINK)) -shared -Wl$(COMMA)-z$(COMMA)nodelete -pthread -o $(NEW) $^ -ldl)

.PHONY: record
record: $(RECORD)
