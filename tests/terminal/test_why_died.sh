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

# The same of processes that pmtop did not start, watched by -b; why-died finds the end that it noted. An earlier run's error is in the file.
# attached NAME SENTENCE PATTERN COMMAND...: the last line, a pattern of the last JSON object, and what why-died says then.
attached() {
	name=attached-$1 sentence=$2 pattern=$3
	shift 3
	mkdir "$name"
	(
		printf 'Traceback (most recent call last):\n  File "old.py", line 1, in main\nOldError: of the run before\n' > "$name/output"
		"$@" >> "$name/output" 2>&1 &
		pid=$!
		export XDG_STATE_HOME=$scratch/$name
		timeout 60 "$pmtop" -b -d 0.2 -p $pid > "$name/lines" 2> "$name/errors" &
		timeout 60 "$pmtop" --json -d 0.2 -p $pid > "$name/json"
		echo $? > "$name/code"
		wait
		"$pmtop" why-died $pid > "$name/why" 2>&1
		tail -1 "$name/lines" | grep -Eq "^  Ended: [a-z0-9.]+ \($pid\) $sentence\$" && [ ! -s "$name/errors" ] && [ "$(cat "$name/code")" = 0 ] &&
			head -1 "$name/why" | grep -Eq "^[a-z0-9.]+ \($pid\) $sentence\$" && ! grep -q OldError "$name/why" &&
			tail -1 "$name/json" | python3 -c "import json, sys; o = json.load(sys.stdin); assert $pattern" && echo good > "$name/verdict"
	) &
}
pause='import os, sys, time; time.sleep(4)'
attached error    "ended by an exception of Python: KeyError: 'lr'" "o['ended']['cause'] == 'exception' and o['ended']['exit_status'] == 1" \
	python3 -c "$pause; {}['lr']"
attached sigkill  'was killed .*SIGKILL.*'                          "o['ended']['cause'] == 'killed' and o['ended']['signal'] == 9" \
	python3 -c "$pause; os.kill(os.getpid(), 9)"
attached segfault 'crashed in native code .signal 11, Segmentation fault.' "o['ended']['cause'] == 'crash'" \
	python3 -c "$pause; os.kill(os.getpid(), 11)"
attached exit     'exited by itself with an error: exit status 3'   "o['ended']['exit_status'] == 3" python3 -c "$pause; sys.exit(3)"
attached fine     'finished normally'                               "o['ended']['cause'] == 'finished'" python3 -c "$pause"
[ -z "$cgroup" ] || attached oom "was killed by the kernel's out-of-memory killer" "o['ended']['cause'] == 'oom_kill'" \
	sh -c "echo \$\$ > $cgroup/cgroup.procs; exec python3 -c '$pause
x = [bytearray(1000000) for i in range(200)]'"
# Another user's, which its parent has not waited for: the kernel shows pmtop 0 in place of its status.
mkdir other-user
chmod 711 "$scratch"
chmod 777 other-user
python3 -c "$pause
pid = os.fork()
if pid == 0: time.sleep(1); os._exit(3)
print(pid, flush=True); time.sleep(5)" > zombie &
while [ ! -s zombie ]; do sleep 0.1; done
XDG_STATE_HOME=$scratch/other-user setpriv --reuid=65534 --regid=65534 --clear-groups "$pmtop" -b -d 0.2 -p "$(cat zombie)" > out 2> err
if tail -1 out | grep -q ' ended; its exit status is not known: pmtop did not start it$'; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "not ok: another user's"; cat out err; fi
# A home that is not there is not made.
sleep 1 &
env -u XDG_STATE_HOME HOME="$scratch/none" "$pmtop" -b -d 0.2 -p $! > out 2>&1
if tail -1 out | grep -q ' finished normally$' && [ ! -e none ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "not ok: no home"; cat out; fi

# A file that a process was given, but whose user may not read it: root shows nothing of it.
(umask 077; : > private)
setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'sleep 3; echo "MemoryError: the_secret_of_root" >&2; exit 1' 2> private &
while [ "$(stat -c %u /proc/$!)" = 0 ]; do sleep 0.05; done
"$pmtop" -b -d 0.2 -p $! > out 2>&1
if tail -1 out | grep -q ') exited by itself with an error: exit status 1$' && ! "$pmtop" why-died $! | grep -q secret; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "not ok: private"; cat out; fi
wait
for folder in attached-*; do
	if [ -e "$folder/verdict" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "not ok: $folder"; tail -n 3 "$folder"/*; fi
done

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
