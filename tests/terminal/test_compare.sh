#!/bin/sh
# pmtop diff and check on the real program and the real trainer, whose steps are slept, so that a busy machine changes them little.
pmtop=$PMTOP_BUILD/pmtop trainer=$PMTOP_BUILD/tests/workloads/trainer
scratch=$(mktemp -d) trace=$(cd "$(dirname "$0")/.." && pwd)/fixtures/traces/h100-resnet18.pt.trace.json.gz
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8
passed=0 failed=0
trap 'kill $live_pid 2>/dev/null; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 2

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; sed 's/^/    /' out err | head -n 30; }

# expect NAME CODE PATTERN_OUT PATTERN_ERR -- ARGUMENT ...: exit code, and an extended regular expression for each stream ("" = nothing there).
expect() {
	name=$1 code=$2 out=$3 err=$4
	shift 5
	timeout 30 "$pmtop" "$@" > out 2> err < /dev/null
	got=$?
	if [ "$got" -ne "$code" ]; then not_ok "$name: exit $got, not $code"; return; fi
	if [ -z "$out" ] && [ -s out ]; then not_ok "$name: something on standard output"; return; fi
	if [ -n "$out" ] && ! grep -Eq -- "$out" out; then not_ok "$name: no $out on standard output"; return; fi
	if [ -z "$err" ] && [ -s err ]; then not_ok "$name: something on standard error"; return; fi
	if [ -n "$err" ] && ! grep -Eq -- "$err" err; then not_ok "$name: no $err on standard error"; return; fi
	if [ -n "$err" ] && [ "$(wc -l < err)" -ne 1 ]; then not_ok "$name: more than one line on standard error"; return; fi
	ok
}
says() { grep -Eq -- "$2" out && ok || not_ok "$1: no $2"; }
# holds NAME PYTHON: an expression over the JSON object on standard output's last line
holds() { tail -n 1 out | python3 -c "import json, sys; o = json.load(sys.stdin); sys.exit(not ($2))" 2>> err && ok || not_ok "$1"; }

# run MS ARGUMENT ...: a trainer whose steps take about so long, in its own words for a command
run() { ms=$1; shift; echo "$trainer --name compared --workers 0 --epochs 1 --batches 50 --step-ms 0.5 --fault sleep,every=1,ms=$ms $*"; }
record() { "$pmtop" -b -w "$1" -- $2 > /dev/null 2>&1 || { echo "$1 was not recorded"; exit 2; }; }
record fast.pmtop "$(run 30)" & record again.pmtop "$(run 30)" & record slow.pmtop "$(run 54 --batch-size 128)" &
$trainer --name lasting$$ --workers 0 --epochs 100000 --step-ms 0.5 --fault sleep,every=1,ms=30 > /dev/null 2>&1 & live_pid=$!
wait %1 %2 %3

expect diff_takes_two               2 '' '2 to 64 runs'                         -- diff fast.pmtop
expect diff_speaks_text_and_json    2 '' 'diff takes text or json'                          -- diff --format=csv fast.pmtop slow.pmtop
expect diff_names_what_is_not_there 3 '' 'cannot read nothere.pmtop'           -- diff fast.pmtop nothere.pmtop
expect check_needs_something        2 '' '--baseline=FILE or --budget'            -- check fast.pmtop
expect check_needs_a_target         2 '' 'needs a target'                         -- check --baseline=base.json
expect budget_is_read_first         2 '' 'NAME:LIMIT, not "data"'                 -- check --budget=data nothere.pmtop
: > empty.json
echo 'step: 0.3' > words.json
echo '{"format": "pmtop summary", "summary_version": 2}' > newer.json
expect empty_baseline_is_named      1 '' 'empty.json is empty'                    -- check --baseline=empty.json fast.pmtop
expect text_is_no_baseline          1 '' 'words.json is not a recording'             -- check --baseline=words.json fast.pmtop
expect newer_baseline_is_refused    1 '' 'version 2, not 1'                       -- check --baseline=newer.json fast.pmtop
expect missing_baseline_is_named    3 '' 'cannot read nothere.json'            -- check --baseline=nothere.json fast.pmtop

expect baseline_is_made             0 'base.json: baseline of compared'  ''   -- check --save=base.json fast.pmtop
python3 -c 'import json; o = json.load(open("base.json")); assert o["summary_version"] == 1 and len(o["steps"]) > 40 and o["meta"]["batch_size"] == "32"' 2> err && ok || not_ok baseline_is_json
expect same_run_passes              0 'step: ok: [01]\.[0-9]+ times' ''           -- check --baseline=base.json again.pmtop
expect recording_is_a_baseline_too  0 'step: ok' ''                               -- check --baseline=fast.pmtop again.pmtop
expect slower_run_fails             5 'step: FAILED: slower: [1-9]\.[0-9]' ''         -- check --baseline=base.json --junit=junit.xml slow.pmtop
says   phase_is_named               '^forward has \+[0-9.]+ ms of \+'
says   other_batch_size_is_warned_of '^warning: the baseline is of batch size 32, this run of 128'
python3 - 2> err <<'END' && ok || not_ok junit_is_read
import xml.etree.ElementTree as tree
suites = tree.parse("junit.xml").getroot()
assert suites.tag == "testsuites" and suites.get("failures") == "1" and suites.get("tests") == "1"
case = suites.find("testsuite/testcase")
assert case.get("classname") == "pmtop.compared" and "1.20 is allowed" in case.find("failure").get("message")
END
expect threshold_is_heard           0 'step: ok.*3\.00 is allowed' ''             -- check --baseline=base.json --threshold=2 slow.pmtop
expect budgets_are_kept             0 'forward: ok' ''                            -- check --budget=forward:99%,step:9s,memory:40GB fast.pmtop
expect broken_budget_fails          5 'forward: FAILED: over its budget' ''       -- check --budget=forward:20% fast.pmtop
expect unknown_phase_lists_the_phases 2 '' 'no phase "backwards".*forward, backward' -- check --budget=backwards:20% fast.pmtop
expect check_speaks_json            5 '^\{' ''                                    -- check --json --baseline=base.json slow.pmtop
holds  json_has_the_figures         'o["outcome"] == "failed" and 1.2 < o["figures"][0]["ratio"] and o["figures"][0]["low"] > 1 and o["run"]["batch_size"] == 128'

expect command_is_checked           5 'step: FAILED' ''                           -- check --baseline=base.json -- $(run 54)
says   its_output_goes_through      '^epoch 0: loss'
expect command_that_fails_keeps_its_status 9 '' 'exited with status 9: nothing was compared' -- check --baseline=base.json -- sh -c 'sleep 1; exit 9'
expect command_that_publishes_nothing 1 '' 'no batches'                           -- check --baseline=base.json -- sleep 1
expect short_run_cannot_be_judged     1 'too few batches: the run has [0-9]+ .*20 are required' '' -- check --baseline=base.json -- $trainer --workers 0 --epochs 1 --batches 12 --step-ms 0.5 --fault sleep,every=1,ms=100
expect live_look_is_bounded         0 'step: ok' ''                               -- check --baseline=base.json --for=2s $live_pid
expect short_run_is_no_baseline     1 '' 'a baseline needs 20'                    -- check --save=none.json --for=1.5s -- $trainer --workers 0 --step-ms 150
[ ! -e none.json ] && ok || not_ok nothing_is_written

expect two_are_side_by_side         0 'B is faster: it handles [12]\.[0-9]+ times the samples' '' -- diff fast.pmtop slow.pmtop
says   metas_that_differ_are_shown  'batch_size: 32 → 128'
grep -q "$(printf '\033')" out && not_ok no_colour_in_a_file || ok
expect diff_takes_all_kinds         0 'forward' ''                                -- diff $live_pid base.json
expect several_are_ranked           0 '^best: .*samples/s\)' ''                   -- diff fast.pmtop slow.pmtop base.json lasting$$
expect diff_speaks_json             0 '^\{' ''                                    -- diff --json fast.pmtop again.pmtop
holds  diff_json_has_its_rows       'o["rows"][0]["what"] == "step, median" and o["rows"][0]["low"] < 1.2 and o["a"]["judged"] > 40'
expect runs_are_ranked_by_a_figure  0 '^best: .*\(memory [0-9.]+ MB\)' ''         -- diff --by=memory fast.pmtop slow.pmtop
expect unknown_figure_is_refused    2 '' '--by: no run has a figure "acc"'        -- diff --by=acc fast.pmtop slow.pmtop
expect trace_is_judged              5 '^aten::copy_: FAILED: over its budget' ''  -- check --budget=step:1s,aten::copy_:1ms "$trace"
expect trace_is_a_baseline          0 '^step: ok: 1.00 times the baseline' ''     -- check --baseline="$trace" "$trace"
"$pmtop" report --format=json fast.pmtop > report.json
expect saved_report_is_compared     0 'a saved report.*intervals are rough' ''    -- diff report.json again.pmtop

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
