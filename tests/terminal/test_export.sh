#!/bin/sh
# pmtop export on the command line: what is refused, where it goes, what a full disk, a gone reader and an interrupt leave. The figures: tests/python.
pmtop=$PMTOP_BUILD/pmtop trainer=$PMTOP_BUILD/tests/workloads/trainer
scratch=$(mktemp -d)
here=$(cd "$(dirname "$0")" && pwd)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 2

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; sed 's/^/    /' "$scratch/out" "$scratch/err" | head -n 20; }
check() { name=$1; shift; if "$@" > /dev/null 2>&1; then ok; else not_ok "$name"; fi; }

# expect NAME CODE PATTERN_OUT PATTERN_ERR -- ARGUMENT ...: exit code, and an extended regular expression for each stream ("" = nothing there).
expect() {
	name=$1 code=$2 out=$3 err=$4
	shift 5
	timeout 20 "$pmtop" "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null
	got=$?
	if [ "$got" -ne "$code" ]; then not_ok "$name: exit $got, not $code"; return; fi
	if [ -z "$out" ] && [ -s "$scratch/out" ]; then not_ok "$name: something on standard output"; return; fi
	if [ -n "$out" ] && ! grep -Eq -- "$out" "$scratch/out"; then not_ok "$name: no $out on standard output"; return; fi
	if [ -z "$err" ] && [ -s "$scratch/err" ]; then not_ok "$name: something on standard error"; return; fi
	if [ -n "$err" ] && ! grep -Eq -- "$err" "$scratch/err"; then not_ok "$name: no $err on standard error"; return; fi
	if [ -n "$err" ] && [ "$(wc -l < "$scratch/err")" -ne 1 ]; then not_ok "$name: more than one line on standard error"; return; fi
	ok
}

"$pmtop" -b -d 0.1 -n 12 --demo -w run.pmtop > /dev/null

expect formats_are_listed                    0 '^csv +a row a batch' ''                          -- export --to=list
expect format_is_needed                      2 '' 'needs a format: --to takes csv,.*jsonl'       -- export run.pmtop
expect unknown_format_is_named               2 '' 'unknown format xml: --to takes csv,.*--to=list'    -- export --to=xml run.pmtop
expect target_is_needed                      2 '' 'needs a target'                               -- export --to=csv
expect recording_that_is_not_there_is_named  3 '' 'cannot read nothere.pmtop'                 -- export --to=csv nothere.pmtop
expect folder_is_needed                      2 '' 'tensorboard writes several files: .* -o'          -- export --to=tensorboard run.pmtop
expect bad_moment_is_named                   2 '' '--since takes .*not fnord'                    -- export --to=csv --since=fnord run.pmtop
expect empty_window_is_said                  2 '' '--since 1s is not before --until 0.5s' -- export --to=csv --since=1s --until=0.5s run.pmtop
expect epoch_that_is_not_there_is_named      2 '' 'has no epoch 7'                               -- export --to=csv --since=@7 run.pmtop
expect window_is_for_recordings              2 '' '--since needs a recording'                    -- export --to=csv --since=1s --demo
expect the_default_output_is_standard_output    0 '^run,rank,pid,mode' ''                           -- export --to=csv run.pmtop
expect dash_is_standard_output               0 '^run,rank,pid,mode' ''                           -- export --to=csv -o - run.pmtop
expect live_run_is_exported_as_it_is_now         0 '^# EOF' ''                                       -- export --to=openmetrics --demo
expect live_run_is_exported_for_so_many_readings 0 '^([^,]*,){5}6,' ''                               -- export --to=csv -n 9 -d 0.1 --demo
expect own_command_is_exported_to_its_end        0 '' ''                                             -- export --to=jsonl -d 0.1 -o own.jsonl -- sh -c "exec $trainer --epochs 2 --batches 50 --step-ms 4 > /dev/null"
check own_commands_batches_are_all_there     grep -q '"type":"end",.*"batches":100,' own.jsonl
expect own_commands_exit_is_kept             3 '# EOF' ''                                        -- export --to=openmetrics -- sh -c 'sleep 0.2; exit 3'
expect full_disk_is_reported                     1 '' '/dev/full: No space left on device'           -- export --to=csv -o /dev/full run.pmtop
expect folder_that_is_not_there_is_reported      1 '' 'cannot write nothere/run.csv'            -- export --to=csv -o nothere/run.csv run.pmtop
expect recording_is_not_overwritten          2 '' 'run.pmtop is the recording itself'            -- export --to=csv -o run.pmtop run.pmtop

echo old > run.csv
chmod 640 run.csv
expect file_that_is_there_is_replaced        0 '' ''                                             -- export --to=csv -o run.csv run.pmtop
check replaced_file_is_whole_and_keeps_its_mode test "$(stat -c %a run.csv) $(head -c 9 run.csv)" = '640 run,rank,'
ln -s run.csv link.csv
expect link_stays_a_link                     0 '' ''                                             -- export --to=csv-operations -o link.csv run.pmtop
check what_a_link_leads_to_is_replaced       grep -q '^run,rank,pid,mode,operation' run.csv
check link_is_still_one                      test -L link.csv
expect wrong_window_leaves_the_file          2 '' 'is not before'                                 -- export --to=csv --since=end -o run.csv run.pmtop
check file_is_left_as_it_was                 grep -q '^run,rank,pid,mode,operation' run.csv
check nothing_is_left_beside                 test -z "$(ls | grep tmp)"

# A limit on the size of files is a disk that is full.
(ulimit -f 1; exec "$pmtop" export --to=jsonl -o cut.jsonl run.pmtop) > out 2> err
check full_disk_is_a_failure                 test $? -eq 1
check full_disk_is_said                      grep -q '^pmtop: cannot write .*cut.jsonl: File too large$' err
check full_disk_leaves_no_half_file          test -z "$(ls | grep cut.jsonl)"

"$pmtop" export --to=jsonl run.pmtop 2> err | head -n 1 > out
check reader_that_went_away_is_no_error      test "$(wc -l < out) $(wc -c < err)" = '1 0'

"$pmtop" collect --demo -d 0.1 2> /dev/null > piped.pmtop & collecting=$!
sleep 0.8
kill $collecting 2> /dev/null; wait $collecting 2> /dev/null
if [ -s piped.pmtop ]; then
	"$pmtop" export --to=csv -r - < piped.pmtop > out 2> err
	check what_comes_through_a_pipe_is_exported  grep -q '^run,rank' out
fi

# An interrupt ends a live run's watch, and what has come is written.
"$pmtop" export --to=csv-series --for=60s -d 0.1 -o live.csv --demo 2> err & exporting=$!
sleep 0.6
kill -INT $exporting
wait $exporting
check interrupt_ends_the_watch               test $? -eq 0
check what_had_come_is_written               test "$(wc -l < live.csv)" -gt 2

mkdir board
expect folder_gets_an_event_file             0 '' ''                                             -- export --to=tensorboard -o board run.pmtop
check event_file_has_its_name                test "$(ls board | grep -c '^events\.out\.tfevents\.[0-9]*\..*\.pmtop$')" -eq 1

check exporter_serves_and_writes_what_json_says sh -c 'python3 "$1/exporter.py" "$2" run.pmtop > out 2> err' sh "$here" "$pmtop"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
