#!/bin/sh
# pmtop -b --format=json of a run with many flagged batches and epochs: each object is small, the last has all, and with --all every one has.
pmtop=$PMTOP_BUILD/pmtop churn=$PMTOP_BUILD/tests/workloads/churn
scratch=$(mktemp -d)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" XDG_STATE_HOME="$scratch/state" LC_ALL=C.UTF-8
passed=0 failed=0
"$churn" 2 > /dev/null 2>&1 < /dev/null &
target=$!
end() {
	kill $target 2> /dev/null
	rm -rf "$scratch" /dev/shm/pmtop.*."$target".*
}
trap end EXIT
cd "$scratch" || exit 1

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; head -n 20 err; }

# holds NAME FILE EXPRESSION: over `objects`, those of the file, and `last`.
holds() {
	python3 - "$2" "$3" 2> err << 'END' && ok || not_ok "$1"
import json
import sys
objects = [json.loads(line) for line in open(sys.argv[1])]
last = objects[-1]
summary = [(len(o.get("flagged", [])), o.get("flagged_left_out"), o.get("flagged_total"), len(o.get("epochs", []))) for o in objects[-3:]]
assert eval(sys.argv[2]), f"{len(objects)} objects; flagged, left out, in all, epochs of the last three: {summary}"
END
}

# Until there are enough, however slow the machine is.
tries=0 flagged=0
until [ "$flagged" -ge 120 ] || [ $tries -ge 120 ]; do
	tries=$((tries + 1))
	sleep 1
	flagged=$(timeout 20 "$pmtop" report --json -p $target 2> err | grep -o '"batch":{"count":[0-9]*' | cut -d: -f3)
	flagged=$((${flagged:-0} / 10))
done
timeout 60 "$pmtop" record -p $target --for=4s -o run.pmtop > out 2> err < /dev/null
timeout 60 "$pmtop" -b --format=json -p $target -d 0.2 -n 12 > live.json 2> err < /dev/null
timeout 60 "$pmtop" -b --format=json -p $target -d 0.2 -n 3 --all > live_all.json 2> err < /dev/null
timeout 60 "$pmtop" -b --format=json -r run.pmtop > replay.json 2> err < /dev/null
timeout 60 "$pmtop" -b --format=json -r run.pmtop --all > replay_all.json 2> err < /dev/null
timeout 60 "$pmtop" report --json run.pmtop > report.json 2> err < /dev/null

cut='all(len(o["flagged"]) <= 50 and len(o["epochs"]) <= 50 and len(o["operations"]) <= 50 for o in objects[:-1])'
holds live_objects_are_cut live.json "$cut and len(objects) == 12"
holds the_last_of_n_has_all live.json 'len(last["epochs"]) > 60 and "epochs_left_out" not in last'
holds what_is_left_out_is_counted live.json 'objects[-2]["epochs_left_out"] + 50 >= len(last["epochs"]) - 20'
holds replayed_objects_are_cut replay.json "$cut"
holds the_last_of_a_recording_has_all replay.json 'len(last["epochs"]) > 60 and "epochs_left_out" not in last and "flagged_left_out" not in last'
holds flagged_ones_are_counted replay.json 'objects[-2]["flagged_total"] == len(objects[-2]["flagged"]) + objects[-2].get("flagged_left_out", 0)'
holds with_all_every_one_has_all live_all.json 'all(len(o["epochs"]) > 60 and "epochs_left_out" not in o for o in objects)'
holds of_a_recording_too replay_all.json 'all("epochs_left_out" not in o and "flagged_left_out" not in o for o in objects) and len(objects[-2]["epochs"]) > 60'
holds a_report_has_all report.json 'len(last["epochs"]) > 60 and "epochs_left_out" not in last'
python3 -c '
import json
a, b = (json.loads(open(name).read().splitlines()[-1]) for name in ("replay.json", "replay_all.json"))
assert a == b' 2> err && ok || not_ok the_last_is_the_same_with_all
timeout 60 "$pmtop" report --all run.pmtop > out 2> err < /dev/null
grep -q -- '--all is an option of -b' err && ok || not_ok all_goes_with_batch_mode

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
