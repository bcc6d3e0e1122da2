#!/bin/sh
# pmtop why-died: planted ends of commands that pmtop started, all at once; a process that it did not start; a recording and a log.
pmtop=$PMTOP_BUILD/pmtop
scratch=$(mktemp -d)
cgroup=
trap '[ -z "$cgroup" ] || rmdir "$cgroup"; rm -rf "$scratch"' EXIT
export HOME="$scratch" LC_ALL=C.UTF-8
passed=0 failed=0
cd "$scratch" || exit 1

# end NAME COMMAND...: recorded, with its own folder of state.
end() {
	name=$1
	shift
	mkdir "$name"
	XDG_STATE_HOME=$scratch/$name timeout 60 "$pmtop" record -o "$name/a.pmtop" -- "$@" > "$name/log" 2>&1 &
}
# say NAME CAUSE PATTERN ARGUMENT...: what why-died says of it.
say() {
	name=$1 cause=$2 pattern=$3
	shift 3
	XDG_STATE_HOME=$scratch/${name%%:*} timeout 60 "$pmtop" why-died --json "$@" > out 2> err
	if grep -q "\"cause\":\"$cause\"" out && grep -Eq -- "$pattern" out; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "not ok: $name"; cat out err; fi
}

pause='import os, sys, time; time.sleep(0.8)'
end sigkill  sh -c 'sleep 0.8; kill -9 $$'
end segfault python3 -c "$pause; os.kill(os.getpid(), 11)"
end error    python3 -c "$pause; {}['lr']"
end memory   python3 -c "$pause
class OutOfMemoryError(RuntimeError): __module__ = 'torch'
raise OutOfMemoryError('CUDA out of memory. Tried to allocate 2.00 GiB.')"
end exit     python3 -c "$pause; sys.exit(1)"
end timeout  python3 -c "$pause; print('[rank0]:[E1124 x.cpp:629] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=231)', flush=True); os.abort()"
end disk     python3 -c "$pause; open('/dev/full', 'w').write('x' * 100000)"
end key      python3 -c "$pause; os.kill(os.getpid(), 2); time.sleep(9)"
end sigterm  sh -c 'sleep 0.8; kill -TERM $$'
end fine     python3 -c "$pause"
end child    python3 -c "$pause; sys.stderr.write('''Traceback (most recent call last):
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
  rank      : 1 (local_rank: 1)
  exitcode  : -9 (pid: 4711)
'''); sys.exit(1)"
# A memory limit, of cgroup v2 or v1, where this machine lets us.
for try in /sys/fs/cgroup:memory.max:cgroup.procs /sys/fs/cgroup/memory:memory.limit_in_bytes:cgroup.procs; do
	folder=${try%%:*}/pmtop-test-$$ limit=${try#*:} limit=${limit%%:*}
	mkdir "$folder" 2>/dev/null || continue
	if [ -e "$folder/$limit" ] && echo 60000000 2>/dev/null > "$folder/$limit"; then cgroup=$folder; break; fi
	rmdir "$folder"
done
[ -z "$cgroup" ] || end oom sh -c "echo \$\$ > $cgroup/cgroup.procs; exec python3 -c '$pause
x = [bytearray(1000000) for i in range(200)]'"

# Not a child of pmtop, with its output in a file.
python3 -c "import time; time.sleep(3); raise ValueError('lr is nan')" > "$scratch/other" 2>&1 &
other=$!
mkdir live
say live exception '"exit_status":1.*"exception":"ValueError: lr is nan"' $other
wait

say sigkill killed             '"signal":9'
say segfault crash             'Segmentation fault'
say error exception            "KeyError: 'lr'"
say memory gpu_out_of_memory   'Tried to allocate'
say exit exit_status           '"exit_status":1'
say timeout nccl_timeout       'a rank did not join a collective'
say disk disk_full             'No space left'
say key interrupted            'Ctrl-C'
say sigterm terminated         '"signal":15'
say fine finished              'finished normally'
say child child_failed         'rank 1, signal 9 .Killed., pid 4711'
[ -z "$cgroup" ] || say oom oom_kill 'out-of-memory killer'
say error:recording exception  "KeyError: 'lr'" error/a.pmtop
say error:log exception        "KeyError: 'lr'" error/log

gzip -c error/log > log.gz
if "$pmtop" why-died log.gz 2>&1 | grep -q '^pmtop: log.gz is compressed: unpack it first$'; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "not ok: log.gz"; fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
