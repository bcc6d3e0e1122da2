#!/bin/sh
# The kernel's counters of a real training run: CPU time as counted per thread is what /proc says; without --counters nothing is counted, and that is said.
pmtop=$PMTOP_BUILD/pmtop trainer=$PMTOP_BUILD/tests/workloads/trainer
scratch=$(mktemp -d)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8
passed=0 failed=0
trap 'kill $trainer_pid 2>/dev/null; rm -rf "$scratch"' EXIT

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; tail -c 3000 "$scratch/out" | sed 's/^/    /'; sed 's/^/    /' "$scratch/err"; }

# holds NAME EXPRESSION: of the objects o (a list) of the last run.
holds() {
	python3 - "$scratch/out" "$2" <<'END' && ok || not_ok "$1"
import json, sys
o = [json.loads(line) for line in open(sys.argv[1])]
def missing(at, figure):
    return [m['reason'] for m in o[at]['self']['missing'] if m['figure'] == figure]
def count(at, name, pid=None):
    if pid is None:
        return next(e['total'] for e in o[at]['counters']['events'] if e['name'] == name)
    return next(p['total'][name] for p in o[at]['counters']['processes'] if p['pid'] == pid)
def cpu_s(at):
    return o[at]['cpu']['user_s'] + o[at]['cpu']['system_s']
sys.exit(0 if eval(sys.argv[2]) else 1)
END
}

run() { timeout 30 "$pmtop" -b --format=json "$@" -p $trainer_pid > "$scratch/out" 2> "$scratch/err" < /dev/null || not_ok "pmtop $*"; }

"$trainer" --name counters --epochs 100000 --batches 40 --step-ms 20 --workers 1 > /dev/null 2>&1 &
trainer_pid=$!
waited=0
until "$pmtop" -b -n 1 --format=json -p $trainer_pid 2>/dev/null | grep -q '"count":[1-9]'; do
	waited=$((waited + 1)); [ $waited -lt 100 ] || break; sleep 0.1
done

run -n 1
holds nothing_is_counted_before_somebody_looks "'counters' not in o[0] and missing(0, 'counters') == ['off until requested']"

run --counters -n 3 -d 1
if grep -q '"figure":"counters"' "$scratch/out"; then
	holds what_is_denied_has_a_reason "len(missing(-1, 'counters')[0]) > 20"
else
	holds cpu_time_is_that_of_proc "abs((count(-1, 'task-clock', $trainer_pid) - count(0, 'task-clock', $trainer_pid)) * 1e-9 / (cpu_s(-1) - cpu_s(0)) - 1) < 0.05"
	holds it_is_reported_as_cpus "0.01 < o[-1]['counters']['cpus'] < 3"
	holds the_worker_is_counted_too "len(o[-1]['counters']['processes']) == 2"
	holds all_of_the_time_was_counted "all(e['counted_ratio'] == 1 for e in o[-1]['counters']['events'] if e['name'] == 'task-clock')"
	holds hardware_is_counted_or_missing "any(e['role'] == 'cycles' for e in o[-1]['counters']['events']) or missing(-1, 'cycles, instructions')"
fi

mkdir -p "$XDG_CONFIG_HOME/pmtop"
printf 'counters:\n  always: true\n  events: [NO_SUCH_EVENT]\n' > "$XDG_CONFIG_HOME/pmtop/pmtop.yaml"
run -n 1
holds an_event_that_nobody_knows_is_named "missing(0, 'counters') or 'NO_SUCH_EVENT' in missing(0, 'NO_SUCH_EVENT')[0] or 'libpfm4' in missing(0, 'NO_SUCH_EVENT')[0]"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
