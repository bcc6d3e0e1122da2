#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "tests/support/heat.h"
#include "tests/support/machine.h"
#include "tests/support/stage.h"
#include "tests/support/suite.h"

static void play(struct stage *stage, int width, int height)
{
	struct story_options options;
	story_options_default(&options);
	options.epochs = 5;
	options.batches = 1000;
	stage_open(stage, &options, width, height);
	stage_play(stage, 120);
	stage_forget_alerts(stage);
	machine_fill(stage->model);
	for (size_t i = 0; i < stage->model->process_count; i++) {
		struct process *process = &stage->model->processes[i];

		process->now[METRIC_PROCESS_DESCRIPTORS] = 12 + (double)i;
		process->write_bytes_per_s = 1e3 * (double)i;
		if (i == 2) {
			process->now[METRIC_PROCESS_STATE] = 'D';
			snprintf(process->wait, sizeof process->wait, "folio_wait_bit_common");
		}
	}
	stage_type(stage, "6");
}

static void close_stage(struct stage *stage)
{
	heat_release(stage->model);
	machine_release(stage->model);
	stage_close(stage);
}

static void expect_picture(int width, int height, enum charset charset, const char *name)
{
	struct stage stage;
	play(&stage, width, height);
	stage.canvas.charset = charset;
	stage_draw(&stage);
	stage_expect(&stage, name);
	close_stage(&stage);
}

START_TEST(the_machine_at_120_columns) { expect_picture(120, 40, CHARSET_BRAILLE, "system_120x40"); }
END_TEST
START_TEST(the_machine_at_80_columns) { expect_picture(80, 24, CHARSET_BRAILLE, "system_80x24"); }
END_TEST
START_TEST(the_machine_at_200_columns) { expect_picture(200, 60, CHARSET_BRAILLE, "system_200x60"); }
END_TEST
START_TEST(the_machine_folds_to_lines) { expect_picture(60, 16, CHARSET_BRAILLE, "system_60x16"); }
END_TEST
START_TEST(the_machine_in_ascii) { expect_picture(80, 24, CHARSET_ASCII, "system_80x24_ascii"); }
END_TEST

/* -- power and heat -- */

static void add_missing(struct stage *stage, const char *figure, const char *text, const char *remedy)
{
	sample_set_clear(&stage->set);
	stage->set.time_ns = stage->model->now_ns;
	stage->set.source = "system";
	sample_set_missing(&stage->set, stage->model->now_ns, figure, text, remedy);
	model_apply(stage->model, &stage->set);
	explain_flagged(stage->model);
}

static void expect_heat(int width, int height, enum charset charset, const char *name)
{
	struct stage stage;
	play(&stage, width, height);
	heat_fill(stage.model);
	stage.canvas.charset = charset;
	stage_draw(&stage);
	stage_expect(&stage, name);
	close_stage(&stage);
}

START_TEST(power_and_heat_at_120_columns) { expect_heat(120, 40, CHARSET_BRAILLE, "system_heat_120x40"); }
END_TEST
START_TEST(power_and_heat_at_80_columns) { expect_heat(80, 24, CHARSET_BRAILLE, "system_heat_80x24"); }
END_TEST
START_TEST(power_and_heat_at_200_columns) { expect_heat(200, 60, CHARSET_BRAILLE, "system_heat_200x60"); }
END_TEST
START_TEST(power_and_heat_fold_to_a_line) { expect_heat(60, 16, CHARSET_BRAILLE, "system_heat_60x16"); }
END_TEST
START_TEST(power_and_heat_in_ascii) { expect_heat(120, 40, CHARSET_ASCII, "system_heat_120x40_ascii"); }
END_TEST

START_TEST(a_hot_sensor_and_a_slow_cpu_are_marked)
{
	struct stage stage;
	play(&stage, 120, 40);
	heat_fill(stage.model);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "82 °C of 85 °C ⚠"));
	ck_assert(!stage_shows(&stage, "throttled by heat"));
	stage.model->energy.sensors[0].celsius = 101;
	stage.model->energy.throttles_per_s = 0.5;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "101 °C of 100 °C ⚠"));
	ck_assert(stage_shows(&stage, "throttled by heat          0.50  times per second ⚠"));
	stage_resize(&stage, 80, 24);
	ck_assert(stage_shows(&stage, "CPU 101 °C of 100 °C ⚠"));
	ck_assert(stage_shows(&stage, "throttled by heat ⚠"));
	close_stage(&stage);
}
END_TEST

START_TEST(an_unreadable_meter_is_reported_beside_a_readable_one)
{
	struct stage stage;
	play(&stage, 120, 40);
	heat_fill(stage.model);
	struct energy *energy = &stage.model->energy;
	energy->cpu_watts = energy->cpu_joules = energy->cpu_joules_per_batch = energy->co2_g = energy->grid_g_per_kwh =
		NAN;
	const size_t meters = energy->meter_count;
	energy->meter_count = 0;
	add_missing(&stage, "CPU energy", "energy_uj is readable by root only", "chmod");
	energy->gpu_watts = 612;
	energy->gpu_joules = 73440;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "CPUs, memory           –  energy_uj is readable by root"));
	ck_assert(stage_shows(&stage, "GPUs of the run    612 W"));
	ck_assert(!stage_shows(&stage, "CO2"));
	ck_assert(!stage_shows(&stage, " 0 W"));
	energy->meter_count = meters;
	close_stage(&stage);
}
END_TEST

START_TEST(without_meters_and_sensors_nothing_of_it_is_shown)
{
	struct stage stage;
	play(&stage, 120, 40);
	ck_assert(!stage_shows(&stage, "Power"));
	ck_assert(!stage_shows(&stage, "Temperature"));
	heat_fill(stage.model);
	stage.model->energy.since_ns = 0;
	stage_draw(&stage);
	ck_assert(!stage_shows(&stage, "Power"));
	ck_assert(stage_shows(&stage, "Temperature"));
	ck_assert(stage_shows(&stage, "coretemp Package id 0     71 °C of 100 °C"));
	close_stage(&stage);
}
END_TEST

/* -- what is not known -- */

START_TEST(before_the_machine_is_read_it_says_so)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 80, 24);
	machine_forget(&stage.model->system);
	stage_type(&stage, "6+-n<>I/x\r\033");
	ck_assert(stage_shows(&stage, "pmtop has read nothing about the machine yet"));
	stage_play(&stage, 5);
	machine_forget(&stage.model->system);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "pmtop has read nothing about the machine yet"));
	ck_assert(stage_shows(&stage, "train.py"));
	add_missing(&stage, "CPU of the machine", "/proc/stat may not be read", "mount /proc without subset=pid");
	machine_forget(&stage.model->system);
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "Not read: /proc/stat may not be read."));
	ck_assert(stage_shows(&stage, "Try: mount /proc without subset=pid."));
	stage_close(&stage);
}
END_TEST

START_TEST(a_missing_figure_says_why_and_what_to_do)
{
	struct stage stage;
	play(&stage, 200, 60);
	add_missing(&stage, "pressure", "the kernel keeps no PSI", "boot with psi=1");
	add_missing(&stage, "disks", "no /proc/diskstats", "run outside the container");
	machine_fill(stage.model);
	stage.model->system.pressure_cpu_ratio = NAN;
	stage.model->system.disk_count = stage.model->system.network_count = 0;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "the kernel keeps no PSI → boot with"));
	ck_assert(stage_shows(&stage, " psi=1"));
	ck_assert(stage_shows(&stage, "no /proc/diskstats → run outside the container"));
	stage.model->system.now[METRIC_CGROUP_MEMORY_LIMIT] = stage.model->system.cgroup_memory_ratio = NAN;
	stage.model->system.now[METRIC_SYSTEM_SWAP] = 0;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "cgroup memory   3.10 GB no limit"));
	ck_assert(stage_shows(&stage, "swap          none"));
	stage.canvas.charset = CHARSET_BRAILLE;
	stage_resize(&stage, 60, 16);
	ck_assert(!stage_shows(&stage, "cgroup"));
	close_stage(&stage);
}
END_TEST

START_TEST(an_unread_figure_is_a_dash_and_never_zero)
{
	struct stage stage;
	play(&stage, 120, 40);
	machine_forget(&stage.model->system);
	stage.model->system.now[METRIC_SYSTEM_CPUS] = 2;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "busy –"));
	ck_assert(stage_shows(&stage, "run queue – · blocked – · load –"));
	ck_assert(stage_shows(&stage, "memory                –"));
	ck_assert(!stage_shows(&stage, " 0 %"));
	close_stage(&stage);
}
END_TEST

/* -- warnings mark their figures -- */

START_TEST(what_a_warning_is_about_is_marked)
{
	struct stage stage;
	struct alert *alert;
	play(&stage, 120, 40);
	ck_assert(!stage_shows(&stage, "⚠ "));
	alert = &stage.alerts.list[0];
	stage.alerts.count = 1;
	*alert = (struct alert){
		.rule = "busy_machine", .severity = SEVERITY_WARNING, .is_raised = true, .since_ns = stage.model->now_ns
	};
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "busy 92 % ⚠ · run"));
	alert->severity = SEVERITY_INFO;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "busy 92 % • · run"));
	alert->is_raised = false;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "busy 92 % · run"));
	close_stage(&stage);
}
END_TEST

/* -- keys -- */

static int row_of(const struct stage *stage, const char *text)
{
	int x = 0, y = -1;
	stage_find(stage, text, &x, &y);
	return y;
}

static bool is_selected(const struct stage *stage, const char *text)
{
	int x, y;
	return stage_find(stage, text, &x, &y) && stage->canvas.cells[y * stage->canvas.width + x].role == ROLE_SELECTED;
}

START_TEST(processes_can_be_sorted)
{
	struct stage stage;
	play(&stage, 200, 60);
	ck_assert_int_lt(row_of(&stage, "  48213 "), row_of(&stage, "  48214 "));
	for (int i = 0; i < 8; i++)
		stage_type(&stage, ">");
	ck_assert(stage_shows(&stage, "WRITES↓"));
	ck_assert_int_gt(row_of(&stage, "  48213 "), row_of(&stage, "  48214 "));
	stage_type(&stage, "I");
	ck_assert(stage_shows(&stage, "WRITES↑"));
	ck_assert_int_lt(row_of(&stage, "  48213 "), row_of(&stage, "  48214 "));
	stage_type(&stage, "I<");
	ck_assert(stage_shows(&stage, "READS↓"));
	close_stage(&stage);
}
END_TEST

START_TEST(a_click_on_a_heading_sorts_and_one_on_a_row_selects)
{
	struct stage stage;
	int x, y;
	play(&stage, 120, 40);
	ck_assert(is_selected(&stage, "  48213 "));
	ck_assert(stage_find(&stage, "  48215 ", &x, &y));
	stage_click(&stage, x + 4, y);
	ck_assert(is_selected(&stage, "  48215 "));
	ck_assert(stage_find(&stage, " STATE", &x, &y));
	stage_click(&stage, x + 2, y);
	ck_assert(stage_shows(&stage, "STATE↓"));
	close_stage(&stage);
}
END_TEST

START_TEST(processes_can_be_searched_also_by_where_they_wait)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "/folio_wait\r");
	ck_assert(is_selected(&stage, "waits for disk"));
	stage_type(&stage, "\033/nothing like it\r");
	ck_assert(stage_shows(&stage, "no process matches"));
	close_stage(&stage);
}
END_TEST

START_TEST(what_is_written_is_the_machine_over_time)
{
	struct buffer csv = BUFFER_INIT;
	struct stage stage;
	play(&stage, 80, 24);
	heat_fill(stage.model);
	ck_assert(screen_write(stage.screen, &csv));
	ck_assert_ptr_eq(strstr(csv.data, "time_ns,time,cpu_ratio,io_wait_ratio,memory_ratio,"), csv.data);
	ck_assert_ptr_nonnull(strstr(csv.data, ",cpu_power_w,gpu_power_w,cpu_temperature_c,cpu_clock_hz\n"));
	ck_assert(strchr("0123456789", csv.data[csv.length - 2]) != NULL); /* the clock, of the newest column */
	ck_assert_uint_gt(csv.length, 2000);
	buffer_release(&csv);
	close_stage(&stage);
}
END_TEST

/* -- sizes and hostile names -- */

static void make_hostile(struct model *model)
{
	for (int i = 0; i < DEVICES_MAX + 2 && model->system.disk_count < DEVICES_MAX; i++) {
		struct device *disk = machine_add_disk(&model->system, "0123456789012345678901234567890123456789");

		disk->busy_ratio = i % 3 == 0 ? 1e9 : i % 3 == 1 ? -1 : 0.5;
		disk->read_bytes_per_s = 1e300;
		disk->read_latency_s = 1e12;
	}
	memset(model->processes[0].wait, 'w', sizeof model->processes[0].wait - 1);
	memset(model->processes[0].command, 'c', sizeof model->processes[0].command - 1);
	model->system.cpu_ratio = 1e300;
	model->system.now[METRIC_SYSTEM_LOAD] = -5;
}

START_TEST(no_size_and_no_name_does_harm)
{
	struct stage stage;
	play(&stage, 80, 24);
	heat_fill(stage.model);
	for (int round = 0; round < 2; round++) {
		for (int width = 1; width <= 210; width += width < 45 ? 4 : 11)
			for (int height = 1; height <= 62; height += height < 24 ? 3 : 9) {
				stage_resize(&stage, width, height);
				stage_press(&stage, KEY_ARROW_DOWN);
				stage_type(&stage, ">");
				stage_click(&stage, width / 2, height / 2);
			}
		make_hostile(stage.model);
	}
	stage_resize(&stage, 120, 40);
	ck_assert(stage_shows(&stage, " more"));
	close_stage(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("system");
	TCase *tests = tcase_create("system");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, the_machine_at_120_columns);
	tcase_add_test(tests, the_machine_at_80_columns);
	tcase_add_test(tests, the_machine_at_200_columns);
	tcase_add_test(tests, the_machine_folds_to_lines);
	tcase_add_test(tests, the_machine_in_ascii);
	tcase_add_test(tests, power_and_heat_at_120_columns);
	tcase_add_test(tests, power_and_heat_at_80_columns);
	tcase_add_test(tests, power_and_heat_at_200_columns);
	tcase_add_test(tests, power_and_heat_fold_to_a_line);
	tcase_add_test(tests, power_and_heat_in_ascii);
	tcase_add_test(tests, a_hot_sensor_and_a_slow_cpu_are_marked);
	tcase_add_test(tests, an_unreadable_meter_is_reported_beside_a_readable_one);
	tcase_add_test(tests, without_meters_and_sensors_nothing_of_it_is_shown);
	tcase_add_test(tests, before_the_machine_is_read_it_says_so);
	tcase_add_test(tests, a_missing_figure_says_why_and_what_to_do);
	tcase_add_test(tests, an_unread_figure_is_a_dash_and_never_zero);
	tcase_add_test(tests, what_a_warning_is_about_is_marked);
	tcase_add_test(tests, processes_can_be_sorted);
	tcase_add_test(tests, a_click_on_a_heading_sorts_and_one_on_a_row_selects);
	tcase_add_test(tests, processes_can_be_searched_also_by_where_they_wait);
	tcase_add_test(tests, what_is_written_is_the_machine_over_time);
	tcase_add_test(tests, no_size_and_no_name_does_harm);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
