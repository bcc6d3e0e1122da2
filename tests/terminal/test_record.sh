#!/bin/sh
# Keeping a run: pmtop record, -w and collect, on the real program: limits, names, what ends them, and what the disk, the reader and the terminal do to
# them. Faults of tests/README.md: 40, 41, 44, 46, 48.
pmtop=$PMTOP_BUILD/pmtop trainer=$PMTOP_BUILD/tests/workloads/trainer
scratch=$(mktemp -d)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" XDG_STATE_HOME="$scratch/state" LC_ALL=C.UTF-8
passed=0 failed=0 jobs= run=kept$$
trap 'kill $trainer_pid 2>/dev/null; rm -f /dev/shm/pmtop.*."$trainer_pid".*; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 2

check() {  # NAME: the last command's exit status says how it went; FILE… are shown where it failed
	if [ $? -eq 0 ]; then passed=$((passed + 1)); return; fi
	failed=$((failed + 1)); echo "not ok: $1"; shift
	for file in "$@"; do sed "s/^/    $file: /" "$file" | cut -c 1-300 | tail -n 8; done
}
# An index stands at its end: its last eight bytes are its own offset.
is_closed() { at=$(tail -c 8 "$1" | od -An -tu8); [ "$(tail -c +$((at + 1)) "$1" 2>/dev/null | head -c 4)" = pmtB ]; }
# It is played without a loss and has batches.
is_whole() { "$pmtop" -b -n 1000 --format=json -r "$1" > "$1.json" 2>&1 && tail -n 1 "$1.json" | grep -q '"batch":{"count":[1-9].*"lost_events":0'; }
count_of() { tail -n 1 "$1" | sed 's/.*"batch":{"count":\([0-9]*\).*/\1/'; }
until_there() { waited=0; until [ -s "$1" ]; do waited=$((waited + 1)); [ $waited -lt 100 ] || return 1; sleep 0.05; done; }

"$trainer" --name $run --epochs 100000 --batches 40 --step-ms 4 --workers 1 > /dev/null 2>&1 &
trainer_pid=$!
waited=0
until "$pmtop" list 2>/dev/null | grep -q $run || [ $waited -ge 100 ]; do waited=$((waited + 1)); sleep 0.1; done

# -- all at once, for each takes a while ---------------------------------------------------------------------------------------------
"$pmtop" record -p $trainer_pid -o limited.pmtop --for=1.5 -d 0.1 > limited.out 2> limited.err; echo $? > limited.code & jobs="$jobs $!"
"$pmtop" record --demo=bare -o sized.pmtop --max-size=110k --rotate=20k -d 0.05 > sized.out 2> sized.err; echo $? > sized.code & jobs="$jobs $!"
(ulimit -f 40; "$pmtop" record --demo -o full.pmtop -d 0.05 > full.out 2> full.err; echo $? > full.code) & jobs="$jobs $!"
"$pmtop" record -s $run -d 0.1 --for=0.5 > named.out 2> named.err; echo $? > named.code & jobs="$jobs $!"
"$pmtop" record -p $trainer_pid -o term.pmtop -d 0.1 > term.out 2> term.err & term=$!
"$pmtop" record -p $trainer_pid -o hangup.pmtop -d 0.1 > hangup.out 2> hangup.err & hangup=$!
(trap '' HUP; exec "$pmtop" record -p $trainer_pid -o nohup.pmtop -d 0.1 > nohup.out 2> nohup.err) & nohup=$!
ASAN_OPTIONS=handle_segv=0:${ASAN_OPTIONS:-} "$pmtop" record -p $trainer_pid -o crash.pmtop -d 0.1 > crash.out 2> crash.err & crash=$!
{ "$pmtop" record --demo -o head.pmtop --for=1.5 -d 0.1 2> head.err; echo $? > head.code; } | head -n 1 > head.out & jobs="$jobs $!"
"$pmtop" -b -w both.pmtop -n 15 -d 0.1 --format=json -p $trainer_pid > both.out 2> both.err; echo $? > both.code & jobs="$jobs $!"
"$pmtop" record -o own.pmtop -d 0.1 -- "$trainer" --name own --epochs 2 --batches 50 --step-ms 4 --workers 0 > own.out 2> own.err; echo $? > own.code & jobs="$jobs $!"
"$pmtop" record -o status.pmtop -d 0.1 -- sh -c 'sleep 0.3; exit 3' > status.out 2> status.err; echo $? > status.code & jobs="$jobs $!"
"$pmtop" record -o outlives.pmtop -d 0.1 --for=0.2 -- sh -c 'sleep 1; echo done > outlives.done; exit 4' > outlives.out 2> outlives.err; echo $? > outlives.code & jobs="$jobs $!"
"$pmtop" collect -p $trainer_pid -d 0.1 --for=1 2> remote.err | sh -c '"$0" -b --format=json -r -' "$pmtop" > remote.out; echo $? > remote.code & jobs="$jobs $!"
{ "$pmtop" collect -p $trainer_pid -d 0.1 --for=1 2> stalled.err; echo $? > stalled.code; } | { head -c 3000; sleep 2; cat; } | "$pmtop" -b --format=json -r - > stalled.out & jobs="$jobs $!"
{ "$pmtop" collect -p $trainer_pid -d 0.1 2> cut.err; echo $? > cut.code; } | timeout 2 cat | head -c -1000 | "$pmtop" -b --format=json -r - > cut.out 2> cut.out2; echo $? > cut.player & jobs="$jobs $!"
mkfifo stuck; sleep 30 < stuck & reader=$!
"$pmtop" collect -p $trainer_pid -d 0.05 > stuck 2> stuck.err & stuck=$!
"$pmtop" collect -p $trainer_pid -d 0.1 --only=process,system --for=0.5 > only.pmtop 2> only.err; echo $? > only.code & jobs="$jobs $!"
"$pmtop" collect -d 0.1 -- sh -c 'echo spoilt; sleep 0.4; exit 5' > quiet.pmtop 2> quiet.err; echo $? > quiet.code & jobs="$jobs $!"

until_there crash.pmtop && until_there term.out
"$pmtop" record -p $trainer_pid -o term.pmtop > second.out 2> second.err; echo $? > second.code
sleep 1
kill -TERM $term $stuck; kill -HUP $hangup $nohup; kill -SEGV $crash
wait $crash 2>/dev/null; crash_code=$?
wait $term; term_code=$?
wait $stuck; stuck_code=$?
kill $reader && echo was reading > stuck.reader
wait $hangup; hangup_code=$?
kill -0 $nohup; check hang_up_that_is_ignored_ends_nothing
kill -TERM $nohup; wait $nohup
for job in $jobs; do wait "$job"; done

# -- record ---------------------------------------------------------------------------------------------------------------------------
[ "$(cat limited.code)" = 0 ] && [ ! -s limited.err ] && head -n 1 limited.out | grep -q '^pmtop: recording trainer [0-9]* to limited.pmtop.*1\.500 s'
check time_limit_is_said_and_kept limited.out limited.err
tail -n 1 limited.out | grep -q '^pmtop: recorded 1\.[0-9]* s to limited.pmtop: [0-9.]* kB, nothing lost$' && grep -q "^pmtop: $run: .* batches, " limited.out && is_closed limited.pmtop && is_whole limited.pmtop
check summary_says_what_was_recorded limited.out limited.err
[ "$(cat sized.code)" = 0 ] && [ "$(cat sized*.pmtop | wc -c)" -le 110000 ] && [ "$(cat sized*.pmtop | wc -c)" -gt 90000 ] && grep -q 'recording stopped ..:..: size limit reached; complete up to then' sized.out
check all_files_together_are_bounded sized.out sized.err
[ -e sized.1.pmtop ] && is_whole sized.pmtop && is_whole sized.1.pmtop && is_closed sized.pmtop && is_closed sized.1.pmtop
check each_file_is_read_by_itself sized.pmtop.json sized.1.pmtop.json
[ "$(cat full.code)" = 1 ] && [ "$(wc -l < full.err)" -eq 1 ] && grep -q '^pmtop: recording stopped ..:..: file too large; complete up to then' full.err && is_whole full.pmtop
check full_disk_is_said_and_what_was_written_is_whole full.out full.err
[ "$(cat named.code)" = 0 ] && name=$(ls pmtop-$run-$trainer_pid-*.pmtop) && grep -q "to $name" named.out && is_closed "$name"
check name_is_made_and_said named.out named.err
[ $term_code = 0 ] && [ ! -s term.err ] && is_closed term.pmtop && is_whole term.pmtop && grep -q '^pmtop: recorded' term.out
check sigterm_closes_the_file term.out term.err
[ $hangup_code = 0 ] && is_closed hangup.pmtop
check hang_up_closes_the_file hangup.out hangup.err
is_closed nohup.pmtop && is_whole nohup.pmtop
check it_goes_on_after_a_hang_up_that_is_ignored nohup.out nohup.err
[ $crash_code -gt 128 ] && ! is_closed crash.pmtop && is_whole crash.pmtop
check crash_leaves_all_that_was_recorded crash.out crash.err
[ "$(cat second.code)" = 2 ] && [ "$(cat second.err)" = 'pmtop: term.pmtop is being recorded by another pmtop: choose another name' ]
check second_recorder_is_refused_by_name second.err
[ "$(cat head.code)" = 0 ] && [ ! -s head.err ] && [ "$(wc -l < head.out)" -eq 1 ] && is_closed head.pmtop && is_whole head.pmtop
check reader_of_its_lines_that_leaves_ends_nothing head.out head.err
[ "$(cat own.code)" = 0 ] && is_whole own.pmtop && [ "$(count_of own.pmtop.json)" = 100 ]
check command_of_our_own_is_recorded_from_its_begin own.out own.err
[ "$(cat status.code)" = 3 ] && is_closed status.pmtop
check exit_status_is_kept status.out status.err
[ "$(cat outlives.code)" = 4 ] && [ -e outlives.done ] && is_closed outlives.pmtop
check command_outlives_the_limit_of_its_recording outlives.out outlives.err
"$pmtop" record -o own.pmtop -- touch started > again.out 2> again.err; [ $? = 2 ] && [ ! -e started ] && grep -q 'own.pmtop already exists' again.err
check nothing_is_started_for_a_name_that_is_taken again.err
"$pmtop" record -o none/of/it.pmtop -- touch started 2> folder.err; [ $? = 1 ] && [ ! -e started ] && grep -q 'No such file or directory' folder.err
check folder_that_is_not_there_is_named folder.err

# -- -b -w ----------------------------------------------------------------------------------------------------------------------------
[ "$(cat both.code)" = 0 ] && [ "$(wc -l < both.out)" -eq 15 ] && [ ! -s both.err ] && is_closed both.pmtop && is_whole both.pmtop && [ "$(count_of both.out)" = "$(count_of both.pmtop.json)" ]
check recorded_while_printing both.err
"$pmtop" -b -r both.pmtop -w copy.pmtop > copy.out 2> copy.err; [ $? = 2 ] && [ ! -e copy.pmtop ] && grep -q 'tee' copy.err
check recording_of_a_recording_is_refused copy.err

# -- collect --------------------------------------------------------------------------------------------------------------------------
[ "$(cat remote.code)" = 0 ] && [ ! -s remote.err ] && grep -q "\"run\":\"$run\"" remote.out && [ "$(count_of remote.out)" -gt 50 ]
check stream_is_watched_from_elsewhere remote.err
[ "$(cat stalled.code)" = 0 ] && [ ! -s stalled.err ] && tail -n 1 stalled.out | grep -q '"lost_events":0' && [ "$(count_of stalled.out)" -gt 50 ]
check reader_that_stalls_gets_all_of_it stalled.err
[ $stuck_code = 0 ] && [ ! -s stuck.err ] && [ -s stuck.reader ]
check reader_that_takes_nothing_keeps_nobody stuck.err
[ "$(cat cut.code)" = 0 ] && [ ! -s cut.err ] && [ "$(cat cut.player)" = 0 ] && grep -q "\"run\":\"$run\"" cut.out
check stream_that_is_cut_ends_quietly_on_both_sides cut.code cut.player cut.err cut.out2 cut.out
[ "$(cat only.code)" = 0 ] && [ ! -s only.err ] && "$pmtop" -b --format=json -r only.pmtop > only.out && tail -n 1 only.out | grep -q '"rss_bytes"' && ! grep -q '"batch":' only.out
check only_the_sources_asked_for only.err
"$pmtop" collect -p $trainer_pid --only=region,fnord 2> fnord.err | cat > fnord.out; [ ! -s fnord.out ] && grep -q '^pmtop: unknown source fnord: the sources are process, .*region.*gpu$' fnord.err
check unknown_source_gets_the_list fnord.err
[ "$(cat quiet.code)" = 5 ] && [ ! -s quiet.err ] && ! grep -q spoilt quiet.pmtop && [ "$(head -c 4 quiet.pmtop)" = pmtB ]
check output_of_a_command_is_not_in_the_stream quiet.err
"$pmtop" collect --demo -d 0.05 > /dev/full 2> dev.err; [ $? = 1 ] && [ "$(wc -l < dev.err)" -eq 1 ] && grep -q 'standard output: No space left on device' dev.err
check stream_that_cannot_be_written_is_a_failure dev.err

# -- a disk that is really full, where one may be mounted ---------------------------------------------------------------------------------
if unshare -rm sh -c 'mkdir disk && mount -t tmpfs -o size=64k none disk' 2> mount.err; then
	unshare -rm sh -c 'mount -t tmpfs -o size=64k none disk && "$0" record --demo -o disk/run.pmtop -d 0.05 > disk.out 2> disk.err; echo $? > disk.code; cp disk/run.pmtop disk.pmtop' "$pmtop"
	[ "$(cat disk.code)" = 1 ] && grep -q 'recording stopped ..:..: no space left on device; complete up to then: the data up to then is in disk/run.pmtop' disk.err && is_whole disk.pmtop
	check disk_without_space_is_said disk.err disk.out
else
	echo "skipped: nothing may be mounted here"
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
