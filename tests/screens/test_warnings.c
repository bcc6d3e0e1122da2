#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "tests/support/stage.h"
#include "tests/support/suite.h"

static void play(struct stage *stage, int width, int height)
{
	struct story_options options;
	story_options_default(&options);
	options.leak_bytes = 1e6;
	stage_open(stage, &options, width, height);
	stage_play(stage, 60);
}

static void expect_picture(int width, int height, enum charset charset, const char *keys, const char *name)
{
	struct stage stage;
	play(&stage, width, height);
	stage_expect_after(&stage, charset, keys, name);
	stage_close(&stage);
}

START_TEST(a_warning_is_shown_with_its_meaning_and_what_to_try)
{
	expect_picture(120, 40, CHARSET_BRAILLE, "8jj", "warnings_120x40");
}
END_TEST
START_TEST(warnings_at_80_columns) { expect_picture(80, 24, CHARSET_BRAILLE, "8", "warnings_80x24"); }
END_TEST
START_TEST(warnings_in_ascii) { expect_picture(80, 24, CHARSET_ASCII, "8", "warnings_80x24_ascii"); }
END_TEST
START_TEST(help_lists_every_key) { expect_picture(120, 40, CHARSET_BRAILLE, "?", "help_120x40"); }
END_TEST
START_TEST(help_scrolls_where_it_does_not_fit)
{
	expect_picture(80, 24, CHARSET_BRAILLE, "?jjjjjjjjjjjjjj", "help_scrolled_80x24");
}
END_TEST
START_TEST(a_view_without_a_source_says_what_to_do) { expect_picture(80, 24, CHARSET_BRAILLE, "5", "gpu_none_80x24"); }
END_TEST

START_TEST(without_a_warning_it_lists_the_checks)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 80, 24);
	stage_play(&stage, 0.1);
	stage_type(&stage, "8j");
	ck_assert(stage_shows(&stage, "No warnings so far"));
	stage_close(&stage);
}
END_TEST

static void apply_missing(struct stage *stage, const char *text, const char *remedy)
{
	int64_t now_ns = stage->model->now_ns + NS_PER_S;
	sample_set_clear(&stage->set);
	stage->set.time_ns = now_ns;
	stage->set.source = "process";
	sample_set_missing(&stage->set, now_ns, "run-queue wait", text, remedy);
	model_apply(stage->model, &stage->set);
	explain_flagged(stage->model);
	stage_draw(stage);
}

START_TEST(a_missing_figure_says_why_and_what_to_do)
{
	struct stage stage;
	play(&stage, 80, 24);
	apply_missing(&stage, "the kernel keeps no schedstat", "boot a kernel with CONFIG_SCHED_INFO");
	stage_type(&stage, "8");
	stage_press(&stage, KEY_TO_END);
	ck_assert(stage_shows(&stage, "missing: run-queue wait: the kernel keeps no schedstat"));
	ck_assert(stage_shows(&stage, "try       boot a kernel with CONFIG_SCHED_INFO"));
	stage_close(&stage);
}
END_TEST

START_TEST(csv_has_every_warning_with_its_advice)
{
	struct buffer csv = BUFFER_INIT;
	struct stage stage;
	size_t rows = 0;
	play(&stage, 80, 24);
	stage_type(&stage, "8");
	ck_assert(screen_write(stage.screen, &csv));
	for (const char *c = csv.data; *c != '\0'; c++)
		rows += *c == '\n';
	ck_assert_uint_eq(rows, 1 + stage.alerts.count);
	ck_assert_ptr_nonnull(strstr(csv.data, ",memory_growth,warning,1,"));
	buffer_release(&csv);
	stage_close(&stage);
}
END_TEST

/* -- warnings made by hand -- */

/* Histories made by hand; the alerts do not own them. */
static struct series *emitted[ALERTS_MAX + 4];
static size_t emitted_count;

/* A figure that crosses its threshold and falls below it again before `seconds` end. */
static struct series *history_of(int64_t now_ns, double seconds, double min, double max)
{
	struct series *series = series_new();
	ck_assert_ptr_nonnull(series);
	ck_assert_uint_lt(emitted_count, sizeof emitted / sizeof emitted[0]);
	emitted[emitted_count++] = series;
	for (int i = 0; i <= 2 * (int)seconds; i++) {
		double part = (double)i / (2 * seconds);

		series_push(series, now_ns - (int64_t)((seconds - i / 2.0) * 1e9), part < 0.2 || part > 0.8 ? min : max);
	}
	return series;
}

static struct alert *emit(
	struct stage *stage, const char *rule, enum severity severity, double raised_s, double cleared_s)
{
	struct alert *alert = &stage->alerts.list[stage->alerts.count++];
	int64_t now_ns = stage->model->now_ns;
	*alert = (struct alert){
		.rule = rule,
		.severity = severity,
		.is_raised = cleared_s < 0,
		.since_ns = now_ns - (int64_t)(raised_s * 1e9),
		.cleared_ns = cleared_s < 0 ? 0 : now_ns - (int64_t)(cleared_s * 1e9),
		.value = NAN,
		.level = NAN,
	};
	snprintf(alert->message, sizeof alert->message, "%s was raised by hand", rule);
	return alert;
}

/* A raised warning about a busy disk, and a cleared one about memory. */
static void emit_two(struct stage *stage)
{
	struct alert *disk, *memory;
	alerts_release(&stage->alerts);
	disk = emit(stage, "busy_disk", SEVERITY_CRITICAL, 240, -1);
	snprintf(disk->message, sizeof disk->message,
		"disk nvme0n1 is busy 92 %% of the time, a read takes 14.1 ms (last 30 s)");
	snprintf(disk->meaning, sizeof disk->meaning,
		"The disk has hardly any time left: whoever reads waits for those before. Loader workers that wait for it "
		"starve the training.");
	disk->value = 0.92;
	disk->level = 0.8;
	disk->unit = FIGURE_RATIO;
	disk->history = history_of(stage->model->now_ns, 300, 0.35, 0.93);
	snprintf(disk->guide, sizeof disk->guide, "004, \"Disk I/O\"");
	disk->evidence[0] = (struct alert_evidence){ "busy_ratio", 0.92 };
	disk->evidence[1] = (struct alert_evidence){ "read_latency_s", 0.0141 };
	disk->evidence[2] = (struct alert_evidence){ "read_bytes_per_s", 121e6 };
	disk->evidence_count = 3;
	snprintf(
		disk->advice[0], sizeof disk->advice[0], "num_workers is 4: try 8, for the disk answers many readers at once");
	snprintf(disk->advice[1], sizeof disk->advice[1], "keep decoded items in memory, or the data set on a faster disk");
	disk->advice_count = 2;
	memory = emit(stage, "machine_memory", SEVERITY_WARNING, 200, 90);
	snprintf(memory->message, sizeof memory->message, "the machine's memory was used up to 91 %%");
	memory->value = 0.62;
	memory->level = 0.85;
	memory->unit = FIGURE_RATIO;
	memory->history = history_of(stage->model->now_ns, 240, 0.6, 0.91);
}

static void close_emitted(struct stage *stage)
{
	stage_close(stage);
	while (emitted_count > 0)
		series_free(emitted[--emitted_count]);
}

static void expect_emitted(int width, int height, enum charset charset, const char *keys, const char *name)
{
	struct stage stage;
	play(&stage, width, height);
	emit_two(&stage);
	stage_expect_after(&stage, charset, keys, name);
	close_emitted(&stage);
}

START_TEST(the_evidence_is_beside_the_list_on_wide_screens)
{
	expect_emitted(200, 60, CHARSET_BRAILLE, "8", "warnings_history_200x60");
}
END_TEST
START_TEST(the_evidence_is_below_the_text) { expect_emitted(120, 40, CHARSET_BRAILLE, "8", "warnings_history_120x40"); }
END_TEST
START_TEST(enter_shows_the_evidence_large)
{
	expect_emitted(80, 24, CHARSET_BRAILLE, "8\r", "warnings_evidence_80x24");
}
END_TEST
START_TEST(the_evidence_in_ascii) { expect_emitted(80, 24, CHARSET_ASCII, "8\r", "warnings_evidence_80x24_ascii"); }
END_TEST
START_TEST(cleared_warnings_keep_their_times)
{
	expect_emitted(120, 40, CHARSET_BRAILLE, "8j\r", "warnings_cleared_120x40");
}
END_TEST

START_TEST(esc_leads_back_from_the_evidence)
{
	struct stage stage;
	play(&stage, 80, 24);
	emit_two(&stage);
	stage_type(&stage, "8\r");
	ck_assert(stage_shows(&stage, "─ Evidence ─"));
	ck_assert(!stage_shows(&stage, "1 raised"));
	stage_type(&stage, "\033");
	ck_assert(stage_shows(&stage, "1 raised · 1 cleared"));
	ck_assert_str_eq(screen_view_name(stage.screen), "Warnings");
	stage_type(&stage, "\033");
	ck_assert_str_eq(screen_view_name(stage.screen), "Overview");
	close_emitted(&stage);
}
END_TEST

START_TEST(the_selection_stays_with_its_warning)
{
	struct stage stage;
	struct alert first;
	play(&stage, 80, 24);
	emit_two(&stage);
	stage_type(&stage, "8j\r");
	ck_assert(stage_shows(&stage, "─ machine_memory ─"));
	first = stage.alerts.list[0];
	stage.alerts.list[0] = stage.alerts.list[1];
	stage.alerts.list[1] = first;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "─ machine_memory ─"));
	stage.alerts.list[0] = stage.alerts.list[1];
	stage.alerts.count = 1;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "─ busy_disk ─"));
	ck_assert(stage_shows(&stage, "1 raised"));
	close_emitted(&stage);
}
END_TEST

START_TEST(the_evidence_can_be_zoomed_to_the_whole_history)
{
	struct stage stage;
	play(&stage, 80, 24);
	emit_two(&stage);
	stage_type(&stage, "8\r");
	ck_assert(stage_shows(&stage, "▲ raised"));
	stage_type(&stage, "+++++++++++");
	ck_assert(stage_shows(&stage, "14:00:50"));
	stage_type(&stage, "---------------");
	ck_assert(stage_shows(&stage, "13:56:00"));
	close_emitted(&stage);
}
END_TEST

/* -- keys -- */

static bool is_selected(const struct stage *stage, const char *text)
{
	int x, y;
	return stage_find(stage, text, &x, &y) && stage->canvas.cells[y * stage->canvas.width + x].role == ROLE_SELECTED;
}

START_TEST(n_opens_the_batch_that_is_meant)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "8/batches slow\r\033");
	ck_assert(stage_shows(&stage, "─ flagged_batches ─"));
	stage_type(&stage, "n");
	ck_assert_str_eq(screen_view_name(stage.screen), "Batches");
	ck_assert(stage_shows(&stage, "39 of epoch 3 was slow"));
	emit_two(&stage);
	stage_type(&stage, "8");
	stage_press(&stage, KEY_TO_HOME);
	stage_type(&stage, "n");
	ck_assert_str_eq(screen_view_name(stage.screen), "Warnings");
	ck_assert(stage_shows(&stage, "this warning has no single batch"));
	close_emitted(&stage);
}
END_TEST

START_TEST(warnings_can_be_searched)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "8/first batch\r");
	ck_assert(is_selected(&stage, "first batch took"));
	stage_type(&stage, "\033/no such thing\r");
	ck_assert(stage_shows(&stage, "no warning matches"));
	stage_close(&stage);
}
END_TEST

START_TEST(a_click_selects_a_warning)
{
	struct stage stage;
	int x, y;
	play(&stage, 80, 24);
	stage_type(&stage, "8");
	ck_assert(stage_find(&stage, "first batch took", &x, &y));
	stage_click(&stage, x + 3, y);
	ck_assert(is_selected(&stage, "first batch took"));
	ck_assert(stage_shows(&stage, "─ slow_first_batch ─"));
	stage_close(&stage);
}
END_TEST

START_TEST(each_kind_of_warning_has_its_plot)
{
	static const struct {
		const char *search, *shows;
	} kinds[] = {
		{ "memory grew", "─ Memory ─" },
		{ "batches slow", "─ Step time ─" },
		{ "first batch took", "─ Step time ─" },
		{ "first batch", "─ Step time ─" },
	};
	struct stage stage;
	play(&stage, 80, 24);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		stage_type(&stage, "8/");
		stage_type(&stage, kinds[i].search);
		stage_type(&stage, "\r\033\r+-");
		ck_assert_msg(stage_shows(&stage, kinds[i].shows), "%s", kinds[i].search);
		stage_type(&stage, "\033");
	}
	emit(&stage, "hand_made", SEVERITY_INFO, 5, -1);
	stage_press(&stage, KEY_TO_END);
	stage_type(&stage, "\r");
	ck_assert(stage_shows(&stage, "this warning has no plot"));
	stage_close(&stage);
}
END_TEST

/* -- sizes and hostile texts -- */

static void make_hostile(struct stage *stage)
{
	for (int i = 0; i < 70 && stage->alerts.count < ALERTS_MAX; i++) {
		struct alert *alert =
			emit(stage, "a_rule_whose_name_is_so_long_that_no_title_has_room_for_it_and_then_some_more_of_it_ratio",
				SEVERITY_CRITICAL, 1e9, i % 2 ? -1 : 5);

		alert->run = (unsigned)i;
		memset(alert->message, 'm', sizeof alert->message - 1);
		memset(alert->meaning, 'w', sizeof alert->meaning - 1);
		memset(alert->guide, 'g', sizeof alert->guide - 1);
		for (size_t k = 0; k < ALERT_ADVICE_MAX; k++)
			memset(alert->advice[k], 'a', sizeof alert->advice[k] - 1);
		alert->advice_count = ALERT_ADVICE_MAX;
		for (size_t k = 0; k < ALERT_EVIDENCE_MAX; k++)
			alert->evidence[k] =
				(struct alert_evidence){ k % 2 ? "ratio"
											   : "a_key_that_never_ends_and_goes_on_and_on_and_on_and_on_bytes_per_s",
					k % 3 ? 1e300 : NAN };
		alert->evidence_count = ALERT_EVIDENCE_MAX;
		alert->value = 1e300;
		alert->level = -1;
		alert->unit = (enum figure_unit)(i % 4);
		alert->history = i % 3 ? NULL : history_of(stage->model->now_ns, 20, -1e300, 1e300);
	}
}

START_TEST(no_size_and_no_text_does_harm)
{
	struct stage stage;
	play(&stage, 80, 24);
	emit_two(&stage);
	stage_type(&stage, "8");
	for (int round = 0; round < 2; round++) {
		for (int width = 1; width <= 210; width += width < 45 ? 4 : 11)
			for (int height = 1; height <= 62; height += height < 24 ? 3 : 9) {
				stage_resize(&stage, width, height);
				stage_press(&stage, KEY_ARROW_DOWN);
				stage_type(&stage, "\r+--\033");
				stage_click(&stage, width / 2, height / 4);
				if (strcmp(screen_view_name(stage.screen), "Warnings") != 0)
					stage_type(&stage, "8");
			}
		make_hostile(&stage);
	}
	close_emitted(&stage);
}
END_TEST

/* -- several runs under one tree -- */

static void open_second_run(struct stage *stage)
{
	int64_t now_ns = stage->model->now_ns + NS_PER_S / 10;
	struct record *record;
	sample_set_clear(&stage->set);
	stage->set.time_ns = now_ns;
	stage->set.source = "region";
	record = sample_set_add(&stage->set, RECORD_RUN_OPENED, 1, now_ns);
	record->opened.pid = record->opened.inner_pid = 48300;
	record->opened.name = sample_set_text(&stage->set, "second", 6);
	record->opened.uuid = sample_set_text(&stage->set, "00112233445566778899aabbccddeeff", 32);
	record->opened.abi = sample_set_text(&stage->set, "1.0", 3);
	record->opened.start_ns = now_ns;
	record->opened.is_live = true;
	model_apply(stage->model, &stage->set);
	explain_flagged(stage->model);
	stage_draw(stage);
}

START_TEST(brackets_choose_the_run_and_the_header_says_which)
{
	struct stage stage;
	play(&stage, 120, 40);
	stage_type(&stage, "]");
	ck_assert(stage_shows(&stage, "pmtop shows only one run here"));
	open_second_run(&stage);
	ck_assert_int_eq(screen_run(stage.screen), 0);
	ck_assert(stage_shows(&stage, "run 1 of 2 [ ]"));
	stage_type(&stage, "]");
	ck_assert_int_eq(screen_run(stage.screen), 1);
	ck_assert(stage_shows(&stage, "second"));
	ck_assert(stage_shows(&stage, "run 2 of 2 [ ]"));
	/* The first is a loop in its process now. */
	stage.model->runs[0].is_used = false;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "second"));
	ck_assert(!stage_shows(&stage, "run 2 of 2"));
	stage.model->runs[0].is_used = true;
	stage_draw(&stage);
	ck_assert(stage_shows(&stage, "no batch has ended yet"));
	stage_type(&stage, "2nN\rf3>4?1]");
	ck_assert_int_eq(screen_run(stage.screen), 0);
	stage_type(&stage, "[");
	ck_assert_int_eq(screen_run(stage.screen), 1);
	screen_choose_run(stage.screen, 0);
	ck_assert_int_eq(screen_run(stage.screen), 0);
	stage_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("warnings");
	TCase *tests = tcase_create("warnings");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, a_warning_is_shown_with_its_meaning_and_what_to_try);
	tcase_add_test(tests, warnings_at_80_columns);
	tcase_add_test(tests, warnings_in_ascii);
	tcase_add_test(tests, help_lists_every_key);
	tcase_add_test(tests, help_scrolls_where_it_does_not_fit);
	tcase_add_test(tests, a_view_without_a_source_says_what_to_do);
	tcase_add_test(tests, without_a_warning_it_lists_the_checks);
	tcase_add_test(tests, a_missing_figure_says_why_and_what_to_do);
	tcase_add_test(tests, csv_has_every_warning_with_its_advice);
	tcase_add_test(tests, the_evidence_is_beside_the_list_on_wide_screens);
	tcase_add_test(tests, the_evidence_is_below_the_text);
	tcase_add_test(tests, enter_shows_the_evidence_large);
	tcase_add_test(tests, the_evidence_in_ascii);
	tcase_add_test(tests, cleared_warnings_keep_their_times);
	tcase_add_test(tests, esc_leads_back_from_the_evidence);
	tcase_add_test(tests, the_selection_stays_with_its_warning);
	tcase_add_test(tests, the_evidence_can_be_zoomed_to_the_whole_history);
	tcase_add_test(tests, n_opens_the_batch_that_is_meant);
	tcase_add_test(tests, warnings_can_be_searched);
	tcase_add_test(tests, a_click_selects_a_warning);
	tcase_add_test(tests, each_kind_of_warning_has_its_plot);
	tcase_add_test(tests, no_size_and_no_text_does_harm);
	tcase_add_test(tests, brackets_choose_the_run_and_the_header_says_which);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
