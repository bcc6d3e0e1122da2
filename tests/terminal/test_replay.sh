#!/bin/sh
# What is asked of a recording without a screen: where --at leads, what --once and report show of it, and one line for each file that is none.
pmtop=$PMTOP_BUILD/pmtop
scratch=$(mktemp -d)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8 TZ=UTC
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; sed 's/^/    /' "$scratch/out" "$scratch/err" | head -n 20; }

# expect NAME CODE PATTERN_OUT PATTERN_ERR -- ARGUMENT ...
expect() {
	name=$1 code=$2 out=$3 err=$4
	shift 5
	timeout 20 "$pmtop" "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null
	got=$?
	if [ "$got" -ne "$code" ]; then not_ok "$name: exit $got, not $code"; return; fi
	if [ -n "$out" ] && ! grep -Eq -- "$out" "$scratch/out"; then not_ok "$name: no $out on standard output"; return; fi
	if [ -z "$err" ] && [ -s "$scratch/err" ]; then not_ok "$name: something on standard error"; return; fi
	if [ -n "$err" ] && ! grep -Eq -- "$err" "$scratch/err"; then not_ok "$name: no $err on standard error"; return; fi
	if [ -n "$err" ] && [ "$(wc -l < "$scratch/err")" -ne 1 ]; then not_ok "$name: more than one line on standard error"; return; fi
	ok
}

run=$scratch/run.pmtop
timeout 20 "$pmtop" -b -n 12 -d 0.2 --demo -w "$run" > /dev/null 2>&1

# -- files that are none --
expect missing_file_is_named          3 '' 'nothere.pmtop.*No such file'      -- --once -r "$scratch/nothere.pmtop"
: > "$scratch/empty.pmtop"
expect empty_file_is_no_recording     1 '' 'empty.pmtop is (empty|not a recording)'  -- --once -r "$scratch/empty.pmtop"
expect folder_is_no_recording         2 '' 'not a recording'                 -- --once -r "$scratch"
echo 'epoch,batch' > "$scratch/text.pmtop"
expect text_is_no_recording           1 '' 'text.pmtop is not a recording'       -- report "$scratch/text.pmtop"
head -c 100 "$run" > "$scratch/head.pmtop"
expect cut_head_is_no_recording       1 '' 'head.pmtop'                       -- report "$scratch/head.pmtop"
expect standard_input_may_be_empty    1 '' 'standard input'                   -- --once -r -

# -- where to --
expect once_shows_the_end             0 'from a recording'  ''                        -- --once -r "$run"
expect at_begin_shows_the_first_set   0 'from a recording'  ''                        -- --once -r "$run" --at=begin
expect at_takes_a_share               0 'SUMMARY|run' ''                      -- report "$run" --at=50%
expect nonsense_is_no_moment          2 '' '--at takes a time such as'        -- --once -r "$run" --at=soon
expect moment_outside_is_reported         2 '' 'the recording, which goes from .* to '   -- --once -r "$run" --at=2h
expect batch_that_never_was_is_reported   2 '' 'has no batch 99999'               -- --once -r "$run" --at=#99999
count=$("$pmtop" report "$run" --format=json | sed 's/.*"batch":{"count":\([0-9]*\).*/\1/')
expect the_last_batch_is_reached      0 "batch $((count - 1)) of epoch" ''           -- --once -r "$run" --view=batches --at=#$((count - 1))
expect lines_begin_there              0 'Batch' ''                            -- -b -r "$run" --at=#5
expect speed_is_for_the_screen        2 '' '--speed is an option of the screen'     -- --once -r "$run" --speed=2
expect speed_has_bounds               2 '' '--speed takes'                    -- -r "$run" --speed=0

# -- the whole, and a part --
"$pmtop" --once -r "$run" --at=begin > "$scratch/begin" 2>&1
"$pmtop" --once -r "$run" --at=end > "$scratch/end" 2>&1
"$pmtop" --once -r "$run" > "$scratch/whole" 2>&1
cmp -s "$scratch/end" "$scratch/whole" && ! cmp -s "$scratch/begin" "$scratch/end" && ok || not_ok once_without_at_is_the_end
# A pipe gives the same report as the file.
"$pmtop" report "$run" > "$scratch/a" 2>&1
cat "$run" | "$pmtop" report -r - > "$scratch/b" 2>&1
cmp -s "$scratch/a" "$scratch/b" && ok || { diff "$scratch/a" "$scratch/b" > "$scratch/out"; not_ok report_of_a_pipe_is_that_of_the_file; }

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
