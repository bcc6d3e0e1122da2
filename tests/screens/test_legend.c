/* Every mark that a view draws is explained in its help. The pictures of tests/screens/expected are what views draw. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "tests/support/stage.h"
#include "tests/support/suite.h"
#include "ui/themes/theme_book.h"
#include "ui/widgets/legend.h"
#include "ui/widgets/parts.h"

/* Which view a picture shows, by the beginning of its name; the first that fits. Others show no view with a legend. */
static const struct {
	const char *beginning;
	const struct view *view;
} pictures[] = {
	{ "batches_", &batches_view },
	{ "overlay_batches_", &batches_view },
	{ "gpu_lane_", &batches_view },
	{ "kinds_batches_", &batches_view },
	{ "kinds_validation_", &batches_view },
	{ "code_", &code_view },
	{ "counters_", &counters_view },
	{ "gpu_overview_", &overview_view },
	{ "gpu_", &gpu_view },
	{ "kinds_memory_", &memory_view },
	{ "memory_", &memory_view },
	{ "workers_memory_", &memory_view },
	{ "kinds_operations_", &operations_view },
	{ "operations_", &operations_view },
	{ "kinds_", &overview_view },
	{ "overview_", &overview_view },
	{ "overlay_", &overview_view },
	{ "ranks_view_", &ranks_view },
	{ "ranks_remote_", &ranks_view },
	{ "ranks_", &overview_view },
	{ "requests_", &overview_view },
	{ "system_", &system_view },
	{ "warnings_", &warnings_view },
	{ "workers_", &overview_view },
};

static const struct view *view_of(const char *name)
{
	for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
		if (strncmp(name, pictures[i].beginning, strlen(pictures[i].beginning)) == 0)
			return pictures[i].view;
	return NULL;
}

/* Frames, and signs that are part of words and numbers. */
static bool is_text(uint32_t code)
{
	static const uint32_t others[] = { 0x2500, 0x2502, 0x256d, 0x256e, 0x256f, 0x2570, 0xb0, 0xb1, 0xb5, 0xd7 };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i] == code)
			return true;
	return code < 0x80 || (code >= 0xc0 && code < 0x250 && code != 0xd7);
}

static bool is_braille(uint32_t code) { return code >= 0x2800 && code < 0x2900; }

static bool is_explained(const struct view *view, uint32_t wanted)
{
	static const enum charset charsets[] = { CHARSET_BRAILLE, CHARSET_BLOCK };
	const struct legend_row *row;
	for (size_t at = 0; (row = legend_next(view, &at));)
		for (int i = 0; i < 2; i++) {
			const char *marks = legend_marks(row, charsets[i]);
			uint32_t code;
			for (size_t length = strlen(marks); length > 0;) {
				size_t used = utf8_decode(marks, length, &code);
				if (code == wanted || (is_braille(code) && is_braille(wanted)))
					return true;
				marks += used;
				length -= used;
			}
		}
	return false;
}

static int check_line(const struct view *view, const char *name, const char *line)
{
	int missing = 0;
	uint32_t code;
	for (size_t length = strlen(line); length > 0;) {
		size_t used = utf8_decode(line, length, &code);
		if (!is_text(code) && !is_explained(view, code)) {
			fprintf(stderr, "%s: %.*s (U+%04X) is not in the marks of %s: %s", name, (int)used, line, (unsigned)code,
				view->name, line);
			missing++;
		}
		line += used;
		length -= used;
	}
	return missing;
}

/* Without the last line, whose arrows are keys. */
static int check_picture(const struct view *view, const char *name)
{
	char path[300], line[2048], before[2048] = "";
	int missing = 0;
	snprintf(path, sizeof path, "tests/screens/expected/%s", name);
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof line, file)) {
		missing += check_line(view, name, before);
		strcpy(before, line);
	}
	fclose(file);
	return missing;
}

START_TEST(every_mark_of_every_picture_is_explained)
{
	DIR *folder = opendir("tests/screens/expected");
	unsigned seen[LEGEND_VIEWS] = { 0 }, views = 0;
	int missing = 0;
	ck_assert_ptr_nonnull(folder);
	for (struct dirent *entry; (entry = readdir(folder));) {
		const struct view *view = view_of(entry->d_name);
		if (!view)
			continue;
		missing += check_picture(view, entry->d_name);
		views += seen[view->digit % LEGEND_VIEWS]++ == 0;
	}
	closedir(folder);
	ck_assert_int_eq(missing, 0);
	ck_assert_uint_ge(views, 10); /* all but the help itself */
}
END_TEST

START_TEST(a_mark_without_meaning_is_found)
{
	ck_assert_int_eq(check_line(&overview_view, "a line", "☂ 5 % ▲ x\n"), 1);
	ck_assert_int_eq(check_line(&code_view, "a line", "◆\n"), 1);
	ck_assert_int_eq(check_line(&overview_view, "a line", "◆ ⣿ é °C\n"), 0);
}
END_TEST

START_TEST(help_begins_with_the_marks_of_the_view_at_a_key)
{
	struct story_options options;
	struct stage stage;
	story_options_default(&options);
	stage_open(&stage, &options, 120, 40);
	stage_play(&stage, 10);
	stage_type(&stage, "2?m");
	stage_expect(&stage, "help_marks_120x40");
	stage_resize(&stage, 80, 24);
	stage_expect_after(&stage, CHARSET_ASCII, "\0331?m", "help_marks_80x24_ascii");
	ck_assert(stage_shows(&stage, "Marks in Overview"));
	stage_close(&stage);
}
END_TEST

/* A severity is never shown by its colour alone. */
START_TEST(severities_differ_without_colour)
{
	char seen[3][64];
	for (int severity = SEVERITY_INFO; severity <= SEVERITY_CRITICAL; severity++) {
		struct theme_book book;
		theme_book_init(&book);
		struct style style =
			theme_style(&book.list[0], PALETTE_MONO, parts_severity_role((enum severity)severity), false);
		snprintf(seen[severity], sizeof seen[0], "%s %d%d%d", parts_severity_sign((enum severity)severity),
			style.is_bold, style.is_reversed, style.is_dim);
		for (int other = SEVERITY_INFO; other < severity; other++)
			ck_assert_str_ne(seen[severity], seen[other]);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("legend");
	TCase *test = tcase_create("legend");
	tcase_add_test(test, every_mark_of_every_picture_is_explained);
	tcase_add_test(test, a_mark_without_meaning_is_found);
	tcase_add_test(test, help_begins_with_the_marks_of_the_view_at_a_key);
	tcase_add_test(test, severities_differ_without_colour);
	suite_add_tcase(suite, test);
	return suite_run(suite);
}
