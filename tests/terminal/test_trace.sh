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
check a_cut_trace_names_the_byte sh -c '"$1" trace "$2" 2>&1 > /dev/null | grep -q "ends early, at byte 1000000"' sh "$pmtop" "$scratch/cut.json"
check a_cut_trace_is_shown sh -c '"$1" trace "$2" 2> /dev/null | grep -q "^OPERATORS"' sh "$pmtop" "$scratch/cut.json"
check no_trace_is_refused sh -c '"$1" trace README.md 2>&1 | grep -q "README.md is no trace"' sh "$pmtop"
check no_file_is_a_failure sh -c '! "$1" trace "$2/none"' sh "$pmtop" "$scratch"

mkdir "$scratch/ranks"
cp "$trace" "$scratch/ranks/rank0.json.gz"
cp "$trace" "$scratch/ranks/rank1.json.gz"
check a_folder_is_a_run_of_ranks sh -c '"$1" trace "$2/ranks" | grep -A 3 "^RANKS" | grep -q "^rank1.json.gz"' sh "$pmtop" "$scratch"

sed 's/"dur": 233.961/"dur": 1233.961/' "$scratch/whole.json" > "$scratch/slower.json"
check diff_of_traces_ranks_by_change sh -c '"$1" diff --json "$2/whole.json" "$2/slower.json" | grep -q "\"operators\":\[{\"name\""' sh "$pmtop" "$scratch"
check diff_of_traces_as_text sh -c '"$1" diff "$2/whole.json" "$2/slower.json" | grep -q "^GPU busy .*21.0 ms"' sh "$pmtop" "$scratch"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
