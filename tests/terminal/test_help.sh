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
	[ "$command" != export ] || cp "$scratch/one" "$scratch/export"
	check "help_names_$command" grep -qE "^  $command +[a-z]" "$scratch/help"
done
for option in -b --once '-p 1'; do
	# shellcheck disable=SC2086
	"$pmtop" $option --help > "$scratch/one"
	check "help_of_$option" grep -qE "^Example: pmtop .*${option% *}" "$scratch/one"
done
check unknown_command_is_refused sh -c '"$1" fnord --help; [ $? -eq 2 ]' sh "$pmtop"

check help_command_is_its_help sh -c '"$1" help export | cmp - "$2"' sh "$pmtop" "$scratch/export"
check help_without_a_command sh -c '"$1" help | cmp - "$2"' sh "$pmtop" "$scratch/help"

# -- manual: a page for each command, with the synopsis, the summary and the example of the program; all of them in the list of pmtop(1) --
grep -E '^-' "$scratch/commands" | awk -f tests/synopsis.awk > "$scratch/synopsis"
synopsis() { sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' "$1" | sed '1d;$d'; }
synopsis man/pmtop.1 | sed '$d' | sed '$d' > "$scratch/manual"
check the_manuals_synopsis_is_that_of_the_program diff "$scratch/manual" "$scratch/synopsis"
# Pages may have more lines, such as those of options of all commands.
has_synopsis() { grep -E "^$1( |\$)" "$scratch/commands" | awk -f tests/synopsis.awk | sed 1d > "$scratch/one"; synopsis "man/pmtop-$1.1" > "$scratch/two"; ! grep -vxFf "$scratch/two" "$scratch/one"; }
has_line() { grep -qxF -- "$2" "man/$1"; }
for command in $(grep -oE '^[a-z][a-z-]*' "$scratch/commands"); do
	summary=$(sed -n "s/^  $command  *\(.*\)/\1/p" "$scratch/help")
	"$pmtop" "$command" --help > "$scratch/help_of"
	example=$(sed -n 's/^Example: //p' "$scratch/help_of")
	check "page_of_${command}_has_its_synopsis" has_synopsis "$command"
	check "page_of_${command}_has_its_summary" has_line "pmtop-$command.1" ".Nd $summary"
	check "page_of_${command}_has_its_example" grep -qF -- "$example" "man/pmtop-$command.1"
	check "list_of_commands_has_$command" sh -c 'grep -xFA 1 -- ".It Xr pmtop-$1 1" man/pmtop.1 | grep -qxF -- "$2"' sh "$command" "$summary"
done

# What each shell offers for a line: bash as its function answers, the others where they are installed.
cat > "$scratch/complete.bash" << 'BASH'
. config/completion/pmtop.bash
compopt() { :; }
COMP_LINE=$1 COMP_POINT=${#1}
read -ra COMP_WORDS <<< "$1"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_pmtop
printf '%s\n' "${COMPREPLY[@]}"
BASH
PATH=$(dirname "$pmtop"):$PATH
in_bash() { bash "$scratch/complete.bash" "$1"; }
in_fish() { HOME=$scratch fish -c 'source config/completion/pmtop.fish; complete -C $argv[1]' "$1" | cut -f 1; }
offers() { "in_$1" "$2" | grep -qxF -- "$3"; }
offers_nothing() { ! "in_$1" "$2" | grep .; }
for shell in bash fish; do
	command -v "$shell" > /dev/null || continue
	lead=
	[ "$shell" = bash ] || lead=--to=
	check "${shell}_offers_commands" offers $shell 'pmtop re' record
	check "${shell}_offers_the_options_of_a_command" offers $shell 'pmtop export --s' --since=
	check "${shell}_offers_no_other_options" offers_nothing $shell 'pmtop export --thr'
	check "${shell}_offers_values" offers $shell 'pmtop export --to=csv-s' ${lead}csv-series
	check "${shell}_offers_values_after_a_space" offers $shell 'pmtop --once --view mem' memory
	check "${shell}_offers_files" offers $shell 'pmtop trace config/pmtop.y' config/pmtop.yaml
	check "${shell}_offers_files_after_an_option" offers $shell 'pmtop -r config/pmtop.y' config/pmtop.yaml
done
# zsh completes only in a terminal; its file must at least be zsh, and be what its functions expect.
check zsh_file_begins_as_compinit_expects sh -c 'head -n 1 config/completion/pmtop.zsh | grep -qx "#compdef pmtop"'
command -v zsh > /dev/null && check zsh_can_read_its_file zsh -n config/completion/pmtop.zsh
complete_prints() { wanted=$1; shift; "$pmtop" --help=complete "$@" | cut -f 1 | grep -qxF -- "$wanted"; }
check keys_are_those_of_the_command complete_prints --by=module trace --by=
check keys_of_diff complete_prints --by=memory diff --by=
check last_of_several_sources complete_prints --only=perf,ras collect --only=perf,r
check command_after_dashes_is_the_shells complete_prints :command record -o run.pmtop -- py
check value_that_looks_like_dashes_is_a_value complete_prints --since= export -o -- --s

# -- config --
config() { HOME=$scratch/home XDG_CONFIG_HOME='' "$pmtop" config "$@"; }
check config_without_a_file_says_how_to_write_one sh -c 'HOME=$1 XDG_CONFIG_HOME= "$2" config | grep -qx "file: none; pmtop config --init writes $1/.config/pmtop/pmtop.yaml"' sh "$scratch/home" "$pmtop"
check config_writes_the_default config --init
check config_written_is_the_commented_default cmp "$scratch/home/.config/pmtop/pmtop.yaml" config/pmtop.yaml
echo '# mine' >> "$scratch/home/.config/pmtop/pmtop.yaml"
check config_never_replaces_a_file sh -c '! HOME=$1 XDG_CONFIG_HOME= "$2" config --init 2> /dev/null && grep -qx "# mine" "$1/.config/pmtop/pmtop.yaml"' sh "$scratch/home" "$pmtop"
config > "$scratch/one"
check config_with_defaults_says_so grep -qx 'all settings have their defaults' "$scratch/one"
sed -i 's/refresh_seconds: 0.5/refresh_seconds: 2/; s/on_info:  .*/on_info: [logger, -t, pmtop]/' "$scratch/home/.config/pmtop/pmtop.yaml"
config > "$scratch/one"
check config_names_what_differs grep -qx 'screen: refresh_seconds: 2 (default 0.5)' "$scratch/one"
check config_shows_commands grep -qx 'hooks: on_info: \[logger, -t, pmtop\] (default none)' "$scratch/one"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
