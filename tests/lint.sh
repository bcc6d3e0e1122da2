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
# The compiler of CC, without ccache in front of it.
first_word() { set -- ${1#*ccache }; echo "$1"; }
for compiler in $(printf '%s\n' gcc clang "$(first_word "$1")" | sort -u); do header "$compiler" c c11 '-Wmissing-prototypes -Wstrict-prototypes'; done
for compiler in $(printf '%s\n' g++ clang++ "$(first_word "$2")" | sort -u); do header "$compiler" c++ c++17 ''; done

# -- rules: an entry with the name of another changes that one, which only a user's file may do ----

grep -hE '^[a-z][a-z0-9_]*:' config/rules/*.yaml | sort | uniq -d > "$scratch/said"
[ -s "$scratch/said" ] && { finding "rules of config/rules with one name:"; cat "$scratch/said"; }

# -- manual pages and scripts ----
for page in man/*.[1-9]; do
	[ -e "$page" ] || continue
	mandoc -Tlint -Wwarning "$page" > "$scratch/said" 2>&1 || { finding "$page:"; cat "$scratch/said"; }
done
for file in $files; do
	[ -f "$file" ] || continue
	case $(head -c 32 "$file" | head -n 1 | tr -d '\0') in
	'#!/bin/sh'*) sh -n "$file" 2> "$scratch/said" || { finding "$file:"; cat "$scratch/said"; } ;;
	'#!'*python3*) printf '%s\n' "$file" >> "$scratch/python" ;;
	esac
done

# -- Python: what 3.9 understands, spaces, no endless lines; the extension, with the stable ABI and without, any warning refused ----
for file in $files; do
	case $file in *.py | *.pyi) [ ! -f "$file" ] || printf '%s\n' "$file" >> "$scratch/python" ;; esac
done
sort -u -o "$scratch/python" "$scratch/python"
python=${PYTHON:-python3}
"$python" - "$scratch/python" > "$scratch/said" 2>&1 <<'END' || { finding 'Python files:'; cat "$scratch/said"; }
import ast, sys
found = []
for path in open(sys.argv[1]).read().split():
    text = open(path, encoding='utf-8').read()
    try:
        ast.parse(text, path, feature_version=(3, 9))
    except SyntaxError as error:
        found.append(f'{path}:{error.lineno}: {error.msg}')
    for number, line in enumerate(text.splitlines(), 1):
        if '\t' in line or (len(line) > 165 and path.startswith(('src/python/', 'tests/python/'))):
            found.append(f'{path}:{number}: ' + ('a tab' if '\t' in line else f'{len(line)} columns'))
sys.exit('\n'.join(found) or 0)
END
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])' 2> /dev/null)
for compiler in $(printf '%s\n' gcc clang "$(first_word "$1")" | sort -u); do
	[ -e "$headers/Python.h" ] || { finding "Python.h is not here: 'make deps' installs it"; break; }
	for abi in -DPy_LIMITED_API=0x030A0000 -UPy_LIMITED_API; do
		$compiler -std=c11 -Wall -Wextra -Wshadow -Werror -O2 $abi -D_GNU_SOURCE -Isrc/region -isystem "$headers" -c -o "$scratch/unit.o" \
			src/python/native/_pmtop.c > "$scratch/said" 2>&1 || { finding "_pmtop.c, $compiler $abi:"; head -n 6 "$scratch/said"; }
	done
done
version=$(sed -n 's/^VERSION := //p' Makefile)
grep -qxF "__version__ = \"$version\"" src/python/pmtop/_version.py || finding "src/python/pmtop/_version.py: not $version, the Makefile's VERSION"

# -- the list of faults in tests/README.md ----
tests/faults.sh > "$scratch/said" || { finding "tests/README.md:"; cat "$scratch/said"; }
"${PYTHON:-python3}" tests/documents.py > "$scratch/said" || { finding "documents:"; cat "$scratch/said"; }

# -- layout of the C code, and length of its functions ----
for file in $files; do
	case $file in tests/fixtures/*) continue ;; *.[ch]) ;; *) continue ;; esac
	[ -f "$file" ] && [ ! -L "$file" ] && printf '%s\n' "$file" >> "$scratch/c"
done
if command -v clang-format-14 > /dev/null 2>&1; then
	xargs clang-format-14 --dry-run --Werror < "$scratch/c" > "$scratch/said" 2>&1 || { finding "layout ('make format' mends it):"; grep error: "$scratch/said"; }
else
	finding "clang-format-14 is not here: 'make deps' installs it"
fi
"$python" tests/functions.py $(grep -E '^(src|ui)/' "$scratch/c" | grep -v '^src/region/pmtop.h') > /dev/null 2> "$scratch/said" || { finding "functions:"; cat "$scratch/said"; }

# -- words that stand for a state are enums, or go through a table: no comparison with a literal word above the model ----
grep -nHE '\b(str(n?case)?n?cmp)\([^;"]*"[^"]*[A-Za-z]{2}' $(grep -E '^(ui|src/export|src/rules)/' "$scratch/c") | grep -v '^ui/terminal/terminal.c:' > "$scratch/said" && { finding "comparisons with a word (an enum, or a table of words, takes their place):"; cat "$scratch/said"; }

# -- length and loose ends ----
# 560 lines; a test program is a list of cases and may have 870; pmtop.h is one file so that it can be copied into a project.
may_be_long='src/region/pmtop.h tests/fixtures/abi-1.0/pmtop.h'
for file in $files; do
	case $file in
	*.[ch] | *.sh | *.py | *.pyi) ;;
	*) continue ;;
	esac
	[ -f "$file" ] && [ ! -L "$file" ] || continue
	lines=$(wc -l < "$file")
	most=560
	case $file in tests/*/test_*) most=870 ;; esac
	case " $may_be_long " in *" $file "*) ;; *) [ "$lines" -le $most ] || finding "$file: $lines lines" ;; esac
	[ "$file" = tests/lint.sh ] || ! grep -nE '\b(TODO|FIXME|XXX)\b' "$file" > "$scratch/said" || { finding "$file:"; cat "$scratch/said"; }
done

[ "$findings" -eq 0 ]
