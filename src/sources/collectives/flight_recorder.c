#include "src/sources/collectives/flight_recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/sources/python/remote.h"

/* Offsets in FlightRecorder<EventType> (the same for c10::Event and CUDAEvent). */
enum {
	OBJECT_ENABLED = 0,
	OBJECT_ENTRIES = 48, /* std::vector: begin, end, end of the capacity */
	OBJECT_ENTRIES_MAX = 72,
	OBJECT_NEXT = 80,
	OBJECT_ID = 88,
	OBJECT_EPOCH = 96,
	OBJECT_STATUS_ROOT = 176, /* in the header of a std::map */
	OBJECT_STATUS_COUNT = 200,
	OBJECT_SIZE = 208
};
/* In its Entry. */
enum {
	ENTRY_ID = 0,
	ENTRY_EPOCH = 8,
	ENTRY_GROUP_ID = 16,
	ENTRY_DESCRIPTION = 24, /* std::string, as the next */
	ENTRY_GROUP = 56,
	ENTRY_SEQUENCE = 88,
	ENTRY_OP_ID = 104,
	ENTRY_NAME = 112,
	ENTRY_CREATED = 176,
	ENTRY_POINT_TO_POINT = 192,
	ENTRY_DIMENSIONS = 240, /* c10::SmallVector: begin, 4-byte size and capacity, the elements if they are few */
	ENTRY_SIZES = 384,
	ENTRY_SIZE = 512
};
/* A node of std::map<size_t, std::shared_ptr<ProcessGroupStatus>>. */
enum { NODE_PARENT = 8, NODE_LEFT = 16, NODE_RIGHT = 24, NODE_KEY = 32, NODE_STATUS = 40, NODE_SIZE = 48 };
enum { STATUS_SIZE = 24 };
enum { STRING_INLINE = 16, STRING_SIZE = 32, SMALL_INLINE = 16, DIMENSIONS_INLINE = 4, SIZES_INLINE = 8 };
/* A ring of more entries, or longer texts, are no flight recorder. FAULTS_MAX: torn readings are rare. */
enum { RING_MAX = 1 << 24, STRING_MAX = 4096, RANK_OF_TENSOR_MAX = 64, FAULTS_MAX = 3 };

struct ring {
	uint64_t begin, count, max, next, id, epoch;
};

static uint64_t word_at(const unsigned char *bytes, size_t offset)
{
	uint64_t word;
	memcpy(&word, bytes + offset, sizeof word);
	return word;
}

static uint32_t half_at(const unsigned char *bytes, size_t offset)
{
	uint32_t half;
	memcpy(&half, bytes + offset, sizeof half);
	return half;
}

static enum status status_of_read(void)
{
	switch (errno) {
	case EPERM:
	case EACCES: return STATUS_DENIED;
	case ESRCH: return STATUS_END;
	case EFAULT: return STATUS_DAMAGED;
	default: return STATUS_IO;
	}
}

/* -- the object -- */

static enum status parse_object(const unsigned char *bytes, struct ring *out)
{
	uint64_t begin = word_at(bytes, OBJECT_ENTRIES), end = word_at(bytes, OBJECT_ENTRIES + 8),
			 room_end = word_at(bytes, OBJECT_ENTRIES + 16);
	*out = (struct ring){ .begin = begin,
		.max = word_at(bytes, OBJECT_ENTRIES_MAX),
		.next = word_at(bytes, OBJECT_NEXT),
		.id = word_at(bytes, OBJECT_ID),
		.epoch = word_at(bytes, OBJECT_EPOCH) };
	if (bytes[OBJECT_ENABLED] > 1 || bytes[OBJECT_ENABLED + 1] > 1 || out->max > RING_MAX || end < begin ||
		room_end < end || (end - begin) % ENTRY_SIZE != 0 || (room_end - begin) % ENTRY_SIZE != 0)
		return STATUS_DAMAGED;
	if (!bytes[OBJECT_ENABLED])
		return out->max == 0 ? STATUS_NOT_FOUND : STATUS_DAMAGED;
	out->count = (end - begin) / ENTRY_SIZE;
	bool is_full = out->count == out->max;
	if (out->max == 0 || out->count > out->max || (!is_full && out->next != out->count) || out->next >= out->max ||
		(!is_full && out->epoch == 0 && out->id != out->count) || (is_full && out->epoch == 0 && out->id < out->count))
		return STATUS_DAMAGED;
	return STATUS_OK;
}

/* -- how far each group is -- */

/* Lists the nodes of the map, breadth first. */
static bool list_groups(struct flight_recorder *recorder, uint64_t root, uint64_t total)
{
	struct {
		uint64_t node, parent;
	} queue[2 * FLIGHT_GROUPS_MAX + 1];
	size_t tail = 0;
	recorder->group_count = 0;
	queue[tail].node = root;
	queue[tail++].parent = recorder->object + OBJECT_STATUS_ROOT - NODE_PARENT;
	for (size_t head = 0; head < tail && recorder->group_count < FLIGHT_GROUPS_MAX; head++) {
		unsigned char node[NODE_SIZE];
		if (!remote_read(recorder->pid, queue[head].node, node, sizeof node) ||
			word_at(node, NODE_PARENT) != queue[head].parent)
			return false;
		recorder->groups[recorder->group_count].id = word_at(node, NODE_KEY);
		recorder->groups[recorder->group_count++].status = word_at(node, NODE_STATUS);
		const uint64_t children[] = { word_at(node, NODE_LEFT), word_at(node, NODE_RIGHT) };
		for (size_t i = 0; i < 2; i++)
			if (children[i]) {
				queue[tail].node = children[i];
				queue[tail++].parent = queue[head].node;
			}
	}
	recorder->group_total = total;
	return recorder->group_count == (total < FLIGHT_GROUPS_MAX ? total : FLIGHT_GROUPS_MAX);
}

static bool is_sequence(int64_t sequence) { return sequence >= -1; }

static bool take_statuses(
	const struct flight_recorder *recorder, unsigned char bytes[][STATUS_SIZE], struct flight_reading *out)
{
	for (size_t i = 0; i < recorder->group_count; i++) {
		struct flight_status *status = &out->statuses[i];
		status->group_id = recorder->groups[i].id;
		memcpy(&status->enqueued, bytes[i], sizeof status->enqueued);
		memcpy(&status->started, bytes[i] + 8, sizeof status->started);
		memcpy(&status->completed, bytes[i] + 16, sizeof status->completed);
		if (!is_sequence(status->enqueued) || !is_sequence(status->started) || !is_sequence(status->completed))
			return false;
	}
	out->status_count = recorder->group_count;
	return true;
}

/* The object twice and the known statuses, with one call. */
static enum status read_object(struct flight_recorder *recorder, struct flight_reading *out, struct ring *ring)
{
	unsigned char object[2][OBJECT_SIZE], statuses[FLIGHT_GROUPS_MAX][STATUS_SIZE];
	struct remote_piece pieces[FLIGHT_GROUPS_MAX + 2] = { { recorder->object, object[0], OBJECT_SIZE } };
	size_t count = 1;
	for (size_t i = 0; i < recorder->group_count; i++)
		pieces[count++] = (struct remote_piece){ recorder->groups[i].status, statuses[i], STATUS_SIZE };
	pieces[count++] = (struct remote_piece){ recorder->object, object[1], OBJECT_SIZE };
	if (!remote_read_pieces(recorder->pid, pieces, count))
		return status_of_read();
	if (memcmp(object[0] + OBJECT_ENTRIES, object[1] + OBJECT_ENTRIES, OBJECT_SIZE - OBJECT_ENTRIES) != 0)
		return STATUS_AGAIN;
	enum status status = parse_object(object[0], ring);
	if (status != STATUS_OK)
		return status;
	uint64_t total = word_at(object[0], OBJECT_STATUS_COUNT), root = word_at(object[0], OBJECT_STATUS_ROOT);
	if (total != recorder->group_total) {
		if (total > RING_MAX || (total > 0) != (root != 0) || !list_groups(recorder, root, total)) {
			recorder->group_count = recorder->group_total = 0;
			return STATUS_DAMAGED;
		}
		return STATUS_AGAIN;
	}
	return take_statuses(recorder, statuses, out) ? STATUS_OK : STATUS_DAMAGED;
}

/* -- entries -- */

/* A text on the heap of the process, to be read with those of other entries. */
struct texts {
	size_t count;
	struct remote_piece pieces[3 * FLIGHT_ENTRIES_MAX];
};

static bool take_text(
	const unsigned char *entry, uint64_t address, size_t offset, char out[FLIGHT_TEXT_SIZE], struct texts *texts)
{
	uint64_t begin = word_at(entry, offset), length = word_at(entry, offset + 8);
	size_t size = length < FLIGHT_TEXT_SIZE ? (size_t)length : FLIGHT_TEXT_SIZE - 1;
	memset(out, 0, FLIGHT_TEXT_SIZE);
	if (begin == address + offset + STRING_INLINE) {
		memcpy(out, entry + offset + STRING_INLINE, size < STRING_INLINE ? size : STRING_INLINE - 1);
		return length < STRING_INLINE;
	}
	if (length < STRING_INLINE || length > STRING_MAX || !begin)
		return false;
	texts->pieces[texts->count++] = (struct remote_piece){ begin, out, size };
	return true;
}

/* "[1000, 64], [3]"; nothing if the vectors are too long to lie in the entry. */
static bool take_sizes(const unsigned char *entry, uint64_t address, char out[FLIGHT_TEXT_SIZE])
{
	uint32_t tensors = half_at(entry, ENTRY_DIMENSIONS + 8), total = half_at(entry, ENTRY_SIZES + 8);
	bool is_inline = word_at(entry, ENTRY_DIMENSIONS) == address + ENTRY_DIMENSIONS + SMALL_INLINE &&
		word_at(entry, ENTRY_SIZES) == address + ENTRY_SIZES + SMALL_INLINE;
	size_t used = 0, at = 0;
	out[0] = '\0';
	if (!is_inline)
		return true;
	if (tensors > DIMENSIONS_INLINE || total > SIZES_INLINE)
		return false;
	for (uint32_t i = 0; i < tensors; i++) {
		uint64_t rank = word_at(entry, ENTRY_DIMENSIONS + SMALL_INLINE + 8 * (size_t)i);
		if (rank > total - at)
			return false;
		used += (size_t)snprintf(out + used, FLIGHT_TEXT_SIZE - used, i ? ", [" : "[");
		for (uint64_t k = 0; k < rank && used < FLIGHT_TEXT_SIZE; k++, at++)
			used += (size_t)snprintf(out + used, FLIGHT_TEXT_SIZE - used, k ? ", %lld" : "%lld",
				(long long)word_at(entry, ENTRY_SIZES + SMALL_INLINE + 8 * at));
		if (used < FLIGHT_TEXT_SIZE)
			used += (size_t)snprintf(out + used, FLIGHT_TEXT_SIZE - used, "]");
		if (used >= FLIGHT_TEXT_SIZE) {
			out[0] = '\0';
			return true;
		}
	}
	return true;
}

static bool take_entry(const unsigned char *bytes, uint64_t address, uint64_t id, uint64_t epoch,
	struct flight_entry *out, struct texts *texts)
{
	if (word_at(bytes, ENTRY_ID) != id || word_at(bytes, ENTRY_EPOCH) != epoch || bytes[ENTRY_POINT_TO_POINT] > 1)
		return false;
	*out = (struct flight_entry){ .group_id = word_at(bytes, ENTRY_GROUP_ID),
		.sequence = word_at(bytes, ENTRY_SEQUENCE),
		.op_id = word_at(bytes, ENTRY_OP_ID),
		.created_realtime_ns = (int64_t)word_at(bytes, ENTRY_CREATED),
		.is_point_to_point = bytes[ENTRY_POINT_TO_POINT] };
	return out->created_realtime_ns > 0 && out->sequence <= INT64_MAX &&
		take_text(bytes, address, ENTRY_GROUP, out->group, texts) &&
		take_text(bytes, address, ENTRY_DESCRIPTION, out->description, texts) &&
		take_text(bytes, address, ENTRY_NAME, out->name, texts) && take_sizes(bytes, address, out->sizes);
}

static bool is_text(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ')
			return false;
	return true;
}

static enum status read_texts(pid_t pid, const struct texts *texts)
{
	if (texts->count && !remote_read_pieces(pid, texts->pieces, texts->count))
		return status_of_read();
	for (size_t i = 0; i < texts->count; i++)
		if (!is_text(texts->pieces[i].out))
			return STATUS_DAMAGED;
	return STATUS_OK;
}

struct copies {
	unsigned char bytes[2][FLIGHT_ENTRIES_MAX * ENTRY_SIZE];
	struct texts texts;
};

/* The next `count` entries, which are adjacent in memory. Stops at the first that changes. */
static enum status read_entries(
	struct flight_recorder *recorder, uint64_t address, size_t count, struct copies *copies, struct flight_reading *out)
{
	unsigned char *first = copies->bytes[0], *second = copies->bytes[1];
	const struct remote_piece pieces[] = { { address, first, count * ENTRY_SIZE },
		{ address, second, count * ENTRY_SIZE } };
	size_t taken = 0;
	if (!remote_read_pieces(recorder->pid, pieces, 2))
		return status_of_read();
	copies->texts.count = 0;
	for (; taken < count; taken++) {
		const unsigned char *entry = first + taken * ENTRY_SIZE;
		if (memcmp(entry, second + taken * ENTRY_SIZE, ENTRY_SIZE) != 0)
			break;
		if (!take_entry(entry, address + taken * ENTRY_SIZE, recorder->next_id + taken, recorder->epoch,
				&out->entries[out->entry_count + taken], &copies->texts))
			return STATUS_DAMAGED;
	}
	enum status status = read_texts(recorder->pid, &copies->texts);
	if (status != STATUS_OK)
		return status;
	out->entry_count += taken;
	recorder->next_id += taken;
	return taken == count ? STATUS_OK : STATUS_AGAIN;
}

static enum status read_new(struct flight_recorder *recorder, const struct ring *ring, struct flight_reading *out)
{
	if (!recorder->is_begun || recorder->epoch != ring->epoch || recorder->next_id > ring->id) {
		recorder->epoch = ring->epoch;
		recorder->next_id = 0;
	}
	uint64_t left = ring->id - recorder->next_id, retained = ring->id < ring->count ? ring->id : ring->count,
			 most = retained < FLIGHT_ENTRIES_MAX ? retained : FLIGHT_ENTRIES_MAX;
	if (left > most) {
		out->skipped = recorder->is_begun ? left - most : 0;
		recorder->next_id = ring->id - most;
	}
	recorder->is_begun = true;
	struct copies *copies = recorder->next_id < ring->id ? malloc(sizeof *copies) : NULL;
	enum status status = copies || recorder->next_id >= ring->id ? STATUS_OK : STATUS_NO_MEMORY;
	while (status == STATUS_OK && recorder->next_id < ring->id) {
		uint64_t back = ring->id - recorder->next_id,
				 at = (ring->next + (back > ring->next ? ring->max : 0) - back) % ring->max, now = ring->max - at;
		now = now < back ? now : back;
		status = at < ring->count ? read_entries(recorder, ring->begin + at * ENTRY_SIZE, (size_t)now, copies, out)
								  : STATUS_DAMAGED;
	}
	free(copies);
	return status;
}

/* -- public -- */

enum status flight_recorder_read(struct flight_recorder *recorder, struct flight_reading *out)
{
	uint64_t object;
	struct ring ring;
	out->status_count = out->entry_count = 0;
	out->skipped = 0;
	if (!remote_word(recorder->pid, recorder->pointer, &object))
		return status_of_read() == STATUS_DAMAGED ? STATUS_UNSUPPORTED : status_of_read();
	if (!object)
		return STATUS_AGAIN;
	if (object != recorder->object)
		recorder->group_count = recorder->group_total = 0;
	recorder->object = object;
	const struct flight_recorder before = *recorder;
	enum status status = read_object(recorder, out, &ring);
	if (status == STATUS_AGAIN) /* the groups have been listed, or it changed */
		status = read_object(recorder, out, &ring);
	if (status == STATUS_OK)
		status = read_new(recorder, &ring, out);
	if (status == STATUS_AGAIN && out->entry_count > 0)
		status = STATUS_OK;
	if (status != STATUS_OK) {
		recorder->is_begun = before.is_begun;
		recorder->epoch = before.epoch;
		recorder->next_id = before.next_id;
	}
	recorder->faults = status == STATUS_DAMAGED ? recorder->faults + 1 : 0;
	return status != STATUS_DAMAGED ? status : recorder->faults < FAULTS_MAX ? STATUS_AGAIN : STATUS_UNSUPPORTED;
}
