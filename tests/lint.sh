#!/bin/sh
# What the compilers' warnings do not see. Arguments: the C and the C++ compiler to use beside gcc and clang. Says every finding, then fails.
cd "$(dirname "$0")/.." || exit 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
findings=0
finding() { echo "lint: $1"; findings=$((findings + 1)); }

# The files that are in the repository, or would be added to it.
files=$(git ls-files --cached --others --exclude-standard 2>/dev/null) || files=
[ -n "$files" ] || files=$(find . -name .git -prune -o -path './build*' -prune -o -type f -print | sed 's|^\./||')

# -- the public header alone, as other people's programs have it: C11 and C++17, declarations and implementation, any warning refused ----
warnings='-Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wformat=2'
printf '#include "pmtop.h"\n#include "pmtop.h"\nint unit;\n' > "$scratch/declarations.c"
printf '#define PMTOP_IMPLEMENTATION\n#include "pmtop.h"\n#include "pmtop.h"\n' > "$scratch/implementation.c"
header() {
	compiler=$1 language=$2 standard=$3
	command -v "${compiler%% *}" > /dev/null 2>&1 || { finding "$compiler is not here: 'make deps' installs it"; return; }
	for unit in declarations implementation; do
		for define in -D_GNU_SOURCE -UNOTHING; do
			$compiler -x "$language" "-std=$standard" $warnings $4 $define -O1 -Isrc/region -c -o "$scratch/unit.o" "$scratch/$unit.c" \
				> "$scratch/said" 2>&1 || { finding "pmtop.h, $unit, $compiler -std=$standard $define:"; head -n 6 "$scratch/said"; }
		done
	done
}
for compiler in $(printf '%s\n' gcc clang "${1%% *}" | sort -u); do header "$compiler" c c11 '-Wmissing-prototypes -Wstrict-prototypes'; done
for compiler in $(printf '%s\n' g++ clang++ "${2%% *}" | sort -u); do header "$compiler" c++ c++17 ''; done

# -- manual pages and scripts ----
for page in man/*.[1-9]; do
	[ -e "$page" ] || continue
	mandoc -Tlint -Wwarning "$page" > "$scratch/said" 2>&1 || { finding "$page:"; cat "$scratch/said"; }
done
for file in $files; do
	[ -f "$file" ] || continue
	case $(head -c 32 "$file" | head -n 1 | tr -d '\0') in
	'#!/bin/sh'*) sh -n "$file" 2> "$scratch/said" || { finding "$file:"; cat "$scratch/said"; } ;;
	'#!'*python3*) python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$file" 2> "$scratch/said" ||
		{ finding "$file:"; tail -n 3 "$scratch/said"; } ;;
	esac
done

# -- length and loose ends ----
# 500 lines; a test program is a list of cases and may have 800; pmtop.h is one file so that it can be copied into a project.
may_be_long='src/region/pmtop.h'
for file in $files; do
	case $file in
	*.[ch] | *.sh | *.py) ;;
	*) continue ;;
	esac
	[ -f "$file" ] || continue
	lines=$(wc -l < "$file")
	most=500
	case $file in tests/*/test_*) most=800 ;; esac
	case " $may_be_long " in *" $file "*) ;; *) [ "$lines" -le $most ] || finding "$file: $lines lines" ;; esac
	[ "$file" = tests/lint.sh ] || ! grep -nE '\b(TODO|FIXME|XXX)\b' "$file" > "$scratch/said" || { finding "$file:"; cat "$scratch/said"; }
done

[ "$findings" -eq 0 ]
