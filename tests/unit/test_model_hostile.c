#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/gpus/gpus_runs.h"
#include "src/model/gpus/gpus_words.h"
#include "src/model/run/steps/baseline.h"
#include "src/model/run/steps/tracks.h"
#include "tests/support/random_records.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

/* Random records in any order: no crash (the sanitizers check), no unbounded growth, and the model's invariants hold.
 */

/* Check writes every assertion to a file; these would be millions. */
#define HOLDS(condition) \
	do { \
		if (!(condition)) \
			ck_abort_msg("%s does not hold", #condition); \
	} while (0)

static void check_series(const struct series *series)
{
	struct series_column columns[8];
	series_columns(series, RANDOM_BASE_NS, RANDOM_BASE_NS + 10 * NS_PER_S, columns, 8);
	series_columns(series, INT64_MIN, INT64_MAX, columns, 8);
	for (int i = 0; i < 8; i++)
		HOLDS(!columns[i].has || columns[i].min <= columns[i].max);
}

static void check_batch(const struct track *track, const struct batch *batch)
{
	double sum = 0;
	HOLDS(batch->phase_count <= RUN_PHASES_MAX);
	HOLDS(batch->figure_count <= RUN_BATCH_FIGURES_MAX);
	HOLDS(batch->kind <= 4096);
	for (unsigned i = 0; i < batch->phase_count; i++)
		sum += batch->phases[i].parent == NAME_NONE ? (double)batch->phases[i].seconds : 0;
	HOLDS(isnan(batch->batch_s) || batch->batch_s >= 0);
	if (isnan(batch->step_s))
		return;
	HOLDS(batch->step_s >= batch->batch_s);
	HOLDS(fabs(sum - batch->step_s) <= 1e-5 + 1e-4 * batch->step_s);
	HOLDS(batch->ordinal < track->end);
}

static void check_track(const struct run *run, const struct track *track)
{
	struct baseline baseline;
	struct phase_row rows[RUN_PHASES_MAX];
	size_t batches;
	HOLDS(track->first <= track->end);
	HOLDS(track->end - track->first <= 300);
	for (uint64_t ordinal = track->first; ordinal < track->end; ordinal++)
		if (track_batch(track, ordinal))
			check_batch(track, track_batch(track, ordinal));
	track_baseline(track, track->end, &baseline);
	track_baseline(track, UINT64_MAX, &baseline);
	HOLDS(baseline.phase_count <= RUN_PHASES_MAX);
	HOLDS(track_phases(track, 200, rows, RUN_PHASES_MAX, &batches) <= RUN_PHASES_MAX);
	HOLDS(track->recent.count <= RUN_RECENT);
	HOLDS(track->kind_count >= 1 && track->kind_count <= RUN_KINDS_MAX);
	HOLDS(run_name(run, track->mode));
}

static void check_run(const struct run *run)
{
	HOLDS(run->track_count <= RUN_TRACKS_MAX);
	HOLDS(run->main_track < RUN_TRACKS_MAX);
	HOLDS(run->bin_count <= 4096);
	HOLDS(run->epoch_count <= 1280);
	HOLDS(run->operation_count <= 512);
	HOLDS(run->flagged_count <= RUN_FLAGGED_MAX);
	HOLDS(run->meta_count <= 256);
	HOLDS(run->gauge_count <= 256);
	HOLDS(run->counter_count <= 256);
	HOLDS(run->mark_count <= RUN_MARKS_MAX);
	HOLDS(run->late_figure_count <= RUN_LATE_FIGURES_MAX);
	HOLDS(run->newest_track < RUN_TRACKS_MAX);
	HOLDS(run->open_span_count <= 32);
	for (unsigned i = 0; i < run->track_count; i++)
		check_track(run, &run->tracks[i]);
	for (size_t i = 0; i < run->operation_count; i++)
		HOLDS(run_name(run, run->operations[i].name));
	for (size_t i = 0; i < run->gauge_count; i++)
		check_series(run->gauges[i].series);
	HOLDS(isnan(run->epoch_done_ratio) || (run->epoch_done_ratio >= 0 && run->epoch_done_ratio <= 1));
	HOLDS(isnan(run->run_done_ratio) || (run->run_done_ratio >= 0 && run->run_done_ratio <= 1));
}

static void check_gpu(const struct model *model, const struct gpu *gpu)
{
	char label[8], words[8];
	HOLDS(gpu->process_count <= GPU_PROCESSES_MAX);
	HOLDS(!(gpu->run_memory_bytes < 0) && !(gpu->run_memory_bytes > INFINITY));
	HOLDS(
		!(gpu->totals.busy_ratio.mean < 0) && !(gpu->totals.busy_ratio.mean > 1) && !(gpu->totals.throttled_ratio > 1));
	HOLDS(gpu->verdict && gpu_memory_meaning(gpu) && gpu_memory_next_step(gpu));
	HOLDS(strlen(gpu_throttle_words(gpu->throttle, words, sizeof words)) < sizeof words);
	HOLDS(strlen(gpu_label(model, gpu, label, sizeof label)) < sizeof label);
	check_series(gpu->series.busy_ratio);
	check_series(gpu->series.run_memory_bytes);
	for (size_t i = 1; i < gpu->process_count; i++)
		HOLDS(gpu->processes[i - 1].is_ours || !gpu->processes[i].is_ours);
}

static void check_gpus(const struct model *model)
{
	const struct gpu *gpus[GPUS_MAX];
	HOLDS(model->gpus.count <= GPUS_MAX);
	for (size_t i = 0; i < model->gpus.count; i++)
		check_gpu(model, &model->gpus.gpus[i]);
	for (unsigned i = 0; i <= model->run_count; i++) {
		const struct run *run = i < model->run_count ? &model->runs[i] : NULL;
		HOLDS(run_gpus(model, run, gpus) <= GPUS_MAX);
		HOLDS(!(run_gpu_figure(model, run, METRIC_GPU_BUSY) > 1));
		run_gpu_memory(model, run);
	}
}

static void check_model(const struct model *model)
{
	check_gpus(model);
	HOLDS(model->run_count <= MODEL_RUNS_MAX);
	HOLDS(model->process_count <= 512);
	HOLDS(model->missing_count <= MODEL_MISSING_MAX);
	for (unsigned i = 0; i < model->run_count; i++)
		check_run(&model->runs[i]);
	for (size_t i = 0; i < model->process_count; i++) {
		HOLDS(!(model->processes[i].cpu_ratio < 0));
		HOLDS(!(model->processes[i].read_bytes_per_s < 0));
	}
#define CHECK_SERIES(name) check_series(model->series.name);
	PROCESS_SERIES(CHECK_SERIES)
	CHECK_SERIES(tree_resident)
#undef CHECK_SERIES
}

static uint64_t feed(uint64_t seed, bool is_random, unsigned sets, uint64_t largest)
{
	struct model_options options;
	model_options_default(&options);
	options.batch_capacity = 300;
	options.flag_after = 5;
	struct model *model = model_new(&options);
	struct sample_set set = SAMPLE_SET_INIT;
	uint64_t emitted = 0, sequence = 0;
	int64_t now_ns = RANDOM_BASE_NS;
	random_seed(seed);
	for (unsigned id = 0; id < 3; id++)
		sample_set_add(&set, RECORD_RUN_OPENED, id, now_ns)->opened.is_live = true;
	for (unsigned i = 0; i < sets; i++) {
		now_ns += 100 * NS_PER_MS;
		set.time_ns = random_time(now_ns, is_random);
		emitted += random_add(&set, 1 + random_below(largest), now_ns, is_random, &sequence);
		model_apply(model, &set);
		sample_set_clear(&set);
		model_flag(model, (unsigned)random_below(4), (unsigned)random_below(9), random_below(500), random_below(2));
		if (i % 16 == 0)
			check_model(model);
	}
	check_model(model);
	sample_set_release(&set);
	model_free(model);
	return emitted;
}

START_TEST(disorderly_events_break_nothing)
{
	uint64_t emitted = 0;
	for (uint64_t seed = 1; seed <= 20; seed++)
		emitted += feed(seed, false, 200, 200);
	ck_assert_uint_gt(emitted, 300000);
}
END_TEST

START_TEST(random_records_of_all_kinds_do_no_harm)
{
	uint64_t emitted = 0;
	for (uint64_t seed = 1001; seed <= 1020; seed++)
		emitted += feed(seed, true, 120, 150);
	ck_assert_uint_gt(emitted, 150000);
}
END_TEST

START_TEST(one_large_set_of_totals_and_batches_is_read_in_reasonable_time)
{
	struct script script;
	script_open(&script, NULL);
	for (int i = 0; i < 100000; i++) {
		struct total_row *row = sample_set_allocate(&script.set, sizeof *row);
		row->kind = TOTAL_BATCH;
		row->count = row->upto = (uint64_t)i;
		struct record *record = script_add(&script, RECORD_TOTAL, 0);
		record->total = row;
		record->lane = (uint16_t)(i % 300);
		script_batch_begin(&script, 0, 1 + i, 0);
		script_batch_end(&script, 0, 1.5 + i, 1 + i, NAN);
		if (i % 1000 == 999)
			script_apply(&script, 2 + i);
	}
	ck_assert_uint_gt(run_main(script_run(&script))->count, 1000);
	script_close(&script);
}
END_TEST

static void check_names_and_rows(bool are_distinct)
{
	struct script script;
	script_open(&script, NULL);
	for (uint32_t i = 0; i < 20000; i++) {
		struct record *name = script_add(&script, RECORD_NAME, 1);
		name->name.id = 20 + i;
		name->name.text = "name";
		struct record *span = script_event(&script, RECORD_SPAN, i % 3, 1 + i * 1e-3);
		span->span.name = are_distinct ? 20 + i : 20 + i % 700;
		span->span.parent = i % 5 ? 20 + (i * 7) % 4000 : 0;
		span->span.duration_ns = 1000;
		struct record *mode = script_event(&script, RECORD_MODE, 0, 1 + i * 1e-3);
		mode->mode.name = 20 + i % 100;
		if (i % 500 == 0)
			script_apply(&script, 1 + i * 1e-3);
	}
	script_apply(&script, 30);
	const struct run *run = script_run(&script);
	ck_assert_uint_le(run->operation_count, 512);
	ck_assert_str_eq(run_name(run, 4096), "name");
	ck_assert_str_eq(run_name(run, 4097), "(unnamed)");
	script_close(&script);
}

START_TEST(names_and_operations_are_bounded)
{
	check_names_and_rows(true);
	check_names_and_rows(false);
}
END_TEST

START_TEST(same_sets_make_the_same_model)
{
	for (int attach = 0; attach < 2; attach++) {
		struct model_options options;
		model_options_default(&options);
		struct model *models[2] = { model_new(&options), model_new(&options) };
		struct story_options story_options;
		story_options_default(&story_options);
		story_options.attach_s = attach * 20;
		struct story *story = story_new(&story_options);
		struct sample_set set = SAMPLE_SET_INIT;
		while (story_next(story, &set))
			for (int i = 0; i < 2; i++)
				model_apply(models[i], &set);
		const struct run *one = &models[0]->runs[0], *two = &models[1]->runs[0];
		ck_assert_uint_eq(one->operation_count, two->operation_count);
		ck_assert_int_eq(memcmp(one->operations, two->operations, one->operation_count * sizeof *one->operations), 0);
		ck_assert_uint_eq(one->flagged_count, two->flagged_count);
		for (size_t i = 0; i < one->flagged_count; i++)
			ck_assert_int_eq(memcmp(one->flagged[i].baseline.phases, two->flagged[i].baseline.phases,
								 sizeof one->flagged[i].baseline.phases),
				0);
		ck_assert_int_eq(memcmp(&run_main(one)->recent, &run_main(two)->recent, sizeof run_main(one)->recent), 0);
		sample_set_release(&set);
		story_free(story);
		model_free(models[0]);
		model_free(models[1]);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model hostile");
	TCase *tests = tcase_create("hostile");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, disorderly_events_break_nothing);
	tcase_add_test(tests, random_records_of_all_kinds_do_no_harm);
	tcase_add_test(tests, one_large_set_of_totals_and_batches_is_read_in_reasonable_time);
	tcase_add_test(tests, names_and_operations_are_bounded);
	tcase_add_test(tests, same_sets_make_the_same_model);
	return suite_run(suite);
}
