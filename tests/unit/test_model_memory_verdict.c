#include <check.h>
#include <math.h>
#include <string.h>

#include "src/model/memory/memory_words.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

/* A trainer of 800 MB and two workers of 200 MB, ten batches a second, epochs of ten seconds with a pause of half a
 * second; read five times a second, the workers' kinds of memory once. */
enum { TRAINER = 100, FIRST_WORKER = 101, WORKERS = 2 };
#define EPOCH_S 10.0
#define STEP_S 0.1
#define EPOCH_BATCHES 95

struct tree {
	double anonymous, file, shared, swap;
};

struct play {
	struct script script;
	struct tree trees[1 + WORKERS];
	bool has_epochs, has_batches;
	double at_s;
	uint64_t batches; /* begun */
	/* what to change before each reading */
	void (*change)(struct play *play);
};

static void emit_tree(struct play *play, bool with_workers)
{
	for (int32_t i = 0; i <= WORKERS; i++) {
		const struct tree *tree = &play->trees[i];
		const struct {
			enum metric metric;
			double value;
		} figures[] = {
			{ METRIC_PROCESS_RESIDENT, tree->anonymous + tree->file + tree->shared },
			{ METRIC_PROCESS_ANONYMOUS, tree->anonymous },
			{ METRIC_PROCESS_FILE, tree->file },
			{ METRIC_PROCESS_SHARED, tree->shared },
			{ METRIC_PROCESS_SWAP, tree->swap },
		};
		for (size_t k = 0; k < sizeof figures / sizeof *figures && (k == 0 || i == 0 || with_workers); k++)
			script_figure(&play->script, play->at_s, figures[k].metric, TRAINER + i, figures[k].value);
		script_figure(&play->script, play->at_s, METRIC_PROCESS_STATE, TRAINER + i, 'S');
	}
}

static void open_play(struct play *play, void (*change)(struct play *play))
{
	*play = (struct play){ .has_epochs = true, .has_batches = true, .change = change };
	script_open(&play->script, NULL);
	script_process(&play->script, 0, TRAINER, 1, "train.py", true);
	for (int32_t i = 0; i < WORKERS; i++) {
		script_process(&play->script, 0, FIRST_WORKER + i, 1, "worker", false);
		play->script.set.records[play->script.set.count - 1].process.parent = TRAINER;
	}
	play->trees[0] = (struct tree){ .anonymous = 700e6, .file = 80e6, .shared = 20e6 };
	for (int i = 1; i <= WORKERS; i++)
		play->trees[i] = (struct tree){ .anonymous = 150e6, .file = 30e6, .shared = 20e6 };
}

static double position_in_epoch(double at_s) { return fmod(at_s, EPOCH_S); }

static void emit_batches(struct play *play)
{
	double from_s = play->at_s - 0.2;
	for (int i = 0; i < 2; i++) {
		double begin_s = from_s + i * STEP_S;
		uint64_t index = (uint64_t)llround(position_in_epoch(begin_s) / STEP_S);
		if (index == 0 && play->has_epochs)
			script_epoch(&play->script, RECORD_EPOCH_BEGIN, begin_s, (uint32_t)llround(begin_s / EPOCH_S));
		if (index < EPOCH_BATCHES) {
			script_batch_begin(&play->script, 0, begin_s, index);
			script_batch_end(&play->script, 0, begin_s + 0.09, begin_s, NAN);
			play->batches++;
		} else if (index == EPOCH_BATCHES && play->has_epochs) {
			script_epoch(&play->script, RECORD_EPOCH_END, begin_s, 0);
		}
	}
}

static const struct memory *play_until(struct play *play, double until_s)
{
	for (; play->at_s < until_s; script_apply(&play->script, play->at_s)) {
		long reading = lround(play->at_s * 5) + 1;
		play->at_s = (double)reading / 5;
		if (play->has_batches)
			emit_batches(play);
		if (play->change)
			play->change(play);
		emit_tree(play, reading % 5 == 1);
	}
	return &play->script.model->memory;
}

static void close_play(struct play *play) { script_close(&play->script); }

#define LEAK_A_BATCH 5e5

static void leak_in_the_trainer(struct play *play)
{
	play->trees[0].anonymous = 700e6 + LEAK_A_BATCH * (double)play->batches;
}

START_TEST(leak_in_the_trainer_is_growing_first_and_a_leak_in_the_second_epoch)
{
	struct play play;
	open_play(&play, leak_in_the_trainer);
	ck_assert_int_eq(play_until(&play, 9)->verdict, MEMORY_GROWING);
	const struct memory *memory = play_until(&play, 40);
	ck_assert_int_eq(memory->verdict, MEMORY_LEAK);
	ck_assert_str_eq(memory->grower, "main process");
	ck_assert_int_eq(memory->grower_kind, MEMORY_KIND_ANONYMOUS);
	ck_assert_int_eq(memory->grower_pid, TRAINER);
	ck_assert_double_eq_tol(memory->grower_share_ratio, 1, 0.01);
	ck_assert_double_eq_tol(memory->slope_per_batch, LEAK_A_BATCH, 0.05 * LEAK_A_BATCH);
	ck_assert_double_eq_tol(memory->growth_per_epoch, LEAK_A_BATCH * EPOCH_BATCHES, 0.1 * LEAK_A_BATCH * EPOCH_BATCHES);
	close_play(&play);
}
END_TEST

static void add_memory(struct script *script, double at_s, double anonymous)
{
	script_figure(script, at_s, METRIC_PROCESS_RESIDENT, TRAINER, anonymous + 100e6);
	script_figure(script, at_s, METRIC_PROCESS_ANONYMOUS, TRAINER, anonymous);
	script_figure(script, at_s, METRIC_PROCESS_FILE, TRAINER, 100e6);
	script_figure(script, at_s, METRIC_PROCESS_SHARED, TRAINER, 0);
	script_figure(script, at_s, METRIC_PROCESS_SWAP, TRAINER, 0);
	script_figure(script, at_s, METRIC_PROCESS_STATE, TRAINER, 'S');
}

/* A run of `bytes` beyond 700 MB at each time, which trains for the first `train_s` of each `cycle_s`, a batch every
 * `step_s`. Returns when its verdict was growth first; NAN = never. */
static double grows_at(double (*bytes)(double at_s), double step_s, double train_s, double cycle_s, double until_s)
{
	struct script script;
	script_open(&script, NULL);
	script_process(&script, 0, TRAINER, 1, "train.py", true);
	uint64_t batches = 0;
	double begin_s = 0, growing_s = NAN;
	for (int i = 1; i < until_s * 5 && isnan(growing_s); i++) {
		double at_s = (double)i / 5;
		for (; begin_s + step_s <= at_s; begin_s += step_s) {
			if (fmod(begin_s, cycle_s) + step_s > train_s)
				continue;
			script_batch_begin(&script, 0, begin_s, batches++);
			script_batch_end(&script, 0, begin_s + 0.99 * step_s, begin_s, NAN);
		}
		add_memory(&script, at_s, 700e6 + bytes(at_s));
		script_apply(&script, at_s);
		if (memory_is_growing(&script.model->memory))
			growing_s = at_s;
	}
	script_close(&script);
	return growing_s;
}

/* Healthy series, like those of real runs. */
static void check_never_grows(double (*bytes)(double at_s), double step_s, double until_s)
{
	ck_assert_double_nan(grows_at(bytes, step_s, until_s, until_s, until_s));
}

/* Steps of 8 s on a CPU: each allocates its activations gradually, and frees them. */
static double within_slow_steps(double at_s) { return 40e6 * fmin(fmod(at_s, 8), 6); }
/* An evaluation of 2 s after each 8 s of training. */
static double by_evaluation(double at_s) { return fmod(at_s, 10) > 8 ? 150e6 * (fmod(at_s, 10) - 8) / 2 : 0; }
/* Steady, with the noise of an allocator. */
static double steady(double at_s) { return 3e6 * sin(at_s * 7) + 2e6 * sin(at_s * 1.3); }

START_TEST(healthy_series_never_grow)
{
	check_never_grows(within_slow_steps, 8, 300);
	check_never_grows(by_evaluation, 0.25, 180);
	check_never_grows(steady, 0.1, 120);
	check_never_grows(steady, 1000, 120);
}
END_TEST

static double without_steps(double at_s) { return 10e6 * at_s; }

/* 20 s of training, then an evaluation of 15 s that stores its outputs, and frees them at its end. */
static double by_long_evaluation(double at_s) { return 40e6 * fmax(fmod(at_s, 35) - 20, 0); }
/* Of the outputs of each evaluation, some stay. */
static double left_by_evaluation(double at_s) { return by_long_evaluation(at_s) + 60e6 * floor(at_s / 35); }

START_TEST(memory_that_an_evaluation_frees_is_no_growth)
{
	ck_assert_double_nan(grows_at(by_long_evaluation, 0.25, 20, 35, 300));
	ck_assert_double_nan(grows_at(by_long_evaluation, 1, 20, 35, 300));
	double left_s = grows_at(left_by_evaluation, 0.25, 20, 35, 300);
	ck_assert(left_s > 40 && left_s < 200);
}
END_TEST

/* As measured: it goes up and down with each step, and an evaluation at 70 s leaves 90 MB in the allocator. */
static double by_steps(double at_s) { return 20e6 * fmod(at_s * 0.7548, 1); }
static double after_an_evaluation(double at_s) { return by_steps(at_s) + (at_s > 70 ? 90e6 : 0); }
static double late(double at_s) { return by_steps(at_s) + 2e6 * fmax(at_s - 200, 0); }

START_TEST(a_single_rise_is_no_growth)
{
	check_never_grows(after_an_evaluation, 0.25, 400);
	double growing_s = grows_at(late, 0.25, 400, 400, 400);
	ck_assert(growing_s > 200 && growing_s < 330);
}
END_TEST

static double since_the_last_batch(double at_s) { return 20e6 * fmax(at_s - 30, 0); }

START_TEST(growth_after_the_last_batch_is_named_after_a_minute)
{
	double growing_s = grows_at(since_the_last_batch, 0.25, 30, 1000, 200);
	ck_assert(growing_s > 89 && growing_s < 95);
}
END_TEST

/* Imports and the model's first steps take 40 s; memory is steady from then on, or grows. */
static double by_imports(double at_s) { return 6e6 * fmin(at_s, 40); }
static double since_imports(double at_s) { return by_imports(at_s) + 2e6 * fmax(at_s - 60, 0); }

/* pmtop sees a run that it infers only after some batches: no warm-up is told apart. */
static double grows_from_imports_on(double (*bytes)(double at_s), double train_from_s, double until_s)
{
	struct script script;
	double growing_s = NAN;
	script_open(&script, NULL);
	script_process(&script, 0, TRAINER, 1, "train.py", true);
	for (int i = 1; i < until_s * 5 && isnan(growing_s); i++) {
		double at_s = (double)i / 5;
		if (at_s > train_from_s && !script.batches) {
			script_total(&script, TOTAL_BATCH, 0, 0, 3, 0.2);
			script.batches = 3;
		}
		if (at_s > train_from_s) {
			script_batch_begin(&script, 0, at_s - 0.19, script.batches);
			script_batch_end(&script, 0, at_s - 0.01, at_s - 0.19, NAN);
		}
		add_memory(&script, at_s, 700e6 + bytes(at_s));
		script_apply(&script, at_s);
		if (memory_is_growing(&script.model->memory))
			growing_s = at_s;
	}
	ck_assert(!(script.batches > 3) || !script_batch(&script, 3)->is_warmup);
	script_close(&script);
	return growing_s;
}

START_TEST(imports_and_first_batches_are_no_growth)
{
	ck_assert_double_nan(grows_from_imports_on(by_imports, 38.5, 120));
	ck_assert_double_nan(grows_from_imports_on(by_imports, 1000, 120));
	double growing_s = grows_from_imports_on(since_imports, 38.5, 200);
	ck_assert(growing_s > 60 && growing_s < 130);
	growing_s = grows_from_imports_on(since_imports, 1000, 300);
	ck_assert(growing_s > 60 && growing_s < 200);
}
END_TEST

START_TEST(growth_is_named_after_ten_batches_or_a_minute_without)
{
	struct play play;
	open_play(&play, leak_in_the_trainer);
	ck_assert_int_eq(play_until(&play, 0.8)->verdict, MEMORY_UNKNOWN);
	ck_assert(memory_is_growing(play_until(&play, 9)));
	close_play(&play);
	/* With steps of ten seconds: not before 100 s. */
	check_never_grows(without_steps, 10, 95);
	/* Without steps: not before 60 s. */
	check_never_grows(without_steps, 1000, 59);
}
END_TEST

static void leak_in_a_worker(struct play *play)
{
	play->trees[2].anonymous = 150e6 + LEAK_A_BATCH * (double)play->batches;
}

START_TEST(leak_in_a_worker_names_it)
{
	struct play play;
	open_play(&play, leak_in_a_worker);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_int_eq(memory->verdict, MEMORY_LEAK);
	ck_assert_str_eq(memory->grower, "worker 102");
	ck_assert_double_eq_tol(memory->slope_per_batch, LEAK_A_BATCH, 0.1 * LEAK_A_BATCH);
	close_play(&play);
}
END_TEST

static void leak_in_all_workers(struct play *play)
{
	play->trees[1].anonymous = play->trees[2].anonymous = 150e6 + LEAK_A_BATCH * (double)play->batches / 2;
}

START_TEST(workers_that_leak_alike_are_named_together)
{
	struct play play;
	open_play(&play, leak_in_all_workers);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_int_eq(memory->verdict, MEMORY_LEAK);
	ck_assert_str_eq(memory->grower, "2 workers");
	ck_assert_int_eq(memory->grower_pid, 0);
	ck_assert_double_eq_tol(memory->slope_per_batch, LEAK_A_BATCH, 0.1 * LEAK_A_BATCH);
	close_play(&play);
}
END_TEST

static void emit_system(struct play *play, enum metric metric, double value)
{
	script_figure(&play->script, play->at_s, metric, 0, value);
}

static void set_shm(struct play *play, double used)
{
	emit_system(play, METRIC_SYSTEM_SHM, 2e9);
	emit_system(play, METRIC_SYSTEM_SHM_USED, used);
}

/* Trainer and worker see the same pages. */
static void leak_in_shm(struct play *play)
{
	double leaked = LEAK_A_BATCH * (double)play->batches;
	play->trees[0].shared = play->trees[1].shared = 20e6 + leaked;
	set_shm(play, 300e6 + leaked);
}

START_TEST(shared_pages_that_two_see_grow_once)
{
	struct play play;
	open_play(&play, leak_in_shm);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_int_eq(memory->verdict, MEMORY_LEAK);
	ck_assert_str_eq(memory->grower, "/dev/shm");
	ck_assert_int_eq(memory->grower_kind, MEMORY_KIND_SHARED);
	ck_assert_double_eq_tol(memory->slope_per_batch, LEAK_A_BATCH, 0.05 * LEAK_A_BATCH);
	ck_assert_str_eq(memory->limit, "/dev/shm");
	ck_assert_double_eq_tol(memory->limit_in_s, memory->limit_room_bytes / memory->slope.per_s, 1);
	close_play(&play);
}
END_TEST

/* Each worker has its own files; their sum is the growth of /dev/shm. */
static void leak_of_each_in_shm(struct play *play)
{
	double leaked = LEAK_A_BATCH * (double)play->batches;
	play->trees[1].shared = play->trees[2].shared = 20e6 + leaked / 2;
	set_shm(play, 300e6 + leaked);
}

START_TEST(shared_pages_that_each_has_for_itself_are_added)
{
	struct play play;
	open_play(&play, leak_of_each_in_shm);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_str_eq(memory->grower, "/dev/shm");
	ck_assert_double_eq_tol(memory->slope_per_batch, LEAK_A_BATCH, 0.1 * LEAK_A_BATCH);
	close_play(&play);
}
END_TEST

static void another_fills_shm(struct play *play)
{
	play->trees[0].shared = 20e6 + LEAK_A_BATCH * (double)play->batches;
	set_shm(play, 300e6 + 50e6 * play->at_s);
}

START_TEST(files_of_others_in_shm_do_not_count)
{
	struct play play;
	open_play(&play, another_fills_shm);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_double_eq_tol(memory->slope_per_batch, LEAK_A_BATCH, 0.05 * LEAK_A_BATCH);
	close_play(&play);
}
END_TEST

static void no_change_here_but_in_shm(struct play *play) { set_shm(play, 300e6 + 50e6 * play->at_s); }

START_TEST(shm_that_only_others_fill_is_no_growth)
{
	struct play play;
	open_play(&play, no_change_here_but_in_shm);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_int_eq(memory->verdict, MEMORY_PLATEAU);
	ck_assert_str_eq(memory->grower, "");
	ck_assert_int_eq(memory->grower_kind, MEMORY_KIND_NONE);
	close_play(&play);
}
END_TEST

static void write_files_to_shm(struct play *play)
{
	set_shm(play, 300e6 + LEAK_A_BATCH * (double)play->batches);
	emit_system(play, METRIC_SYSTEM_SHM_OWN, 20e6 + LEAK_A_BATCH * (double)play->batches);
}

START_TEST(unmapped_files_in_shm_that_the_run_has_open_count)
{
	struct play play;
	open_play(&play, write_files_to_shm);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_int_eq(memory->verdict, MEMORY_LEAK);
	ck_assert_str_eq(memory->grower, "/dev/shm");
	ck_assert(memory->is_unmapped);
	ck_assert_double_eq_tol(memory->slope_per_batch, LEAK_A_BATCH, 0.05 * LEAK_A_BATCH);
	ck_assert_ptr_nonnull(strstr(memory_meaning(memory), "/dev/shm"));
	close_play(&play);
}
END_TEST

/* As steady as the run's batches, so that time does not show whose files they are. */
static void another_fills_shm_at_the_runs_pace(struct play *play)
{
	set_shm(play, 300e6 + LEAK_A_BATCH * (double)play->batches);
	emit_system(play, METRIC_SYSTEM_SHM_OWN, 20e6);
}

START_TEST(another_programs_files_in_shm_are_the_machines)
{
	struct play play;
	open_play(&play, another_fills_shm_at_the_runs_pace);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_int_eq(memory->verdict, MEMORY_PLATEAU);
	ck_assert_str_eq(memory->grower, "");
	ck_assert_double_gt(memory->shm_others_growth_bytes, 20e6);
	close_play(&play);
}
END_TEST

static void no_change_here_but_at_the_runs_pace(struct play *play)
{
	set_shm(play, 300e6 + LEAK_A_BATCH * (double)play->batches);
}

START_TEST(files_in_shm_of_unknown_owners_are_not_the_runs)
{
	struct play play;
	open_play(&play, no_change_here_but_at_the_runs_pace);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_int_eq(memory->verdict, MEMORY_PLATEAU);
	ck_assert(isnan(memory->shm_others_growth_bytes));
	close_play(&play);
}
END_TEST

/* The cgroup excludes files of another container. */
static void write_files_in_a_cgroup(struct play *play)
{
	set_shm(play, 300e6 + 50e6 * play->at_s + LEAK_A_BATCH * (double)play->batches);
	emit_system(play, METRIC_CGROUP_MEMBERS_OUTSIDE, 3);
	emit_system(play, METRIC_CGROUP_MEMORY, 2e9);
	emit_system(play, METRIC_CGROUP_MEMORY_SHARED, 10e6 + LEAK_A_BATCH * (double)play->batches);
}

START_TEST(the_cgroup_distinguishes_the_runs_files_in_shm_from_others)
{
	struct play play;
	open_play(&play, write_files_in_a_cgroup);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_int_eq(memory->verdict, MEMORY_LEAK);
	ck_assert_str_eq(memory->grower, "/dev/shm");
	ck_assert_double_eq_tol(memory->slope_per_batch, LEAK_A_BATCH, 0.05 * LEAK_A_BATCH);
	close_play(&play);
}
END_TEST

/* Workers restart each epoch as forks of a leaking trainer: its anonymous memory counts once more in each. */
static void leak_with_forked_workers(struct play *play)
{
	struct script *script = &play->script;
	bool is_begin = position_in_epoch(play->at_s) < 0.3;
	leak_in_the_trainer(play);
	if (!is_begin)
		return;
	for (int32_t i = 0; i < WORKERS; i++) {
		script_process(script, play->at_s, FIRST_WORKER + i, (uint64_t)play->at_s + 2, "worker", false);
		play->trees[1 + i].anonymous = play->trees[0].anonymous;
	}
}

START_TEST(forks_of_a_leaking_trainer_do_not_multiply_its_leak)
{
	struct play play;
	open_play(&play, leak_with_forked_workers);
	const struct memory *memory = play_until(&play, 65);
	ck_assert_int_eq(memory->verdict, MEMORY_LEAK);
	ck_assert_str_eq(memory->grower, "main process");
	ck_assert_double_eq_tol(memory->slope_per_batch, LEAK_A_BATCH, 0.1 * LEAK_A_BATCH);
	close_play(&play);
}
END_TEST

static void map_files(struct play *play)
{
	for (int i = 0; i <= WORKERS; i++)
		play->trees[i].file = 80e6 + 5e6 * play->at_s;
}

START_TEST(mapped_files_that_grow_are_a_cache)
{
	struct play play;
	open_play(&play, map_files);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_int_eq(memory->verdict, MEMORY_CACHE);
	ck_assert_str_eq(memory->grower, "mapped files");
	ck_assert_int_eq(memory->grower_kind, MEMORY_KIND_FILE);
	ck_assert_double_eq_tol(memory->slope.per_s, 5e6, 0.1e6);
	ck_assert_double_nan(memory->limit_in_s);
	close_play(&play);
}
END_TEST

static void leak_beside_files(struct play *play)
{
	map_files(play);
	leak_in_the_trainer(play);
}

START_TEST(leak_is_seen_beside_files_that_grow_faster)
{
	struct play play;
	open_play(&play, leak_beside_files);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_int_eq(memory->verdict, MEMORY_LEAK);
	ck_assert_double_eq_tol(memory->slope_per_batch, LEAK_A_BATCH, 0.05 * LEAK_A_BATCH);
	close_play(&play);
}
END_TEST

static void fill_in_first_epoch(struct play *play) { play->trees[0].anonymous = 700e6 + 20e6 * fmin(play->at_s, 9.5); }

START_TEST(memory_that_grows_in_the_first_epoch_is_a_cache_and_never_a_leak)
{
	struct play play;
	open_play(&play, fill_in_first_epoch);
	ck_assert_int_eq(play_until(&play, 9)->verdict, MEMORY_GROWING);
	for (double at_s = 10; at_s < 40; at_s++)
		ck_assert_int_ne(play_until(&play, at_s)->verdict, MEMORY_LEAK);
	ck_assert_int_eq(play_until(&play, 60)->verdict, MEMORY_CACHE);
	close_play(&play);
}
END_TEST

static void settle_at_once(struct play *play) { play->trees[0].anonymous = 700e6 + 150e6 * (1 - exp(-play->at_s)); }

START_TEST(memory_that_settles_at_once_is_a_plateau)
{
	struct play play;
	open_play(&play, settle_at_once);
	ck_assert_int_eq(play_until(&play, 45)->verdict, MEMORY_PLATEAU);
	close_play(&play);
}
END_TEST

static void rise_each_epoch(struct play *play)
{
	play->trees[0].anonymous = 700e6 + 10e6 * position_in_epoch(play->at_s);
}

START_TEST(memory_that_falls_back_each_epoch_is_a_sawtooth_and_never_a_leak)
{
	struct play play;
	open_play(&play, rise_each_epoch);
	for (double at_s = 5; at_s < 45; at_s++)
		ck_assert_int_ne(play_until(&play, at_s)->verdict, MEMORY_LEAK);
	ck_assert_int_eq(play_until(&play, 55)->verdict, MEMORY_SAWTOOTH);
	ck_assert_int_eq(play_until(&play, 300)->verdict, MEMORY_SAWTOOTH);
	ck_assert_int_eq(play_until(&play, 1300)->verdict, MEMORY_SAWTOOTH);
	close_play(&play);
}
END_TEST

static void leak_under_teeth(struct play *play)
{
	play->trees[0].anonymous = 700e6 + LEAK_A_BATCH * (double)play->batches + 10e6 * position_in_epoch(play->at_s);
}

START_TEST(teeth_whose_lows_rise_are_a_leak)
{
	struct play play;
	open_play(&play, leak_under_teeth);
	const struct memory *memory = play_until(&play, 75);
	ck_assert_int_eq(memory->verdict, MEMORY_LEAK);
	ck_assert_double_eq_tol(memory->slope_per_batch, LEAK_A_BATCH, 0.15 * LEAK_A_BATCH);
	close_play(&play);
}
END_TEST

/* Allocates and frees in each step: readings catch it at random. */
static void flicker(struct play *play)
{
	unsigned drawn = (unsigned)(play->batches * 2654435761u);
	play->trees[0].anonymous = 700e6 + (double)(drawn >> 8) * (300e6 / (1 << 24));
}

START_TEST(fluctuating_memory_is_neither_sawtooth_nor_leak)
{
	struct play play;
	open_play(&play, flicker);
	for (double at_s = 5; at_s < 100; at_s++) {
		enum memory_verdict verdict = play_until(&play, at_s)->verdict;
		ck_assert_msg(verdict == MEMORY_UNKNOWN || verdict == MEMORY_PLATEAU, "%s after %g s",
			memory_verdict_word(verdict), at_s);
	}
	close_play(&play);
}
END_TEST

START_TEST(without_epochs_a_leak_takes_a_minute_and_200_batches)
{
	struct play play;
	open_play(&play, leak_in_the_trainer);
	play.has_epochs = false;
	ck_assert_int_eq(play_until(&play, 55)->verdict, MEMORY_GROWING);
	ck_assert_int_eq(play_until(&play, 65)->verdict, MEMORY_LEAK);
	close_play(&play);
}
END_TEST

static void leak_by_the_clock(struct play *play) { play->trees[0].anonymous = 700e6 + 5e6 * play->at_s; }

START_TEST(without_batches_a_leak_takes_five_minutes)
{
	struct play play;
	open_play(&play, leak_by_the_clock);
	play.has_batches = false;
	ck_assert_int_eq(play_until(&play, 290)->verdict, MEMORY_GROWING);
	const struct memory *memory = play_until(&play, 310);
	ck_assert_int_eq(memory->verdict, MEMORY_LEAK);
	ck_assert_double_eq_tol(memory->slope.per_s, 5e6, 0.1e6);
	ck_assert_double_nan(memory->slope_per_batch);
	close_play(&play);
}
END_TEST

static void leak_into_swap(struct play *play)
{
	double leaked = LEAK_A_BATCH * (double)play->batches;
	play->trees[0].anonymous = 700e6;
	play->trees[0].swap = leaked;
}

START_TEST(swapped_memory_still_counts)
{
	struct play play;
	open_play(&play, leak_into_swap);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_int_eq(memory->verdict, MEMORY_LEAK);
	ck_assert_double_eq_tol(memory->slope_per_batch, LEAK_A_BATCH, 0.05 * LEAK_A_BATCH);
	close_play(&play);
}
END_TEST

/* The cgroup counts what the processes' own figures miss: pages copied when a worker writes to them. */
static void copy_on_write(struct play *play)
{
	emit_system(play, METRIC_CGROUP_MEMBERS_OUTSIDE, 0);
	emit_system(play, METRIC_CGROUP_MEMORY, 2e9);
	emit_system(play, METRIC_CGROUP_MEMORY_LIMIT, 4e9);
	emit_system(play, METRIC_CGROUP_MEMORY_ANONYMOUS, 900e6 + LEAK_A_BATCH * (double)play->batches);
	emit_system(play, METRIC_CGROUP_MEMORY_FILE, 500e6);
	emit_system(play, METRIC_CGROUP_MEMORY_SHARED, 40e6);
}

START_TEST(an_own_cgroup_shows_copies_on_write_and_sets_the_limit)
{
	struct play play;
	open_play(&play, copy_on_write);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_int_eq(memory->verdict, MEMORY_LEAK);
	ck_assert_str_eq(memory->grower, "copies on write");
	ck_assert_double_eq_tol(memory->slope_per_batch, LEAK_A_BATCH, 0.05 * LEAK_A_BATCH);
	ck_assert_str_eq(memory->limit, "cgroup");
	ck_assert_double_eq_tol(memory->limit_room_bytes, 2e9 + 460e6, 1);
	close_play(&play);
}
END_TEST

static void small_machine(struct play *play)
{
	leak_in_the_trainer(play);
	emit_system(play, METRIC_SYSTEM_MEMORY, 8e9);
	emit_system(play, METRIC_SYSTEM_MEMORY_AVAILABLE, 3e9);
}

START_TEST(the_machine_is_full_when_its_room_is_used_up)
{
	struct play play;
	open_play(&play, small_machine);
	const struct memory *memory = play_until(&play, 45);
	ck_assert_str_eq(memory->limit, "machine");
	ck_assert_double_eq(memory->limit_bytes, 8e9);
	ck_assert_double_eq_tol(memory->limit_in_s, 3e9 / (LEAK_A_BATCH * 9.5), 40);
	close_play(&play);
}
END_TEST

static void spike_now_and_then(struct play *play)
{
	double position = fmod(play->at_s, 20);
	play->trees[0].anonymous = 700e6 + (position > 15 && position < 16.1 ? 400e6 : 0);
}

START_TEST(spikes_are_counted_with_their_height)
{
	struct play play;
	open_play(&play, spike_now_and_then);
	const struct memory *memory = play_until(&play, 14);
	ck_assert_uint_eq(memory->spikes, 0);
	ck_assert_double_nan(memory->spike_bytes);
	play_until(&play, 80);
	ck_assert_uint_eq(memory->spikes, 4);
	ck_assert_double_eq_tol(memory->spike_bytes, 400e6, 1e6);
	ck_assert_int_eq(memory->spike_ns, script_ns(75.2));
	ck_assert_int_ne(memory->verdict, MEMORY_LEAK);
	close_play(&play);
}
END_TEST

static void step_up(struct play *play) { play->trees[0].anonymous = 700e6 + (play->at_s > 20 ? 400e6 : 0); }

START_TEST(a_step_is_no_spike)
{
	struct play play;
	open_play(&play, step_up);
	const struct memory *memory = play_until(&play, 60);
	ck_assert_uint_eq(memory->spikes, 0);
	ck_assert_int_ne(memory->verdict, MEMORY_LEAK);
	close_play(&play);
}
END_TEST

static void peak_between_readings(struct play *play)
{
	script_figure(&play->script, play->at_s, METRIC_PROCESS_RESIDENT_PEAK, TRAINER, play->at_s < 25 ? 810e6 : 1500e6);
}

START_TEST(a_spike_that_only_the_kernel_saw_counts)
{
	struct play play;
	open_play(&play, peak_between_readings);
	const struct memory *memory = play_until(&play, 40);
	ck_assert_uint_eq(memory->spikes, 1);
	ck_assert_double_eq_tol(memory->spike_bytes, 700e6, 1e6);
	close_play(&play);
}
END_TEST

static void hold_little(struct play *play)
{
	struct record *name = NULL;
	if (play->at_s < 0.3) {
		name = script_add(&play->script, RECORD_NAME, play->at_s);
		name->name.id = 900;
		name->name.text = "heap.allocated_bytes";
	}
	struct record *gauge = script_add(&play->script, RECORD_GAUGE, play->at_s);
	gauge->gauge.name = 900;
	gauge->gauge.value = play->at_s < 20 ? 650e6 : 200e6;
}

START_TEST(fragmentation_is_claimed_where_the_program_says_what_it_holds)
{
	struct play play;
	open_play(&play, hold_little);
	ck_assert_int_eq(play_until(&play, 19)->verdict, MEMORY_PLATEAU);
	ck_assert_int_eq(play_until(&play, 45)->verdict, MEMORY_FRAGMENTATION);
	close_play(&play);
}
END_TEST

START_TEST(each_verdict_has_words)
{
	for (enum memory_verdict verdict = MEMORY_UNKNOWN; verdict <= MEMORY_FRAGMENTATION; verdict++) {
		struct memory memory = { .verdict = verdict };
		ck_assert_uint_gt(strlen(memory_verdict_word(verdict)), 3);
		ck_assert_uint_gt(strlen(memory_meaning(&memory)), 10);
		ck_assert_uint_gt(strlen(memory_next_step(&memory)), 4);
	}
	struct memory worker = { .verdict = MEMORY_LEAK, .grower_kind = MEMORY_KIND_ANONYMOUS, .grower = "worker 4711" };
	ck_assert_ptr_nonnull(strstr(memory_meaning(&worker), "worker"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory verdict");
	TCase *tests = tcase_create("memory verdict");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, leak_in_the_trainer_is_growing_first_and_a_leak_in_the_second_epoch);
	tcase_add_test(tests, healthy_series_never_grow);
	tcase_add_test(tests, memory_that_an_evaluation_frees_is_no_growth);
	tcase_add_test(tests, a_single_rise_is_no_growth);
	tcase_add_test(tests, growth_after_the_last_batch_is_named_after_a_minute);
	tcase_add_test(tests, imports_and_first_batches_are_no_growth);
	tcase_add_test(tests, growth_is_named_after_ten_batches_or_a_minute_without);
	tcase_add_test(tests, leak_in_a_worker_names_it);
	tcase_add_test(tests, workers_that_leak_alike_are_named_together);
	tcase_add_test(tests, shared_pages_that_two_see_grow_once);
	tcase_add_test(tests, shared_pages_that_each_has_for_itself_are_added);
	tcase_add_test(tests, files_of_others_in_shm_do_not_count);
	tcase_add_test(tests, shm_that_only_others_fill_is_no_growth);
	tcase_add_test(tests, unmapped_files_in_shm_that_the_run_has_open_count);
	tcase_add_test(tests, another_programs_files_in_shm_are_the_machines);
	tcase_add_test(tests, files_in_shm_of_unknown_owners_are_not_the_runs);
	tcase_add_test(tests, the_cgroup_distinguishes_the_runs_files_in_shm_from_others);
	tcase_add_test(tests, forks_of_a_leaking_trainer_do_not_multiply_its_leak);
	tcase_add_test(tests, mapped_files_that_grow_are_a_cache);
	tcase_add_test(tests, leak_is_seen_beside_files_that_grow_faster);
	tcase_add_test(tests, memory_that_grows_in_the_first_epoch_is_a_cache_and_never_a_leak);
	tcase_add_test(tests, memory_that_settles_at_once_is_a_plateau);
	tcase_add_test(tests, memory_that_falls_back_each_epoch_is_a_sawtooth_and_never_a_leak);
	tcase_add_test(tests, teeth_whose_lows_rise_are_a_leak);
	tcase_add_test(tests, fluctuating_memory_is_neither_sawtooth_nor_leak);
	tcase_add_test(tests, without_epochs_a_leak_takes_a_minute_and_200_batches);
	tcase_add_test(tests, without_batches_a_leak_takes_five_minutes);
	tcase_add_test(tests, swapped_memory_still_counts);
	tcase_add_test(tests, an_own_cgroup_shows_copies_on_write_and_sets_the_limit);
	tcase_add_test(tests, the_machine_is_full_when_its_room_is_used_up);
	tcase_add_test(tests, spikes_are_counted_with_their_height);
	tcase_add_test(tests, a_step_is_no_spike);
	tcase_add_test(tests, a_spike_that_only_the_kernel_saw_counts);
	tcase_add_test(tests, fragmentation_is_claimed_where_the_program_says_what_it_holds);
	tcase_add_test(tests, each_verdict_has_words);
	return suite_run(suite);
}
