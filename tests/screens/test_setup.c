/* The set-up screen, over a synthetic run: what it changes at once, and what it saves. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/stage.h"
#include "tests/support/suite.h"

static struct stage stage;
static struct setup setup;
static struct rule_book *rules;
static char path[64];

static void open_stage(int width, int height)
{
	struct story_options options;
	story_options_default(&options);
	strcpy(path, "/tmp/pmtop-setup-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(path));
	strcat(path, "/pmtop.yaml");
	stage_open(&stage, &options, width, height);
	stage.settings.refresh_s = 0.5;
	rules = rule_book_new();
	ck_assert_ptr_nonnull(rules);
	setup_init(&setup, &stage.settings, rules, path);
	screen_set_setup(stage.screen, &setup);
	stage_play(&stage, 40);
}

static void close_stage(void)
{
	stage_close(&stage);
	rule_book_free(rules);
}

static void expect_saved(const char *wanted)
{
	char text[4096] = "";
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	const char *settings = strchr(text, '\n');
	ck_assert_ptr_nonnull(settings);
	ck_assert_str_eq(settings + 1, wanted);
}

START_TEST(every_page_shows_its_rows_above_the_view)
{
	open_stage(120, 40);
	setup.path = "/home/you/.config/pmtop/pmtop.yaml";
	stage_press(&stage, KEY_FUNCTION_2);
	stage_expect(&stage, "setup-display-120x40");
	stage_press(&stage, KEY_ARROW_DOWN);
	stage_press(&stage, KEY_ARROW_RIGHT);
	stage_expect(&stage, "setup-panels-120x40");
	stage_press(&stage, KEY_ARROW_LEFT);
	stage_press(&stage, KEY_ARROW_DOWN);
	stage_press(&stage, KEY_ARROW_RIGHT);
	stage_resize(&stage, 80, 24);
	stage_draw(&stage);
	stage_expect(&stage, "setup-warnings-80x24");
	close_stage();
}
END_TEST

START_TEST(a_change_holds_at_once_and_is_saved_when_the_screen_is_left)
{
	open_stage(120, 40);
	stage_type(&stage, "S");
	stage_press(&stage, KEY_ARROW_RIGHT);
	ck_assert(!setup.has_changed);
	stage_type(&stage, " j");
	ck_assert(setup.has_changed);
	ck_assert_double_eq(stage.settings.refresh_s, 1);
	stage_type(&stage, "  -");
	ck_assert_str_eq(stage.settings.theme, "mono");
	stage_type(&stage, "jj   \033");
	ck_assert_int_eq(stage.settings.marks, MARKS_ASCII);
	ck_assert(stage_shows(&stage, "saved: /tmp/pmtop-setup-"));
	expect_saved("screen:\n  refresh_seconds: 1\n  theme: mono\n  marks: ascii\n");
	/* nothing more to save */
	stage_type(&stage, "S\033");
	ck_assert(stage_shows(&stage, "set-up: nothing was changed"));
	close_stage();
}
END_TEST

/* The row of a text on the screen; −1: it is not there. */
static int row_of(const char *text)
{
	int x, y;
	return stage_find(&stage, text, &x, &y) ? y : -1;
}

START_TEST(panels_are_hidden_and_moved_while_they_are_chosen)
{
	static const int sizes[][2] = { { 120, 60 }, { 180, 60 } };
	for (int i = 0; i < 2; i++) {
		open_stage(sizes[i][0], sizes[i][1]);
		ck_assert_int_lt(row_of("Step time ─"), row_of("Warnings ─"));
		stage_type(&stage, "Sj\r");
		ck_assert_int_gt(row_of("Step time ─"), 0);
		stage_type(&stage, " ");
		ck_assert_int_eq(row_of("Step time ─"), -1);
		stage_type(&stage, " ");
		ck_assert_int_gt(row_of("Step time ─"), 0);
		stage_press(&stage, KEY_PAGE_DOWN);
		stage_type(&stage, "kkk----\033"); /* the warnings, to the top */
		ck_assert_int_gt(row_of("Step time ─"), row_of("Warnings ─"));
		expect_saved("screen:\n  panels: [warnings, steps, where, memory, epochs, gpu, processes, machine]\n");
		close_stage();
	}
}
END_TEST

START_TEST(the_last_panel_stays)
{
	open_stage(120, 40);
	stage_type(&stage, "Sj\r j j j j j j j j j ");
	ck_assert_uint_eq(stage.settings.panels.count, 1);
	close_stage();
}
END_TEST

START_TEST(levels_of_rules_are_saved_by_their_names)
{
	open_stage(120, 40);
	stage_type(&stage, "Sjj\r");
	const char *rule = setup.list[0].name;
	char wanted[128];
	ck_assert_int_eq(setup.list[0].level, LEVEL_CRITICAL);
	stage_type(&stage, " \033");
	snprintf(wanted, sizeof wanted, "levels:\n  %s: off\n", rule);
	expect_saved(wanted);
	rule_book_set_levels(rules, &stage.settings.levels);
	stage_type(&stage, "S");
	for (size_t i = 0; i < setup.rule_count; i++)
		if (strcmp(setup.list[i].name, rule) == 0)
			ck_assert_int_eq(setup.list[i].level, LEVEL_OFF);
	/* back to its own level */
	rule_book_set_levels(rules, &(struct setting_levels){ 0 });
	stage_type(&stage, "\033S");
	ck_assert_int_eq(setup.list[0].level, LEVEL_CRITICAL);
	close_stage();
}
END_TEST

/* A warning of the run that is raised now. */
static struct alert *raised(void)
{
	for (size_t i = 0; i < stage.alerts.count; i++)
		if (stage.alerts.list[i].is_raised && rule_find(rules, stage.alerts.list[i].rule))
			return &stage.alerts.list[i];
	ck_abort_msg("nothing is raised");
}

START_TEST(a_level_holds_for_warnings_that_are_raised)
{
	open_stage(120, 40);
	stage.settings.rules = rules;
	char rule[SETTING_NAME_SIZE];
	snprintf(rule, sizeof rule, "%s", raised()->rule);
	struct setting_levels levels = { .count = 1, .list = { { .level = LEVEL_CRITICAL } } };
	strcpy(levels.list[0].rule, rule);
	rule_book_set_levels(rules, &levels);
	alerts_follow_levels(&stage.alerts, stage.model->now_ns, &stage.settings);
	ck_assert_str_eq(stage.alerts.list[0].rule, rule);
	ck_assert_int_eq(stage.alerts.list[0].severity, SEVERITY_CRITICAL);
	levels.list[0].level = LEVEL_OFF;
	rule_book_set_levels(rules, &levels);
	alerts_follow_levels(&stage.alerts, stage.model->now_ns, &stage.settings);
	for (size_t i = 0; i < stage.alerts.count; i++)
		ck_assert(!stage.alerts.list[i].is_raised || strcmp(stage.alerts.list[i].rule, rule) != 0);
	close_stage();
}
END_TEST

START_TEST(a_level_of_no_rule_is_a_fault)
{
	const struct reason *faults;
	rules = rule_book_new();
	struct setting_levels levels = { .count = 1, .list = { { "no_such_rule", LEVEL_OFF } } };
	rule_book_set_levels(rules, &levels);
	ck_assert_uint_eq(rule_book_faults(rules, &faults), 1);
	ck_assert_str_eq(faults[0].text, "pmtop.yaml: section \"levels\": no rule \"no_such_rule\"");
	rule_book_free(rules);
}
END_TEST

START_TEST(what_cannot_be_saved_is_said_in_one_line)
{
	open_stage(120, 40);
	setup.path = "/proc/pmtop/pmtop.yaml";
	stage_type(&stage, "S\r \033");
	ck_assert(stage_shows(&stage, "not saved, in use until pmtop ends: /proc/pmtop/pmtop.yaml: No such file"));
	setup.path = NULL;
	stage_type(&stage, "S\r \033");
	ck_assert(stage_shows(&stage, "not saved, in use until pmtop ends: no home folder"));
	close_stage();
}
END_TEST

START_TEST(q_and_small_screens_do_no_harm)
{
	open_stage(120, 40);
	stage_type(&stage, "Sj\r");
	for (int height = 1; height < 30; height += 3) {
		stage_resize(&stage, 20 + 4 * height, height);
		stage_draw(&stage);
		stage_type(&stage, "j k");
	}
	ck_assert_int_eq(stage_type(&stage, "q"), WISH_QUIT);
	close_stage();
}
END_TEST

START_TEST(clicks_choose_pages_and_rows)
{
	int x, y;
	open_stage(120, 40);
	stage_type(&stage, "S");
	ck_assert(stage_find(&stage, "Panels", &x, &y));
	stage_click(&stage, x, y);
	ck_assert(stage_find(&stage, "with its trend", &x, &y));
	stage_click(&stage, x, y);
	ck_assert_uint_eq(stage.settings.panels.count, SETTING_PANEL_COUNT);
	stage_click(&stage, x, y);
	ck_assert_uint_eq(stage.settings.panels.count, SETTING_PANEL_COUNT - 1);
	close_stage();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("setup");
	TCase *test = tcase_create("setup");
	tcase_add_test(test, every_page_shows_its_rows_above_the_view);
	tcase_add_test(test, a_change_holds_at_once_and_is_saved_when_the_screen_is_left);
	tcase_add_test(test, panels_are_hidden_and_moved_while_they_are_chosen);
	tcase_add_test(test, the_last_panel_stays);
	tcase_add_test(test, levels_of_rules_are_saved_by_their_names);
	tcase_add_test(test, a_level_holds_for_warnings_that_are_raised);
	tcase_add_test(test, a_level_of_no_rule_is_a_fault);
	tcase_add_test(test, what_cannot_be_saved_is_said_in_one_line);
	tcase_add_test(test, q_and_small_screens_do_no_harm);
	tcase_add_test(test, clicks_choose_pages_and_rows);
	suite_add_tcase(suite, test);
	return suite_run(suite);
}
