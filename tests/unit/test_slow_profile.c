/* When pmtop asks for a trace by itself, and for which batches: no program takes part. */
#include <check.h>
#include <string.h>

#include "src/explain/patterns/patterns_next.h"
#include "src/model/run/run_private.h"
#include "src/session/asking/own_snapshot.h"
#include "src/session/slow_profile.h"
#include "tests/support/suite.h"
#include "tests/unit/steps_run.h"

#define OFFSET_NS (1700000000 * (int64_t)NS_PER_S)

static struct steps_run steps;
static struct chance chance;
static struct run_private priv;
static struct flagged flags[64];
static struct alerts alerts;
static struct slow_profile slow;
static struct slow_profile_wish wish;

static void setup(void)
{
	steps_open(&steps);
	memset(&priv, 0, sizeof priv);
	memset(&alerts, 0, sizeof alerts);
	chance.state = 41;
	steps.run.priv = &priv;
	steps.run.pid = 77;
	steps.run.tracks[0].recent.mean_s = 0.1;
	steps.run.flagged = flags;
	steps.model.runs = &steps.run;
	steps.model.run_count = 1;
	steps.model.now_ns = STEPS_BASE_S * (int64_t)NS_PER_S;
	alerts.patterns = &steps.patterns;
	alerts.pattern_room = 1;
	slow = (struct slow_profile){ .after_flagged = true, .limit = 1 };
	ck_assert(
		!slow_profile_wish(&slow, &steps.model, &alerts, OFFSET_NS, &wish)); /* the time from which on it counts */
}

static void teardown(void) { steps_close(&steps); }

/* Steps of 0.1 s, those that `is_slow` names of 0.3 s and flagged. */
static void train(unsigned count, bool (*is_slow)(uint64_t ordinal))
{
	for (unsigned i = 0; i < count; i++) {
		bool is_flagged = is_slow(steps.run.tracks[0].end);
		double step_s = is_flagged ? 0.3 : 0.1 * exp(0.03 * chance_normal(&chance));
		struct batch *batch = steps_add(&steps, step_s);
		if (is_flagged)
			flags[steps.run.flagged_count++] = (struct flagged){ .batch = *batch };
	}
	steps_search(&steps);
	steps.model.now_ns = (int64_t)(steps.now_s * 1e9);
}

static bool asks(void) { return slow_profile_wish(&slow, &steps.model, &alerts, OFFSET_NS, &wish); }

static bool every_40th(uint64_t ordinal) { return ordinal % 40 == 19; }
static bool each_60th_of_150(uint64_t ordinal) { return ordinal % 150 % 60 == 0; }
static bool only_30th(uint64_t ordinal) { return ordinal == 30; }

START_TEST(the_trace_has_the_next_batch_of_the_pattern_in_its_middle)
{
	train(215, every_40th); /* the newest: 179, the next: 219 */
	ck_assert(asks());
	ck_assert_int_eq(wish.pid, 77);
	ck_assert_uint_eq(wish.order.steps, 3);
	ck_assert(wish.order.start.is_batch);
	ck_assert_uint_eq(wish.order.start.batch, 218);
	ck_assert_uint_eq(wish.order.start.every, 40);
	ck_assert_ptr_nonnull(strstr(wish.why, "every 40th batch"));
	/* when it is expected: four steps after batch 214 began, less one */
	const struct batch *newest = &steps.run.tracks[0].ring[214];
	double ahead_s = (double)wish.order.start.realtime_ms / 1e3 - (double)(newest->begin_ns + OFFSET_NS) / 1e9;
	ck_assert_double_eq_tol(ahead_s, 0.4, 0.02);
	ck_assert_double_gt((double)wish.order.limit_ns / 1e9, 120);
}
END_TEST

START_TEST(a_program_is_asked_only_as_often_as_the_settings_allow)
{
	train(215, every_40th);
	ck_assert(asks());
	train(80, every_40th);
	ck_assert(!asks());
	slow.limit = 2;
	ck_assert(asks());
	ck_assert_uint_eq(wish.order.start.batch, 298);
	ck_assert(!asks());
}
END_TEST

START_TEST(nothing_is_asked_where_it_is_not_wanted)
{
	slow.after_flagged = false;
	train(215, every_40th);
	ck_assert(!asks());
	slow.after_flagged = true;
	steps.run.is_live = false;
	ck_assert(!asks());
	steps.run.is_live = true;
	slow.since_ns = steps.model.now_ns;
	ck_assert_msg(!asks(), "batches from before");
	ck_assert_uint_eq(slow.traces, 0);
}
END_TEST

START_TEST(a_slow_batch_without_a_pattern_leads_to_the_next_steps_after_a_while)
{
	train(100, only_30th);
	ck_assert(!asks());
	steps.model.now_ns = flags[0].batch.begin_ns + SLOW_PROFILE_WAIT_S * (int64_t)NS_PER_S;
	ck_assert(asks());
	ck_assert(!wish.order.start.is_batch);
	ck_assert_uint_eq(wish.order.steps, 3);
	ck_assert_str_eq(wish.why, "batch 30 was slow");
}
END_TEST

START_TEST(a_rule_with_an_action_asks_once_for_each_warning)
{
	slow.after_flagged = false;
	slow.limit = 9;
	train(50, only_30th);
	alerts.count = 1;
	alerts.list[0] = (struct alert){ .rule = "mine", .is_raised = true, .since_ns = steps.model.now_ns };
	strcpy(alerts.list[0].message, "GPU idle");
	ck_assert(!asks());
	alerts.list[0].action = ALERT_TAKES_TRACE;
	ck_assert(asks());
	ck_assert_str_eq(wish.why, "GPU idle");
	ck_assert(!wish.order.start.is_batch);
	ck_assert(!asks());
}
END_TEST

/* -- memory snapshots -- */

static struct own_snapshots own;

static pid_t asks_for_snapshot(void)
{
	const char *why = "";
	pid_t pid = own_snapshot_wish(&own, &steps.model, &alerts, &why);
	ck_assert(!pid || strcmp(why, "memory leak") == 0);
	return pid;
}

START_TEST(a_rule_with_the_action_snapshot_asks_again_while_its_warning_lasts)
{
	own = (struct own_snapshots){ 0 };
	train(50, only_30th);
	alerts.count = 1;
	alerts.list[0] =
		(struct alert){ .rule = "mine", .is_raised = true, .is_of_model = true, .action = ALERT_TAKES_TRACE };
	strcpy(alerts.list[0].message, "memory leak");
	ck_assert_int_eq(asks_for_snapshot(), 0);
	alerts.list[0].action = ALERT_TAKES_SNAPSHOT;
	ck_assert_int_eq(asks_for_snapshot(), 77);
	ck_assert_int_eq(asks_for_snapshot(), 0);
	steps.model.now_ns += (OWN_SNAPSHOT_EVERY_S - 1) * NS_PER_S;
	ck_assert_int_eq(asks_for_snapshot(), 0);
	steps.model.now_ns += NS_PER_S;
	alerts.list[0].is_raised = false;
	ck_assert_int_eq(asks_for_snapshot(), 0);
	alerts.list[0].is_raised = true;
	ck_assert_int_eq(asks_for_snapshot(), 77);
	own.taken = OWN_SNAPSHOTS_MAX;
	steps.model.now_ns += OWN_SNAPSHOT_EVERY_S * NS_PER_S;
	ck_assert_int_eq(asks_for_snapshot(), 0);
}
END_TEST

START_TEST(a_warning_about_the_model_asks_the_first_run_that_lives)
{
	struct run *runs = calloc(2, sizeof *runs);
	own = (struct own_snapshots){ 0 };
	runs[0] = steps.run;
	runs[1] = steps.run;
	runs[0].is_live = false;
	runs[1].pid = 78;
	steps.model.runs = runs;
	steps.model.run_count = 2;
	alerts.count = 1;
	alerts.list[0] = (struct alert){ .is_raised = true, .is_of_model = true, .action = ALERT_TAKES_SNAPSHOT };
	strcpy(alerts.list[0].message, "memory leak");
	ck_assert_int_eq(asks_for_snapshot(), 78);
	own = (struct own_snapshots){ 0 };
	alerts.list[0].is_of_model = false; /* of a run that has ended */
	ck_assert_int_eq(asks_for_snapshot(), 0);
	free(runs);
	steps.model.runs = &steps.run;
	steps.model.run_count = 1;
}
END_TEST

/* -- where the next one is -- */

static struct pattern_next next_of(const struct pattern *pattern)
{
	struct pattern_next next;
	ck_assert(pattern_find_next(pattern, &steps.run, &next));
	return next;
}

START_TEST(a_period_that_restarts_in_each_epoch_is_followed_into_the_next)
{
	steps.epoch_length = 150;
	steps.run.epoch_length = 150;
	train(1331, each_60th_of_150); /* the newest: index 130 of its epoch; after 120 comes the next epoch's first */
	const struct pattern *pattern = &steps.patterns.list[0];
	ck_assert(pattern->is_by_index);
	ck_assert_double_eq(pattern->period, 60);
	ck_assert(pattern_has(pattern, &steps.run, &steps.run.tracks[0].ring[1320]));
	ck_assert(!pattern_has(pattern, &steps.run, &steps.run.tracks[0].ring[1321]));
	ck_assert_uint_eq(next_of(pattern).ahead, 20);
	ck_assert_uint_eq(next_of(pattern).number, 1350);
}
END_TEST

START_TEST(a_period_in_seconds_has_a_window_of_batches)
{
	train(101, only_30th);
	const struct pattern pattern = {
		.kind = PATTERN_PERIOD, .unit = PATTERN_SECONDS, .period = 5, .last = 90, .before_s = 0.1, .after_s = 0.3
	};
	struct pattern_next next = next_of(&pattern);
	ck_assert_uint_ge(next.ahead, 39);
	ck_assert_uint_le(next.ahead, 41);
	ck_assert_uint_eq(next.every, 50);
	ck_assert_uint_eq(next.spread, 3);
	ck_assert(pattern_has(&pattern, &steps.run, &steps.run.tracks[0].ring[90]));
	ck_assert(!pattern_has(&pattern, &steps.run, &steps.run.tracks[0].ring[65]));
}
END_TEST

START_TEST(a_pattern_without_a_period_has_no_next_batch)
{
	struct pattern_next next;
	train(101, only_30th);
	const struct pattern drift = { .kind = PATTERN_DRIFT, .first = 60, .last = 100 };
	ck_assert(!pattern_find_next(&drift, &steps.run, &next));
	ck_assert(pattern_has(&drift, &steps.run, &steps.run.tracks[0].ring[60]));
	ck_assert(!pattern_has(&drift, &steps.run, &steps.run.tracks[0].ring[59]));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("slow_profile");
	TCase *cases = tcase_create("slow_profile");
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, the_trace_has_the_next_batch_of_the_pattern_in_its_middle);
	tcase_add_test(cases, a_program_is_asked_only_as_often_as_the_settings_allow);
	tcase_add_test(cases, nothing_is_asked_where_it_is_not_wanted);
	tcase_add_test(cases, a_slow_batch_without_a_pattern_leads_to_the_next_steps_after_a_while);
	tcase_add_test(cases, a_rule_with_the_action_snapshot_asks_again_while_its_warning_lasts);
	tcase_add_test(cases, a_warning_about_the_model_asks_the_first_run_that_lives);
	tcase_add_test(cases, a_rule_with_an_action_asks_once_for_each_warning);
	tcase_add_test(cases, a_period_that_restarts_in_each_epoch_is_followed_into_the_next);
	tcase_add_test(cases, a_period_in_seconds_has_a_window_of_batches);
	tcase_add_test(cases, a_pattern_without_a_period_has_no_next_batch);
	suite_add_tcase(suite, cases);
	return suite_run(suite);
}
