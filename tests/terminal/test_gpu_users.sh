#!/bin/sh
# Who uses a GPU: in pmtop list and pmtop doctor, with a driver's library that says what a script says, and one that hangs.
pmtop=$PMTOP_BUILD/pmtop library=$PMTOP_BUILD/tests/fake_nvml/libnvidia-ml.so.1
scratch=$(mktemp -d)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8 TERM=xterm-256color PMTOP_NVML="$library" FAKE_NVML="$scratch/node"
passed=0 failed=0
sleep 1000 & user_pid=$!
sleep 1000 & other_pid=$!
trap 'kill $user_pid $other_pid 2>/dev/null; rm -rf "$scratch"' EXIT

check() {
	name=$1
	shift
	if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "not ok: $name"; sed 's/^/    /' "$scratch/out" | head -n 30; fi
}
has() { grep -Eq -- "$1" "$scratch/out"; }
has_not() { ! grep -Eq -- "$1" "$scratch/out"; }
card() { printf 'gpu NVIDIA H100 80GB HBM3\nuuid GPU-%s\npci 0:%s:0\nmemory 80Gi\nused 40Gi\nreserved 500Mi\n' "$1" "$2"; }

{ echo 'driver 580.82.07'; card a 23; echo "process $user_pid compute 30000M"; card b 24; echo "process $user_pid compute 12000M"; echo "process $other_pid compute 500M"; } > "$FAKE_NVML"

timeout 20 "$pmtop" --version > "$scratch/out" 2>&1
check the_version_shows_the_library   has "^NVML +$library\$"
PMTOP_NVML=/nonexistent timeout 20 "$pmtop" --version > "$scratch/out" 2>&1
check the_version_shows_what_is_missing has '^NVML +not found'
timeout 20 "$pmtop" list > "$scratch/out" 2>&1
check a_gpu_user_has_a_row            has "^$user_pid +sleep .* 0, 1: 42\.0 GB +running +not instrumented: pmtop -p $user_pid"
check each_has_its_own                has "^$other_pid +sleep .* 1: 500 MB +running"
check the_larger_comes_first          awk -v a="$user_pid" -v b="$other_pid" '$1 == a { first = NR } $1 == b { second = NR } END { exit !(first && first < second) }' "$scratch/out"
timeout 20 "$pmtop" list --json > "$scratch/out" 2>&1
check json_has_each_gpu               has "\"pid\":$user_pid,.*\"gpus\":\[\{\"gpu\":\"0\",\"process_memory_bytes\":30000000000\},\{\"gpu\":\"1\",\"process_memory_bytes\":12000000000\}\]"

timeout 20 "$pmtop" list --no-nvml > "$scratch/out" 2>&1
check without_nvml_none_is_listed     has_not "^$user_pid "

timeout 20 "$pmtop" doctor > "$scratch/out" 2>&1
check doctor_loads_the_library        has '^  ok +NVIDIA library '
check doctor_knows_gpm                has '^  ok +GPU activity \(GPM\)'
timeout 20 "$pmtop" doctor -p $user_pid > "$scratch/out" 2>&1
check doctor_says_which_it_is_on      has '^  ok +GPUs +0, 1, 42\.0 GB of memory'

echo 'hang nvmlInit' > "$FAKE_NVML"
begun=$(date +%s)
timeout 20 "$pmtop" list > "$scratch/out" 2>&1
check a_driver_that_hangs_is_not_waited_for test $(($(date +%s) - begun)) -le 4
check the_list_comes_without_it       has '^PID '
timeout 20 "$pmtop" doctor > "$scratch/out" 2>&1
check doctor_calls_no_driver          has '^  ok +NVIDIA library '

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
