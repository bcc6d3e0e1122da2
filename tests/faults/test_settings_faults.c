/* Fault 51 of tests/README.md, and other files instead of pmtop.yaml. */
#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/settings/settings.h"
#include "src/settings/settings_yaml.h"
#include "tests/support/suite.h"

static char folder[64], path[96];
static struct reason reason;

static void make_folder(void)
{
	strcpy(folder, "/tmp/pmtop-settings-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/pmtop.yaml", folder);
}

static void remove_folder(void)
{
	char command[128];
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static void write_file(const char *where, const char *text, size_t length)
{
	FILE *file = fopen(where, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(text, 1, length, file), length);
	fclose(file);
}

/* One line with the file's name refuses it, and no setting changed. */
static void ck_load_refused(const char *what)
{
	struct settings settings, before;
	settings_default(&settings);
	settings.flag_mad = 7;
	before = settings;
	reason = (struct reason){ 0 };
	ck_assert_int_eq(settings_load(&settings, path, &reason), STATUS_INVALID);
	ck_assert_msg(strncmp(reason.text, path, strlen(path)) == 0, "%s", reason.text);
	ck_assert_str_eq(reason.text + strlen(path), what);
	ck_assert(reason.remedy[0] && !strchr(reason.text, '\n') && !strchr(reason.remedy, '\n'));
	ck_assert_mem_eq(&settings, &before, sizeof settings);
}

static void ck_text_refused(const char *text, const char *what)
{
	write_file(path, text, strlen(text));
	ck_load_refused(what);
}

START_TEST(alias_bomb_is_refused_at_its_first_anchor)
{
	ck_text_refused("flags: &a\n  mad: 5\nlines: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nwarnings: &c [*b, *b, *b, *b, "
					"*b, *b, *b, *b]\n",
		":1: anchors and aliases (&, *) are not supported");
	ck_text_refused("flags:\n  mad: 5\n  ratio: *a\n", ":3: anchors and aliases (&, *) are not supported");
}
END_TEST

START_TEST(duplicate_key_is_refused_with_both_lines)
{
	ck_text_refused("flags:\n  mad: 5\n\n  mad: 6\n", ":4: key \"mad\" is already in line 2");
}
END_TEST

START_TEST(config_in_the_working_directory_is_never_read)
{
	static const char *const paths[] = { "pmtop.yaml", ".config/pmtop/pmtop.yaml", "pmtop/pmtop.yaml",
		"config/pmtop.yaml" };
	static const struct {
		const char *home, *config;
	} unusable[] = {
		{ NULL, NULL },
		{ "", "" },
		{ ".", "." },
		{ "./", NULL },
		{ NULL, "config" },
		{ "..", "~" },
	};
	char found[256];
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(system("mkdir -p .config/pmtop pmtop config"), 0);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		write_file(paths[i], "flags:\n  mad: 9\n", 16);
	for (size_t i = 0; i < sizeof unusable / sizeof *unusable; i++) {
		unusable[i].home ? setenv("HOME", unusable[i].home, 1) : unsetenv("HOME");
		unusable[i].config ? setenv("XDG_CONFIG_HOME", unusable[i].config, 1) : unsetenv("XDG_CONFIG_HOME");
		ck_assert_int_eq(settings_path(found, sizeof found), STATUS_NOT_FOUND);
	}
	setenv("HOME", "/nowhere", 1);
	ck_assert_int_eq(settings_path(found, sizeof found), STATUS_OK);
	ck_assert_str_eq(found, "/nowhere/.config/pmtop/pmtop.yaml");
}
END_TEST

START_TEST(directory_fifo_socket_and_device_are_refused_at_once)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_load_refused(": is a directory, not a file");
	ck_assert_int_eq(rmdir(path), 0);
	alarm(5); /* a FIFO without a writer would block for ever */
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_load_refused(": not a regular file");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("/dev/zero", path), 0);
	ck_load_refused(": not a regular file");
	alarm(0);
}
END_TEST

START_TEST(file_over_one_mebibyte_is_refused_unread)
{
	size_t length = (1 << 20) + 1;
	char *text = malloc(length);
	memset(text, '#', length);
	write_file(path, text, length);
	ck_load_refused(": larger than 1 MiB (1048577 bytes)");
	write_file(path, text, length - 1);
	struct settings settings;
	settings_default(&settings);
	ck_assert_int_eq(settings_load(&settings, path, &reason), STATUS_OK);
	free(text);
}
END_TEST

START_TEST(deep_nesting_costs_nothing)
{
	size_t length = 1 << 20;
	char *text = malloc(length);
	struct settings settings;
	settings_default(&settings);
	for (const char *bracket = "[{-?"; *bracket; bracket++) {
		for (size_t i = 0; i < length; i++)
			text[i] = *bracket == '[' || *bracket == '{' || i % 2 == 0 ? *bracket : ' ';
		struct rusage before, after;
		getrusage(RUSAGE_SELF, &before);
		ck_assert_int_eq(settings_parse(&settings, "pmtop.yaml", text, length, &reason), STATUS_INVALID);
		getrusage(RUSAGE_SELF, &after);
		ck_assert_msg(after.ru_utime.tv_sec - before.ru_utime.tv_sec < 3, "%c took seconds", *bracket);
	}
	free(text);
}
END_TEST

START_TEST(damaged_file_gives_settings_or_a_line_never_a_crash)
{
	FILE *file = fopen("config/pmtop.yaml", "r");
	ck_assert_ptr_nonnull(file);
	char text[4096], damaged[4096];
	size_t length = fread(text, 1, sizeof text, file), refused = 0;
	unsigned lines = 1;
	fclose(file);
	ck_assert_uint_lt(length, sizeof text);
	for (size_t at = 0; at < length; at++)
		lines += text[at] == '\n';
	for (size_t at = 0; at < length * 9; at++) {
		size_t retained = at < length ? at : length; /* every length, then every bit */
		memcpy(damaged, text, length);
		if (at >= length)
			damaged[(at - length) / 8] ^= (char)(1 << (at - length) % 8);
		struct settings settings, untouched;
		settings_default(&settings);
		settings.flag_mad = 7;
		untouched = settings;
		reason = (struct reason){ 0 };
		enum status status = settings_parse(&settings, "c.yaml", damaged, retained, &reason);
		if (status == STATUS_OK)
			continue;
		unsigned line = 0;
		refused++;
		ck_assert_int_eq(status, STATUS_INVALID);
		ck_assert_msg(sscanf(reason.text, "c.yaml:%u: ", &line) == 1 && line >= 1 && line <= lines, "%s", reason.text);
		ck_assert(reason.remedy[0] != '\0');
		ck_assert_mem_eq(&settings, &untouched, sizeof settings);
	}
	ck_assert_uint_gt(refused, length / 2);
}
END_TEST

START_TEST(decimal_point_is_a_point_where_the_locale_has_a_comma)
{
	char command[160];
	snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' 2>/dev/null", folder);
	setenv("LOCPATH", folder, 1);
	bool has_comma = system(command) == 0 && setlocale(LC_ALL, "de_DE.UTF-8") && strtod("0,5", NULL) > 0.4;
	ck_assert_msg(has_comma, "no locale with a comma can be made here: 'make deps' installs the package locales");
	struct settings settings;
	settings_default(&settings);
	const char *text = "flags:\n  ratio: 2.75\n";
	ck_assert_int_eq(settings_parse(&settings, "pmtop.yaml", text, strlen(text), &reason), STATUS_OK);
	ck_assert_msg(settings.flag_ratio > 2.7 && settings.flag_ratio < 2.8, "%f", settings.flag_ratio);
	text = "flags:\n  ratio: 2,75\n";
	ck_assert_int_eq(settings_parse(&settings, "pmtop.yaml", text, strlen(text), &reason), STATUS_INVALID);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("settings faults");
	TCase *tests = tcase_create("settings faults");
	tcase_set_timeout(tests, 30);
	tcase_add_checked_fixture(tests, make_folder, remove_folder);
	tcase_add_test(tests, alias_bomb_is_refused_at_its_first_anchor);
	tcase_add_test(tests, duplicate_key_is_refused_with_both_lines);
	tcase_add_test(tests, config_in_the_working_directory_is_never_read);
	tcase_add_test(tests, directory_fifo_socket_and_device_are_refused_at_once);
	tcase_add_test(tests, file_over_one_mebibyte_is_refused_unread);
	tcase_add_test(tests, deep_nesting_costs_nothing);
	tcase_add_test(tests, damaged_file_gives_settings_or_a_line_never_a_crash);
	tcase_add_test(tests, decimal_point_is_a_point_where_the_locale_has_a_comma);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
