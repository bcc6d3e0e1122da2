#include "tests/support/recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/samples/stream_write.h"
#include "src/sources/synthetic/synthetic.h"

void recorded_header(struct stream_header *out)
{
	*out = (struct stream_header){
		.major = STREAM_MAJOR,
		.minor = STREAM_MINOR,
		.pid = SYNTHETIC_PID,
		.monotonic_ns = RECORDED_BEGIN_NS,
		.realtime_ns = RECORDED_DATE_S * NS_PER_S,
		.boottime_ns = RECORDED_BEGIN_NS,
		.uuid = { 1, 2, 3 },
		.command = "synthetic",
		.host = "nowhere",
		.version = "test",
	};
}

static void fail(const char *what)
{
	fprintf(stderr, "recorded: %s\n", what);
	abort();
}

static bool is_between(int64_t time_ns, double from_s, double to_s)
{
	double at_s = seconds_between(RECORDED_BEGIN_NS, time_ns);
	return at_s >= from_s && at_s < to_s;
}

static void flush(struct buffer *out, FILE *file, uint64_t *offset)
{
	if (out->failed || fwrite(out->data, 1, out->length, file) != out->length)
		fail("not written");
	*offset += out->length;
	buffer_clear(out);
}

void recorded_write(const char *path, const struct recorded_options *options,
	void (*each)(void *context, const struct sample_set *set), void *context)
{
	struct stream_header header;
	struct stream_writer writer = { 0 };
	struct buffer out = BUFFER_INIT, lost = BUFFER_INIT;
	struct sample_set set = SAMPLE_SET_INIT, first = SAMPLE_SET_INIT;
	struct synthetic *synthetic = NULL, *again = NULL;
	struct reason why = { "", "" };
	const char *scenario = options->scenario ? options->scenario : "";
	int64_t period_ns = options->period_ns ? options->period_ns : NS_PER_S / 5;
	uint64_t offset = 0;
	FILE *file = fopen(path, "w");
	if (!file || synthetic_new(scenario, RECORDED_BEGIN_NS, &synthetic, &why) != STATUS_OK ||
		synthetic_new(scenario, RECORDED_BEGIN_NS, &again, &why) != STATUS_OK)
		fail(file ? why.text : "no file");
	recorded_header(&header);
	stream_write_header(&writer, &header, &out);
	synthetic_emit(again, RECORDED_BEGIN_NS, &first);
	uint64_t sets = (uint64_t)(options->seconds * (double)NS_PER_S / (double)period_ns);
	for (uint64_t i = 0; i <= sets; i++) {
		sample_set_clear(&set);
		set.time_ns = RECORDED_BEGIN_NS + (int64_t)i * period_ns;
		set.source = "synthetic";
		if (is_between(set.time_ns, options->silent_from_s, options->silent_to_s))
			continue;
		synthetic_emit(synthetic, set.time_ns, &set);
		struct buffer *to = is_between(set.time_ns, options->lost_from_s, options->lost_to_s) ? &lost : &out;
		if (i && i % (options->dictionary_every ? options->dictionary_every : 50) == 0) {
			first.time_ns = set.time_ns;
			stream_write_set(&writer, BLOCK_DICTIONARY, &first, to);
		}
		stream_write_set(&writer, i ? BLOCK_TICK : BLOCK_DICTIONARY, &set, to);
		if (each)
			each(context, &set);
		buffer_clear(&lost);
		if (out.length > 1 << 20)
			flush(&out, file, &offset);
	}
	flush(&out, file, &offset);
	if (options->is_cut)
		fwrite("pmtB\3\0\0\0", 1, 8, file);
	else
		stream_write_index(&writer, NULL, 0, offset, set.time_ns, &out);
	flush(&out, file, &offset);
	if (fclose(file) != 0)
		fail("not written");
	buffer_release(&out);
	buffer_release(&lost);
	sample_set_release(&set);
	sample_set_release(&first);
	stream_writer_release(&writer);
	synthetic_free(synthetic);
	synthetic_free(again);
}
