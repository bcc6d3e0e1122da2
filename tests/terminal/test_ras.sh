#!/bin/sh
# NCCL's RAS service from outside, through a stand-in (tests/workloads/ras_server.py): all ranks, also in another network namespace; what answers badly
# is one line, and holds nobody up.
pmtop=$PMTOP_BUILD/pmtop
scratch=$(mktemp -d)
export HOME="$scratch" LC_ALL=C.UTF-8
passed=0 failed=0 servers=
trap 'kill $servers 2>/dev/null; rm -rf "$scratch"' EXIT

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; head -c 2000 "$scratch/out" | sed 's/^/    /'; }
# start FAULT: a server on a port of its own; sets `pid`.
port=$((20000 + $$ % 10000))
start() {
	port=$((port + 1))
	mkdir "$scratch/$1" && : > "$scratch/$1/ready"
	NCCL_RAS_ADDR=127.0.0.1:$port python3 "$(dirname "$0")/../workloads/ras_server.py" $port "$scratch/$1" "$1" > "$scratch/$1/ready" 2>&1 &
	servers="$servers $!"
	waited=0
	until grep -q ready "$scratch/$1/ready"; do waited=$((waited + 1)); [ $waited -lt 200 ] || break; sleep 0.05; done
	read -r _ pid _ < "$scratch/$1/ready"
}
# watch NAME PATTERN ARGUMENT...: lines of pmtop until one matches.
watch() {
	name=$1 pattern=$2
	shift 2
	timeout 30 "$pmtop" "$@" > "$scratch/out" 2>&1 &
	watcher=$! waited=0
	until grep -Eq -- "$pattern" "$scratch/out"; do
		waited=$((waited + 1))
		if [ $waited -gt 250 ] || ! kill -0 $watcher 2>/dev/null; then grep -Eq -- "$pattern" "$scratch/out" && break; not_ok "$name"; kill $watcher 2>/dev/null; return; fi
		sleep 0.1
	done
	kill $watcher 2>/dev/null
	wait $watcher 2>/dev/null
	ok
}

start dead
watch a_dead_rank_is_named_with_its_host 'rank 5 on 192\.0\.2\.2 is dead, as NCCL sees it' --json -d 0.2 -p "$pid"
timeout 20 "$pmtop" record -p "$pid" -o "$scratch/a.pmtop" --for=2s > "$scratch/out" 2>&1
timeout 20 "$pmtop" -b --json --at=end -r "$scratch/a.pmtop" > "$scratch/out" 2>&1
grep -q '"ras":{"nccl_version":"2.28.9".*"size":16,"hosts":2,"dead":\[5\]' "$scratch/out" && ok || not_ok a_recording_has_it
timeout 20 "$pmtop" doctor -p "$pid" > "$scratch/out" 2>&1
grep -q 'ok *NCCL RAS *NCCL 2.28.9: 16 ranks on 2 hosts' "$scratch/out" && ok || not_ok doctor_has_a_row
export RAS_NAMESPACE=1
start unresponsive
unset RAS_NAMESPACE
watch a_job_in_another_network_namespace_is_asked '"finding":"unresponsive"' --json -d 0.2 -p "$pid"
start old
watch an_older_nccl_is_named 'NCCL is older than 2\.28\.7.*"remedy":"use NCCL 2\.28\.7 or newer"' --json -d 0.2 -p "$pid"
start hostile
watch a_hostile_answer_is_one_line 'cut off or not what NCCL writes' --json -d 0.2 -p "$pid"
start silent
timeout 20 "$pmtop" -b -n 5 -d 0.1 -p "$pid" > "$scratch/out" 2>&1 && [ "$(wc -l < "$scratch/out")" -ge 5 ] && ok || not_ok a_service_that_does_not_answer_holds_nobody_up

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
