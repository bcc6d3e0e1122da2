#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "src/model/run/steps/baseline.h"
#include "src/model/run/steps/tracks.h"
#include "tests/support/script.h"
#include "tests/support/suite.h"

/* Allocations fail, one at a time and then all, while the model takes a story: it loses figures, but never crashes. */

static bool is_armed;
static uint64_t allocations, fail_from, fail_to;

/* A sanitizer has an allocator of its own; then nothing fails, and only the story itself is checked. */
#ifndef IS_SANITIZED
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static bool fails(void)
{
	if (!is_armed)
		return false;
	allocations++;
	return allocations >= fail_from && allocations <= fail_to;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return fails() ? NULL : __libc_realloc(memory, size); }
#endif

static void use(struct model *model)
{
	struct baseline baseline;
	struct phase_row rows[RUN_PHASES_MAX];
	struct series_column columns[20];
	series_columns(model->series.resident, 0, INT64_MAX, columns, 20);
	for (unsigned i = 0; i < model->run_count; i++) {
		const struct run *run = &model->runs[i];
		const struct track *track = run_main(run);
		for (uint64_t ordinal = track->first; ordinal < track->end; ordinal++) {
			const struct batch *batch = track_batch(track, ordinal);
			ck_assert(!batch || batch->ordinal == ordinal);
		}
		track_baseline(track, track->end, &baseline);
		size_t batches;
		track_phases(track, 200, rows, RUN_PHASES_MAX, &batches);
		for (size_t k = 0; k < run->operation_count; k++)
			ck_assert_ptr_nonnull(run_name(run, run->operations[k].name));
		is_armed = true;
		model_flag(model, i, 0, track->end / 2, true);
		is_armed = false;
	}
}

#ifdef IS_SANITIZED
enum { ALLOCATIONS_MIN = 0 };
#else
enum { ALLOCATIONS_MIN = 100 };
#endif

/* Number of the story's allocations; 0 if the model itself had no memory. */
static uint64_t emit(uint64_t from, uint64_t to, double attach_s, bool is_checked)
{
	struct story_options story_options;
	story_options_default(&story_options);
	story_options.epochs = 1;
	story_options.batches = 50;
	story_options.slow_every = 3;
	story_options.attach_s = attach_s;
	story_options.period_ns = 200 * NS_PER_MS;
	struct model_options options;
	model_options_default(&options);
	struct story *story = story_new(&story_options);
	struct sample_set set = SAMPLE_SET_INIT;
	allocations = 0;
	fail_from = from;
	fail_to = to;
	is_armed = true;
	struct model *model = model_new(&options);
	is_armed = false;
	while (model && story_next(story, &set)) {
		is_armed = true;
		model_apply(model, &set);
		is_armed = false;
	}
	if (model) {
		use(model);
		ck_assert(!is_checked || run_main(&model->runs[0])->count == story_truth(story).batches);
		ck_assert(!is_checked || model->runs[0].flagged_count > 5);
	}
	sample_set_release(&set);
	story_free(story);
	model_free(model);
	return model ? allocations : 0;
}

START_TEST(any_one_allocation_may_fail)
{
	uint64_t count = emit(UINT64_MAX, UINT64_MAX, 0, true);
	ck_assert_uint_ge(count, ALLOCATIONS_MIN);
	for (uint64_t n = 1; n <= count; n++)
		emit(n, n, n % 2 ? 0 : 5, false);
}
END_TEST

START_TEST(memory_may_run_out_for_good)
{
	uint64_t count = emit(UINT64_MAX, UINT64_MAX, 5, true);
	ck_assert_uint_ge(count, ALLOCATIONS_MIN);
	for (uint64_t n = 1; n <= count; n++)
		emit(n, UINT64_MAX, n % 2 ? 0 : 5, false);
}
END_TEST

START_TEST(memory_may_come_back)
{
	uint64_t count = emit(UINT64_MAX, UINT64_MAX, 0, true);
	ck_assert_uint_ge(count, ALLOCATIONS_MIN);
	for (uint64_t n = 1; n <= count; n += 3)
		emit(n, n + 20, 0, false);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model without memory");
	TCase *tests = tcase_create("no memory");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, any_one_allocation_may_fail);
	tcase_add_test(tests, memory_may_run_out_for_good);
	tcase_add_test(tests, memory_may_come_back);
	return suite_run(suite);
}
