/* Who keeps the others waiting in a pipeline whose stages exist several times: synthetic ranks send and receive, which
 * no record shows, and reduce the gradients of each stage with its copy. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/model/collectives/collectives.h"
#include "src/model/collectives/collectives_pace.h"
#include "src/model/collectives/lost_time.h"
#include "tests/support/model_parts.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"

enum { PID = 700, BASE_S = 5000, STAGES_MAX = 4, RANKS_MAX = 2 * STAGES_MAX, MICRO = 4, WAITS_MAX = 64, SEEDS = 10 };
static const double forward_s = 0.008, backward_s = 0.012, late_s = 0.06;

/* Ranks r * stages + s: stage s of copy r. */
struct pipeline {
	int stages, ranks, culprit; /* culprit: −1 = none */
	unsigned seed;
	double hz, ready_s[RANKS_MAX], sampled_s;
	uint64_t step;
	bool was_waiting[RANKS_MAX], is_left_out[RANKS_MAX]; /* of a rank's sample */
	/* of a rank in the step: when it waits */
	size_t wait_count[RANKS_MAX];
	double waits_s[RANKS_MAX][WAITS_MAX][2];
};

static struct model *model;
static struct sample_set set;

static void open_model(void)
{
	model = model_new_default();
	set = (struct sample_set)SAMPLE_SET_INIT;
}

static void close_model(void)
{
	sample_set_release(&set);
	model_free(model);
}

static int64_t at_ns(double at_s) { return BASE_S * NS_PER_S + (int64_t)llround(at_s * 1e6) * 1000; }

static double dice(struct pipeline *pipeline)
{
	pipeline->seed = pipeline->seed * 1103515245u + 12345u;
	return (double)(pipeline->seed >> 16 & 0x7fff) / 0x8000;
}

/* -- a step: one forward, one backward (1F1B) -- */

/* The n-th work of a stage: *micro of it. True: a forward. */
static bool work_at(const struct pipeline *pipeline, int stage, int n, int *micro)
{
	int ahead = pipeline->stages - stage - 1 < MICRO ? pipeline->stages - stage - 1 : MICRO, both = 2 * (MICRO - ahead);
	bool is_forward = n < ahead || (n < ahead + both && (n - ahead) % 2 == 0);
	int forwards = n < ahead ? n : n < ahead + both ? ahead + (n - ahead + 1) / 2 : MICRO;
	*micro = is_forward ? forwards : n - forwards;
	return is_forward;
}

static void wait_for(struct pipeline *pipeline, int rank, double until_s)
{
	if (until_s <= pipeline->ready_s[rank])
		return;
	size_t at = pipeline->wait_count[rank]++;
	pipeline->waits_s[rank][at][0] = pipeline->ready_s[rank];
	pipeline->waits_s[rank][at][1] = pipeline->ready_s[rank] = until_s;
}

static void run_copy(struct pipeline *pipeline, int first)
{
	double done_s[STAGES_MAX][2][MICRO];
	int next[STAGES_MAX] = { 0 }, micro;
	for (int i = 0; i < STAGES_MAX * 2 * MICRO; i++)
		done_s[i / (2 * MICRO)][i / MICRO % 2][i % MICRO] = -1;
	for (int left = pipeline->stages * 2 * MICRO, stage = 0; left > 0; stage = (stage + 1) % pipeline->stages) {
		bool is_forward = next[stage] < 2 * MICRO && work_at(pipeline, stage, next[stage], &micro);
		int from = is_forward ? stage - 1 : stage + 1, rank = first + stage;
		bool is_free = from < 0 || from == pipeline->stages;
		if (next[stage] == 2 * MICRO || (!is_free && done_s[from][!is_forward][micro] < 0))
			continue;
		if (!is_free)
			wait_for(pipeline, rank, done_s[from][!is_forward][micro]);
		pipeline->ready_s[rank] += (is_forward ? forward_s : backward_s) * (0.85 + 0.3 * dice(pipeline)) +
			(is_forward && rank == pipeline->culprit ? late_s / MICRO : 0);
		done_s[stage][!is_forward][micro] = pipeline->ready_s[rank];
		next[stage]++;
		left--;
	}
}

/* Both copies of a stage enter two collectives, and leave them together. */
static void reduce(struct pipeline *pipeline)
{
	double entered_s[RANKS_MAX];
	for (uint64_t k = 1; k <= 2; k++) {
		for (int i = 0; i < pipeline->ranks; i++) {
			struct collective_row *row = sample_set_allocate(&set, sizeof *row);
			entered_s[i] = pipeline->ready_s[i] += 0.0005;
			*row = (struct collective_row){ (uint32_t)(i % pipeline->stages) + 1, 0, 2 * pipeline->step + k,
				at_ns(entered_s[i]) };
			struct record *record = sample_set_add(&set, RECORD_COLLECTIVES, 0, set.time_ns);
			record->collectives.pid = PID + i;
			record->collectives.throttled_s = NAN;
			record->collectives.rows = row;
			record->collectives.count = 1;
		}
		for (int i = 0; i < pipeline->ranks; i++)
			wait_for(pipeline, i, entered_s[(i + pipeline->stages) % pipeline->ranks]);
	}
}

static bool waits_at(const struct pipeline *pipeline, int rank, double at_s)
{
	for (size_t i = 0; i < pipeline->wait_count[rank]; i++)
		if (at_s >= pipeline->waits_s[rank][i][0] && at_s < pipeline->waits_s[rank][i][1])
			return true;
	return false;
}

/* Samples until the first rank ends its step; of a rank that waits a half are left out, as pmtop's sampler does. */
static void sample(struct pipeline *pipeline)
{
	double until_s = INFINITY;
	for (int i = 0; i < pipeline->ranks; i++)
		until_s = fmin(until_s, pipeline->ready_s[i]);
	for (; pipeline->sampled_s < until_s; pipeline->sampled_s += (0.5 + dice(pipeline)) / pipeline->hz)
		for (int i = 0; i < pipeline->ranks; i++) {
			bool is_waiting = waits_at(pipeline, i, pipeline->sampled_s);
			pipeline->is_left_out[i] = is_waiting && pipeline->was_waiting[i] && !pipeline->is_left_out[i];
			pipeline->was_waiting[i] = is_waiting;
			if (pipeline->is_left_out[i])
				continue;
			struct record *record = sample_set_add(&set, RECORD_CODE_SAMPLES, 0, at_ns(pipeline->sampled_s));
			record->code_samples.node = (uint32_t)i * 2 + (is_waiting ? 2 : 1);
			record->code_samples.count = 1;
			record->code_samples.begin_ns = record->time_ns;
		}
}

static void run_step(struct pipeline *pipeline)
{
	sample_set_clear(&set);
	for (int i = 0; i < pipeline->ranks; i++)
		pipeline->wait_count[i] = 0;
	run_copy(pipeline, 0);
	run_copy(pipeline, pipeline->stages);
	reduce(pipeline);
	sample(pipeline);
	double end_s = 0;
	for (int i = 0; i < pipeline->ranks; i++)
		end_s = fmax(end_s, pipeline->ready_s[i]);
	set.time_ns = at_ns(end_s);
	for (size_t i = 0; i < set.count; i++)
		if (set.records[i].kind == RECORD_COLLECTIVES)
			set.records[i].time_ns = set.time_ns;
	model_apply(model, &set);
	pipeline->step++;
}

static void add_job(const struct pipeline *pipeline)
{
	static const char *const files[] = { "/home/me/train.py", "/x/torch/distributed/distributed_c10d.py" };
	sample_set_clear(&set);
	set.time_ns = at_ns(0);
	for (uint32_t i = 0; i < 2; i++)
		fill_code(sample_set_add(&set, RECORD_CODE, 0, set.time_ns), i + 1, i ? "recv" : "train", files[i], i == 0);
	for (uint32_t i = 0; i < (uint32_t)pipeline->ranks; i++) {
		struct record *record = sample_set_add(&set, RECORD_COLLECTIVE_RANK, 0, set.time_ns);
		record->collective_rank.pid = PID + (int)i;
		record->collective_rank.rank = (int)i;
		fill_code_group(sample_set_add(&set, RECORD_CODE_GROUP, 0, set.time_ns), i + 1, PID + (int)i, 10, 10, 1);
		for (uint32_t k = 0; k < 2; k++)
			fill_code_node(
				sample_set_add(&set, RECORD_CODE_NODE, 0, set.time_ns), 2 * i + k + 1, 0, i + 1, k + 1, 5, NULL);
	}
	for (uint32_t i = 0; i < (uint32_t)pipeline->stages; i++) {
		struct record *record = sample_set_add(&set, RECORD_COLLECTIVE_GROUP, 0, set.time_ns);
		record->collective_group.id = i + 1;
		record->collective_group.name = "0";
	}
	model_apply(model, &set);
}

static void run(int stages, int culprit, unsigned seed, double hz, double seconds)
{
	struct pipeline pipeline = { stages, 2 * stages, culprit, seed * 7919u + 1, hz, .sampled_s = 0.1 };
	add_job(&pipeline);
	while (pipeline.ready_s[0] < seconds)
		run_step(&pipeline);
}

struct counts {
	int right, wrong, without, ledger;
};

/* The culprit has most of the lost time: thrice as much as the next rank. */
static bool is_first(const struct lost_time *lost, int culprit)
{
	return lost->count > 0 && lost->rows[0].rank == culprit &&
		(lost->count == 1 || lost->rows[1].seconds < lost->rows[0].seconds / 3);
}

static struct counts count_named(int stages, double hz)
{
	struct counts counts = { 0 };
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		struct collective_pace pace = { .straggler = -1 };
		struct lost_time lost;
		int culprit = (int)(seed * 5 % (2 * (unsigned)stages));
		open_model();
		run(stages, culprit, seed, hz, 40);
		collectives_slowest(model, &pace);
		lost_time_measure(model, &lost);
		counts.right += pace.straggler == culprit;
		counts.wrong += pace.straggler >= 0 && pace.straggler != culprit;
		counts.without += lost.without == culprit;
		counts.ledger += is_first(&lost, culprit);
		close_model();
	}
	return counts;
}

START_TEST(rank_that_delays_its_pipeline_is_named_and_its_neighbours_are_not)
{
	for (int stages = 2; stages <= STAGES_MAX; stages++)
		for (double hz = 4; hz <= 10; hz += 6) {
			struct counts counts = count_named(stages, hz);
			ck_assert_msg(counts.right >= 9 && counts.wrong == 0 && counts.without >= 9 && counts.ledger >= 9,
				"%d stages, %g samples/s: %d right, %d wrong, %d without, %d ledger", stages, hz, counts.right,
				counts.wrong, counts.without, counts.ledger);
		}
}
END_TEST

START_TEST(healthy_pipeline_names_no_rank)
{
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		struct collective_pace pace = { .straggler = -1 };
		struct lost_time lost;
		open_model();
		run(2 + (int)seed % 3, -1, seed, 10, 40);
		collectives_slowest(model, &pace);
		lost_time_measure(model, &lost);
		ck_assert_int_eq(pace.straggler, -1);
		ck_assert_int_eq(lost.without, -1);
		close_model();
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pipeline_ranks");
	TCase *tests = tcase_create("pipeline_ranks");
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, rank_that_delays_its_pipeline_is_named_and_its_neighbours_are_not);
	tcase_add_test(tests, healthy_pipeline_names_no_rank);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
