/* How much of a slow batch a slower GPU, another program on it, or hot CPUs explain; from figures made by hand. */
#include <check.h>
#include <stdio.h>

#include "src/explain/causes/causes.h"
#include "src/explain/causes/causes_words.h"
#include "src/explain/explain.h"
#include "tests/support/suite.h"
#include "tests/unit/hand_run.h"

static struct run run;
static struct batch batch;
static struct baseline baseline;
static struct batch_window batch_window;
static struct explanation why;

static void phase(uint32_t name, double this_s, double baseline_s)
{
	add_phase(batch.phases, &batch.phase_count, name, 0, this_s);
	add_phase(baseline.phases, &baseline.phase_count, name, 0, baseline_s);
	batch.step_s = batch.batch_s += this_s;
	baseline.step_s = baseline.batch_s += baseline_s;
	batch_window.seconds = batch.step_s;
	batch_window.to_ns = (int64_t)(batch.step_s * 1e9);
}

static void start(void)
{
	hand_run_init(&run);
	run.pid = 100;
	batch = (struct batch){ .step_s = 0, .has_evidence = true, .samples = 32 };
	batch.evidence = (struct evidence){ 0.08, 0.001, 50, 0, 10, 5, 0, 32 };
	baseline = (struct baseline){ .batches = 100 };
	baseline.evidence = batch.evidence;
	batch_window = (struct batch_window){ .readings = 2 };
}

static struct window_event *happened(enum window_event_kind kind, double value, double baseline_value, const char *text)
{
	struct window_event *event = &batch_window.events[batch_window.event_count++];
	*event = (struct window_event){ .kind = kind,
		.worker = UINT32_MAX,
		.value = value,
		.baseline = baseline_value,
		.gpu = "GPU",
		.part_ratio = 1,
		.busy_ratio = NAN };
	snprintf(event->text, sizeof event->text, "%s", text);
	return event;
}

static struct window_event *slowed(double mhz, double baseline_mhz, enum gpu_throttle reason, const char *text)
{
	struct window_event *event = happened(WINDOW_GPU_SLOWED, mhz * 1e6, baseline_mhz * 1e6, text);
	event->throttled = 1u << reason;
	return event;
}

static void explain(void) { explain_batch(&run, &batch, &baseline, &batch_window, &why); }

static double share_of(enum cause_kind kind)
{
	double share = 0;
	for (size_t i = 0; i < why.cause_count; i++)
		if (why.causes[i].kind == kind)
			share += why.causes[i].share_ratio;
	return share;
}

static void ck_first(const char *what, double share_ratio)
{
	ck_assert_uint_ge(why.cause_count, 1);
	ck_assert_str_eq(why.causes[0].what, what);
	ck_assert_double_eq_tol(why.causes[0].share_ratio, share_ratio, 1e-3);
}

/* -- a clock that fell -- */

START_TEST(heat_explains_what_so_much_slower_a_clock_costs)
{
	phase(FORWARD, 0.163, 0.1);
	phase(BACKWARD, 0.326, 0.2);
	slowed(1215, 1980, GPU_THROTTLE_HEAT, "thermal slowdown");
	explain();
	ck_first("backward, forward: GPU clock fell from 1980 to 1215 MHz, thermal slowdown", 1);
	ck_assert_int_eq(why.causes[0].kind, CAUSE_GPU_HEAT);
	ck_assert_str_eq(cause_kind_id(CAUSE_GPU_HEAT), "gpu_heat");
	ck_assert_str_eq(why.causes[0].evidence[0].key, "gpu_clock_hz");
	ck_assert_double_eq(why.causes[0].evidence[0].this_value, 1215e6);
	ck_assert_double_eq(why.causes[0].evidence[0].baseline_value, 1980e6);
	ck_assert_ptr_nonnull(strstr(why.causes[0].next, "nvidia-smi -pl"));
}
END_TEST

START_TEST(a_thread_that_asks_over_and_over_waits_for_the_GPU_as_well)
{
	phase(FORWARD, 0.163, 0.1);
	batch.evidence.cpu_s = 0.08 + 0.063;
	slowed(1215, 1980, GPU_THROTTLE_HEAT_SOFTWARE, "thermal limit");
	explain();
	ck_first("forward: GPU clock fell from 1980 to 1215 MHz, thermal limit", 1);
	batch.has_evidence = false;
	explain();
	ck_first("forward: GPU clock fell from 1980 to 1215 MHz, thermal limit", 1);
}
END_TEST

START_TEST(a_slow_clock_explains_only_its_own_share)
{
	phase(FORWARD, 1.1, 0.1);
	slowed(1800, 1980, GPU_THROTTLE_POWER_CAP, "power cap");
	explain();
	ck_assert_int_ne(why.causes[0].kind, CAUSE_GPU_POWER);
	ck_assert_double_eq_tol(share_of(CAUSE_GPU_POWER), 0, 1e-9); /* 1.4 % would be a line without a message */
	batch_window.event_count = 0;
	slowed(990, 1980, GPU_THROTTLE_POWER_BRAKE, "power brake");
	explain();
	ck_assert_double_eq_tol(share_of(CAUSE_GPU_POWER), 1.25 * 0.1, 1e-3);
	ck_assert_int_eq(why.causes[0].kind, CAUSE_SLEPT);
}
END_TEST

/* For half of the window, and a GPU whose median utilization is one half. */
START_TEST(only_the_time_in_which_it_was_slow_and_busy_counts)
{
	phase(FORWARD, 1.2, 0.8);
	struct window_event *event = slowed(990, 1980, GPU_THROTTLE_HEAT, "thermal slowdown");
	event->part_ratio = 0.2;
	explain();
	ck_assert_double_eq_tol(share_of(CAUSE_GPU_HEAT), 1.25 * 1.2 * 0.2 * 0.5 / 0.4, 1e-3);
	event->part_ratio = 1;
	event->busy_ratio = 0.1;
	explain();
	ck_assert_double_eq_tol(share_of(CAUSE_GPU_HEAT), 1.25 * 0.8 * 0.1 / 0.4, 1e-3);
}
END_TEST

START_TEST(loading_does_not_wait_for_the_GPU)
{
	phase(DATA, 0.5, 0.1);
	phase(FORWARD, 0.1, 0.1);
	slowed(990, 1980, GPU_THROTTLE_HEAT, "thermal slowdown");
	explain();
	ck_assert_double_eq(share_of(CAUSE_GPU_HEAT), 0);
	ck_first("data: blocked (lock, network, device or timer)", 1);
}
END_TEST

START_TEST(reading_from_disk_in_the_evidence_comes_first)
{
	phase(FORWARD, 0.5, 0.1);
	batch.evidence.blocks_read = 5200;
	batch.evidence.voluntary_switches = 270;
	slowed(990, 1980, GPU_THROTTLE_HEAT, "thermal slowdown");
	explain();
	ck_first("forward: reading from disk", 1);
}
END_TEST

START_TEST(an_unknown_reason_and_one_of_several_GPUs_are_named)
{
	phase(FORWARD, 0.2, 0.1);
	snprintf(slowed(990, 1980, GPU_THROTTLE_HARDWARE, "hardware slowdown")->gpu, WINDOW_GPU_SIZE, "GPU 1");
	explain();
	ck_first("forward: GPU 1 clock fell from 1980 to 990 MHz, hardware slowdown", 1);
	ck_assert_int_eq(why.causes[0].kind, CAUSE_GPU_CLOCK);
}
END_TEST

START_TEST(a_clock_that_rose_or_is_no_clock_explains_nothing)
{
	static const double odd[][2] = { { 1980, 1215 }, { NAN, 1980 }, { 1215, NAN }, { 0, 1980 }, { -5, 1980 },
		{ 1980, INFINITY } };
	phase(FORWARD, 0.2, 0.1);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		batch_window.event_count = 0;
		slowed(odd[i][0], odd[i][1], GPU_THROTTLE_HEAT, "thermal slowdown");
		explain();
		ck_assert_double_eq(share_of(CAUSE_GPU_HEAT), 0);
	}
}
END_TEST

/* -- others -- */

START_TEST(another_program_on_the_GPU_explains_its_turns)
{
	phase(FORWARD, 0.2, 0.1);
	struct window_event *event = happened(WINDOW_GPU_SHARED, 0.4, NAN, "blender -b scene.blend");
	explain();
	ck_first("forward: another program started on the GPU (blender)", 0.1 * 0.4 / 0.6 / 0.1);
	event->value = NAN; /* how busy it kept the GPU is not known */
	explain();
	ck_assert_double_eq(share_of(CAUSE_GPU_SHARED), 0);
	event->value = 0.4;
	event->time_ns = batch_window.to_ns + 1; /* it may have come after the batch */
	explain();
	ck_assert_double_eq(share_of(CAUSE_GPU_SHARED), 0);
}
END_TEST

START_TEST(hot_CPUs_explain_the_work_that_took_longer)
{
	phase(FORWARD, 0.2, 0.1);
	batch.evidence.cpu_s = 0.18;
	*happened(WINDOW_CPU_SLOWED, 1.5e9, 3e9, "")->gpu = '\0';
	explain();
	ck_first("forward: CPU clock fell from 3000 to 1500 MHz", 1);
	ck_assert_int_eq(why.causes[0].kind, CAUSE_CPU_HEAT);
	batch.evidence.cpu_s = 0.08; /* it did not work more */
	explain();
	ck_assert_double_eq(share_of(CAUSE_CPU_HEAT), 0);
}
END_TEST

START_TEST(other_gpu_events_are_among_the_evidence)
{
	phase(FORWARD, 0.163, 0.1);
	slowed(1215, 1980, GPU_THROTTLE_HEAT, "thermal slowdown");
	happened(WINDOW_GPU_REPORTED, 94, NAN, "XID 94: contained memory error");
	happened(WINDOW_GPU_LOST, NAN, NAN, "it has fallen off the bus");
	happened(WINDOW_GPU_SHARED, NAN, NAN, "blender");
	explain();
	static const struct {
		const char *what;
		enum explain_unit unit;
		double value, explains;
	} wanted[] = {
		{ "GPU clock (thermal slowdown)", EXPLAIN_HERTZ, 1215e6, 1 },
		{ "GPU: XID 94: contained memory error", EXPLAIN_HAPPENING, 1, 0 },
		{ "GPU: it has fallen off the bus", EXPLAIN_HAPPENING, 1, 0 },
		{ "GPU: blender started on it", EXPLAIN_HAPPENING, 1, 0 },
	};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		const struct explain_context *found = NULL;
		for (size_t k = 0; k < why.context_count; k++)
			if (strcmp(why.context[k].what, wanted[i].what) == 0)
				found = &why.context[k];
		ck_assert_msg(found != NULL, "no %s", wanted[i].what);
		ck_assert_int_eq(found->unit, wanted[i].unit);
		ck_assert_double_eq(found->this_value, wanted[i].value);
		ck_assert_double_eq_tol(found->explains_ratio, wanted[i].explains, 1e-3);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("causes in the hardware");
	TCase *tests = tcase_create("causes in the hardware");
	tcase_add_checked_fixture(tests, start, NULL);
	const TTest *const all[] = {
		heat_explains_what_so_much_slower_a_clock_costs,
		a_thread_that_asks_over_and_over_waits_for_the_GPU_as_well,
		a_slow_clock_explains_only_its_own_share,
		only_the_time_in_which_it_was_slow_and_busy_counts,
		loading_does_not_wait_for_the_GPU,
		reading_from_disk_in_the_evidence_comes_first,
		an_unknown_reason_and_one_of_several_GPUs_are_named,
		a_clock_that_rose_or_is_no_clock_explains_nothing,
		another_program_on_the_GPU_explains_its_turns,
		hot_CPUs_explain_the_work_that_took_longer,
		other_gpu_events_are_among_the_evidence,
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		tcase_add_test(tests, all[i]);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
