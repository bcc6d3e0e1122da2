#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/export/csv/csv.h"
#include "src/export/export.h"
#include "src/export/json/json.h"
#include "src/export/text/lines.h"
#include "src/export/text/report.h"
#include "tests/support/heat.h"
#include "tests/support/suite.h"
#include "tests/support/fixture.h"

static struct fixture fixture;
static struct buffer out;

static void setup(void)
{
	fixture_init(&fixture);
	heat_forget(&fixture.model.energy);
	out = (struct buffer)BUFFER_INIT;
	for (uint32_t i = 0; i < 2; i++) {
		struct epoch *epoch = fixture_begin_epoch(&fixture, 7 + i);
		fixture_add_batch(&fixture, &fixture.run.tracks[0], 0, 0.5);
		fixture_end_epoch(&fixture, epoch);
		epoch->batches = 100;
	}
}

static void teardown(void)
{
	heat_release(&fixture.model);
	buffer_release(&out);
	fixture_release(&fixture);
}

static void assert_holds(int run, const char *expressions)
{
	char command[4096];
	buffer_clear(&out);
	export_json(&out, &fixture.model, &fixture.alerts, run, INT64_C(1763632140000000000));
	snprintf(command, sizeof command, "python3 tests/support/json_object.py %s", expressions);
	FILE *python = popen(command, "w");
	ck_assert_ptr_nonnull(python);
	fputs(out.data, python);
	ck_assert_msg(pclose(python) == 0, "%.6000s", out.data);
}

static const char *report(int run)
{
	buffer_clear(&out);
	export_report(&out, &fixture.model, &fixture.alerts, run);
	return out.data;
}

static void ck_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in:\n%s", part, text);
}

START_TEST(watts_joules_batches_and_grams_are_exported)
{
	heat_fill(&fixture.model);
	assert_holds(0,
		"'o[\"energy\"][\"power_w\"] == 754 and o[\"energy\"][\"cpu_power_w\"] == 142 and "
		"o[\"energy\"][\"gpu_power_w\"] == 612' "
		"'o[\"energy\"][\"energy_j\"] == 90480 and o[\"energy\"][\"cpu_energy_j\"] == 17040' "
		"'o[\"energy\"][\"per_batch_j\"] == 150.8 and o[\"energy\"][\"gpu_per_batch_j\"] == 122.4 and "
		"o[\"energy\"][\"per_sample_j\"] == 4.7125' "
		"'abs(o[\"energy\"][\"co2_g\"] - 9.048) < 1e-9 and abs(o[\"energy\"][\"co2_per_epoch_g\"] - 1.508) < 1e-9 and "
		"o[\"energy\"][\"grid_g_per_kwh\"] == 360' "
		"'[m[\"name\"] for m in o[\"energy\"][\"meters\"]] == [\"package 0\", \"dram 0\", \"platform\"]' "
		"'o[\"energy\"][\"meters\"][2] == {\"name\": \"platform\", \"power_w\": 240, \"energy_j\": 28800}'");
}
END_TEST

START_TEST(each_epoch_says_whether_it_was_metered_whole)
{
	heat_fill(&fixture.model);
	assert_holds(0,
		"'[(e[\"index\"], e[\"ordinal\"], e[\"is_whole\"]) for e in o[\"energy\"][\"epochs\"]] == [(7, 1, False), (8, "
		"2, True)]' "
		"'o[\"energy\"][\"epochs\"][1][\"energy_j\"] == 15080 and o[\"energy\"][\"epochs\"][1][\"gpu_energy_j\"] == "
		"12240'");
	assert_holds(-1, "'\"epochs\" not in o[\"energy\"]'");
}
END_TEST

START_TEST(temperatures_are_exported_with_their_limits)
{
	heat_fill(&fixture.model);
	assert_holds(0,
		"'o[\"energy\"][\"cpu_temperature_c\"] == 71 and o[\"energy\"][\"cpu_clock_hz\"] == 3.21e9 and "
		"o[\"energy\"][\"cpu_throttles_per_s\"] == 0' "
		"'o[\"energy\"][\"temperatures\"][0] == {\"name\": \"coretemp Package id 0\", \"temperature_c\": 71, "
		"\"limit_c\": 100}' "
		"'o[\"energy\"][\"temperatures\"][2] == {\"name\": \"acpitz\", \"temperature_c\": 27.8}'");
}
END_TEST

START_TEST(unknown_values_have_no_key)
{
	assert_holds(0, "'\"energy\" not in o'");
	ck_assert_ptr_null(strstr(report(0), "ENERGY"));
	heat_fill(&fixture.model);
	fixture.model.energy.since_ns = 0;
	assert_holds(0,
		"'set(o[\"energy\"]) == {\"cpu_temperature_c\", \"cpu_clock_hz\", \"cpu_throttles_per_s\", \"temperatures\"}'");
	ck_has(report(0), "TEMPERATURES\n");
	heat_fill(&fixture.model);
	fixture.model.energy.gpu_watts = fixture.model.energy.gpu_joules = fixture.model.energy.grid_g_per_kwh =
		fixture.model.energy.co2_g = NAN;
	assert_holds(0,
		"'o[\"energy\"][\"power_w\"] == 142 and \"gpu_power_w\" not in o[\"energy\"] and \"co2_g\" not in "
		"o[\"energy\"]' "
		"'\"co2_g\" not in o[\"energy\"][\"epochs\"][0]'");
}
END_TEST

START_TEST(the_report_has_a_table_of_it)
{
	heat_fill(&fixture.model);
	const char *text = strstr(report(0), "ENERGY\n");
	ck_assert_ptr_nonnull(text);
	ck_has(text,
		"                                        Power   Since attach        A batch\n"
		"------------------------------------------------------------------------------------------\n"
		"CPUs of the machine, memory             142 W        17.0 kJ         28.4 J\n"
		"GPUs of the run                         612 W        73.4 kJ          122 J\n"
		"Both                                    754 W        90.5 kJ          151 J\n"
		"meter package 0                         120 W        14.4 kJ              –\n"
		"meter dram 0                           22.0 W        2.64 kJ              –\n"
		"meter platform                          240 W        28.8 kJ              –\n"
		"------------------------------------------------------------------------------------------\n"
		"Epoch                                    CPUs           GPUs     As metered            CO2\n"
		"------------------------------------------------------------------------------------------\n"
		"1 (partly)                              900 J        4.00 kJ        4.90 kJ         0.49 g\n"
		"2                                     2.84 kJ        12.2 kJ        15.1 kJ         1.51 g\n"
		"------------------------------------------------------------------------------------------\n"
		"A sample                           4.71 J\n"
		"CO2 since attach                   9.05 g   (at 360 g a kWh)\n"
		"CO2 an epoch                       1.51 g\n"
		"coretemp Package id 0               71 °C   (limit 100 °C)\n"
		"nvme Composite                      82 °C   (limit 85 °C)\n"
		"acpitz                              28 °C\n"
		"CPU clock                        3.21 GHz\n"
		"==========================================================================================\n");
	ck_assert_ptr_null(strstr(text, "Slowed down"));
	fixture.model.energy.throttles_per_s = 0.5;
	fixture.model.energy.gpu_joules = fixture.model.energy.gpu_watts = NAN;
	for (size_t i = 0; i < fixture.model.energy.epoch_count; i++)
		fixture.model.energy.epochs[i].gpu_joules = NAN;
	text = report(0);
	ck_has(text, "Epoch                                    CPUs            CO2\n");
	ck_has(text, "\n2                                     2.84 kJ        0.284 g\n");
	ck_has(text, "Thermal throttling                   0.50   times a second\n");
	ck_assert_ptr_null(strstr(text, "GPUs of the run"));
	ck_assert_ptr_null(strstr(text, "\nBoth"));
}
END_TEST

START_TEST(the_csv_has_columns_of_it)
{
	heat_fill(&fixture.model);
	buffer_clear(&out);
	export_csv(&out, &fixture.model, 0, 1, 1);
	ck_has(out.data, ",cpu_power_w,energy_j,energy_per_batch_j\n");
	ck_has(out.data, ",142,90480,150.8\n");
}
END_TEST

/* -- lines -- */

static const char *lines(struct lines *state)
{
	buffer_clear(&out);
	buffer_puts(&out, "");
	export_lines(&out, state, &fixture.model, &fixture.alerts, 0);
	return out.data ? out.data : "";
}

START_TEST(an_epochs_end_says_what_it_used_once_it_is_known)
{
	struct lines state;
	lines_init(&state, 0);
	fixture.run.is_live = false;
	heat_fill(&fixture.model);
	fixture.model.energy.epochs[1].is_settled = false;
	fixture.model.energy.epochs[1].is_whole = false;
	fixture.model.now_ns = fixture.epochs[1].end_ns + NS_PER_S / 2;
	const char *text = lines(&state);
	ck_has(text, "  Energy of epoch 7: CPUs 900J, GPUs 4.00kJ, 0.49g CO2 (metered in part)\n");
	ck_assert_ptr_null(strstr(text, "Energy of epoch 8"));
	fixture.model.energy.epochs[1].is_settled = fixture.model.energy.epochs[1].is_whole = true;
	ck_assert_str_eq(lines(&state), "  Energy of epoch 8: CPUs 2.84kJ, GPUs 12.2kJ, 151J a batch, 1.51g CO2\n");
	ck_assert_str_eq(lines(&state), "");
}
END_TEST

START_TEST(without_meters_there_is_no_line)
{
	struct lines state;
	lines_init(&state, 0);
	fixture.run.is_live = false;
	const char *text = lines(&state);
	ck_has(text, "Epoch end");
	ck_assert_ptr_null(strstr(text, "Energy"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json_energy");
	TCase *tests = tcase_create("json_energy");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, watts_joules_batches_and_grams_are_exported);
	tcase_add_test(tests, each_epoch_says_whether_it_was_metered_whole);
	tcase_add_test(tests, temperatures_are_exported_with_their_limits);
	tcase_add_test(tests, unknown_values_have_no_key);
	tcase_add_test(tests, the_report_has_a_table_of_it);
	tcase_add_test(tests, the_csv_has_columns_of_it);
	tcase_add_test(tests, an_epochs_end_says_what_it_used_once_it_is_known);
	tcase_add_test(tests, without_meters_there_is_no_line);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
