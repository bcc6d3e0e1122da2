#!/bin/sh
# No file includes a header that its layer may not see (tests/layers.txt), and the check says so when one does.
tests=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0
is() { # NAME WANTED COMMAND: the command's verdict
	"$3" > "$scratch/said" 2>&1 && got=kept || got=broken
	if [ "$got" = "$2" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "not ok: $1"; cat "$scratch/said"; fi
}
plant() { # FILE INCLUDE
	rm -rf "$scratch/tree"
	mkdir -p "$scratch/tree/tests" "$scratch/tree/$(dirname "$1")"
	cp "$tests/layers.sh" "$tests/layers.txt" "$scratch/tree/tests/"
	echo "#include $2" > "$scratch/tree/$1"
}

is layers_hold kept "$tests/layers.sh"
plant src/base/text.c '"src/model/model.h"'
is base_may_not_see_the_model broken "$scratch/tree/tests/layers.sh"
plant src/model/run/run.c '"src/base/text.h"'
is model_may_see_base kept "$scratch/tree/tests/layers.sh"
plant ui/screen.c '<curses.h>'
is only_one_file_may_see_curses broken "$scratch/tree/tests/layers.sh"
plant src/model/run/run.c '"text.h"'
is headers_are_named_from_the_root broken "$scratch/tree/tests/layers.sh"
plant src/model/run/run.c '<Python.h>'
is python_is_for_the_package_alone broken "$scratch/tree/tests/layers.sh"
mkdir -p "$scratch/tree/src/python/native"
mv "$scratch/tree/src/model/run/run.c" "$scratch/tree/src/python/native/_pmtop.c"
is the_package_may_see_python kept "$scratch/tree/tests/layers.sh"
plant src/model/run/run.c '"model.h"'
is headers_beside_are_for_the_package_alone broken "$scratch/tree/tests/layers.sh"
mkdir -p "$scratch/tree/src/python/native"
mv "$scratch/tree/src/model/run/run.c" "$scratch/tree/src/python/native/_pmtop.c"
is the_package_may_name_headers_beside_it kept "$scratch/tree/tests/layers.sh"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
