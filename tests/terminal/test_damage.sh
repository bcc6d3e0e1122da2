#!/bin/sh
# A damaged recording, with the real program: each undamaged block is shown, and each command says what is lost. And what is no recording: one line.
pmtop=$PMTOP_BUILD/pmtop trainer=$PMTOP_BUILD/tests/workloads/trainer
fixtures=$(pwd)/tests/fixtures/recordings
scratch=$(mktemp -d)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" XDG_STATE_HOME="$scratch/state" LC_ALL=C.UTF-8
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; sed 's/^/    /' out err | head -n 20; }
check() { name=$1; shift; if "$@"; then ok; else not_ok "$name"; fi; }

mkfifo silent
timeout 100 "$pmtop" report ./silent > silent.out 2> silent.err < /dev/null &
silent=$!

"$pmtop" -b -d 0.1 -w run.pmtop -- "$trainer" --epochs 1 --batches 150 --step-ms 20 --workers 0 > out 2> err < /dev/null

# Flips a bit of the first dictionary, of its copy, of both, or of the third reading; zeroes the page of the first; cuts the end off.
cat > damage.py <<'END'
import struct
data = open("run.pmtop", "rb").read()
blocks, at = [], 0
while at < len(data):
    kind, length = struct.unpack_from("<H", data, at + 4)[0], struct.unpack_from("<I", data, at + 32)[0]
    blocks.append((kind, at, 40 + length))
    at += 40 + length
dictionaries = [block for block in blocks if block[0] == 2]
ticks = [block for block in blocks if block[0] == 3]
def write(name, *offsets):
    damaged = bytearray(data)
    for offset in offsets:
        damaged[offset] ^= 4
    open(name, "wb").write(damaged)
first, copy = dictionaries[0], dictionaries[1]
for share in range(9):
    write(f"first{share}.pmtop", first[1] + first[2] * share // 9)
write("copy.pmtop", copy[1] + 60)
write("both.pmtop", first[1] + 60, copy[1] + 60)
write("tick.pmtop", ticks[2][1] + 60)
page = bytearray(data)
page[first[1]:first[1] + 4096] = bytes(4096)
open("page.pmtop", "wb").write(page)
open("cut.pmtop", "wb").write(data[:ticks[-1][1] + 30])
print(first[2], sum(1 for block in blocks[:blocks.index(ticks[-1])]))
END
python3 damage.py > sizes
dictionary_bytes=$(cut -d' ' -f1 sizes)

rows() { "$pmtop" export --to=csv "$1" 2> /dev/null; }
rows run.pmtop > whole
check the_whole_has_its_batches [ "$(grep -c . whole)" -ge 150 ]
for name in first0 first1 first2 first3 first4 first5 first6 first7 first8 copy page; do
	rows $name.pmtop > got
	check "no_row_is_lost_with_$name" cmp -s whole got
done

# Every command says it, once, on standard error.
comma=$(echo "$dictionary_bytes" | sed -E 's/([0-9])([0-9]{3})$/\1,\2/')
line="^pmtop: first3.pmtop: 1 block \($comma bytes\) damaged, the rest is shown$"
says() {
	name=$1 want=$2
	shift 2
	timeout 60 "$pmtop" "$@" > out 2> err < /dev/null
	if [ "$(grep -Ec "$line" err)" -eq "$want" ]; then ok; else not_ok "$name"; fi
}
says report_says_it 1 report first3.pmtop
says once_says_it 1 --once -r first3.pmtop
says batch_says_it 1 -b -r first3.pmtop
says diff_says_it 1 diff run.pmtop first3.pmtop
says check_says_it 1 check --baseline=run.pmtop --threshold=10 first3.pmtop
for format in $("$pmtop" export --to=list | cut -d' ' -f1); do
	rm -rf exported
	says "export_to_${format}_says_it" 1 export --to="$format" -o exported first3.pmtop
done
says nothing_is_said_of_a_whole_one 0 report run.pmtop
check nothing_is_said_of_a_whole_one [ ! -s err ]

# And where there are fields, there.
has() { name=$1 pattern=$2; shift 2; timeout 60 "$pmtop" "$@" > out 2> err < /dev/null; check "$name" grep -Eq -- "$pattern" out; }
keys="\"damaged_blocks\": ?1, ?\"damaged_bytes\": ?$dictionary_bytes"
has json_has_it "$keys" report --json first3.pmtop
has jsonl_has_it "$keys" export --to=jsonl first3.pmtop
has chrome_has_it "$keys" export --to=chrome-trace first3.pmtop
has openmetrics_has_it '^pmtop_recording_damaged_blocks(\{.*\})? 1$' export --to=openmetrics first3.pmtop
has diff_json_has_it "$keys" diff --json run.pmtop first3.pmtop
has check_json_has_it "$keys" check --json --baseline=run.pmtop --threshold=10 first3.pmtop
"$pmtop" report --json run.pmtop > out 2> err
check a_whole_one_has_no_such_keys sh -c '! grep -q damaged_ out'

# Other damage: a reading, the end; and both dictionaries, where what is before the next cannot be read, and is counted.
line='^pmtop: tick.pmtop: 1 block \([0-9,]+ bytes\) damaged, the rest is shown$'
says a_reading_is_reported 1 report tick.pmtop
line='^pmtop: cut.pmtop: 30 bytes damaged, the rest is shown$'
says a_torn_end_is_reported 1 report cut.pmtop
line='^pmtop: both.pmtop: [0-9]+ blocks \([0-9,]+ bytes\) damaged, the rest is shown$'
says both_dictionaries_are_reported 1 report both.pmtop
unread=$(grep -Eo '[0-9]+ blocks' err | cut -d' ' -f1)
check what_cannot_be_read_counts_as_lost [ "${unread:-0}" -gt 2 ]

# Recordings of before, which have one dictionary at their beginning.
for old in "$fixtures"/*.pmtop; do
	timeout 60 "$pmtop" report "$old" > out 2> err < /dev/null
	check "readable: $(basename "$old")" [ $? -eq 0 ]
	check "whole: $(basename "$old")" [ ! -s err ]
done

# What is no recording ends with one line.
one_line() {
	name=$1 pattern=$2
	shift 2
	timeout 60 "$pmtop" "$@" > out 2> err < /dev/null
	code=$?
	if [ $code -gt 0 ] && [ $code -lt 124 ] && [ "$(wc -l < err)" -eq 1 ] && grep -Eq -- "$pattern" err; then ok; else not_ok "$name: exit $code"; fi
}
for path in /dev/zero /dev/null /dev/full; do
	one_line "batch_of_$path" "^pmtop: $path is a device, not a recording: " -b -r $path
	one_line "once_of_$path" "^pmtop: $path is a device, not a recording: " --once -r $path
	one_line "report_of_$path" "^pmtop: $path is a device, not a recording: " report $path
	one_line "export_of_$path" "^pmtop: $path is a device, not a recording: " export --to=csv $path
	one_line "diff_of_$path" "^pmtop: $path is a device, not a recording: " diff run.pmtop $path
	one_line "check_of_$path" "^pmtop: $path is a device, not a recording: " check --baseline=$path run.pmtop
done
one_line a_folder '^pmtop: \./ is a directory, not a recording: ' report ./
cat /dev/zero 2> /dev/null | timeout 60 "$pmtop" -b -r - > out 2> err
check zeros_through_a_pipe grep -q '^pmtop: standard input is not a recording of pmtop: ' err
mkfifo late.fifo
(sleep 0.5; cat run.pmtop > late.fifo) &
timeout 60 "$pmtop" report ./late.fifo > out 2> err < /dev/null
check a_late_writer_is_waited_for [ $? -eq 0 ]
wait $silent
[ $? -eq 1 ] && [ "$(wc -l < silent.err)" -eq 1 ] && grep -q '^pmtop: no data from ./silent for 30 s: ' silent.err && ok || { cp silent.err err; not_ok a_fifo_without_a_writer; }

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
