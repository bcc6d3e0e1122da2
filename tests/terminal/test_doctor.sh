#!/bin/sh
# pmtop doctor: rows, exit codes, JSON; with a target that publishes, one that does not, and none.
pmtop=$PMTOP_BUILD/pmtop trainer=$PMTOP_BUILD/tests/workloads/trainer
scratch=$(mktemp -d)
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8 TERM=xterm-256color
unset NO_COLOR COLORTERM
passed=0 failed=0
trap 'kill $trainer_pid $sleeper_pid 2>/dev/null; rm -rf "$scratch"' EXIT

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; sed 's/^/    /' "$scratch/out" "$scratch/err" | head -n 60; }

# doctor NAME CODE -- ARGUMENT ...: the exit code, and nothing on standard error unless it is 2, 3 or 4.
doctor() {
	name=$1 code=$2
	shift 3
	timeout 20 "$pmtop" doctor "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null
	got=$?
	if [ "$got" -ne "$code" ]; then not_ok "$name: exit $got, not $code"; return; fi
	if [ "$code" -le 1 ] && [ -s "$scratch/err" ]; then not_ok "$name: something on standard error"; return; fi
	if [ "$code" -ge 2 ] && [ "$(wc -l < "$scratch/err")" -ne 1 ]; then not_ok "$name: not one line on standard error"; return; fi
	ok
}
has() { grep -Eq -- "$2" "$scratch/out" && ok || not_ok "$1"; }
has_not() { grep -Eq -- "$2" "$scratch/out" && not_ok "$1" || ok; }

doctor machine_is_looked_at_without_a_target 0 --
has version_is_reported                      '^  ok +version +[0-9]'
has missing_config_is_no_fault           '^  off +pmtop\.yaml +no .*pmtop\.yaml: default settings'
has shm_is_reported                          '^  (ok|missing) +/dev/shm '
has a_pipe_is_no_terminal                '^  off +screen +standard output is not a terminal'
has last_line_counts                     '^[0-9]+ ok, [0-9]+ missing, [0-9]+ off; nothing that pmtop requires is missing$'
has_not a_pipe_gets_no_color             "$(printf '\033')"
has nvidia_is_looked_for                 '^  (ok|missing|off) +NVIDIA driver '
has drm_is_looked_for                    '^  (ok|missing|off) +(renderD[0-9]+|AMD, Intel, others) '
has paranoid_level_is_reported               '^  (ok|missing) +permission to count +perf_event_paranoid is -?[0-9]'
has kernel_counters_are_opened           "^  (ok|missing) +software counters "
has cpu_counters_are_opened              "^  (ok|missing) +hardware counters "
has libpfm_is_loaded                     '^  (ok|missing) +libpfm4 '
has energy_is_looked_for                 '^  (ok|missing) +CPU energy '
has heat_is_looked_for                   '^  (ok|missing) +temperatures '
doctor nvml_may_be_left_closed 0 -- --no-nvml
has nvml_is_left_closed                  '^  off +NVIDIA library +turned off'
doctor color_may_be_asked_for 0 -- --color=always
has asked_for_color_is_there             "$(printf '\033\\[32m')ok"

LC_ALL=C doctor another_locale 0 --
has another_locale_is_missed             '^  missing +characters +the locale is not UTF-8'
has another_locale_gets_a_remedy         '^ +> export LC_ALL=C\.UTF-8$'
LC_ALL=C grep -q '[^ -~]' "$scratch/out" && not_ok another_locale_writes_ascii_only || ok

doctor json 0 -- --json
python3 -c '
import json, sys
o = json.load(open(sys.argv[1]))
assert o["is_complete"] is True and o["version"], o
assert {c["state"] for c in o["checks"]} <= {"ok", "missing", "off"}
assert all(c["text"] for c in o["checks"]), o
assert {c["group"] for c in o["checks"]} == {"pmtop", "terminal", "machine", "GPUs", "counters", "energy and temperatures"}' "$scratch/out" && ok || not_ok json_has_every_row

mkdir -p "$XDG_CONFIG_HOME/pmtop"
printf 'flags:\n  mad: many\n' > "$XDG_CONFIG_HOME/pmtop/pmtop.yaml"
doctor bad_config_is_essential 1 --
has bad_config_is_named_with_its_line    '^  missing +pmtop\.yaml +.*pmtop\.yaml:2:'
has bad_config_is_reported_in_the_last_line  'something that pmtop requires is missing$'
doctor another_config_that_is_not_there 1 -- --config="$scratch/nothere.yaml"
rm "$XDG_CONFIG_HOME/pmtop/pmtop.yaml"
mkdir -p "$XDG_CONFIG_HOME/pmtop/rules"
printf 'mine:\n  nonsense: 1\n' > "$XDG_CONFIG_HOME/pmtop/rules/mine.yaml"
doctor bad_rule_is_essential 1 --
has bad_rule_is_named_with_its_line      '^  missing +rules +.*mine\.yaml:2:'
rm -r "$XDG_CONFIG_HOME/pmtop/rules"

sleep 0 & dead=$!
wait $dead
doctor dead_process_is_not_found 3 -- -p $dead
doctor unknown_run_is_not_found 3 -- -s nobody
doctor csv_is_refused 2 -- --format=csv

KINETO_USE_DAEMON=1 sleep 1000 & sleeper_pid=$!
doctor unpublished_process 0 -- -p $sleeper_pid
has unpublished_process_is_named         "^process $sleeper_pid, sleep"
has traces_of_pytorch_have_their_way     "^  ok +traces +process $sleeper_pid has KINETO_USE_DAEMON: its PyTorch asks every 5 s\$"
has unpublished_batches_are_missing      '^  missing +batches +no instrumentation, and no loop found whose iterations pmtop can count'
has unpublished_batches_have_a_remedy    '→ in Python, write for batch in pmtop\.batches'
has memory_is_read                       '^  ok +memory '
has gpus_of_a_process_are_reported           '^  (ok|off|missing) +GPUs '
has counters_of_a_process_are_reported       '^  (ok|off|missing) +CPU counters '
has it_is_no_python                      '^  off +Python +.*is not Python'
has it_was_not_launched                  '^  off +launch mode +not started by pmtop'
python3 -c 'import time; time.sleep(1000)' & idle_pid=$!
until grep -q '/libpython3\|/python3' /proc/$idle_pid/maps; do sleep 0.1; done
doctor idle_python 0 -- -p $idle_pid
has a_python_without_a_framework_has_one_line '→ write for batch in pmtop\.batches\(loader\)$'
kill -KILL $idle_pid
wait $idle_pid 2>/dev/null

"$trainer" --name doctored --epochs 100000 --batches 20 --step-ms 2 --workers 2 > /dev/null 2>&1 & trainer_pid=$!
waited=0
until "$pmtop" -b -n 1 --format=json -p $trainer_pid 2>/dev/null | grep -q '"epochs":\[{.*"count":[1-9]'; do
	waited=$((waited + 1)); [ $waited -lt 100 ] || break; sleep 0.1
done
doctor published_process 0 -- -p $trainer_pid
has published_run_is_named               '^  ok +batches +instrumented: run doctored, ABI '
has published_epochs_are_seen            '^  ok +epochs +[0-9]+ seen'
has evidence_is_reported                     '^  (ok|missing) +batch evidence'
has traces_say_what_to_set               "^  off +traces +KINETO_USE_DAEMON is not set for pid $trainer_pid\$"
has workers_are_counted                  '^  ok +DataLoader workers +2, 2 instrumented'
doctor by_name 0 -- -s doctored.$trainer_pid
has by_name_is_the_process               "^process $trainer_pid, "
doctor target_as_json 0 -- --json -p $trainer_pid
grep -q "\"pid\":$trainer_pid,\"is_complete\":true" "$scratch/out" && ok || not_ok target_as_json_has_its_pid
kill -KILL $trainer_pid
wait $trainer_pid 2>/dev/null
doctor what_a_killed_run_left 0 -- -s doctored.$trainer_pid
has killed_run_is_reported                   '^run doctored \(ended\)'
rm -f /dev/shm/pmtop.*."$trainer_pid".*

# Inferred steps: the line is that of the framework on the stacks, not PyTorch's.
mkdir -p "$scratch/site-packages/jax/_src"
cat > "$scratch/site-packages/jax/_src/api.py" <<'END'
import hashlib
def update(rounds): return hashlib.pbkdf2_hmac('sha256', b'a', b'b', rounds)
END
cat > "$scratch/loop.py" <<'END'
import sys
sys.path.insert(0, sys.path[0] + '/site-packages/jax/_src')
import api
for i in range(1000000):
    api.update(40000)
END
python3 "$scratch/loop.py" & loop_pid=$!
sleep 0.5
doctor without_steps 0 -- -p $loop_pid
has without_steps_the_framework_is_named '→ with JAX, import pmtop\.jax and write train_step = pmtop\.jax\.step'
doctor with_a_chosen_loop 0 -- --loop=loop.py:4 -p $loop_pid
has inferred_steps_are_named         '^  ok +batches +no instrumentation: steps inferred from `for i in range\(1000000\)`'
has inferred_steps_name_their_framework '→ for phases and causes: with JAX, import pmtop\.jax and write train_step = pmtop\.jax\.step'
kill -KILL $loop_pid
wait $loop_pid 2>/dev/null

# A library whose own start never ends is left behind in a process of its own, and the other checks follow.
cat > "$scratch/hangs.c" <<'END'
#include <unistd.h>
void nvmlInit_v2(void);
void nvmlInit_v2(void) {}
__attribute__((constructor)) static void hang(void) { for (;;) pause(); }
END
${CC:-cc} -shared -fPIC -o "$scratch/hangs.so" "$scratch/hangs.c"
PMTOP_NVML="$scratch/hangs.so" timeout 60 "$pmtop" doctor > "$scratch/out" 2> "$scratch/err" < /dev/null
[ $? -eq 0 ] && ok || not_ok library_that_hangs_does_not_keep_doctor
has library_that_hangs_is_reported           '^  missing +NVIDIA library +the check did not answer within 4 s'
has checks_after_it_are_made             "^  (ok|missing|off) +software counters "

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
