/* --to=perfetto: TracePacket messages; field numbers are those of Perfetto's .proto files. One packet sequence. Names,
 * categories and keys are interned: written once, then referred to by number. A slice is a begin and an end event,
 * because the format has no complete events. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/formats/protobuf.h"
#include "src/export/trace/trace.h"

enum {
	PACKET = 1,
	CLOCK_REALTIME_ID = 1,
	CLOCK_MONOTONIC_ID = 3,
	CLOCK_BOOTTIME_ID = 6,
	SEQUENCE = 1,
	CLEARED = 1,
	NEEDS = 2
};
enum {
	TRACE_PACKET_CLOCK_SNAPSHOT = 6,
	TRACE_PACKET_TIMESTAMP = 8,
	TRACE_PACKET_SEQUENCE_ID = 10,
	TRACE_PACKET_EVENT = 11,
	TRACE_PACKET_INTERNED = 12,
	TRACE_PACKET_FLAGS = 13,
	TRACE_PACKET_CLOCK_ID = 58,
	TRACE_PACKET_DEFAULTS = 59,
	TRACE_PACKET_TRACK = 60
};
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum {
	EVENT_CATEGORY_IIDS = 3,
	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_DOUBLE = 44,
	EVENT_FLOWS = 47
};
enum { INTERNED_CATEGORIES = 1, INTERNED_NAMES = 2, INTERNED_KEYS = 3, INTERNED_KINDS = 4 };

/* The interned texts of one kind; a text's number is its index + 1. */
struct words {
	size_t count, capacity;
	char **list;
	uint32_t *slots;
};

struct perfetto {
	struct trace *trace;
	bool is_begun; /* the sequence's first packet was written */
	struct words words[INTERNED_KINDS];
	/* Texts that the current packet interns. */
	struct buffer interned;
};

/* -- interned texts -- */

enum { WORDS_MAX = 1 << 16, SLOTS = 1 << 18 };

static uint32_t hash_of(const char *text)
{
	uint32_t hash = 2166136261u;
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return hash;
}

static bool make_room(struct words *words)
{
	if (!words->slots)
		words->slots = calloc(SLOTS, sizeof *words->slots);
	if (words->count == words->capacity) {
		size_t capacity = words->capacity * 2 + 64;
		char **list = realloc(words->list, capacity * sizeof *list);
		if (!list)
			return false;
		words->list = list;
		words->capacity = capacity;
	}
	return words->slots && words->count < WORDS_MAX;
}

/* 0: the table is full. */
static uint64_t number_of(struct perfetto *perfetto, unsigned kind, const char *text)
{
	struct words *words = &perfetto->words[kind];
	uint32_t slot = hash_of(text) % SLOTS;
	if (!make_room(words))
		return 0;
	for (; words->slots[slot]; slot = (slot + 1) % SLOTS)
		if (strcmp(words->list[words->slots[slot] - 1], text) == 0)
			return words->slots[slot];
	char *copy = strdup(text);
	if (!copy)
		return 0;
	words->list[words->count++] = copy;
	words->slots[slot] = (uint32_t)words->count;
	size_t begin = protobuf_begin(&perfetto->interned, kind);
	protobuf_uint(&perfetto->interned, 1, words->count);
	protobuf_text(&perfetto->interned, 2, text);
	protobuf_end(&perfetto->interned, begin);
	return words->count;
}

/* -- packets -- */

static size_t begin_packet(struct perfetto *perfetto, struct buffer *out)
{
	size_t packet = protobuf_begin(out, PACKET);
	protobuf_uint(out, TRACE_PACKET_SEQUENCE_ID, SEQUENCE);
	protobuf_uint(out, TRACE_PACKET_FLAGS, perfetto->is_begun ? NEEDS : CLEARED);
	perfetto->is_begun = true;
	return packet;
}

static void end_packet(struct perfetto *perfetto, struct buffer *out, size_t packet)
{
	if (perfetto->interned.length) {
		size_t interned = protobuf_begin(out, TRACE_PACKET_INTERNED);
		buffer_add(out, perfetto->interned.data, perfetto->interned.length);
		protobuf_end(out, interned);
		buffer_clear(&perfetto->interned);
	}
	protobuf_end(out, packet);
}

static void add_clock(struct buffer *out, unsigned clock, int64_t time_ns)
{
	size_t begin = protobuf_begin(out, 1);
	protobuf_uint(out, 1, clock);
	protobuf_int(out, 2, time_ns);
	protobuf_end(out, begin);
}

/* The clocks' offsets must precede the first packet with a time. */
static void start(void *writer, const struct export_scene *scene)
{
	struct perfetto *perfetto = writer;
	struct buffer *out = scene->out;
	int64_t now_ns = scene->model->now_ns;
	size_t packet = begin_packet(perfetto, out), snapshot = protobuf_begin(out, TRACE_PACKET_CLOCK_SNAPSHOT);
	add_clock(out, CLOCK_MONOTONIC_ID, now_ns);
	add_clock(out, CLOCK_BOOTTIME_ID, now_ns + scene->boottime_offset_ns);
	add_clock(out, CLOCK_REALTIME_ID, now_ns + scene->realtime_offset_ns);
	protobuf_uint(out, 2, CLOCK_MONOTONIC_ID);
	protobuf_end(out, snapshot);
	size_t defaults = protobuf_begin(out, TRACE_PACKET_DEFAULTS);
	protobuf_uint(out, TRACE_PACKET_CLOCK_ID, CLOCK_MONOTONIC_ID);
	protobuf_end(out, defaults);
	end_packet(perfetto, out, packet);
}

/* -- tracks -- */

static void write_track(void *writer, struct buffer *out, const struct trace_track *track)
{
	enum { EXPLICIT = 3, MERGE_NONE = 2, UNIT_COUNT = 2, UNIT_OF_BYTES = 3 };
	static const unsigned units[] = { [TRACE_NUMBER] = 0, [TRACE_BYTES] = UNIT_OF_BYTES, [TRACE_COUNT] = UNIT_COUNT };
	struct perfetto *perfetto = writer;
	size_t packet = begin_packet(perfetto, out), descriptor = protobuf_begin(out, TRACE_PACKET_TRACK);
	protobuf_uint(out, 1, track->uuid);
	if (track->parent)
		protobuf_uint(out, 5, track->parent);
	if (track->kind == TRACE_PROCESS) {
		size_t process = protobuf_begin(out, 3);
		protobuf_int(out, 1, track->pid);
		protobuf_text(out, 6, track->name);
		protobuf_end(out, process);
		protobuf_uint(out, 11, EXPLICIT);
	} else if (track->kind == TRACE_LANE) {
		size_t thread = protobuf_begin(out, 4);
		protobuf_int(out, 1, track->pid);
		protobuf_uint(out, 2, track->tid);
		protobuf_text(out, 5, track->name);
		protobuf_end(out, thread);
	} else {
		protobuf_text(out, 2, track->name);
		protobuf_uint(out, 15, MERGE_NONE);
	}
	if (track->kind == TRACE_COUNTER) {
		size_t counter = protobuf_begin(out, 8);
		if (units[track->unit])
			protobuf_uint(out, 3, units[track->unit]);
		protobuf_end(out, counter);
	}
	protobuf_int(out, 12, track->rank);
	protobuf_end(out, descriptor);
	end_packet(perfetto, out, packet);
}

/* -- events -- */

struct event {
	size_t packet, event;
};

static struct event begin_event(
	struct perfetto *perfetto, struct buffer *out, const struct trace_track *track, int64_t time_ns, unsigned type)
{
	struct event event = { .packet = begin_packet(perfetto, out) };
	protobuf_int(out, TRACE_PACKET_TIMESTAMP, time_ns);
	event.event = protobuf_begin(out, TRACE_PACKET_EVENT);
	protobuf_uint(out, EVENT_TYPE, type);
	protobuf_uint(out, EVENT_TRACK, track->uuid);
	return event;
}

static void end_event(struct perfetto *perfetto, struct buffer *out, struct event event)
{
	protobuf_end(out, event.event);
	end_packet(perfetto, out, event.packet);
}

static void add_note(struct perfetto *perfetto, struct buffer *out, const struct trace_note *note)
{
	enum { NOTE_NAME_IID = 1, NOTE_BOOL = 2, NOTE_UINT = 3, NOTE_DOUBLE = 5, NOTE_STRING = 6, NOTE_NAME = 10 };
	uint64_t key = number_of(perfetto, INTERNED_KEYS, note->key);
	size_t begin = protobuf_begin(out, EVENT_ANNOTATIONS);
	if (key)
		protobuf_uint(out, NOTE_NAME_IID, key);
	else
		protobuf_text(out, NOTE_NAME, note->key);
	switch (note->kind) {
	case NOTE_TEXT: protobuf_text(out, NOTE_STRING, note->text); break;
	case NOTE_NUMBER: protobuf_double(out, NOTE_DOUBLE, note->number); break;
	case NOTE_COUNT: protobuf_uint(out, NOTE_UINT, note->count); break;
	case NOTE_TRUE: protobuf_uint(out, NOTE_BOOL, 1); break;
	}
	protobuf_end(out, begin);
}

static void write_event(struct perfetto *perfetto, struct buffer *out, const struct trace_slice *slice, unsigned type)
{
	struct event event = begin_event(perfetto, out, slice->track, slice->begin_ns, type);
	uint64_t name = slice->is_common || slice->is_batch ? number_of(perfetto, INTERNED_NAMES, slice->name) : 0;
	uint64_t category = number_of(perfetto, INTERNED_CATEGORIES, slice->category);
	if (name)
		protobuf_uint(out, EVENT_NAME_IID, name);
	else
		protobuf_text(out, EVENT_NAME, slice->name);
	if (category)
		protobuf_uint(out, EVENT_CATEGORY_IIDS, category);
	for (size_t i = 0; i < slice->note_count; i++)
		add_note(perfetto, out, &slice->notes[i]);
	for (size_t i = 0; i < slice->flow_count; i++)
		protobuf_fixed64(out, EVENT_FLOWS, slice->flows[i]);
	end_event(perfetto, out, event);
}

static void write_begin(void *writer, struct buffer *out, const struct trace_slice *slice)
{
	write_event(writer, out, slice, SLICE_BEGIN);
}

static void write_end(void *writer, struct buffer *out, const struct trace_track *track, int64_t end_ns)
{
	end_event(writer, out, begin_event(writer, out, track, end_ns, SLICE_END));
}

static void write_instant(void *writer, struct buffer *out, const struct trace_slice *slice)
{
	write_event(writer, out, slice, INSTANT);
}

static void write_counter(
	void *writer, struct buffer *out, const struct trace_track *track, int64_t time_ns, double value)
{
	struct event event = begin_event(writer, out, track, time_ns, COUNTER);
	protobuf_double(out, EVENT_DOUBLE, value);
	end_event(writer, out, event);
}

static void finish(void *writer, const struct export_scene *scene)
{
	(void)writer;
	(void)scene;
}

/* -- the exporter -- */

static const struct trace_format format = {
	.start = start,
	.track = write_track,
	.begin = write_begin,
	.end = write_end,
	.instant = write_instant,
	.counter = write_counter,
	.finish = finish,
};

static void close_perfetto(void *state)
{
	struct perfetto *perfetto = state;
	trace_free(perfetto->trace);
	for (unsigned kind = 0; kind < INTERNED_KINDS; kind++) {
		for (size_t i = 0; i < perfetto->words[kind].count; i++)
			free(perfetto->words[kind].list[i]);
		free(perfetto->words[kind].list);
		free(perfetto->words[kind].slots);
	}
	buffer_release(&perfetto->interned);
	free(perfetto);
}

static void *open_perfetto(const struct export_scene *scene)
{
	struct perfetto *perfetto = calloc(1, sizeof *perfetto);
	if (!perfetto)
		return NULL;
	perfetto->trace = trace_new(scene, &format, perfetto);
	if (perfetto->trace)
		return perfetto;
	close_perfetto(perfetto);
	return NULL;
}

static void add_perfetto(void *state, const struct export_scene *scene, const struct sample_set *set)
{
	trace_add(((struct perfetto *)state)->trace, scene, set);
}

static void end_perfetto(void *state, const struct export_scene *scene)
{
	trace_end(((struct perfetto *)state)->trace, scene);
}

const struct exporter perfetto_exporter = {
	.name = "perfetto",
	.help = "for ui.perfetto.dev: batches, spans, counters, warnings on one time line",
	.is_binary = true,
	.open = open_perfetto,
	.add = add_perfetto,
	.end = end_perfetto,
	.close = close_perfetto,
};
