#include <check.h>
#include <math.h>

#include "src/explain/stall.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

enum { BATCHES = 60, EPOCHS = 2, PID = 100 };
#define STEP_S 0.2

static struct script script;
static struct stall stall;
static struct run_state state;
static double at_s;

static void emit_state(bool in_epoch, bool in_batch, uint64_t done, double batch_begin_s)
{
	state.in_epoch = in_epoch;
	state.in_batch = in_batch;
	state.batches_in_epoch = done;
	state.batch_begin_ns = script_ns(batch_begin_s);
	script_state(&script, &state);
}

/* Two epochs, the second in the middle; steps of 0.2 s. */
static void begin(void)
{
	script_open(&script, NULL);
	state = (struct run_state){ .epochs_begun = EPOCHS, .batches_per_epoch = BATCHES, .epoch_index = 1, .loss = NAN };
	at_s = 1;
	for (unsigned epoch = 0; epoch < EPOCHS; epoch++) {
		script_epoch(&script, RECORD_EPOCH_BEGIN, at_s, epoch);
		for (unsigned i = 0; i < BATCHES / (epoch + 1); i++, at_s += STEP_S) {
			script_batch_begin(&script, 0, at_s, i);
			script_span(&script, 0, at_s, at_s + 0.1, STORY_BACKWARD, 0);
			script_batch_end(&script, 0, at_s + 0.18, at_s, NAN);
		}
		if (epoch == 0)
			script_epoch(&script, RECORD_EPOCH_END, at_s - 0.01, epoch);
	}
	emit_state(true, false, BATCHES / 2, at_s - STEP_S);
	script_apply(&script, at_s);
}

static void open_batch(void)
{
	script_batch_begin(&script, 0, at_s, BATCHES / 2);
	emit_state(true, true, BATCHES / 2, at_s);
}

static void open_span(double now_s, unsigned lane, uint32_t name, unsigned depth, double begin_s)
{
	struct record *record = script_add(&script, RECORD_OPEN_SPAN, now_s);
	record->lane = (uint16_t)lane;
	record->span.name = name;
	record->span.depth = depth;
	record->span.duration_ns = script_ns(now_s) - script_ns(begin_s);
}

static void emit_process(double now_s, char code, const char *wait)
{
	script_process(&script, now_s, PID, 7, "train.py", true);
	script_figure(&script, now_s, METRIC_PROCESS_STATE, PID, code);
	struct record *record = script_add(&script, RECORD_PROCESS_WAIT, now_s);
	record->wait.pid = PID;
	record->wait.text = wait;
}

static bool stalls_after(double seconds)
{
	script_apply(&script, at_s + seconds);
	return stall_find(script.model, script_run(&script), &stall);
}

START_TEST(an_open_batch_says_for_how_long_and_in_what)
{
	begin();
	open_batch();
	open_span(at_s + 4, 0, STORY_BACKWARD, 0, at_s + 0.1);
	open_span(at_s + 4, 0, STORY_LOSS, 1, at_s + 0.2);
	ck_assert(!stalls_after(4));
	ck_assert(stalls_after(41.2));
	ck_assert_double_eq_tol(stall.seconds, 41, 0.01);
	ck_assert_double_eq_tol(stall.baseline_s, STEP_S, 0.01);
	ck_assert_str_eq(stall.stack, "backward › loss");
	ck_assert(!stall.is_between);
	ck_assert_str_eq(stall.why, "");
	script_close(&script);
}
END_TEST

START_TEST(a_batch_with_activity_inside_is_no_stall)
{
	begin();
	open_batch();
	open_span(at_s + 30, 0, STORY_BACKWARD, 0, at_s + 28);
	ck_assert(!stalls_after(30));
	script_close(&script);
}
END_TEST

START_TEST(the_wait_between_batches_counts_too)
{
	begin();
	ck_assert(!stalls_after(4));
	ck_assert(stalls_after(10));
	ck_assert(stall.is_between);
	ck_assert_str_eq(stall.stack, "");
	script_close(&script);
}
END_TEST

START_TEST(the_process_says_why)
{
	static const struct {
		char code;
		const char *wait, *why;
	} cases[] = {
		{ 'D', "nfs_wait_bit_killable", "waiting for the disk (D, nfs_wait_bit_killable)" },
		{ 'D', "", "waiting for the disk (D)" },
		{ 'T', "", "stopped (SIGSTOP or a debugger)" },
		{ 'S', "futex_wait_queue", "sleeping (futex_wait_queue): waiting for a thread, process or device" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		open_batch();
		emit_process(at_s + 6, cases[i].code, cases[i].wait);
		ck_assert(stalls_after(6));
		ck_assert_str_eq(stall.why, cases[i].why);
		script_close(&script);
	}
}
END_TEST

START_TEST(a_stopped_process_stalls_sooner)
{
	begin();
	open_batch();
	emit_process(at_s + 2.5, 'T', "");
	ck_assert(stalls_after(2.5));
	script_close(&script);
}
END_TEST

START_TEST(epochs_that_end_or_begin_are_waited_for)
{
	begin();
	emit_state(false, false, BATCHES, at_s);
	ck_assert(!stalls_after(50));
	script_close(&script);
	begin();
	script_epoch(&script, RECORD_EPOCH_END, at_s, 1);
	script_epoch(&script, RECORD_EPOCH_BEGIN, at_s, 2);
	state.epochs_begun++;
	emit_state(true, false, 0, at_s - STEP_S);
	ck_assert(!stalls_after(50));
	ck_assert(stalls_after(70));
	script_close(&script);
}
END_TEST

START_TEST(a_span_that_never_ended_before_has_longer)
{
	begin();
	open_span(at_s + 30, 0, STORY_CHECKPOINT, 0, at_s + 0.01);
	ck_assert(!stalls_after(30));
	ck_assert(stalls_after(70));
	ck_assert_str_eq(stall.stack, "checkpoint");
	script_close(&script);
}
END_TEST

START_TEST(an_inferred_loop_at_its_end_does_not_stall)
{
	begin();
	ck_assert(stalls_after(41));
	script_run(&script)->is_counted = true;
	emit_state(true, false, BATCHES, at_s - STEP_S);
	ck_assert(!stalls_after(100));
	emit_process(at_s + 101, 'T', "");
	ck_assert(stalls_after(101));
	script_close(&script);
}
END_TEST

START_TEST(an_ended_or_new_run_does_not_stall)
{
	begin();
	open_batch();
	state.is_ended = true;
	script_state(&script, &state);
	ck_assert(!stalls_after(50));
	script_close(&script);
	script_open(&script, NULL);
	at_s = 1;
	state = (struct run_state){
		.epochs_begun = 1, .in_epoch = true, .in_batch = true, .batch_begin_ns = script_ns(1), .loss = NAN
	};
	script_epoch(&script, RECORD_EPOCH_BEGIN, at_s, 0);
	script_batch_begin(&script, 0, at_s, 0);
	script_state(&script, &state);
	ck_assert(!stalls_after(500));
	script_close(&script);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stall");
	TCase *tests = tcase_create("stall");
	suite_add_tcase(suite, tests);
	tcase_add_test(tests, an_open_batch_says_for_how_long_and_in_what);
	tcase_add_test(tests, a_batch_with_activity_inside_is_no_stall);
	tcase_add_test(tests, the_wait_between_batches_counts_too);
	tcase_add_test(tests, the_process_says_why);
	tcase_add_test(tests, a_stopped_process_stalls_sooner);
	tcase_add_test(tests, epochs_that_end_or_begin_are_waited_for);
	tcase_add_test(tests, a_span_that_never_ended_before_has_longer);
	tcase_add_test(tests, an_inferred_loop_at_its_end_does_not_stall);
	tcase_add_test(tests, an_ended_or_new_run_does_not_stall);
	return suite_run(suite);
}
