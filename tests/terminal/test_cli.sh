#!/bin/sh
# The command line without a screen: usage, refusals, exit codes, lines, objects and reports, on the real program and the real trainer.
pmtop=$PMTOP_BUILD/pmtop trainer=$PMTOP_BUILD/tests/workloads/trainer
scratch=$(mktemp -d)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8
passed=0 failed=0
trap 'kill $trainer_pid 2>/dev/null; rm -rf "$scratch"' EXIT

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; sed 's/^/    /' "$scratch/out" "$scratch/err" | head -n 20; }

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

sleep 0 & dead=$!
wait $dead

expect help_goes_to_standard_output           0 'pmtop -p PID' ''                     -- --help
expect version_comes_first                    0 '^pmtop [0-9]' ''                     -- --version
expect version_shows_the_build                0 '^built with .*glibc 2\.[0-9]+, libyaml [0-9]' '' -- --version
expect version_shows_what_it_finds            0 '^launch hooks +/.*/launch$' ''       -- --version
expect a_time_beyond_all_is_refused           2 '' '--for takes a time'               -- record --demo --for=9300000000
expect an_empty_budget_is_no_gate             2 '' 'has no limit'                   -- check --budget= --demo
expect a_value_is_shown_without_its_escapes   2 '' 'not \^\[\[31m'                     -- -b -p 1 -d "$(printf '\033[31m')"
expect unknown_option_is_named                2 '' '--wrong'                          -- --wrong
expect missing_value_is_named                 2 '' '-p'                               -- -p
expect pid_must_be_a_number                   2 '' 'whole number.*zero'               -- -p zero
expect pid_must_be_positive                   2 '' 'whole number'                     -- -p -5
expect pod_that_is_not_there_names_a_command     3 '' "kubectl exec -it nobodys-run"  -- -b -p pod/nobodys-run
expect delay_has_bounds                       2 '' '0\.05 to 60'                      -- -b -p 1 -d 0
expect count_has_bounds                       2 '' '-n takes'                         -- -b -p 1 -n 0
expect format_is_one_of_a_list                2 '' 'text, json, csv'                  -- -b -p 1 --format=xml
expect lines_need_a_target                    2 '' 'needs a target'                   -- -b
expect loop_needs_a_file_and_a_line           2 '' '--loop takes FILE:LINE'         -- --loop=train.py -p 1
expect line_of_a_loop_is_a_number             2 '' 'such as train.py:214'           -- --loop=train.py:x -p 1
expect commands_exclude_one_another           2 '' 'exclude'                          -- -b --once -p 1
expect targets_exclude_one_another            2 '' 'exclude'                          -- -p 1 -s x
expect unknown_word_is_named                  2 '' 'fnord'                            -- fnord
expect dead_process_is_not_found              3 '' "no process $dead"                 -- -p $dead
expect dead_process_has_no_report             3 '' "no process $dead"                 -- report $dead
expect unknown_run_is_not_found               3 '' 'no run or file is named nobody' -- -s nobody
expect config_that_is_not_there_is_named      2 '' 'nothere.yaml'                     -- --config "$scratch/nothere.yaml" -b -p 1
expect command_that_is_not_there_is_named     3 '' 'cannot start .*nothere'          -- -b -- "$scratch/nothere"

"$pmtop" --help > /dev/full 2> "$scratch/err"
[ $? -eq 1 ] && grep -q 'standard output' "$scratch/err" && ok || not_ok help_that_is_not_written_is_a_failure

mkdir -p "$XDG_CONFIG_HOME/pmtop"
printf 'flags:\n  mad: many\n' > "$XDG_CONFIG_HOME/pmtop/pmtop.yaml"
expect bad_config_is_refused_with_its_line    2 '' 'pmtop\.yaml:2:'                   -- -b -p $$
rm "$XDG_CONFIG_HOME/pmtop/pmtop.yaml"
printf 'nonsense: true\n' > "$scratch/pmtop.yaml"
(cd "$scratch" && expect config_in_the_working_directory_is_not_read 0 '"pid":' '' -- -b -n 1 --format=json -p $$; exit $failed) && ok || not_ok config_in_the_working_directory_is_not_read

"$trainer" --name clitest --epochs 100000 --batches 40 --step-ms 2 --workers 1 > /dev/null 2>&1 &
trainer_pid=$!
waited=0
until "$pmtop" -b -n 1 --format=json -p $trainer_pid 2>/dev/null | grep -q '"count":[1-9]'; do
	waited=$((waited + 1)); [ $waited -lt 100 ] || break; sleep 0.1
done

expect one_object_is_complete       0 '"batch":.*"operations":.*"memory":' '' -- -b -n 1 --format=json -p $trainer_pid
expect objects_come_one_a_line      0 '^\{.*\}$' ''                  -- -b -n 3 -d 0.1 --format=json -p $trainer_pid
[ "$(wc -l < "$scratch/out")" -eq 3 ] && ok || not_ok three_refreshes_are_three_lines
expect lines_are_the_guides         0 '^  Batch [0-9]+: [0-9.]+s, CPU [0-9.]+MB, loss=[0-9.]+$' '' -- -b -n 10 -d 0.2 -p $trainer_pid
grep '^  Batch [0-9]' "$scratch/out" | grep -qv ', CPU ' && not_ok every_batch_line_has_its_memory || ok
expect csv_has_one_header           0 '^time_ns,' ''                 -- -b -n 3 -d 0.1 --format=csv -p $trainer_pid
[ "$(grep -c '^time_ns,' "$scratch/out")" -eq 1 ] && [ "$(wc -l < "$scratch/out")" -eq 4 ] && ok || not_ok csv_has_a_header_and_three_rows
expect report_has_both_tables       0 'AGGREGATE STATISTICS' ''      -- report $trainer_pid
grep -q 'PERFORMANCE SUMMARY' "$scratch/out" && ok || not_ok report_has_the_summary
expect report_takes_a_name          0 'PERFORMANCE SUMMARY' ''       -- report clitest
expect run_is_found_by_name         0 '"run":"clitest"' ''           -- -b -n 1 --format=json -s clitest
expect run_is_found_by_name_and_pid 0 '"run":"clitest"' ''           -- -b -n 1 --format=json -s clitest.$trainer_pid
expect list_shows_the_run           0 "^$trainer_pid +clitest .*instrumented" '' -- list
expect list_speaks_json             0 '"run":"clitest"' ''           -- list --json
expect once_is_a_whole_screen       0 'Overview' ''                  -- --once --size=120x40 -p $trainer_pid
[ "$(wc -l < "$scratch/out")" -eq 40 ] && ok || not_ok once_has_forty_rows
expect once_opens_a_view            0 'forward' ''                   -- --once --view=operations -p $trainer_pid
expect once_refuses_an_unknown_view 2 '' 'unknown view .*: the views are: overview, batches, operations, memory, gpu, system, code, warnings, counters, ranks or help$'         -- --once --view=nothing -p $trainer_pid
expect once_draws_svg               0 '^<svg' ''                     -- --once --format=svg -p $trainer_pid
expect once_after_more_readings     0 'Overview' ''                  -- --once -n 4 -d 0.05 -p $trainer_pid
LC_ALL=C expect c_locale_draws_ascii 0 'Overview' ''                 -- --once -p $trainer_pid
LC_ALL=C grep -q '[^ -~]' "$scratch/out" && not_ok c_locale_writes_ascii_only || ok
mkdir "$scratch/locales" && localedef -i de_DE -f UTF-8 "$scratch/locales/de_DE.UTF-8" 2> /dev/null || not_ok 'no locale with a comma can be made: make deps installs the package locales'
for form in csv json; do
	LOCPATH="$scratch/locales" LC_ALL=de_DE.UTF-8 timeout 20 "$pmtop" --demo -b --format=$form -n 3 -d 0.1 > "$scratch/comma.$form" 2> "$scratch/err"
done
env LOCPATH="$scratch/locales" LC_ALL=de_DE.UTF-8 /usr/bin/printf '%.1f' 1,5 | grep -q '^1,5$' && head -n 1 "$scratch/comma.csv" | awk -F, '{ print NF }' > "$scratch/columns" &&
	awk -F, -v columns="$(cat "$scratch/columns")" 'NF != columns { bad = 1 } END { exit bad }' "$scratch/comma.csv" && grep -q '[0-9]\.[0-9]' "$scratch/comma.csv" && ok || not_ok comma_locale_csv_has_points
python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' "$scratch/comma.json" && grep -q '[0-9]\.[0-9]' "$scratch/comma.json" && ok || not_ok comma_locale_json_has_points
LC_ALL=C expect c_locale_report     0 'AGGREGATE STATISTICS' ''      -- report $trainer_pid
LC_ALL=C grep -q '[^ -~]' "$scratch/out" && not_ok c_locale_report_is_ascii_only || ok
TERM=dumb expect dumb_terminal_gets_lines 0 '^  Batch' ''            -- -p $trainer_pid -n 10 -d 0.2
expect without_a_terminal_the_list_is_printed 0 'clitest' ''         --

# A command of our own gives its exit status, however soon it ends.
for code in 0 1 7; do
	for try in 1 2 3 4 5; do
		timeout 20 "$pmtop" -- sh -c "exit $code" > "$scratch/out" 2> "$scratch/err" < /dev/null
		[ $? -eq $code ] || break
	done
	[ $try -eq 5 ] && ok || not_ok "exit status $code of a command that ends at once"
done

# A reader that leaves ends the command quietly, and at once.
timeout 10 "$pmtop" -b --format=json -d 0.1 -p $trainer_pid 2> "$scratch/err" | head -n 1 > "$scratch/out"
[ ! -s "$scratch/err" ] && [ "$(wc -l < "$scratch/out")" -eq 1 ] && kill -0 $trainer_pid && ok || not_ok head_ends_it_quietly

# The target's end is the command's end, with a last object.
timeout 20 "$pmtop" -b --format=json -d 0.1 -p $trainer_pid > "$scratch/out" 2> "$scratch/err" &
watcher=$!
sleep 0.5; kill -KILL $trainer_pid; wait $trainer_pid 2>/dev/null
wait $watcher
[ $? -eq 0 ] && [ ! -s "$scratch/err" ] && tail -n 1 "$scratch/out" | grep -q '"operations":' && ok || not_ok last_object_when_the_target_is_killed

# What a killed run leaves can be read until it is a day old.
expect killed_run_is_listed         0 "clitest .*killed.*pmtop -s clitest" '' -- list
expect killed_run_is_read           0 '"run":"clitest"' ''           -- -b --format=json -s clitest.$trainer_pid
rm -f /dev/shm/pmtop.*."$trainer_pid".*

# A command of our own: its exit status is kept.
expect exit_status_is_kept          3 '"pid":' ''                    -- -b --format=json -- sh -c 'sleep 0.3; exit 3'
expect own_command_publishes        0 '"run":"own"' ''               -- -b -d 0.1 --format=json -- "$trainer" --name own --epochs 2 --batches 50 --step-ms 2

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
