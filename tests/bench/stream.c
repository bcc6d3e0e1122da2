/* stream: figures of recordings for bench_stream.py.
 *
 *   stream make FILE SECONDS     writes a synthetic run as it would be recorded, five readings a second, as fast as it
 * stream json FILE             its records as JSON lines on standard output; the time that making them
 * took, on standard error stream codec FILE ROUNDS     ns a record, written and read, in each round stream play FILE
 * [rules]     through player and model (and rules) stream find FILE             how long until a moment is found, with
 * the index and without
 *
 * Each prints NAME VALUE on a line. */
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/collect/ledger.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/model/model.h"
#include "src/playback/player.h"
#include "src/rules/alerts.h"
#include "src/samples/stream.h"
#include "src/samples/stream_block.h"
#include "src/samples/stream_read.h"
#include "src/samples/stream_write.h"
#include "src/sources/synthetic/synthetic.h"

enum { READINGS_A_SECOND = 5, SETS_MAX = 256, REPEATS = 16, MOMENTS = 20 };
#define START_NS (INT64_C(100000) * NS_PER_S)

static void die(const char *what)
{
	fprintf(stderr, "stream: %s\n", what);
	exit(1);
}

/* -- make: dictionaries as src/playback/recording.c paces them -- */

struct making {
	FILE *file;
	struct stream_writer writer;
	struct buffer out;
	uint64_t offset, emitted_bytes, bytes;
	int64_t emitted_ns;
	struct stream_entry *entries;
	size_t entry_count;
};

static void put(struct making *making)
{
	if (making->out.failed || fwrite(making->out.data, 1, making->out.length, making->file) != making->out.length)
		die("the recording cannot be written");
	making->offset += making->out.length;
	making->bytes += making->out.length;
	buffer_clear(&making->out);
}

/* The first records about the run, as the ledger retains them. */
static void put_dictionary(
	struct making *making, const struct sample_set *first, const struct ledger *ledger, int64_t now_ns)
{
	struct sample_set set = SAMPLE_SET_INIT;
	set.time_ns = now_ns;
	if (ledger)
		ledger_emit(ledger, now_ns, &set);
	for (size_t i = 0; i < first->count; i++) {
		struct record *record =
			first->records[i].kind < RECORD_RUN_OPENED && ledger ? NULL : sample_set_add(&set, RECORD_MARK, 0, now_ns);
		if (record)
			*record = first->records[i];
	}
	making->entries[making->entry_count++] = (struct stream_entry){ making->offset, making->writer.number, now_ns };
	stream_write_set(&making->writer, BLOCK_DICTIONARY, &set, &making->out);
	making->emitted_bytes = making->out.length;
	put(making);
	making->bytes = 0;
	making->emitted_ns = now_ns;
	sample_set_release(&set);
}

static int make(const char *path, double seconds)
{
	struct making making = { .file = fopen(path, "w"), .entries = calloc((size_t)seconds + 2, sizeof *making.entries) };
	struct stream_header header = { .pid = SYNTHETIC_PID,
		.command = "synthetic clean",
		.monotonic_ns = START_NS,
		.realtime_ns = clock_realtime_ns(),
		.uuid = "bench" };
	struct sample_set first = SAMPLE_SET_INIT, set = SAMPLE_SET_INIT;
	struct ledger *ledger = ledger_new();
	struct synthetic *run = NULL;
	struct reason why = { "", "" };
	uint64_t records = 0;
	if (!making.file || !making.entries || synthetic_new("bare", START_NS, &run, &why) != STATUS_OK)
		die("the recording cannot be begun");
	stream_write_header(&making.writer, &header, &making.out);
	put(&making);
	first.time_ns = START_NS;
	synthetic_emit(run, START_NS, &first);
	ledger_note(ledger, &first, 0);
	put_dictionary(&making, &first, NULL, START_NS);
	for (int64_t i = 1; i <= (int64_t)(seconds * READINGS_A_SECOND); i++) {
		sample_set_clear(&set);
		set.time_ns = START_NS + i * NS_PER_S / READINGS_A_SECOND;
		synthetic_emit(run, set.time_ns, &set);
		ledger_note(ledger, &set, 0);
		records += set.count;
		stream_write_set(&making.writer, BLOCK_TICK, &set, &making.out);
		put(&making);
		int64_t since_ns = set.time_ns - making.emitted_ns;
		if (since_ns >= 60 * NS_PER_S || (since_ns >= NS_PER_S && making.bytes >= 4 * making.emitted_bytes))
			put_dictionary(&making, &first, ledger, set.time_ns);
	}
	stream_write_index(&making.writer, making.entries, making.entry_count, making.offset, set.time_ns, &making.out);
	put(&making);
	if (fclose(making.file))
		die("the recording cannot be written");
	printf("records %llu\nbytes %llu\n", (unsigned long long)records, (unsigned long long)making.offset);
	free(making.entries);
	buffer_release(&making.out);
	stream_writer_release(&making.writer);
	sample_set_release(&first);
	sample_set_release(&set);
	ledger_free(ledger);
	synthetic_free(run);
	return 0;
}

/* -- reading -- */

static char *read_file(const char *path, size_t *length)
{
	FILE *file = fopen(path, "r");
	if (!file || fseek(file, 0, SEEK_END))
		die("the recording cannot be read");
	*length = (size_t)ftell(file);
	rewind(file);
	char *bytes = malloc(*length + 1);
	if (!bytes || fread(bytes, 1, *length, file) != *length)
		die("the recording cannot be read");
	fclose(file);
	return bytes;
}

static struct stream_reader *open_reader(const char *bytes, size_t length)
{
	struct stream_reader *reader = stream_reader_new();
	if (!reader || stream_reader_feed(reader, bytes, length) != STATUS_OK)
		die("out of memory");
	stream_reader_finish(reader);
	return reader;
}

static bool next_tick(struct stream_reader *reader, struct sample_set *set)
{
	bool has_gap;
	for (;;) {
		enum stream_event event = stream_reader_next(reader, set, &has_gap);
		if (event == STREAM_TICK)
			return true;
		if (event == STREAM_END || event == STREAM_REFUSED)
			return false;
	}
}

static void put_number(const char *name, double value)
{
	if (!isnan(value))
		printf(",\"%s\":%.9g", name, value);
}

static void put_json(const struct record *record)
{
	printf("{\"t\":%lld,\"kind\":\"%s\"", (long long)record->time_ns, record_kind_name((enum record_kind)record->kind));
	if (record->kind >= RECORD_EPOCH_BEGIN)
		printf(",\"run\":%u,\"lane\":%u,\"seq\":%llu", record->run, record->lane, (unsigned long long)record->sequence);
	switch ((enum record_kind)record->kind) {
	case RECORD_FIGURE:
		printf(",\"metric\":\"%s\",\"instance\":%d", metric_table[record->figure.metric].name,
			(int)record->figure.instance);
		put_number("value", record->figure.value);
		break;
	case RECORD_SPAN:
		printf(",\"name\":%u,\"parent\":%u,\"depth\":%u,\"ns\":%lld", record->span.name, record->span.parent,
			record->span.depth, (long long)record->span.duration_ns);
		put_number("self", (double)record->span.self_s);
		put_number("cpu", (double)record->span.cpu_s);
		put_number("memory", (double)record->span.memory_bytes);
		break;
	case RECORD_BATCH_BEGIN:
	case RECORD_BATCH_END:
		printf(",\"index\":%llu,\"number\":%llu", (unsigned long long)record->batch.index,
			(unsigned long long)record->batch.number);
		if (record->kind == RECORD_BATCH_END) {
			printf(",\"begin\":%lld,\"of\":%u", (long long)record->batch.begin_ns, record->batch.kind);
			put_number("loss", record->batch.loss);
		}
		break;
	case RECORD_EVIDENCE:
		put_number("cpu", record->evidence->cpu_s);
		put_number("wait", record->evidence->run_queue_wait_s);
		put_number("minor", record->evidence->minor_faults);
		put_number("major", record->evidence->major_faults);
		put_number("willing", record->evidence->voluntary_switches);
		put_number("forced", record->evidence->involuntary_switches);
		put_number("blocks", record->evidence->blocks_read);
		put_number("samples", record->evidence->samples);
		break;
	default: break;
	}
	puts("}");
}

static int json(const char *path)
{
	size_t length;
	char *bytes = read_file(path, &length);
	struct stream_reader *reader = open_reader(bytes, length);
	struct sample_set set = SAMPLE_SET_INIT;
	int64_t took_ns = 0;
	while (next_tick(reader, &set)) {
		int64_t from_ns = clock_process_cpu_ns();
		for (size_t i = 0; i < set.count; i++)
			put_json(&set.records[i]);
		took_ns += clock_process_cpu_ns() - from_ns;
	}
	fprintf(stderr, "%.0f\n", (double)took_ns);
	sample_set_release(&set);
	stream_reader_free(reader);
	free(bytes);
	return 0;
}

static int codec(const char *path, int rounds)
{
	static struct sample_set sets[SETS_MAX];
	size_t length, count = 0, records = 0;
	char *bytes = read_file(path, &length);
	struct stream_reader *reader = open_reader(bytes, length);
	while (count < SETS_MAX && next_tick(reader, &sets[count]))
		records += sets[count++].count;
	stream_reader_free(reader);
	struct stream_writer writer = { 0 };
	struct stream_header header = { .pid = 1 };
	struct buffer out = BUFFER_INIT;
	struct sample_set set = SAMPLE_SET_INIT;
	bool has_gap;
	for (int round = -1; round < rounds; round++) {
		int64_t written_ns = 0, read_ns = 0;
		size_t size = 0;
		for (int repeat = 0; repeat < REPEATS; repeat++) {
			buffer_clear(&out);
			stream_write_header(&writer, &header, &out);
			size_t before = out.length, read = 0;
			int64_t from_ns = clock_process_cpu_ns();
			for (size_t i = 0; i < count; i++)
				stream_write_set(&writer, i ? BLOCK_TICK : BLOCK_DICTIONARY, &sets[i], &out);
			written_ns += clock_process_cpu_ns() - from_ns;
			size = out.length - before;
			reader = open_reader(out.data, out.length);
			from_ns = clock_process_cpu_ns();
			for (enum stream_event event = STREAM_WAIT; event != STREAM_END; read += set.count)
				event = stream_reader_next(reader, &set, &has_gap);
			read_ns += clock_process_cpu_ns() - from_ns;
			stream_reader_free(reader);
			if (read != records)
				die("what was written was not read");
		}
		/* The first round makes room. */
		double all = (double)records * REPEATS;
		if (round >= 0)
			printf("write %.3f\nread %.3f\nsize %.3f\n", (double)written_ns / all, (double)read_ns / all,
				(double)size / (double)records);
	}
	printf("records %zu\n", records);
	return 0;
}

/* -- playing -- */

/* Of this program alone: getrusage also counts what its parent was before it became this. */
static double resident_peak_bytes(void)
{
	char line[128];
	double kilobytes = (double)NAN;
	FILE *file = fopen("/proc/self/status", "r");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "VmHWM: %lf", &kilobytes) == 1)
			break;
	if (file)
		fclose(file);
	return kilobytes * 1024;
}

static int play(const char *path, bool has_rules)
{
	struct player *player = NULL;
	struct reason why = { "", "" };
	struct model_options options;
	struct settings settings;
	struct alerts alerts = { 0 };
	struct sample_set set = SAMPLE_SET_INIT;
	int64_t first_ns = 0, last_ns = 0, from_ns = clock_process_cpu_ns();
	uint64_t records = 0;
	if (player_open(path, 0, &player, &why) != STATUS_OK)
		die(why.text);
	settings_default(&settings);
	model_options_default(&options);
	struct model *model = model_new(&options);
	while (!player_has_ended(player)) {
		if (!player_take(player, &set)) {
			poll(NULL, 0, player_has_ended(player) ? 0 : 1);
			continue;
		}
		model_apply(model, &set);
		explain_flagged(model);
		if (has_rules)
			alerts_update(&alerts, model, &settings);
		records += set.count;
		first_ns = first_ns ? first_ns : set.time_ns;
		last_ns = set.time_ns;
	}
	double took_s = seconds_between(from_ns, clock_process_cpu_ns());
	printf("pace %.1f\nrecords %llu\nseconds %.3f\nresident %.0f\n", seconds_between(first_ns, last_ns) / took_s,
		(unsigned long long)records, took_s, resident_peak_bytes());
	alerts_release(&alerts);
	sample_set_release(&set);
	model_free(model);
	player_close(player);
	return 0;
}

/* -- finding a moment -- */

static uint64_t little(const unsigned char *at)
{
	uint64_t value = 0;
	for (int i = 7; i >= 0; i--)
		value = value << 8 | at[i];
	return value;
}

/* Reads on from `offset` until the first tick at or after the moment. */
static bool read_to(int fd, uint64_t offset, const unsigned char *head, size_t head_length, int64_t moment_ns)
{
	static char room[256 * 1024];
	struct stream_reader *reader = stream_reader_new();
	struct sample_set set = SAMPLE_SET_INIT;
	bool is_found = false, has_gap;
	stream_reader_feed(reader, head, head_length);
	for (ssize_t length; !is_found && (length = pread(fd, room, sizeof room, (off_t)offset)) > 0;
		 offset += (uint64_t)length) {
		stream_reader_feed(reader, room, (size_t)length);
		for (enum stream_event event; !is_found && (event = stream_reader_next(reader, &set, &has_gap)) != STREAM_WAIT;)
			is_found = event == STREAM_TICK && set.time_ns >= moment_ns;
	}
	sample_set_release(&set);
	stream_reader_free(reader);
	return is_found;
}

static int find(const char *path)
{
	static unsigned char head[65536], index[STREAM_PAYLOAD_MAX + STREAM_BLOCK_HEAD];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stream_block block;
	ssize_t got = pread(fd, head, sizeof head, 0);
	off_t end = lseek(fd, 0, SEEK_END);
	if (got < STREAM_BLOCK_HEAD || stream_block_at(head, (size_t)got, &block) != STREAM_FOUND)
		die("no header");
	size_t head_length = STREAM_BLOCK_HEAD + block.length;
	for (int i = 0; i < MOMENTS; i++) {
		int64_t moment_ns = 0;
		for (int with_index = 1; with_index >= 0; with_index--) {
			int64_t from_ns = clock_monotonic_ns();
			unsigned char last[8];
			if (pread(fd, last, 8, end - 8) != 8)
				die("no index");
			uint64_t at = little(last), count, entry = 0;
			ssize_t length = pread(fd, index, sizeof index, (off_t)at);
			if (length < STREAM_BLOCK_HEAD || stream_block_at(index, (size_t)length, &block) != STREAM_FOUND ||
				block.kind != BLOCK_INDEX)
				die("no index");
			count = little(block.payload);
			const unsigned char *entries = block.payload + 8;
			int64_t first_ns = (int64_t)little(entries + 16), last_ns = block.time_ns;
			moment_ns = first_ns + (last_ns - first_ns) / MOMENTS * i;
			while (entry + 1 < count && (int64_t)little(entries + (entry + 1) * 24 + 16) <= moment_ns)
				entry++;
			uint64_t offset = with_index ? little(entries + entry * 24) : head_length;
			if (!read_to(fd, offset, head, head_length, moment_ns))
				die("the moment was not found");
			printf("%s %.4f\n", with_index ? "index" : "scan", (double)(clock_monotonic_ns() - from_ns) * 1e-6);
		}
	}
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	if (!strcmp(what, "make") && argc == 4)
		return make(argv[2], strtod(argv[3], NULL));
	if (!strcmp(what, "json"))
		return json(argv[2]);
	if (!strcmp(what, "codec") && argc == 4)
		return codec(argv[2], atoi(argv[3]));
	if (!strcmp(what, "play"))
		return play(argv[2], argc == 4);
	if (!strcmp(what, "find"))
		return find(argv[2]);
	fputs("usage: stream make|json|codec|play|find FILE …\n", stderr);
	return 2;
}
