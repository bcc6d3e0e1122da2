/* made_up FILE: a recording of what standard input says, a record a line, so that a test knows every nanosecond of it:
 *
 *   set TIME                                         what follows is read then
 *   process PID COMMAND · resident PID BYTES
 *   run RUN PID NAME · meta RUN KEY VALUE · closed RUN
 *   epoch_begin RUN LANE SEQUENCE TIME INDEX · epoch_end the same
 *   batch_begin RUN LANE SEQUENCE TIME NUMBER INDEX
 *   batch_end RUN LANE SEQUENCE TIME NUMBER INDEX BEGIN LOSS           LOSS nan = none
 *   span RUN LANE SEQUENCE TIME NAME DEPTH DURATION                    TIME is its end
 *   open RUN LANE NAME DEPTH DURATION
 *   gauge RUN LANE SEQUENCE TIME NAME VALUE
 *   mark RUN LANE SEQUENCE TIME TEXT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/samples/stream.h"
#include "src/samples/stream_write.h"

enum { WORDS_MAX = 12, NAMES_MAX = 64 };

static struct stream_writer writer;
static struct sample_set set;
static struct buffer out;
static bool is_begun;
static char names[NAMES_MAX][64];
static unsigned name_count;
static char *words[WORDS_MAX];

static int64_t number(unsigned i)
{
	if (!words[i]) {
		fprintf(stderr, "made_up: %s needs more\n", words[0]);
		exit(2);
	}
	return strtoll(words[i], NULL, 10);
}

static const char *text(unsigned i)
{
	number(i);
	return sample_set_text(&set, words[i], strlen(words[i]));
}

static struct record *add(enum record_kind kind)
{
	struct record *record = sample_set_add(&set, kind, (unsigned)number(1), set.time_ns);
	if (!record)
		abort();
	return record;
}

/* One table for all runs, emitted before each use. */
static uint32_t name(unsigned i)
{
	unsigned id = 0;
	while (id < name_count && strcmp(names[id], words[i]) != 0)
		id++;
	if (id == NAMES_MAX)
		abort();
	if (id == name_count)
		snprintf(names[name_count++], sizeof names[0], "%s", words[i]);
	struct record *record = add(RECORD_NAME);
	record->name.id = id + 1;
	record->name.text = text(i);
	return id + 1;
}

static struct record *event(enum record_kind kind)
{
	struct record *record = add(kind);
	record->lane = (uint16_t)number(2);
	record->sequence = (uint64_t)number(3);
	record->time_ns = number(4);
	return record;
}

static void flush(void)
{
	if (set.time_ns)
		stream_write_set(&writer, is_begun ? BLOCK_TICK : BLOCK_DICTIONARY, &set, &out);
	is_begun |= set.time_ns != 0;
	sample_set_clear(&set);
	set.source = "made up";
}

static void take_set(void)
{
	flush();
	set.time_ns = number(1);
}

static void take_process(void)
{
	struct record *record = sample_set_add(&set, RECORD_PROCESS_SEEN, 0, set.time_ns);
	record->process.pid = (int32_t)number(1);
	record->process.command = text(2);
	record->process.start_ticks = 1;
	record->process.is_target = true;
}

static void take_resident(void)
{
	sample_set_figure(&set, set.time_ns, METRIC_PROCESS_RESIDENT, (int32_t)number(1), (double)number(2));
}

static void take_run(void)
{
	char uuid[33];
	struct record *record = add(RECORD_RUN_OPENED);
	snprintf(uuid, sizeof uuid, "%032" PRIx64, (uint64_t)number(2));
	record->opened.pid = record->opened.inner_pid = (int32_t)number(2);
	record->opened.name = text(3);
	record->opened.uuid = sample_set_text(&set, uuid, 32);
	record->opened.abi = sample_set_text(&set, "1.0", 3);
	record->opened.start_ns = set.time_ns;
	record->opened.is_live = true;
}

static void take_meta(void)
{
	struct record *record = add(RECORD_META);
	record->meta.key = text(2);
	record->meta.value = text(3);
}

static void take_closed(void) { add(RECORD_RUN_CLOSED)->text = sample_set_text(&set, "ended", 5); }

static void take_epoch_begin(void) { event(RECORD_EPOCH_BEGIN)->epoch.index = (uint32_t)number(5); }

static void take_epoch_end(void) { event(RECORD_EPOCH_END)->epoch.index = (uint32_t)number(5); }

static void take_batch_begin(void)
{
	struct record *record = event(RECORD_BATCH_BEGIN);
	record->batch.number = (uint64_t)number(5);
	record->batch.index = (uint64_t)number(6);
	record->batch.begin_ns = record->time_ns;
	record->batch.loss = (double)NAN;
}

static void take_batch_end(void)
{
	struct record *record = event(RECORD_BATCH_END);
	record->batch.number = (uint64_t)number(5);
	record->batch.index = (uint64_t)number(6);
	record->batch.begin_ns = number(7);
	number(8);
	record->batch.loss = strtod(words[8], NULL);
}

static void fill_span(struct record *record, uint32_t id, unsigned first)
{
	record->span.name = id;
	record->span.depth = (uint32_t)number(first);
	record->span.duration_ns = number(first + 1);
	record->span.self_s = record->span.cpu_s = record->span.memory_bytes = NAN;
}

static void take_span(void)
{
	uint32_t id = name(5);
	fill_span(event(RECORD_SPAN), id, 6);
}

static void take_open(void)
{
	uint32_t id = name(3);
	struct record *record = add(RECORD_OPEN_SPAN);
	record->lane = (uint16_t)number(2);
	fill_span(record, id, 4);
}

static void take_gauge(void)
{
	uint32_t id = name(5);
	struct record *record = event(RECORD_GAUGE);
	number(6);
	record->gauge.name = id;
	record->gauge.value = strtod(words[6], NULL);
}

static void take_mark(void) { event(RECORD_MARK)->text = text(5); }

static const struct {
	const char *word;
	void (*take)(void);
} kinds[] = {
	{ "set", take_set },
	{ "process", take_process },
	{ "resident", take_resident },
	{ "run", take_run },
	{ "meta", take_meta },
	{ "closed", take_closed },
	{ "epoch_begin", take_epoch_begin },
	{ "epoch_end", take_epoch_end },
	{ "batch_begin", take_batch_begin },
	{ "batch_end", take_batch_end },
	{ "span", take_span },
	{ "open", take_open },
	{ "gauge", take_gauge },
	{ "mark", take_mark },
};

static void take_line(char *line)
{
	unsigned count = 0;
	memset(words, 0, sizeof words);
	for (char *word = strtok(line, " \n"); word && count < WORDS_MAX - 1; word = strtok(NULL, " \n"))
		words[count++] = word;
	for (size_t i = 0; count && i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].word, words[0]) == 0) {
			kinds[i].take();
			return;
		}
	if (count) {
		fprintf(stderr, "made_up: what is %s?\n", words[0]);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	const struct stream_header header = { .major = STREAM_MAJOR,
		.minor = STREAM_MINOR,
		.pid = 4711,
		.monotonic_ns = INT64_C(1000000000),
		.realtime_ns = INT64_C(1700000000000000000),
		.boottime_ns = INT64_C(6000000000),
		.uuid = { 1 },
		.command = "made up",
		.host = "nowhere",
		.version = "test" };
	char line[512];
	FILE *file = argc == 2 ? fopen(argv[1], "w") : NULL;
	if (!file) {
		fputs("made_up: name a file that can be written\n", stderr);
		return 2;
	}
	stream_write_header(&writer, &header, &out);
	while (fgets(line, sizeof line, stdin))
		take_line(line);
	flush();
	bool is_written = fwrite(out.data, 1, out.length, file) == out.length;
	is_written &= fclose(file) == 0;
	buffer_release(&out);
	sample_set_release(&set);
	stream_writer_release(&writer);
	return is_written ? 0 : 1;
}
