#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/export/export.h"
#include "src/export/json/json.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"
#include "tests/support/fixture.h"

static struct script script;
static struct alerts alerts;
static struct buffer out;

static void setup(void)
{
	script_open(&script, NULL);
	script_process(&script, 0, 100, 1, "train.py", true);
	script_apply(&script, 0);
	out = (struct buffer)BUFFER_INIT;
}

static void teardown(void)
{
	buffer_release(&out);
	script_close(&script);
}

static void emit_event(double at_s, unsigned number, enum perf_role role, const char *name)
{
	struct record *record = script_add(&script, RECORD_PERF_EVENT, at_s);
	record->perf_event.event = number;
	record->perf_event.role = role;
	record->perf_event.name = name;
}

static void emit(double at_s, unsigned event, double value, double counted_ratio)
{
	struct record *record = script_add(&script, RECORD_PERF_COUNT, at_s);
	record->perf_count.pid = 100;
	record->perf_count.event = event;
	record->perf_count.value = value;
	record->perf_count.counted_ratio = counted_ratio;
}

static void assert_holds(const char *expressions)
{
	char command[4096];
	buffer_clear(&out);
	export_json(&out, script.model, &alerts, 0, INT64_C(1763632140000000000));
	snprintf(command, sizeof command, "python3 tests/support/json_object.py %s", expressions);
	FILE *python = popen(command, "w");
	ck_assert_ptr_nonnull(python);
	fputs(out.data, python);
	ck_assert_msg(pclose(python) == 0, "%.3000s", out.data);
}

START_TEST(counted_events_are_exported)
{
	emit_event(1, 0, PERF_ROLE_TASK_CLOCK, "task-clock");
	emit_event(1, 1, PERF_ROLE_CYCLES, "cycles");
	emit_event(1, 2, PERF_ROLE_INSTRUCTIONS, "instructions");
	emit_event(1, 3, PERF_ROLE_STALLED_BACK, "CYCLE_ACTIVITY:STALLS_TOTAL");
	emit_event(1, 4, PERF_ROLE_FLOPS, "FP_ARITH_INST_RETIRED");
	for (int at = 1; at <= 2; at++) {
		emit(at, 0, at * 2e9, 1);
		emit(at, 1, at * 5e9, 0.5);
		emit(at, 2, at * 10e9, 0.5);
		emit(at, 3, at * 1e9, 0.5);
		script_apply(&script, at);
	}
	assert_holds(
		"'o[\"counters\"][\"cpus\"] == 2 and o[\"counters\"][\"ipc\"] == 2 and o[\"counters\"][\"clock_hz\"] == 2.5e9' "
		"'o[\"counters\"][\"stalled_back_ratio\"] == 0.2 and \"flops_per_s\" not in o[\"counters\"] and \"mfu_ratio\" "
		"not in o[\"counters\"]' "
		"'[e[\"role\"] for e in o[\"counters\"][\"events\"]] == [\"cpu_time\", \"cycles\", \"instructions\", "
		"\"stalled_back_end\"]' "
		"'o[\"counters\"][\"events\"][1] == {\"name\": \"cycles\", \"role\": \"cycles\", \"per_s\": 5e9, \"total\": "
		"10e9, \"counted_ratio\": 0.5}' "
		"'o[\"counters\"][\"processes\"] == [{\"pid\": 100, \"total\": {\"task-clock\": 4e9, \"cycles\": 10e9, "
		"\"instructions\": 20e9, \"CYCLE_ACTIVITY:STALLS_TOTAL\": 2e9}}]'");
}
END_TEST

START_TEST(without_counters_nothing_is_exported)
{
	emit_event(1, 0, PERF_ROLE_TASK_CLOCK, "task-clock");
	script_apply(&script, 1);
	assert_holds("'\"counters\" not in o'");
}
END_TEST

START_TEST(mfu_needs_no_counter)
{
	struct run_state state = { .samples_per_batch = 10 };
	script_state(&script, &state);
	script_meta(&script, "flops_per_sample", "2e9");
	script_meta(&script, "peak_flops", "400e9");
	const double steps[] = { 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 };
	script_steps(&script, 1, steps, sizeof steps / sizeof *steps);
	assert_holds("'abs(o[\"counters\"][\"mfu_ratio\"] - 0.5) < 1e-6 and len(o[\"counters\"]) == 1'");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("JSON of counters");
	TCase *cases = tcase_create("JSON of counters");
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, counted_events_are_exported);
	tcase_add_test(cases, without_counters_nothing_is_exported);
	tcase_add_test(cases, mfu_needs_no_counter);
	suite_add_tcase(suite, cases);
	return suite_run(suite);
}
