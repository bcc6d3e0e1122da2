/* A whole synthetic run through the model and the rules into every format. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/export/export.h"
#include "src/export/json/json.h"
#include "src/export/text/lines.h"
#include "src/export/text/report.h"
#include "src/settings/settings.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#define REALTIME_NS INT64_C(1763632140000000000)

struct emiting {
	struct story *story;
	struct model *model;
	struct settings settings;
	struct alerts alerts;
	struct sample_set set;
	struct buffer out;
};

static struct emiting emiting;
static struct story_options options;

static void setup(void)
{
	struct model_options model_options;
	memset(&emiting, 0, sizeof emiting);
	story_options_default(&options);
	model_options_default(&model_options);
	settings_default(&emiting.settings);
	emiting.model = model_new(&model_options);
}

static void teardown(void)
{
	alerts_release(&emiting.alerts);
	model_free(emiting.model);
	story_free(emiting.story);
	sample_set_release(&emiting.set);
	buffer_release(&emiting.out);
}

/* Emits one more period; false at the run's end. */
static bool emit_on(void)
{
	if (!emiting.story)
		emiting.story = story_new(&options);
	if (!story_next(emiting.story, &emiting.set))
		return false;
	model_apply(emiting.model, &emiting.set);
	explain_flagged(emiting.model);
	alerts_update(&emiting.alerts, emiting.model, &emiting.settings);
	return true;
}

static void emit_all(void)
{
	while (emit_on())
		continue;
}

/* As in test_export_json.c; `o` is the object. */
static void assert_holds(const char *expressions)
{
	char command[4096];
	snprintf(command, sizeof command, "python3 tests/support/json_object.py %s", expressions);
	FILE *python = popen(command, "w");
	ck_assert_ptr_nonnull(python);
	buffer_clear(&emiting.out);
	export_json(&emiting.out, emiting.model, &emiting.alerts, 0, REALTIME_NS);
	fputs(emiting.out.data, python);
	ck_assert_msg(pclose(python) == 0, "%.2000s", emiting.out.data);
}

static void assert_object_is_true(void)
{
	struct story_truth truth = story_truth(emiting.story);
	char expressions[2048];
	snprintf(expressions, sizeof expressions,
		"'o[\"batch\"][\"count\"] == %llu' "
		"'o[\"modes\"][\"validation\"][\"count\"] == %llu' "
		"'abs(o[\"batch\"][\"mean_s\"] - %.12g) < 1e-6' "
		"'abs(o[\"step\"][\"mean_s\"] - %.12g) < 1e-6' "
		"'abs([p for p in o[\"operations\"] if p[\"name\"] == \"data\"][0][\"total_s\"] - %.12g) < 1e-6' "
		"'abs([p for p in o[\"operations\"] if p[\"name\"] == \"decode\"][0][\"total_s\"] - %.12g) < 1e-6' "
		"'abs(sum(p.get(\"share_ratio\", 0) for p in o[\"operations\"] if p[\"depth\"] == 0) - 1) < 1e-3'",
		(unsigned long long)truth.batches, (unsigned long long)truth.validation_batches,
		truth.batch_total_s / (double)truth.batches, truth.step_total_s / (double)truth.steps, truth.data_total_s,
		truth.decode_total_s);
	assert_holds(expressions);
}

START_TEST(json_holds_at_every_stage_of_a_run)
{
	for (unsigned emitted = 0; emit_on(); emitted++)
		if (emitted % 100 == 0)
			assert_holds("'o[\"run\"] == \"resnet50\"'");
	assert_object_is_true();
	assert_holds("'[e[\"batches\"] for e in o[\"epochs\"]] == [100, 100, 100]' "
				 "'o[\"epoch\"][\"ordinal\"] == o[\"epoch\"][\"total\"] == 3' "
				 "'all(f[\"batch\"] % 20 == 19 or f[\"batch\"] == 0 for f in o[\"flagged\"])' "
				 "'len(o[\"flagged\"]) >= 5' "
				 "'all(f[\"causes\"][0][\"phase\"] == \"data\" for f in o[\"flagged\"])' "
				 "'o[\"warnings\"]'");
}
END_TEST

START_TEST(json_of_a_late_attach_has_the_whole_runs_figures)
{
	options.attach_s = 40;
	emit_all();
	assert_object_is_true();
}
END_TEST

START_TEST(json_of_an_unpublished_process_has_its_memory)
{
	options.is_published = false;
	for (int i = 0; i < 20 && emit_on(); i++)
		continue;
	buffer_clear(&emiting.out);
	export_json(&emiting.out, emiting.model, &emiting.alerts, -1, REALTIME_NS);
	ck_assert_ptr_nonnull(strstr(emiting.out.data, "\"memory\":{\"rss_bytes\":"));
	ck_assert_ptr_null(strstr(emiting.out.data, "\"batch\":"));
}
END_TEST

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, part)); at++)
		count++;
	return count;
}

START_TEST(lines_have_the_first_batches_each_epoch_and_each_warning_once)
{
	struct lines lines;
	lines_init(&lines, 5);
	while (emit_on())
		export_lines(&emiting.out, &lines, emiting.model, &emiting.alerts, 0);
	const char *emitted = emiting.out.data;
	const char *at = emitted;
	ck_assert_uint_eq(count_of(emitted, "  Batch "), 5 + 3);
	for (int i = 0; i < 5; i++) {
		char expected[32];
		snprintf(expected, sizeof expected, "  Batch %d: ", i);
		at = strstr(at, expected);
		ck_assert_msg(at != NULL, "%s", emitted);
	}
	ck_assert_uint_eq(count_of(emitted, "  Epoch end: "), 3);
	ck_assert_uint_eq(count_of(emitted, "  Batch timing: avg="), 3);
	ck_assert_uint_eq(count_of(emitted, "Note: first batch took"), 1);
}
END_TEST

/* Removes the lines with this beginning from a text and returns them. */
static void take_lines(struct buffer *text, const char *begin, struct buffer *taken)
{
	struct buffer left = BUFFER_INIT;
	for (const char *line = text->data; *line; line = strchr(line, '\n') + 1)
		buffer_add(
			strncmp(line, begin, strlen(begin)) == 0 ? taken : &left, line, (size_t)(strchr(line, '\n') + 1 - line));
	buffer_release(text);
	*text = left;
}

START_TEST(lines_of_one_late_refresh_are_those_of_many)
{
	struct lines often, once;
	struct buffer whole = BUFFER_INIT, flagged_once = BUFFER_INIT, flagged_often = BUFFER_INIT;
	lines_init(&often, 1000);
	lines_init(&once, 1000);
	options.epochs = 2;
	while (emit_on())
		export_lines(&emiting.out, &often, emiting.model, &(struct alerts){ .count = 0 }, 0);
	export_lines(&whole, &once, emiting.model, &(struct alerts){ .count = 0 }, 0);
	take_lines(&whole, "  ⚠", &flagged_once);
	take_lines(&emiting.out, "  ⚠", &flagged_often);
	ck_assert_str_eq(flagged_once.data, flagged_often.data);
	ck_assert_uint_ge(count_of(flagged_once.data, "× the median, data › decode: reading from disk ("), 5);
	ck_assert_uint_eq(count_of(whole.data, "\n"), 2 * 100 + 2 * 2);
	ck_assert_uint_eq(count_of(emiting.out.data, "\n"), 2 * 100 + 2 * 2);
	for (const char *a = emiting.out.data, *b = whole.data; a && b && *a;
		 a = strchr(a, '\n') + 1, b = strchr(b, '\n') + 1)
		ck_assert_msg(strncmp(a, b, strcspn(a, ",\n")) == 0, "%.40s / %.40s", a, b);
	buffer_release(&whole);
	buffer_release(&flagged_once);
	buffer_release(&flagged_often);
}
END_TEST

START_TEST(report_of_a_run_has_its_operations_and_epochs)
{
	emit_all();
	export_report(&emiting.out, emiting.model, &emiting.alerts, 0);
	const char *report = emiting.out.data;
	static const char *const parts[] = {
		"train.py, process 48213, run resnet50",
		"\nPERFORMANCE SUMMARY\n",
		"\ndata  ",
		"\n  decode  ",
		"\n  collate  ",
		"\nforward  ",
		"\nunattributed  ",
		"\nTOTAL  ",
		"\nAGGREGATE STATISTICS (for repeated operations)\n",
		"\nPERFORMANCE SUMMARY, mode validation\n",
		"\nEPOCHS\n",
		"\n2      ",
		"\nWARNINGS\n",
		"    try: ",
		"\nFLAGGED BATCHES\n",
		"data",
		"\nMEMORY\n",
	};
	const char *at = report;
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		at = strstr(at, parts[i]);
		ck_assert_msg(at != NULL, "no %s in its place in\n%s", parts[i], report);
		at++;
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("export_story");
	TCase *all = tcase_create("all");
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_set_timeout(all, 60);
	tcase_add_test(all, json_holds_at_every_stage_of_a_run);
	tcase_add_test(all, json_of_a_late_attach_has_the_whole_runs_figures);
	tcase_add_test(all, json_of_an_unpublished_process_has_its_memory);
	tcase_add_test(all, lines_have_the_first_batches_each_epoch_and_each_warning_once);
	tcase_add_test(all, lines_of_one_late_refresh_are_those_of_many);
	tcase_add_test(all, report_of_a_run_has_its_operations_and_epochs);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
