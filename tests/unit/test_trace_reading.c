/* The reader of traces: blocks of a file, layouts of events, damage. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "src/base/buffer.h"
#include "src/trace/analysis/profile_analysis.h"
#include "src/trace/output/profile_json.h"
#include "tests/support/suite.h"

static struct profile_analysis *all;
static struct buffer text, file_json, memory_json;
static char path[64];

static void setup(void)
{
	all = malloc(sizeof *all);
	text = file_json = memory_json = (struct buffer)BUFFER_INIT;
	snprintf(path, sizeof path, "/tmp/pmtop-reading-XXXXXX");
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	unlink(path);
	free(all);
	buffer_release(&text);
	buffer_release(&file_json);
	buffer_release(&memory_json);
}

static void as_json(struct buffer *out)
{
	struct profile_view view = { .width = 80, .limit = 10000 };
	buffer_clear(out);
	all->path[0] = '\0';
	profile_as_json(out, &all, 1, &view);
}

/* Reads the text from a file and from memory: both must say the same. The profile of the file stays open. */
static void read_text(void)
{
	struct reason reason;
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(text.data, 1, text.length, file), text.length);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(profile_analyse_memory(all, text.data, text.length, GROUP_NAME, &reason), STATUS_OK);
	as_json(&memory_json);
	profile_analysis_release(all);
	ck_assert_int_eq(profile_analyse(all, path, GROUP_NAME, NULL, &reason), STATUS_OK);
	as_json(&file_json);
	ck_assert_str_eq(file_json.data, memory_json.data);
}

static const struct profile_op *first_op(void)
{
	ck_assert_uint_gt(all->ops.count, 0);
	return &all->ops.rows[0];
}

/* As Kineto writes them; `filler` lies in args. */
static void add_event(unsigned number, const char *filler)
{
	buffer_printf(&text,
		"%s\n  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 7, \"tid\": 8,\n"
		"    \"ts\": %u.250, \"dur\": 3.125,\n    \"args\": {\n      \"External id\": %u%s\n    }\n  }",
		number ? "," : "", 1000 + 10 * number, number + 1, filler);
}

START_TEST(an_event_may_lie_in_two_blocks_wherever_they_meet)
{
	enum { EVENTS = 12000 };
	buffer_puts(&text, "{\"traceEvents\": [");
	for (unsigned i = 0; i < EVENTS; i++)
		add_event(i, i % 3 ? "" : ", \"Input type\": [\"float\", \"]}\\\"\"], \"Ev Idx\": 3");
	buffer_puts(&text, "\n]}");
	ck_assert_uint_gt(text.length, 6 * (256 << 10));
	read_text();
	ck_assert_uint_eq(all->profile.event_count, EVENTS);
	ck_assert_uint_eq(all->profile.damaged_count, 0);
	ck_assert_uint_eq(first_op()->count, EVENTS);
	ck_assert_int_eq(first_op()->total_ns, EVENTS * INT64_C(3125));
	profile_analysis_release(all);
}
END_TEST

START_TEST(a_value_may_be_larger_than_a_block)
{
	char *filler = malloc(700000);
	memset(filler, 'x', 700000);
	memcpy(filler, ", \"k\": \"", 8);
	memcpy(filler + 699998, "\"", 2);
	buffer_puts(&text, "{\"traceEvents\": [");
	for (unsigned i = 0; i < 4; i++)
		add_event(i, i % 2 ? filler : "");
	buffer_puts(&text, "\n]}");
	free(filler);
	read_text();
	ck_assert_uint_eq(first_op()->count, 4);
	ck_assert_uint_eq(all->profile.damaged_count, 0);
	profile_analysis_release(all);
}
END_TEST

/* As VizTracer does with the source of the program, before or behind the events. */
START_TEST(what_stands_beside_the_events_may_be_of_any_size)
{
	enum { SIZE = 40 << 20 };
	static const char event[] = "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}";
	char *source = malloc(SIZE + 1);
	for (size_t i = 0; i < SIZE; i++)
		source[i] = "def f():\\n\\\"]{"[i % 14];
	source[SIZE] = '\0';
	for (int is_before = 0; is_before < 2; is_before++) {
		buffer_clear(&text);
		buffer_puts(&text, "{");
		if (is_before)
			buffer_printf(&text, "\"file_info\": {\"files\": [\"%s\\\\\"]}, ", source);
		buffer_printf(&text, "\"traceEvents\": [%s]", event);
		if (!is_before)
			buffer_printf(&text, ", \"file_info\": {\"files\": [\"%s\\\\\"]}", source);
		buffer_puts(&text, "}");
		read_text();
		ck_assert_uint_eq(all->profile.event_count, 1);
		ck_assert(!all->profile.is_cut && !all->profile.has_more);
		profile_analysis_release(all);
	}
	free(source);
}
END_TEST

START_TEST(damage_in_a_file_is_found_at_its_byte)
{
	buffer_puts(&text, "{\"traceEvents\": [");
	for (unsigned i = 0; i < 400; i++)
		add_event(i, "");
	buffer_puts(&text, "\n]}");
	char *damage = memmem(text.data + 20000, text.length - 20000, "\"tid\":", 6);
	damage[5] = ' ';
	read_text();
	const char *event = damage;
	while (*event != '{')
		event--;
	ck_assert_uint_eq(all->profile.damaged_count, 1);
	ck_assert_uint_eq(all->profile.damaged_offset, (uint64_t)(event - text.data));
	ck_assert_uint_eq(all->profile.event_count, 399);
	profile_analysis_release(all);
}
END_TEST

START_TEST(damage_is_not_taken_for_an_event_that_goes_on)
{
	buffer_puts(&text, "{\"traceEvents\": [");
	add_event(0, ", \"k\" 1");
	char *blank = malloc(70 << 20);
	memset(blank, ' ', 70 << 20);
	buffer_add(&text, blank, 70 << 20);
	free(blank);
	add_event(1, "");
	buffer_puts(&text, "\n]}");
	read_text();
	ck_assert(!all->profile.is_cut);
	ck_assert_uint_eq(all->profile.damaged_count, 1);
	ck_assert_uint_eq(all->profile.event_count, 1);
	profile_analysis_release(all);
}
END_TEST

START_TEST(a_file_without_events_is_cut_off_or_no_trace)
{
	static const struct {
		const char *text, *reason;
	} rows[] = {
		{ "{\"schemaVersion\": 1, \"devicePro", "cut off at byte 31, before its first event" },
		{ "{\"traceEvents\": [", "cut off at byte 17, before its first event" },
		{ "{\"traceEvents\": [\n  {\n    \"ph\": \"X\", \"na", "cut off at byte 40, before its first event" },
		{ "{\"schemaVersion\": 1}", "no trace: it has no traceEvents" },
		{ "{\"schemaVersion\" 1}", "no trace: it has no traceEvents" },
		{ "{schemaVersion: 1}", "no trace: it has no traceEvents" },
		{ "{\"traceEvents\": [1, 2]}", "no trace: its objects are no events" },
		{ "", "no trace: the file is empty" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct reason reason = { "", "" };
		ck_assert_int_eq(
			profile_analyse_memory(all, rows[i].text, strlen(rows[i].text), GROUP_NAME, &reason), STATUS_UNSUPPORTED);
		ck_assert_str_eq(reason.text, rows[i].reason);
	}
}
END_TEST

/* What people take for a trace; the second byte of a protobuf is a length. */
START_TEST(a_file_of_another_format_is_named_with_what_to_do)
{
	static const struct {
		const char *text, *reason, *remedy;
	} rows[] = {
		{ "\x28\xb5\x2f\xfd____________", "no trace: it is compressed with zstd", "unpack it first: zstd -d FILE" },
		{ "PK\3\4_____________", "no trace: it is a zip archive", "unpack it first: unzip FILE" },
		{ "[[1795933181318852, 1795933181319019], [[4096, 0], [4096, 512]]]",
			"no trace: it has lists, as export_memory_timeline writes them",
			"give what export_chrome_trace writes of the same profile" },
		{ "{\n  \"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 7,\n  \"nodes\": [{\"id\": 2}]}",
			"no trace: it is an execution trace, which has no times",
			"give what export_chrome_trace writes of the same profile" },
		{ "\n\x08\x12\x0c/device:TPU:0", "no trace: it is a protobuf, such as an XPlane",
			"give the .trace.json.gz beside it, or export a Chrome trace (JSON)" },
		{ "\n\xd4\x0e\x12\xf7/host:CPU____", "no trace: it is a protobuf, such as an XPlane",
			"give the .trace.json.gz beside it, or export a Chrome trace (JSON)" },
		{ "(dp0\nVsegments\np1\n", "no trace: it is a pickle of protocol 0",
			"write it with protocol 2 or newer: pickle.dump(data, file, 2)" },
		{ "\nnothing but words", "no trace: it has no traceEvents",
			"give a file that torch.profiler wrote (export_chrome_trace)" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct reason reason = { "", "" };
		ck_assert_int_eq(
			profile_analyse_memory(all, rows[i].text, strlen(rows[i].text), GROUP_NAME, &reason), STATUS_UNSUPPORTED);
		ck_assert_str_eq(reason.text, rows[i].reason);
		ck_assert_str_eq(reason.remedy, rows[i].remedy);
	}
}
END_TEST

/* 16 bytes of each. */
START_TEST(text_in_utf_16_and_utf_32_is_named_with_and_without_a_mark)
{
	static const struct {
		char text[17];
		const char *reason, *remedy;
	} rows[] = {
		{ "\xff\xfe{\0\"\0t\0r\0a\0c\0e\0", "no trace: it is text in UTF-16",
			"convert it first: iconv -f UTF-16 -t UTF-8 FILE" },
		{ "{\0\"\0t\0r\0a\0c\0e\0E\0", "no trace: it is text in UTF-16",
			"convert it first: iconv -f UTF-16LE -t UTF-8 FILE" },
		{ "\0[\0{\0\"\0p\0h\0\"\0:\0\"", "no trace: it is text in UTF-16",
			"convert it first: iconv -f UTF-16BE -t UTF-8 FILE" },
		{ "\xff\xfe\0\0{\0\0\0\"\0\0\0t\0\0", "no trace: it is text in UTF-32",
			"convert it first: iconv -f UTF-32 -t UTF-8 FILE" },
		{ "[\0\0\0{\0\0\0\"\0\0\0p\0\0", "no trace: it is text in UTF-32",
			"convert it first: iconv -f UTF-32LE -t UTF-8 FILE" },
		{ "\0\0\0{\0\0\0\"\0\0\0t\0\0\0", "no trace: it is text in UTF-32",
			"convert it first: iconv -f UTF-32BE -t UTF-8 FILE" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct reason reason = { "", "" };
		ck_assert_int_eq(profile_analyse_memory(all, rows[i].text, 16, GROUP_NAME, &reason), STATUS_UNSUPPORTED);
		ck_assert_str_eq(reason.text, rows[i].reason);
		ck_assert_str_eq(reason.remedy, rows[i].remedy);
	}
}
END_TEST

static void expect_loss(const char *expected)
{
	char loss[400];
	ck_assert_str_eq(profile_analysis_loss(all, loss, sizeof loss), expected);
}

START_TEST(what_follows_the_end_of_a_trace_is_left_out_and_said)
{
	static const struct {
		const char *text, *loss;
	} rows[] = {
		{ "[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]\r\n", "" },
		{ "[{\"ph\":\"X\",\"ts\":1,\"dur\":1}] [{}]", "the trace ends at byte 28: the rest of the file is left out" },
		{ "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}\n{}",
			"the trace ends at byte 44: the rest of the file is left out" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buffer_clear(&text);
		buffer_puts(&text, rows[i].text);
		read_text();
		ck_assert_uint_eq(all->profile.event_count, 1);
		expect_loss(rows[i].loss);
		profile_analysis_release(all);
	}
}
END_TEST

#define BEGIN(name, ts) "{\"ph\":\"B\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts "},"
#define END(name, ts) "{\"ph\":\"E\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts "},"

START_TEST(an_end_belongs_to_the_begin_of_its_name_and_what_has_none_is_said)
{
	static const struct {
		const char *events, *loss;
		int64_t p_ns, q_ns;
	} rows[] = {
		{ BEGIN("p", "0") BEGIN("q", "10") END("p", "50") END("q", "20"), "", 50000, 10000 },
		{ BEGIN("p", "0") BEGIN("q", "10") END("", "20") END("", "50"), "", 50000, 10000 },
		{ BEGIN("p", "0") BEGIN("q", "10") END("q", "20"), "1 event without a begin or an end is left out", 0, 10000 },
		{ END("q", "20") END("r", "25") BEGIN("p", "30") END("p", "40"),
			"2 events without a begin or an end are left out", 10000, 0 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int64_t p_ns = 0, q_ns = 0;
		buffer_clear(&text);
		buffer_printf(&text, "[%s{\"ph\":\"M\"}]", rows[i].events);
		read_text();
		expect_loss(rows[i].loss);
		for (uint32_t k = 0; k < all->ops.count; k++) {
			bool is_p = profile_names_begin(&all->profile.names, profile_name_of(all->ops.rows[k].name), "p");
			*(is_p ? &p_ns : &q_ns) = all->ops.rows[k].total_ns;
		}
		ck_assert_int_eq(p_ns, rows[i].p_ns);
		ck_assert_int_eq(q_ns, rows[i].q_ns);
		profile_analysis_release(all);
	}
}
END_TEST

START_TEST(events_of_too_many_threads_are_counted)
{
	struct reason reason;
	buffer_puts(&text, "[");
	for (unsigned i = 0; i < PROFILE_TRACKS_MAX + 3; i++)
		buffer_printf(&text, "{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"tid\":%u},", i);
	ck_assert_int_eq(profile_analyse_memory(all, text.data, text.length, GROUP_NAME, &reason), STATUS_OK);
	expect_loss("3 events of threads beyond the first 65,536 are left out");
	ck_assert_uint_eq(first_op()->count, PROFILE_TRACKS_MAX);
	profile_analysis_release(all);
}
END_TEST

/* The bytes of a gzip file: two members of one event each; in the end, its checksum and length. */
static void write_gzip(size_t flipped_from_end, const char *behind)
{
	gzFile first = gzopen(path, "wb");
	ck_assert_int_gt(gzputs(first, "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},"), 0);
	ck_assert_int_eq(gzclose(first), Z_OK);
	gzFile second = gzopen(path, "ab");
	ck_assert_int_gt(gzputs(second, "{\"ph\":\"X\",\"ts\":2,\"dur\":1}]"), 0);
	ck_assert_int_eq(gzclose(second), Z_OK);
	FILE *file = fopen(path, "r+");
	if (flipped_from_end) {
		fseek(file, -(long)flipped_from_end, SEEK_END);
		int byte = fgetc(file);
		fseek(file, -(long)flipped_from_end, SEEK_END);
		fputc(byte ^ 1, file);
	}
	fseek(file, 0, SEEK_END);
	fputs(behind, file);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_wrong_checksum_of_gzip_is_said_and_what_follows_is_ignored_as_gzip_does)
{
	static const struct {
		size_t flipped;
		const char *behind, *loss;
	} rows[] = {
		{ 0, "", "" },
		{ 0, "padding of a tape", "" },
		{ 8, "", "the compressed data are damaged: figures may be wrong; copy the file again" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct reason reason;
		write_gzip(rows[i].flipped, rows[i].behind);
		ck_assert_int_eq(profile_analyse(all, path, GROUP_NAME, NULL, &reason), STATUS_OK);
		ck_assert_uint_eq(all->profile.event_count, 2);
		expect_loss(rows[i].loss);
		profile_analysis_release(all);
	}
}
END_TEST

/* A file system that lost a block has zeros there. */
START_TEST(what_stands_behind_a_hole_of_zeros_is_read)
{
	buffer_puts(&text, "{\"traceEvents\": [");
	for (unsigned i = 0; i < 400; i++)
		add_event(i, "");
	buffer_puts(&text, "\n]}");
	memset(text.data + 20000, 0, 4096);
	read_text();
	ck_assert(!all->profile.is_cut);
	ck_assert_uint_eq(all->profile.damaged_count, 1);
	ck_assert_uint_gt(all->profile.event_count, 360);
	ck_assert_int_eq(all->profile.end_ns, 1000 * (1000 + 10 * 399) + 250 + 3125);
	profile_analysis_release(all);
}
END_TEST

START_TEST(a_layout_that_was_learnt_does_not_hide_another)
{
	/* Times of 1, 2, 4, … µs: the sum says which events were read right. */
	static const char *const events[] = {
		"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":null,\"pid\":1,\"tid\":1}",
		"{\"ph\":\"X\",\"name\":\"a\",\"ts\":10,\"dur\":2,\"args\":{\"dur\":9,\"args\":{\"dur\":7}},\"pid\":1,\"tid\":"
		"1}",
		"{\"ph\":\"X\",\"name\":\"a\",\"ts\":20,\"dur\": 4 ,\"args\":{},\"pid\":1,\"tid\":1}",
		"{\"ph\":\"X\",\"name\":\"a\",\"ts\":30,\"dur\":  8,\"args\":{\"dur\":9},\"pid\":1,\"tid\":1,}",
		"{ \"ph\" : \"X\" , \"name\":\"a\",\"ts\":50,\"dur\":\n16}",
		"{\"args\":{\"args\":3},\"ph\":\"X\",\"name\":\"a\",\"ts\":80,\"#\":5,\"dur\":32}",
		"{\"ph\":\"X\",\"name\":\"a\",\"ts\":150,\"dur\":64,\"a key that is longer than what a node can hold\":[{}]}",
	};
	enum { EVENTS = sizeof events / sizeof *events };
	buffer_puts(&text, "[");
	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < EVENTS; i++)
			buffer_printf(&text, "%s%s", round || i ? "," : "", events[i]);
	buffer_puts(&text, "]");
	read_text();
	int64_t total_ns = 0;
	for (uint32_t track = 0; track < all->profile.track_count; track++)
		for (uint32_t i = 0; i < all->profile.tracks[track].host_count; i++)
			total_ns += all->profile.tracks[track].hosts[i].duration_ns;
	ck_assert_uint_eq(all->profile.event_count, 3 * EVENTS);
	ck_assert_int_eq(total_ns, 3 * 127000);
	profile_analysis_release(all);
}
END_TEST

START_TEST(more_layouts_than_are_kept_are_read_all_the_same)
{
	enum { EVENTS = 3000 };
	buffer_puts(&text, "{\"traceEvents\": [");
	for (unsigned i = 0; i < EVENTS; i++) {
		char filler[64];
		snprintf(filler, sizeof filler, ", \"k%u\": {\"a\": [%u]}, \"j%u\": \"}\"", i % 1500, i, i);
		add_event(i, filler);
	}
	buffer_puts(&text, "\n]}");
	read_text();
	ck_assert_uint_eq(first_op()->count, EVENTS);
	profile_analysis_release(all);
}
END_TEST

/* HolisticTraceAnalysis 0.5.0 with HTA_DISABLE_NS_ROUNDING=1, TraceAnalysis(…, include_last_profiler_step=True)
 * .get_temporal_breakdown(): idle_time, compute_time, non_compute_time, kernel_time in µs. */
START_TEST(idle_time_between_kernels_equals_holistic_trace_analysis)
{
	static const double idle = 25575.7229, compute = 15057.7240, other = 5977.9110, window = 46611.3579;
	struct reason reason;
	ck_assert_int_eq(
		profile_analyse(all, "tests/fixtures/traces/h100-resnet18.pt.trace.json.gz", GROUP_NAME, NULL, &reason),
		STATUS_OK);
	const struct profile_gpu *gpu = &all->idle.gpus[0];
	ck_assert_double_eq_tol((double)gpu->kernel_window_ns / 1e3, window, 0.01);
	ck_assert_double_eq_tol((double)(gpu->kernel_window_ns - gpu->busy_ns) / 1e3, idle, 0.01);
	ck_assert_double_eq_tol((double)gpu->compute_ns / 1e3, compute, 0.01);
	ck_assert_double_eq_tol((double)(gpu->busy_ns - gpu->compute_ns) / 1e3, other, 0.01);
	ck_assert_int_eq(gpu->busy_ns + gpu->idle_ns, gpu->window_ns);
	profile_analysis_release(all);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace reading");
	TCase *cases = tcase_create("all");
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, an_event_may_lie_in_two_blocks_wherever_they_meet);
	tcase_add_test(cases, a_value_may_be_larger_than_a_block);
	tcase_add_test(cases, what_stands_beside_the_events_may_be_of_any_size);
	tcase_add_test(cases, damage_in_a_file_is_found_at_its_byte);
	tcase_add_test(cases, damage_is_not_taken_for_an_event_that_goes_on);
	tcase_add_test(cases, a_file_without_events_is_cut_off_or_no_trace);
	tcase_add_test(cases, a_file_of_another_format_is_named_with_what_to_do);
	tcase_add_test(cases, text_in_utf_16_and_utf_32_is_named_with_and_without_a_mark);
	tcase_add_test(cases, what_follows_the_end_of_a_trace_is_left_out_and_said);
	tcase_add_test(cases, an_end_belongs_to_the_begin_of_its_name_and_what_has_none_is_said);
	tcase_add_test(cases, events_of_too_many_threads_are_counted);
	tcase_add_test(cases, a_wrong_checksum_of_gzip_is_said_and_what_follows_is_ignored_as_gzip_does);
	tcase_add_test(cases, what_stands_behind_a_hole_of_zeros_is_read);
	tcase_add_test(cases, a_layout_that_was_learnt_does_not_hide_another);
	tcase_add_test(cases, more_layouts_than_are_kept_are_read_all_the_same);
	tcase_add_test(cases, idle_time_between_kernels_equals_holistic_trace_analysis);
	suite_add_tcase(suite, cases);
	return suite_run(suite);
}
