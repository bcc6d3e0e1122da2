#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/formats/crc32c.h"
#include "src/export/exporter.h"
#include "tests/support/suite.h"
#include "tests/support/fixture.h"

/* Export of a model that the test fills: figures of real runs are compared in tests/python/test_export_tables.py. */
static struct fixture fixture;
static struct track *train;
static struct buffer out, file;
static struct export_scene scene;
static char file_name[256];

static void drain(const struct export_scene *one) { (void)one; }

static struct buffer *make_file(const struct export_scene *one, const char *name)
{
	(void)one;
	snprintf(file_name, sizeof file_name, "%s", name);
	return &file;
}

static void setup(void)
{
	fixture_init(&fixture);
	train = &fixture.run.tracks[0];
	out = file = (struct buffer)BUFFER_INIT;
	scene = (struct export_scene){ .model = &fixture.model,
		.alerts = &fixture.alerts,
		.realtime_offset_ns = 1700000000 * NS_PER_S,
		.since_ns = INT64_MIN,
		.until_ns = INT64_MAX,
		.host = "a host.example",
		.out = &out,
		.drain = drain,
		.file = make_file };
}

static void teardown(void)
{
	buffer_release(&out);
	buffer_release(&file);
	fixture_release(&fixture);
}

/* The whole run in one set. */
static const char *export_all(const char *name)
{
	fixture_explain(&fixture);
	const struct exporter *exporter = exporter_find(name);
	struct sample_set none = SAMPLE_SET_INIT;
	buffer_clear(&out);
	ck_assert_ptr_nonnull(exporter);
	void *state = exporter->open(&scene);
	if (exporter->add)
		exporter->add(state, &scene, &none);
	exporter->end(state, &scene);
	exporter->close(state);
	ck_assert(!out.failed);
	return out.data ? out.data : "";
}

static bool has(const char *name, const char *text) { return strstr(export_all(name), text) != NULL; }

static size_t lines_of(const char *text)
{
	size_t lines = 0;
	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static size_t commas_of(const char *line)
{
	size_t commas = 0;
	for (; *line && *line != '\n'; line++)
		commas += *line == ',';
	return commas;
}

static const char *line_at(const char *text, unsigned index)
{
	for (; index; index--)
		text = strchr(text, '\n') + 1;
	return text;
}

static void add_phase(struct batch *batch, uint32_t name, uint32_t parent, float seconds)
{
	batch->phases[batch->phase_count++] = (struct phase_time){ name, parent, seconds, NAN, NAN };
}

START_TEST(formats_are_found_by_name)
{
	ck_assert_ptr_null(exporter_find("xml"));
	for (unsigned i = 0; exporter_at(i); i++) {
		ck_assert_ptr_eq(exporter_find(exporter_at(i)->name), exporter_at(i));
		ck_assert(exporter_at(i)->help[0]);
	}
}
END_TEST

START_TEST(an_unknown_figure_is_an_empty_cell)
{
	fixture_add_batch(&fixture, train, 7, 0.25)->step_s = NAN;
	const char *row = line_at(export_all("csv"), 1);
	ck_assert_msg(
		strncmp(row, "resnet50,,48213,train,,7,0,1700000001000000000,2023-11-14T22:13:21.000000000Z,0.25,,,,,,", 85) ==
			0,
		"%s", row);
}
END_TEST

START_TEST(every_row_has_every_column_also_those_before_a_phase_was_known)
{
	fixture_add_batch(&fixture, train, 0, 0.25);
	struct batch *batch = fixture_add_batch(&fixture, train, 1, 0.25);
	add_phase(batch, FIXTURE_DECODE, FIXTURE_DATA, 0.05f);
	add_phase(batch, FIXTURE_DATA, NAME_NONE, 0.1f);
	fixture_add_batch(&fixture, train, 2, 0.25);
	const char *text = export_all("csv");
	ck_assert_ptr_nonnull(strstr(text, "phase.data_s,phase.data/decode_s\n"));
	ck_assert_ptr_nonnull(strstr(text, ",0.1,0.05\n"));
	for (unsigned i = 1; i < 4; i++)
		ck_assert_uint_eq(commas_of(line_at(text, i)), commas_of(text));
}
END_TEST

START_TEST(names_with_commas_quotes_and_newlines_are_quoted)
{
	snprintf(fixture.run.name, sizeof fixture.run.name, "a, \"b\"\nü");
	fixture_add_batch(&fixture, train, 0, 0.25);
	fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_WIDE, FIXTURE_NO_NAME, 1, 1);
	ck_assert(has("csv", "\n\"a, \"\"b\"\"\nü\",,48213,"));
	ck_assert(has("csv-operations", "\n\"a, \"\"b\"\"\nü\",,48213,train,学習データの読み込みと前処理の全体,"));
	ck_assert(has("jsonl", "\"run\":\"a, \\\"b\\\"\\u000aü\""));
	ck_assert(has("openmetrics", "run=\"a, \\\"b\\\"\\nü\""));
}
END_TEST

START_TEST(operations_have_their_path)
{
	fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_DATA, FIXTURE_NO_NAME, 10, 1);
	fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_DECODE, FIXTURE_DATA, 10, 0.5)->depth = 1;
	fixture_add_operation(&fixture, FIXTURE_TRAIN, FIXTURE_FORWARD, FIXTURE_NO_NAME, 10, 2);
	const char *text = export_all("csv-operations");
	ck_assert_ptr_nonnull(strstr(text, ",decode,data/decode,1,10,0.5,"));
	ck_assert_ptr_nonnull(strstr(text, ",forward,forward,0,10,2,"));
	ck_assert_ptr_nonnull(strstr(export_all("openmetrics"),
		"pmtop_operation_seconds_sum{run=\"resnet50\",pid=\"48213\",mode=\"train\",phase=\"data/decode\"} 0.5\n"));
}
END_TEST

START_TEST(batches_outside_of_since_and_until_are_left_out)
{
	for (uint64_t i = 0; i < 4; i++)
		fixture_add_batch(&fixture, train, i, 1);
	scene.since_ns = 2 * NS_PER_S;
	scene.until_ns = 4 * NS_PER_S;
	const char *text = export_all("csv");
	ck_assert_uint_eq(lines_of(text), 3);
	ck_assert_ptr_nonnull(strstr(text, ",1,1,1700000002000000000,"));
	ck_assert_ptr_nonnull(strstr(text, ",2,2,1700000003000000000,"));
}
END_TEST

START_TEST(the_running_batch_is_not_exported)
{
	fixture_add_batch(&fixture, train, 0, 1);
	struct batch *running = fixture_add_batch(&fixture, train, 1, 1);
	running->end_ns = 0;
	running->batch_s = running->step_s = NAN;
	ck_assert_uint_eq(lines_of(export_all("csv")), 2);
}
END_TEST

START_TEST(modes_are_exported_in_the_order_of_their_batches)
{
	struct track *validation = fixture_add_track(&fixture, FIXTURE_VALIDATION);
	fixture_add_batch(&fixture, train, 0, 1);
	fixture_add_batch(&fixture, validation, 0, 1);
	fixture_add_batch(&fixture, train, 1, 1);
	const char *text = export_all("csv");
	ck_assert_ptr_nonnull(strstr(line_at(text, 1), ",train,,0,0,"));
	ck_assert(strncmp(line_at(text, 2), "resnet50,,48213,validation,,0,0,", 32) == 0);
	ck_assert(strncmp(line_at(text, 3), "resnet50,,48213,train,,1,1,", 27) == 0);
}
END_TEST

/* A live reader gets each batch once, when its flag is decided. */
START_TEST(a_waiting_reader_gets_a_batch_once_it_is_settled)
{
	const struct exporter *exporter = exporter_find("jsonl");
	struct sample_set none = SAMPLE_SET_INIT;
	scene.is_awaited = true;
	void *state = exporter->open(&scene);
	/* No batch is decided before the warm-up is. */
	for (uint64_t i = 0; i < 10; i++)
		fixture_add_batch(&fixture, train, i, 1);
	exporter->add(state, &scene, &none);
	ck_assert_ptr_null(strstr(out.data, "\"type\":\"batch\""));
	fixture_add_batch(&fixture, train, 10, 1);
	exporter->add(state, &scene, &none);
	ck_assert_ptr_nonnull(strstr(out.data, "\"ordinal\":5,"));
	ck_assert_ptr_null(strstr(out.data, "\"ordinal\":6,"));
	buffer_clear(&out);
	exporter->end(state, &scene);
	ck_assert_ptr_null(strstr(out.data, "\"ordinal\":5,"));
	ck_assert_ptr_nonnull(strstr(out.data, "\"ordinal\":6,"));
	exporter->close(state);
}
END_TEST

START_TEST(an_epoch_follows_its_batches_and_precedes_the_next)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct epoch *epoch = fixture_begin_epoch(&fixture, i);
		fixture_add_batch(&fixture, train, i, 1)->epoch_ordinal = i + 1;
		fixture_end_epoch(&fixture, epoch);
	}
	const char *text = export_all("jsonl");
	static const char *const order[] = { "run", "batch", "epoch", "batch", "epoch", "end" };
	ck_assert_uint_eq(lines_of(text), 6);
	for (unsigned i = 0; i < 6; i++) {
		char begin[64];
		snprintf(begin, sizeof begin, "{\"type\":\"%s\",\"time_ns\":", order[i]);
		ck_assert_msg(strncmp(line_at(text, i), begin, strlen(begin)) == 0, "%s", text);
	}
}
END_TEST

START_TEST(warnings_are_exported_when_raised_and_when_cleared)
{
	const struct exporter *exporter = exporter_find("jsonl");
	struct sample_set none = SAMPLE_SET_INIT;
	void *state = exporter->open(&scene);
	struct alert *alert = fixture_add_alert(&fixture, "data_loading", SEVERITY_WARNING, "data takes 40 %");
	alert->since_ns = 5 * NS_PER_S;
	for (int i = 0; i < 2; i++)
		exporter->add(state, &scene, &none);
	alert->is_raised = false;
	alert->cleared_ns = 9 * NS_PER_S;
	for (int i = 0; i < 2; i++)
		exporter->add(state, &scene, &none);
	alert->is_raised = true;
	alert->since_ns = 12 * NS_PER_S;
	exporter->add(state, &scene, &none);
	exporter->close(state);
	ck_assert_uint_eq(lines_of(out.data), 4);
	ck_assert_ptr_nonnull(strstr(line_at(out.data, 1), "\"time_ns\":1700000005000000000"));
	ck_assert_ptr_nonnull(strstr(line_at(out.data, 1), "\"state\":\"raised\",\"rule\":\"data_loading\""));
	ck_assert_ptr_nonnull(strstr(line_at(out.data, 2), "\"time_ns\":1700000009000000000"));
	ck_assert_ptr_nonnull(strstr(line_at(out.data, 2), "\"state\":\"cleared\""));
	ck_assert_ptr_nonnull(strstr(line_at(out.data, 3), "\"time_ns\":1700000012000000000"));
}
END_TEST

START_TEST(a_flagged_batch_has_its_cause)
{
	struct batch *batch = fixture_add_batch(&fixture, train, 0, 1);
	struct flagged *flagged = fixture_add_flagged(&fixture, 0, 0, 1, 0.25);
	batch->is_flagged = true;
	flagged->mode = train->mode;
	flagged->batch.ordinal = 0;
	const char *text = export_all("csv");
	ck_assert_ptr_nonnull(strstr(text, ",0,1,,data,1\n"));
	ck_assert_ptr_nonnull(strstr(export_all("jsonl"),
		"\"flagged\":true,\"causes\":[{\"what\":\"data\",\"kind\":\"phase\",\"phase\":\"data\",\"share_ratio\":1,"
		"\"excess_s\":0.75,"));
}
END_TEST

/* Figures of the format's description: length, masked CRC32C, "brain.Event:2" as field 3. */
START_TEST(an_event_file_is_records_with_masked_crcs)
{
	struct batch *batch = fixture_add_batch(&fixture, train, 0, 0.5);
	batch->loss = 2;
	scene.out = NULL;
	const struct exporter *exporter = exporter_find("tensorboard");
	void *state = exporter->open(&scene);
	exporter->end(state, &scene);
	exporter->close(state);
	ck_assert_str_eq(file_name, "events.out.tfevents.1700000001.a-host-example.48213.pmtop");
	uint64_t length = 0;
	uint32_t crc, fixture_crc;
	memcpy(&length, file.data, 8);
	ck_assert_uint_eq(length, 24);
	memcpy(&fixture_crc, file.data + 8, 4);
	crc = crc32c(0, file.data, 8);
	ck_assert_uint_eq(fixture_crc, ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
	ck_assert_mem_eq(file.data + 12 + 9,
		"\x1a\x0d"
		"brain.Event:2",
		15);
	const char *tag = memmem(file.data, file.length, "\x0a\x0atrain/loss\x15\x00\x00\x00\x40", 17);
	ck_assert_ptr_nonnull(tag);
	ck_assert_ptr_null(memmem(file.data, file.length, "resident", 8));
}
END_TEST

START_TEST(ranks_have_folders_of_their_own)
{
	snprintf(fixture.run.rank, sizeof fixture.run.rank, "3");
	snprintf(fixture.run.world, sizeof fixture.run.world, "8");
	fixture_add_batch(&fixture, train, 0, 0.5);
	scene.out = NULL;
	const struct exporter *exporter = exporter_find("tensorboard");
	void *state = exporter->open(&scene);
	exporter->end(state, &scene);
	exporter->close(state);
	ck_assert(strncmp(file_name, "rank3/events.out.tfevents.", 26) == 0);
}
END_TEST

START_TEST(a_metric_without_a_figure_is_left_out_and_the_text_ends_in_eof)
{
	const char *text = export_all("openmetrics");
	ck_assert_ptr_null(strstr(text, "pmtop_loss"));
	ck_assert_ptr_null(strstr(text, "nan"));
	ck_assert_str_eq(text + strlen(text) - 6, "# EOF\n");
	train->loss = 1.5;
	ck_assert(has("openmetrics", "# TYPE pmtop_loss gauge\n# HELP pmtop_loss "));
	ck_assert(has("openmetrics", "pmtop_loss{run=\"resnet50\",pid=\"48213\",mode=\"train\"} 1.5\n"));
}
END_TEST

/* A reading of the processes alone leaves the machine's columns empty: earlier values are not current ones. */
START_TEST(a_row_has_only_the_figures_of_its_reading)
{
	const struct exporter *exporter = exporter_find("csv-series");
	struct sample_set set = SAMPLE_SET_INIT;
	fixture.model.memory.rss_bytes = 1000;
	fixture.model.system.cpu_ratio = 0.5;
	void *state = exporter->open(&scene);
	exporter->add(state, &scene, &set);
	set.time_ns = 2 * NS_PER_S;
	sample_set_figure(&set, set.time_ns, METRIC_PROCESS_RESIDENT, 48213, 1000);
	exporter->add(state, &scene, &set);
	sample_set_clear(&set);
	set.time_ns = 3 * NS_PER_S;
	sample_set_figure(&set, set.time_ns, METRIC_SYSTEM_CPU_BUSY, 0, 1000);
	exporter->add(state, &scene, &set);
	exporter->end(state, &scene);
	exporter->close(state);
	sample_set_release(&set);
	ck_assert_uint_eq(lines_of(out.data), 3);
	ck_assert(strncmp(line_at(out.data, 1), "1700000002000000000,2023-11-14T22:13:22.000000000Z,1000,", 56) == 0);
	ck_assert_ptr_eq(strstr(line_at(out.data, 1), ",0.5,"), strstr(line_at(out.data, 2), ",0.5,"));
	ck_assert(strncmp(line_at(out.data, 2), "1700000003000000000,2023-11-14T22:13:23.000000000Z,,,,", 54) == 0);
	ck_assert_ptr_nonnull(strstr(line_at(out.data, 2), ",0.5,"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("export_tables");
	TCase *all = tcase_create("all");
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_add_test(all, formats_are_found_by_name);
	tcase_add_test(all, an_unknown_figure_is_an_empty_cell);
	tcase_add_test(all, every_row_has_every_column_also_those_before_a_phase_was_known);
	tcase_add_test(all, names_with_commas_quotes_and_newlines_are_quoted);
	tcase_add_test(all, operations_have_their_path);
	tcase_add_test(all, batches_outside_of_since_and_until_are_left_out);
	tcase_add_test(all, the_running_batch_is_not_exported);
	tcase_add_test(all, modes_are_exported_in_the_order_of_their_batches);
	tcase_add_test(all, a_waiting_reader_gets_a_batch_once_it_is_settled);
	tcase_add_test(all, an_epoch_follows_its_batches_and_precedes_the_next);
	tcase_add_test(all, warnings_are_exported_when_raised_and_when_cleared);
	tcase_add_test(all, a_flagged_batch_has_its_cause);
	tcase_add_test(all, an_event_file_is_records_with_masked_crcs);
	tcase_add_test(all, ranks_have_folders_of_their_own);
	tcase_add_test(all, a_metric_without_a_figure_is_left_out_and_the_text_ends_in_eof);
	tcase_add_test(all, a_row_has_only_the_figures_of_its_reading);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
