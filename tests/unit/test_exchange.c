/* The slowest rank of a job that only sends and receives, and one that hangs, from stack samples. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/collective_words.h"
#include "src/rules/alerts.h"
#include "src/settings/settings.h"
#include "tests/support/model_parts.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

#define NO_RECORD "PyTorch does not record gloo's send and receive, nor RPC"

enum { PID = 700, BASE_S = 5000, RANKS_MAX = 4, STEP = 1, RECEIVE, WAIT, REDUCE, NODES = REDUCE };

static struct model *model;
static struct sample_set set;
static char words[COLLECTIVE_WORDS_SIZE];
static bool are_switches_known;
static const char *wait_function = "recv", *wait_text = "dist.irecv(x, 0).wait()";
static struct {
	double seconds[NODES + 1];
	uint64_t samples, switches;
	bool reduces; /* the rest of its samples is in all_reduce(), not in its own code, every second time */
	double due;   /* below 1: parts of a sample in send and receive */
} ranks[RANKS_MAX];

static struct record *add(enum record_kind kind) { return sample_set_add(&set, kind, 0, set.time_ns); }

static uint32_t node_of(int rank, uint32_t node) { return (uint32_t)rank * NODES + node; }

static void begin(double at_s)
{
	sample_set_clear(&set);
	set.time_ns = BASE_S * NS_PER_S + (int64_t)(at_s * (double)NS_PER_S);
}

static void add_world(int rank, int count)
{
	struct record *record = add(RECORD_COLLECTIVE_RANK);
	record->collective_rank.pid = PID + rank;
	record->collective_rank.rank = rank;
	record->collective_rank.world_size = (uint32_t)count;
}

static void add_rank(int rank, int count)
{
	add_world(rank, count);
	fill_code_group(add(RECORD_CODE_GROUP), (uint32_t)rank + 1, PID + rank, 0, 10, 0);
	fill_code_node(add(RECORD_CODE_NODE), node_of(rank, STEP), 0, (uint32_t)rank + 1, STEP, 22, "step()");
	fill_code_node(
		add(RECORD_CODE_NODE), node_of(rank, RECEIVE), node_of(rank, STEP), (uint32_t)rank + 1, RECEIVE, 900, NULL);
	fill_code_node(add(RECORD_CODE_NODE), node_of(rank, WAIT), 0, (uint32_t)rank + 1, STEP, 24, wait_text);
	fill_code_node(
		add(RECORD_CODE_NODE), node_of(rank, REDUCE), node_of(rank, STEP), (uint32_t)rank + 1, REDUCE, 910, NULL);
}

static void open_job(int count, bool has_switches)
{
	model = model_new_default();
	set = (struct sample_set)SAMPLE_SET_INIT;
	memset(ranks, 0, sizeof ranks);
	begin(0);
	fill_code(add(RECORD_CODE), STEP, "train", "/home/me/pipe.py", true);
	fill_code(
		add(RECORD_CODE), RECEIVE, wait_function, "/x/site-packages/torch/distributed/distributed_c10d.py", false);
	fill_code(add(RECORD_CODE), REDUCE, "all_reduce", "/x/site-packages/torch/distributed/distributed_c10d.py", false);
	for (int i = 0; i < count; i++)
		add_rank(i, count);
	are_switches_known = has_switches;
	model_apply(model, &set);
}

static void close_job(void)
{
	sample_set_release(&set);
	model_free(model);
}

static void sample(int rank, double waits_ratio, uint32_t waits_in, bool is_moving)
{
	ranks[rank].due += waits_ratio;
	uint32_t node = ranks[rank].due >= 1 ? waits_in : ranks[rank].reduces && ranks[rank].samples % 2 ? REDUCE : STEP;
	ranks[rank].due -= ranks[rank].due >= 1 ? 1 : 0;
	ranks[rank].samples++;
	ranks[rank].switches += is_moving;
	fill_code_group(add(RECORD_CODE_GROUP), (uint32_t)rank + 1, PID + rank, ranks[rank].samples, 1, 1);
	fill_code_time(add(RECORD_CODE_TIME), node_of(rank, node), ranks[rank].seconds[node] += 1);
	struct record *record = add(RECORD_CODE_SAMPLES);
	record->code_samples.node = node_of(rank, node);
	record->code_samples.count = 1;
	record->code_samples.begin_ns = set.time_ns;
	record = add(RECORD_COLLECTIVES);
	record->collectives.pid = PID + rank;
	record->collectives.state = 'S';
	record->collectives.throttled_s = NAN;
	record->collectives.switches = are_switches_known ? 9 + ranks[rank].switches : 0;
}

/* One sample of each rank each second. */
static void run(int count, int from_s, int to_s, const double waits_ratios[], const uint32_t waits_in[], bool is_moving)
{
	for (int at_s = from_s; at_s < to_s; at_s++) {
		begin(at_s);
		for (int i = 0; i < count; i++)
			sample(i, waits_ratios[i], waits_in[i], is_moving);
		model_apply(model, &set);
	}
}

static const uint32_t receive[RANKS_MAX] = { RECEIVE, RECEIVE, RECEIVE, RECEIVE };

static const char *verdict(void) { return collective_words_verdict(model, words); }

START_TEST(slowest_stage_waits_the_least)
{
	open_job(4, true);
	run(4, 1, 60, (const double[]){ 0.7, 0.6, 0.1, 0.8 }, receive, true);
	ck_assert_str_eq(verdict(), "rank 2 is slowest: it waits 8 % of the time, the next rank 59 %");
	close_job();
	/* Whether it can be seen in the Python stack or not. */
	open_job(2, true);
	run(2, 1, 60, (const double[]){ 0.8, 0.1 }, (const uint32_t[]){ WAIT, RECEIVE }, true);
	ck_assert_str_eq(verdict(), "rank 1 is slowest: it waits 8 % of the time, the next rank 80 %");
	close_job();
}
END_TEST

START_TEST(stages_of_nearly_equal_speed_have_no_slowest)
{
	open_job(2, true);
	run(2, 1, 60, (const double[]){ 0.22, 0.45 }, receive, true);
	ck_assert_str_eq(verdict(), "no collectives yet: " NO_RECORD);
	close_job();
	/* One that never sends nor receives may have nothing to do with the others. */
	open_job(2, true);
	run(2, 1, 60, (const double[]){ 0.8, 0 }, receive, true);
	ck_assert_str_eq(verdict(), "no collectives yet: " NO_RECORD);
	close_job();
	/* The slowest may be on another machine. */
	open_job(2, true);
	begin(0.5);
	for (int i = 0; i < 2; i++)
		add_world(i, 4);
	model_apply(model, &set);
	run(2, 1, 60, (const double[]){ 0.8, 0.1 }, receive, true);
	ck_assert_str_eq(verdict(), "no collectives yet: " NO_RECORD);
	close_job();
	/* Few samples. */
	open_job(2, true);
	run(2, 1, 8, (const double[]){ 0.8, 0.2 }, receive, true);
	ck_assert_str_eq(verdict(), "no collectives yet: " NO_RECORD);
	close_job();
}
END_TEST

/* The samples of the last seconds are those of a hang. */
START_TEST(slow_stage_does_not_hang_while_the_others_wake_up)
{
	static const double slow[] = { 0.85, 0.1 }, hang[] = { 1, 0 };
	open_job(2, true);
	run(2, 1, 40, slow, receive, true);
	run(2, 40, 52, hang, receive, true);
	ck_assert_str_eq(verdict(), "rank 1 is slowest: it waits 6 % of the time, the next rank 88 %");
	close_job();
	open_job(2, true);
	run(2, 1, 40, slow, receive, true);
	run(2, 40, 52, hang, receive, false);
	ck_assert_str_eq(verdict(), "rank 0 waits in send or receive; rank 1 is in pipe.py:22");
	close_job();
	/* A hang from the beginning, and ranks whose context switches are unknown. */
	open_job(2, false);
	run(2, 1, 20, hang, receive, false);
	ck_assert_str_eq(verdict(), "rank 0 waits in send or receive; rank 1 is in pipe.py:22");
	close_job();
}
END_TEST

START_TEST(wait_that_is_no_send_or_receive_has_its_own_name)
{
	static const struct {
		const char *function, *words;
	} rows[] = {
		{ "monitored_barrier", "rank 0 waits in monitored_barrier; rank 1 is in pipe.py:22" },
		{ "init_process_group", "rank 0 waits in init_process_group; rank 1 is in pipe.py:22" },
		{ "_store_based_barrier", "rank 0 waits in a collective; rank 1 is in pipe.py:22" },
		{ "batch_isend_irecv", "rank 0 waits in send or receive; rank 1 is in pipe.py:22" },
		{ "_PipelineScheduleRuntime._wait_batch_p2p", "rank 0 waits in send or receive; rank 1 is in pipe.py:22" },
	};
	static const double hang[] = { 1, 0 };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		wait_function = rows[i].function;
		open_job(2, true);
		run(2, 1, 20, hang, receive, false);
		ck_assert_str_eq(verdict(), rows[i].words);
		close_job();
	}
}
END_TEST

START_TEST(wait_in_a_line_of_its_own_hangs_too)
{
	static const double hang[] = { 1, 0 };
	static const uint32_t waits[] = { WAIT, WAIT };
	const char *before = wait_text;
	wait_text = "for work in works: work.wait()";
	open_job(2, true);
	run(2, 1, 20, hang, waits, false);
	ck_assert_str_eq(verdict(), "rank 0 waits in send or receive; rank 1 is in pipe.py:22");
	close_job();
	wait_text = before;
}
END_TEST

/* All ranks have entered a collective now, and wait for none. */
static void enter_collective(int count, int at_s)
{
	begin(at_s);
	struct record *group = add(RECORD_COLLECTIVE_GROUP);
	group->collective_group.id = 1;
	group->collective_group.name = "default_pg";
	for (int i = 0; i < count; i++) {
		struct record *state = add(RECORD_COLLECTIVE_STATE);
		state->collective_state.pid = PID + i;
		state->collective_state.group = 1;
		state->collective_state.enqueued = state->collective_state.completed = 9;
		state->collective_state.started = -1;
	}
	model_apply(model, &set);
}

static void run_with_collectives(const double waits_ratios[2], const uint32_t waits_in[2], const bool reduces[2])
{
	open_job(2, true);
	for (int i = 0; i < 2; i++)
		ranks[i].reduces = reduces[i];
	run(2, 1, 60, waits_ratios, waits_in, true);
	enter_collective(2, 60);
}

START_TEST(slowest_stage_is_named_beside_collectives)
{
	static const bool none[] = { false, false }, second[] = { false, true };
	static const uint32_t waits[] = { WAIT, WAIT }, reduce[] = { REDUCE, REDUCE };
	run_with_collectives((const double[]){ 0.8, 0.1 }, receive, none);
	ck_assert_str_eq(verdict(), "rank 1 is slowest: it waits 9 % of the time, the next rank 80 %");
	close_job();
	run_with_collectives((const double[]){ 0.8, 0.1 }, waits, none);
	ck_assert_str_eq(verdict(), "rank 1 is slowest: it waits 9 % of the time, the next rank 80 %");
	close_job();
	/* Rank 1 receives in 35 % of its time, and in half of its time outside of collectives. */
	run_with_collectives((const double[]){ 0.7, 0.35 }, receive, second);
	ck_assert_str_eq(verdict(), "");
	close_job();
	/* No sends or receives at all. */
	run_with_collectives((const double[]){ 0.8, 0.1 }, reduce, none);
	ck_assert_str_eq(verdict(), "");
	close_job();
	/* The line may wait for a collective. */
	wait_text = "work.wait()";
	run_with_collectives((const double[]){ 0.8, 0.1 }, (const uint32_t[]){ WAIT, RECEIVE }, none);
	ck_assert_str_eq(verdict(), "");
	close_job();
}
END_TEST

static double hang_s(int32_t *pid) { return collective_words_exchange(model, pid, words); }

static const char *warning(void)
{
	static struct alerts alerts;
	static struct settings settings;
	static char message[COLLECTIVE_WORDS_SIZE];
	settings_default(&settings);
	alerts_update(&alerts, model, &settings);
	const struct alert *alert = alerts_find_raised(&alerts, "send_receive_hang");
	snprintf(message, sizeof message, "%s", alert ? alert->message : "");
	alerts_release(&alerts);
	return message;
}

START_TEST(hang_that_is_certain_has_its_time_and_process)
{
	static const double hang[] = { 1, 0 }, all[] = { 1, 1 };
	static const uint32_t reduce[] = { REDUCE, REDUCE };
	static const struct {
		const double *waits_ratios;
		const uint32_t *waits_in;
		const char *words;
		double hang_s;
		int32_t pid;
		bool has_switches, is_moving;
	} rows[] = {
		{ hang, receive, "rank 0 waits in send or receive; rank 1 is in pipe.py:22", 18, PID + 1, true, false },
		{ all, receive, "all 2 ranks wait in send or receive", 18, 0, true, false },
		{ all, reduce, "", 0, 0, true, false },
		{ all, receive, "", 0, 0, true, true },
		{ all, receive, "", 0, 0, false, false },
		{ hang, receive, "", 0, 0, true, true },
		{ hang, receive, "", 0, 0, false, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int32_t pid;
		open_job(2, rows[i].has_switches);
		run(2, 1, 20, rows[i].waits_ratios, rows[i].waits_in, rows[i].is_moving);
		ck_assert_double_eq_tol(hang_s(&pid), rows[i].hang_s, 1e-9);
		ck_assert_int_eq(pid, rows[i].pid);
		ck_assert_str_eq(words, rows[i].words);
		ck_assert_str_eq(warning(), rows[i].words);
		close_job();
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exchange");
	TCase *tests = tcase_create("all");
	tcase_add_test(tests, slowest_stage_waits_the_least);
	tcase_add_test(tests, stages_of_nearly_equal_speed_have_no_slowest);
	tcase_add_test(tests, slow_stage_does_not_hang_while_the_others_wake_up);
	tcase_add_test(tests, wait_in_a_line_of_its_own_hangs_too);
	tcase_add_test(tests, wait_that_is_no_send_or_receive_has_its_own_name);
	tcase_add_test(tests, hang_that_is_certain_has_its_time_and_process);
	tcase_add_test(tests, slowest_stage_is_named_beside_collectives);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
