#!/bin/sh
# pmtop.h in a C++17 program that really runs: scopes end by return, break and exception, and one file's implementation serves another's calls.
cd "$(dirname "$0")/../.." || exit 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat > "$scratch/one.cc" <<'END'
#define PMTOP_IMPLEMENTATION
#include "pmtop.h"
END
cat > "$scratch/two.cc" <<'END'
#include "pmtop.h"
#include <cmath>
#include <cstdio>
#include <stdexcept>

static void thrower(struct pmtop *pm)
{
	PMTOP_SPAN(pm, "outer") {
		PMTOP_SPAN(pm, "throws") throw std::runtime_error("as planned");
	}
}

int main()
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	struct pmtop *pm = pmtop_open("c++", &options);
	pmtop_epoch_begin(pm, 0);
	for (int i = 0; i < 3; i++) {
		pmtop_batch_begin(pm, 1);
		try {
			thrower(pm);
		} catch (const std::exception &) {
		}
		PMTOP_SPAN_CPU(pm, "after") PMTOP_COUNT(pm, "tokens", 5);
		pmtop_batch_end(pm, 0.5);
	}
	pmtop_epoch_end(pm);
	struct pmtop_statistics statistics;
	pmtop_get_statistics(pm, &statistics);
	double outer = pmtop_get_operation_time(pm, "outer"), inner = pmtop_get_operation_time(pm, "throws"), after = pmtop_get_operation_time(pm, "after");
	/* Had a span stayed open, "after" would lie within it and not add to the outermost ones. */
	bool is_right = statistics.num_batches == 3 && outer >= inner && inner > 0 && std::fabs(pmtop_get_total_time(pm) - outer - after) < 1e-9;
	pmtop_close(pm);
	std::printf("%g %g %g\n", outer, inner, after);
	return is_right ? 0 : 1;
}
END
passed=0 failed=0
for compiler in ${CXX:-g++ clang++}; do
	if $compiler -std=c++17 -O2 -Wall -Wextra -Werror -Isrc/region -pthread -o "$scratch/program" "$scratch/one.cc" "$scratch/two.cc" && "$scratch/program"; then
		passed=$((passed + 1))
	else
		echo "$compiler: pmtop.h does not work in C++"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
