#!/bin/sh
# Holds the list of faults in tests/README.md against the tests: rows 1 to 58, each with a file that exists and a test by that name in it, or struck out.
cd "$(dirname "$0")" || exit 2
awk -F '|' '
$2 ~ /^ ~?~?[0-9]+~?~? $/ {
	number = $2; gsub(/[^0-9]/, "", number)
	if (number + 0 != ++expected) { print "lint: tests/README.md: fault " number " stands where " expected " should"; bad = 1; exit }
	if ($2 ~ /~~/) { if ($4 !~ /struck out: /) { print "lint: tests/README.md: fault " number " is struck out without a reason"; bad = 1 }; next }
	line = $0; found = 0
	while (match(line, /`[a-z_]+\/[^`]*`: `[^`]+`/)) {
		pair = substr(line, RSTART + 1, RLENGTH - 2); line = substr(line, RSTART + RLENGTH); found = 1
		split(pair, part, "`: `")
		if (system("grep -qF -e \"" part[2] "\" \"" part[1] "\" 2>/dev/null")) { print "lint: tests/README.md: fault " number ": " part[1] " has no test " part[2]; bad = 1 }
	}
	if (!found) { print "lint: tests/README.md: fault " number " names no test"; bad = 1 }
}
END { if (expected != 58) { print "lint: tests/README.md: the list ends at fault " expected; bad = 1 }; exit bad }' README.md
