#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/export/csv/csv.h"
#include "src/export/export.h"
#include "src/export/exporter.h"
#include "src/export/text/lines.h"
#include "src/export/text/report.h"
#include "tests/support/script_gpus.h"
#include "tests/support/suite.h"

/* GPUs in every format: a run of ten seconds on one of two GPUs, by hand, exported set by set. */
enum { TRAINER = 100 };

static struct script script;
static struct alerts alerts;
static struct buffer out;
static struct export_scene scene;

static void drain(const struct export_scene *one) { (void)one; }

static void setup(void)
{
	script_open(&script, NULL);
	alerts = (struct alerts){ .count = 0 };
	out = (struct buffer)BUFFER_INIT;
	scene = (struct export_scene){ .model = script.model,
		.alerts = &alerts,
		.since_ns = INT64_MIN,
		.until_ns = INT64_MAX,
		.host = "",
		.out = &out,
		.drain = drain };
}

static void teardown(void)
{
	script_close(&script);
	buffer_release(&out);
}

static void emit_second(double at_s)
{
	const struct gpu_process_row row = { TRAINER, GPU_PROCESS_COMPUTE, "", 50e9, 0.9 };
	for (int32_t gpu = 0; gpu < 2; gpu++) {
		script_figure(&script, at_s, METRIC_GPU_BUSY, gpu, gpu ? 0 : 0.75);
		script_figure(&script, at_s, METRIC_GPU_POWER, gpu, gpu ? 90 : 640);
		script_figure(&script, at_s, METRIC_GPU_ENERGY, gpu, 1000 + 640 * at_s);
		script_figure(
			&script, at_s, METRIC_GPU_THROTTLE, gpu, !gpu && at_s >= 4 && at_s < 7 ? 1 << GPU_THROTTLE_HEAT : 0);
	}
	script_gpu_processes(&script, at_s, 0, &row, 1);
	script_gpu_processes(&script, at_s, 1, NULL, 0);
	for (int i = 0; i < 2; i++) {
		script_batch_begin(&script, 0, at_s - 1 + 0.5 * i, (uint64_t)i);
		script_batch_end(&script, 0, at_s - 0.55 + 0.5 * i, at_s - 1 + 0.5 * i, NAN);
	}
	if (at_s == 5) {
		struct record *record = script_add(&script, RECORD_GPU_EVENT, at_s);
		record->gpu_event.gpu = 1;
		record->gpu_event.code = 94;
		record->gpu_event.text = "contained memory error (XID 94)";
	}
	if (at_s == 8)
		script_gpu(&script, at_s, 1, -1, 1)->lost = "gone (XID 79)";
}

/* The script's own apply clears the set, which exporters still need. */
static const char *export_run(const char *name)
{
	const struct exporter *exporter = exporter_find(name);
	void *state = exporter->open(&scene);
	script_process(&script, 0, TRAINER, 1, "train.py", true);
	script_gpu(&script, 0, 0, -1, 0);
	script_gpu(&script, 0, 1, -1, 1);
	for (int at_s = 0; at_s <= 10; at_s++) {
		if (at_s)
			emit_second(at_s);
		script.set.time_ns = script_ns(at_s + 0.01);
		model_apply(script.model, &script.set);
		explain_flagged(script.model);
		if (exporter->add)
			exporter->add(state, &scene, &script.set);
		sample_set_clear(&script.set);
	}
	exporter->end(state, &scene);
	exporter->close(state);
	ck_assert(!out.failed);
	return out.data;
}

static size_t count_of(const char *text, const char *what)
{
	size_t count = 0;
	for (; (text = strstr(text, what)); text++)
		count++;
	return count;
}

static void assert_has(const char *text, const char *what)
{
	ck_assert_msg(strstr(text, what) != NULL, "no %s in %.6000s", what, text);
}

START_TEST(openmetrics_has_families_with_units_and_labels)
{
	const char *text = export_run("openmetrics");
	assert_has(text, "# TYPE pmtop_gpu_power_watts gauge\n# UNIT pmtop_gpu_power_watts watts\n");
	assert_has(
		text, "pmtop_gpu_power_watts{gpu=\"0\",vendor=\"NVIDIA\",name=\"H100 80GB HBM3\",uuid=\"GPU-00000000\"} 640\n");
	assert_has(text, "# TYPE pmtop_gpu_energy_joules counter\n");
	assert_has(text,
		"pmtop_gpu_energy_joules_total{gpu=\"0\",vendor=\"NVIDIA\",name=\"H100 80GB HBM3\",uuid=\"GPU-00000000\"} "
		"7400\n");
	assert_has(text, "pmtop_gpu_up{gpu=\"1\",vendor=\"NVIDIA\",name=\"H100 80GB HBM3\",uuid=\"GPU-00000001\"} 0\n");
	assert_has(text, "uuid=\"GPU-00000000\",reason=\"thermal_slowdown\"} 0\n");
	assert_has(text,
		"pmtop_gpu_process_memory_bytes{gpu=\"0\",vendor=\"NVIDIA\",name=\"H100 80GB HBM3\",uuid=\"GPU-00000000\"} "
		"50000000000\n");
	ck_assert_uint_eq(count_of(text, "# TYPE pmtop_gpu_power_watts "), 1);
	ck_assert_ptr_null(strstr(text, "gpu_sm_active"));
	ck_assert_str_eq(text + strlen(text) - 6, "# EOF\n");
}
END_TEST

START_TEST(series_have_columns_for_each_gpu_and_batches_for_those_of_the_run)
{
	const char *text = export_run("csv-series");
	assert_has(text, "gpu0.utilisation_ratio");
	assert_has(text, "gpu1.power_w");
	ck_assert_ptr_null(strstr(text, "gpu1.sm_active_ratio"));
	buffer_clear(&out);
	teardown();
	setup();
	text = export_run("csv");
	assert_has(text, ",gpu.utilisation_ratio,gpu.process_memory_bytes,gpu.power_w,gpu.throttled_ratio");
	assert_has(text, ",0.75,50000000000,640,1");
	assert_has(text, ",0.75,50000000000,640,0");
}
END_TEST

START_TEST(lines_show_gpus_and_their_events)
{
	const char *text = export_run("jsonl");
	ck_assert_uint_eq(count_of(text, "{\"type\":\"gpu\","), 3);
	ck_assert_uint_eq(count_of(text, "{\"type\":\"gpu_event\","), 1);
	assert_has(text,
		"\"index\":1,\"vendor\":\"NVIDIA\",\"name\":\"H100 80GB HBM3\",\"uuid\":\"GPU-00000001\",\"driver\":\"nvidia "
		"580.82\",\"lost\":\"gone (XID 79)\"}");
	assert_has(text, "\"code\":94,\"text\":\"contained memory error (XID 94)\"}");
	assert_has(text,
		"\"gpu\":{\"utilisation_ratio\":0.75,\"process_memory_bytes\":50000000000,\"power_w\":640,\"throttled_ratio\":"
		"1}");
}
END_TEST

START_TEST(traces_have_counters_and_throttle_reasons)
{
	const char *text = export_run("chrome-trace");
	assert_has(text, "\"GPU 0 use (ratio)\"");
	assert_has(text, "\"GPU 1 power (W)\"");
	assert_has(text, "\"GPU 0 memory of the run\"");
	ck_assert_ptr_null(strstr(text, "GPU 1 memory of the run"));
	assert_has(text, "\"name\":\"thermal slowdown\"");
	assert_has(text, "\"dur\":3000000");
	assert_has(text, "contained memory error (XID 94)");
}
END_TEST

START_TEST(the_report_has_the_runs_gpus)
{
	export_run("openmetrics");
	buffer_clear(&out);
	export_report(&out, script.model, &alerts, 0);
	assert_has(out.data, "\nGPUS\n");
	assert_has(out.data,
		"GPU                                Use   Power   Energy Throttle\n"
		"                                  mean    mean      all     time\n"
		"------------------------------------------------------------------------------------------\n"
		"GPU 0 H100 80GB HBM3              75 %   640 W  5.76 kJ     33 %\n"
		"    the run had up to 50.0 GB of its memory\n"
		"    throttled: thermal slowdown 33 % of the time\n"
		"==========================================================================================\n");
}
END_TEST

START_TEST(a_line_of_csv_has_the_gpus_of_the_run)
{
	export_run("openmetrics");
	buffer_clear(&out);
	export_csv(&out, script.model, 0, 0, 1);
	assert_has(out.data, ",0.75,,,50000000000,640,,");
}
END_TEST

START_TEST(lines_between_batches_show_gpu_events)
{
	struct lines lines;
	lines_init(&lines, 0);
	export_run("openmetrics");
	buffer_clear(&out);
	export_lines(&out, &lines, script.model, &alerts, 0);
	assert_has(out.data, "  GPU 1: contained memory error (XID 94)\n  GPU 1 is lost: gone (XID 79)\n");
	buffer_clear(&out);
	export_lines(&out, &lines, script.model, &alerts, 0);
	ck_assert_uint_eq(out.length, 0);
	struct gpu *gpu = &script.model->gpus.gpus[0];
	gpu->verdict = MEMORY_LEAK;
	gpu->slope_per_batch = 20.04e6;
	gpu->full_in_s = 216;
	export_lines(&out, &lines, script.model, &alerts, 0);
	gpu->verdict = MEMORY_UNKNOWN;
	gpu->full_in_s = NAN;
	export_lines(&out, &lines, script.model, &alerts, 0);
	gpu->verdict = MEMORY_PLATEAU;
	export_lines(&out, &lines, script.model, &alerts, 0);
	export_lines(&out, &lines, script.model, &alerts, 0);
	ck_assert_str_eq(out.data, "  GPU 0 memory: leak, 20.04MB a batch, full in 3:36\n  GPU 0 memory: plateau\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("export gpus");
	TCase *tests = tcase_create("export gpus");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, openmetrics_has_families_with_units_and_labels);
	tcase_add_test(tests, series_have_columns_for_each_gpu_and_batches_for_those_of_the_run);
	tcase_add_test(tests, lines_show_gpus_and_their_events);
	tcase_add_test(tests, traces_have_counters_and_throttle_reasons);
	tcase_add_test(tests, the_report_has_the_runs_gpus);
	tcase_add_test(tests, a_line_of_csv_has_the_gpus_of_the_run);
	tcase_add_test(tests, lines_between_batches_show_gpu_events);
	return suite_run(suite);
}
