#!/bin/sh
# --help, the manual's synopsis and the completion of shells: all made of the tables of commands and options, and of a size that a screen holds.
pmtop=$PMTOP_BUILD/pmtop
cd "$(dirname "$0")/../.." || exit 1
scratch=$(mktemp -d)
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT
check() {
	name=$1
	shift
	if "$@" > "$scratch/out" 2>&1 < /dev/null; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "not ok: $name"; sed 's/^/    /' "$scratch/out" | head -n 20; fi
}
fits() { awk -v most="$2" 'length($0) > 80 { print "too wide: " $0; bad = 1 } END { exit bad || NR > most || NR < 4 }' "$1"; }

"$pmtop" --help > "$scratch/help"
check help_fits_80_columns_and_40_lines fits "$scratch/help" 40
"$pmtop" --help=commands > "$scratch/commands"
for command in $(grep -oE '^[a-z][a-z-]*' "$scratch/commands"); do
	"$pmtop" "$command" --help > "$scratch/one"
	check "help_of_${command}_fits" fits "$scratch/one" 24
	check "help_of_${command}_has_an_example" grep -qE "^Example: .*pmtop $command" "$scratch/one"
	check "help_names_$command" grep -qE "^  $command +[a-z]" "$scratch/help"
done
for option in -b --once '-p 1'; do
	# shellcheck disable=SC2086
	"$pmtop" $option --help > "$scratch/one"
	check "help_of_$option" grep -qE "^Example: pmtop .*${option% *}" "$scratch/one"
done
check unknown_command_is_refused sh -c '"$1" fnord --help; [ $? -eq 2 ]' sh "$pmtop"

awk -f tests/synopsis.awk "$scratch/commands" > "$scratch/synopsis"
sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' man/pmtop.1 | sed '1d;$d' > "$scratch/manual"
check the_manuals_synopsis_is_that_of_the_program diff "$scratch/manual" "$scratch/synopsis"

# complete WORD ...: what bash would offer for the last of these words
cat > "$scratch/complete" << 'BASH'
PATH=$1:$PATH; shift
. config/completion/pmtop.bash
compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_pmtop
printf '%s\n' "${COMPREPLY[@]}"
BASH
offers() { wanted=$1; shift; bash "$scratch/complete" "$(dirname "$pmtop")" "$@" | grep -qxF -- "$wanted"; }
check completion_offers_commands offers record pmtop re
check completion_offers_a_commands_options offers --since= pmtop export --s
check completion_offers_no_others sh -c '! bash "$1/complete" "$2" pmtop export --thr | grep -q .' sh "$scratch" "$(dirname "$pmtop")"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
