/* Where the passes of a DataLoader are fetched, and that another pass may be fetched elsewhere. */
#include <check.h>
#include <stdio.h>

#include "src/sources/python/counters/py_place.h"
#include "tests/support/suite.h"

enum { LOADER = 0x10, OTHER_LOADER = 0x20, TRAIN = 0x100, ACCURACY = 0x200, PREFETCH = 0x300, FIT = 0x400 };

static struct py_places places;

static void start(void) { places = (struct py_places){ 0 }; }

static void remember(const char *function, uint64_t code, uint64_t holder)
{
	struct py_place place = { .line = 7, .code = code, .ip = code + 2 };
	snprintf(place.function, sizeof place.function, "%s", function);
	py_places_holds(&places, LOADER, &place, holder, 0);
	py_places_remember(&places, LOADER, &place);
}

static struct py_place recall(uint64_t sampler)
{
	struct py_place place = { .function = "" };
	py_places_recall(&places, sampler, &place);
	return place;
}

START_TEST(another_pass_is_expected_where_the_one_before_was_without_its_names)
{
	remember("train", TRAIN, TRAIN);
	struct py_place place = recall(LOADER);
	ck_assert(place.is_recalled && place.code == TRAIN && place.ip == TRAIN + 2);
	ck_assert(place.function[0] == '\0' && place.line == 0);
	place = recall(OTHER_LOADER);
	ck_assert(!place.is_recalled && place.code == 0);
	place = recall(0);
	ck_assert(!place.is_recalled);
}
END_TEST

START_TEST(a_frame_that_held_the_pass_before_confirms_its_place)
{
	remember("get_batch_samples", TRAIN, FIT);
	struct py_place place = recall(LOADER);
	ck_assert(py_places_holds(&places, LOADER, &place, FIT, 0));
	ck_assert(!place.is_recalled);
	ck_assert_str_eq(place.function, "get_batch_samples");
}
END_TEST

START_TEST(a_generator_in_which_batches_are_fetched_confirms_the_place)
{
	remember("prefetch", PREFETCH, PREFETCH);
	struct py_place place = recall(LOADER);
	ck_assert(py_places_holds(&places, LOADER, &place, FIT, PREFETCH));
	ck_assert_str_eq(place.function, "prefetch");
}
END_TEST

START_TEST(another_function_does_not)
{
	remember("train", TRAIN, TRAIN);
	struct py_place place = recall(LOADER);
	ck_assert(!py_places_holds(&places, LOADER, &place, ACCURACY, 0));
	ck_assert(place.is_recalled);
	ck_assert_str_eq(place.function, "");
}
END_TEST

START_TEST(a_place_that_no_sample_has_confirmed_is_not_remembered)
{
	remember("train", TRAIN, TRAIN);
	struct py_place place = recall(LOADER);
	place.code = ACCURACY;
	py_places_remember(&places, LOADER, &place);
	ck_assert_uint_eq(recall(LOADER).code, TRAIN);
}
END_TEST

/* -- ignite's Engine, which trains, and in a handler another one, which validates -- */

enum { ENGINE = 0x500, HANDLER = 0x600, MODULE = 0x700, NEXT = 0x800, UPDATE = 0x900, ITER = 0xa00 };

static struct py_known known[] = {
	{ .code = { .function = "_SingleProcessDataLoaderIter.__next__", .file = "/torch/utils/data/dataloader.py" } },
	{ .code = { .function = "Engine.run", .file = "/site-packages/ignite/engine/engine.py" } },
	{ .code = { .function = "log_results", .file = "/home/me/train.py" } },
	{ .code = { .function = "<module>", .file = "/home/me/train.py" } },
	{ .code = { .function = "update", .file = "/home/me/train.py" } },
	{ .code = { .function = "DataLoader.__iter__", .file = "/torch/utils/data/dataloader.py" } },
};

static const struct py_sample *sample_of(const uint64_t *codes, size_t count)
{
	static const uint64_t order[] = { NEXT, ENGINE, HANDLER, MODULE, UPDATE, ITER };
	static struct py_sample sample;
	sample.count = count;
	for (size_t i = 0; i < count; i++) {
		size_t at = 0;
		while (order[at] != codes[i])
			at++;
		sample.sites[i] =
			(struct py_site){ .known = &known[at], .line = 10 + (int)i, .code = codes[i], .ip = codes[i] };
	}
	return &sample;
}

START_TEST(a_library_that_iterates_is_placed_where_it_was_called)
{
	static const uint64_t fetching[] = { NEXT, ENGINE, MODULE }, training[] = { UPDATE, ENGINE, MODULE },
						  validating[] = { ENGINE, HANDLER, ENGINE, MODULE };
	struct py_place place = { .function = "" };
	py_place_note_next(&places, LOADER, sample_of(fetching, 3), 0, &place);
	ck_assert_str_eq(place.function, "<module>");
	ck_assert_uint_eq(place.callee, ENGINE);
	place = recall(LOADER);
	py_place_confirm(sample_of(training, 3), &place);
	ck_assert_str_eq(place.function, "<module>");
	ck_assert(!place.is_recalled);
	place = recall(LOADER);
	py_place_confirm(sample_of(validating, 4), &place);
	ck_assert_str_eq(place.function, "log_results");
	ck_assert(!place.is_recalled && place.ip == 0);
	place = recall(LOADER);
	py_place_note_found(
		&places, LOADER, &(struct py_found){ .is_of_variable = true }, sample_of(validating, 4), 0, &place);
	ck_assert_str_eq(place.function, "log_results");
}
END_TEST

START_TEST(what_makes_an_iterator_has_no_loop)
{
	static const uint64_t codes[] = { ITER, MODULE };
	struct py_place place = { .function = "" };
	py_place_note_found(&places, LOADER, &(struct py_found){ .is_of_variable = true }, sample_of(codes, 2), 0, &place);
	ck_assert(!py_place_may_hold(sample_of(codes, 2), 0));
	ck_assert(py_place_may_hold(sample_of(codes, 2), 1));
	ck_assert_uint_eq(place.code, 0);
	ck_assert_uint_eq(place.callee, 0);
	ck_assert(!place.is_stacked);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("py_place");
	TCase *tests = tcase_create("py_place");
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_add_test(tests, another_pass_is_expected_where_the_one_before_was_without_its_names);
	tcase_add_test(tests, a_frame_that_held_the_pass_before_confirms_its_place);
	tcase_add_test(tests, a_generator_in_which_batches_are_fetched_confirms_the_place);
	tcase_add_test(tests, another_function_does_not);
	tcase_add_test(tests, a_place_that_no_sample_has_confirmed_is_not_remembered);
	tcase_add_test(tests, a_library_that_iterates_is_placed_where_it_was_called);
	tcase_add_test(tests, what_makes_an_iterator_has_no_loop);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
