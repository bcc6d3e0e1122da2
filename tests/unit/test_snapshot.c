/* Memory snapshots of PyTorch, pickled by hand: sums, the replayed history, shared stacks, damage, what is refused. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "src/trace/snapshot/snapshot_diff.h"
#include "src/trace/snapshot/snapshot_digest.h"
#include "src/trace/snapshot/snapshot_json.h"
#include "src/trace/snapshot/snapshot_lines.h"
#include "src/trace/snapshot/snapshot_text.h"
#include "tests/support/suite.h"

static struct buffer pickle, out;
static struct snapshot *snapshot;
static struct reason reason;
static bool is_open;

static void setup(void)
{
	pickle = out = (struct buffer)BUFFER_INIT;
	snapshot = malloc(sizeof *snapshot);
	is_open = false;
}

static void close_snapshot(void)
{
	if (is_open)
		snapshot_release(snapshot);
	is_open = false;
}

static void teardown(void)
{
	close_snapshot();
	free(snapshot);
	buffer_release(&pickle);
	buffer_release(&out);
}

/* -- a pickle, protocol 4 -- */

static void add(const char *bytes, size_t length) { buffer_add(&pickle, bytes, length); }
static void op(int byte) { add(&(char){ (char)byte }, 1); }

static void add_text(const char *text)
{
	op(0x8c);
	op((int)strlen(text));
	add(text, strlen(text));
}

static void add_int(int64_t number)
{
	op(0x8a);
	op(8);
	for (int i = 0; i < 8; i++)
		op((int)(number >> 8 * i & 0xff));
}

static void key_int(const char *key, int64_t number)
{
	add_text(key);
	add_int(number);
}

static void key_text(const char *key, const char *text)
{
	add_text(key);
	add_text(text);
}

static void begin_dict(void)
{
	op('}');
	op('(');
}

static void begin_list(void)
{
	op(']');
	op('(');
}

static void end_dict(void) { op('u'); }
static void end_list(void) { op('e'); }

static void begin_pickle(void)
{
	buffer_clear(&pickle);
	op(0x80);
	op(4);
	begin_dict();
}

static void frame(const char *file, int line, const char *function)
{
	begin_dict();
	key_text("name", function);
	key_text("filename", file);
	key_int("line", line);
	end_dict();
}

/* Of the program's line, called through a module of torch. */
static void frames(int line)
{
	add_text("frames");
	begin_list();
	frame("/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", 125, "forward");
	frame("/home/u/model.py", line, "forward");
	frame("/home/u/train.py", 80, "main");
	end_list();
}

static void event(const char *action, int64_t address, int64_t size, int line)
{
	static int64_t time_us = 1000000;
	begin_dict();
	key_text("action", action);
	key_int(strcmp(action, "oom") ? "addr" : "device_free", address);
	key_int("size", size);
	key_int("time_us", time_us += 1000);
	if (line)
		frames(line);
	end_dict();
}

static void block(const char *state, int64_t address, int64_t size, int64_t requested, int line)
{
	begin_dict();
	key_int("address", address);
	key_int("size", size);
	key_int("requested_size", requested);
	key_text("state", state);
	if (line)
		frames(line);
	end_dict();
}

static void begin_segment(int64_t device, int64_t stream, const char *kind, int64_t size)
{
	begin_dict();
	key_int("device", device);
	key_int("stream", stream);
	key_text("segment_type", kind);
	key_int("total_size", size);
	add_text("blocks");
	begin_list();
}

static void end_segment(void)
{
	end_list();
	end_dict();
}

static enum status read_pickle(void)
{
	close_snapshot();
	enum status status = snapshot_read_memory(snapshot, pickle.data, pickle.length, &reason);
	is_open = status == STATUS_OK;
	return status;
}

static void read_good(void)
{
	op('.');
	ck_assert_msg(read_pickle() == STATUS_OK, "%s", reason.text);
}

/* Two segments on a GPU, one of them unused, and one on another stream. */
static void add_segments(void)
{
	add_text("segments");
	begin_list();
	begin_segment(0, 0, "large", 1000);
	block("active_allocated", 0x1000, 400, 390, 21);
	block("inactive", 0x1190, 100, 0, 0);
	block("active_pending_free", 0x11f4, 300, 300, 30);
	block("inactive", 0x1320, 200, 0, 0);
	end_segment();
	begin_segment(0, 0, "large", 500);
	block("inactive", 0x2000, 500, 0, 0);
	end_segment();
	begin_segment(0, 7, "small", 50);
	block("active_allocated", 0x3000, 50, 50, 21);
	end_segment();
	end_list();
}

static void add_history(void)
{
	add_text("device_traces");
	begin_list();
	begin_list();
	event("free_completed", 0x9000, 70, 0); /* allocated before the history */
	event("alloc", 0x1000, 390, 21);
	event("alloc", 0x4000, 600, 30); /* the peak: 390 + 600 + 350 of before */
	event("oom", 5000, 900, 44);
	event("free_requested", 0x4000, 600, 30);
	event("free_completed", 0x4000, 600, 30);
	event("segment_free", 0x4000, 640, 0);
	end_list();
	begin_list();
	end_list();
	end_list();
}

static void whole(void)
{
	begin_pickle();
	add_segments();
	add_history();
	end_dict();
	read_good();
}

/* -- sums -- */

START_TEST(sums_by_kind_and_stream)
{
	whole();
	struct snapshot_group sum = snapshot_sum(snapshot, 0);
	ck_assert_uint_eq(snapshot->group_count, 2);
	ck_assert_uint_eq(sum.reserved, 1550);
	ck_assert_uint_eq(sum.requested, 440);
	ck_assert_uint_eq(sum.rounding, 10);
	ck_assert_uint_eq(sum.awaiting, 300);
	ck_assert_uint_eq(sum.split_bytes, 300);
	ck_assert_uint_eq(sum.split_blocks, 2);
	ck_assert_uint_eq(sum.whole_bytes, 500);
	ck_assert_uint_eq(sum.largest_free, 500);
	ck_assert_uint_eq(snapshot_sum(snapshot, 1).reserved, 0);
}
END_TEST

START_TEST(lines_are_those_of_the_program)
{
	char text[200];
	whole();
	struct snapshot_lines lines = snapshot_lines_now(snapshot);
	ck_assert_uint_eq(lines.count, 2);
	ck_assert_str_eq(snapshot_line_show(snapshot, lines.rows[0].frame, text, sizeof text), "u/model.py:21 forward");
	ck_assert_uint_eq(lines.rows[0].live.bytes, 440);
	ck_assert_uint_eq(lines.rows[0].live.blocks, 2);
	ck_assert_str_eq(snapshot_callers_show(snapshot, lines.rows[0].stack, text, sizeof text), "u/train.py:80 main");
	snapshot_lines_release(&lines);
}
END_TEST

START_TEST(code_of_libraries_and_generated_code_is_not_the_programs)
{
	static const struct {
		const char *file;
		bool is_own;
	} files[] = { { "/home/u/train.py", true }, { "/tmp/ipykernel_12/34.py", true }, { "<stdin>", true },
		{ "/venv/lib/python3.11/site-packages/lightning/trainer.py", false }, { "/usr/lib/python3.11/runpy.py", false },
		{ "/src/pytorch/torch/nn/modules/linear.py", false }, { "/tmp/torchinductor_u/ab/cab.py", false },
		{ "<frozen runpy>", false }, { "<eval_with_key>.4", false }, { "??", false }, { "memory_snapshot.cpp", false },
		{ "", false } };
	struct snapshot_stacks stacks;
	ck_assert(snapshot_stacks_init(&stacks));
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct profile_slice file = { files[i].file, strlen(files[i].file) };
		uint32_t id = snapshot_frame_add(&stacks, profile_names_add(&stacks.names, file), 1, 0);
		ck_assert_msg(snapshot_frame_is_own(&stacks, id) == files[i].is_own, "%s", files[i].file);
	}
	snapshot_stacks_release(&stacks);
}
END_TEST

START_TEST(a_stack_of_cpp_only_is_that_of_its_autograd_node)
{
	static const char *const functions[] = { "torch::unwind::unwind()", "at::detail::empty_cuda(int)",
		"at::native::mm(int)", "torch::autograd::generated::MmBackward0::apply(int)" };
	struct snapshot_stacks stacks;
	uint32_t frames[4];
	char text[200];
	ck_assert(snapshot_stacks_init(&stacks));
	for (size_t i = 0; i < 4; i++) {
		struct profile_slice file = { "??", 2 }, function = { functions[i], strlen(functions[i]) };
		frames[i] = snapshot_frame_add(
			&stacks, profile_names_add(&stacks.names, file), 0, profile_names_add(&stacks.names, function));
	}
	uint32_t all = snapshot_stack_add(&stacks, frames, 4), part = snapshot_stack_add(&stacks, frames, 3);
	snapshot_frame_show(&stacks, stacks.stacks[all].own, false, text, sizeof text);
	ck_assert_str_eq(text, functions[3]);
	snapshot_frame_show(&stacks, stacks.stacks[part].own, false, text, sizeof text);
	ck_assert_str_eq(text, functions[2]);
	snapshot_stacks_release(&stacks);
}
END_TEST

/* -- the history -- */

START_TEST(what_is_live_at_the_peak_includes_what_was_there_before)
{
	char text[200];
	whole();
	const struct snapshot_history *history = snapshot_history_of(snapshot, 0);
	ck_assert_ptr_nonnull(history);
	const struct snapshot_moment *peak = &history->marks[SNAPSHOT_PEAK];
	ck_assert_uint_eq(peak->event, 3);
	ck_assert_uint_eq(snapshot_history_live(history, peak->live_delta), 390 + 600 + 300 + 50);
	ck_assert_uint_eq(snapshot_history_reserved(history, peak->reserved_delta), 1550 + 640);
	ck_assert_uint_eq(history->unknown_freed, 70);
	ck_assert_uint_eq(snapshot_history_unknown(history, SNAPSHOT_PEAK), 0);
	struct snapshot_lines lines = snapshot_lines_at(snapshot, history, SNAPSHOT_PEAK);
	ck_assert_uint_eq(lines.count, 2);
	ck_assert_str_eq(snapshot_line_show(snapshot, lines.rows[0].frame, text, sizeof text), "u/model.py:30 forward");
	ck_assert_uint_eq(lines.rows[0].live.bytes, 900);
	ck_assert_uint_eq(lines.rows[1].live.bytes, 440);
	snapshot_lines_release(&lines);
}
END_TEST

START_TEST(a_history_that_only_frees_has_its_peak_at_the_begin)
{
	begin_pickle();
	add_text("device_traces");
	begin_list();
	begin_list();
	end_list();
	begin_list();
	event("free_completed", 0x9000, 70, 0);
	event("alloc", 0x9000, 60, 21);
	end_list();
	end_list();
	end_dict();
	read_good();
	ck_assert_ptr_null(snapshot_history_of(snapshot, 0));
	const struct snapshot_history *history = snapshot_history_of(snapshot, 1);
	ck_assert_uint_eq(history->marks[SNAPSHOT_PEAK].event, 0);
	ck_assert_uint_eq(snapshot_history_live(history, 0), 70);
	ck_assert_uint_eq(snapshot_history_unknown(history, SNAPSHOT_PEAK), 70);
	struct snapshot_lines lines = snapshot_lines_at(snapshot, history, SNAPSHOT_PEAK);
	ck_assert_uint_eq(lines.count, 1);
	ck_assert_uint_eq(lines.rows[0].frame, 0);
	snapshot_lines_release(&lines);
}
END_TEST

START_TEST(an_address_that_is_allocated_again_was_freed)
{
	begin_pickle();
	add_text("device_traces");
	begin_list();
	begin_list();
	event("alloc", 0x1000, 100, 21);
	event("alloc", 0x1000, 70, 30);
	event("alloc", 0x2000, 20, 30);
	end_list();
	end_list();
	end_dict();
	read_good();
	const struct snapshot_history *history = snapshot_history_of(snapshot, 0);
	ck_assert_uint_eq(snapshot_history_live(history, history->live_delta), 90);
	ck_assert_uint_eq(history->marks[SNAPSHOT_PEAK].event, 1);
}
END_TEST

START_TEST(text_shows_totals_peak_and_out_of_memory)
{
	struct profile_view view = { .width = 80 };
	whole();
	snapshot_as_text(&out, snapshot, &view);
	static const char *const parts[] = { "memory: memory snapshot, 3 segments, 3 blocks in use\n",
		"\nreserved        1.55 kB  100 %  from CUDA\n",
		"\nallocated         450 B   29 %  440 B requested, 10 B rounding\n",
		"\nawaiting free     300 B   19 %  freed, but another stream may still use it\n",
		"\nsplit             300 B   19 %  fragmentation: 2 free blocks in used segments\n",
		"\nunused            500 B   32 %  what torch.cuda.empty_cache() gives back\n",
		"\n1.34 kB live, 2.19 kB reserved\nevent 3 of 7, 4.00 ms before the last\n"
		"Partial: 420 B were allocated before the history; the real peak may be higher\n",
		"\n    900 B    67 %       2  u/model.py:30 forward\n                          < u/train.py:80 main\n",
		"\nOUT OF MEMORY, 1 time\n900 B requested, 5.00 kB free on the GPU, 1.34 kB live\n"
		"  event 4 of 7, 3.00 ms before the last\n  by u/model.py:44 forward\n" };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		ck_assert_msg(strstr(out.data, parts[i]), "%s is not in\n%s", parts[i], out.data);
}
END_TEST

/* -- shared values -- */

START_TEST(a_stack_that_is_shared_counts_wherever_it_is_used)
{
	begin_pickle();
	add_text("segments");
	begin_list();
	begin_segment(0, 0, "large", 100);
	block("active_allocated", 0x1000, 40, 40, 0);
	pickle.length--; /* its SETITEMS: it goes on */
	add_text("frames");
	op(']');
	op(0x94); /* memo 0: the list, before it is filled */
	op('(');
	frame("/home/u/model.py", 21, "forward");
	op('q'), op(1); /* memo 1: the frame */
	op('e');
	end_dict();
	block("active_allocated", 0x2000, 60, 60, 0);
	pickle.length--;
	add_text("frames");
	op('h'), op(0);
	end_dict();
	end_segment();
	end_list();
	end_dict();
	read_good();
	struct snapshot_lines lines = snapshot_lines_now(snapshot);
	ck_assert_uint_eq(lines.count, 1);
	ck_assert_uint_eq(lines.rows[0].live.bytes, 100);
	ck_assert_uint_ne(lines.rows[0].frame, 0);
	snapshot_lines_release(&lines);
}
END_TEST

/* -- damage -- */

START_TEST(what_could_run_code_is_refused_by_name_and_byte)
{
	static const struct {
		const char *bytes, *name;
	} refused[] = { { "cos\nsystem\n", "GLOBAL" }, { "\x93", "STACK_GLOBAL" }, { "R", "REDUCE" }, { "b", "BUILD" },
		{ "ios\nsystem\n", "INST" }, { "o", "OBJ" }, { "\x81", "NEWOBJ" }, { "\x92", "NEWOBJ_EX" }, { "\x82", "EXT1" },
		{ "\x83", "EXT2" }, { "\x84", "EXT4" }, { "P1\n", "PERSID" }, { "Q", "BINPERSID" } };
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		char expected[100];
		begin_pickle();
		add_segments();
		snprintf(
			expected, sizeof expected, "refused: opcode %s at byte %zu would run code", refused[i].name, pickle.length);
		add(refused[i].bytes, strlen(refused[i].bytes));
		ck_assert_int_eq(read_pickle(), STATUS_UNSUPPORTED);
		ck_assert_msg(strncmp(reason.text, expected, strlen(expected)) == 0, "%s", reason.text);
	}
}
END_TEST

START_TEST(hostile_lengths_and_references_end_the_reading)
{
	static const struct {
		const char *bytes;
		size_t length;
		const char *why;
	} hostile[] = { { "e", 1, "a mark is missing" }, { "(ue", 3, "a dictionary is missing" },
		{ "h\x09", 2, "no such entry" }, { "K\x01r\xff\xff\xff\xff", 7, "the memo has a gap" },
		{ "00", 2, "a value is missing" }, { "\xff", 1, "is no opcode" }, { "I1\n", 3, "is no opcode" } };
	for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
		buffer_clear(&pickle);
		op(0x80), op(4);
		add(hostile[i].bytes, hostile[i].length);
		ck_assert_int_eq(read_pickle(), STATUS_DAMAGED);
		ck_assert_msg(strstr(reason.text, hostile[i].why), "%s", reason.text);
	}
	buffer_clear(&pickle);
	op(0x80), op(4);
	for (int i = 0; i < 300; i++)
		op('(');
	ck_assert_int_eq(read_pickle(), STATUS_UNSUPPORTED);
	begin_pickle();
	add_segments();
	add("\x8d\xff\xff\xff\xff\xff\xff\xff\x7f", 9); /* a text of 2^63 bytes */
	ck_assert_int_eq(read_pickle(), STATUS_OK);
	ck_assert(snapshot->is_cut);
	ck_assert_uint_eq(snapshot_sum(snapshot, 0).reserved, 1550);
}
END_TEST

START_TEST(every_cut_is_survived_and_shows_what_stands_before)
{
	uint64_t events = 0;
	whole();
	size_t length = pickle.length;
	for (size_t cut = 2; cut < length; cut++) {
		pickle.length = cut;
		enum status status = read_pickle();
		ck_assert(status == STATUS_OK || status == STATUS_UNSUPPORTED);
		if (status != STATUS_OK)
			continue;
		ck_assert(snapshot->is_cut);
		const struct snapshot_history *history = snapshot_history_of(snapshot, 0);
		ck_assert(!history || history->events >= events);
		events = history ? history->events : events;
	}
	ck_assert_uint_eq(events, 7);
}
END_TEST

START_TEST(every_damaged_byte_is_survived)
{
	struct profile_view view = { .width = 80 };
	struct json json = { .out = &out };
	whole();
	for (size_t at = 2; at < pickle.length; at++) {
		char before = pickle.data[at];
		for (int flip = 1; flip < 256; flip <<= 1) {
			pickle.data[at] = (char)(before ^ flip);
			buffer_clear(&out);
			if (read_pickle() == STATUS_OK && flip == 1)
				snapshot_as_text(&out, snapshot, &view);
		}
		pickle.data[at] = before;
	}
	ck_assert_int_eq(read_pickle(), STATUS_OK);
	buffer_clear(&out);
	snapshot_as_json(&json, snapshot, &view);
	ck_assert_ptr_nonnull(strstr(out.data, "\"reserved_bytes\":1550"));
}
END_TEST

START_TEST(what_follows_a_snapshot_is_left_out_and_said)
{
	char loss[400];
	whole();
	ck_assert_int_eq(read_pickle(), STATUS_OK);
	ck_assert_str_eq(snapshot_loss(snapshot, loss, sizeof loss), "");
	buffer_puts(&pickle, "more");
	ck_assert_int_eq(read_pickle(), STATUS_OK);
	ck_assert_ptr_nonnull(strstr(snapshot_loss(snapshot, loss, sizeof loss), "the snapshot ends at byte "));
}
END_TEST

START_TEST(a_damaged_pickle_says_what_to_do)
{
	begin_pickle();
	op(0xff);
	ck_assert_int_eq(read_pickle(), STATUS_DAMAGED);
	ck_assert_str_eq(reason.remedy, "copy the file again, or take a new snapshot");
}
END_TEST

START_TEST(another_pickle_is_no_snapshot)
{
	begin_pickle();
	key_int("epoch", 3);
	end_dict();
	op('.');
	ck_assert_int_eq(read_pickle(), STATUS_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(reason.text, "no memory snapshot"));
}
END_TEST

/* -- two of them -- */

START_TEST(growth_is_by_line)
{
	struct snapshot before;
	struct json json = { .out = &out };
	struct profile_view view = { .width = 80 };
	whole();
	before = *snapshot;
	is_open = false;
	begin_pickle();
	add_text("segments");
	begin_list();
	begin_segment(0, 0, "large", 4000);
	block("active_allocated", 0x1000, 3000, 3000, 44);
	block("active_allocated", 0x2000, 800, 800, 30);
	end_segment();
	end_list();
	end_dict();
	read_good();
	snapshot_diff_as_text(&out, &before, snapshot, &view);
	static const char *const rows[] = {
		"reserved                                  1.55 kB   4.00 kB   +2.45 kB   +158 %\n",
		"u/model.py:44 forward                         0 B   3.00 kB   +3.00 kB      new\n",
		"u/model.py:30 forward                       300 B     800 B     +500 B   +167 %\n",
		"u/model.py:21 forward                       440 B       0 B     −440 B     gone\n"
	};
	const char *at = out.data;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		at = strstr(at, rows[i]);
		ck_assert_msg(at != NULL, "%s is not in its place in\n%s", rows[i], out.data);
	}
	buffer_clear(&out);
	snapshot_diff_as_json(&json, &before, snapshot);
	ck_assert_ptr_nonnull(strstr(out.data, "\"a_bytes\":440,\"b_bytes\":0,\"change_bytes\":-440"));
	snapshot_release(&before);
}
END_TEST

/* The pickle as a file in a folder. */
static void put_file(const char *folder, const char *name)
{
	char path[200];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	ck_assert_uint_eq(fwrite(pickle.data, 1, pickle.length, file), pickle.length);
	fclose(file);
}

static void end_folder(const char *folder, const char *const *names)
{
	char path[200];
	for (; *names; names++) {
		snprintf(path, sizeof path, "%s/%s", folder, *names);
		unlink(path);
	}
	rmdir(folder);
}

START_TEST(the_newest_two_of_a_process_are_found_and_read)
{
	static const char *const names[] = { "host_77.100.snapshot.pickle", "host_77_rank3.300.snapshot.pickle",
		"my_77.5_host_77.200.snapshot.pickle", "host_77.400.pickle", "host_177.500.snapshot.pickle",
		"host_77_rank.600.snapshot.pickle", ".snapshot.pickle", NULL };
	char folder[] = "/tmp/pmtop-test-XXXXXX", newest[4096], before[4096];
	struct snapshot_digest *digest;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	whole();
	for (size_t i = 0; names[i]; i++)
		put_file(folder, names[i]);
	const char *const folders[] = { folder, "/nowhere", folder };
	snapshot_find_newest(folders, 3, 77, newest, before);
	ck_assert_str_eq(strrchr(newest, '/') + 1, names[1]);
	ck_assert_str_eq(strrchr(before, '/') + 1, names[2]);
	ck_assert_int_eq(snapshot_digest_read(newest, before, &digest, &reason), STATUS_OK);
	ck_assert_int_eq(digest->taken_ns, 300);
	ck_assert_int_eq(digest->before_ns, 200);
	ck_assert(digest->has_before);
	ck_assert_str_eq(digest->now.rows[0].line, "u/model.py:21 forward");
	ck_assert_uint_eq(digest->now.rows[0].live.bytes, 440);
	ck_assert_uint_eq(digest->now.rows[0].live.blocks, 2);
	ck_assert_int_eq(digest->now.rows[0].growth, 0);
	ck_assert_uint_eq(digest->peak_live, 1340);
	ck_assert_str_eq(digest->peak.rows[0].line, "u/model.py:30 forward");
	free(digest);
	snapshot_find_newest(folders, 3, 78, newest, before);
	ck_assert_str_eq(newest, "");
	end_folder(folder, names);
}
END_TEST

START_TEST(a_digest_has_the_growth_of_lines_and_those_that_are_gone)
{
	static const char *const names[] = { "host_77.100.snapshot.pickle", "host_77.200.snapshot.pickle", NULL };
	char folder[] = "/tmp/pmtop-test-XXXXXX", newest[4096], before[4096];
	const char *const folders[] = { folder };
	struct snapshot_digest *digest;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	whole();
	put_file(folder, names[0]);
	begin_pickle();
	add_text("segments");
	begin_list();
	begin_segment(0, 0, "large", 4000);
	block("active_allocated", 0x1000, 3000, 3000, 44);
	block("active_allocated", 0x2000, 800, 800, 30);
	end_segment();
	end_list();
	end_dict();
	op('.');
	put_file(folder, names[1]);
	snapshot_find_newest(folders, 1, 77, newest, before);
	ck_assert_int_eq(snapshot_digest_read(newest, before, &digest, &reason), STATUS_OK);
	static const struct {
		const char *line;
		uint64_t bytes;
		int64_t growth;
	} expected[] = { { "u/model.py:44 forward", 3000, 3000 }, { "u/model.py:30 forward", 800, 500 },
		{ "u/model.py:21 forward", 0, -440 } };
	ck_assert_uint_eq(digest->now.count, 3);
	for (size_t i = 0; i < 3; i++) {
		ck_assert_str_eq(digest->now.rows[i].line, expected[i].line);
		ck_assert_uint_eq(digest->now.rows[i].live.bytes, expected[i].bytes);
		ck_assert_int_eq(digest->now.rows[i].growth, expected[i].growth);
	}
	ck_assert(digest->now.rows[0].is_new && !digest->now.rows[1].is_new);
	ck_assert(!digest->has_history);
	free(digest);
	unlink(before); /* cannot be read any more: no growth is known */
	ck_assert_int_eq(snapshot_digest_read(newest, before, &digest, &reason), STATUS_OK);
	ck_assert(!digest->has_before);
	ck_assert_int_eq(digest->before_ns, 0);
	free(digest);
	end_folder(folder, names);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("snapshot");
	TCase *tests = tcase_create("all");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, sums_by_kind_and_stream);
	tcase_add_test(tests, lines_are_those_of_the_program);
	tcase_add_test(tests, code_of_libraries_and_generated_code_is_not_the_programs);
	tcase_add_test(tests, a_stack_of_cpp_only_is_that_of_its_autograd_node);
	tcase_add_test(tests, what_is_live_at_the_peak_includes_what_was_there_before);
	tcase_add_test(tests, a_history_that_only_frees_has_its_peak_at_the_begin);
	tcase_add_test(tests, an_address_that_is_allocated_again_was_freed);
	tcase_add_test(tests, text_shows_totals_peak_and_out_of_memory);
	tcase_add_test(tests, a_stack_that_is_shared_counts_wherever_it_is_used);
	tcase_add_test(tests, what_could_run_code_is_refused_by_name_and_byte);
	tcase_add_test(tests, hostile_lengths_and_references_end_the_reading);
	tcase_add_test(tests, every_cut_is_survived_and_shows_what_stands_before);
	tcase_add_test(tests, every_damaged_byte_is_survived);
	tcase_add_test(tests, what_follows_a_snapshot_is_left_out_and_said);
	tcase_add_test(tests, a_damaged_pickle_says_what_to_do);
	tcase_add_test(tests, another_pickle_is_no_snapshot);
	tcase_add_test(tests, growth_is_by_line);
	tcase_add_test(tests, the_newest_two_of_a_process_are_found_and_read);
	tcase_add_test(tests, a_digest_has_the_growth_of_lines_and_those_that_are_gone);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
