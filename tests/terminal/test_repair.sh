#!/bin/sh
# pmtop repair, on recordings of the real program: what it says, what it writes, and what is made of that.
pmtop=$PMTOP_BUILD/pmtop trainer=$PMTOP_BUILD/tests/workloads/trainer
scratch=$(mktemp -d)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; sed 's/^/    /' out err | head -n 20; }

# expect NAME CODE PATTERN_OUT PATTERN_ERR -- ARGUMENT ...: as in test_cli.sh; the pattern must hold for one line.
expect() {
	name=$1 code=$2 out=$3 err=$4
	shift 5
	timeout 20 "$pmtop" "$@" > out 2> err < /dev/null
	got=$?
	if [ "$got" -ne "$code" ]; then not_ok "$name: exit $got, not $code"; return; fi
	if [ -n "$out" ] && ! grep -Eq -- "$out" out; then not_ok "$name: no $out on standard output"; return; fi
	if [ -z "$err" ] && [ -s err ]; then not_ok "$name: something on standard error"; return; fi
	if [ -n "$err" ] && ! grep -Eq -- "$err" err; then not_ok "$name: no $err on standard error"; return; fi
	ok
}

# zero FILE FROM COUNT
zero() { dd if=/dev/zero of="$1" bs=1 seek="$2" count="$3" conv=notrunc 2> /dev/null; }
lost_events() { "$pmtop" -b --format=json -r "$1" 2> err | tail -n 1 | grep -o '"lost_events":[0-9]*' | cut -d: -f2; }

"$pmtop" -b -d 0.05 -w run.pmtop -- "$trainer" --epochs 1 --batches 60 --step-ms 20 --workers 0 > out 2> err < /dev/null
size=$(stat -c %s run.pmtop)

expect whole_is_said_and_nothing_is_written 0 '^run.pmtop is intact: [0-9]+ blocks, [0-9:]{8} to [0-9:]{8}, with its index$' '' -- repair run.pmtop
[ ! -e run.repaired.pmtop ] && ok || not_ok whole_is_said_and_nothing_is_written
expect whole_is_written_where_that_is_asked_for 0 '^copy.pmtop: ' '' -- repair run.pmtop -o copy.pmtop
cmp -s run.pmtop copy.pmtop && ok || not_ok the_copy_is_the_same

cp run.pmtop zeroed.pmtop
zero zeroed.pmtop $((size * 2 / 3)) 4096
expect losses_are_said 0 '^zeroed.pmtop: [0-9]+ blocks? of [0-9]+ lost, [0-9:]{8} to [0-9:]{8}; [0-9,]+ bytes belong to no block$' '' -- repair zeroed.pmtop -o mended.pmtop
expect what_was_written_has_an_index_and_the_gap 0 'lost, .* cannot be recovered: nothing to repair$' '' -- repair mended.pmtop
[ "$(lost_events zeroed.pmtop)" = "$(lost_events mended.pmtop)" ] && [ "$(lost_events mended.pmtop)" -gt 0 ] && [ "$(lost_events run.pmtop)" = 0 ] && ok || not_ok a_player_shows_the_gap

head -c $((size - 5000)) run.pmtop > crashed.pmtop
expect a_crash_has_left_no_index 0 'it has no index: it was not closed$' '' -- repair crashed.pmtop
expect then_it_has_one 0 'is intact' '' -- repair crashed.repaired.pmtop

# A hole that is larger than what is looked at at a time.
{ head -c $((size / 2)) run.pmtop; head -c 5242880 /dev/zero; tail -c +$((size / 2 + 1)) run.pmtop; } > hole.pmtop
expect a_hole_is_said 0 '[0-9,]+ bytes belong to no block' '' -- repair hole.pmtop -o filled.pmtop
"$pmtop" export --to=csv hole.pmtop > a 2> err
"$pmtop" export --to=csv filled.pmtop > b 2> err
cmp -s a b && [ "$(wc -l < b)" -gt 40 ] && ok || not_ok what_follows_a_hole_is_kept
(ulimit -f 8; "$pmtop" repair zeroed.pmtop -o cut.pmtop > out 2> err; [ $? -eq 1 ] && [ -s err ]) && ok || not_ok a_limit_on_files_is_reported

cat run.pmtop run.pmtop > twice.pmtop
expect doubled_blocks_are_written_once 0 ': [0-9]+ blocks are duplicated; its index has wrong offsets$' '' -- repair twice.pmtop
cmp -s run.pmtop twice.repaired.pmtop && ok || not_ok doubled_blocks_are_written_once

"$pmtop" --demo -b -n 40 -d 0.05 -w part.pmtop --rotate 30k > out 2> err < /dev/null
cat part.pmtop part.1.pmtop > parts.pmtop
expect the_parts_of_a_rotated_one_become_one 0 '^parts.pmtop: its index has wrong offsets$' '' -- repair parts.pmtop
expect then_its_index_is_right 0 'is intact' '' -- repair parts.repaired.pmtop

cp run.pmtop headless.pmtop
zero headless.pmtop 10 60
expect another_header_takes_the_place_of_the_first 0 ': 1 block of [0-9]+ lost, [0-9:]{8} to [0-9:]{8}; [0-9,]+ bytes belong to no block$' '' -- repair headless.pmtop
"$pmtop" -b --format=json -r headless.repaired.pmtop > a 2> err && "$pmtop" -b --format=json -r run.pmtop > b 2> err && cmp -s a b && ok || not_ok another_header_takes_the_place_of_the_first
python3 - <<'END'
import struct
data, at = bytearray(open("run.pmtop", "rb").read()), 0
while at < len(data):
    kind, length = struct.unpack_from("<H", data, at + 4)[0], struct.unpack_from("<I", data, at + 32)[0]
    if kind == 1:
        data[at + 50] ^= 1
    at += 40 + length
open("headless.pmtop", "wb").write(data)
END
rm headless.repaired.pmtop
expect without_any_header_nothing_is_known 1 '' 'blocks, but no header' -- repair headless.pmtop

"$pmtop" --demo -b -n 3 -d 0.05 -w other.pmtop > out 2> err < /dev/null
cat run.pmtop other.pmtop > both.pmtop
expect another_recording_is_left_out 0 'another recording begins at byte [0-9,]+ and is left out$' '' -- repair both.pmtop
expect a_replay_says_so_too 0 '' 'both.pmtop: another recording .pid [0-9]+ on .* follows and is left out' -- report both.pmtop

expect never_over_the_input 2 '' 'zeroed.pmtop exists already' -- repair zeroed.pmtop -o zeroed.pmtop
expect never_over_anything 2 '' 'mended.pmtop exists already' -- repair zeroed.pmtop -o mended.pmtop
expect a_file_is_needed 2 '' 'repair takes one recording' -- repair
expect one_alone 2 '' 'repair takes one recording' -- repair run.pmtop other.pmtop
expect nothing_there 3 '' 'cannot read nothere.pmtop' -- repair nothere.pmtop
expect a_folder_is_no_file 2 '' 'is not a regular file' -- repair .
head -c 100000 /dev/urandom > noise.pmtop
expect noise_is_no_recording 1 '' 'noise.pmtop is not a recording of pmtop' -- repair noise.pmtop
expect a_folder_that_is_not_there 1 '' 'cannot write' -- repair zeroed.pmtop -o nowhere/out.pmtop

"$pmtop" --demo -b -d 0.05 -w growing.pmtop > /dev/null 2>&1 < /dev/null &
recorder=$!
tries=0
until [ -s growing.pmtop ] || [ $tries -ge 100 ]; do tries=$((tries + 1)); sleep 0.05; done
expect what_is_being_recorded_is_left_alone 2 '' 'growing.pmtop is being recorded' -- repair growing.pmtop
kill $recorder
wait $recorder 2> /dev/null

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
