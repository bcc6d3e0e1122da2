#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/samples/codec.h"
#include "src/samples/stream.h"
#include "src/samples/stream_block.h"
#include "src/samples/stream_read.h"
#include "src/samples/stream_write.h"
#include "tests/support/suite.h"

enum { SETS = 12, BLOCKS_MAX = 64 };

/* A small recording, and the offsets of its blocks. */
static struct buffer recording;
static struct {
	size_t from, to;
} blocks[BLOCKS_MAX];
static size_t block_count;
static struct sample_set set;
static uint64_t seed;

static uint64_t random_bits(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void make_set(uint64_t which)
{
	sample_set_clear(&set);
	set.time_ns = 1000000000 + (int64_t)which * 100000000;
	sample_set_figure(&set, set.time_ns, METRIC_PROCESS_RESIDENT, 4711, (double)which);
	for (uint64_t i = 0; i < 3; i++) {
		struct record *record = sample_set_add(&set, RECORD_SPAN, 0, set.time_ns + (int64_t)i * 1000);
		record->sequence = which * 3 + i;
		record->span.name = 1;
		record->span.duration_ns = 500;
		record->span.self_s = record->span.cpu_s = record->span.memory_bytes = NAN;
	}
}

static void note_block(size_t from)
{
	blocks[block_count].from = from;
	blocks[block_count++].to = recording.length;
}

static void setup(void)
{
	struct stream_writer writer = { 0 };
	struct stream_header header = { .pid = 4711,
		.command = "train.py",
		.host = "here",
		.version = "0.1",
		.monotonic_ns = 1000000000,
		.realtime_ns = 5 };
	seed = 88172645463325252u;
	block_count = 0;
	stream_write_header(&writer, &header, &recording);
	note_block(0);
	for (uint64_t i = 0; i < SETS; i++) {
		size_t from = recording.length;
		make_set(i);
		stream_write_set(&writer, i % 4 == 0 ? BLOCK_DICTIONARY : BLOCK_TICK, &set, &recording);
		note_block(from);
	}
	stream_writer_release(&writer);
}

static void teardown(void)
{
	buffer_release(&recording);
	sample_set_release(&set);
}

/* Which sets were read, by their figure; an unknown set is an error. */
struct account {
	bool has[SETS];
	size_t count, gaps;
	bool has_header, is_refused;
	struct stream_losses losses;
};

static void take(struct account *account, struct stream_reader *reader)
{
	struct sample_set in = SAMPLE_SET_INIT;
	for (;;) {
		bool has_gap = false;
		enum stream_event event = stream_reader_next(reader, &in, &has_gap);
		account->has_header |= event == STREAM_HEADED;
		account->is_refused |= event == STREAM_REFUSED;
		if (event != STREAM_HEADED && event != STREAM_TICK && event != STREAM_DICTIONARY)
			break;
		if (event == STREAM_HEADED)
			continue;
		uint64_t which = (uint64_t)in.records[0].figure.value;
		ck_assert_uint_lt(which, SETS);
		make_set(which);
		ck_assert_uint_eq(in.count, set.count);
		ck_assert_int_eq(in.time_ns, set.time_ns);
		ck_assert_uint_eq(in.records[3].sequence, set.records[3].sequence);
		ck_assert(!account->has[which]);
		account->has[which] = true;
		account->count++;
		account->gaps += has_gap;
	}
	account->losses = *stream_reader_losses(reader);
	sample_set_release(&in);
}

static struct account read_all(const void *bytes, size_t length)
{
	struct account account = { .count = 0 };
	struct stream_reader *reader = stream_reader_new();
	ck_assert_int_eq(stream_reader_feed(reader, bytes, length), STATUS_OK);
	take(&account, reader);
	stream_reader_finish(reader);
	take(&account, reader);
	stream_reader_free(reader);
	return account;
}

/* Which sets must come when the bytes from..to are damaged: all with undamaged blocks, given the first dictionary and a
 * header. */
static void ck_untouched(const struct account *account, size_t from, size_t to)
{
	bool has_header = from >= blocks[0].to, has_dictionary = false;
	for (size_t i = 1; i < block_count; i++) {
		bool is_touched = from < blocks[i].to && to > blocks[i].from;
		has_dictionary |= !is_touched && (i - 1) % 4 == 0;
		ck_assert_msg(account->has[i - 1] == (has_header && has_dictionary && !is_touched),
			"damage at %zu–%zu: set %zu", from, to, i - 1);
	}
}

START_TEST(every_written_set_is_read)
{
	struct account account = read_all(recording.data, recording.length);
	ck_assert(account.has_header);
	ck_assert_uint_eq(account.count, SETS);
	ck_assert_uint_eq(account.losses.blocks + account.losses.bytes + account.losses.records + account.gaps, 0);
}
END_TEST

START_TEST(a_byte_at_a_time_is_the_same)
{
	struct account account = { .count = 0 };
	struct stream_reader *reader = stream_reader_new();
	for (size_t i = 0; i < recording.length; i++) {
		stream_reader_feed(reader, recording.data + i, 1);
		take(&account, reader);
	}
	ck_assert_uint_eq(account.count, SETS);
	ck_assert_uint_eq(account.losses.bytes, 0);
	stream_reader_free(reader);
}
END_TEST

START_TEST(every_length_keeps_what_is_whole)
{
	for (size_t length = 0; length < recording.length; length++) {
		char *copy = malloc(length + 1);
		memcpy(copy, recording.data, length);
		struct account account = read_all(copy, length);
		size_t whole = 0;
		while (whole < block_count && blocks[whole].to <= length)
			whole++;
		ck_assert_uint_eq(account.count, whole ? whole - 1 : 0);
		ck_assert_uint_eq(account.losses.bytes, length - (whole ? blocks[whole - 1].to : 0));
		free(copy);
	}
}
END_TEST

START_TEST(every_flipped_bit_costs_its_block_alone)
{
	for (size_t bit = 0; bit < recording.length * 8; bit++) {
		/* Of the header, which is long, some. */
		if (bit / 8 < blocks[0].to && bit % 11)
			continue;
		recording.data[bit / 8] ^= (char)(1 << bit % 8);
		struct account account = read_all(recording.data, recording.length);
		ck_untouched(&account, bit / 8, bit / 8 + 1);
		recording.data[bit / 8] ^= (char)(1 << bit % 8);
	}
}
END_TEST

START_TEST(ranges_of_zeros_and_noise_cost_what_they_touch)
{
	char *copy = malloc(recording.length);
	for (int round = 0; round < 2000; round++) {
		size_t from = random_bits() % recording.length, length = 1 + random_bits() % 300;
		length = length < recording.length - from ? length : recording.length - from;
		memcpy(copy, recording.data, recording.length);
		for (size_t i = 0; i < length; i++)
			copy[from + i] = round % 2 ? 0 : (char)random_bits();
		/* Bytes that did not change are no damage. */
		size_t to = from + length;
		while (from < to && copy[from] == recording.data[from])
			from++;
		while (to > from && copy[to - 1] == recording.data[to - 1])
			to--;
		struct account account = read_all(copy, recording.length);
		if (from < to)
			ck_untouched(&account, from, to);
	}
	free(copy);
}
END_TEST

START_TEST(ranges_that_were_cut_out_or_put_in_cost_what_they_touch)
{
	char *copy = malloc(recording.length + 300);
	for (int round = 0; round < 2000; round++) {
		size_t at = blocks[0].to + random_bits() % (recording.length - blocks[0].to), length = 1 + random_bits() % 300;
		memcpy(copy, recording.data, at);
		if (round % 2) {
			for (size_t i = 0; i < length; i++)
				copy[at + i] = (char)random_bits();
			memcpy(copy + at + length, recording.data + at, recording.length - at);
			struct account account = read_all(copy, recording.length + length);
			bool is_between = false;
			for (size_t i = 0; i < block_count; i++)
				is_between |= blocks[i].from == at;
			ck_untouched(&account, is_between ? at : at - 1, is_between ? at : at + 1);
			ck_assert_uint_ge(account.losses.bytes, length);
		} else {
			length = length < recording.length - at ? length : recording.length - at;
			/* Equal bytes before and after: another cut would give the same. */
			if (recording.data[at - 1] == recording.data[at + length - 1] ||
				(at + length < recording.length && recording.data[at] == recording.data[at + length]))
				continue;
			memcpy(copy + at, recording.data + at + length, recording.length - at - length);
			struct account account = read_all(copy, recording.length - length);
			ck_untouched(&account, at, at + length);
		}
	}
	free(copy);
}
END_TEST

START_TEST(lost_blocks_are_counted_and_reported_as_a_gap)
{
	size_t cut = blocks[4].to - blocks[3].from;
	memmove(recording.data + blocks[3].from, recording.data + blocks[4].to, recording.length - blocks[4].to);
	struct account account = read_all(recording.data, recording.length - cut);
	ck_assert_uint_eq(account.losses.blocks, 2);
	ck_assert_uint_eq(account.losses.bytes, 0);
	ck_assert_uint_eq(account.gaps, 1);
	ck_assert_uint_eq(account.count, SETS - 2);
}
END_TEST

START_TEST(a_reader_that_comes_late_begins_with_a_dictionary)
{
	/* The header, then the stream from within a block on. */
	size_t from = blocks[3].from + 7;
	memmove(recording.data + blocks[0].to, recording.data + from, recording.length - from);
	struct account account = read_all(recording.data, recording.length - (from - blocks[0].to));
	ck_assert_uint_eq(account.count, SETS - 4);
	ck_assert(account.has[4] && !account.has[3]);
}
END_TEST

START_TEST(a_set_that_is_too_large_for_a_block_is_one_set_again)
{
	struct stream_writer writer = { 0 };
	struct stream_header header = { .pid = 1 };
	struct buffer out = BUFFER_INIT;
	bool has_gap;
	stream_write_header(&writer, &header, &out);
	sample_set_clear(&set);
	set.time_ns = 77;
	set.failed = true;
	for (uint64_t i = 0; i < 200000; i++)
		sample_set_figure(&set, 77, METRIC_PROCESS_RESIDENT, (int32_t)i, 1e-3);
	stream_write_set(&writer, BLOCK_DICTIONARY, &set, &out);
	ck_assert_uint_gt(writer.number, 5);
	struct stream_reader *reader = stream_reader_new();
	struct sample_set in = SAMPLE_SET_INIT;
	enum stream_event event = STREAM_WAIT;
	for (size_t at = 0; at < out.length && event != STREAM_DICTIONARY; at += 100000) {
		stream_reader_feed(reader, out.data + at, out.length - at < 100000 ? out.length - at : 100000);
		while ((event = stream_reader_next(reader, &in, &has_gap)) == STREAM_HEADED)
			;
	}
	ck_assert_int_eq(event, STREAM_DICTIONARY);
	ck_assert_uint_eq(in.count, 200000);
	ck_assert(in.failed);
	ck_assert_int_eq(in.records[199999].figure.instance, 199999);
	stream_reader_free(reader);
	sample_set_release(&in);
	buffer_release(&out);
	stream_writer_release(&writer);
}
END_TEST

START_TEST(another_version_is_refused_by_name)
{
	struct stream_writer writer = { 0 };
	struct stream_header header = { .incompatible = 4 };
	struct buffer out = BUFFER_INIT;
	bool has_gap;
	stream_write_header(&writer, &header, &out);
	struct stream_reader *reader = stream_reader_new();
	stream_reader_feed(reader, out.data, out.length);
	ck_assert_int_eq(stream_reader_next(reader, &set, &has_gap), STREAM_REFUSED);
	ck_assert_str_eq(stream_reader_refusal(reader),
		"recording of version 1.0 with features unknown here: this pmtop reads version 1");
	stream_reader_free(reader);
	buffer_release(&out);
	stream_writer_release(&writer);
}
END_TEST

START_TEST(a_dead_writer_leaves_what_it_wrote)
{
	struct account account = read_all(recording.data, blocks[5].to + 10);
	ck_assert_uint_eq(account.count, 5);
	ck_assert_uint_eq(account.losses.bytes, 10);
}
END_TEST

/* -- several streams, sets in parts, and what is meant to harm -- */

static struct stream_header header_of(unsigned char uuid, int32_t pid)
{
	return (struct stream_header){ .uuid = { uuid }, .pid = pid, .host = "here", .boot_id = "now" };
}

/* Sets `from`..`to`−1, the first a dictionary. */
static void append(struct stream_writer *writer, struct buffer *out, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		make_set(i);
		stream_write_set(writer, i == from ? BLOCK_DICTIONARY : BLOCK_TICK, &set, out);
	}
}

START_TEST(a_set_in_parts_comes_whole_or_not_at_all)
{
	struct stream_writer writer = { 0 };
	struct stream_header header = header_of(1, 1);
	struct buffer out = BUFFER_INIT, cut = BUFFER_INIT;
	struct stream_block block;
	stream_write_header(&writer, &header, &out);
	append(&writer, &out, 0, 2);
	size_t from = out.length;
	sample_set_clear(&set);
	set.time_ns = 77;
	for (uint64_t i = 0; i < 100000; i++)
		sample_set_figure(&set, 77, METRIC_PROCESS_RESIDENT, (int32_t)i, 1e-3);
	uint64_t number = writer.number;
	stream_write_set(&writer, BLOCK_TICK, &set, &out);
	uint64_t parts = writer.number - number;
	ck_assert_uint_ge(parts, 3);
	append(&writer, &out, 2, 4);
	/* Without its first, or its second. */
	for (int which = 0; which < 2; which++) {
		size_t at = from;
		for (int i = 0; i <= which; i++) {
			at += i ? STREAM_BLOCK_HEAD + block.length : 0;
			ck_assert_int_eq(stream_block_at((unsigned char *)out.data + at, out.length - at, &block), STREAM_FOUND);
		}
		buffer_clear(&cut);
		buffer_add(&cut, out.data, at);
		buffer_add(
			&cut, out.data + at + STREAM_BLOCK_HEAD + block.length, out.length - at - STREAM_BLOCK_HEAD - block.length);
		struct account account = read_all(cut.data, cut.length);
		ck_assert_uint_eq(account.count, 4);
		ck_assert_uint_eq(account.gaps, 1);
		ck_assert_uint_eq(account.losses.blocks, parts);
	}
	buffer_release(&out);
	buffer_release(&cut);
	stream_writer_release(&writer);
}
END_TEST

START_TEST(a_sender_that_was_started_again_is_read_on_after_a_gap)
{
	struct stream_writer first = { 0 }, second = { 0 };
	struct stream_header headers[] = { header_of(1, 7), header_of(2, 7), header_of(3, 8) };
	struct buffer out = BUFFER_INIT;
	stream_write_header(&first, &headers[0], &out);
	append(&first, &out, 0, 5);
	stream_write_header(&second, &headers[1], &out);
	append(&second, &out, 5, 9);
	struct account account = read_all(out.data, out.length);
	ck_assert_uint_eq(account.count, 9);
	ck_assert_uint_eq(account.gaps, 1);
	ck_assert(!account.is_refused);
	/* Another process means another recording. */
	stream_write_header(&second, &headers[2], &out);
	append(&second, &out, 9, 11);
	account = read_all(out.data, out.length);
	ck_assert_uint_eq(account.count, 9);
	ck_assert(account.is_refused);
	buffer_release(&out);
	stream_writer_release(&first);
	stream_writer_release(&second);
}
END_TEST

START_TEST(another_header_may_precede_the_stream)
{
	struct stream_writer writer = { .number = 900 };
	struct stream_header header = header_of(0, 4711);
	struct buffer out = BUFFER_INIT;
	stream_write_header(&writer, &header, &out);
	buffer_add(&out, recording.data + blocks[0].to, recording.length - blocks[0].to);
	struct account account = read_all(out.data, out.length);
	ck_assert_uint_eq(account.count, SETS);
	ck_assert_uint_eq(account.losses.blocks + account.gaps, 0);
	buffer_release(&out);
	stream_writer_release(&writer);
}
END_TEST

START_TEST(some_bytes_cannot_ask_for_any_amount_of_memory)
{
	static const struct total_row total;
	struct stream_writer writer = { 0 };
	struct stream_header header = header_of(1, 1);
	struct buffer out = BUFFER_INIT;
	struct sample_set in = SAMPLE_SET_INIT;
	bool has_gap;
	stream_write_header(&writer, &header, &out);
	sample_set_clear(&set);
	for (int i = 0; i < 200000; i++)
		sample_set_add(&set, RECORD_TOTAL, 0, 0)->total = &total;
	stream_write_set(&writer, BLOCK_DICTIONARY, &set, &out);
	ck_assert_uint_lt(out.length, 20000000);
	struct stream_reader *reader = stream_reader_new();
	stream_reader_feed(reader, out.data, out.length);
	ck_assert_int_eq(stream_reader_next(reader, &in, &has_gap), STREAM_HEADED);
	ck_assert_int_eq(stream_reader_next(reader, &in, &has_gap), STREAM_DICTIONARY);
	ck_assert(in.failed);
	ck_assert_uint_lt(in.count, 100000);
	ck_assert_uint_le(in.allocated + in.count * sizeof *in.records, CODEC_SET_MAX);
	stream_reader_free(reader);
	sample_set_release(&in);
	buffer_release(&out);
	stream_writer_release(&writer);
}
END_TEST

/* Each looks like a block of a megabyte. */
START_TEST(bytes_that_imitate_blocks_are_given_up)
{
	enum { SIZE = STREAM_PAYLOAD_MAX + 65536 };
	unsigned char *bytes = calloc(1, SIZE);
	for (size_t at = 0; at + STREAM_BLOCK_HEAD < SIZE; at += STREAM_BLOCK_HEAD) {
		memcpy(bytes + at, "pmtB", 4);
		bytes[at + 34] = 0x0f;
	}
	ck_assert(read_all(bytes, SIZE).is_refused);
	free(bytes);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stream");
	TCase *tests = tcase_create("stream");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	const TTest *const all[] = {
		every_written_set_is_read,
		a_byte_at_a_time_is_the_same,
		every_length_keeps_what_is_whole,
		every_flipped_bit_costs_its_block_alone,
		ranges_of_zeros_and_noise_cost_what_they_touch,
		ranges_that_were_cut_out_or_put_in_cost_what_they_touch,
		lost_blocks_are_counted_and_reported_as_a_gap,
		a_reader_that_comes_late_begins_with_a_dictionary,
		a_set_that_is_too_large_for_a_block_is_one_set_again,
		another_version_is_refused_by_name,
		a_dead_writer_leaves_what_it_wrote,
		a_set_in_parts_comes_whole_or_not_at_all,
		a_sender_that_was_started_again_is_read_on_after_a_gap,
		another_header_may_precede_the_stream,
		some_bytes_cannot_ask_for_any_amount_of_memory,
		bytes_that_imitate_blocks_are_given_up,
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		tcase_add_test(tests, all[i]);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
