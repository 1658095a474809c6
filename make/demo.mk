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

lecture: export LECTURE_PLAN = $(PLAN)
lecture:
	$(Q)scripts/bootstrap.sh lecture$(if $(filter yes,$(PDF)),-pdf)
	$(Q)$(MAKE) --no-print-directory $(O)/pipeline
	$(Q)DEVICE='$(DEVICE)' PDF='$(PDF)' scripts/lecture.sh $(abspath $(O))/pipeline \
		"out/lecture$${LECTURE_PLAN:+-$$LECTURE_PLAN}" "$$LECTURE_PLAN"

.PHONY: bench bench-browser accuracy
bench: $(O)/pipeline
	$(Q)$(O)/pipeline bench

bench-browser: $(O)/pipeline
	$(Q)tests/browser/run.sh $(O) measure

# MACHINE= names the machine file; DEVICE= another device than the GPU.
accuracy: $(O)/pipeline
	$(Q)DEVICE='$(DEVICE)' bench/accuracy/run.sh $(O) out/accuracy $(MACHINE)

# `pictures` draws what docs/tour.md, gallery.md and nsight.md show: each by the command above it,
# without data.
.PHONY: pictures
pictures: $(O)/pipeline
	$(Q)rm -rf $(O)/pictures && mkdir -p $(O)/pictures/bin docs/pictures
	$(Q)ln -s $(CURDIR)/docs $(CURDIR)/configs $(O)/pictures && ln -s $(abspath $(O)/pipeline) $(O)/pictures/bin
	$(Q)sed -n 's/^    \(pipeline .*--timeline=[a-z-]*\.png\)/\1/p' docs/tour.md docs/gallery.md docs/nsight.md | \
		sed '/pipeline view/!s/--timeline/--no-data &/' | \
		(cd $(O)/pictures && PATH=$$PWD/bin:$$PATH && sort -u | while IFS= read -r line; do \
			echo "$$line"; eval "$$line" >report 2>&1 || [ -z "$${line##*exits with 1}" ] || { cat report; exit 1; }; done)
	$(Q)cp $(O)/pictures/*.png docs/pictures
