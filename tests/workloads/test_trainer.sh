#!/bin/sh
# The trainer learns, and it plants the faults that its arguments name, as its own account says: the other tests compare pmtop with that account.
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
train --workers 0 --fault sleep,every=30,ms=40
check fault_is_in_its_batches             "$(figure max_s) >= 0.04 && $(figure median_s) < 0.03"
check fault_names_its_batches             "\"$(sed -n 's/.*"name":"sleep".*"batches":\(\[[0-9,]*\]\).*/\1/p' "$scratch/truth")\" == \"[29,59,89]\""
train --workers 2 --fault slow-worker,worker=1,ms=30
check slow_worker_has_every_second_batch  "\"$(sed -n 's/.*"batches":\(\[1,3,5\),.*/\1/p' "$scratch/truth")\" == \"[1,3,5\""
train --workers 2 --fault worker-leak,every=1,mb=0.1
check workers_leak_is_accounted_for       "$(figure kept_bytes) == 10000000"
train --workers 0 --fault shm-leak,every=10,mb=0.4096
check shared_memory_goes_with_the_run     "$(figure kept_bytes) == 4096000 && $(ls /dev/shm | grep -c "^trainer\.$(figure pid)\$") == 0"
train --workers 0 --fault bigger,every=25,size=3
check bigger_batches_learn_too            "$code == 0 && $(figure final_loss) < 0.5 * $(figure first_loss)"
train --fault nonsense
check unknown_fault_is_refused            "$code == 2 && $(wc -l < "$scratch/err") == 1"
train --fault slow-data,every=0
check fault_out_of_range_is_refused       "$code == 2 && $(wc -l < "$scratch/err") == 1"
train --workers 0 --fault slow-worker
check what_cannot_be_planted_says_so      "$code == 77 && $(grep -c 'not here' "$scratch/err") == 1"
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
