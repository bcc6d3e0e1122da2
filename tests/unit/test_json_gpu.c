#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/export/export.h"
#include "src/export/json/json.h"
#include "tests/support/script_gpus.h"
#include "tests/support/suite.h"

enum { TRAINER = 100 };

static struct script script;
static struct alerts alerts;
static struct buffer out;

static void setup(void)
{
	script_open(&script, NULL);
	script_process(&script, 0, TRAINER, 1, "train.py", true);
	alerts = (struct alerts){ .count = 0 };
	out = (struct buffer)BUFFER_INIT;
}

static void teardown(void)
{
	script_close(&script);
	buffer_release(&out);
}

static void assert_holds(const char *expressions)
{
	char command[4096];
	buffer_clear(&out);
	export_json(&out, script.model, &alerts, 0, script.model->now_ns + INT64_C(1700000000000000000));
	snprintf(command, sizeof command, "python3 tests/support/json_object.py %s", expressions);
	FILE *python = popen(command, "w");
	ck_assert_ptr_nonnull(python);
	fputs(out.data, python);
	ck_assert_msg(pclose(python) == 0, "%.3000s", out.data);
}

START_TEST(without_gpus_there_is_no_key)
{
	script_apply(&script, 1);
	assert_holds("'\"gpu\" not in o'");
}
END_TEST

START_TEST(unknown_values_of_a_gpu_have_no_key)
{
	script_gpu(&script, 0, 3, -1, 3)->uuid = "";
	script_apply(&script, 1);
	assert_holds("'o[\"gpu\"] == [{\"index\": 3, \"vendor\": \"NVIDIA\", \"name\": \"H100 80GB HBM3\", \"pci\": "
				 "\"0000:01:00.0\", \"driver\": \"nvidia 580.82\", "
				 "\"is_ours\": False, \"runs\": [], \"events\": []}]'");
}
END_TEST

static void emit_figures(double at_s)
{
	const struct {
		enum metric metric;
		double value;
	} figures[] = {
		{ METRIC_GPU_BUSY, 0.97 },
		{ METRIC_GPU_SM_ACTIVE, 0.41 },
		{ METRIC_GPU_MEMORY, 80e9 },
		{ METRIC_GPU_MEMORY_USED, 60e9 },
		{ METRIC_GPU_POWER, 650 },
		{ METRIC_GPU_POWER_LIMIT, 700 },
		{ METRIC_GPU_TEMPERATURE, 71 },
		{ METRIC_GPU_CLOCK, 1.98e9 },
		{ METRIC_GPU_CLOCK_MAX, 1.98e9 },
		{ METRIC_GPU_THROTTLE, 1 << GPU_THROTTLE_POWER_CAP | 1 << GPU_THROTTLE_HEAT_SOFTWARE },
		{ METRIC_GPU_PCIE_RECEIVED, 1e9 * at_s },
		{ METRIC_GPU_PCIE_GENERATION, 4 },
		{ METRIC_GPU_PCIE_GENERATION_MAX, 5 },
		{ METRIC_GPU_NVLINK_SENT, 2e9 * at_s },
		{ METRIC_GPU_ECC_CORRECTED, 2 },
		{ METRIC_GPU_READING, 2e6 * at_s },
		{ METRIC_GPU_THROTTLED_POWER, 5e8 * at_s },
	};
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		script_figure(&script, at_s, figures[i].metric, 0, figures[i].value);
}

START_TEST(figures_processes_and_the_runs_own_are_exported)
{
	const struct gpu_process_row rows[] = { { 7, GPU_PROCESS_COMPUTE | GPU_PROCESS_GRAPHICS, "other", 9e9, NAN },
		{ TRAINER, GPU_PROCESS_COMPUTE, "", 50e9, 0.9 } };
	script_gpu(&script, 0, 0, -1, 0);
	emit_figures(1);
	emit_figures(2);
	script_gpu_processes(&script, 2, 0, rows, 2);
	script_gauge(&script, 2, 0, STORY_ALLOCATED, 40e9);
	struct record *record = script_add(&script, RECORD_GPU_EVENT, 1.5);
	record->gpu_event.code = 94;
	record->gpu_event.text = "XID 94: contained memory error";
	script_apply(&script, 2);
	assert_holds(
		"'o[\"gpu\"][0][\"utilisation_ratio\"] == 0.97 and o[\"gpu\"][0][\"sm_active_ratio\"] == 0.41' "
		"'(o[\"gpu\"][0][\"memory_used_bytes\"], o[\"gpu\"][0][\"memory_total_bytes\"], "
		"o[\"gpu\"][0][\"process_memory_bytes\"]) == (60e9, 80e9, 50e9)' "
		"'(o[\"gpu\"][0][\"power_w\"], o[\"gpu\"][0][\"temperature_c\"], o[\"gpu\"][0][\"clock_hz\"]) == (650, 71, "
		"1.98e9)' "
		"'o[\"gpu\"][0][\"throttle\"] == [\"power_cap\", \"thermal_limit\"] and "
		"o[\"gpu\"][0][\"throttled_power_ratio\"] == 0.5' "
		"'o[\"gpu\"][0][\"pcie\"] == {\"received_bytes_per_s\": 1e9, \"generation\": 4, \"generation_max\": 5}' "
		"'o[\"gpu\"][0][\"nvlink\"] == {\"sent_bytes_per_s\": 2e9} and o[\"gpu\"][0][\"ecc\"] == {\"corrected\": 2}' "
		"'o[\"gpu\"][0][\"processes\"] == [{\"pid\": 100, \"command\": \"train.py\", \"is_ours\": True, \"kinds\": "
		"[\"compute\"], \"memory_bytes\": 50e9, \"utilisation_ratio\": 0.9}, "
		"{\"pid\": 7, \"command\": \"other\", \"is_ours\": False, \"kinds\": [\"compute\", \"graphics\"], "
		"\"memory_bytes\": 9e9}]' "
		"'o[\"gpu\"][0][\"runs\"] == [{\"pid\": 100, \"process_memory_bytes\": 50e9, \"allocated_bytes\": 40e9}]' "
		"'o[\"gpu\"][0][\"memory\"] == {\"verdict\": \"unknown\"} and o[\"gpu\"][0][\"others_memory_bytes\"] == 9e9' "
		"'o[\"gpu\"][0][\"totals\"][\"power_w\"] == {\"mean\": 650, \"max\": 650} and "
		"o[\"gpu\"][0][\"totals\"][\"reasons\"] == {\"power_cap\": 1, \"thermal_limit\": 1}' "
		"'o[\"gpu\"][0][\"events\"] == [{\"time_ns\": 1700005001500000000, \"code\": 94, \"text\": \"XID 94: contained "
		"memory error\"}]' "
		"'abs(o[\"gpu\"][0][\"reading_ratio\"] - 0.002) < 1e-9'");
}
END_TEST

START_TEST(parts_lost_gpus_and_hidden_processes_are_exported)
{
	script_gpu(&script, 0, 2, -1, 2);
	script_gpu(&script, 0, 132, 2, 0);
	script_gpu(&script, 0, 3, -1, 3)->lost = "it has fallen off the bus (XID 79)";
	script_placement(&script, 0, TRAINER, -1, "MIG-00000132");
	script_apply(&script, 1);
	assert_holds("'[(g[\"index\"], g.get(\"part_of\"), g[\"is_ours\"], g.get(\"is_ours_by_place\"), g.get(\"lost\")) "
				 "for g in o[\"gpu\"]] == "
				 "[(2, None, True, None, None), (0, 2, True, True, None), (3, None, False, None, \"it has fallen off "
				 "the bus (XID 79)\")]' "
				 "'\"processes\" not in o[\"gpu\"][1] and \"throttle\" not in o[\"gpu\"][1]'");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json_gpu");
	TCase *tests = tcase_create("json_gpu");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, without_gpus_there_is_no_key);
	tcase_add_test(tests, unknown_values_of_a_gpu_have_no_key);
	tcase_add_test(tests, figures_processes_and_the_runs_own_are_exported);
	tcase_add_test(tests, parts_lost_gpus_and_hidden_processes_are_exported);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
