#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/export/export.h"
#include "src/export/text/lines.h"
#include "tests/support/suite.h"
#include "tests/support/fixture.h"

static struct fixture fixture;
static struct track *train;
static struct lines lines;
static struct buffer out;

static void setup(void)
{
	fixture_init(&fixture);
	train = &fixture.run.tracks[0];
	lines_init(&lines, 5);
	out = (struct buffer)BUFFER_INIT;
}

static void teardown(void)
{
	buffer_release(&out);
	fixture_release(&fixture);
}

/* What one refresh prints. */
static const char *refresh_of(int run)
{
	buffer_clear(&out);
	export_lines(&out, &lines, &fixture.model, &fixture.alerts, run);
	return out.data ? out.data : "";
}

static const char *refresh(void) { return refresh_of(0); }

static void add_batches(uint64_t first, uint64_t count, double seconds)
{
	for (uint64_t i = first; i < first + count; i++)
		fixture_add_batch(&fixture, train, i, seconds);
}

START_TEST(batches_and_epochs_have_the_guides_words)
{
	struct epoch *epoch = fixture_begin_epoch(&fixture, 0);
	struct batch *batch = fixture_add_batch(&fixture, train, 0, 0.538);
	batch->resident_bytes = 1648.9e6;
	batch->loss = 0.009458;
	batch = fixture_add_batch(&fixture, train, 1, 0.185);
	batch->resident_bytes = 1659.6e6;
	batch->loss = 0.016763;
	fixture_end_epoch(&fixture, epoch);
	epoch->total_s = 4.774;
	epoch->batches = 2;
	epoch->mean_s = 0.201;
	epoch->min_s = 0.082;
	epoch->max_s = 0.538;
	ck_assert_str_eq(refresh(),
		"  Batch 0: 0.538s, CPU 1648.9MB, loss=0.009458\n"
		"  Batch 1: 0.185s, CPU 1659.6MB, loss=0.016763\n"
		"  Epoch end: 4.774s total, CPU 1659.6MB\n"
		"  Batch timing: avg=0.201s, min=0.082s, max=0.538s\n");
	ck_assert_str_eq(refresh(), "");
}
END_TEST

START_TEST(unknown_figures_are_left_out_of_a_line)
{
	struct epoch *epoch = fixture_begin_epoch(&fixture, 0);
	fixture_add_batch(&fixture, train, 0, 0.5)->loss = 1;
	fixture_add_batch(&fixture, train, 1, 0.5)->resident_bytes = 1e6;
	fixture_add_batch(&fixture, train, 2, 0.5);
	fixture_end_epoch(&fixture, epoch);
	ck_assert_str_eq(refresh(),
		"  Batch 0: 0.500s, loss=1.000000\n"
		"  Batch 1: 0.500s, CPU 1.0MB\n"
		"  Batch 2: 0.500s\n"
		"  Epoch end: 1.500s total\n");
}
END_TEST

START_TEST(batches_between_two_refreshes_come_in_order_and_once)
{
	add_batches(0, 1, 0.1);
	ck_assert_str_eq(refresh(), "  Batch 0: 0.100s\n");
	add_batches(1, 3, 0.2);
	ck_assert_str_eq(refresh(), "  Batch 1: 0.200s\n  Batch 2: 0.200s\n  Batch 3: 0.200s\n");
	ck_assert_str_eq(refresh(), "");
	add_batches(4, 3, 0.1);
	ck_assert_str_eq(refresh(), "  Batch 4: 0.100s\n");
}
END_TEST

START_TEST(two_epochs_between_two_refreshes_are_among_their_batches)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct epoch *epoch = fixture_begin_epoch(&fixture, i);
		add_batches(0, 2, 0.25);
		fixture_end_epoch(&fixture, epoch);
	}
	ck_assert_str_eq(refresh(),
		"  Batch 0: 0.250s\n  Batch 1: 0.250s\n  Epoch end: 0.500s total\n"
		"  Batch 0: 0.250s\n  Batch 1: 0.250s\n  Epoch end: 0.500s total\n");
}
END_TEST

START_TEST(no_batch_lines_leaves_the_epochs)
{
	lines_init(&lines, 0);
	struct epoch *epoch = fixture_begin_epoch(&fixture, 0);
	add_batches(0, 2, 0.25);
	ck_assert_str_eq(refresh(), "");
	fixture_end_epoch(&fixture, epoch);
	ck_assert_str_eq(refresh(), "  Epoch end: 0.500s total\n");
}
END_TEST

START_TEST(running_batch_and_epoch_wait_for_their_end)
{
	struct epoch *epoch = fixture_begin_epoch(&fixture, 0);
	struct batch *batch = fixture_add_batch(&fixture, train, 0, 0.5);
	int64_t end_ns = batch->end_ns;
	batch->end_ns = 0;
	ck_assert_str_eq(refresh(), "");
	batch->end_ns = end_ns;
	ck_assert_str_eq(refresh(), "  Batch 0: 0.500s\n");
	fixture_end_epoch(&fixture, epoch);
	ck_assert_str_eq(refresh(), "  Epoch end: 0.500s total\n");
}
END_TEST

START_TEST(batch_whose_end_was_lost_does_not_hold_up_the_next)
{
	fixture_add_batch(&fixture, train, 0, 0.5)->end_ns = 0;
	fixture_add_batch(&fixture, train, 1, 0.5);
	ck_assert_str_eq(refresh(), "  Batch 1: 0.500s\n");
}
END_TEST

START_TEST(an_ended_run_begins_with_the_oldest_retained_batch)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct epoch *epoch = fixture_begin_epoch(&fixture, i);
		add_batches(0, FIXTURE_BATCHES, 0.25);
		fixture_end_epoch(&fixture, epoch);
	}
	train->first += 10;
	lines_init(&lines, 1);
	ck_assert_str_eq(refresh(), "  Batch 10: 0.250s\n  Epoch end: 4.000s total\n");
}
END_TEST

START_TEST(batches_overwritten_between_two_refreshes_are_not_made_up)
{
	add_batches(0, 1, 0.5);
	refresh();
	add_batches(1, FIXTURE_BATCHES + 2, 0.5);
	ck_assert_str_eq(refresh(), "  Batch 3: 0.500s\n  Batch 4: 0.500s\n  Batch 5: 0.500s\n  Batch 6: 0.500s\n");
}
END_TEST

START_TEST(validation_before_the_first_training_batch_is_printed_once)
{
	train->mode = FIXTURE_VALIDATION;
	add_batches(0, 2, 0.125);
	ck_assert_str_eq(refresh(), "  Batch 0: 0.125s\n  Batch 1: 0.125s\n");
	struct track *later = fixture_add_track(&fixture, FIXTURE_TRAIN);
	fixture.run.main_track = 1;
	fixture_add_batch(&fixture, later, 0, 0.5);
	ck_assert_str_eq(refresh(), "  Batch 0: 0.500s\n");
	fixture.run.main_track = 0;
	ck_assert_str_eq(refresh(), "");
}
END_TEST

START_TEST(a_warning_is_printed_when_raised_and_when_raised_again)
{
	struct alert *data = fixture_add_alert(&fixture, "data_loading", SEVERITY_WARNING, "data takes 34 % of each batch");
	ck_assert_str_eq(refresh(), "  Warning: data takes 34 % of each batch\n");
	fixture_add_alert(&fixture, "slow_first_batch", SEVERITY_INFO, "the first batch took 0.538 s");
	ck_assert_str_eq(refresh(), "  Note: the first batch took 0.538 s\n");
	data->is_raised = false;
	ck_assert_str_eq(refresh(), "");
	data->is_raised = true;
	ck_assert_str_eq(refresh(), "  Warning: data takes 34 % of each batch\n");
	ck_assert_str_eq(refresh(), "");
}
END_TEST

START_TEST(warnings_of_one_rule_about_two_operations_are_two)
{
	fixture_add_alert(&fixture, "bottleneck", SEVERITY_WARNING, "forward takes 61 %")->subject = FIXTURE_FORWARD;
	fixture_add_alert(&fixture, "bottleneck", SEVERITY_WARNING, "data takes 55 %")->subject = FIXTURE_DATA;
	ck_assert_str_eq(refresh(), "  Warning: forward takes 61 %\n  Warning: data takes 55 %\n");
}
END_TEST

START_TEST(warnings_of_another_run_are_not_printed)
{
	fixture_add_alert(&fixture, "data_loading", SEVERITY_WARNING, "of rank 1")->run = 1;
	struct alert *of_model = fixture_add_alert(&fixture, "busy_machine", SEVERITY_CRITICAL, "of the process");
	of_model->run = 1;
	of_model->is_of_model = true;
	ck_assert_str_eq(refresh(), "  Critical: of the process\n");
}
END_TEST

START_TEST(memory_is_printed_when_it_grows_leaks_and_settles)
{
	struct memory *memory = &fixture.model.memory;
	memory->verdict = MEMORY_PLATEAU;
	ck_assert_str_eq(refresh(), "");
	memory->verdict = MEMORY_GROWING;
	ck_assert_str_eq(refresh(), "  Memory: growing\n");
	ck_assert_str_eq(refresh(), "");
	memory->verdict = MEMORY_LEAK;
	snprintf(memory->grower, sizeof memory->grower, "worker 4711");
	memory->slope_per_batch = 0.5e6;
	memory->growth_per_epoch = 47.5e6;
	memory->limit = "machine";
	memory->limit_in_s = 5460;
	ck_assert_str_eq(
		refresh(), "  Memory: leak, worker 4711, 0.50MB a batch, 47.5MB an epoch, full in 1 h 31 (machine)\n");
	memory->verdict = MEMORY_UNKNOWN;
	memory->limit_in_s = NAN;
	ck_assert_str_eq(refresh(), "");
	memory->verdict = MEMORY_PLATEAU;
	ck_assert_str_eq(refresh(), "  Memory: plateau\n");
	ck_assert_str_eq(refresh(), "");
}
END_TEST

START_TEST(unpublished_process_gets_a_line_each_refresh)
{
	fixture.process.now[METRIC_PROCESS_RESIDENT] = 1648.9e6;
	fixture.process.now[METRIC_PROCESS_THREADS] = 12;
	fixture.process.now[METRIC_PROCESS_STATE] = 'D';
	ck_assert_str_eq(refresh_of(-1), "  Process 48213: resident 1648.9MB, threads 12, waiting for disk\n");
	fixture.process.cpu_ratio = 0.984;
	ck_assert_str_eq(refresh_of(-1), "  Process 48213: resident 1648.9MB, CPU 98.4%, threads 12, waiting for disk\n");
	fixture.process.is_gone = true;
	ck_assert_str_eq(refresh_of(-1), "  Process 48213: resident 1648.9MB, CPU 98.4%, threads 12, ended\n");
}
END_TEST

START_TEST(why_there_are_no_steps_is_said_once)
{
	fixture.model.missing_count = 1;
	fixture.model.missing[0] = (struct missing){
		.figure = "region", .text = "process 48213 belongs to root", .remedy = "run as root", .subject = MISSING_REGION
	};
	ck_assert_str_eq(refresh_of(-1),
		"  pmtop does not know whether this process is instrumented: process 48213 belongs to root. Try: run as root.\n"
		"  Process 48213: state unknown\n");
	ck_assert_str_eq(refresh_of(-1), "  Process 48213: state unknown\n");
	fixture.model.missing[0].subject = MISSING_STEPS;
	ck_assert_str_eq(refresh_of(-1),
		"  No instrumentation, and process 48213 belongs to root; in Python, write for batch in pmtop.batches(loader); "
		"in C or C++, include pmtop.h (man pmtop.h).\n"
		"  Process 48213: state unknown\n");
	fixture.model.missing_count = 0;
	ck_assert_str_eq(refresh_of(-1), "  Process 48213: state unknown\n");
}
END_TEST

START_TEST(process_of_which_nothing_is_known_is_not_given_figures)
{
	ck_assert_str_eq(refresh_of(-1), "  Process 48213: state unknown\n");
	fixture.model.process_count = 0;
	ck_assert_str_eq(refresh_of(-1), "");
}
END_TEST

START_TEST(the_allocators_memory_has_the_guides_words)
{
	struct epoch *epoch = fixture_begin_epoch(&fixture, 0);
	struct batch *batch = fixture_add_batch(&fixture, train, 0, 0.538);
	batch->allocated_bytes = 23.1e6;
	batch->resident_bytes = 1648.9e6;
	batch->loss = 0.009458;
	fixture_end_epoch(&fixture, epoch);
	epoch->total_s = 4.774;
	epoch->allocator = (struct allocator){ 14.4e6, 3236e6, 2880e6 };
	ck_assert_str_eq(refresh(),
		"  Batch 0: 0.538s, GPU 23.1MB, CPU 1648.9MB, loss=0.009458\n"
		"  Epoch end: 4.774s total, GPU 14.4MB, 3236MB reserved, peak 2880MB, CPU 1648.9MB\n");
}
END_TEST

static void add_mark(const char *text, double after_s)
{
	fixture.run.marks[fixture.run.mark_count].time_ns = fixture.model.now_ns + (int64_t)(after_s * 1e9);
	snprintf(fixture.run.marks[fixture.run.mark_count++].text, sizeof fixture.run.marks[0].text, "%s", text);
}

START_TEST(marks_are_printed_among_batches_and_epochs_by_time)
{
	struct epoch *epoch = fixture_begin_epoch(&fixture, 0);
	add_batches(0, 1, 0.1);
	add_mark("learning rate lowered", 0.05);
	add_batches(1, 1, 0.1);
	fixture_end_epoch(&fixture, epoch);
	add_mark("checkpoint saved", 0.01);
	ck_assert_str_eq(refresh(),
		"  Batch 0: 0.100s\n  Mark: learning rate lowered\n  Batch 1: 0.100s\n  Epoch end: 0.200s total\n  Mark: "
		"checkpoint saved\n");
	ck_assert_str_eq(refresh(), "");
	/* More batches than retained came between two refreshes: the retained ones are printed. */
	fixture.run.marks_dropped = 10;
	ck_assert_str_eq(refresh(), "  Mark: learning rate lowered\n  Mark: checkpoint saved\n");
}
END_TEST

START_TEST(earlier_marks_are_not_printed)
{
	add_mark("long ago", 1);
	fixture.model.now_ns += 100 * NS_PER_S;
	fixture.model.first_ns = fixture.model.now_ns;
	add_mark("now", 1);
	fixture.run.is_live = true;
	ck_assert_str_eq(refresh(), "  Mark: now\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("export_lines");
	TCase *all = tcase_create("all");
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_add_test(all, batches_and_epochs_have_the_guides_words);
	tcase_add_test(all, unknown_figures_are_left_out_of_a_line);
	tcase_add_test(all, batches_between_two_refreshes_come_in_order_and_once);
	tcase_add_test(all, two_epochs_between_two_refreshes_are_among_their_batches);
	tcase_add_test(all, no_batch_lines_leaves_the_epochs);
	tcase_add_test(all, running_batch_and_epoch_wait_for_their_end);
	tcase_add_test(all, batch_whose_end_was_lost_does_not_hold_up_the_next);
	tcase_add_test(all, an_ended_run_begins_with_the_oldest_retained_batch);
	tcase_add_test(all, batches_overwritten_between_two_refreshes_are_not_made_up);
	tcase_add_test(all, validation_before_the_first_training_batch_is_printed_once);
	tcase_add_test(all, a_warning_is_printed_when_raised_and_when_raised_again);
	tcase_add_test(all, warnings_of_one_rule_about_two_operations_are_two);
	tcase_add_test(all, warnings_of_another_run_are_not_printed);
	tcase_add_test(all, memory_is_printed_when_it_grows_leaks_and_settles);
	tcase_add_test(all, unpublished_process_gets_a_line_each_refresh);
	tcase_add_test(all, why_there_are_no_steps_is_said_once);
	tcase_add_test(all, process_of_which_nothing_is_known_is_not_given_figures);
	tcase_add_test(all, the_allocators_memory_has_the_guides_words);
	tcase_add_test(all, marks_are_printed_among_batches_and_epochs_by_time);
	tcase_add_test(all, earlier_marks_are_not_printed);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
