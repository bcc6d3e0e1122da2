#!/bin/sh
# The trainer learns, and what it is told to do wrong it does, as its own account says: the other tests compare pmtop with that account.
trainer=$PMTOP_BUILD/tests/workloads/trainer
scratch=$(mktemp -d)
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT

# train ARGUMENT ...: a short run with its account in $scratch/truth and its exit status in $code
train() {
	rm -f "$scratch/truth"
	timeout 60 "$trainer" --epochs 2 --batches 50 --step-ms 2 --truth "$scratch/truth" "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null
	code=$?
	# What a crash leaves for pmtop -s is of no use here.
	rm -f /dev/shm/pmtop.*."$(figure pid)".*
}
figure() { [ ! -s "$scratch/truth" ] && echo '"absent"' || sed -n "s/.*\"$1\":\(\[[^]]*\]\|\"[^\"]*\"\|[^,}]*\).*/\1/p" "$scratch/truth"; }
# check NAME CONDITION: an awk condition
check() {
	if awk "BEGIN { exit !($2) }"; then passed=$((passed + 1)); return; fi
	failed=$((failed + 1))
	echo "not ok: $1: $2"
	cat "$scratch/truth" "$scratch/err" 2>/dev/null
}

train
learnt=$(figure final_loss)
check loss_falls                          "$learnt < 0.5 * $(figure first_loss)"
check learns_to_read_the_digits           "$(figure accuracy) > 0.9"
check every_batch_is_accounted_for        "$code == 0 && $(figure batches) == 100 && $(figure epochs) == 2 && $(figure validation_batches) == 8"
check says_nothing_on_standard_error      "$(wc -c < "$scratch/err") == 0"
train --workers 0
check learns_the_same_without_workers     "$(figure final_loss) == $learnt"
train --workers 3 --slow-every 25 --slow-ms 40
check learns_the_same_with_slow_data      "$(figure final_loss) == $learnt"
check planted_batches_are_named           "\"$(figure planted)\" == \"[24,49,74,99]\""
check planted_batches_are_slow            "$(figure max_s) >= 0.04 && $(figure total_s) >= 4 * 0.04"
train --slow-first-ms 60
check first_batch_is_slow                 "$(figure max_s) >= 0.06"
train --leak-mb 0.5
check leak_is_accounted_for               "$(figure leaked_bytes) == 50000000"
train --crash-at 30
check crash_is_a_segmentation_fault       "$code == 139 && $(figure batches) == 30 && $(figure ended) == \"crash\""
train --exit-at 30
check exit_ends_at_once                   "$code == 3 && $(figure batches) == 30"
train --epochs zero
check bad_option_is_refused               "$code == 2 && $(wc -l < "$scratch/err") == 1"

"$trainer" --hang-at 10 --step-ms 2 --truth "$scratch/truth" > "$scratch/out" 2> "$scratch/err" &
pid=$!
waited=0
until [ -s "$scratch/truth" ] || [ $waited -ge 100 ]; do waited=$((waited + 1)); sleep 0.1; done
check hang_is_accounted_for               "$(figure ended) == \"hang\" && $(figure batches) == 10"
kill -TERM $pid
wait $pid
code=$?
check termination_ends_it_cleanly         "$code == 0 && $(figure ended) == \"interrupted\""

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
