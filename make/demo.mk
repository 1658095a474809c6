# The demo, the lessons and the measurements: goals that run the program.

.PHONY: demo run-demo
demo:
	$(Q)scripts/bootstrap.sh build
	$(Q)$(MAKE) --no-print-directory run-demo

# Pictures are drawn where there is gnuplot.
run-demo: DRAW = $(if $(shell command -v gnuplot 2>/dev/null),out/ways.svg)
run-demo: $(O)/pipeline $(RECORD)
	$(Q)mkdir -p out
	$(Q)$(O)/pipeline --timeline=out/ways.csv --timeline=out/ways.html $(DRAW:%=--timeline=%) \
		configs/ways.ini
	$(Q)echo "timelines: out/ways.csv out/ways.html $(DRAW)"
	$(Q)echo "The program is $(O)/pipeline: try \`$(O)/pipeline lesson 8\`. \`make install\` makes it plain \`pipeline\`."

# `lessons` makes the lessons' reports and pictures in docs anew. `lecture` makes slides and a
# book of all lessons; with DEVICE=cuda they are measured.
.PHONY: lessons lecture
lessons: $(O)/pipeline
	$(Q)DEVICE= scripts/lessons.sh $(abspath $(O))/pipeline docs

lecture:
	$(Q)scripts/bootstrap.sh lecture$(if $(filter yes,$(PDF)),-pdf)
	$(Q)$(MAKE) --no-print-directory $(O)/pipeline
	$(Q)DEVICE='$(DEVICE)' PDF='$(PDF)' scripts/lecture.sh $(abspath $(O))/pipeline \
		$(abspath out/lecture$(PLAN:%=-%)) '$(PLAN)'

.PHONY: bench bench-browser accuracy
bench: $(O)/pipeline
	$(Q)$(O)/pipeline bench

bench-browser: $(O)/pipeline
	$(Q)tests/browser/run.sh $(O) measure

# MACHINE= names the machine file; DEVICE= another device than the GPU.
accuracy: $(O)/pipeline
	$(Q)DEVICE='$(DEVICE)' bench/accuracy/run.sh $(O) out/accuracy $(MACHINE)
