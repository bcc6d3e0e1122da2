#include "src/trace/reading/profile_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/trace/reading/profile_event.h"
#include "src/trace/reading/profile_input.h"
#include "src/trace/reading/profile_layout.h"

struct reader {
	struct profile *profile;
	struct profile_input *input;
	size_t at; /* in input->data */
	bool has_events;
	bool is_array;     /* the file is an array of events, not an object with one */
	bool is_malformed; /* the outermost object: not JSON */
	char head[16];     /* the file's first bytes */
	struct profile_layout *layout;
};

static const char *text_at(const struct reader *reader) { return reader->input->data + reader->at; }
static const char *text_end(const struct reader *reader) { return reader->input->data + reader->input->length; }
static uint64_t offset_at(const struct reader *reader) { return reader->input->offset + reader->at; }

/* The next byte that is no white space; 0 = the end. */
static char peek(struct reader *reader)
{
	for (;;) {
		const char *at = token_space(text_at(reader)), *end = text_end(reader);
		reader->at = (size_t)((at < end ? at : end) - reader->input->data);
		if (at < end)
			return *at;
		if (!profile_input_fill(reader->input, reader->at))
			return '\0';
		reader->at = 0;
	}
}

static bool is_at_end(const struct reader *reader) { return text_at(reader) >= text_end(reader); }

static void note_damage(struct reader *reader)
{
	if (!reader->profile->damaged_count++)
		reader->profile->damaged_offset = offset_at(reader);
}

/* Behind damage: goes to the next '{' that follows a comma or bracket and precedes a quote. */
static bool find_next_event(struct reader *reader)
{
	char before = '\0';
	reader->at++;
	for (;;) {
		char byte = peek(reader);
		if (!byte && is_at_end(reader))
			return false;
		if (byte == '{' && (before == ',' || before == '[' || before == '}')) {
			size_t left = (size_t)(text_end(reader) - text_at(reader));
			if (left < 2 && !profile_input_fill(reader->input, reader->at))
				return false;
			reader->at = left < 2 ? 0 : reader->at;
			if (*token_space(text_at(reader) + 1) == '"')
				return true;
		}
		before = byte;
		reader->at++;
	}
}

/* An event; false: the end of what can be read. */
static bool read_event(struct reader *reader)
{
	struct profile_event event;
	for (;;) {
		const char *end = text_end(reader), *next = profile_event_parse(reader->layout, text_at(reader), end, &event);
		if (next && next <= end) {
			profile_event_take(reader->profile, &event);
			reader->at = (size_t)(next - reader->input->data);
			return true;
		}
		if (!event.is_malformed && profile_input_fill(reader->input, reader->at)) {
			reader->at = 0;
			continue;
		}
		if (reader->input->failed) {
			reader->profile->is_cut = true;
			return false;
		}
		reader->at = reader->at < reader->input->length ? reader->at : reader->input->length;
		uint64_t offset = offset_at(reader);
		if (!find_next_event(reader)) {
			reader->profile->is_cut = true;
			reader->profile->cut_offset = offset;
			return false;
		}
		if (!reader->profile->damaged_count++)
			reader->profile->damaged_offset = offset;
	}
}

/* The array of events; `at`: behind its '['. */
static bool read_events(struct reader *reader)
{
	reader->has_events = true;
	for (;;) {
		switch (peek(reader)) {
		case ']': reader->at++; return true;
		case ',': reader->at++; break;
		case '{':
			if (!read_event(reader))
				return false;
			break;
		default:
			/* The specification of Chrome's format lets an array go without its last bracket. */
			if (is_at_end(reader)) {
				reader->profile->is_cut = !reader->is_array || reader->input->failed;
				return false;
			}
			note_damage(reader);
			if (!find_next_event(reader))
				return false;
		}
	}
}

/* -- the members beside traceEvents -- */

static bool is_key(struct profile_slice key, const char *text)
{
	return key.length == strlen(text) && memcmp(key.text, text, key.length) == 0;
}

/* The value of a key within a flat object, found by its text. */
static struct profile_slice member(struct profile_slice object, const char *key)
{
	char quoted[64];
	struct profile_slice value = { 0 };
	int length = snprintf(quoted, sizeof quoted, "\"%s\"", key);
	const char *end = object.text + object.length, *at = memmem(object.text, object.length, quoted, (size_t)length);
	if (at && *(at = token_space(at + length)) == ':')
		token_value(token_space(at + 1), end, &value);
	return value;
}

static void take_device(struct profile *profile, struct profile_slice object)
{
	struct profile_gpu_info *gpu = &profile->gpus[profile->gpu_count];
	int64_t id, bytes;
	if (profile->gpu_count == PROFILE_GPUS_MAX || !token_whole(member(object, "id"), &id) || id < 0 || id > 1 << 20)
		return;
	*gpu = (struct profile_gpu_info){ .index = (int32_t)id,
		.name = profile_names_add(&profile->names, member(object, "name")) };
	if (token_whole(member(object, "totalGlobalMem"), &bytes) && bytes > 0)
		gpu->memory_bytes = (double)bytes;
	token_whole(member(object, "computeMajor"), &gpu->compute_major);
	profile->gpu_count++;
}

static void take_devices(struct profile *profile, struct profile_slice list)
{
	const char *at = list.text, *end = list.text + list.length;
	while (at < end && (at = memchr(at, '{', (size_t)(end - at)))) {
		struct profile_slice object;
		at = token_value(at, end, &object);
		if (!at)
			return;
		take_device(profile, object);
	}
}

static void take_member(struct profile *profile, struct profile_slice key, struct profile_slice value)
{
	int64_t number;
	if (is_key(key, "deviceProperties")) {
		take_devices(profile, value);
	} else if (is_key(key, "distributedInfo")) {
		if (token_whole(member(value, "rank"), &number) && number >= 0)
			profile->rank = number;
		if (token_whole(member(value, "world_size"), &number) && number > 0)
			profile->world_size = number;
	}
}

static bool is_wanted(struct profile_slice key)
{
	return is_key(key, "deviceProperties") || is_key(key, "distributedInfo");
}

/* Behind the object, array or string at `at`, however long it is: VizTracer adds the program's whole source. */
static bool skip_value(struct reader *reader)
{
	size_t depth = 0;
	bool is_in_string = false, is_escaped = false;
	for (;;) {
		for (const char *at = text_at(reader), *end = text_end(reader); at < end; at++) {
			if (is_escaped)
				is_escaped = false;
			else if (*at == '"')
				is_in_string = !is_in_string;
			else if (is_in_string)
				is_escaped = *at == '\\';
			else if ((*at | 0x20) == '{')
				depth++;
			else if ((*at | 0x20) == '}')
				depth--;
			if (depth || is_in_string)
				continue;
			reader->at = (size_t)(at + 1 - reader->input->data);
			return true;
		}
		reader->at = reader->input->length;
		if (!profile_input_fill(reader->input, reader->at))
			return false;
		reader->at = 0;
	}
}

/* One "key": value of the outermost object; traceEvents is read event by event. */
static bool read_member(struct reader *reader)
{
	for (;;) {
		const char *end = text_end(reader), *at = text_at(reader);
		struct profile_slice key, value;
		const char *stop = token_string_end(at + 1, end);
		const char *colon = stop ? token_space(stop + 1) : NULL;
		if (colon && *colon == ':' && token_space(colon + 1) < end) {
			key = (struct profile_slice){ at + 1, (size_t)(stop - at - 1) };
			const char *start = token_space(colon + 1);
			if (is_key(key, "traceEvents") && *start == '[') {
				reader->at = (size_t)(start + 1 - reader->input->data);
				return read_events(reader);
			}
			const char *next = token_value(start, end, &value);
			if (next) {
				take_member(reader->profile, key, value);
				reader->at = (size_t)(next - reader->input->data);
				return true;
			}
			if (!is_wanted(key) && (*start == '{' || *start == '[' || *start == '"')) {
				reader->at = (size_t)(start - reader->input->data);
				return skip_value(reader);
			}
		}
		reader->is_malformed = colon && colon < end && *colon != ':';
		if (reader->is_malformed || !profile_input_fill(reader->input, reader->at))
			return false;
		reader->at = 0;
	}
}

static void read_object(struct reader *reader)
{
	for (reader->at++;;) {
		char byte = peek(reader);
		if (byte == '}') {
			reader->at++;
			return;
		}
		if (byte == ',') {
			reader->at++;
		} else if (byte != '"' || !read_member(reader)) {
			reader->profile->is_cut = true;
			reader->is_malformed |= byte != '"' && !is_at_end(reader);
			return;
		}
	}
}

/* Whether what was read last is a closing bracket: then the text is damaged rather than cut off. */
static bool ends_with_bracket(const struct profile_input *input)
{
	size_t at = input->length;
	while (at && (unsigned char)input->data[at - 1] <= ' ')
		at--;
	return at && (input->data[at - 1] == '}' || input->data[at - 1] == ']');
}

/* What a file is that is no JSON, by its first bytes. */
static const struct format {
	const char *head;
	size_t length;
	const char *what, *remedy;
} formats[] = {
	{ "\x28\xb5\x2f\xfd", 4, "it is compressed with zstd", "unpack it first: zstd -d FILE" },
	{ "PK\3\4", 4, "it is a zip archive", "unpack it first: unzip FILE" },
	{ "BZh", 3, "it is compressed with bzip2", "unpack it first: bunzip2 FILE" },
	{ "\xfd"
	  "7zXZ",
		5, "it is compressed with xz", "unpack it first: xz -d FILE" },
	{ "\xff\xfe\0\0", 4, "it is text in UTF-32", "convert it first: iconv -f UTF-32 -t UTF-8 FILE" },
	{ "\0\0\xfe\xff", 4, "it is text in UTF-32", "convert it first: iconv -f UTF-32 -t UTF-8 FILE" },
	{ "{\0\0\0", 4, "it is text in UTF-32", "convert it first: iconv -f UTF-32LE -t UTF-8 FILE" },
	{ "[\0\0\0", 4, "it is text in UTF-32", "convert it first: iconv -f UTF-32LE -t UTF-8 FILE" },
	{ "\0\0\0{", 4, "it is text in UTF-32", "convert it first: iconv -f UTF-32BE -t UTF-8 FILE" },
	{ "\0\0\0[", 4, "it is text in UTF-32", "convert it first: iconv -f UTF-32BE -t UTF-8 FILE" },
	{ "\xff\xfe", 2, "it is text in UTF-16", "convert it first: iconv -f UTF-16 -t UTF-8 FILE" },
	{ "\xfe\xff", 2, "it is text in UTF-16", "convert it first: iconv -f UTF-16 -t UTF-8 FILE" },
	{ "{\0", 2, "it is text in UTF-16", "convert it first: iconv -f UTF-16LE -t UTF-8 FILE" },
	{ "[\0", 2, "it is text in UTF-16", "convert it first: iconv -f UTF-16LE -t UTF-8 FILE" },
	{ "\0{", 2, "it is text in UTF-16", "convert it first: iconv -f UTF-16BE -t UTF-8 FILE" },
	{ "\0[", 2, "it is text in UTF-16", "convert it first: iconv -f UTF-16BE -t UTF-8 FILE" },
	{ "\x1f\x8b", 2, "it is compressed twice", "unpack it once: gzip -d FILE" },
	{ "(dp", 3, "it is a pickle of protocol 0", "write it with protocol 2 or newer: pickle.dump(data, file, 2)" },
	{ "}q", 2, "it is a pickle of protocol 1", "write it with protocol 2 or newer: pickle.dump(data, file, 2)" },
	{ "SQLite format 3", 15, "it is a database", "export a Chrome trace (JSON)" },
	{ "[[", 2, "it has lists, as export_memory_timeline writes them",
		"give what export_chrome_trace writes of the same profile" },
	{ "{\n  \"schema\": \"", 15, "it is an execution trace, which has no times",
		"give what export_chrome_trace writes of the same profile" },
	{ "\n", 1, "it is a protobuf, such as an XPlane",
		"give the .trace.json.gz beside it, or export a Chrome trace (JSON)" },
};

static const struct format *format_of(const struct reader *reader)
{
	bool is_binary = false;
	for (size_t i = 0; i < sizeof reader->head; i++)
		is_binary |= (unsigned char)reader->head[i] < ' ' && !memchr("\t\n\r", reader->head[i], 3);
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (memcmp(reader->head, formats[i].head, formats[i].length) == 0 && (formats[i].length > 1 || is_binary))
			return &formats[i];
	return NULL;
}

/* Whether the file is a trace, as far as it could be read. `first`: its first byte. */
static enum status judge(const struct reader *reader, char first, struct reason *why_not)
{
	const struct profile *profile = reader->profile;
	bool is_cut = reader->input->failed
		? reader->input->failed != STATUS_UNSUPPORTED
		: first && profile->is_cut && !reader->is_malformed && !ends_with_bracket(reader->input);
	bool is_empty = profile->event_count == 0 && (profile->is_cut || profile->damaged_count);
	if (reader->has_events && !is_empty && (!profile->event_count || profile->has_phases))
		return STATUS_OK;
	if (is_cut && !profile->event_count && !profile->damaged_count)
		return reason_set(why_not, STATUS_UNSUPPORTED, "profile again, or copy the whole file",
			"cut off at byte %" PRIu64 "%s, before its first event%s%s", profile->size,
			profile->is_compressed ? " of the decompressed text" : "", profile->why_cut.text[0] ? ": " : "",
			profile->why_cut.text);
	const struct format *format = format_of(reader);
	if (format)
		return reason_set(why_not, STATUS_UNSUPPORTED, format->remedy, "no trace: %s", format->what);
	return reason_set(why_not, STATUS_UNSUPPORTED, "give a file that torch.profiler wrote (export_chrome_trace)",
		"no trace: %s",
		reader->input->failed             ? profile->why_cut.text
			: first && reader->has_events ? "its objects are no events"
			: first                       ? "it has no traceEvents"
										  : "the file is empty");
}

/* Behind the end of a whole trace: another one, or what does not fit the checksum of gzip. */
static void read_on(struct reader *reader)
{
	struct profile *profile = reader->profile;
	bool is_whole = reader->has_events && !profile->is_cut;
	profile->has_more = is_whole && (peek(reader) || !is_at_end(reader));
	profile->end_offset = profile->has_more ? offset_at(reader) : 0;
}

static enum status read_all(struct reader *reader, struct reason *why_not)
{
	struct profile *profile = reader->profile;
	char first = peek(reader);
	if (!reader->input->offset && reader->input->length >= sizeof reader->head)
		memcpy(reader->head, reader->input->data, sizeof reader->head);
	if (strncmp(text_at(reader), "\xef\xbb\xbf", 3) == 0) {
		reader->at += 3;
		first = peek(reader);
	}
	if (first == '[') {
		reader->at++;
		reader->is_array = true;
		read_events(reader);
	} else if (first == '{') {
		read_object(reader);
	}
	read_on(reader);
	profile_event_end(profile);
	profile->is_compressed = reader->input->is_compressed;
	profile->size =
		profile->is_cut && !profile->event_count ? reader->input->offset + reader->input->length : offset_at(reader);
	if (profile->is_cut && !profile->cut_offset)
		profile->cut_offset = profile->size;
	if (!profile->damaged_count)
		profile->damaged_offset = profile->cut_offset;
	profile->why_cut = reader->input->why_not;
	return judge(reader, first, why_not);
}

static enum status read_input(struct profile *profile, struct profile_input *input, struct reason *why_not)
{
	struct reader reader = { .profile = profile, .input = input, .layout = calloc(1, sizeof *reader.layout) };
	enum status status =
		reader.layout ? read_all(&reader, why_not) : reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	free(reader.layout);
	return status;
}

enum status profile_read(
	struct profile *profile, const char *path, struct profile_progress *progress, struct reason *why_not)
{
	struct profile_input input;
	struct reason why = { 0 };
	enum status status = profile_input_open(&input, path, progress, why_not);
	if (status == STATUS_OK) {
		status = read_input(profile, &input, &why);
		if (status != STATUS_OK)
			reason_set(why_not, status, why.remedy, "%.120s is %s", path, why.text);
	}
	profile_input_close(&input);
	return status;
}

enum status profile_read_memory(struct profile *profile, const void *bytes, size_t length, struct reason *why_not)
{
	struct profile_input input;
	enum status status = profile_input_memory(&input, bytes, length);
	if (status == STATUS_OK)
		status = read_input(profile, &input, why_not);
	profile_input_close(&input);
	return status;
}

bool profile_is_trace(const char *path)
{
	struct profile_input input;
	struct reason why_not;
	bool is_trace = false;
	/* Standard input can be read only once. */
	if (strcmp(path, "-") == 0)
		return false;
	if (profile_input_open(&input, path, NULL, &why_not) == STATUS_OK) {
		for (size_t i = 0; i < 16 && input.length < 64 << 10 && profile_input_fill(&input, 0); i++)
			continue;
		const char *first = input.data ? token_space(input.data) : "";
		first = token_space(first + 3 * (strncmp(first, "\xef\xbb\xbf", 3) == 0));
		is_trace = (*first == '{' && memmem(input.data, input.length, "\"traceEvents\"", 13)) ||
			(*first == '[' && memmem(input.data, input.length, "\"ph\"", 4));
	}
	profile_input_close(&input);
	return is_trace;
}
