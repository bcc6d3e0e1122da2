#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/script.h"

/* Whatever records come, in whatever order and with whatever in them: nothing breaks (the sanitizers watch), nothing grows without bound,
 * and what the model says of itself holds. */

/* Check notes every assertion in a file; these are millions. */
#define HOLDS(condition) do { if (!(condition)) ck_abort_msg("%s does not hold", #condition); } while (0)

static uint64_t random_state;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

static uint64_t below(uint64_t n)
{
	return (draw() >> 11) % n;
}

static int64_t draw_time(int64_t now_ns, bool is_wild)
{
	static const int64_t absurd[] = { 0, -1, 1, INT64_MIN, INT64_MAX, INT64_MIN + 1, INT64_MAX - 1, INT64_C(1) << 62, -(INT64_C(1) << 62) };
	if (is_wild && below(4) == 0)
		return absurd[below(sizeof absurd / sizeof *absurd)];
	return now_ns + (int64_t)below(200 * NS_PER_MS) - (int64_t)below(is_wild ? 10 * NS_PER_S : 20 * NS_PER_MS);
}

static double draw_number(void)
{
	static const double absurd[] = { 0, -1, 1e300, -1e300, 1e-300, INFINITY, -INFINITY, NAN, 0x1p63, 0x1p64 };
	return below(3) == 0 ? absurd[below(sizeof absurd / sizeof *absurd)] : (double)below(1000000) * 1e-3;
}

static uint64_t draw_count(void)
{
	static const uint64_t absurd[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63, UINT64_C(1) << 62, UINT32_MAX };
	return below(3) == 0 ? absurd[below(sizeof absurd / sizeof *absurd)] : below(100000);
}

static uint32_t draw_name(void)
{
	static const uint32_t absurd[] = { 0, NAME_UNATTRIBUTED, NAME_BETWEEN, UINT32_MAX, 4096, 4097, 0xffff };
	return below(8) == 0 ? absurd[below(sizeof absurd / sizeof *absurd)] : (uint32_t)below(below(20) == 0 ? 5000 : 12);
}

static const char *draw_text(struct sample_set *set)
{
	char text[700];
	size_t length = below(20) == 0 ? below(sizeof text) : below(12);
	for (size_t i = 0; i < length; i++)
		text[i] = (char)draw();
	static const char *const known[] = { "train", "validation", "data", "between", "RANK", "" };
	return below(2) ? known[below(6)] : sample_set_text(set, text, length);
}

static void *zeroed(struct sample_set *set, size_t size)
{
	void *memory = sample_set_allocate(set, size ? size : 1);
	HOLDS(memory);
	return memory;
}

static void fill_total(struct sample_set *set, struct record *record)
{
	struct total_row *row = zeroed(set, sizeof *row);
	row->kind = (enum total_kind)below(below(10) == 0 ? 6 : 3);
	row->mode = draw_name();
	row->name = draw_name();
	row->parent = draw_name();
	row->depth = (uint32_t)draw_count();
	row->upto = draw_count();
	row->count = draw_count();
	row->total_s = draw_number();
	row->self_s = draw_number();
	row->min_s = draw_number();
	row->max_s = draw_number();
	row->last_s = draw_number();
	row->cpu_s = draw_number();
	row->has_histogram = below(2) != 0;
	for (int i = 0; i < 4; i++)
		row->histogram[below(HISTOGRAM_BUCKETS)] = (uint32_t)draw_count();
	record->total = below(50) ? row : NULL;
}

static void fill_history(struct sample_set *set, struct record *record)
{
	size_t count = (size_t)below(below(20) == 0 ? 5000 : 20);
	struct history_row *rows = zeroed(set, count * sizeof *rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct history_row){ below(2) ? i : draw_count(), below(2) ? 1 : draw_count(), draw_number(), draw_number(), draw_number(), draw_time(0, true) };
	record->history.rows = below(50) ? rows : NULL;
	record->history.count = count;
}

static void fill_epochs(struct sample_set *set, struct record *record)
{
	size_t count = (size_t)below(below(20) == 0 ? 3000 : 10);
	struct epoch_row *rows = zeroed(set, count * sizeof *rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct epoch_row){ (uint32_t)draw_count(), draw_name(), draw_time(SCRIPT_BASE_NS, true), draw_time(SCRIPT_BASE_NS, true), draw_count(),
			draw_number(), draw_number(), draw_number() };
	record->epochs.rows = rows;
	record->epochs.count = count;
	record->epochs.dropped = draw_count();
}

static void fill_state(struct sample_set *set, struct record *record)
{
	struct run_state *state = zeroed(set, sizeof *state);
	*state = (struct run_state){ .mode = draw_name(), .epochs_planned = (uint32_t)draw_count(), .batches_per_epoch = draw_count(), .samples_per_batch = draw_count(),
		.in_epoch = below(2), .in_batch = below(2), .is_ended = below(2), .epoch_index = (uint32_t)draw_count(), .epochs_begun = (uint32_t)draw_count(),
		.epoch_begin_ns = draw_time(SCRIPT_BASE_NS, true), .batch_index = draw_count(), .batches_in_epoch = draw_count(),
		.batch_begin_ns = draw_time(SCRIPT_BASE_NS, true), .loss = draw_number() };
	record->state = below(50) ? state : NULL;
}

static void fill_evidence(struct sample_set *set, struct record *record)
{
	struct evidence *evidence = zeroed(set, sizeof *evidence);
	*evidence = (struct evidence){ draw_number(), draw_number(), draw_number(), draw_number(), draw_number(), draw_number(), draw_number(), draw_number() };
	record->evidence = below(50) ? evidence : NULL;
}

static void fill_process(struct sample_set *set, struct record *record)
{
	record->process.pid = (int32_t)below(40);
	record->process.parent = (int32_t)draw();
	record->process.start_ticks = below(3);
	record->process.command = draw_text(set);
	record->process.is_target = below(10) == 0;
}

static void fill_opened(struct sample_set *set, struct record *record)
{
	static const char *const uuids[] = { "a", "b", "c", "d", "", NULL };
	record->opened.pid = (int32_t)below(40);
	record->opened.name = below(20) ? draw_text(set) : NULL;
	record->opened.uuid = below(4) ? draw_text(set) : uuids[below(6)];
	record->opened.abi = draw_text(set);
	record->opened.start_ns = draw_time(0, true);
	record->opened.is_live = below(2);
}

static void fill(struct sample_set *set, struct record *record, int64_t now_ns, bool is_wild)
{
	switch ((enum record_kind)record->kind) {
	case RECORD_FIGURE:
		record->figure.metric = (enum metric)(below(20) ? below(METRIC_COUNT) : draw());
		record->figure.instance = (int32_t)below(40);
		record->figure.value = draw_number();
		break;
	case RECORD_MISSING:
		record->missing.figure = below(20) ? draw_text(set) : NULL;
		record->missing.text = below(2) ? draw_text(set) : NULL;
		record->missing.remedy = below(2) ? draw_text(set) : NULL;
		break;
	case RECORD_PROCESS_SEEN:
	case RECORD_PROCESS_GONE:
	case RECORD_PROCESS_REPLACED:
		fill_process(set, record);
		break;
	case RECORD_RUN_OPENED:
		fill_opened(set, record);
		break;
	case RECORD_RUN_CLOSED:
	case RECORD_MARK:
		record->text = below(10) ? draw_text(set) : NULL;
		break;
	case RECORD_NAME:
		record->name.id = draw_name();
		record->name.text = below(20) ? draw_text(set) : NULL;
		break;
	case RECORD_META:
		record->meta.key = below(20) ? draw_text(set) : NULL;
		record->meta.value = below(20) ? draw_text(set) : NULL;
		break;
	case RECORD_STATE:
		fill_state(set, record);
		break;
	case RECORD_TOTAL:
		fill_total(set, record);
		break;
	case RECORD_HISTORY:
		fill_history(set, record);
		break;
	case RECORD_EPOCHS:
		fill_epochs(set, record);
		break;
	case RECORD_COUNTER:
	case RECORD_GAUGE:
		record->gauge.name = draw_name();
		record->gauge.value = draw_number();
		break;
	case RECORD_LOST:
	case RECORD_BEFORE_ATTACH:
	case RECORD_REFUSED:
		record->lost.count = draw_count();
		break;
	case RECORD_EPOCH_BEGIN:
	case RECORD_EPOCH_END:
		record->epoch.index = (uint32_t)draw_count();
		break;
	case RECORD_BATCH_BEGIN:
	case RECORD_BATCH_END:
		record->batch.index = draw_count();
		record->batch.loss = draw_number();
		record->batch.begin_ns = below(3) ? draw_time(now_ns, is_wild) : 0;
		break;
	case RECORD_EVIDENCE:
		fill_evidence(set, record);
		break;
	case RECORD_OPEN_SPAN:
	case RECORD_SPAN:
		record->span.name = draw_name();
		record->span.parent = below(2) ? draw_name() : 0;
		record->span.depth = (uint32_t)(below(3) ? below(4) : draw_count());
		record->span.duration_ns = below(4) ? (int64_t)below(100 * NS_PER_MS) : draw_time(0, true);
		record->span.self_s = (float)draw_number();
		record->span.cpu_s = (float)draw_number();
		record->span.memory_bytes = (float)draw_number();
		break;
	case RECORD_MODE:
		record->mode.name = draw_name();
		break;
	default:
		break;
	}
}

/* Batches and spans are the most of what comes; the rest is rare, but all of it comes. */
static enum record_kind draw_kind(bool is_wild)
{
	static const enum record_kind usual[] = { RECORD_BATCH_BEGIN, RECORD_BATCH_END, RECORD_SPAN, RECORD_SPAN, RECORD_SPAN, RECORD_EVIDENCE, RECORD_FIGURE, RECORD_GAUGE };
	if (!is_wild && below(40))
		return usual[below(sizeof usual / sizeof *usual)];
	return (enum record_kind)below(RECORD_KIND_COUNT + 2);
}

static uint64_t add_records(struct sample_set *set, uint64_t count, int64_t now_ns, bool is_wild, uint64_t *sequence)
{
	for (uint64_t i = 0; i < count; i++) {
		struct record *record = sample_set_add(set, draw_kind(is_wild), (unsigned)below(is_wild ? 256 : 3), draw_time(now_ns, is_wild));
		HOLDS(record);
		record->lane = (uint16_t)(below(30) ? below(3) : draw());
		record->sequence = below(30) ? (*sequence)++ : draw_count();
		fill(set, record, now_ns, is_wild);
	}
	return count;
}

static void check_series(const struct series *series)
{
	struct series_column columns[8];
	series_columns(series, SCRIPT_BASE_NS, SCRIPT_BASE_NS + 10 * NS_PER_S, columns, 8);
	series_columns(series, INT64_MIN, INT64_MAX, columns, 8);
	for (int i = 0; i < 8; i++)
		HOLDS(!columns[i].has || columns[i].min <= columns[i].max);
}

static void check_batch(const struct track *track, const struct batch *batch)
{
	double sum = 0;
	HOLDS(batch->phase_count <= RUN_PHASES_MAX);
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
	struct usual usual;
	struct phase_row rows[RUN_PHASES_MAX];
	size_t batches;
	HOLDS(track->first <= track->end);
	HOLDS(track->end - track->first <= 300);
	for (uint64_t ordinal = track->first; ordinal < track->end; ordinal++)
		if (track_batch(track, ordinal))
			check_batch(track, track_batch(track, ordinal));
	track_usual(track, track->end, &usual);
	track_usual(track, UINT64_MAX, &usual);
	HOLDS(usual.phase_count <= RUN_PHASES_MAX);
	HOLDS(track_phases(track, 200, rows, RUN_PHASES_MAX, &batches) <= RUN_PHASES_MAX);
	HOLDS(track->recent.count <= RUN_RECENT);
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
	HOLDS(run->mark_count <= 64);
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

static void check_model(const struct model *model)
{
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

static uint64_t feed(uint64_t seed, bool is_wild, unsigned sets, uint64_t most)
{
	struct model_options options;
	model_options_default(&options);
	options.batch_capacity = 300;
	options.flag_after = 5;
	struct model *model = model_new(&options);
	struct sample_set set = SAMPLE_SET_INIT;
	uint64_t told = 0, sequence = 0;
	int64_t now_ns = SCRIPT_BASE_NS;
	random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (unsigned id = 0; id < 3; id++)
		sample_set_add(&set, RECORD_RUN_OPENED, id, now_ns)->opened.is_live = true;
	for (unsigned i = 0; i < sets; i++) {
		now_ns += 100 * NS_PER_MS;
		set.time_ns = draw_time(now_ns, is_wild);
		told += add_records(&set, 1 + below(most), now_ns, is_wild, &sequence);
		model_apply(model, &set);
		sample_set_clear(&set);
		model_flag(model, (unsigned)below(4), (unsigned)below(9), below(500), below(2));
		if (i % 16 == 0)
			check_model(model);
	}
	check_model(model);
	sample_set_release(&set);
	model_free(model);
	return told;
}

START_TEST(disorderly_events_break_nothing)
{
	uint64_t told = 0;
	for (uint64_t seed = 1; seed <= 20; seed++)
		told += feed(seed, false, 200, 200);
	ck_assert_uint_gt(told, 300000);
}
END_TEST

START_TEST(wild_records_of_all_kinds_break_nothing)
{
	uint64_t told = 0;
	for (uint64_t seed = 1001; seed <= 1020; seed++)
		told += feed(seed, true, 120, 150);
	ck_assert_uint_gt(told, 150000);
}
END_TEST

START_TEST(one_large_set_of_totals_and_batches_is_read_in_reasonable_time)
{
	struct script script;
	script_open(&script, NULL);
	for (int i = 0; i < 100000; i++) {
		struct total_row *row = zeroed(&script.set, sizeof *row);
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
			ck_assert_int_eq(memcmp(one->flagged[i].usual.phases, two->flagged[i].usual.phases, sizeof one->flagged[i].usual.phases), 0);
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
	tcase_add_test(tests, wild_records_of_all_kinds_break_nothing);
	tcase_add_test(tests, one_large_set_of_totals_and_batches_is_read_in_reasonable_time);
	tcase_add_test(tests, names_and_operations_are_bounded);
	tcase_add_test(tests, same_sets_make_the_same_model);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
