# pmtop: htop for training runs.
#
#   make deps demo     set up, build, start a training run and watch it
#   make deps check    set up, build and run every test (last line: N passed, N failed)
#   make               build/pmtop          make install   PREFIX, DESTDIR
#   make bench         what it costs        make fuzz      the region's reader against damaged input
#   make lint          layers, man pages    make clean
#
# SANITIZE=address,undefined (or thread) builds into a folder of its own.

.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules

# `make deps X Y` sets up first and reads this file again for X and Y: what pkg-config says is only known then.
ifneq ($(filter deps,$(MAKECMDGOALS)),)
REST := $(filter-out deps,$(MAKECMDGOALS))
.PHONY: deps $(REST)
deps:
	@.ci/deps
$(REST): deps
	@$(MAKE) --no-print-directory $@
else

VERSION := 0.1.0
PREFIX ?= /usr/local
BINDIR = $(PREFIX)/bin
INCLUDEDIR = $(PREFIX)/include
MANDIR = $(PREFIX)/share/man
PKGCONFIGDIR = $(PREFIX)/share/pkgconfig
INSTALL ?= install
PKG_CONFIG ?= pkg-config
ifeq ($(origin CC),default)
CC := cc
endif
CXX ?= c++

ifdef SANITIZE
comma := ,
BUILD ?= build-$(subst $(comma),-,$(SANITIZE))
SANITIZE_FLAGS := -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
BUILD ?= build

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wstrict-prototypes -Wformat=2
CFLAGS ?= -O2 -g
CPPFLAGS += -I. -D_GNU_SOURCE -DPMTOP_VERSION='"$(VERSION)"'
ALL_CFLAGS = -std=c11 $(WARNINGS) $(WERROR) $(CFLAGS) $(SANITIZE_FLAGS) $(NEEDS_CFLAGS) -pthread -MMD -MP
NEEDS_CFLAGS := $(shell $(PKG_CONFIG) --cflags ncursesw yaml-0.1 2>/dev/null)
LIBS := $(shell $(PKG_CONFIG) --libs ncursesw yaml-0.1 2>/dev/null) -lm
TEST_LIBS := $(shell $(PKG_CONFIG) --libs check vterm 2>/dev/null) -lutil -ldl

SOURCES := $(wildcard src/*/*.c ui/*.c ui/views/*.c)
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
SUPPORT := $(wildcard tests/support/*.c)
SUPPORT_OBJECTS := $(SUPPORT:%.c=$(BUILD)/%.o)
TEST_SOURCES := $(sort $(wildcard tests/unit/test_*.c tests/screens/test_*.c tests/faults/test_*.c tests/terminal/test_*.c))
TEST_SCRIPTS := $(sort $(wildcard tests/*/test_*.sh))
TEST_PROGRAMS := $(TEST_SOURCES:%.c=$(BUILD)/%)
WORKLOAD_SOURCES := $(wildcard tests/workloads/*.c)
WORKLOADS := $(WORKLOAD_SOURCES:%.c=$(BUILD)/%)
BENCH_SOURCES := $(wildcard tests/bench/bench_*.c)
BENCHES := $(BENCH_SOURCES:%.c=$(BUILD)/%)

.PHONY: all demo check bench fuzz lint install uninstall clean pictures
.SECONDARY:

all: $(BUILD)/pmtop $(BUILD)/pmtop.pc

$(BUILD)/pmtop: $(BUILD)/src/main.o $(BUILD)/libpmtop.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libpmtop.a: $(OBJECTS)
	@rm -f $@
	@$(AR) rcs $@ $^

$(BUILD)/%.o: %.c | $(BUILD)/.needs
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/pmtop.pc: Makefile
	@mkdir -p $(@D)
	@printf '%s\n' 'includedir=$(INCLUDEDIR)' '' 'Name: pmtop' 'Description: publish a training run to pmtop (one header, no library)' \
	  'Version: $(VERSION)' 'Cflags: -I$${includedir}' > $@

# Each missing thing by name, with the package that has it and the command that installs it.
$(BUILD)/.needs: .ci/deps
	@mkdir -p $(@D)
	@.ci/deps --check $(PKG_CONFIG) $(CC)
	@touch $@

# -- tests ---------------------------------------------------------------------------------------------------------------------

TEST_OBJECTS := $(TEST_SOURCES:%.c=$(BUILD)/%.o)
$(TEST_PROGRAMS): $(BUILD)/%: $(BUILD)/%.o $(SUPPORT_OBJECTS) $(BUILD)/libpmtop.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $(TEST_LIBS)

# A workload is another person's program: it sees the public header and nothing else of pmtop.
$(WORKLOADS): $(BUILD)/%: %.c src/region/pmtop.h | $(BUILD)/.needs
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -Isrc/region $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< -lm

check: all $(TEST_PROGRAMS) $(WORKLOADS)
	@PMTOP_BUILD=$(abspath $(BUILD)) CC="$(CC)" tests/run $(TEST_PROGRAMS) $(TEST_SCRIPTS)

# One test program: make t/unit/test_series
t/%: $(BUILD)/tests/% $(WORKLOADS)
	@PMTOP_BUILD=$(abspath $(BUILD)) CC="$(CC)" tests/run $<

-include $(OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d) $(SUPPORT_OBJECTS:.o=.d) $(WORKLOADS:=.d) $(BENCHES:=.d) $(BUILD)/src/main.d

# -- the rest ------------------------------------------------------------------------------------------------------------------

$(BENCHES): $(BUILD)/%: $(BUILD)/%.o $(SUPPORT_OBJECTS) $(BUILD)/libpmtop.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $(TEST_LIBS)

bench: all $(BENCHES) $(WORKLOADS)
	@PMTOP_BUILD=$(abspath $(BUILD)) tests/bench/run

lint:
	@tests/layers.sh
	@tests/lint.sh "$(CC)" "$(CXX)"

clean:
	rm -rf build build-*

endif
