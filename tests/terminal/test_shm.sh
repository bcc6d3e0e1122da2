#!/bin/sh
# What pmtop list and -s say of runs that a crash left in /dev/shm, with the real program and the real trainer, in a /dev/shm of the test's own.
if [ -z "$PMTOP_OWN_SHM" ]; then
	PMTOP_OWN_SHM=1 exec unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs -o size=64m tmpfs /dev/shm && exec sh "$0"' "$0"
fi
pmtop=$PMTOP_BUILD/pmtop trainer=$PMTOP_BUILD/tests/workloads/trainer
scratch=$(mktemp -d)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8
unset NO_COLOR COLORTERM
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; sed 's/^/    /' "$scratch/out" "$scratch/err" | head -n 20; }
list() { timeout 60 "$pmtop" list "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null; }
# crash NAME: a run that is killed after its first batches.
crash() {
	"$trainer" --name "$1" --epochs 100 --workers 0 --batches 1000 --step-ms 2 > "$scratch/trainer" 2>&1 &
	victim=$!
	for _ in $(seq 300); do
		list --format=json
		python3 -c 'import json, sys
sys.exit(not any(row["pid"] == int(sys.argv[2]) and row.get("batches_in_epoch", 0) > 3 for row in json.load(open(sys.argv[1]))))' "$scratch/out" $victim && break
		sleep 0.1
	done
	kill -KILL $victim
	wait $victim 2> "$scratch/err"
}
# hint PID: the command that the list gives for an ended run.
hint() {
	python3 -c 'import json, sys
print(next(row["how"].split(": ", 1)[1] for row in json.load(open(sys.argv[1])) if row["pid"] == int(sys.argv[2]) and not row["live"]))' "$scratch/out" "$1"
}

# -- the hint can be copied into a shell, whatever the run's name
name="it's a run \$HOME with a name of more than forty bytes — größer, ünd \"quoted\""
crash "$name"
list --format=json
command=$(hint $victim)
case $command in "pmtop -s "*) ok;; *) not_ok the_list_gives_a_command;; esac
wanted=$(sh -c "set -- ${command#pmtop }; printf %s \"\$2\"" 2> "$scratch/err")
[ "$wanted" = "$name.$victim" ] && ok || not_ok the_hint_has_the_whole_name
timeout 60 "$pmtop" -s "$wanted" --once > "$scratch/out" 2> "$scratch/err" < /dev/null
[ $? -eq 0 ] && grep -q 'killed or crashed' "$scratch/out" && ok || not_ok the_hint_works

# -- a name that is none is shown without its escapes
timeout 20 "$pmtop" -b -s "$(printf '\033[31mred')" > "$scratch/out" 2> "$scratch/err" < /dev/null
grep -q 'is named \^\[\[31mred' "$scratch/err" && ok || not_ok a_wrong_name_is_shown_cleaned
grep -q "$(printf '\033')" "$scratch/err" && not_ok no_escape_reaches_the_terminal || ok

# -- the end is that of the last record, not of the file, which is as old as the run
touch -d '2001-02-03 04:05' /dev/shm/pmtop.0.$victim.*
list
grep "$victim" "$scratch/out" | grep -q '2001-02-03' && not_ok the_end_is_not_the_files_time || ok
grep "$victim" "$scratch/out" | grep -Eq 'ended ([0-9-]+ )?[0-9][0-9]:[0-9][0-9] \(killed\)' && ok || not_ok the_end_has_a_time

# -- a container that shares this /dev/shm has the same pids for other processes
rm -f /dev/shm/pmtop.*
unshare -p -f --kill-child "$trainer" --name elsewhere --epochs 100 --workers 0 --batches 1000 --step-ms 5 > "$scratch/trainer" 2>&1 &
container=$!
inside() { unshare -p -f --kill-child --mount-proc timeout 60 "$pmtop" "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null; }
for _ in $(seq 100); do
	inside list --format=json
	grep -q '"run":"elsewhere"' "$scratch/out" && break
	sleep 0.1
done
python3 -c 'import json, sys
row, = [row for row in json.load(open(sys.argv[1])) if row.get("run") == "elsewhere"]
sys.exit(not (row["live"] and "pid" not in row and "rss_bytes" not in row and "pmtop -s elsewhere.1" in row["how"]))' "$scratch/out" && ok || not_ok another_containers_run_has_no_figures_of_a_process_of_this_one
inside -s elsewhere -b --format=json -n 3 -d 0.3
python3 -c 'import json, sys
first, *_, last = map(json.loads, open(sys.argv[1]))
sys.exit(not (last["batch"]["count"] > first["batch"]["count"] and not last.get("memory", {}).get("rss_bytes")))' "$scratch/out" && ok || not_ok another_containers_run_is_watched_by_its_name
kill -KILL $container
wait $container 2> "$scratch/err"
crash last

# -- a thousand files of somebody else: whole regions of dead writers, and some with holes, which reading must not fill
python3 - << 'PYTHON'
import glob, os
page = open(glob.glob("/dev/shm/pmtop.0.*")[0], "rb").read(4096)
size = os.stat(glob.glob("/dev/shm/pmtop.0.*")[0]).st_size
for i in range(1000):
    with open("/dev/shm/pmtop.4711.%d.%016x" % (i + 1, i), "wb") as file:
        file.write(page)
        file.truncate(size)
        os.fchown(file.fileno(), 4711, 4711)
PYTHON
before=$(df --output=used /dev/shm | tail -n 1)
list --format=json
after=$(df --output=used /dev/shm | tail -n 1)
[ "$(grep -o "\"pid\": *$victim" "$scratch/out" | wc -l)" -eq 1 ] && ok || not_ok ones_own_crashed_run_is_listed_beside_a_thousand_files
grep -q 'more than 512 runs' "$scratch/err" && ok || not_ok what_is_left_out_is_said
[ $((after - before)) -le 64 ] && ok || { not_ok holes_are_not_filled; echo "    $before KiB, then $after KiB"; }

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
