#include <check.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "tests/support/rank_group.h"
#include "tests/support/stage.h"
#include "tests/support/suite.h"

static struct stage stage;
static struct rank_group rank_group;

static void setup(void)
{
	struct story_options options;
	story_options_default(&options);
	options.is_published = false;
	options.workers = 0;
	stage_open(&stage, &options, 120, 40);
	stage_play(&stage, 0.1);
	rank_group_open(&rank_group, stage.model, stage.begin_ns);
}

static void teardown(void)
{
	rank_group_close(&rank_group);
	stage_close(&stage);
}

static void show(double at_s)
{
	rank_group_apply(&rank_group, at_s);
	alerts_update(&stage.alerts, stage.model, &stage.settings);
	stage_draw(&stage);
}

/* All ranks step together: the others wait for the time that `slow` loads longer. */
static void train(unsigned count, unsigned slow, size_t steps)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned rank = rank_group_add(&rank_group, i, count, "a", 48213 + (int)i);

		for (size_t k = 0; k < steps; k++)
			rank_group_step(&rank_group, rank,
				i == slow ? (struct rank_group_step){ 0.081, 0.06, 0.05, 0, 0.009 }
						  : (struct rank_group_step){ 0.02, 0.06, 0.111, 0, 0.009 });
		rank_group_figure(&rank_group, 1, METRIC_PROCESS_RESIDENT, 48213 + (int)i, 1.2e9 + 1e7 * i);
	}
}

START_TEST(two_ranks_are_shown_side_by_side)
{
	train(2, 1, 60);
	show(12.1);
	stage_expect(&stage, "ranks_120x40");
	stage_resize(&stage, 80, 24);
	stage_expect(&stage, "ranks_80x24");
	stage_resize(&stage, 200, 60);
	stage_expect(&stage, "ranks_200x60");
}
END_TEST

START_TEST(ascii_carries_the_same)
{
	train(2, 1, 60);
	stage.canvas.charset = CHARSET_ASCII;
	show(12.1);
	stage_expect(&stage, "ranks_120x40_ascii");
}
END_TEST

START_TEST(of_64_the_slowest_and_the_stopped_one_are_always_shown)
{
	train(64, 37, 40);
	for (unsigned i = 0; i < 64; i++)
		rank_group_hang(&rank_group, i, RANK_GROUP_BACKWARD);
	rank_group_figure(&rank_group, 9, METRIC_PROCESS_STATE, 48213 + 50, 'T');
	show(25);
	stage_expect(&stage, "ranks_of_64_120x40");
	stage_resize(&stage, 200, 60);
	ck_assert(stage_shows(&stage, "… 56 more"));
	ck_assert(stage_shows(&stage, "⚠ rank 50 stopped"));
	ck_assert(stage_shows(&stage, "⚠   37"));
	ck_assert(stage_shows(&stage, "⚠   50"));
}
END_TEST

START_TEST(a_killed_rank_is_named_with_its_time)
{
	train(2, 1, 60);
	rank_group_hang(&rank_group, 0, RANK_GROUP_BACKWARD);
	rank_group_end(&rank_group, 1, 12.3, true);
	show(40);
	ck_assert(stage_shows(&stage, "⚠ rank 1 killed"));
	ck_assert(stage_shows(&stage, "ended 14:00:12 (killed)"));
	ck_assert(stage_shows(&stage, "rank 1 was killed or crashed; rank 0 waits in backward"));
	stage_resize(&stage, 80, 24);
	ck_assert(stage_shows(&stage, "⚠ rank 1 killed"));
	ck_assert(stage_shows(&stage, " rank 1 was killed"));
}
END_TEST

START_TEST(brackets_choose_ranks_in_their_order)
{
	rank_group_add(&rank_group, 1, 3, "a", 48214);
	rank_group_add(&rank_group, 2, 3, "a", 48215);
	rank_group_add(&rank_group, 0, 3, "a", 48216);
	show(1);
	ck_assert(stage_shows(&stage, "rank 0/3"));
	stage_type(&stage, "]");
	ck_assert(stage_shows(&stage, "rank 1/3"));
	stage_type(&stage, "]");
	ck_assert(stage_shows(&stage, "rank 2/3"));
	stage_type(&stage, "]");
	ck_assert(stage_shows(&stage, "rank 0/3"));
	stage_type(&stage, "[");
	ck_assert(stage_shows(&stage, "rank 2/3"));
}
END_TEST

START_TEST(the_rank_of_the_process_that_was_asked_for_is_shown_first)
{
	rank_group_add(&rank_group, 0, 2, "a", 999);
	rank_group_add(&rank_group, 1, 2, "a", 48213); /* the target of the story */
	show(1);
	ck_assert(stage_shows(&stage, "rank 1/2"));
	ck_assert(stage_shows(&stage, "too few steps to compare the ranks"));
	/* It ends, and so does the target: the screen stays on this rank. */
	rank_group_end(&rank_group, 1, 2, true);
	stage.model->target_ended = true;
	show(2);
	ck_assert(stage_shows(&stage, "rank 1/2"));
}
END_TEST

START_TEST(a_rank_by_the_order_of_starts_is_marked)
{
	rank_group_add(&rank_group, 1, 2, "a", 48213);
	struct record *meta = sample_set_add(&rank_group.set, RECORD_META, 0, stage.begin_ns);
	meta->meta.key = "rank.certain";
	meta->meta.value = "no";
	show(1);
	ck_assert(stage_shows(&stage, "rank 1?/2"));
}
END_TEST

START_TEST(ranks_on_other_machines_are_counted)
{
	train(2, 5, 60);
	for (unsigned i = 0; i < 2; i++) {
		struct record *meta = sample_set_add(&rank_group.set, RECORD_META, i, stage.begin_ns);
		meta->meta.key = "WORLD_SIZE";
		meta->meta.value = "16";
	}
	show(12.1);
	ck_assert(stage_shows(&stage, "2 of 16 on this machine"));
	ck_assert(stage_shows(&stage, "no rank is slower than the others"));
}
END_TEST

/* Rank `rank` has entered 1..to, one each 0.1 s; rank 1 always a little later. */
static void enter(struct sample_set *set, int rank, uint64_t to)
{
	struct collective_row *rows = sample_set_allocate(set, to * sizeof *rows);
	struct record *record = sample_set_add(set, RECORD_COLLECTIVE_RANK, 0, set->time_ns);
	record->collective_rank.pid = 48213 + rank;
	record->collective_rank.rank = rank;
	for (uint64_t i = 0; i < to; i++)
		rows[i] = (struct collective_row){ 1, 1, i + 1,
			stage.begin_ns + (int64_t)i * 100 * NS_PER_MS + (rank == 1 ? 20 * NS_PER_MS : 0) };
	record = sample_set_add(set, RECORD_COLLECTIVE_STATE, 0, set->time_ns);
	record->collective_state.pid = 48213 + rank;
	record->collective_state.group = 1;
	record->collective_state.enqueued = (int64_t)to;
	record->collective_state.completed = 40;
	record = sample_set_add(set, RECORD_COLLECTIVES, 0, set->time_ns);
	record->collectives.pid = 48213 + rank;
	record->collectives.rows = rows;
	record->collectives.count = (size_t)to;
}

static void enter_collectives(double at_s)
{
	struct sample_set set = SAMPLE_SET_INIT;
	set.time_ns = stage.begin_ns + (int64_t)(at_s * (double)NS_PER_S);
	struct record *record = sample_set_add(&set, RECORD_COLLECTIVE_OP, 0, set.time_ns);
	record->collective_op.id = 1;
	record->collective_op.name = "nccl:all_reduce";
	record->collective_op.sizes = "[1000, 64]";
	record = sample_set_add(&set, RECORD_COLLECTIVE_GROUP, 0, set.time_ns);
	record->collective_group.id = 1;
	record->collective_group.name = "0";
	record->collective_group.description = "default_pg";
	record->collective_group.is_device = true;
	enter(&set, 0, 41);
	enter(&set, 1, 40);
	model_apply(stage.model, &set);
	sample_set_release(&set);
}

START_TEST(rank_that_is_behind_in_a_collective_is_named)
{
	train(2, 1, 60);
	show(12.1);
	enter_collectives(12.2);
	show(12.3);
	const char *words = "rank 1 has not entered all_reduce #41 (default_pg); rank 0 has waited 8.3 s";
	ck_assert(stage_shows(&stage, words));
	stage_type(&stage, "0");
	ck_assert(stage_shows(&stage, words));
	stage_expect(&stage, "ranks_view_120x40");
	stage_resize(&stage, 80, 24);
	stage_expect(&stage, "ranks_view_80x24");
}
END_TEST

/* A job that hung before pmtop came: no steps are known. */
START_TEST(without_steps_the_overview_names_the_rank_that_is_behind)
{
	enter_collectives(12.2);
	show(12.3);
	ck_assert(stage_shows(&stage, "rank 1 has not entered all_reduce #41 (default_pg); rank 0 has waited 8.3 s"));
	ck_assert(stage_shows(&stage, "2 ranks · [0] details"));
	stage_resize(&stage, 80, 24);
	ck_assert(stage_shows(&stage, "rank 1 has not entered all_reduce #41 (default_pg); rank 0 has waited 8.3 s"));
}
END_TEST

START_TEST(gpu_of_each_rank_is_shown)
{
	struct sample_set set = SAMPLE_SET_INIT;
	enter_collectives(12.2);
	set.time_ns = stage.begin_ns + (int64_t)(12.2 * (double)NS_PER_S);
	for (int i = 0; i < 2; i++) {
		struct record *record = sample_set_add(&set, RECORD_GPU, 0, set.time_ns);
		struct gpu_row *gpu = sample_set_allocate(&set, sizeof *gpu);
		*gpu = (struct gpu_row){
			.instance = i, .parent = -1, .index = (uint32_t)i + 4, .vendor = "nvidia", .name = "H200"
		};
		record->gpu = gpu;
		sample_set_figure(&set, set.time_ns, METRIC_GPU_BUSY, i, 0.87);
		struct gpu_process_row *row = sample_set_allocate(&set, sizeof *row);
		*row = (struct gpu_process_row){ 48213 + i, GPU_PROCESS_COMPUTE, "", 3.9e9, NAN };
		record = sample_set_add(&set, RECORD_GPU_PROCESSES, 0, set.time_ns);
		record->gpu_processes.gpu = i;
		record->gpu_processes.rows = row;
		record->gpu_processes.count = 1;
	}
	model_apply(stage.model, &set);
	sample_set_release(&set);
	show(12.3);
	stage_type(&stage, "0");
	ck_assert(stage_shows(&stage, "4 · 87 %"));
	ck_assert(stage_shows(&stage, "5 · 87 %"));
}
END_TEST

/* NCCL's RAS: ranks 0 and 1 are this machine's, and rank 3 is dead. */
START_TEST(ranks_of_other_machines_and_the_dead_one_are_shown)
{
	struct sample_set set = SAMPLE_SET_INIT;
	train(2, 1, 60);
	show(12.1);
	set.time_ns = stage.begin_ns + (int64_t)(12.2 * (double)NS_PER_S);
	struct record *record = sample_set_add(&set, RECORD_RAS, 0, set.time_ns);
	record->ras.version = "2.28.9";
	record->ras.host = "192.0.2.2";
	record = sample_set_add(&set, RECORD_RAS_GROUP, 0, set.time_ns);
	struct ras_row *rows = sample_set_allocate(&set, 4 * sizeof *rows);
	for (int i = 0; i < 4; i++)
		rows[i] = (struct ras_row){ .rank = i,
			.pid = i < 2 ? 48213 + i : 48213,
			.gpu = i % 2,
			.state = i == 3 ? RAS_DEAD : RAS_RUNNING,
			.host = i < 2 ? "192.0.2.2" : "192.0.2.3" };
	record->ras_group.hash = 0x75e2e5c21b901c6d;
	record->ras_group.size = 4;
	record->ras_group.rows = rows;
	record->ras_group.count = 4;
	model_apply(stage.model, &set);
	sample_set_release(&set);
	show(12.3);
	stage_type(&stage, "0");
	stage_expect(&stage, "ranks_remote_120x40");
}
END_TEST

START_TEST(view_of_ranks_has_a_tab_only_where_there_are_ranks)
{
	stage_draw(&stage);
	ck_assert(!stage_shows(&stage, "0 Ranks"));
	stage_type(&stage, "0");
	ck_assert(stage_shows(&stage, "This run has one process"));
	train(2, 1, 60);
	show(12.1);
	ck_assert(stage_shows(&stage, "0 Ranks"));
	ck_assert(stage_shows(&stage, "rank 1 is slowest"));
}
END_TEST

START_TEST(a_single_process_has_no_panel)
{
	unsigned rank = rank_group_add(&rank_group, 0, 1, "a", 48213);
	for (int i = 0; i < 40; i++)
		rank_group_step(&rank_group, rank, (struct rank_group_step){ 0.02, 0.06, 0.1, 0, 0 });
	show(8);
	ck_assert(!stage_shows(&stage, "Ranks"));
	ck_assert(!stage_shows(&stage, "slowest"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ranks");
	TCase *tests = tcase_create("ranks");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, two_ranks_are_shown_side_by_side);
	tcase_add_test(tests, ascii_carries_the_same);
	tcase_add_test(tests, of_64_the_slowest_and_the_stopped_one_are_always_shown);
	tcase_add_test(tests, a_killed_rank_is_named_with_its_time);
	tcase_add_test(tests, brackets_choose_ranks_in_their_order);
	tcase_add_test(tests, the_rank_of_the_process_that_was_asked_for_is_shown_first);
	tcase_add_test(tests, a_rank_by_the_order_of_starts_is_marked);
	tcase_add_test(tests, ranks_on_other_machines_are_counted);
	tcase_add_test(tests, rank_that_is_behind_in_a_collective_is_named);
	tcase_add_test(tests, without_steps_the_overview_names_the_rank_that_is_behind);
	tcase_add_test(tests, gpu_of_each_rank_is_shown);
	tcase_add_test(tests, ranks_of_other_machines_and_the_dead_one_are_shown);
	tcase_add_test(tests, view_of_ranks_has_a_tab_only_where_there_are_ranks);
	tcase_add_test(tests, a_single_process_has_no_panel);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
