#!/bin/sh
# pmtop rules: listed, checked, and with a target their figures of now; a broken file never stops the monitor.
pmtop=$PMTOP_BUILD/pmtop trainer=$PMTOP_BUILD/tests/workloads/trainer
scratch=$(mktemp -d)
config=$scratch/config/pmtop
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8
passed=0 failed=0
trap 'kill $trainer_pid 2>/dev/null; rm -rf "$scratch"' EXIT
mkdir -p "$config/rules"

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; sed 's/^/    /' "$scratch/out" "$scratch/err" | head -n 20; }
# As in test_cli.sh.
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

expect rules_are_listed              0 '^warning +data_loading +phase\.share_ratio above 30 %, if phase\.kind = data$' '' -- rules
expect rules_speak_json              0 '"rule":"data_loading","severity":"warning","of":"phase","figure":"phase.share_ratio","unit":"share","above":0\.3' '' -- rules --json
python3 -c 'import json, sys; assert len(json.load(open(sys.argv[1]))) > 30' "$scratch/out" && ok || not_ok json_is_one_array
expect figures_are_listed            0 '^memory\.growth_bytes +bytes +model +growth since the warm-up$' '' -- rules --figures
expect figures_speak_json            0 '"figure":"gpu.busy_ratio".*"lacks":"no GPU that the run uses is known' '' -- rules --figures --json
expect check_goes_with_rules         2 '' '--check is an option of rules'     -- -b -p 1 --check=x
expect rules_take_no_word            2 '' 'rules does not take'       -- rules now
expect rules_exclude_lines           2 '' 'exclude'                     -- -b rules

printf 'data_loading: {above: 40 %%}\nmine: {figure: run.steps, above: 5, message: "steps {run.steps}"}\n' > "$scratch/good.yaml"
printf 'data_loading:\n  above: 40 %%\n  if: phase.knd = data\n' > "$scratch/bad.yaml"
expect a_good_file_is_said_to_be     0 'no errors' ''            -- rules --check "$scratch/good.yaml"
expect a_bad_one_with_its_line       2 '' 'bad\.yaml:3: unknown figure "phase\.knd": did you mean "phase\.kind"' -- rules --check "$scratch/bad.yaml"
expect one_that_is_not_there         2 '' 'nothere\.yaml: No such file' -- rules --check "$scratch/nothere.yaml"
expect a_folder_is_no_file           2 '' 'is a directory'         -- rules --check "$config/rules"

cp "$scratch/good.yaml" "$config/rules/good.yaml"
expect the_users_rules_are_read      0 'data_loading +phase\.share_ratio above 40 %' '' -- rules
expect the_users_own_are_listed      0 '^warning +mine +run\.steps above 5$' '' -- rules

"$trainer" --name rulestest --epochs 100000 --batches 40 --step-ms 2 > /dev/null 2>&1 &
trainer_pid=$!
waited=0
until "$pmtop" -b -n 1 --format=json -p $trainer_pid 2>/dev/null | grep -q '"count":[1-9][0-9][0-9]'; do
	waited=$((waited + 1)); [ $waited -lt 100 ] || break; sleep 0.1
done
expect with_a_target_their_figures   0 '^warning +mine +raised +[0-9]+ +run\.steps above 5$' '' -- rules -p $trainer_pid
grep -q 'missing: gpu.memory_ratio: no GPU of the run is known' "$scratch/out" && ok || not_ok what_they_lack_is_said
expect with_a_target_in_json         0 '"rule":"mine".*"state":"raised","value":[0-9]+' '' -- rules --json -p $trainer_pid
expect figures_of_now                0 '^run\.name +text +run +rulestest' '' -- rules --figures -p $trainer_pid
expect a_warning_of_the_users        0 '"rule":"mine","severity":"warning","message":"steps [0-9]+"' '' -- -b -n 3 -d 0.1 --format=json -p $trainer_pid

# A broken file is left out, and said; the others hold.
cp "$scratch/bad.yaml" "$config/rules/bad.yaml"
expect a_broken_file_stops_nothing   0 '"rule":"rule_file","severity":"warning","message":"[^"]*bad.yaml:3: unknown figure' 'bad\.yaml:3: unknown figure' -- -b -n 3 -d 0.1 --format=json -p $trainer_pid
grep -q '"rule":"mine"' "$scratch/out" && ok || not_ok the_other_file_holds
expect it_stands_on_the_screen       0 'bad\.yaml:3' 'bad\.yaml:3'      -- --once --view=warnings -p $trainer_pid
expect rules_say_it_too              2 'mine' 'bad\.yaml:3'             -- rules

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
