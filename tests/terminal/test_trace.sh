#!/bin/sh
# pmtop trace and pmtop diff on a real trace of resnet18: text that fits, JSON, files that are cut off or no traces.
pmtop=$PMTOP_BUILD/pmtop
cd "$(dirname "$0")/../.." || exit 1
scratch=$(mktemp -d)
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C.UTF-8
check() {
	name=$1
	shift
	if "$@" > "$scratch/out" 2>&1 < /dev/null; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "not ok: $name"; sed 's/^/    /' "$scratch/out" | head -n 20; fi
}
trace=tests/fixtures/traces/h100-resnet18.pt.trace.json.gz
zcat "$trace" > "$scratch/whole.json"

"$pmtop" trace "$trace" > "$scratch/text"
check says_busy_idle_and_steps grep -q '^GPU 0  busy 42 % .* 748 kernels, 1 stream$' "$scratch/text"
check recommends_pinned_memory grep -q 'pin_memory=True' "$scratch/text"
check fits_80_columns python3 -c 'import sys; sys.exit([line for line in open(sys.argv[1], encoding="utf-8") if len(line) > 81] or 0)' "$scratch/text"
check reads_standard_input sh -c '"$1" trace - < "$2" | grep -q "^GPU 0  busy 42 %"' sh "$pmtop" "$scratch/whole.json"
check limits_rows sh -c '[ "$("$1" trace --limit=3 --json "$2" | python3 -c "import json, sys; print(len(json.load(sys.stdin)[\"operators\"]))")" = 3 ]' sh "$pmtop" "$trace"
check sorts_by_count sh -c '"$1" trace --sort=count --limit=1 "$2" | grep -q "^aten::empty  "' sh "$pmtop" "$trace"

head -c 1000000 "$scratch/whole.json" > "$scratch/cut.json"
check a_cut_trace_names_the_byte sh -c '"$1" trace "$2" 2>&1 > /dev/null | grep -q "ends early, at byte 999657"' sh "$pmtop" "$scratch/cut.json"
check a_cut_trace_is_shown sh -c '"$1" trace "$2" 2> /dev/null | grep -q "^OPERATORS"' sh "$pmtop" "$scratch/cut.json"
check no_trace_is_refused sh -c '"$1" trace README.md 2>&1 | grep -q "README.md is no trace"' sh "$pmtop"
check no_file_is_a_failure sh -c '! "$1" trace "$2/none"' sh "$pmtop" "$scratch"

mkdir "$scratch/ranks"
cp "$trace" "$scratch/ranks/rank0.json.gz"
cp "$trace" "$scratch/ranks/rank1.json.gz"
check traces_of_a_folder_are_in_one_table sh -c '"$1" trace "$2/ranks" | grep -A 3 "^TRACES" | grep -q "^rank1.json.gz"' sh "$pmtop" "$scratch"

ln -s rank1.json.gz "$scratch/ranks/chrome_trace.json.gz"
check a_link_to_a_trace_beside_it_is_no_rank sh -c '! "$1" trace "$2/ranks" | grep -q "^chrome_trace"' sh "$pmtop" "$scratch"
mkdir -p "$scratch/jax/plugins/profile/2026_01_01" "$scratch/jax/plugins/profile/2026_01_02"
cp "$trace" "$scratch/jax/plugins/profile/2026_01_01/old.trace.json.gz"
cp "$trace" "$scratch/jax/plugins/profile/2026_01_02/new.trace.json.gz"
cp "$trace" "$scratch/jax/plugins/profile/2026_01_02/perfetto_trace.json.gz"
check the_newest_profile_of_jax_is_found sh -c '"$1" trace "$2/jax" | head -n 1 | grep -q "^new.trace.json.gz: "' sh "$pmtop" "$scratch"

sed 's/"dur": 233.961/"dur": 1233.961/' "$scratch/whole.json" > "$scratch/slower.json"
check diff_of_traces_ranks_by_change sh -c '"$1" diff --json "$2/whole.json" "$2/slower.json" | grep -q "\"operators\":\[{\"name\""' sh "$pmtop" "$scratch"
check diff_of_traces_as_text sh -c '"$1" diff "$2/whole.json" "$2/slower.json" | grep -q "^GPU busy .*10.5 ms"' sh "$pmtop" "$scratch"

mkdir -p "$scratch/empty" "$scratch/tf/plugins/profile/2026_01_01"
: > "$scratch/empty.json"
printf '\n\324\016\022' > "$scratch/tf/plugins/profile/2026_01_01/vm.xplane.pb"
python3 -c 'import pickle, sys; pickle.dump({"segments": []}, open(sys.argv[1], "wb"), 2)' "$scratch/other.pickle"
check diff_says_why_a_trace_cannot_be_compared sh -c '
	"$1" diff "$2/whole.json" "$2/empty" 2>&1 | grep -q "/empty is a folder: name a file in it" &&
	"$1" diff "$2/empty.json" "$2/whole.json" 2>&1 | grep -q "/empty.json is empty: record it again" &&
	"$1" diff "$2/whole.json" "$2/other.pickle" 2>&1 | grep -q "whole.json is a trace, .*/other.pickle is none: give two of one kind"' sh "$pmtop" "$scratch"
check diff_says_that_a_trace_is_cut_off sh -c 'head -c 300000 "$2/whole.json" > "$2/part.json"; "$1" diff "$2/whole.json" "$2/part.json" 2>&1 >/dev/null | grep -q "^pmtop: .*part.json: the trace ends early"' sh "$pmtop" "$scratch"
check a_folder_of_xplanes_says_what_to_do sh -c '"$1" trace "$2/tf" 2>&1 | grep -q "only XPlane files"' sh "$pmtop" "$scratch"

# Memory snapshots, beside what their maker knows: tests/python/made_snapshots.py
for protocol in 2 5; do
	python3 tests/python/made_snapshots.py "$scratch/$protocol.pickle" 2000 $protocol > "$scratch/truth"
	"$pmtop" trace --json "$scratch/$protocol.pickle" > "$scratch/snapshot"
	check "snapshot_of_protocol_${protocol}_is_as_made" python3 - "$scratch/truth" "$scratch/snapshot" << 'END'
import json, sys
truth, found = (json.load(open(path)) for path in sys.argv[1:])
device, = found["devices"]
peak = device["history"]["peak"]
by_line = lambda rows: {f'{row["file"]}:{row["line_number"]}' if "file" in row else "": row["bytes"] for row in rows}
assert (device["requested_bytes"], device["reserved_bytes"]) == (truth["requested_bytes"], truth["reserved_bytes"]), device
assert by_line(found["lines"]) == truth["lines"], found["lines"]
assert (peak["live_bytes"], peak["event"], by_line(peak["lines"])) == (truth["peak_bytes"], truth["peak_event"], truth["peak_lines"]), peak
assert by_line(device["history"]["last_out_of_memory_lines"]) == truth["lines"] and device["history"]["events"] == truth["events"]
END
done
check keys_of_snapshots_are_in_the_manual python3 - "$scratch/snapshot" << 'END'
import json, re, sys
manual = set(re.findall(r"[a-z_]+", open("man/pmtop-trace.1").read().partition("A memory snapshot has")[2].partition(".Sh EXAMPLES")[0]))
missing = set(re.findall(r'"([a-z_]+)":', open(sys.argv[1]).read())) - manual
sys.exit(f"not in man/pmtop-trace.1: {missing}" if missing else 0)
END
python3 tests/python/made_snapshots.py "$scratch/before.pickle" 900 > "$scratch/truth"
gzip -k "$scratch/before.pickle"
"$pmtop" trace "$scratch/before.pickle.gz" > "$scratch/text"
check snapshot_of_gzip_shows_lines grep -q '^ .* u/model.py:21 forward$' "$scratch/text"
check snapshot_fits_80_columns python3 -c 'import sys; sys.exit([line for line in open(sys.argv[1], encoding="utf-8") if len(line) > 81] or 0)' "$scratch/text"
check diff_of_snapshots_is_by_growth sh -c '"$1" diff "$2/before.pickle.gz" "$2/5.pickle" | grep -q "^allocated .* MB .* %$"' sh "$pmtop" "$scratch"
python3 -c 'import pickle, sys; pickle.dump({"segments": [print]}, open(sys.argv[1], "wb"), 4)' "$scratch/evil.pickle"
check code_in_a_snapshot_is_refused sh -c '"$1" trace "$2" 2>&1 | grep -q "evil.pickle: refused: opcode STACK_GLOBAL at byte [0-9]* would run code"' sh "$pmtop" "$scratch/evil.pickle"
printf '{"traceEvents": [{"ph": "X", "name": "k", "cat": "kernel", "ts": 1, "dur": 2, "args": {"device": 0, "stream": 7}}]}' > "$scratch/beside.json"
"$pmtop" trace "$scratch/beside.json" "$scratch/5.pickle" > "$scratch/text" 2> "$scratch/said"
check snapshots_beside_traces_are_left_out_with_one_line sh -c 'grep -q "^GPU 0" "$1/text" && [ "$(grep -c . "$1/said")" = 1 ] && grep -q "memory snapshots are left out" "$1/said"' sh "$scratch"
head -c 50000 "$scratch/5.pickle" > "$scratch/cut.pickle"
check a_cut_snapshot_is_shown sh -c '"$1" trace "$2" 2>&1 | grep -q "ends early, at byte 50000"' sh "$pmtop" "$scratch/cut.pickle"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
