/* What the set-up screen saves: one value changes, all else of the file stays. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/settings/setting_rows.h"
#include "src/settings/settings_save.h"
#include "src/settings/settings_yaml.h"
#include "tests/support/suite.h"

static struct reason reason;

/* The text after `changes` of "section key value" each. */
static char *edited(const char *text, size_t count, const char *const rows[][3])
{
	struct setting_change changes[4];
	struct buffer out = BUFFER_INIT;
	for (size_t i = 0; i < count; i++) {
		changes[i] = (struct setting_change){ .section = rows[i][0], .key = rows[i][1] };
		snprintf(changes[i].value, SETTING_VALUE_SIZE, "%s", rows[i][2]);
	}
	reason = (struct reason){ 0 };
	enum status status = settings_edit("pmtop.yaml", text, strlen(text), changes, count, &out, &reason);
	ck_assert_msg(status == STATUS_OK, "%s: %s", text, reason.text);
	return out.data; /* a NUL follows it */
}

static const struct {
	const char *before, *section, *key, *value, *after;
} edits[] = {
	{ "screen:\n  theme: light   # mine\n  ascii: false\n", "screen", "theme", "mono",
		"screen:\n  theme: mono   # mine\n  ascii: false\n" },
	{ "# größer\nscreen:\n  theme: \"light\" # …\n", "screen", "theme", "mono",
		"# größer\nscreen:\n  theme: mono # …\n" },
	{ "screen:\n  ascii: false # last\n\n# flags follow\nflags:\n  mad: 4\n", "screen", "theme", "mono",
		"screen:\n  ascii: false # last\n  theme: mono\n\n# flags follow\nflags:\n  mad: 4\n" },
	{ "flags:\n    mad: 4", "flags", "ratio", "2", "flags:\n    mad: 4\n    ratio: 2" },
	{ "flags:\n  mad: 4", "screen", "theme", "mono", "flags:\n  mad: 4\nscreen:\n  theme: mono\n" },
	{ "levels:   # none\nflags:\n  mad: 4\n", "levels", "gc_share", "off",
		"levels:   # none\n  gc_share: off\nflags:\n  mad: 4\n" },
	{ "levels: ~\n", "levels", "gc_share", "off", "levels: {gc_share: off}\n" },
	{ "screen: {ascii: false}\n", "screen", "theme", "mono", "screen: {theme: mono, ascii: false}\n" },
	{ "screen: {}\n", "screen", "theme", "mono", "screen: {theme: mono}\n" },
	{ "{}\n", "screen", "theme", "mono", "{screen: {theme: mono}}\n" },
	{ "{flags: {mad: 4}}\n", "screen", "theme", "mono", "{screen: {theme: mono}, flags: {mad: 4}}\n" },
	{ "", "screen", "theme", "mono", "screen:\n  theme: mono\n" },
	{ "# only this\n", "screen", "theme", "mono", "# only this\nscreen:\n  theme: mono\n" },
	{ "---\nflags:\n  mad: 4\n...\n", "screen", "theme", "mono",
		"---\nflags:\n  mad: 4\nscreen:\n  theme: mono\n\n...\n" },
	{ "screen:\n  panels: [gpu, steps] # two\n", "screen", "panels", "[steps]", "screen:\n  panels: [steps] # two\n" },
	{ "screen:\n  panels:\n  - gpu\n  - steps # two\n  mouse: true\n", "screen", "panels", "[steps]",
		"screen:\n  panels: [steps] # two\n  mouse: true\n" },
	{ "screen:\n  panels:\n  mouse: true\n", "screen", "panels", "[steps]",
		"screen:\n  panels: [steps]\n  mouse: true\n" },
	{ "hooks:\n  on_info: [logger, mad]\nflags:\n  mad: 4\n", "flags", "mad", "6",
		"hooks:\n  on_info: [logger, mad]\nflags:\n  mad: 6\n" },
	{ "screen:\r\n  theme: light\r\n", "screen", "theme", "mono", "screen:\r\n  theme: mono\r\n" },
	{ "\xef\xbb\xbfscreen:\n  theme: light\n", "screen", "theme", "mono", "\xef\xbb\xbfscreen:\n  theme: mono\n" },
};

START_TEST(one_value_changes_and_the_rest_stays)
{
	const char *const row[][3] = { { edits[_i].section, edits[_i].key, edits[_i].value } };
	char *text = edited(edits[_i].before, 1, row);
	ck_assert_str_eq(text, edits[_i].after);
	/* a second time there is nothing left to change */
	char *again = edited(text, 1, row);
	ck_assert_str_eq(again, text);
	free(text);
	free(again);
}
END_TEST

START_TEST(every_setting_of_the_example_can_be_set)
{
	static const char *const rows[][3] = { { "screen", "refresh_seconds", "0.1" },
		{ "screen", "panels", "[gpu, where]" }, { "levels", "gc_share", "off" }, { "levels", "stall", "info" } };
	char text[16384];
	FILE *file = fopen("config/pmtop.yaml", "r");
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	char *changed = edited(text, 4, rows);
	struct settings settings;
	settings_default(&settings);
	ck_assert_int_eq(settings_parse(&settings, "pmtop.yaml", changed, strlen(changed), &reason), STATUS_OK);
	ck_assert_double_eq(settings.refresh_s, 0.1);
	ck_assert_uint_eq(settings.panels.count, 2);
	ck_assert_int_eq(settings.panels.list[0], SETTING_PANEL_gpu);
	ck_assert_uint_eq(settings.levels.count, 2);
	ck_assert_int_eq(settings.levels.list[1].level, LEVEL_INFO);
	/* every comment is still there */
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strchr(line, '#'))
			ck_assert_msg(strstr(changed, strchr(line, '#')) != NULL, "lost: %s", line);
	free(changed);
}
END_TEST

/* Each setting in turn, in the example file, in a file without it, and in one of braces. */
START_TEST(each_setting_changes_alone)
{
	static char example[16384];
	const char *const texts[] = { example, "# nothing\n", "{screen: {mouse: false}, flags: {mad: 4}}\n" };
	FILE *file = fopen("config/pmtop.yaml", "r");
	example[fread(example, 1, sizeof example - 1, file)] = '\0';
	fclose(file);
	for (int i = 0; i < 3 * SETTING_ROWS; i++) {
		const struct setting_row *row = &setting_rows[i / 3];
		const char *text = texts[i % 3];
		if (row->kind != SETTING_NUMBER && row->kind != SETTING_INTEGER && row->kind != SETTING_FLAG)
			continue;
		char value[32];
		snprintf(value, sizeof value, "%.10g", row->max);
		if (row->kind == SETTING_FLAG)
			strcpy(value, "false");
		struct settings wanted, found;
		settings_default(&wanted);
		settings_default(&found);
		ck_assert_int_eq(settings_parse(&wanted, "pmtop.yaml", text, strlen(text), &reason), STATUS_OK);
		ck_assert_int_eq(setting_take(row, value, &wanted), SETTING_TAKEN);
		const char *const change[][3] = { { row->section, row->key, value } };
		char *changed = edited(text, 1, change);
		ck_assert_int_eq(settings_parse(&found, "pmtop.yaml", changed, strlen(changed), &reason), STATUS_OK);
		ck_assert_msg(memcmp(&found, &wanted, sizeof found) == 0, "%s:\n%s", row->key, changed);
		free(changed);
	}
}
END_TEST

START_TEST(what_cannot_be_changed_is_refused)
{
	static const struct {
		const char *text, *what;
	} texts[] = {
		{ "screen: {\n", "pmtop.yaml:2: not YAML: did not find expected node content" },
		{ "unknown:\n  key: 5\n", "pmtop.yaml:1: unknown section \"unknown\"" },
		{ "~\n", "pmtop.yaml: of a form that pmtop cannot change" },
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct setting_change change = { .section = "screen", .key = "theme", .value = "mono" };
		struct buffer out = BUFFER_INIT;
		ck_assert_int_eq(settings_edit("pmtop.yaml", texts[i].text, strlen(texts[i].text), &change, 1, &out, &reason),
			STATUS_INVALID);
		ck_assert_str_eq(reason.text, texts[i].what);
		ck_assert_uint_eq(out.length, 0);
	}
}
END_TEST

START_TEST(names_are_quoted_where_yaml_needs_it)
{
	char value[SETTING_VALUE_SIZE];
	settings_name_value("high-contrast", value);
	ck_assert_str_eq(value, "high-contrast");
	settings_name_value("5: \"x\"", value);
	ck_assert_str_eq(value, "\"5: \\\"x\\\"\"");
}
END_TEST

static void read_file(const char *path, char text[4096])
{
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, 4095, file)] = '\0';
	fclose(file);
}

START_TEST(a_file_is_made_with_its_folders_and_a_link_stays_one)
{
	char home[] = "/tmp/pmtop-save-XXXXXX", path[128], real[128], text[4096];
	struct setting_change change = { .section = "screen", .key = "theme", .value = "mono" };
	ck_assert_ptr_nonnull(mkdtemp(home));
	snprintf(path, sizeof path, "%s/.config/pmtop/pmtop.yaml", home);
	ck_assert_int_eq(settings_save(path, &change, 1, &reason), STATUS_OK);
	read_file(path, text);
	ck_assert_ptr_nonnull(strstr(text, "\nscreen:\n  theme: mono\n"));
	/* as people keep their dotfiles */
	snprintf(real, sizeof real, "%s/dotfile", home);
	ck_assert_int_eq(rename(path, real), 0);
	ck_assert_int_eq(symlink(real, path), 0);
	strcpy(change.value, "light");
	ck_assert_int_eq(settings_save(path, &change, 1, &reason), STATUS_OK);
	struct stat st;
	ck_assert(lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
	read_file(real, text);
	ck_assert_ptr_nonnull(strstr(text, "theme: light\n"));
}
END_TEST

START_TEST(a_folder_that_cannot_be_written_is_named_and_nothing_is_lost)
{
	char home[] = "/tmp/pmtop-save-XXXXXX", path[128], text[4096];
	struct setting_change change = { .section = "screen", .key = "theme", .value = "mono" };
	ck_assert_ptr_nonnull(mkdtemp(home));
	snprintf(path, sizeof path, "%s/pmtop.yaml", home);
	FILE *file = fopen(path, "w");
	fputs("# mine\n", file);
	fclose(file);
	chmod(home, 0555);
	if (geteuid() == 0)
		ck_assert(chown(home, 0, 0) == 0 && seteuid(65534) == 0); /* root may write anywhere */
	enum status status = settings_save(path, &change, 1, &reason);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(status, STATUS_DENIED);
	ck_assert_ptr_nonnull(strstr(reason.text, "pmtop.yaml: Permission denied"));
	read_file(path, text);
	ck_assert_str_eq(text, "# mine\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("settings_save");
	TCase *test = tcase_create("settings_save");
	tcase_add_loop_test(test, one_value_changes_and_the_rest_stays, 0, sizeof edits / sizeof *edits);
	tcase_add_test(test, every_setting_of_the_example_can_be_set);
	tcase_add_test(test, each_setting_changes_alone);
	tcase_add_test(test, what_cannot_be_changed_is_refused);
	tcase_add_test(test, names_are_quoted_where_yaml_needs_it);
	tcase_add_test(test, a_file_is_made_with_its_folders_and_a_link_stays_one);
	tcase_add_test(test, a_folder_that_cannot_be_written_is_named_and_nothing_is_lost);
	suite_add_tcase(suite, test);
	return suite_run(suite);
}
