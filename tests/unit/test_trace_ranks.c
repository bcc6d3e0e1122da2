/* Several traces beside each other. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/trace/output/profile_ranks_text.h"
#include "tests/support/suite.h"
#include "tests/support/traces.h"

enum { COUNT = 3 };
static struct profile_analysis *ranks[COUNT];
static struct buffer out;

static void setup(void) { out = (struct buffer)BUFFER_INIT; }

/* -1: no trace says its rank. */
static const char *text_of(int first, int second, int third, int64_t world_size)
{
	const int numbers[COUNT] = { first, second, third };
	struct profile_view view = { .width = 80 };
	for (int i = 0; i < COUNT; i++) {
		ranks[i] = traces_read(TRACE_OP("aten::mm", "0", "100", "1"), numbers[i]);
		ranks[i]->profile.world_size = world_size;
		snprintf(ranks[i]->path, sizeof ranks[i]->path, "/runs/vm_29509.179589964%d462469.pt.trace.json", i);
	}
	buffer_clear(&out);
	profile_ranks_as_text(&out, ranks, COUNT, &view);
	return out.data;
}

static void release(void)
{
	for (int i = 0; i < COUNT; i++)
		traces_free(ranks[i]);
}

static void teardown(void) { buffer_release(&out); }

START_TEST(ranks_that_are_missing_or_have_several_traces_are_said)
{
	static const struct {
		int ranks[COUNT];
		int64_t world_size;
		const char *note;
	} rows[] = {
		{ { 0, 1, 2 }, 3, "" },
		{ { 0, 1, 2 }, -1, "" },
		{ { 0, 2, 3 }, 4, "Traces of ranks are missing: 1" },
		{ { 0, 0, 1 }, 2, "Rank 0 has 2 traces. " },
		{ { 0, 0, 1 }, 4, "Rank 0 has 2 traces. Traces of ranks are missing: 2, 3" },
		{ { 0, 1, 2 }, 4096, "Traces of ranks are missing: 3, 4, 5, 6, 7, 8, 9, 10, …" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char note[PROFILE_RANKS_NOTE_SIZE];
		const char *text = text_of(rows[i].ranks[0], rows[i].ranks[1], rows[i].ranks[2], rows[i].world_size);
		ck_assert_ptr_nonnull(strstr(text, "RANKS\n"));
		ck_assert_str_eq(profile_ranks_note(ranks, COUNT, note), rows[i].note);
		ck_assert(!rows[i].note[0] || strstr(text, rows[i].note));
		release();
	}
}
END_TEST

START_TEST(traces_of_no_known_rank_are_called_traces_and_keep_what_differs_in_their_names)
{
	const char *text = text_of(-1, -1, -1, -1);
	ck_assert_ptr_nonnull(strstr(text, "TRACES\n"));
	ck_assert_ptr_null(strstr(text, "missing"));
	for (int i = 0; i < COUNT; i++) {
		char part[20];
		snprintf(part, sizeof part, "64%d4", i);
		ck_assert_msg(strstr(text, part) != NULL, "%s: %s", part, text);
	}
	release();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_ranks");
	TCase *tests = tcase_create("all");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, ranks_that_are_missing_or_have_several_traces_are_said);
	tcase_add_test(tests, traces_of_no_known_rank_are_called_traces_and_keep_what_differs_in_their_names);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
