#!/bin/sh
# The files that pmtop makes: for their owner only, never through somebody else's link, and whole whoever else writes at the same time.
pmtop=$PMTOP_BUILD/pmtop trainer=$PMTOP_BUILD/tests/workloads/trainer
scratch=$(mktemp -d)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
umask 022

# check NAME COMMAND ...
check() {
	name=$1
	shift
	if "$@" > out 2> err < /dev/null; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "not ok: $name"; sed 's/^/    /' out err | head -n 20; fi
}
private() { [ -f "$1" ] && [ ! -L "$1" ] && [ "$(stat -c %a "$1")" = 600 ]; }
victim_is_whole() { [ "$(cat victim)" = precious ] && [ "$(stat -c %a victim)" = 644 ]; }
nothing_left() { [ -z "$(find . -type f '(' -name '*.tmp' -o -name '*.part' ')')" ]; }
save() { "$pmtop" check --save="$1" run.pmtop; }

"$pmtop" record -d 0.05 -o run.pmtop -- "$trainer" --epochs 1 --batches 100 --step-ms 20 --workers 0 > out 2> err < /dev/null
check recording_is_private private run.pmtop
echo precious > victim

# -- what is planted at a name that can be foreseen ------------------------------------------------------------------------------------------
ln -s victim base.json.part
check baseline_is_saved save base.json
check baseline_is_not_written_through_a_link victim_is_whole
check baseline_is_private private base.json
check export_is_written sh -c 'ln -s victim out.csv.$$.tmp; exec "$1" export --to=csv -o out.csv run.pmtop' sh "$pmtop"
check export_is_not_written_through_a_link victim_is_whole
check export_is_private private out.csv
check repair_is_written "$pmtop" repair run.pmtop -o mended.pmtop
check repair_is_private private mended.pmtop
ln -s victim planted.pmtop
check repair_refuses_a_link sh -c '! "$1" repair run.pmtop -o planted.pmtop' sh "$pmtop"
check record_refuses_a_link sh -c '! "$1" record -o planted.pmtop -- true' sh "$pmtop"
check neither_wrote_through_it victim_is_whole

# -- the destination itself ------------------------------------------------------------------------------------------------------------------
# In a folder like /tmp somebody else's link is replaced, one's own is followed.
mkdir -m 1777 everybodys
ln -s ../victim everybodys/theirs.csv
chown -h 65534 everybodys/theirs.csv
check export_over_their_link "$pmtop" export --to=csv -o everybodys/theirs.csv run.pmtop
check their_link_was_not_followed victim_is_whole
check their_link_was_replaced private everybodys/theirs.csv
echo old > kept.csv
chmod 640 kept.csv
ln -s ../kept.csv everybodys/ours.csv
check export_over_our_link "$pmtop" export --to=csv -o everybodys/ours.csv run.pmtop
check our_link_stays [ -L everybodys/ours.csv ]
check our_file_is_replaced cmp kept.csv out.csv
check its_mode_stays [ "$(stat -c %a kept.csv)" = 640 ]

mkfifo pipe
timeout 60 cat pipe > read.json &
check baseline_into_a_pipe timeout 60 "$pmtop" check --save=pipe run.pmtop
wait
check the_pipe_is_still_one [ -p pipe ]
check the_pipe_had_it cmp read.json base.json
ln -s /proc/self/fd/1 standard
check baseline_into_standard_output sh -c '"$1" check --save=standard run.pmtop | grep -q "pmtop summary"' sh "$pmtop"
check the_link_to_it_stays [ -L standard ]

# Nobody reads: a signal ends it all the same.
sh -c 'exec 3<> pipe; head -c 65536 /dev/zero >&3; exec sleep 60' &
reader=$!
sleep 0.2
check nobody_reads_the_pipe sh -c 'timeout -k 20 2 "$1" export --to=csv -o pipe run.pmtop; [ $? -eq 124 ]' sh "$pmtop"
kill $reader
# Somebody else's pipe in a folder like /tmp is replaced as a link is.
mkfifo -m 666 everybodys/theirs
chown 65534 everybodys/theirs
timeout 60 cat everybodys/theirs > stolen &
reader=$!
check export_over_their_pipe timeout 20 "$pmtop" export --to=csv -o everybodys/theirs run.pmtop
check their_pipe_was_replaced private everybodys/theirs
kill $reader
check their_pipe_got_nothing [ ! -s stolen ]

# Standard output that is closed is no file that is opened next.
check closed_standard_output_is_reported sh -c '"$1" --demo=gc -b -n 3 -d 0.1 -w beside.pmtop >&- 2> said; [ $? -eq 1 ] && grep -q "standard output: Bad file descriptor" said' sh "$pmtop"
check recording_beside_it_is_whole sh -c '"$1" report beside.pmtop' sh "$pmtop"
check a_recording_that_was_cut_is_a_failure sh -c 'ulimit -f 1; "$1" --demo=gc -b -n 8 -d 0.1 -w cut.pmtop > lines 2> said; [ $? -eq 1 ] && grep -q "recording stopped" said' sh "$pmtop"

# -- what is read is never replaced ----------------------------------------------------------------------------------------------------------
cp run.pmtop same.pmtop
check a_recording_is_not_replaced_by_its_baseline sh -c '"$1" check --save=same.pmtop same.pmtop; [ $? -eq 2 ] && cmp run.pmtop same.pmtop' sh "$pmtop"
rm same.pmtop

"$pmtop" record --demo --for=3s -o growing.pmtop > /dev/null 2>&1 < /dev/null &
recorder=$!
sleep 1
check a_recording_that_goes_on_is_not_replaced sh -c '"$1" check --save=growing.pmtop run.pmtop; [ $? -eq 1 ]' sh "$pmtop"
check nor_by_an_export sh -c '"$1" export --to=csv -o growing.pmtop run.pmtop; [ $? -eq 1 ]' sh "$pmtop"
wait $recorder
check it_is_whole_at_its_end "$pmtop" report growing.pmtop

# -- many at once ----------------------------------------------------------------------------------------------------------------------------
for i in 1 2 3 4 5 6 7 8; do
	( save many.json > /dev/null 2> "err.$i" < /dev/null; echo $? > "code.$i" ) &
done
wait
check all_of_eight_saved [ "$(cat code.?)" = "$(printf '0\n0\n0\n0\n0\n0\n0\n0')" ]
check one_of_them_stays cmp many.json base.json
check nothing_is_left_over nothing_left

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
