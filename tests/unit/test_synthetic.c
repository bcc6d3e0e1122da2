/* The synthetic run: the same each time, without impossible values, and with a scenario for every warning. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
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
#define LARGEST_PID 4194304

/* -- a run in a model -- */

struct emitted {
	struct synthetic *synthetic;
	struct sample_set set;
	struct model *model;
	struct alerts alerts;
	struct settings settings;
	int64_t now_ns;
};

static void begin(struct emitted *emitted, const char *which)
{
	struct model_options options;
	struct reason reason;
	*emitted = (struct emitted){ .now_ns = START_NS };
	ck_assert_int_eq(synthetic_new(which, START_NS, &emitted->synthetic, &reason), STATUS_OK);
	settings_default(&emitted->settings);
	model_options_default(&options);
	ck_assert_ptr_nonnull(emitted->model = model_new(&options));
}

static void read_once(struct emitted *emitted)
{
	sample_set_clear(&emitted->set);
	emitted->set.time_ns = emitted->now_ns;
	emitted->set.source = "synthetic";
	synthetic_emit(emitted->synthetic, emitted->now_ns, &emitted->set);
	emitted->now_ns += READING_NS;
}

/* True as soon as the rule is raised. */
static bool goes_on_until(struct emitted *emitted, double seconds, const char *rule)
{
	for (int64_t end_ns = emitted->now_ns + llround(seconds * 1e9); emitted->now_ns < end_ns;) {
		read_once(emitted);
		model_apply(emitted->model, &emitted->set);
		explain_flagged(emitted->model);
		alerts_update(&emitted->alerts, emitted->model, &emitted->settings);
		if (rule && alerts_find_raised(&emitted->alerts, rule))
			return true;
	}
	return false;
}

static void end(struct emitted *emitted)
{
	alerts_release(&emitted->alerts);
	model_free(emitted->model);
	sample_set_release(&emitted->set);
	synthetic_free(emitted->synthetic);
}

/* -- emitted records -- */

START_TEST(the_same_seed_gives_the_same_records)
{
	struct emitted one, other;
	begin(&one, "cold-read:7");
	begin(&other, "cold-read:7");
	for (int i = 0; i < 200; i++) {
		read_once(&one);
		read_once(&other);
		ck_assert_uint_eq(one.set.count, other.set.count);
		for (size_t k = 0; k < one.set.count; k++) {
			ck_assert_int_eq(one.set.records[k].kind, other.set.records[k].kind);
			ck_assert_int_eq(one.set.records[k].time_ns, other.set.records[k].time_ns);
			if (one.set.records[k].kind == RECORD_FIGURE)
				ck_assert(one.set.records[k].figure.value == other.set.records[k].figure.value);
		}
	}
	end(&one);
	end(&other);
}
END_TEST

START_TEST(another_seed_is_another_run)
{
	struct emitted one, other;
	begin(&one, "cold-read:7");
	begin(&other, "cold-read:8");
	for (int i = 0; i < 200; i++) {
		read_once(&one);
		read_once(&other);
	}
	ck_assert_uint_ne(synthetic_truth(one.synthetic).planted[0], synthetic_truth(other.synthetic).planted[0]);
	end(&one);
	end(&other);
}
END_TEST

/* One counter of one process or device, as it was last. */
struct last_value {
	enum metric metric;
	int32_t instance;
	double value;
};

static void check_counter(struct last_value *counters, size_t *count, const struct record *record)
{
	size_t i = 0;
	if (metric_table[record->figure.metric].kind != KIND_COUNTER)
		return;
	while (
		i < *count && (counters[i].metric != record->figure.metric || counters[i].instance != record->figure.instance))
		i++;
	if (i == *count) {
		ck_assert_uint_lt(*count, 512);
		counters[(*count)++] =
			(struct last_value){ record->figure.metric, record->figure.instance, record->figure.value };
	}
	ck_assert_msg(record->figure.value >= counters[i].value, "%s of %d falls", metric_table[record->figure.metric].name,
		(int)record->figure.instance);
	counters[i].value = record->figure.value;
}

START_TEST(nothing_in_it_could_not_be)
{
	const char *help, *name = synthetic_scenario((unsigned)_i, &help);
	static struct last_value counters[512];
	size_t count = 0;
	struct emitted emitted;
	int64_t last_ns = 0;
	uint64_t next = 0;
	begin(&emitted, name);
	for (int reading = 0; reading < 250; reading++) {
		read_once(&emitted);
		ck_assert(!emitted.set.failed);
		for (size_t i = 0; i < emitted.set.count; i++) {
			const struct record *record = &emitted.set.records[i];
			ck_assert_int_le(record->time_ns, emitted.now_ns);
			if (record->kind == RECORD_FIGURE)
				check_counter(counters, &count, record);
			if (record->kind == RECORD_PROCESS_SEEN)
				ck_assert_int_gt(record->process.pid, LARGEST_PID);
			if (record->kind < RECORD_EPOCH_BEGIN)
				continue;
			ck_assert_uint_eq(record->sequence, next++);
			ck_assert_int_ge(record->time_ns, last_ns);
			last_ns = record->time_ns;
		}
	}
	end(&emitted);
}
END_TEST

START_TEST(a_synthetic_run_is_marked_as_such)
{
	struct emitted emitted;
	begin(&emitted, "");
	goes_on_until(&emitted, 1, NULL);
	ck_assert_ptr_nonnull(strstr(emitted.model->command, "synthetic"));
	ck_assert_ptr_nonnull(strstr(emitted.model->runs[0].name, "synthetic"));
	end(&emitted);
}
END_TEST

START_TEST(unknown_scenarios_are_refused)
{
	struct synthetic *synthetic = NULL;
	struct reason reason;
	ck_assert_int_eq(synthetic_new("nonsense", 0, &synthetic, &reason), STATUS_INVALID);
	ck_assert_int_eq(synthetic_new("clean:x", 0, &synthetic, &reason), STATUS_INVALID);
	ck_assert_int_eq(synthetic_new("clean:", 0, &synthetic, &reason), STATUS_INVALID);
	ck_assert_int_eq(synthetic_new("clean:-1", 0, &synthetic, &reason), STATUS_INVALID);
	ck_assert_ptr_null(synthetic);
}
END_TEST

/* The guides' shares and spreads, beyond which a healthy run often is. */
static bool is_about_shares(const struct alert *alert)
{
	static const char *const rules[] = { "variance", "slow_forward", "slow_backward", "bottleneck",
		"consider_optimizing", "slow_line", "slow_drift" };
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (strcmp(alert->rule, rules[i]) == 0)
			return true;
	return false;
}

START_TEST(no_warning_where_nothing_is_wrong)
{
	static const char *const sound[] = { "clean", "accumulation", "bare", "no-counters", "gpu-hidden", "gpu-cache" };
	struct emitted emitted;
	begin(&emitted, sound[_i]);
	for (int second = 0; second < 60; second++) {
		goes_on_until(&emitted, 1, NULL);
		for (size_t i = 0; i < emitted.alerts.count; i++)
			ck_assert_msg(emitted.alerts.list[i].severity == SEVERITY_INFO && !is_about_shares(&emitted.alerts.list[i]),
				"%s: %s", sound[_i], emitted.alerts.list[i].message);
	}
	ck_assert_uint_eq(emitted.model->runs[0].flagged_count, 0);
	end(&emitted);
}
END_TEST

static const struct {
	const char *scenario, *rule;
} raised[] = {
	{ "slow-first", "slow_first_batch" },
	{ "data-bound", "data_loading" },
	{ "forward-bound", "slow_forward" },
	{ "backward-bound", "slow_backward" },
	{ "slow-answers", "latency_over_sla" },
	{ "cold-read", "flagged_batches" },
	{ "slow-fetch", "slow_period" },
	{ "kinds", "two_kinds" },
	{ "leak", "memory_growth" },
	{ "leak-fast", "memory_limit_near" },
	{ "spikes", "memory_spike" },
	{ "big", "high_memory" },
	{ "memory-full", "machine_memory" },
	{ "memory-of-others", "machine_memory_others" },
	{ "thrashing", "swapping" },
	{ "container-full", "container_memory" },
	{ "throttled", "throttled" },
	{ "disk-full", "disk_full" },
	{ "disk-busy", "busy_disk" },
	{ "shm-full", "shm_full" },
	{ "cpu-full", "busy_machine" },
	{ "io-wait", "io_wait" },
	{ "worker-gone", "worker_gone" },
	{ "worker-stuck", "worker_on_disk" },
	{ "worker-stopped", "worker_stopped" },
	{ "gpu-heat", "gpu_throttled_heat" },
	{ "gpu-power-limit", "gpu_throttled_power" },
	{ "gpu-waits-for-data", "loading_cpu_bound" },
	{ "gpu-waits-for-disk", "loading_io_bound" },
	{ "gpu-underused", "gpu_underused" },
	{ "gpu-waits-for-host", "gpu_waits_for_host" },
	{ "gpu-copies", "gpu_waits_for_copies" },
	{ "gpu-small-kernels", "gpu_hollow" },
	{ "gpu-fp32", "tensor_cores_idle" },
	{ "gpu-leak", "gpu_memory_growing" },
	{ "gpu-leak", "gpu_full_soon" },
	{ "gpu-fragmented", "gpu_memory_growing" },
	{ "gpu-memory-full", "gpu_memory_full" },
	{ "gpu-neighbour", "gpu_others" },
	{ "gpu-lost", "gpu_lost" },
	{ "gpu-lost", "stall" },
	{ "pcie-narrow", "pcie_link_below" },
	{ "ecc", "gpu_ecc_uncorrected" },
	{ "cpu-heat", "cpu_throttled_heat" },
};

START_TEST(every_warning_can_be_raised)
{
	struct emitted emitted;
	begin(&emitted, raised[_i].scenario);
	ck_assert_msg(
		goes_on_until(&emitted, 180, raised[_i].rule), "%s does not raise %s", raised[_i].scenario, raised[_i].rule);
	end(&emitted);
}
END_TEST

/* Only the announced batches are slow. */
START_TEST(planted_batches_are_slow)
{
	struct emitted emitted;
	size_t found = 0;
	begin(&emitted, "sleep:3");
	goes_on_until(&emitted, 60, NULL);
	struct synthetic_truth truth = synthetic_truth(emitted.synthetic);
	for (uint64_t i = 0; i < truth.planted_count; i++)
		for (size_t k = 0; k < emitted.model->runs[0].flagged_count; k++)
			found += emitted.model->runs[0].flagged[k].batch.index +
					emitted.model->runs[0].flagged[k].batch.epoch * synthetic_epoch_batches() ==
				truth.planted[i];
	ck_assert_uint_ge(found, truth.planted_count - 3);
	ck_assert_uint_eq(found, emitted.model->runs[0].flagged_count);
	end(&emitted);
}
END_TEST

static Suite *synthetic_suite(void)
{
	Suite *suite = suite_create("synthetic");
	TCase *tests = tcase_create("synthetic");
	const char *help;
	int scenarios = 0;
	while (synthetic_scenario((unsigned)scenarios, &help))
		scenarios++;
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, the_same_seed_gives_the_same_records);
	tcase_add_test(tests, another_seed_is_another_run);
	for (int i = 0; i < scenarios; i += STRIDE)
		tcase_add_loop_test(tests, nothing_in_it_could_not_be, i, i + 1);
	tcase_add_test(tests, a_synthetic_run_is_marked_as_such);
	tcase_add_test(tests, unknown_scenarios_are_refused);
	tcase_add_loop_test(tests, no_warning_where_nothing_is_wrong, 0, 6);
	for (int i = 0; i < (int)(sizeof raised / sizeof *raised); i += STRIDE)
		tcase_add_loop_test(tests, every_warning_can_be_raised, i, i + 1);
	tcase_add_test(tests, planted_batches_are_slow);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void) { return suite_run(synthetic_suite()); }
