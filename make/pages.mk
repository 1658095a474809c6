# The man page and the shells' completions, from the program's tables; and what is installed.

# One word for the shell, whatever is in it.
quoted = '$(subst ','\'',$(1))'
# make takes a single dollar sign away with the letter behind it, and what is installed lies elsewhere.
OPEN := (
lone_dollar = $(findstring $$,$(subst $${,,$(subst $$$(OPEN),,$(subst $$$$,,$(value $(1))))))
$(foreach name,PREFIX DESTDIR,$(if $(call lone_dollar,$(name)),$(error $(name) is $(value $(name)): make takes a $$ for more than itself: write $$$$)))

PAGES := $(addprefix $(O)/share/,man/man1/pipeline.1 bash-completion/completions/pipeline \
           zsh/site-functions/_pipeline fish/vendor_completions.d/pipeline.fish)
$(OBJ)/bin/print-pages: $(patsubst %.c,$(OBJ)/%.o,$(wildcard docs/manual/*.c)) $(OBJECTS)

# The date is that of the last commit, never that of the build.
ifeq ($(origin SOURCE_DATE_EPOCH),undefined)
SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null)
endif
.PHONY: pages
pages: $(PAGES)
$(O)/share/man/man1/pipeline.1: docs/manual/pipeline.1
$(O)/share/bash-completion/completions/pipeline: docs/manual/complete.bash
$(O)/share/zsh/site-functions/_pipeline: docs/manual/complete.zsh
$(O)/share/fish/vendor_completions.d/pipeline.fish: docs/manual/complete.fish
# The pages name PREFIX, so they are printed anew each time.
$(PAGES): $(O)/print-pages FORCE
	$(call write,SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) $(O)/print-pages $(call quoted,$(PREFIX)) \
		<$(filter docs/manual/%,$^) >$(NEW))

# plots/ops.gp repeats the program's table of op kinds: this writes it anew into the source.
.PHONY: ops
ops: $(O)/print-pages
	$(Q)echo @plot-ops@ | $(O)/print-pages $(call quoted,$(PREFIX)) >$(O)/ops.gp && cp $(O)/ops.gp plots/ops.gp

# docs/options.md is committed, for those who read it where nothing is built; a test compares.
.PHONY: docs
docs: $(O)/print-pages
	$(Q)$(O)/print-pages $(call quoted,$(PREFIX)) <docs/manual/options.md >docs/options.md

.PHONY: install uninstall check-install
INSTALLED := $(sort $(wildcard configs/*.ini configs/*/*.ini)) $(PLOTS)
ROOT = $(call quoted,$(DESTDIR)$(PREFIX))
INSTALLED_PROGRAMS := pipeline $(if $(MPICC),pipeline-mpi)
install: $(INSTALLED_PROGRAMS:%=$(O)/%) $(O)/libpipeline.a $(RECORD) $(CPU_LIBRARY) $(CPU_HEADERS) $(PAGES)
	$(Q)install -d $(ROOT)/bin
	$(Q)install -m 755 $(INSTALLED_PROGRAMS:%=$(O)/%) $(ROOT)/bin
	$(if $(CPU_LIBRARY),$(Q)ln -sf pipeline $(ROOT)/bin/pipeline-nvcc)
	$(Q)install -D -m 644 $(O)/libpipeline.a $(ROOT)/lib/libpipeline.a
	$(Q)for file in $(patsubst $(O)/%,%,$(RECORD) $(CPU_LIBRARY) $(CPU_HEADERS)); do \
		install -D -m 644 $(O)/$$file $(ROOT)/lib/pipeline/"$$file" || exit 1; done
	$(Q)install -D -m 644 src/lib/pipeline.h $(ROOT)/include/pipeline.h
	$(Q)install -D -m 644 kernels/own_kernel.h $(ROOT)/include/pipeline/kernel.h
	$(Q)for page in $(PAGES:$(O)/%=%); do \
		install -D -m 644 $(O)/$$page $(ROOT)/"$$page" || exit 1; done
	$(Q)for file in $(INSTALLED); do \
		install -D -m 644 $$file $(ROOT)/"share/pipeline/$$file" || exit 1; done

uninstall:
	$(Q)for file in bin/pipeline bin/pipeline-mpi bin/pipeline-nvcc lib/libpipeline.a lib/pipeline include/pipeline.h include/pipeline $(PAGES:$(O)/%=%) share/pipeline; do \
		rm -rf $(ROOT)/"$$file" || exit 1; done

# Installs into an empty folder and looks at everything there. The prefix has what shells and make take
# for more than itself.
ODD_PREFIX := /opt/a $$d&b
STAGED = --no-print-directory DESTDIR=$(abspath $(O))/stage PREFIX=$(call quoted,$(subst $$,$$$$,$(ODD_PREFIX)))
check-install:
	$(say) INSTALL $(O)/stage
	$(Q)rm -rf $(O)/stage
	$(Q)$(MAKE) $(STAGED) install
	$(Q)tests/install.sh $(abspath $(O))/stage $(call quoted,$(ODD_PREFIX))
	$(Q)$(MAKE) $(STAGED) uninstall
	$(Q)[ -z "$$(find $(O)/stage -type f)" ]
	$(Q)! $(MAKE) --no-print-directory -n DESTDIR=$(abspath $(O))/stage PREFIX='/opt/d$$d' install 2>/dev/null
