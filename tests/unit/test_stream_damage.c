/* A real recording of a synthetic run, with every damage that a disk can do: the reader returns only recorded sets, in
 * order; it returns every undamaged set, and counts losses. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/formats/crc32c.h"
#include "src/collect/ledger.h"
#include "src/collect/recorder.h"
#include "src/samples/codec.h"
#include "src/samples/codec_write.h"
#include "src/samples/stream_block.h"
#include "src/samples/stream_read.h"
#include "src/sources/synthetic/synthetic.h"
#include "tests/support/stride.h"
#include "tests/support/suite.h"

enum { BLOCKS_MAX = 400, SMALL_SETS = 10, LARGE_SETS = 150 };
#define START_NS (INT64_C(1000) * NS_PER_S)

struct block {
	size_t from, to;
	uint16_t kind;
	int64_t time_ns;
	uint32_t content; /* of its set, as it was put in */
	size_t copy;      /* of the first dictionary: the block that says the same; 0 = none */
	bool is_copy;
};

static struct block blocks[BLOCKS_MAX];
static size_t block_count, copy_at;
static char *recording, *damaged;
static size_t length;
static struct buffer bytes;
static struct sample_set in;
static uint64_t seed;

static size_t below(size_t end)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (size_t)(seed % end);
}

/* Equal sets have equal bytes (see test_codec), which identify the set. */
static uint32_t content_of(const struct sample_set *set)
{
	buffer_clear(&bytes);
	codec_write(set, 0, SIZE_MAX, &bytes);
	return crc32c((uint32_t)set->count, bytes.data ? bytes.data : "", bytes.length);
}

/* -- the recording -- */

static size_t find_blocks(void)
{
	size_t at = 0, sets = 0;
	struct stream_block block;
	for (block_count = 0; at < length; block_count++) {
		ck_assert_int_eq(stream_block_at((unsigned char *)recording + at, length - at, &block), STREAM_FOUND);
		blocks[block_count] = (struct block){
			.from = at, .to = at + STREAM_BLOCK_HEAD + block.length, .kind = block.kind, .time_ns = block.time_ns
		};
		at = blocks[block_count].to;
		sets += block.kind == BLOCK_TICK || block.kind == BLOCK_DICTIONARY;
	}
	return sets;
}

/* A file begins with a header, a dictionary, some headers, and the dictionary again. */
static void find_copy(void)
{
	const struct block *first = &blocks[1], *second;
	for (copy_at = 2; blocks[copy_at].kind == BLOCK_HEADER; copy_at++)
		continue;
	second = &blocks[copy_at];
	ck_assert_int_eq(first->kind, BLOCK_DICTIONARY);
	ck_assert_int_eq(second->kind, BLOCK_DICTIONARY);
	ck_assert_uint_eq(first->to - first->from, second->to - second->from);
	ck_assert_int_eq(memcmp(recording + first->from + STREAM_BLOCK_HEAD, recording + second->from + STREAM_BLOCK_HEAD,
						 first->to - first->from - STREAM_BLOCK_HEAD),
		0);
	blocks[1].copy = copy_at;
	blocks[copy_at].is_copy = true;
}

static void read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	recording = malloc(1 << 20);
	length = fread(recording, 1, 1 << 20, file);
	damaged = malloc(2 * length);
	fclose(file);
}

/* So that every bit of the small one can be tried. */
static void thin_out(struct sample_set *set, size_t share)
{
	size_t retained = 0;
	for (size_t i = 0; i < set->count; i += share)
		set->records[retained++] = set->records[i];
	set->count = retained;
}

/* Five readings a second with one record in `share`, and a dictionary after each `every` of them. */
static void make_recording(size_t sets, size_t every, size_t share)
{
	char folder[] = "/tmp/pmtop-damage-XXXXXX", path[64];
	uint32_t contents[BLOCKS_MAX];
	struct reason why = { "", "" };
	struct synthetic *run;
	struct recorder *recorder;
	struct recorder_options options = { 0 };
	struct stream_header header = {
		.pid = SYNTHETIC_PID, .uuid = "0123456789abcdef", .monotonic_ns = START_NS, .command = "train.py"
	};
	struct sample_set set = SAMPLE_SET_INIT;
	struct ledger *ledger = ledger_new();
	seed = 88172645463325252u;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/run.pmtop", folder);
	ck_assert_int_eq(synthetic_new("", START_NS, &run, &why), STATUS_OK);
	ck_assert_int_eq(recorder_open(path, &header, &options, &recorder, &why), STATUS_OK);
	for (size_t i = 0; i < sets; i++) {
		sample_set_clear(&set);
		set.time_ns = START_NS + (int64_t)i * NS_PER_S / 5;
		bool is_dictionary = i % every == 0;
		if (is_dictionary && i)
			ledger_emit(ledger, set.time_ns, &set);
		else
			synthetic_emit(run, set.time_ns, &set);
		ledger_note(ledger, &set, 0);
		thin_out(&set, share);
		contents[i] = content_of(&set);
		ck_assert_uint_gt(recorder_add(recorder, is_dictionary ? BLOCK_DICTIONARY : BLOCK_TICK, &set), 0);
	}
	recorder_close(recorder, NULL);
	read_file(path);
	ck_assert_uint_eq(find_blocks(), sets + 1);
	find_copy();
	if (getenv("DAMAGE_SAY"))
		fprintf(stderr, "%zu bytes, %zu blocks\n", length, block_count);
	for (size_t i = 0, set_number = 0; i < block_count; i++)
		if ((blocks[i].kind == BLOCK_TICK || blocks[i].kind == BLOCK_DICTIONARY) && !blocks[i].is_copy)
			blocks[i].content = contents[set_number++];
	unlink(path);
	rmdir(folder);
	ledger_free(ledger);
	synthetic_free(run);
	sample_set_release(&set);
}

static void setup_small(void) { make_recording(SMALL_SETS, 4, 8); }
static void setup_large(void) { make_recording(LARGE_SETS, 25, 4); }

static void teardown(void)
{
	free(recording);
	free(damaged);
	buffer_release(&bytes);
	sample_set_release(&in);
}

/* -- what comes of it -- */

struct account {
	bool has[BLOCKS_MAX];
	size_t count;
	bool is_indexed;
	struct stream_losses losses;
};

static struct account read_all(const char *from, size_t size)
{
	struct account account = { .count = 0 };
	struct stream_reader *reader = stream_reader_new();
	size_t at = 0;
	stream_reader_feed(reader, from, size);
	stream_reader_finish(reader);
	for (enum stream_event event = STREAM_WAIT; event != STREAM_END;) {
		bool has_gap = false;
		event = stream_reader_next(reader, &in, &has_gap);
		ck_assert(event != STREAM_REFUSED && event != STREAM_WAIT);
		account.is_indexed |= event == STREAM_INDEXED;
		if (event != STREAM_TICK && event != STREAM_DICTIONARY)
			continue;
		uint16_t kind = event == STREAM_TICK ? BLOCK_TICK : BLOCK_DICTIONARY;
		uint32_t content = content_of(&in);
		while (at < block_count &&
			(blocks[at].kind != kind || blocks[at].time_ns != in.time_ns || blocks[at].content != content))
			at++;
		ck_assert_msg(at < block_count, "a set came that never went in, or not after the one before");
		account.has[at++] = true;
		account.count++;
	}
	account.losses = *stream_reader_losses(reader);
	stream_reader_free(reader);
	return account;
}

static bool is_set(size_t i)
{
	return (blocks[i].kind == BLOCK_TICK || blocks[i].kind == BLOCK_DICTIONARY) && !blocks[i].is_copy;
}

/* An undamaged block of this kind before `upto`, after a header if `is_headed`. */
static bool has_untouched(enum block_kind kind, bool is_headed, size_t upto, size_t from, size_t to)
{
	bool has_header = !is_headed;
	for (size_t i = 0; i <= upto && i < block_count; i++) {
		bool is_touched = i >= from && i < to;
		has_header |= !is_touched && blocks[i].kind == BLOCK_HEADER;
		if (!is_touched && has_header && blocks[i].kind == kind)
			return true;
	}
	return false;
}

/* None of the damaged blocks from..to−1 may come, and all others must. Exceptions: nothing before the first header can
 * be read, and without both copies of the first dictionary nothing before the next. */
static bool is_wanted(size_t i, size_t from, size_t to)
{
	size_t upto = blocks[i].copy ? blocks[i].copy : i;
	bool is_touched = i >= from && i < to, has_dictionary = has_untouched(BLOCK_DICTIONARY, true, upto, from, to);
	return has_dictionary && (!is_touched || blocks[i].copy);
}

/* More: the bytes in place of a block may contain it whole. */
static void ck_all_or_more(const struct account *account, size_t from, size_t to)
{
	for (size_t i = 0; i < block_count; i++)
		if (is_set(i))
			ck_assert_msg(account->has[i] || !is_wanted(i, from, to), "blocks %zu–%zu: block %zu", from, to, i);
}

static void ck_all_but(const struct account *account, size_t from, size_t to)
{
	size_t lost = to - from;
	for (size_t i = 0; i < block_count; i++) {
		if (is_set(i))
			ck_assert_msg(account->has[i] == is_wanted(i, from, to), "blocks %zu–%zu: block %zu", from, to, i);
		lost += (i < from || i >= to) && blocks[i].kind == BLOCK_TICK && !is_wanted(i, from, to);
	}
	if (from && to < block_count)
		ck_assert_uint_eq(account->losses.blocks, lost);
}

static void touched(size_t from, size_t to, size_t *first, size_t *end)
{
	*first = 0;
	while (*first < block_count && blocks[*first].to <= from)
		++*first;
	*end = *first;
	while (*end < block_count && blocks[*end].from < to)
		++*end;
}

START_TEST(whole_it_is_read_whole)
{
	struct account account = read_all(recording, length);
	ck_all_but(&account, block_count, block_count);
	ck_assert(account.is_indexed);
	ck_assert_uint_eq(account.losses.blocks + account.losses.bytes + account.losses.records, 0);
}
END_TEST

START_TEST(every_length)
{
	for (size_t size = 0; size < length; size += STRIDE) {
		struct account account = read_all(recording, size);
		size_t whole = 0;
		while (blocks[whole].to <= size)
			whole++;
		ck_all_but(&account, whole, block_count);
		ck_assert_uint_eq(account.losses.bytes, size - (whole ? blocks[whole - 1].to : 0));
		ck_assert_uint_eq(account.losses.blocks, 0);
	}
}
END_TEST

static void flip(size_t bit)
{
	size_t first, end;
	recording[bit / 8] ^= (char)(1 << bit % 8);
	struct account account = read_all(recording, length);
	recording[bit / 8] ^= (char)(1 << bit % 8);
	touched(bit / 8, bit / 8 + 1, &first, &end);
	ck_all_but(&account, first, end);
	ck_assert_uint_eq(account.losses.bytes, blocks[first].to - blocks[first].from);
}

START_TEST(every_flipped_bit)
{
	for (size_t bit = 0; bit < length * 8; bit += STRIDE)
		flip(bit);
}
END_TEST

/* Damage to the first dictionary or to its headers loses no set. */
START_TEST(every_damaged_byte_of_what_a_file_begins_with)
{
	for (size_t bit = 0; bit < blocks[copy_at].to * 8; bit += 1 + below(16 * STRIDE)) {
		recording[bit / 8] ^= (char)(1 << bit % 8);
		struct account account = read_all(recording, length);
		recording[bit / 8] ^= (char)(1 << bit % 8);
		for (size_t i = 0; i < block_count; i++)
			ck_assert_msg(account.has[i] == is_set(i), "bit %zu: block %zu", bit, i);
		ck_assert_uint_gt(account.losses.bytes, 0);
	}
}
END_TEST

/* A page that the disk returns as zeros, at any offset in the file. */
START_TEST(every_zeroed_page)
{
	enum { PAGE = 4096 };
	for (size_t from = 0; from < length; from += 512 * STRIDE / 2) {
		size_t size = from + PAGE < length ? PAGE : length - from, first, end;
		memcpy(damaged, recording, length);
		memset(damaged + from, 0, size);
		struct account account = read_all(damaged, length);
		touched(from, from + size, &first, &end);
		for (size_t i = 0; i < block_count; i++)
			ck_assert_msg(account.has[i] == (is_set(i) && (blocks[i].copy || i < first || i >= end)),
				"page at %zu: block %zu", from, i);
	}
}
END_TEST

START_TEST(flipped_bits_here_and_there)
{
	for (size_t bit = 0; bit < length * 8; bit += 1 + below(4000))
		flip(bit);
}
END_TEST

/* Zeros, noise, or bytes from elsewhere in the file. */
START_TEST(ranges_with_something_else_in_them)
{
	for (int round = 0; round < 450 / STRIDE; round++) {
		size_t from = below(length), size = 1 + below(round % 10 ? 600 : 8192), other = below(length), first, end;
		size = size < length - from ? size : length - from;
		other = other < length - size ? other : length - size;
		memcpy(damaged, recording, length);
		for (size_t i = 0; i < size; i++)
			damaged[from + i] = round % 3 == 0 ? 0 : round % 3 == 1 ? (char)below(256) : recording[other + i];
		size_t to = from + size;
		while (from < to && damaged[from] == recording[from])
			from++;
		while (to > from && damaged[to - 1] == recording[to - 1])
			to--;
		struct account account = read_all(damaged, length);
		touched(from, to, &first, &end);
		if (from < to)
			(round % 3 == 2 ? ck_all_or_more : ck_all_but)(&account, first, end);
	}
}
END_TEST

START_TEST(ranges_cut_out)
{
	for (int round = 0; round < 300 / STRIDE; round++) {
		size_t from = 1 + below(length - 1), size = 1 + below(round % 10 ? 600 : 8192), first, end;
		size = size < length - from ? size : length - from;
		memcpy(damaged, recording, from);
		memcpy(damaged + from, recording + from + size, length - from - size);
		/* Equal bytes before and after: another cut would give the same. */
		if (recording[from - 1] == recording[from + size - 1] ||
			(from + size < length && recording[from] == recording[from + size]))
			continue;
		struct account account = read_all(damaged, length - size);
		touched(from, from + size, &first, &end);
		ck_all_but(&account, first, end);
	}
}
END_TEST

/* Noise, or whole blocks from elsewhere: no set may come twice or too early. */
START_TEST(ranges_put_in)
{
	for (int round = 0; round < 300 / STRIDE; round++) {
		size_t at = 1 + below(length - 1), size = 1 + below(600), other = below(block_count), first, end;
		if (round % 2)
			size = blocks[other].to - blocks[other].from;
		memcpy(damaged, recording, at);
		for (size_t i = 0; i < size; i++)
			damaged[at + i] = round % 2 ? recording[blocks[other].from + i] : (char)below(256);
		memcpy(damaged + at + size, recording + at, length - at);
		struct account account = read_all(damaged, length + size);
		touched(at, at + 1, &first, &end);
		bool is_between = blocks[first].from == at;
		/* A copy directly before the rest of the block that it splits may replace that block. */
		if (round % 2 && !is_between && other == first)
			continue;
		ck_all_but(&account, first, is_between ? first : first + 1);
	}
}
END_TEST

static size_t put(size_t at, size_t i)
{
	memcpy(damaged + at, recording + blocks[i].from, blocks[i].to - blocks[i].from);
	return at + blocks[i].to - blocks[i].from;
}

/* Only the two moved blocks may be lost, and then they are counted. */
START_TEST(blocks_in_another_order)
{
	for (int round = 0; round < 300 / STRIDE; round++) {
		size_t first = copy_at + 1, a = first + below(block_count - first - 1),
			   b = round % 2 ? a + 1 : first + below(block_count - first - 1), size = 0, missing = 0;
		/* Of three blocks in reverse order only one can come. */
		if (a == b || b >= block_count - 1 || a == b + 2 || b == a + 2)
			continue;
		for (size_t i = 0; i < block_count; i++)
			size = put(size, i == a ? b : i == b ? a : i);
		struct account account = read_all(damaged, size);
		for (size_t i = first; i < block_count - 1; i++) {
			ck_assert_msg(account.has[i] || i == a || i == b || !is_set(i), "%zu and %zu: block %zu", a, b, i);
			missing += !account.has[i] && is_set(i);
		}
		ck_assert_uint_eq(account.losses.blocks, missing);
		ck_assert_uint_le(missing, round % 2 ? 1 : 2);
	}
}
END_TEST

START_TEST(repeated_blocks_are_skipped)
{
	for (int round = 0; round < 300 / STRIDE; round++) {
		size_t a = below(block_count), after = round % 2 ? a : 1 + below(block_count - 1), size = 0;
		for (size_t i = 0; i < block_count; i++) {
			size = put(size, i);
			size = i == after ? put(size, a) : size;
		}
		struct account account = read_all(damaged, size);
		ck_all_but(&account, block_count, block_count);
		ck_assert_uint_eq(account.losses.blocks + account.losses.bytes, 0);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stream damage");
	TCase *small = tcase_create("small"), *large = tcase_create("large");
	tcase_add_checked_fixture(small, setup_small, teardown);
	tcase_add_checked_fixture(large, setup_large, teardown);
	tcase_set_timeout(small, 120);
	tcase_set_timeout(large, 120);
	tcase_add_test(small, whole_it_is_read_whole);
	tcase_add_test(small, every_length);
	tcase_add_test(small, every_flipped_bit);
	tcase_add_test(small, every_damaged_byte_of_what_a_file_begins_with);
	const TTest *const both[] = {
		whole_it_is_read_whole,
		every_zeroed_page,
		flipped_bits_here_and_there,
		ranges_with_something_else_in_them,
		ranges_cut_out,
		ranges_put_in,
		blocks_in_another_order,
		repeated_blocks_are_skipped,
	};
	for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
		tcase_add_test(large, both[i]);
		if (i)
			tcase_add_test(small, both[i]);
	}
	suite_add_tcase(suite, small);
	suite_add_tcase(suite, large);
	return suite_run(suite);
}
