# pmtop: htop for training runs.
#
#   make deps demo     set up, build, start a training run and watch it
#   make deps check    set up, build and run every test (last line: N passed, N failed)
#   make               build/pmtop          make install   PREFIX, DESTDIR
#   make demo FAULT=slow-worker   the same with something wrong in it (tests/workloads/faults.txt)
#   make demo-fleet    64 ranks, pmtop exporter and a real Prometheus, until ^C    make check-prometheus  asserts that they agree (both need Debian's prometheus)
#   make why-bench     plants causes in real runs, and counts how often pmtop tells the right one
#   make fleet-bench  what pmtop fleet costs with 1,000 synthetic hosts
#   make loops-bench   the steps of 34 scripts after public ones, beside what the scripts count themselves (LOOPS=mnist ...: only these)
#   make ranks-bench   plants faults in a rank of real distributed runs, and counts how often pmtop names the right rank
#   make ranks-without compares the step that pmtop predicts without a slow rank with that of a run without it
#   make bench         what it costs        make fuzz      readers against damaged input, for FUZZ_SECONDS or FUZZ_RUNS each (10^6: FUZZ_SECONDS=1200 FUZZ_RUNS=1000000)
#   make soak          pmtop's memory, CPU and files over SOAK_SECONDS of a run that churns and SOAK_HOURS of a synthetic one; SOAK_KILLED writers
#   make healthy       HEALTHY_MINUTES of ten kinds of healthy programs: each warning is a false one
#   make lint          layers, layout, man pages    make format    lays the C code out
#   make pictures      the README's, from a real run
#   make python        the Python package   make check-python  its tests, with torch and Lightning
#   make wheels        the program and the Python package as wheels, in build/wheels    make check-wheels  their tests
#   make deb           Debian packages in build/deb: the program, and pmtop-dev with the header
#   make check-samples what stack samples show of real processes, beside their own clocks: on a quiet machine
#   make check-gpu     tests on a real NVIDIA GPU, and pmtop's figures beside nvidia-smi's
#   make clean                              make uninstall
#
# SANITIZE=address,undefined (or thread) builds into a folder of its own. PYTHON chooses the interpreter.

.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules

# `make deps X Y` sets up first and reads this file again for X and Y: what pkg-config says is only known then.
ifneq ($(filter deps,$(MAKECMDGOALS)),)
REST := $(filter-out deps,$(MAKECMDGOALS))
.PHONY: deps $(REST)
deps:
	@.ci/deps $(if $(filter-out all demo install,$(or $(REST),check)),,--build)
$(REST): deps
	@$(MAKE) --no-print-directory $@
else

VERSION := 0.1.0
PREFIX ?= /usr/local
BINDIR = $(PREFIX)/bin
INCLUDEDIR = $(PREFIX)/include
MANDIR = $(PREFIX)/share/man
DATADIR = $(PREFIX)/share/pmtop
COMPLETIONDIR = $(PREFIX)/share/bash-completion/completions
ZSHDIR = $(PREFIX)/share/zsh/site-functions
FISHDIR = $(PREFIX)/share/fish/vendor_completions.d
PKGCONFIGDIR = $(PREFIX)/share/pkgconfig
INSTALL ?= install
PKG_CONFIG ?= pkg-config
ifeq ($(origin CC),default)
CC := cc
endif
CXX ?= c++
PYTHON ?= python3

ifdef SANITIZE
comma := ,
BUILD ?= build-$(subst $(comma),-,$(SANITIZE))
SANITIZE_FLAGS := -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -DIS_SANITIZED
# Built in half the time that -O2 takes; a report names lines, for which -g1 is enough.
CFLAGS ?= -O1 -g1
endif
BUILD ?= build

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wstrict-prototypes -Wformat=2
CFLAGS ?= -O2 -g
CPPFLAGS += -I. -D_GNU_SOURCE -DPMTOP_VERSION='"$(VERSION)"'
# No caller reads errno after a function of libm, and without that promise the compiler can use the instruction itself.
ALL_CFLAGS = -std=c11 -fno-math-errno $(WARNINGS) $(WERROR) $(CFLAGS) $(SANITIZE_FLAGS) $(NEEDS_CFLAGS) -pthread -MMD -MP
# Of libpfm4 and libdrm the headers alone: both are opened when a run needs them.
NEEDS_CFLAGS := $(shell $(PKG_CONFIG) --cflags ncursesw yaml-0.1 zlib libdrm 2>/dev/null)
LIBS := $(shell $(PKG_CONFIG) --libs ncursesw yaml-0.1 zlib 2>/dev/null) -lm -ldl
TEST_LIBS := $(shell $(PKG_CONFIG) --libs check vterm 2>/dev/null) -lutil

SOURCES := $(sort $(shell find src ui -name '*.c' ! -path src/main.c ! -path 'src/python/*'))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
LAUNCH := $(sort $(wildcard src/python/launch/*.py))
RULES := $(sort $(wildcard config/rules/*.yaml))
SUPPORT := $(wildcard tests/support/*.c)
SUPPORT_OBJECTS := $(SUPPORT:%.c=$(BUILD)/%.o)
TEST_SOURCES := $(sort $(wildcard tests/unit/test_*.c tests/screens/test_*.c tests/faults/test_*.c tests/terminal/test_*.c))
# They hold what samples show of real processes against their clocks, and need a quiet machine: make check-samples.
SAMPLE_SCRIPTS := $(patsubst %,tests/terminal/test_%.sh,cause_lines step_phases threads)
TEST_SCRIPTS := $(filter-out $(SAMPLE_SCRIPTS),$(sort $(wildcard tests/*/test_*.sh)))
# They hold real clocks against each other, which a sanitizer only makes slower; or they run nothing that is built with it: they read sources and names of
# symbols, or build a copy of their own.
ifneq ($(SANITIZE),)
TEST_SCRIPTS := $(filter-out $(patsubst %,tests/terminal/test_%.sh,compare overlay pace ranks record truth) \
	$(patsubst %,tests/unit/test_%.sh,contributing header_cpp layers symbols),$(TEST_SCRIPTS))
endif
TEST_PROGRAMS := $(TEST_SOURCES:%.c=$(BUILD)/%)
WORKLOAD_SOURCES := $(wildcard tests/workloads/*.c)
WORKLOADS := $(WORKLOAD_SOURCES:%.c=$(BUILD)/%)
BENCH_SOURCES := $(wildcard tests/bench/bench_*.c)
BENCHES := $(BENCH_SOURCES:%.c=$(BUILD)/%)
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
# Each fuzzer ends after so many seconds or executions, whichever comes first.
FUZZ_SECONDS ?= 60
FUZZ_RUNS ?= -1
# 0: another one each time.
FUZZ_SEED ?= 0
MAN_PAGES := $(wildcard man/*.[1-9])

.PHONY: check-queue check-samples check-prometheus all programs demo demo-fleet why-bench loops-bench ranks-bench ranks-without check check-python check-gpu python bench soak fuzz fuzz-here lint format install uninstall clean pictures deb healthy fleet-bench $(BUILD)/pmtop.pc
.SECONDARY:

all: $(BUILD)/pmtop $(BUILD)/pmtop.pc

$(BUILD)/pmtop: $(BUILD)/src/main.o $(BUILD)/libpmtop.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libpmtop.a: $(OBJECTS) $(BUILD)/rules_builtin.o $(BUILD)/settings_builtin.o $(BUILD)/phases_builtin.o $(BUILD)/frameworks_builtin.o $(BUILD)/loaders_builtin.o $(BUILD)/trace_builtin.o $(BUILD)/themes_builtin.o
	@rm -f $@
	@$(AR) rcs $@ $^

# The built-in rules as text in the program, line by line, so that nothing need be installed.
$(BUILD)/rules_builtin.c: $(RULES) config/rules Makefile
	@mkdir -p $(@D)
	@{ echo '#include "src/rules/rule_builtin.h"'; echo 'const struct rule_builtin rule_builtin[] = {'; \
	  for file in $(RULES); do \
	    echo "{ \"$${file##*/}\","; sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' "$$file"; echo '},'; \
	  done; echo '{ 0 } };'; } > $@

# The default settings with their comments, for pmtop config --init.
$(BUILD)/settings_builtin.c: config/pmtop.yaml Makefile
	@mkdir -p $(@D)
	@{ echo '#include "src/settings/settings_builtin.h"'; echo 'const char settings_builtin[] ='; \
	  sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $<; echo ';'; } > $@

# The themes, in the same way.
$(BUILD)/themes_builtin.c: config/themes.yaml Makefile
	@mkdir -p $(@D)
	@{ echo '#include "ui/themes/theme_builtin.h"'; echo 'const char theme_builtin[] ='; sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $<; echo ';'; } > $@

# The tables of library functions and their phases, of frameworks, of files between loops and loaders, and of recommendations about traces.
$(BUILD)/phases_builtin.c $(BUILD)/frameworks_builtin.c $(BUILD)/loaders_builtin.c $(BUILD)/trace_builtin.c: $(BUILD)/%_builtin.c: config/%.yaml config/%.awk
	@mkdir -p $(@D)
	@awk -f config/$*.awk config/$*.yaml > $@.part && mv $@.part $@

$(BUILD)/%_builtin.o: $(BUILD)/%_builtin.c | $(BUILD)/.needs
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/%.o: %.c | $(BUILD)/.needs
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

# Written anew each time, for it depends on PREFIX.
$(BUILD)/pmtop.pc:
	@mkdir -p $(@D)
	@printf '%s\n' 'includedir=$(INCLUDEDIR)' '' 'Name: pmtop' 'Description: publish a training run to pmtop (one header, no library)' \
	  'Version: $(VERSION)' 'Cflags: -I$${includedir}' > $@

# Each missing thing by name, with the package that has it and the command that installs it.
$(BUILD)/.needs: .ci/deps
	@mkdir -p $(@D)
	@.ci/deps --check "$(PKG_CONFIG)" "$(CC)"
	@touch $@

$(BUILD)/.needs-test: .ci/deps
	@mkdir -p $(@D)
	@.ci/deps --check "$(PKG_CONFIG)" "$(CC)" test
	@touch $@

# -- tests ---------------------------------------------------------------------------------------------------------------------

# NVIDIA's library, invented: as drivers are now, and as they were. No sanitizer: it is loaded into a pmtop that may have none.
FAKE_NVML := $(BUILD)/tests/fake_nvml/libnvidia-ml.so.1 $(patsubst %,$(BUILD)/tests/fake_nvml/libnvidia-ml-%.so.1,r535 old bare)
$(FAKE_NVML): $(wildcard tests/fake_nvml/*.[ch]) src/sources/gpu/nvidia/nvml.h | $(BUILD)/.needs
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(FAKE_KIND) -std=c11 $(filter-out -Wmissing-prototypes,$(WARNINGS)) -O1 -g -fPIC -shared -fvisibility=hidden -pthread -o $@ $(filter %.c,$^) -lm
%-r535.so.1: FAKE_KIND := -DFAKE_R535
%-old.so.1: FAKE_KIND := -DFAKE_OLD
%-bare.so.1: FAKE_KIND := -DFAKE_OLD -DFAKE_BARE

TEST_OBJECTS := $(TEST_SOURCES:%.c=$(BUILD)/%.o)
$(TEST_PROGRAMS): $(BUILD)/%: $(BUILD)/%.o $(SUPPORT_OBJECTS) $(BUILD)/libpmtop.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $(TEST_LIBS)

# A workload is another person's program: it sees the public header and nothing else of pmtop. NAME.c may have parts in a folder NAME/.
.SECONDEXPANSION:
$(WORKLOADS): $(BUILD)/%: %.c $$(wildcard $$*/*.[ch]) src/region/pmtop.h | $(BUILD)/.needs
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -Isrc/region $(filter-out -MMD -MP,$(ALL_CFLAGS)) $(LDFLAGS) -o $@ $(filter %.c,$^) -lm

$(TEST_OBJECTS) $(SUPPORT_OBJECTS): | $(BUILD)/.needs-test

# The one that makes up devices for libdrm.
$(BUILD)/tests/unit/test_gpu_libdrm.o: ALL_CFLAGS += $(shell $(PKG_CONFIG) --cflags umockdev-1.0 2>/dev/null | sed 's/-I/-isystem /g')
$(BUILD)/tests/unit/test_gpu_libdrm: TEST_LIBS += $(shell $(PKG_CONFIG) --libs umockdev-1.0 2>/dev/null)

# What tests/terminal/counter.py and loops.py ask.
ASKED := $(BUILD)/tests/terminal/counting $(BUILD)/tests/terminal/looping
$(ASKED): %: %.o $(BUILD)/libpmtop.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

programs: all $(TEST_PROGRAMS) $(WORKLOADS) $(FAKE_NVML) $(ASKED) $(BUILD)/tests/bench/fleet_stream

check: programs
	@PMTOP_BUILD=$(abspath $(BUILD)) CC="$(CC)" tests/run $(TEST_PROGRAMS) $(TEST_SCRIPTS)

check-samples: programs
	@PMTOP_BUILD=$(abspath $(BUILD)) CC="$(CC)" tests/run $(SAMPLE_SCRIPTS)

# One test program: make t/unit/test_series
t/%: $(BUILD)/tests/% $(WORKLOADS) $(FAKE_NVML)
	@PMTOP_BUILD=$(abspath $(BUILD)) CC="$(CC)" tests/run $<

# The queue alone, from what it is made of: for ThreadSanitizer, which need not see the rest built.
QUEUE_PARTS := tests/unit/test_queue.c src/collect/queue.c src/samples/sample_set.c $(wildcard src/base/*.c src/base/*/*.c) $(BUILD)/frameworks_builtin.c
check-queue: $(QUEUE_PARTS) | $(BUILD)/.needs-test
	$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(ALL_CFLAGS)) $(LDFLAGS) -o $(BUILD)/test_queue $(QUEUE_PARTS) $(LIBS) $(TEST_LIBS)
	@PMTOP_BUILD=$(abspath $(BUILD)) tests/run $(BUILD)/test_queue

-include $(wildcard $(BUILD)/*_builtin.d) $(BUILD)/tests/python/made_up.d $(OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d) $(SUPPORT_OBJECTS:.o=.d) $(BENCHES:=.d) $(BUILD)/tests/bench/why/synthetic.d $(BUILD)/tests/bench/stream.d $(BUILD)/tests/bench/scale.d $(BUILD)/tests/bench/fleet_stream.d $(ASKED:=.d) $(FUZZERS:=.d) $(BUILD)/src/main.d

# -- Python --------------------------------------------------------------------------------------------------------------------

PYTHON_PARTS := src/region/pmtop.h LICENSE $(wildcard $(foreach end,c h in md py pyi toml typed,src/python/*.$(end) src/python/native/*.$(end) src/python/pmtop/*.$(end) src/python/pmtop/*/*.$(end)))

# The wheel, and what it holds laid out in site/, to be used without installing: PYTHONPATH=build/python/site python3 train.py
python: $(BUILD)/python/.built

$(BUILD)/python/.built: $(PYTHON_PARTS) | $(BUILD)/.needs-test
	@PYTHON="$(PYTHON)" tests/python/run wheel $(BUILD)
	@touch $@

$(BUILD)/tests/python/made_up: $(BUILD)/tests/python/made_up.o $(BUILD)/libpmtop.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# In a virtual environment, build/python-venv, which `make bench` uses too.
check-python: all $(WORKLOADS) $(FAKE_NVML) $(BUILD)/tests/python/made_up $(BUILD)/python/.built
	@PYTHON="$(PYTHON)" tests/python/run tests $(BUILD)

# PYTHON needs torch with CUDA and pytest. GPU_KINDS names kinds of tests/gpu/train.py, where not all are wanted; GPU_SECONDS, GPU_KEEP: see there.
check-gpu: all $(BUILD)/python/.built
	@PMTOP_TEST_INSTALLED=1 PMTOP_BUILD=$(abspath $(BUILD)) PYTHONPATH=$(abspath $(BUILD))/python/site PYTHONDONTWRITEBYTECODE=1 \
		$(PYTHON) -m pytest -q -p no:cacheprovider tests/python/test_torch_cuda.py
	@PMTOP_BUILD=$(abspath $(BUILD)) PYTHONPATH=$(abspath $(BUILD))/python/site $(PYTHON) tests/gpu/beside_nvidia_smi.py $(GPU_KINDS)
	@PMTOP_BUILD=$(abspath $(BUILD)) PYTHONPATH=$(abspath $(BUILD))/python/site $(PYTHON) tests/gpu/memory_by_line.py
	@PMTOP_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/gpu/ranks.py

include config/wheels/wheels.mk

# -- the rest ------------------------------------------------------------------------------------------------------------------

$(BENCHES): $(BUILD)/%: $(BUILD)/%.o $(SUPPORT_OBJECTS) $(BUILD)/libpmtop.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $(TEST_LIBS)

$(BUILD)/tests/bench/hello $(BUILD)/tests/bench/crowd: $(BUILD)/tests/bench/%: tests/bench/%.c | $(BUILD)/.needs
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE $(filter-out -MMD -MP,$(ALL_CFLAGS)) $(LDFLAGS) -o $@ $< $(LIBS)

$(BUILD)/tests/bench/why/synthetic $(BUILD)/tests/bench/stream $(BUILD)/tests/bench/scale $(BUILD)/tests/bench/fleet_stream: $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libpmtop.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# nvitop and py-spy, to stand beside pmtop. Without a network their rows say that they are not here.
$(BUILD)/peers-venv/installed:
	@$(PYTHON) -m venv $(BUILD)/peers-venv && $(BUILD)/peers-venv/bin/pip install -q nvitop py-spy && touch $@ || echo 'bench: without nvitop and py-spy' >&2

# With Python's, where check-python has made their environment. BENCH_FLAGS: --smoke, --gate, names such as bench_peers (tests/bench/run).
bench: all $(BENCHES) $(if $(findstring --smoke,$(BENCH_FLAGS)),,$(BUILD)/peers-venv/installed) $(BUILD)/tests/bench/hello $(BUILD)/tests/bench/stream $(BUILD)/tests/bench/scale $(BUILD)/tests/bench/crowd $(WORKLOADS) $(FAKE_NVML) $(if $(wildcard $(BUILD)/python-venv/installed),$(BUILD)/python/.built)
	@PMTOP_BUILD=$(abspath $(BUILD)) tests/bench/run $(BENCH_FLAGS)

# 1,000 synthetic hosts (FLEET_HOSTS) on one screen: CPU and memory of the root.
fleet-bench: all $(BUILD)/tests/bench/fleet_stream
	@PMTOP_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/bench/fleet_bench.py

# In an hour all caches are full; a minute (SOAK_SECONDS=50) shows gross growth. SOAK_HOURS: of a synthetic run by its own clock; SOAK_KILLED: writers.
SOAK_SECONDS ?= 3600
SOAK_HOURS ?= 8
SOAK_KILLED ?= 100000
soak: all $(BUILD)/tests/workloads/churn $(BUILD)/tests/bench/why/synthetic $(BUILD)/tests/faults/test_region_kill
	@SOAK_SECONDS="$(SOAK_SECONDS)" SOAK_HOURS="$(SOAK_HOURS)" SOAK_KILLED="$(SOAK_KILLED)" PMTOP_BUILD=$(abspath $(BUILD)) PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/soak.py

# FAULT=slow-worker: with something wrong in it (tests/workloads/faults.txt)
demo: all $(WORKLOADS)
	@PMTOP_BUILD=$(abspath $(BUILD)) tests/workloads/demo $(FAULT)

# Not in make check, for Debian's prometheus takes 330 MB.
demo-fleet: all $(BUILD)/tests/workloads/trainer
	@PMTOP_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/workloads/fleet.py

check-prometheus: all $(BUILD)/tests/workloads/trainer
	@PMTOP_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/workloads/fleet.py check

# WHY_SEEDS, WHY_BATCHES, WHY_CLEAN_S and WHY_ONLY make it shorter. With PyTorch where check-python has made its environment.
why-bench: all $(BUILD)/tests/bench/why/synthetic $(WORKLOADS) $(if $(wildcard $(BUILD)/python-venv/installed),$(BUILD)/python/.built)
	@PMTOP_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/bench/why_bench.py

# Packages that the scripts need beside those of build/python-venv (make check-python). PMTOP_BENCH_TENSORFLOW=1 for TensorFlow too, which is large.
LOOPS_PACKAGES := transformers accelerate keras jax flax optax xgboost lightgbm sentence-transformers diffusers $(if $(PMTOP_BENCH_TENSORFLOW),tensorflow-cpu)
LOOPS_VENV := $(BUILD)/loops-venv
$(LOOPS_VENV)/installed$(if $(PMTOP_BENCH_TENSORFLOW),-tensorflow): $(BUILD)/python/.built | $(BUILD)/.needs
	@[ -x $(BUILD)/python-venv/bin/python ] || { echo 'loops-bench needs build/python-venv: make check-python' >&2; exit 1; }
	$(BUILD)/python-venv/bin/python -m venv $(LOOPS_VENV)
	@printf '%s\n' $(abspath $(BUILD))/python/site $(abspath $(BUILD))/python-venv/lib/python3.*/site-packages > $$(ls -d $(LOOPS_VENV)/lib/python3.*/site-packages)/shared.pth
	$(LOOPS_VENV)/bin/pip install -q $(LOOPS_PACKAGES)
	@touch $@

HEALTHY_MINUTES ?= 60
healthy: all $(LOOPS_VENV)/installed
	@HEALTHY_MINUTES="$(HEALTHY_MINUTES)" PMTOP_BUILD=$(abspath $(BUILD)) PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/bench/healthy.py

loops-bench: all $(LOOPS_VENV)/installed$(if $(PMTOP_BENCH_TENSORFLOW),-tensorflow)
	@PMTOP_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/bench/loops.py $(LOOPS)

# RANKS_FLAGS: --seeds=N --only=FAULT,... --healthy-s=SECONDS --verbose. With PyTorch of build/python-venv (make check-python).
ranks-bench: all
	@PMTOP_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/bench/ranks_bench.py $(RANKS_FLAGS)

ranks-without: all
	@PMTOP_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/bench/ranks_without.py $(RANKS_FLAGS)

pictures: all $(WORKLOADS)
	@PMTOP_BUILD=$(abspath $(BUILD)) tests/workloads/pictures man/pictures

# libFuzzer comes with clang; everything is built again, with coverage, in a folder of its own.
fuzz:
	@$(MAKE) --no-print-directory CC=clang BUILD=build-fuzz SANITIZE=fuzzer-no-link,address,undefined CFLAGS='-O1 -g1' fuzz-here

$(FUZZERS): $(BUILD)/%: $(BUILD)/%.o $(SUPPORT_OBJECTS) $(BUILD)/libpmtop.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS) $(TEST_LIBS)

fuzz-here: $(FUZZERS)
	@FUZZ_SEED="$(FUZZ_SEED)" tests/fuzz/run "$(FUZZ_SECONDS)" "$(FUZZ_RUNS)" $(FUZZERS)

lint:
	@tests/layers.sh
	@PYTHON="$(PYTHON)" tests/lint.sh "$(CC)" "$(CXX)"

# As .clang-format says. What others wrote, or what must stay as it was, is left alone.
format:
	@git ls-files --cached --others --exclude-standard '*.[ch]' | grep -v '^tests/fixtures/' | while read -r file; do [ -L "$$file" ] || echo "$$file"; done | xargs clang-format-14 -i

install: all
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(PKGCONFIGDIR) $(DESTDIR)$(DATADIR)
	$(INSTALL) -m 755 $(BUILD)/pmtop $(DESTDIR)$(BINDIR)/pmtop
	$(INSTALL) -m 644 src/region/pmtop.h $(DESTDIR)$(INCLUDEDIR)/pmtop.h
	$(INSTALL) -m 644 $(BUILD)/pmtop.pc $(DESTDIR)$(PKGCONFIGDIR)/pmtop.pc
	$(INSTALL) -m 644 config/pmtop.yaml $(DESTDIR)$(DATADIR)/pmtop.yaml
	$(INSTALL) -m 644 config/themes.yaml $(DESTDIR)$(DATADIR)/themes.yaml
	$(INSTALL) -d $(DESTDIR)$(DATADIR)/rules
	$(INSTALL) -m 644 $(RULES) $(DESTDIR)$(DATADIR)/rules
	$(INSTALL) -d $(DESTDIR)$(DATADIR)/grafana
	$(INSTALL) -m 644 config/grafana/pmtop.json $(DESTDIR)$(DATADIR)/grafana
	$(INSTALL) -d $(DESTDIR)$(DATADIR)/python/launch
	$(INSTALL) -m 644 $(LAUNCH) $(DESTDIR)$(DATADIR)/python/launch
	-$(PYTHON) -m compileall -q -s "$(DESTDIR)" -p / $(DESTDIR)$(DATADIR)/python/launch
	@if [ -f $(BUILD)/python/.built ]; then \
	  echo "$(INSTALL) $(BUILD)/python/site/pmtop $(DESTDIR)$(DATADIR)/python/site/pmtop"; \
	  (cd $(BUILD)/python/site && find pmtop -type f ! -path '*/__pycache__/*') | while read -r file; do \
	    $(INSTALL) -D -m 644 "$(BUILD)/python/site/$$file" "$(DESTDIR)$(DATADIR)/python/site/$$file" || exit 1; \
	  done; \
	else \
	  echo "without the Python package, which pmtop -- COMMAND uses where an environment has none: 'make python install' adds it"; \
	fi
	$(INSTALL) -d $(DESTDIR)$(COMPLETIONDIR) $(DESTDIR)$(ZSHDIR) $(DESTDIR)$(FISHDIR)
	$(INSTALL) -m 644 config/completion/pmtop.bash $(DESTDIR)$(COMPLETIONDIR)/pmtop
	$(INSTALL) -m 644 config/completion/pmtop.zsh $(DESTDIR)$(ZSHDIR)/_pmtop
	$(INSTALL) -m 644 config/completion/pmtop.fish $(DESTDIR)$(FISHDIR)/pmtop.fish
	@for page in $(MAN_PAGES); do \
	  folder=$(DESTDIR)$(MANDIR)/man$${page##*.}; \
	  echo "$(INSTALL) -m 644 $$page $$folder"; \
	  $(INSTALL) -d $$folder && $(INSTALL) -m 644 $$page $$folder || exit 1; \
	done

# The Debian packages pmtop and pmtop-dev, in build/deb.
deb:
	@CC="$(CC)" config/debian/build $(BUILD) "$(MAKE)" "$(PYTHON)"

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/pmtop $(DESTDIR)$(INCLUDEDIR)/pmtop.h $(DESTDIR)$(PKGCONFIGDIR)/pmtop.pc $(DESTDIR)$(DATADIR)/pmtop.yaml $(DESTDIR)$(DATADIR)/themes.yaml $(DESTDIR)$(COMPLETIONDIR)/pmtop $(DESTDIR)$(ZSHDIR)/_pmtop $(DESTDIR)$(FISHDIR)/pmtop.fish
	rm -f $(foreach page,$(MAN_PAGES),$(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $(page)))/$(notdir $(page)))
	rm -rf $(DESTDIR)$(DATADIR)/python $(DESTDIR)$(DATADIR)/grafana
	rm -f $(foreach file,$(RULES),$(DESTDIR)$(DATADIR)/rules/$(notdir $(file)))
	-rmdir --ignore-fail-on-non-empty $(DESTDIR)$(DATADIR)/rules $(DESTDIR)$(DATADIR)

clean:
	rm -rf build build-* src/python/build src/python/*.egg-info src/python/pmtop/*.so

endif
