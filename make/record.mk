# libpipeline-record.so: what `pipeline record` has loaded into other programs. It needs CUDA's headers.

RECORD_CFLAGS = -std=c17 -D_GNU_SOURCE -Isrc -I. -isystem $(CUDA_HOME)/include \
                -isystem $(CUDA_HOME)/extras/CUPTI/include -isystem $(NVTX) $(WARNINGS) $(CFLAGS) \
                $(filter-out -fPIE,$(HARDEN)) -fPIC -fvisibility=hidden -pthread
$(OBJ)/record/%.o: src/record/%.c
	$(say) CC $<
	$(call compile,$(CC) $(RECORD_CFLAGS))
$(OBJ)/record/added.o: RECORD_CFLAGS += -I$(O)/generated
$(OBJ)/record/added.o: $(O)/generated/nothing.h
$(O)/generated/nothing.h: src/record/nothing.cu
	$(say) EMBED $@
	$(call write,$(NVCC) $(GENCODE) -fatbin -o $(NEW).fatbin $< && \
		{ echo 'static const _Alignas(8) unsigned char nothing[] = {' && od -An -v -tx1 $(NEW).fatbin | sed 's/ \(..\)/0x\1$(COMMA)/g' && echo '};'; } >$(NEW) && \
		rm $(NEW).fatbin)
$(OBJ)/record/%.o: src/core/%.c
	$(say) CC $<
	$(call compile,$(CC) $(RECORD_CFLAGS))

# It stays in the program until that ends, for the driver keeps calling into it.
$(OBJ)/bin/libpipeline-record.so: $(patsubst src/%.c,$(OBJ)/%.o,$(wildcard src/record/*.c)) $(patsubst %,$(OBJ)/record/%.o,escape items names)
	$(say) LINK $(@F)
	$(call write,$(CC) $(CFLAGS) $(filter-out -pie,$(HARDEN_LINK)) -shared -Wl$(COMMA)-z$(COMMA)nodelete -pthread -o $(NEW) $^ -ldl)

.PHONY: record
record: $(RECORD)

# Its tests need no GPU: a CUPTI and a driver that a program of the tests plays (tests/record/).
RECORDER_TESTS := $(if $(RECORD),$(RECORD) $(O)/record-player $(O)/record-judge $(RECORD_FAKES:%=$(O)/%))
RECORD_TEST_CFLAGS = $(filter-out $(HARDEN),$(RECORD_CFLAGS)) -Itests/record -I$(OBJ)/generated
RECORD_FAKE_CC = $(CC) $(RECORD_TEST_CFLAGS) -Wno-missing-prototypes -shared -Wl$(COMMA)-soname$(COMMA)$(@F) -o $(NEW)
$(OBJ)/generated/cupti_names.h: make/record.mk
	$(say) EMBED $@
	$(call write,sed -n 's/^ *CUPTI_\([A-Z]*\)_TRACE_CBID_\([A-Za-z0-9_]*[a-z0-9][A-Za-z0-9_]*\) .*/\1(\2)/p' \
		$(wildcard $(CUDA_HOME)/include/cupti_*_cbid.h $(CUDA_HOME)/extras/CUPTI/include/cupti_*_cbid.h) | \
		grep '^RUNTIME\|^DRIVER' | sort -u >$(NEW))
$(OBJ)/bin/tests/record/fakes/libcupti.so.13: tests/record/fake_cupti.c tests/record/fakes.h $(OBJ)/generated/cupti_names.h
	$(say) CC $<
	$(call write,$(RECORD_FAKE_CC) $<)
$(OBJ)/bin/tests/record/fakes/libcuda.so.1: tests/record/fake_cuda.c tests/record/fakes.h
	$(say) CC $<
	$(call write,$(RECORD_FAKE_CC) $<)
$(OBJ)/bin/tests/record/fakes/libcudart.so.13: tests/record/fake_cudart.c tests/record/fakes.h
	$(say) CC $<
	$(call write,$(RECORD_FAKE_CC) $<)
$(OBJ)/bin/tests/record/old/libcupti.so.13: make/record.mk
	$(say) CC $@
	$(call write,echo 'int a_cupti_without_functions;' | $(RECORD_FAKE_CC) -x c -)
RECORD_PLAYER := $(wildcard tests/record/play*.c)
$(RECORD_PLAYER:tests/%.c=$(OBJ)/tests/%.o): $(OBJ)/tests/record/%.o: tests/record/%.c
	$(say) CC $<
	$(call compile,$(CC) $(RECORD_TEST_CFLAGS))
$(OBJ)/bin/record-player: $(RECORD_PLAYER:%.c=$(OBJ)/%.o)
	$(say) LINK $(@F)
	$(call write,$(CC) $(CFLAGS) -pthread -rdynamic -o $(NEW) $^ -ldl)
$(OBJ)/bin/record-judge: PROGRAM_LIBS = $(LIBS)
$(OBJ)/bin/record-judge: $(OBJ)/tests/record/judge.o
