#!/bin/sh
# Hooks on the real program: their arguments stay unchanged, and none of them can hold pmtop up or harm it.
pmtop=$PMTOP_BUILD/pmtop trainer=$PMTOP_BUILD/tests/workloads/trainer
scratch=$(mktemp -d)
config=$scratch/config/pmtop
export HOME="$scratch" XDG_CONFIG_HOME="$scratch/config" LC_ALL=C.UTF-8 SCRATCH="$scratch"
passed=0 failed=0
trap 'kill $trainer_pid 2>/dev/null; rm -rf "$scratch"' EXIT
mkdir -p "$config/rules"

ok() { passed=$((passed + 1)); }
not_ok() { failed=$((failed + 1)); echo "not ok: $1"; head -n 20 "$scratch"/reported.* "$scratch/out" "$scratch/err" 2>/dev/null; }
check() { name=$1; shift; if "$@"; then ok; else not_ok "$name"; fi; }

# Writes what it was given, each argument between brackets, then its environment and descriptors.
cat > "$scratch/hook" <<'END'
#!/bin/sh
out=$(mktemp "$SCRATCH/new.XXXXXX")
{ for word; do printf 'argument <%s>\n' "$word"; done
  env | grep '^PMTOP_'
  for fd in /proc/$$/fd/*; do readlink "$fd"; done | grep -v -e "^$SCRATCH/" -e '^/dev/null$' -e '^/proc/' | sed 's/^/descriptor /'
  printf 'input %s\n' "$(readlink /proc/$$/fd/0)"
  printf 'ignored %s\n' "$(sed -n 's/^SigIgn:[[:space:]]*//p; s/^SigBlk:[[:space:]]*//p' /proc/$$/status | tr '\n' ' ')"
} > "$out"
mv "$out" "$SCRATCH/reported.${out##*.}"
END
cat > "$scratch/sleeper" <<'END'
#!/bin/sh
echo $$ >> "$SCRATCH/sleepers"
sleep 1000 &
echo $! >> "$SCRATCH/sleepers"
wait
END
chmod +x "$scratch/hook" "$scratch/sleeper"

# A name that would do harm in a shell, in a terminal, or as an option.
name='-x"; touch hooked;'"'"'`touch hooked` $(touch hooked) {pid}'
cd "$scratch" || exit 1
"$trainer" --name "$name" --epochs 100000 --batches 40 --step-ms 2 > /dev/null 2>&1 &
trainer_pid=$!

rules() { cat > "$config/rules/test.yaml"; }
settings() { cat > "$config/pmtop.yaml"; }
watch() { rm -f "$scratch"/reported.* "$scratch"/new.*; timeout 30 "$pmtop" -b -d 0.1 "$@" -p $trainer_pid > "$scratch/out" 2> "$scratch/err" 9< /dev/zero; }
logged() { cat "$scratch"/reported.* 2>/dev/null | grep -c "$1"; }

# Quiets everything but what a test raises itself.
quiet=$("$pmtop" rules | awk 'NR > 1 && $2 !~ /=/ { printf "%s: {off: true}\n", $2 }')

printf '%s\n' "$quiet" | rules
cat >> "$config/rules/test.yaml" <<'END'
always: {figure: run.steps, above: 5, message: "{run.name} took {run.steps|percent} {{pid}", evidence: {steps: run.steps}}
END
settings <<END
hooks:
  on_warning: [$scratch/hook, "{message}", "a {run} b", "{severity} {state} {rule}", "{unknown} {pid}", '\$(touch hooked); *']
END
watch -n 12
check one_event_starts_one_hook         [ "$(logged '^PMTOP_RULE=always$')" -eq 1 ]
check message_is_one_argument           [ "$(logged '^argument < -x"; touch hooked;.* took .*{pid}>$')" -eq 1 ]
check name_is_part_of_one_argument      [ "$(logged '^argument <a -x"; touch hooked;.*{pid} b>$')" -eq 1 ]
check words_are_filled_in               [ "$(logged '^argument <warning raised always>$')" -eq 1 ]
check what_is_unknown_stays             [ "$(logged "^argument <{unknown} $trainer_pid>$")" -eq 1 ]
check no_word_is_expanded               [ "$(logged '^argument <$(touch hooked); \*>$')" -eq 1 ]
check no_shell_was_asked                [ ! -e "$scratch/hooked" ]
check environment_has_the_evidence      [ "$(logged '^PMTOP_EVIDENCE={"steps":[0-9]*}$')" -eq 1 ]
check environment_has_the_rest          [ "$(logged '^PMTOP_\(SEVERITY=warning\|STATE=raised\|PID='$trainer_pid'\)$')" -eq 3 ]
check no_descriptor_is_left_to_it       [ "$(logged '^descriptor ')" -eq 0 ]
check its_input_is_nothing              [ "$(logged '^input /dev/null$')" -eq 1 ]
# Signals 32 and 33 are the C library's own.
check no_signal_is_set_aside            [ "$(logged '^ignored 0000000000000000 0000000[01][08]0000000 ')" -eq 1 ]
check nothing_was_said                  [ ! -s "$scratch/err" ]

# Raised, cleared and raised again: the second time within least_seconds is not reported, and what was not reported is not cleared.
printf '%s\n' "$quiet" | rules
cat >> "$config/rules/test.yaml" <<'END'
on_and_off: {figure: run.steps, above: 5, clear_for: 0 s, message: "steps {run.steps}"}
END
settings <<END
hooks: {on_warning: [$scratch/hook], on_info: [$scratch/hook], least_seconds: 1000}
END
watch -n 30
check an_active_warning_is_reported_once   [ "$(logged '^PMTOP_STATE=raised$')" -eq 1 ]

# A flood: many rules, two at a time, each for ever; pmtop goes on, and ends them.
: > "$config/rules/test.yaml"; printf '%s\n' "$quiet" | rules
for i in 1 2 3 4 5 6 7 8 9; do
	echo "flood_$i: {figure: run.steps, above: 5, message: 'flood $i'}" >> "$config/rules/test.yaml"
done
settings <<END
hooks: {on_warning: [$scratch/sleeper], at_most: 2, seconds_most: 0.5, least_seconds: 0}
END
: > "$scratch/sleepers"
watch -n 8
check a_hanging_hook_holds_nobody_up    [ "$(grep -c . "$scratch/out")" -gt 3 ]
alive=0
for pid in $(cat "$scratch/sleepers"); do kill -0 "$pid" 2> /dev/null && grep -qv '^State:.Z' /proc/"$pid"/status 2> /dev/null && alive=$((alive + 1)); done
[ -s "$scratch/sleepers" ] && started=yes || started=no
check hanging_hooks_were_started        [ $started = yes ]
waited=0
while [ $alive -gt 0 ] && [ $waited -lt 50 ]; do
	sleep 0.1; waited=$((waited + 1)); alive=0
	for pid in $(cat "$scratch/sleepers"); do
		state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' /proc/"$pid"/status 2> /dev/null)
		[ -z "$state" ] || [ "$state" = Z ] || alive=$((alive + 1))
	done
done
check none_of_them_is_left              [ $alive -eq 0 ]

# One that is not there is reported once, as a warning, and pmtop goes on.
settings <<END
hooks: {on_warning: [$scratch/nothere, "{message}"], least_seconds: 0}
END
watch -n 10 --format=json
check a_missing_hook_is_a_warning       grep -q '"rule":"hook","severity":"warning","message":"cannot start the hook on_warning: .*nothere: No such file' "$scratch/out"
check it_is_reported_once                   [ "$(tail -n 1 "$scratch/out" | grep -o '"rule":"hook"' | wc -l)" -eq 1 ]
check all_refreshes_came                [ "$(wc -l < "$scratch/out")" -eq 10 ]

# A single look starts none.
settings <<END
hooks: {on_warning: [$scratch/hook]}
END
rm -f "$scratch"/reported.*
timeout 20 "$pmtop" --once -n 8 -d 0.1 -p $trainer_pid > /dev/null 2>&1
timeout 20 "$pmtop" report $trainer_pid > /dev/null 2>&1
check once_starts_no_hook      [ "$(logged .)" -eq 0 ]

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
