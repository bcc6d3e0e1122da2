#include <check.h>
#include <stdio.h>

#include "src/model/code/code.h"
#include "src/model/run/run_private.h"
#include "src/model/run/steps/explanation.h"
#include "src/model/run/steps/flagged.h"
#include "tests/support/suite.h"
#include "tests/unit/steps_run.h"

enum { DATA = 1, DECODE, FORWARD, OPTIMIZER, INFERENCE, NAMES };

static const char *const names[NAMES] = { NULL, "data", "decode", "forward", "optimizer", "inference" };
static struct run_private priv;
static __typeof__(*((struct run *)0)->meta) metas[4];
static struct steps_run steps;
static struct chance chance;
static char words[PATTERN_WORDS_SIZE];

static void open_run(void)
{
	steps_open(&steps);
	memset(&priv, 0, sizeof priv);
	priv.names = (struct names){ .room = NAMES, .texts = (char **)(uintptr_t)names };
	steps.run.priv = &priv;
	steps.run.meta = metas;
	chance.state = 41;
}

static void close_run(void) { steps_close(&steps); }

static void add_meta(const char *key, const char *value)
{
	metas[steps.run.meta_count].key = (char *)(uintptr_t)key;
	metas[steps.run.meta_count++].value = (char *)(uintptr_t)value;
}

static void add_phase(struct batch *batch, uint32_t name, uint32_t parent, double seconds)
{
	batch->phases[batch->phase_count++] = (struct phase_time){
		.name = name, .parent = parent, .seconds = (float)seconds, .cpu_s = NAN, .memory_bytes = NAN
	};
}

static double noisy(double step_s) { return step_s * exp(0.05 * chance_normal(&chance)); }

/* `excess_s` is in data › decode. */
static struct batch *add_step(double excess_s)
{
	double data_s = noisy(0.03) + excess_s, rest_s = noisy(0.07);
	struct batch *batch = steps_add(&steps, data_s + rest_s);
	add_phase(batch, DATA, NAME_NONE, data_s);
	add_phase(batch, DECODE, DATA, data_s * 0.9);
	add_phase(batch, FORWARD, NAME_NONE, rest_s);
	return batch;
}

static const struct pattern *only_pattern(void)
{
	const struct patterns *patterns = steps_search(&steps);
	for (size_t i = 1; i < patterns->count; i++)
		printf("also: %s\n", pattern_words(&patterns->list[i], &steps.run, words, sizeof words));
	ck_assert_uint_eq(patterns->count, 1);
	return &patterns->list[0];
}

static void expect_none(void)
{
	const struct patterns *patterns = steps_search(&steps);
	ck_assert_msg(patterns->count == 0, "%s",
		patterns->count ? pattern_words(&patterns->list[0], &steps.run, words, sizeof words) : "");
}

START_TEST(every_40th_is_found_with_its_fourth)
{
	open_run();
	add_meta("loader.num_workers", "4");
	add_meta("loader.prefetch_factor", "10");
	for (unsigned i = 0; i < 139; i++)
		add_step(i % 40 == 19 ? 0.12 : 0);
	expect_none();
	add_step(0.12);
	const struct pattern *pattern = only_pattern();
	ck_assert_int_eq(pattern->kind, PATTERN_PERIOD);
	ck_assert_int_eq(pattern->unit, PATTERN_BATCHES);
	ck_assert_double_eq(pattern->period, 40);
	ck_assert_uint_eq(pattern->count, 4);
	ck_assert_uint_eq(pattern->of, 4);
	ck_assert_uint_eq(pattern->first, 19);
	ck_assert_uint_eq(pattern->last, 139);
	ck_assert_uint_eq(pattern->phase, DATA);
	ck_assert_str_eq(pattern->what, "data › decode");
	ck_assert_str_eq(pattern->candidate, "prefetch_factor 10 × 4 workers");
	ck_assert_str_eq(pattern_words(pattern, &steps.run, words, sizeof words),
		"every 40th batch takes 2.2× as long, in data › decode (4 of 4)");
	ck_assert_str_eq(
		pattern_label(pattern, &steps.run, words, sizeof words), "every 40th batch (4 of 4, from batch 19 of epoch 1)");
	close_run();
}
END_TEST

/* An evaluation: only these batches have its span. */
START_TEST(an_evaluation_is_planned)
{
	open_run();
	for (unsigned i = 0; i < 200; i++) {
		struct batch *batch = add_step(0);
		if (i % 40 == 19) {
			batch->step_s += 0.12;
			add_phase(batch, INFERENCE, NAME_NONE, 0.12);
		}
	}
	const struct pattern *pattern = only_pattern();
	ck_assert(pattern->is_planned);
	ck_assert_str_eq(pattern->candidate, "only these batches have the span “inference”");
	const struct batch *ring = steps.run.tracks[0].ring;
	ck_assert(patterns_plan(&steps.patterns, &steps.run, &ring[179]));
	ck_assert(!patterns_plan(&steps.patterns, &steps.run, &ring[180]));
	close_run();
}
END_TEST

/* So is work in a line that other batches do not run; a wait in such a line, or work in one that all run, is not. */
START_TEST(own_work_is_planned)
{
	static const struct {
		enum cause_kind kind;
		double usual;
		bool is_planned;
	} tried[] = { { CAUSE_MORE_WORK, 0.5, true }, { CAUSE_SLEPT, 0.5, false }, { CAUSE_MORE_WORK, 4, false } };
	for (size_t k = 0; k < sizeof tried / sizeof *tried; k++) {
		struct flagged flagged[5] = { 0 };
		struct explanation why = { .cause_count = 1,
			.causes = { { .kind = tried[k].kind,
				.phase = FORWARD,
				.share_ratio = 1,
				.file = "/home/me/train.py",
				.line = 81,
				.evidence_count = 1 } } };
		why.causes[0].evidence[0].key = "line_samples";
		why.causes[0].evidence[0].this_value = 10;
		why.causes[0].evidence[0].baseline_value = tried[k].usual;
		open_run();
		for (unsigned i = 0; i < 200; i++) {
			struct batch *batch = add_step(i % 40 == 19 ? 0.12 : 0);
			if (i % 40 == 19)
				flagged[i / 40] =
					(struct flagged){ .mode = steps.run.tracks[0].mode, .batch = *batch, .explanation = &why };
		}
		steps.run.flagged = flagged;
		steps.run.flagged_count = 5;
		const struct pattern *pattern = only_pattern();
		ck_assert_int_eq(pattern->is_planned, tried[k].is_planned);
		ck_assert_int_eq(strcmp(pattern->candidate, "only these batches run train.py:81") == 0, tried[k].is_planned);
		close_run();
	}
}
END_TEST

/* Steps without spans: the cause is a line, or the holder of the GIL, whatever waited for it. */
static const struct pattern *search_with_causes(const struct explanation *even, const struct explanation *odd)
{
	static struct flagged flagged[5];
	open_run();
	for (unsigned i = 0; i < 200; i++) {
		struct batch *batch = add_step(i % 40 == 19 ? 0.12 : 0);
		batch->phase_count = 0;
		if (i % 40 == 19)
			flagged[i / 40] = (struct flagged){ .mode = steps.run.tracks[0].mode,
				.batch = *batch,
				.explanation = (struct explanation *)(uintptr_t)(i / 40 % 2 ? odd : even) };
	}
	steps.run.flagged = flagged;
	steps.run.flagged_count = 5;
	return only_pattern();
}

START_TEST(line_of_slow_batches_is_the_cause)
{
	struct explanation why = { .cause_count = 1,
		.causes = { { .kind = CAUSE_LINE,
			.what = "`with lock:`, train.py:81",
			.next = "find the thread that holds this lock: pmtop stack PID",
			.phase = NAME_NONE,
			.share_ratio = 1,
			.file = "/home/me/train.py",
			.line = 81 } } };
	const struct pattern *pattern = search_with_causes(&why, &why);
	ck_assert_str_eq(pattern_words(pattern, &steps.run, words, sizeof words),
		"every 40th batch takes 2.2× as long: `with lock:`, train.py:81 (5 of 5)");
	ck_assert_str_eq(pattern->next, "find the thread that holds this lock: pmtop stack PID");
	ck_assert_str_eq(pattern->candidate, "");
	ck_assert(pattern_has_lead(pattern, &steps.run));
	close_run();
	snprintf(why.causes[0].what, sizeof why.causes[0].what,
		"`x = a_call_with_a_name_that_is_long(self.batch)`, train.py:81");
	pattern = search_with_causes(&why, &why);
	ck_assert_str_eq(pattern->what, "`x = a_call_with_a_name_that_…`, train.py:81");
	close_run();
}
END_TEST

/* A validation pass by the program's own function: its forwards run without gradients, by stack samples. */
START_TEST(forwards_without_gradients_in_these_batches_only_are_planned)
{
	static const double usual[] = { NAN, 0.1 };
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		struct explanation why = { .cause_count = 1,
			.causes = { { .kind = CAUSE_PHASE,
				.what = "inference: 0.120 s above its baseline, 12 of 14 samples",
				.phase = NAME_SAMPLED + CODE_PHASE_INFERENCE,
				.share_ratio = 1 } },
			.row_count = 1,
			.rows = { { .name = NAME_SAMPLED + CODE_PHASE_INFERENCE, .this_s = 0.12, .baseline_s = usual[i] } } };
		const struct pattern *pattern = search_with_causes(&why, &why);
		ck_assert_str_eq(pattern_words(pattern, &steps.run, words, sizeof words),
			"every 40th batch takes 2.2× as long, in inference (5 of 5)");
		ck_assert_int_eq(pattern->is_planned, i == 0);
		ck_assert_int_eq(strcmp(pattern->candidate, "only these batches have the phase “inference”") == 0, i == 0);
		close_run();
	}
}
END_TEST

START_TEST(holder_of_the_gil_counts_in_all_phases)
{
	struct explanation why = { .cause_count = 1,
		.causes = { { .kind = CAUSE_GIL,
			.what = "data: waits for the GIL, held by thread parser: `json.loads(text)`, train.py:30",
			.phase = DATA,
			.share_ratio = 0.4,
			.file = "/home/me/train.py",
			.line = 30 } } };
	struct explanation other = why;
	other.causes[0].phase = NAME_NONE;
	other.cause_count = 2;
	other.causes[1] = (struct cause){ .kind = CAUSE_PHASE, .what = "forward", .phase = FORWARD, .share_ratio = 0.6 };
	const struct pattern *pattern = search_with_causes(&other, &why);
	ck_assert_str_eq(pattern_words(pattern, &steps.run, words, sizeof words),
		"every 40th batch takes 2.2× as long: GIL, train.py:30 (5 of 5)");
	close_run();
	other.cause_count = 1;
	other.causes[0] = (struct cause){ .kind = CAUSE_UNKNOWN, .what = "unknown", .phase = NAME_NONE, .share_ratio = 1 };
	pattern = search_with_causes(&other, &other);
	ck_assert(!pattern->has_line);
	ck_assert_str_eq(pattern->what, "unknown");
	close_run();
}
END_TEST

/* Batches that do not fit do not change the period. */
START_TEST(period_stays_exact_with_misses_outliers_and_holes)
{
	open_run();
	for (unsigned i = 0; i < 1500; i++) {
		bool is_due = i % 37 == 11 && chance_even(&chance) > 0.1;
		struct batch *batch = add_step(is_due ? 0.1 : chance_even(&chance) < 0.01 ? 0.3 : 0);
		if (chance_even(&chance) < 0.02)
			batch->step_s = NAN;
	}
	ck_assert_double_eq(only_pattern()->period, 37);
	close_run();
}
END_TEST

START_TEST(period_of_a_thousand_is_found)
{
	open_run();
	for (unsigned i = 0; i < 8000; i++)
		add_step(i % 1000 == 700 ? 0.2 : 0);
	ck_assert_double_eq(only_pattern()->period, 1000);
	close_run();
}
END_TEST

START_TEST(a_period_may_restart_in_each_epoch)
{
	open_run();
	steps.epoch_length = 130;
	for (unsigned i = 0; i < 1300; i++)
		add_step(i % 130 % 50 == 0 ? 0.1 : 0);
	const struct pattern *pattern = only_pattern();
	ck_assert_double_eq(pattern->period, 50);
	ck_assert(pattern->is_by_index);
	ck_assert_ptr_nonnull(
		strstr(pattern_words(pattern, &steps.run, words, sizeof words), "every 50th batch of an epoch"));
	close_run();
}
END_TEST

/* The epochs differ in length, so that no number of batches lies between two of them; many periods by index fit. */
START_TEST(what_is_slow_once_in_each_epoch_is_named_so)
{
	open_run();
	for (uint32_t epoch = 0; epoch < 12; epoch++)
		for (unsigned i = 0; i < 100 + epoch % 3; i++) {
			struct batch *batch = add_step(i == 61 ? 0.1 : 0);
			batch->index = i;
			batch->epoch = epoch;
			batch->epoch_ordinal = epoch + 1;
		}
	const struct pattern *pattern = only_pattern();
	ck_assert(pattern->is_by_index);
	ck_assert(pattern->is_once);
	ck_assert_double_eq(pattern->period, 101);
	ck_assert_ptr_nonnull(
		strstr(pattern_words(pattern, &steps.run, words, sizeof words), "batch 61 of each epoch takes "));
	close_run();
}
END_TEST

START_TEST(slow_first_batches_of_epochs_name_persistent_workers)
{
	open_run();
	add_meta("loader.persistent_workers", "False");
	steps.epoch_length = 60;
	for (unsigned i = 0; i < 270; i++)
		add_step(i % 60 == 0 ? 0.5 : 0)->is_warmup = i == 0;
	const struct pattern *pattern = only_pattern();
	ck_assert(pattern->is_epoch_first);
	ck_assert_double_eq(pattern->period, 60);
	ck_assert_uint_eq(pattern->count, 4);
	ck_assert_str_eq(pattern->candidate, "epoch length 60; persistent_workers=False");
	const struct batch *ring = steps.run.tracks[0].ring;
	ck_assert(patterns_plan(&steps.patterns, &steps.run, &ring[180]));
	ck_assert(!patterns_plan(&steps.patterns, &steps.run, &ring[181]));
	close_run();
}
END_TEST

START_TEST(a_little_slower_is_found_where_it_is_clear)
{
	open_run();
	for (unsigned i = 0; i < 3000; i++)
		add_step(i % 50 == 7 ? 0.02 : 0);
	for (unsigned i = 0; i < 16; i++) {
		add_step(0);
		steps_search(&steps);
	}
	ck_assert_double_eq(only_pattern()->period, 50);
	close_run();
}
END_TEST

START_TEST(every_so_many_seconds_is_no_number_of_batches)
{
	open_run();
	double next_s = steps.now_s + 1;
	for (unsigned i = 0; i < 2000; i++) {
		bool is_due = steps.now_s + 0.1 >= next_s;
		next_s += is_due ? 7.37 : 0;
		struct batch *batch = add_step(is_due ? 0.2 : 0);
		/* Steps of differing lengths: the distance in batches differs. */
		if (!is_due && i / 100 % 2)
			steps.now_s += 0.02, batch->step_s += 0.02;
	}
	const struct patterns *patterns = steps_search(&steps);
	ck_assert_uint_ge(patterns->count, 1);
	ck_assert_int_eq(patterns->list[0].unit, PATTERN_SECONDS);
	ck_assert_double_eq_tol(patterns->list[0].period, 7.37, 0.03);
	close_run();
}
END_TEST

static void add_optimizer_steps(unsigned count, unsigned every)
{
	for (unsigned i = 0; i < count; i++) {
		double optimizer_s = i % every == every - 1 ? noisy(0.06) : 0, rest_s = noisy(0.1);
		struct batch *batch = steps_add(&steps, rest_s + optimizer_s);
		add_phase(batch, FORWARD, NAME_NONE, rest_s);
		if (optimizer_s > 0)
			add_phase(batch, OPTIMIZER, NAME_NONE, optimizer_s);
	}
}

START_TEST(accumulation_is_inferred_where_it_is_not_published)
{
	open_run();
	add_optimizer_steps(400, 4);
	const struct pattern *pattern = only_pattern();
	ck_assert_double_eq(pattern->period, 4);
	ck_assert_uint_eq(pattern->phase, OPTIMIZER);
	ck_assert_str_eq(pattern->candidate, "probably gradient accumulation over 4 batches");
	close_run();
}
END_TEST

START_TEST(published_accumulation_is_no_pattern)
{
	open_run();
	add_meta("accumulation", "4");
	add_optimizer_steps(400, 4);
	expect_none();
	close_run();
}
END_TEST

START_TEST(drift_says_since_when_and_is_withdrawn)
{
	open_run();
	for (unsigned i = 0; i < 900; i++)
		add_step(i >= 600 ? 0.03 : 0);
	const struct pattern *pattern = only_pattern();
	ck_assert_int_eq(pattern->kind, PATTERN_DRIFT);
	ck_assert_uint_ge(pattern->first, 598);
	ck_assert_uint_le(pattern->first, 602);
	ck_assert_double_eq_tol(pattern->before_s, 0.1, 0.005);
	ck_assert_double_eq_tol(pattern->after_s, 0.13, 0.005);
	ck_assert_str_eq(pattern->what, "data › decode");
	for (unsigned i = 0; i < 40; i++)
		add_step(0);
	expect_none();
	close_run();
}
END_TEST

START_TEST(steps_that_get_slower_are_a_drift)
{
	open_run();
	for (unsigned i = 0; i < 2000; i++)
		add_step(0.03 * i / 2000);
	const struct pattern *pattern = only_pattern();
	ck_assert(pattern->is_creeping);
	ck_assert_double_eq_tol(pattern->after_s / pattern->before_s, 1.3, 0.06);
	ck_assert_ptr_nonnull(strstr(
		pattern_words(pattern, &steps.run, words, sizeof words), "steps get steadily slower since batch 0 of epoch 1"));
	close_run();
}
END_TEST

/* By chance, a small drift begins where an epoch does. */
START_TEST(the_begin_of_an_epoch_is_a_lead_to_large_drifts_only)
{
	open_run();
	struct pattern drift = {
		.kind = PATTERN_DRIFT, .before_s = 0.1, .after_s = 0.13, .phase = NAME_NONE, .what = "unknown"
	};
	ck_assert(!pattern_has_lead(&drift, &steps.run));
	snprintf(drift.candidate, sizeof drift.candidate, "epoch 3 begins there");
	ck_assert(pattern_has_lead(&drift, &steps.run));
	drift.after_s = 0.12;
	ck_assert(!pattern_has_lead(&drift, &steps.run));
	snprintf(drift.what, sizeof drift.what, "forward: waiting for a CPU");
	ck_assert(pattern_has_lead(&drift, &steps.run));
	close_run();
}
END_TEST

START_TEST(a_burst_and_positions_in_the_epoch_are_no_drift)
{
	open_run();
	for (unsigned i = 0; i < 1000; i++) {
		add_step(i >= 700 && i < 740 ? 0.08 : 0);
		if (i % 20 == 19)
			expect_none();
	}
	close_run();
	open_run();
	steps.epoch_length = 400;
	for (unsigned i = 0; i < 2000; i++) {
		add_step(0.05 * (i % 400) / 400);
		if (i > 800 && i % 20 == 19)
			expect_none();
	}
	close_run();
}
END_TEST

START_TEST(two_kinds_are_named_by_their_size)
{
	open_run();
	for (unsigned i = 0; i < 500; i++) {
		bool is_big = chance_even(&chance) < 0.4;
		add_step(is_big ? 0.04 : 0)->samples = is_big ? 32 : 24;
	}
	const struct pattern *pattern = only_pattern();
	ck_assert_int_eq(pattern->kind, PATTERN_KINDS);
	ck_assert_str_eq(pattern->candidate, "by batch size: 24 and 32 samples");
	ck_assert_str_eq(pattern->what, "data › decode");
	ck_assert_double_eq_tol(pattern->before_s, 0.1, 0.01);
	ck_assert_double_eq_tol(pattern->after_s, 0.14, 0.01);
	close_run();
}
END_TEST

/* More of the larger batches, each as long as before. */
START_TEST(a_changing_mix_of_sizes_is_no_drift)
{
	open_run();
	for (unsigned i = 0; i < 1000; i++) {
		bool is_big = chance_even(&chance) < (i < 500 ? 0.1 : 0.9);
		add_step(is_big ? 0.06 : 0)->samples = is_big ? 32 : 16;
	}
	const struct patterns *patterns = steps_search(&steps);
	for (size_t i = 0; i < patterns->count; i++)
		ck_assert_int_ne(patterns->list[i].kind, PATTERN_DRIFT);
	close_run();
}
END_TEST

START_TEST(since_is_when_it_was_first_found)
{
	open_run();
	for (unsigned i = 0; i < 200; i++)
		add_step(i % 20 == 0 ? 0.2 : 0);
	int64_t since_ns = only_pattern()->since_ns;
	ck_assert_int_eq(since_ns, steps.model.now_ns);
	for (unsigned i = 0; i < 200; i++)
		add_step(i % 20 == 0 ? 0.2 : 0);
	ck_assert_int_eq(only_pattern()->since_ns, since_ns);
	ck_assert_uint_eq(only_pattern()->count, 20);
	close_run();
}
END_TEST

START_TEST(the_search_runs_once_a_second_and_only_on_new_batches)
{
	open_run();
	for (unsigned i = 0; i < 200; i++)
		add_step(0);
	steps_search(&steps);
	unsigned searches = steps.patterns.searches;
	steps_search(&steps);
	ck_assert_uint_eq(steps.patterns.searches, searches);
	add_step(0);
	patterns_update(&steps.patterns, &steps.model, &steps.run);
	steps.model.now_ns += NS_PER_S / 2;
	patterns_update(&steps.patterns, &steps.model, &steps.run);
	ck_assert_uint_eq(steps.patterns.searches, searches + 1);
	close_run();
}
END_TEST

START_TEST(few_steps_and_equal_ones_say_nothing)
{
	open_run();
	for (unsigned i = 0; i < 600; i++) {
		if (i < 30)
			expect_none();
		steps_add(&steps, 0.1);
	}
	expect_none();
	close_run();
}
END_TEST

/* -- chance: PMTOP_SERIES=2000 for the whole measurement -- */

enum { SERIES_DEFAULT = 25, SERIES_STEPS = 2000, STEPS_A_READ = 50 };

static double clean_step(unsigned shape, double *wavering)
{
	double step_s = 0.1 * exp(0.05 * chance_normal(&chance));
	switch (shape) {
	case 1: return step_s * (1 + 0.05 * (pow(chance_even(&chance), -1 / 1.5) - 1));
	case 2: return chance_even(&chance) < 0.03 ? step_s * (1.5 + 3 * chance_even(&chance)) : step_s;
	case 3: return 0.1 * exp(0.4 * chance_normal(&chance));
	case 4: *wavering = 0.8 * *wavering + 0.02 * chance_normal(&chance); return step_s * exp(*wavering);
	default: return step_s;
	}
}

START_TEST(steps_without_a_pattern_have_none)
{
	static const char *const shapes[] = { "noise of 5 %", "a heavy tail", "3 % outliers", "noise of 40 %",
		"steps that waver together" };
	const char *text = getenv("PMTOP_SERIES");
	unsigned series = text ? (unsigned)atoi(text) : SERIES_DEFAULT, max = series / 1000;
	unsigned falsely = 0;
	double wavering = 0;
	for (unsigned k = 0; k < series; k++) {
		bool is_false = false;
		open_run();
		chance.state = (uint64_t)k * 7919 + (uint64_t)_i * 131 + 1;
		for (unsigned i = 0; i < SERIES_STEPS; i++) {
			steps_add(&steps, clean_step((unsigned)_i, &wavering));
			is_false |= i % STEPS_A_READ == STEPS_A_READ - 1 && steps_search(&steps)->count > 0;
		}
		falsely += is_false;
		close_run();
	}
	printf("%s: patterns in %u of %u runs of %u steps\n", shapes[_i], falsely, series, (unsigned)SERIES_STEPS);
	ck_assert_uint_le(falsely, max);
}
END_TEST

START_TEST(planted_periods_are_found_exactly)
{
	static const unsigned periods[] = { 2, 3, 5, 7, 12, 16, 25, 40, 64, 100, 150, 250 };
	for (size_t p = 0; p < sizeof periods / sizeof *periods; p++) {
		open_run();
		chance.state = 1000 + p;
		unsigned position = (unsigned)(chance_even(&chance) * periods[p]);
		for (unsigned i = 0; i < SERIES_STEPS; i++) {
			steps_add(&steps, clean_step(2, NULL) * (i % periods[p] == position ? 1.6 : 1));
			if (i % STEPS_A_READ == STEPS_A_READ - 1)
				steps_search(&steps);
		}
		ck_assert_double_eq(only_pattern()->period, periods[p]);
		close_run();
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("patterns");
	TCase *tests = tcase_create("patterns");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 3600);
	tcase_add_test(tests, every_40th_is_found_with_its_fourth);
	tcase_add_test(tests, an_evaluation_is_planned);
	tcase_add_test(tests, own_work_is_planned);
	tcase_add_test(tests, line_of_slow_batches_is_the_cause);
	tcase_add_test(tests, forwards_without_gradients_in_these_batches_only_are_planned);
	tcase_add_test(tests, holder_of_the_gil_counts_in_all_phases);
	tcase_add_test(tests, period_stays_exact_with_misses_outliers_and_holes);
	tcase_add_test(tests, period_of_a_thousand_is_found);
	tcase_add_test(tests, a_period_may_restart_in_each_epoch);
	tcase_add_test(tests, what_is_slow_once_in_each_epoch_is_named_so);
	tcase_add_test(tests, slow_first_batches_of_epochs_name_persistent_workers);
	tcase_add_test(tests, a_little_slower_is_found_where_it_is_clear);
	tcase_add_test(tests, every_so_many_seconds_is_no_number_of_batches);
	tcase_add_test(tests, accumulation_is_inferred_where_it_is_not_published);
	tcase_add_test(tests, published_accumulation_is_no_pattern);
	tcase_add_test(tests, drift_says_since_when_and_is_withdrawn);
	tcase_add_test(tests, steps_that_get_slower_are_a_drift);
	tcase_add_test(tests, the_begin_of_an_epoch_is_a_lead_to_large_drifts_only);
	tcase_add_test(tests, a_burst_and_positions_in_the_epoch_are_no_drift);
	tcase_add_test(tests, two_kinds_are_named_by_their_size);
	tcase_add_test(tests, a_changing_mix_of_sizes_is_no_drift);
	tcase_add_test(tests, since_is_when_it_was_first_found);
	tcase_add_test(tests, the_search_runs_once_a_second_and_only_on_new_batches);
	tcase_add_test(tests, few_steps_and_equal_ones_say_nothing);
	tcase_add_loop_test(tests, steps_without_a_pattern_have_none, 0, 5);
	tcase_add_test(tests, planted_periods_are_found_exactly);
	return suite_run(suite);
}
