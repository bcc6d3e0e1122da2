#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/settings/config_reader.h"
#include "src/settings/setting_rows.h"
#include "src/settings/settings.h"
#include "src/settings/settings_yaml.h"
#include "tests/support/suite.h"

#define EXAMPLE "config/pmtop.yaml"
#define MANUAL "man/pmtop.yaml.5"

static struct reason reason;

static enum status parse(const char *text, struct settings *settings)
{
	settings_default(settings);
	reason = (struct reason){ 0 };
	return settings_parse(settings, "pmtop.yaml", text, strlen(text), &reason);
}

static void ck_refused(const char *text, const char *what, const char *remedy)
{
	struct settings before, settings;
	settings_default(&before);
	ck_assert_int_eq(parse(text, &settings), STATUS_INVALID);
	ck_assert_str_eq(reason.text, what);
	ck_assert_str_eq(reason.remedy, remedy);
	ck_assert_mem_eq(&settings, &before, sizeof settings);
}

/* Every setting is away from its default, so that a file which sets it back must name it. */
static void settings_other(struct settings *settings)
{
	memset(settings, 0, sizeof *settings);
	settings->color = COLOR_NEVER;
#define SET_OTHER(section, key, member, kind, value, min, max) settings->member = (value) == (max) ? (min) : (max);
	SETTINGS(SET_OTHER)
#undef SET_OTHER
}

static void ck_all_default(const struct settings *settings)
{
	struct settings wanted;
	settings_default(&wanted);
	ck_assert_int_eq(settings->color, wanted.color);
#define CK_EQUAL(section, key, member, kind, value, min, max) \
	ck_assert_msg(!(settings->member < wanted.member) && !(settings->member > wanted.member), \
		"%s: %s is not its default", #section, #key);
	SETTINGS(CK_EQUAL)
#undef CK_EQUAL
}

static char *read_whole(const char *path)
{
	FILE *file = fopen(path, "r");
	ck_assert_msg(file != NULL, "%s is missing (run from the top folder)", path);
	char *text = calloc(1, 1 << 16);
	size_t length = fread(text, 1, (1 << 16) - 1, file);
	ck_assert_uint_gt(length, 0);
	fclose(file);
	return text;
}

START_TEST(example_file_sets_every_setting_to_its_default)
{
	struct settings settings;
	settings_other(&settings);
	ck_assert_int_eq(settings_load(&settings, EXAMPLE, &reason), STATUS_OK);
	ck_all_default(&settings);
}
END_TEST

START_TEST(example_file_comments_every_setting_of_the_screen_and_the_hooks)
{
	char *text = read_whole(EXAMPLE), *rest = text, *line;
	while ((line = strsep(&rest, "\n"))) {
		for (int i = 0; i < SETTING_ROWS; i++) {
			const char *section = setting_rows[i].section, *key = strstr(line, setting_rows[i].key);
			if (key && key[strlen(setting_rows[i].key)] == ':' &&
				(!strcmp(section, "screen") || !strcmp(section, "hooks")))
				ck_assert_msg(strchr(line, '#') != NULL, "no comment: %s", line);
		}
	}
	free(text);
}
END_TEST

START_TEST(manual_names_every_section_key_and_default)
{
	char *manual = read_whole(MANUAL), wanted[96];
	for (int i = 0; i < SETTING_ROWS; i++) {
		snprintf(wanted, sizeof wanted, ".It Ic %s ", setting_rows[i].key);
		ck_assert_msg(strstr(manual, wanted) != NULL, "%s is not in %s", setting_rows[i].key, MANUAL);
		snprintf(wanted, sizeof wanted, ".Ss Section %s", setting_rows[i].section);
		ck_assert_msg(strstr(manual, wanted) != NULL, "%s is not in %s", setting_rows[i].section, MANUAL);
	}
#define CK_DEFAULT(section, key, member, kind, value, min, max) \
	if (SETTING_##kind != SETTING_FLAG) { \
		snprintf(wanted, sizeof wanted, ".It Ic %s Pq default %.10g", #key, (double)(value)); \
		ck_assert_msg(strstr(manual, wanted) != NULL, "%s: want the line %s", MANUAL, wanted); \
	}
	SETTINGS(CK_DEFAULT)
#undef CK_DEFAULT
	free(manual);
}
END_TEST

START_TEST(nothing_to_set_leaves_the_settings_as_they_are)
{
	static const char *const nothing[] = { "", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "~\n", "flags:\n",
		"flags: {}\nscreen: ~\n", "{}\n" };
	for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
		struct settings settings;
		ck_assert_msg(parse(nothing[i], &settings) == STATUS_OK, "\"%s\": %s", nothing[i], reason.text);
		ck_all_default(&settings);
	}
}
END_TEST

START_TEST(values_of_every_kind_are_taken)
{
	struct settings settings;
	ck_assert_int_eq(parse("screen: {color: never, ascii: true, mouse: false, refresh_seconds: 1e-1}\n"
						   "lines:\n  batch_lines: 12\nflags:\n  mad: 3.25\n  ratio: .2e1\n",
						 &settings),
		STATUS_OK);
	ck_assert_int_eq(settings.color, COLOR_NEVER);
	ck_assert(settings.ascii && !settings.mouse);
	ck_assert_double_eq(settings.refresh_s, 0.1);
	ck_assert_int_eq(settings.batch_lines, 12);
	ck_assert_double_eq(settings.flag_mad, 3.25);
	ck_assert_double_eq(settings.flag_ratio, 2.0);
	ck_assert_int_eq(settings.flag_after, 20);
}
END_TEST

START_TEST(quotes_and_a_byte_order_mark_do_no_harm)
{
	struct settings settings;
	ck_assert_int_eq(parse("\xEF\xBB\xBF\"screen\":\r\n  color: 'always'\r\n", &settings), STATUS_OK);
	ck_assert_int_eq(settings.color, COLOR_ALWAYS);
}
END_TEST

static const char *word_of(const struct setting_command *command, unsigned at)
{
	const char *word = command->text;
	while (at-- > 0)
		word += strlen(word) + 1;
	return word;
}

START_TEST(commands_are_lists_of_words)
{
	struct settings settings;
	ck_assert_int_eq(parse("hooks:\n  on_warning: [notify-send, --, \"a b; rm\\n{message}\", '']\n  on_critical:\n    "
						   "- /bin/true\n    - 7\n  on_info: ~\n",
						 &settings),
		STATUS_OK);
	ck_assert_uint_eq(settings.on_warning.count, 4);
	ck_assert_str_eq(word_of(&settings.on_warning, 0), "notify-send");
	ck_assert_str_eq(word_of(&settings.on_warning, 2), "a b; rm\n{message}");
	ck_assert_str_eq(word_of(&settings.on_warning, 3), "");
	ck_assert_uint_eq(settings.on_critical.count, 2);
	ck_assert_str_eq(word_of(&settings.on_critical, 1), "7");
	ck_assert_uint_eq(settings.on_info.count, 0);
}
END_TEST

START_TEST(commands_that_are_no_lists_of_words_are_refused)
{
	const char *remedy = "write a program and its arguments, such as [notify-send, --, \"{message}\"]";
	ck_refused("hooks:\n  on_info: notify-send now\n",
		"pmtop.yaml:2: \"on_info\" in section \"hooks\" is not a list of words: \"notify-send now\"", remedy);
	ck_refused(
		"hooks:\n  on_info: {a: b}\n", "pmtop.yaml:2: \"on_info\" in section \"hooks\" is not a list of words", remedy);
	ck_refused("hooks:\n  on_info: [a, [b]]\n",
		"pmtop.yaml:2: \"on_info\" in section \"hooks\" has an entry that is not text", remedy);
	ck_refused("hooks:\n  on_info: [a, \"b\\0c\"]\n",
		"pmtop.yaml:2: \"on_info\" in section \"hooks\" has an entry that is not text: \"b^@c\"", remedy);
	ck_refused("hooks:\n  on_info: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q]\n",
		"pmtop.yaml:2: \"on_info\" in section \"hooks\" is too long: \"q\"", remedy);
	ck_refused("hooks:\n  on_info: [\"{message}\"]\n",
		"pmtop.yaml:2: \"on_info\" in section \"hooks\" does not begin with a program", remedy);
	ck_refused("hooks:\n  on_info: ['']\n",
		"pmtop.yaml:2: \"on_info\" in section \"hooks\" does not begin with a program", remedy);
	ck_refused("hooks:\n  at_most: 0\n", "pmtop.yaml:2: \"at_most\" in section \"hooks\" is out of range: \"0\"",
		"write a whole number from 1 to 64");
}
END_TEST

START_TEST(screen_has_theme_marks_and_panels)
{
	struct settings settings;
	ck_assert_int_eq(
		parse("screen: {theme: \"high-contrast\", marks: blocks, panels: [gpu, steps]}\n", &settings), STATUS_OK);
	ck_assert_str_eq(settings.theme, "high-contrast");
	ck_assert_int_eq(settings.marks, MARKS_BLOCKS);
	ck_assert_uint_eq(settings.panels.count, 2);
	ck_assert_int_eq(settings.panels.list[0], SETTING_PANEL_gpu);
	ck_assert_int_eq(settings.panels.list[1], SETTING_PANEL_steps);
	const char *panels = "write some of [steps, where, memory, epochs, warnings, gpu, processes, machine], each once";
	ck_refused("screen:\n  panels: [gpu, gpu]\n",
		"pmtop.yaml:2: \"panels\" in section \"screen\" names a panel that does not exist, or one twice", panels);
	ck_refused("screen:\n  panels: gpu\n",
		"pmtop.yaml:2: \"panels\" in section \"screen\" is not a list of words: \"gpu\"", panels);
	ck_refused("screen:\n  marks: dots\n",
		"pmtop.yaml:2: \"marks\" in section \"screen\" is of the wrong type: \"dots\"",
		"write auto, braille, blocks or ascii");
	ck_refused("screen:\n  theme: a_name_that_is_far_too_long_to_be_that_of_a_theme\n",
		"pmtop.yaml:2: \"theme\" in section \"screen\" is out of range: \"a_name_that_is_far_too_long_to_be_that_\"",
		"write a name");
}
END_TEST

START_TEST(levels_are_severities_by_rule)
{
	struct settings settings;
	ck_assert_int_eq(parse("levels:\n  gc_share: off\n  stall: info\n", &settings), STATUS_OK);
	ck_assert_uint_eq(settings.levels.count, 2);
	ck_assert_str_eq(settings.levels.list[1].rule, "stall");
	ck_assert_int_eq(settings.levels.list[1].level, LEVEL_INFO);
	ck_assert_int_eq(parse("levels:\n", &settings), STATUS_OK);
	const char *remedy = "write off, info, warning or critical";
	ck_refused("levels:\n  gc_share: loud\n", "pmtop.yaml:2: \"gc_share\" in section \"levels\" is no level: \"loud\"",
		remedy);
	ck_refused(
		"levels:\n  gc_share: [off]\n", "pmtop.yaml:2: \"gc_share\" in section \"levels\" is no level: \"\"", remedy);
	ck_refused(
		"levels:\n  a: off\n  a: off\n", "pmtop.yaml:3: key \"a\" is twice in \"levels\"", "remove one of the two");
	ck_refused("levels: off\n", "pmtop.yaml:1: section \"levels\" holds no \"key: value\" lines",
		"write its keys below it, indented");
}
END_TEST

START_TEST(levels_have_moved_into_rule_files)
{
	ck_refused("warnings:\n  data_ratio: 0.4\n", "pmtop.yaml:1: unknown section \"warnings\"",
		"set levels in a rule file, such as ~/.config/pmtop/rules/mine.yaml: \"data_loading: {above: 40 %}\"; see "
		"pmtop.yaml(5)");
}
END_TEST

START_TEST(limits_belong_to_the_range)
{
	char text[128];
	for (int i = 0; i < SETTING_ROWS; i++) {
		const struct setting_row *row = &setting_rows[i];
		if (row->kind != SETTING_NUMBER && row->kind != SETTING_INTEGER)
			continue;
		const struct {
			double value;
			enum status status;
		} cases[] = {
			{ row->min, STATUS_OK },
			{ row->max, STATUS_OK },
			{ row->min - 1, STATUS_INVALID },
			{ row->max + 1, STATUS_INVALID },
		};
		for (size_t k = 0; k < 4; k++) {
			struct settings settings;
			snprintf(text, sizeof text, "%s:\n  %s: %.12g\n", row->section, row->key, cases[k].value);
			ck_assert_msg(parse(text, &settings) == cases[k].status, "%s %s", text, reason.text);
		}
	}
}
END_TEST

START_TEST(unknown_words_are_refused_with_the_likeliest_and_the_list)
{
	ck_refused("screen:\n  mouse: true\n\nflags:\n  flag: 3\n",
		"pmtop.yaml:5: unknown key \"flag\" in section \"flags\"",
		"keys are: mad, ratio, after_batches, window_batches, warmup_batches");
	ck_refused("flags:\n  window_batch: 3\n", "pmtop.yaml:2: unknown key \"window_batch\" in section \"flags\"",
		"did you mean \"window_batches\"? keys are: mad, ratio, after_batches, window_batches, warmup_batches");
	ck_refused("flag:\n  mad: 3\n", "pmtop.yaml:1: unknown section \"flag\"",
		"did you mean \"flags\"? sections are: screen, lines, flags, gpu, counters, stacks, energy, profiling, hooks, "
		"levels");
	ck_refused("mad: 3\n", "pmtop.yaml:1: unknown section \"mad\"",
		"sections are: screen, lines, flags, gpu, counters, stacks, energy, profiling, hooks, levels");
}
END_TEST

START_TEST(the_longest_advice_fits)
{
	for (int i = 0; i < SETTING_ROWS; i++) {
		struct buffer advice = BUFFER_INIT;
		setting_advise(setting_rows[i].section, setting_rows[i].key, &advice);
		ck_assert_uint_lt(advice.length, sizeof reason.remedy);
		buffer_release(&advice);
	}
}
END_TEST

START_TEST(a_second_time_is_refused_with_both_lines)
{
	ck_refused("flags:\n  mad: 3\n  ratio: 2\n  mad: 4\n", "pmtop.yaml:4: key \"mad\" is already in line 2",
		"remove one of the two");
	ck_refused("flags:\n  mad: 3\nlines:\nflags:\n", "pmtop.yaml:4: section \"flags\" is already in line 1",
		"remove one of the two");
}
END_TEST

START_TEST(wrong_types_are_refused_at_their_line)
{
	const char *number = "write a number from 1 to 1000";
	ck_refused(
		"flags:\n  mad: many\n", "pmtop.yaml:2: \"mad\" in section \"flags\" is of the wrong type: \"many\"", number);
	ck_refused(
		"flags:\n  mad: 2,5\n", "pmtop.yaml:2: \"mad\" in section \"flags\" is of the wrong type: \"2,5\"", number);
	ck_refused(
		"flags:\n  mad: 0x10\n", "pmtop.yaml:2: \"mad\" in section \"flags\" is of the wrong type: \"0x10\"", number);
	ck_refused(
		"flags:\n  mad: .nan\n", "pmtop.yaml:2: \"mad\" in section \"flags\" is of the wrong type: \".nan\"", number);
	ck_refused(
		"flags:\n  mad: inf\n", "pmtop.yaml:2: \"mad\" in section \"flags\" is of the wrong type: \"inf\"", number);
	ck_refused(
		"flags:\n  mad: \"5\"\n", "pmtop.yaml:2: \"mad\" in section \"flags\" is a string in quotes: \"5\"", number);
	ck_refused("flags:\n  mad: [5]\n", "pmtop.yaml:2: \"mad\" in section \"flags\" is not a single value", number);
	ck_refused(
		"flags:\n  mad:\n    k: 5\n", "pmtop.yaml:3: \"mad\" in section \"flags\" is not a single value", number);
	ck_refused("flags:\n  mad:\n", "pmtop.yaml:2: \"mad\" in section \"flags\" has no value", number);
	ck_refused("lines:\n  batch_lines: 2.5\n",
		"pmtop.yaml:2: \"batch_lines\" in section \"lines\" is of the wrong type: \"2.5\"",
		"write a whole number from 0 to 1000000");
	ck_refused("screen:\n  ascii: 1\n", "pmtop.yaml:2: \"ascii\" in section \"screen\" is of the wrong type: \"1\"",
		"write true or false");
	ck_refused("screen:\n  color: red\n", "pmtop.yaml:2: \"color\" in section \"screen\" is of the wrong type: \"red\"",
		"write auto, always or never");
}
END_TEST

START_TEST(values_out_of_range_are_refused)
{
	ck_refused("flags:\n  mad: 0.5\n", "pmtop.yaml:2: \"mad\" in section \"flags\" is out of range: \"0.5\"",
		"write a number from 1 to 1000");
	ck_refused("flags:\n  mad: 1e999\n", "pmtop.yaml:2: \"mad\" in section \"flags\" is out of range: \"1e999\"",
		"write a number from 1 to 1000");
	ck_refused("lines:\n  batch_lines: -1\n",
		"pmtop.yaml:2: \"batch_lines\" in section \"lines\" is out of range: \"-1\"",
		"write a whole number from 0 to 1000000");
	ck_refused("lines:\n  batch_lines: 99999999999999999999\n",
		"pmtop.yaml:2: \"batch_lines\" in section \"lines\" is out of range: \"99999999999999999999\"",
		"write a whole number from 0 to 1000000");
}
END_TEST

START_TEST(settings_that_are_not_sections_of_keys_are_refused)
{
	const char *begin = "begin with a section, such as \"flags:\"; see pmtop.yaml(5)";
	ck_refused("- mad\n", "pmtop.yaml:1: no section here", begin);
	ck_refused("\nmad\n", "pmtop.yaml:2: no section here", begin);
	ck_refused("flags: 5\n", "pmtop.yaml:1: section \"flags\" holds no \"key: value\" lines",
		"write its keys below it, indented");
	ck_refused("flags:\n  - mad: 5\n", "pmtop.yaml:2: section \"flags\" holds no \"key: value\" lines",
		"write its keys below it, indented");
	ck_refused(
		"? [a]\n: 5\n", "pmtop.yaml:1: a section's name is not a word", "write \"section:\" and its keys below it");
	ck_refused("flags:\n  ? {a: 1}\n  : 5\n", "pmtop.yaml:2: a key in section \"flags\" is not a word",
		"write one \"key: value\" a line");
	ck_refused("flags:\n  mad: 3\n---\nflags:\n  mad: 4\n", "pmtop.yaml:3: a second document begins",
		"remove what follows \"---\"");
}
END_TEST

START_TEST(anchors_aliases_and_tags_are_refused)
{
	const char *what = "pmtop.yaml:2: anchors and aliases (&, *) are not supported";
	ck_refused("flags:\n  mad: &a 3\n", what, "write the value out");
	ck_refused("flags:\n  mad: *a\n", what, "write the value out");
	ck_refused("flags:\n  &k mad: 3\n", what, "write the value out");
	ck_refused(
		"flags: &f\n  mad: 3\n", "pmtop.yaml:1: anchors and aliases (&, *) are not supported", "write the value out");
	ck_refused("flags:\n  <<: *f\n", "pmtop.yaml:2: unknown key \"<<\" in section \"flags\"",
		"keys are: mad, ratio, after_batches, window_batches, warmup_batches");
	ck_refused("flags:\n  mad: !!int 3\n", "pmtop.yaml:2: tags (!) are not supported", "write the value alone");
}
END_TEST

START_TEST(invalid_yaml_is_refused_at_its_line)
{
	const char *remedy = "indent with spaces, one \"key: value\" a line; see pmtop.yaml(5)";
	ck_refused("flags:\n\tmad: 3\n", "pmtop.yaml:2: not YAML: found character that cannot start any token", remedy);
	ck_refused("flags:\n  mad: 3\n  ratio\n", "pmtop.yaml:4: not YAML: could not find expected ':'", remedy);
	ck_refused("flags: {mad: 3\n", "pmtop.yaml:2: not YAML: did not find expected ',' or '}'", remedy);
}
END_TEST

START_TEST(invalid_utf8_is_refused_at_its_line)
{
	ck_refused("flags:\n  mad: 3 # gr\xF6\xDF"
			   "er\n",
		"pmtop.yaml:2: not UTF-8 text: invalid trailing UTF-8 octet", "save the file as UTF-8 text");
	ck_refused("\xFF\xFE"
			   "f\x01",
		"pmtop.yaml:1: not UTF-8 text: invalid leading UTF-8 octet", "save the file as UTF-8 text");
	ck_refused("flags:\n\n  mad: 3\x1b[31m\n", "pmtop.yaml:3: not UTF-8 text: control characters are not allowed",
		"save the file as UTF-8 text");
}
END_TEST

START_TEST(words_of_the_file_are_short_and_harmless_in_messages)
{
	struct settings settings;
	ck_assert_int_eq(parse("\"\\e]52;c;x\\a\xc2\x9b\xe2\x80\xae\": 3\n", &settings), STATUS_INVALID);
	ck_assert(!strpbrk(reason.text, "\x1b\a"));
	ck_assert_ptr_null(strstr(reason.text, "\xe2\x80\xae"));
	char text[1000];
	memset(text, 'k', sizeof text);
	memcpy(text + sizeof text - 5, ": 3\n", 5);
	ck_assert_int_eq(parse(text, &settings), STATUS_INVALID);
	ck_assert_uint_lt(strlen(reason.text), 80);
	ck_assert_ptr_nonnull(strstr(reason.remedy, "sections are: "));
}
END_TEST

START_TEST(long_paths_are_shown_by_their_end)
{
	char path[400] = "/home/", shown[CONFIG_NAME_SIZE];
	for (int i = 0; i < 12; i++)
		strcat(path, "a-rather-long-folder/");
	strcat(path, "pmtop/pmtop.yaml");
	config_show_path(shown, path);
	ck_assert_str_eq(shown, "…/a-rather-long-folder/a-rather-long-folder/a-rather-long-folder/pmtop/pmtop.yaml");
	config_show_path(shown, "/etc/\x1bx");
	ck_assert_ptr_null(strchr(shown, '\x1b'));
}
END_TEST

START_TEST(path_follows_the_xdg_rules)
{
	char path[256];
	setenv("HOME", "/home/ada", 1);
	setenv("XDG_CONFIG_HOME", "/cfg", 1);
	ck_assert_int_eq(settings_path(path, sizeof path), STATUS_OK);
	ck_assert_str_eq(path, "/cfg/pmtop/pmtop.yaml");
	setenv("XDG_CONFIG_HOME", "cfg", 1);
	ck_assert_int_eq(settings_path(path, sizeof path), STATUS_OK);
	ck_assert_str_eq(path, "/home/ada/.config/pmtop/pmtop.yaml");
	setenv("XDG_CONFIG_HOME", "", 1);
	ck_assert_int_eq(settings_path(path, sizeof path), STATUS_OK);
	ck_assert_str_eq(path, "/home/ada/.config/pmtop/pmtop.yaml");
	ck_assert_int_eq(settings_path(path, 34), STATUS_INVALID);
	ck_assert_int_eq(settings_path(path, 35), STATUS_OK);
	unsetenv("HOME");
	unsetenv("XDG_CONFIG_HOME");
	ck_assert_int_eq(settings_path(path, sizeof path), STATUS_NOT_FOUND);
}
END_TEST

START_TEST(file_that_is_not_there_is_not_found)
{
	struct settings settings;
	settings_other(&settings);
	ck_assert_int_eq(settings_load(&settings, "/nowhere/pmtop.yaml", &reason), STATUS_NOT_FOUND);
	ck_assert_int_eq(settings_load(&settings, EXAMPLE "/pmtop.yaml", &reason), STATUS_NOT_FOUND);
	ck_assert_int_eq(settings.color, COLOR_NEVER);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("settings");
	TCase *tests = tcase_create("settings");
	tcase_add_test(tests, example_file_sets_every_setting_to_its_default);
	tcase_add_test(tests, example_file_comments_every_setting_of_the_screen_and_the_hooks);
	tcase_add_test(tests, manual_names_every_section_key_and_default);
	tcase_add_test(tests, nothing_to_set_leaves_the_settings_as_they_are);
	tcase_add_test(tests, values_of_every_kind_are_taken);
	tcase_add_test(tests, quotes_and_a_byte_order_mark_do_no_harm);
	tcase_add_test(tests, commands_are_lists_of_words);
	tcase_add_test(tests, commands_that_are_no_lists_of_words_are_refused);
	tcase_add_test(tests, screen_has_theme_marks_and_panels);
	tcase_add_test(tests, levels_are_severities_by_rule);
	tcase_add_test(tests, levels_have_moved_into_rule_files);
	tcase_add_test(tests, limits_belong_to_the_range);
	tcase_add_test(tests, unknown_words_are_refused_with_the_likeliest_and_the_list);
	tcase_add_test(tests, the_longest_advice_fits);
	tcase_add_test(tests, a_second_time_is_refused_with_both_lines);
	tcase_add_test(tests, wrong_types_are_refused_at_their_line);
	tcase_add_test(tests, values_out_of_range_are_refused);
	tcase_add_test(tests, settings_that_are_not_sections_of_keys_are_refused);
	tcase_add_test(tests, anchors_aliases_and_tags_are_refused);
	tcase_add_test(tests, invalid_yaml_is_refused_at_its_line);
	tcase_add_test(tests, invalid_utf8_is_refused_at_its_line);
	tcase_add_test(tests, words_of_the_file_are_short_and_harmless_in_messages);
	tcase_add_test(tests, long_paths_are_shown_by_their_end);
	tcase_add_test(tests, path_follows_the_xdg_rules);
	tcase_add_test(tests, file_that_is_not_there_is_not_found);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
