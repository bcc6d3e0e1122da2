/* The synthetic node with a hardware fault: the matching rule is raised, and slow batches have it as their cause. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/causes/causes.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/model/model.h"
#include "src/rules/alerts.h"
#include "src/sources/synthetic/synthetic.h"
#include "tests/support/model_parts.h"
#include "tests/support/stride.h"
#include "tests/support/suite.h"

#define START_NS (INT64_C(3000) * NS_PER_S)
#define READING_NS (200 * NS_PER_MS)

static struct synthetic *synthetic;
static struct sample_set set;
static struct model *model;
static struct alerts alerts;
static struct settings settings;
static int64_t now_ns;

static void begin(const char *scenario)
{
	struct model_options options;
	struct reason reason;
	now_ns = START_NS;
	ck_assert_int_eq(synthetic_new(scenario, START_NS, &synthetic, &reason), STATUS_OK);
	settings_default(&settings);
	model_options_default(&options);
	ck_assert_ptr_nonnull(model = model_new(&options));
}

static void end(void)
{
	alerts_release(&alerts);
	model_free(model);
	sample_set_release(&set);
	synthetic_free(synthetic);
}

static const struct alert *raised(const char *rule) { return alerts_find_raised(&alerts, rule); }

static void go_on(double seconds, const char *until)
{
	for (int64_t end_ns = now_ns + llround(seconds * 1e9); now_ns < end_ns && !(until && raised(until));
		 now_ns += READING_NS) {
		sample_set_clear(&set);
		set.time_ns = now_ns;
		set.source = "synthetic";
		synthetic_emit(synthetic, now_ns, &set);
		model_apply(model, &set);
		explain_flagged(model);
		alerts_update(&alerts, model, &settings);
	}
}

static const struct {
	const char *scenario, *rule;
	double within_s;
} cases[] = {
	{ "gpu-heat", "gpu_throttled_heat", 180 },
	{ "gpu-power-cap", "gpu_throttled_power", 180 },
	{ "gpu-waits-for-data", "gpu_waits_for_data", 120 },
	{ "gpu-waits-for-data", "loading_cpu_bound", 120 },
	{ "gpu-waits-for-disk", "loading_io_bound", 120 },
	{ "gpu-underused", "gpu_underused", 120 },
	{ "gpu-waits-for-host", "gpu_waits_for_host", 120 },
	{ "gpu-copies", "gpu_waits_for_copies", 120 },
	{ "gpu-small-kernels", "gpu_hollow", 120 },
	{ "gpu-leak", "gpu_memory_growing", 180 },
	{ "gpu-memory-full", "gpu_memory_full", 60 },
	{ "gpu-neighbour", "gpu_others", 180 },
	{ "gpu-lost", "gpu_lost", 120 },
	{ "pcie-narrow", "pcie_link_below", 120 },
	{ "ecc", "gpu_ecc_uncorrected", 120 },
	{ "ecc", "gpu_reported", 120 },
};

/* The driver's report has the same fault. */
START_TEST(a_lost_gpu_is_warned_of_once)
{
	begin("gpu-lost");
	go_on(120, "gpu_lost");
	go_on(5, NULL);
	ck_assert_ptr_nonnull(raised("gpu_lost"));
	ck_assert_ptr_null(raised("gpu_reported"));
	end();
}
END_TEST

START_TEST(a_fault_of_the_hardware_is_warned_of)
{
	begin(cases[_i].scenario);
	go_on(cases[_i].within_s, cases[_i].rule);
	const struct alert *alert = raised(cases[_i].rule);
	ck_assert_msg(alert != NULL, "%s does not raise %s", cases[_i].scenario, cases[_i].rule);
	ck_assert_uint_gt(alert->advice_count, 0);
	ck_assert_msg(!strstr(alert->message, "–") && strlen(alert->message) <= 115, "%s", alert->message);
	end();
}
END_TEST

START_TEST(a_healthy_gpu_raises_no_rule)
{
	static const char *const rules[] = {
		"gpu_waits_for_data",
		"gpu_idle_while_loading",
		"gpu_waits_for_copies",
		"gpu_waits_for_host",
		"gpu_underused",
		"outside_spans",
		"gpu_hollow",
		"tensor_cores_idle",
		"gpu_memory",
		"gpu_memory_full",
		"gpu_memory_growing",
		"gpu_full_soon",
		"gpu_others",
		"gpu_throttled_heat",
		"gpu_throttled_power",
		"gpu_throttled_hardware",
		"pcie_link_below",
		"gpu_lost",
		"gpu_reported",
		"gpu_ecc_uncorrected",
		"cpu_throttled_heat",
		"loading_cpu_bound",
		"loading_io_bound",
	};
	begin("clean");
	for (int second = 0; second < 120; second++) {
		go_on(1, NULL);
		for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
			ck_assert_msg(!raised(rules[i]), "%s: %s", rules[i], raised(rules[i])->message);
	}
	end();
}
END_TEST

/* Scenario, and the rule that it must raise. */
static const struct {
	const char *scenario, *rule;
} own[] = { { "gpu-waits-for-host", "gpu_waits_for_host" }, { "gpu-copies", "gpu_waits_for_copies" } };

static bool is_own(const char *scenario, const char *rule)
{
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (strcmp(own[i].scenario, scenario) == 0 && strcmp(own[i].rule, rule) == 0)
			return true;
	return false;
}

START_TEST(only_its_own_scenario_blames_the_host_or_copies)
{
	static const char *const rules[] = { "gpu_waits_for_host", "gpu_waits_for_copies", "outside_spans" };
	const char *help, *scenario = synthetic_scenario((unsigned)_i, &help);
	begin(scenario);
	go_on(40, NULL);
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		ck_assert_msg(is_own(scenario, rules[i]) == (raised(rules[i]) != NULL), "%s: %s", scenario,
			raised(rules[i]) ? raised(rules[i])->message : rules[i]);
	end();
}
END_TEST

/* Of the flagged batches, those whose main cause is of this kind. */
static size_t explained_by(enum cause_kind kind, const char *words)
{
	const struct run *run = &model->runs[0];
	size_t found = 0;
	for (size_t i = 0; i < run->flagged_count; i++) {
		struct explanation why;
		explain_batch(run, &run->flagged[i].batch, &run->flagged[i].baseline, run->flagged[i].batch_window, &why);
		bool is_so = why.cause_count && why.causes[0].kind == kind && strstr(why.causes[0].what, words);
		found += is_so;
	}
	return found;
}

static const struct {
	const char *scenario;
	enum cause_kind kind;
	const char *words, *brief;
} explained[] = {
	{ "gpu-heat", CAUSE_GPU_HEAT, "MHz, thermal slowdown", "GPU heat explains" },
	{ "gpu-power-cap", CAUSE_GPU_POWER, "MHz, power cap", "GPU power explains" },
};

START_TEST(slow_batches_are_explained_by_the_clock_that_fell)
{
	begin(explained[_i].scenario);
	go_on(150, NULL);
	size_t flagged = model->runs[0].flagged_count, found = explained_by(explained[_i].kind, explained[_i].words);
	ck_assert_uint_gt(flagged, 0);
	ck_assert_msg(found * 2 > flagged, "%zu of %zu", found, flagged);
	ck_assert_ptr_nonnull(raised("flagged_batches"));
	ck_assert_msg(
		strstr(raised("flagged_batches")->message, explained[_i].brief), "%s", raised("flagged_batches")->message);
	end();
}
END_TEST

START_TEST(a_node_without_a_GPU_blames_none)
{
	begin("bare");
	go_on(60, NULL);
	ck_assert_uint_eq(model->gpus.count, 0);
	for (size_t i = 0; i < alerts.count; i++)
		ck_assert_msg(strstr(alerts.list[i].rule, "gpu") == NULL, "%s", alerts.list[i].message);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules on a synthetic node");
	TCase *tests = tcase_create("rules on a synthetic node");
	const char *help;
	int scenarios = 0;
	while (synthetic_scenario((unsigned)scenarios, &help))
		scenarios++;
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, a_lost_gpu_is_warned_of_once);
	tcase_add_loop_test(tests, a_fault_of_the_hardware_is_warned_of, 0, sizeof cases / sizeof *cases);
	tcase_add_test(tests, a_healthy_gpu_raises_no_rule);
	for (int i = 0; i < scenarios; i += STRIDE)
		tcase_add_loop_test(tests, only_its_own_scenario_blames_the_host_or_copies, i, i + 1);
	tcase_add_loop_test(
		tests, slow_batches_are_explained_by_the_clock_that_fell, 0, sizeof explained / sizeof *explained);
	tcase_add_test(tests, a_node_without_a_GPU_blames_none);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
