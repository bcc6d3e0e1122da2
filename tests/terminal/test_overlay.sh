#!/bin/sh
# pmtop --overlay: an earlier run's step times under those of now.
pmtop=$PMTOP_BUILD/pmtop trainer=$PMTOP_BUILD/tests/workloads/trainer
scratch=$(mktemp -d)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8 TERM=xterm-256color
unset NO_COLOR COLORTERM
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; sed 's/^/    /' "$scratch/out" "$scratch/err" | head -n 20; }
has() { grep -Eq -- "$2" "$scratch/out" && ok || not_ok "$1"; }
has_not() { grep -Eq -- "$2" "$scratch/out" && not_ok "$1" || ok; }
record() { timeout 30 "$pmtop" -b -d 0.2 -w "$scratch/$1.pmtop" -- "$trainer" --epochs 1 --workers 0 --batches "$2" --step-ms "$3" > "$scratch/out" 2> "$scratch/err" || not_ok "record $1"; }
once() { timeout 20 "$pmtop" --once -r "$scratch/now.pmtop" "$@" > "$scratch/out" 2> "$scratch/err"; }

record earlier 20 30
record now 40 10
once --size=120x40 --overlay="$scratch/earlier.pmtop"
has earlier_median_stands_beside_ours 'earlier [0-9.]+ m?s, now -[0-9]+ %'
has rings_are_drawn '∘'
# The earlier run ends at the twentieth of 40 batches: nothing of it right of the middle.
has_not overlay_ends_where_the_recording_does '^.{75}.*∘'
for size in 80x24 200x60; do
	once --size=$size --overlay="$scratch/earlier.pmtop"
	has "earlier_is_reported_at_$size" 'earlier [0-9.]+ m?s, now -'
	has "rings_at_$size" '∘'
done
once --size=120x40 --ascii --overlay="$scratch/earlier.pmtop"
has ascii_has_a_sign_of_its_own '^\|.*='
once --size=120x40
has_not without_the_option_nothing_of_it_is_there '∘|earlier '
once --overlay="$scratch/none.pmtop"
[ $? -ne 0 ] && [ "$(wc -l < "$scratch/err")" -eq 1 ] && ok || not_ok missing_file_is_one_line

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
