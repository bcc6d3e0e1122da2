#!/bin/sh
# Recordings of real PyTorch trainings on an H100 (tests/gpu/train.py): what is said of each is what was done to it.
pmtop=$PMTOP_BUILD/pmtop here=$(cd "$(dirname "$0")/../fixtures/recordings" && pwd)
scratch=$(mktemp -d)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8 TERM=xterm-256color
unset NO_COLOR COLORTERM
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; sed 's/^/    /' "$scratch/err" | tail -n 3; }
read_end() { timeout 60 "$pmtop" -b --format=json -r "$here/h100-$1.pmtop" 2> "$scratch/err" | tail -n 1 > "$scratch/end.json"; }
# NAME, and what holds of the last object `o`, its GPU `g`, `warnings` by rule.
holds() {
	python3 -c "
import json, sys
o = json.load(open(sys.argv[1]))
g, warnings = o['gpu'][0], {row['rule']: row for row in o['warnings']}
assert $2, (o['patterns'], list(warnings))" "$scratch/end.json" 2> "$scratch/err" && ok || not_ok "$1"
}

# A loss is read every 10th step: by the host's clock that step takes 2.3 times as long, on the GPU it does not.
read_end full
holds full_has_no_slow_batch            "not o['flagged'] and not o['patterns'] and o['batch']['count'] == 201"
holds full_is_even                      "'variance' not in warnings and 'flagged_batches' not in warnings and 'slow_period' not in warnings"
holds full_runs_at_the_gpus_pace        "abs(o['recent']['p50_s'] - 0.106) < 0.002 and o['recent']['p95_s'] < 0.11"
holds full_is_healthy                   "not {'slow_backward', 'slow_forward', 'bottleneck', 'consider_optimizing'} & set(warnings)"
holds full_is_at_its_power_limit        "g['throttle'] == ['power_cap'] and warnings['gpu_throttled_power']['severity'] == 'info' and 680 < g['power_w'] <= 701"
holds full_is_busy_and_full             "g['utilisation_ratio'] > 0.95 and 0.93 < g['sm_active_ratio'] < 0.95 and 0.4 < g['tensor_active_ratio'] < 0.5"
holds full_has_its_memory               "abs(g['process_memory_bytes'] - 16210 * 2**20) < 2**20 and abs(g['memory_used_bytes'] - 16219 * 2**20) < 2**20"
holds full_has_its_allocators           "g['runs'][0]['reserved_bytes'] == 16202596352"

# Every 40th batch is three times as long, which the host does not wait for.
read_end bursts
holds bursts_are_flagged                "len(o['flagged']) == 8 and all(row['batch'] % 40 == 39 for row in o['flagged'])"
holds bursts_are_the_gpus               "all(row['clock'] == 'gpu' and row['causes'][0]['kind'] == 'gpu_work' and 2.6 < row['ratio'] < 2.9 for row in o['flagged'][1:])"
holds bursts_are_a_period               "[(row['kind'], row['period'], row['unit']) for row in o['patterns']] == [('period', 40, 'batches')]"
holds bursts_say_where                  "o['patterns'][0]['what'].startswith('backward') and 'more GPU work' in o['patterns'][0]['what']"

# 256 MB go to it from pageable memory in each step.
read_end copies
holds copies_are_the_reason             "'gpu_waits_for_copies' in warnings and 'gpu_waits_for_host' not in warnings and 'gpu_underused' not in warnings"
holds copies_have_their_rate            "4e9 < g['pcie']['received_bytes_per_s'] < 6e9 and g['pcie']['generation'] == 5 and g['pcie']['width'] == 16"
holds copies_lie_outside_all_spans      "'outside_spans' in warnings and '80 %' in warnings['outside_spans']['message']"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
