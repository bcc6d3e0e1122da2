#include "src/trace/snapshot/snapshot.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/trace/reading/profile_input.h"
#include "src/trace/snapshot/pickle.h"

/* A size beyond 2^50 is damage. */
#define SIZE_MAX_BYTES ((int64_t)1 << 50)

enum { STACK = PICKLE_SHARED, FRAME = PICKLE_SHARED + 1, EVENT = PICKLE_OWN, BLOCK, BLOCKS, HISTORY };

/* Texts that have a meaning: their names begin at WORD_FIRST, in this order. */
enum { WORD_FIRST = PROFILE_NAME_OTHER + 1 };

enum word {
	ACTION,
	ADDR,
	SIZE,
	FRAMES,
	TIME_US,
	DEVICE_FREE,
	FILENAME,
	LINE,
	NAME,
	ADDRESS,
	REQUESTED_SIZE,
	STATE,
	TOTAL_SIZE,
	STREAM,
	SEGMENT_TYPE,
	DEVICE,
	IS_EXPANDABLE,
	BLOCKS_KEY,
	KEYS,
	ACTIVE_ALLOCATED = KEYS,
	ACTIVE_AWAITING_FREE, /* so the documents say; torch writes the next one */
	ACTIVE_PENDING_FREE,
	INACTIVE,
	ACTION_FIRST,
	WORDS = ACTION_FIRST + SNAPSHOT_ACTIONS
};

static const char *const words[WORDS] = { "action", "addr", "size", "frames", "time_us", "device_free", "filename",
	"line", "name", "address", "requested_size", "state", "total_size", "stream", "segment_type", "device",
	"is_expandable", "blocks", "active_allocated", "active_awaiting_free", "active_pending_free", "inactive", "alloc",
	"free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "snapshot",
	"oom" };

/* A block before its segment is known. */
struct pending_block {
	uint64_t address, size, requested;
	uint32_t stack, state; /* a word */
};

struct builder {
	struct snapshot *snapshot;
	struct pending_block *blocks;
	size_t block_count, block_capacity;
	struct snapshot_event *events; /* before their list is known */
	size_t event_count, event_capacity;
	bool has_snapshot_part;
};

/* Room for one more row. */
static bool grow(void **rows, size_t *capacity, size_t count, size_t size)
{
	if (count < *capacity)
		return true;
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *grown = realloc(*rows, wanted * size);
	if (grown) {
		*rows = grown;
		*capacity = wanted;
	}
	return grown != NULL;
}

/* -- values -- */

static bool is_word(const struct pickle_value *value, int word)
{
	return value->kind == PICKLE_TEXT && value->number == WORD_FIRST + word;
}

static uint32_t name_of(const struct pickle_value *value)
{
	return value->kind == PICKLE_TEXT ? (uint32_t)value->number : PROFILE_NAME_NONE;
}

static bool has_size(struct builder *builder, const struct pickle_value *value)
{
	bool is_size = value->kind == PICKLE_INT && value->number >= 0 && value->number <= SIZE_MAX_BYTES;
	builder->snapshot->damaged += !is_size;
	return is_size;
}

static uint32_t stack_of(const struct pickle_value *value)
{
	return value->kind == STACK ? (uint32_t)value->number : 0;
}

/* -- dictionaries -- */

static bool make_frame(struct builder *builder, struct pickle_value *dict, const struct pickle_value *at)
{
	int64_t line = at[LINE].kind == PICKLE_INT ? at[LINE].number : 0;
	dict->kind = FRAME;
	dict->number = snapshot_frame_add(&builder->snapshot->stacks, name_of(&at[FILENAME]), line, name_of(&at[NAME]));
	return true;
}

static bool make_event(struct builder *builder, struct pickle_value *dict, const struct pickle_value *at)
{
	int action = has_size(builder, &at[SIZE]) ? 0 : SNAPSHOT_ACTIONS;
	while (action < SNAPSHOT_ACTIONS && !is_word(&at[ACTION], ACTION_FIRST + action))
		action++;
	if (!grow((void **)&builder->events, &builder->event_capacity, builder->event_count, sizeof *builder->events))
		return false;
	dict->kind = EVENT;
	dict->number = (int64_t)builder->event_count;
	builder->events[builder->event_count++] = (struct snapshot_event){ .action = (enum snapshot_action)action,
		.stack = stack_of(&at[FRAMES]),
		.address = (uint64_t)at[ADDR].number,
		.size = (uint64_t)at[SIZE].number,
		.device_free = (uint64_t)at[DEVICE_FREE].number,
		.has_device_free = at[DEVICE_FREE].kind == PICKLE_INT && at[DEVICE_FREE].number >= 0,
		.time_us = at[TIME_US].kind == PICKLE_INT ? at[TIME_US].number : 0 };
	return true;
}

static bool make_block(struct builder *builder, struct pickle_value *dict, const struct pickle_value *at)
{
	int64_t size = has_size(builder, &at[SIZE]) ? at[SIZE].number : 0;
	if (!grow((void **)&builder->blocks, &builder->block_capacity, builder->block_count, sizeof *builder->blocks))
		return false;
	int64_t requested = at[REQUESTED_SIZE].number;
	bool is_known = at[REQUESTED_SIZE].kind == PICKLE_INT && requested >= 0 && requested <= size;
	dict->kind = BLOCK;
	dict->number = (int64_t)builder->block_count;
	builder->blocks[builder->block_count++] = (struct pending_block){ .address = (uint64_t)at[ADDRESS].number,
		.size = (uint64_t)size,
		.requested = (uint64_t)(is_known ? requested : size),
		.stack = stack_of(&at[FRAMES]),
		.state = name_of(&at[STATE]) };
	return true;
}

/* -- segments -- */

static bool is_same_group(const struct snapshot_group *a, const struct snapshot_group *b)
{
	return a->device == b->device && a->stream == b->stream && a->kind == b->kind &&
		a->is_expandable == b->is_expandable;
}

/* What does not fit into SNAPSHOT_GROUPS_MAX is added to the last one. */
static struct snapshot_group *find_group(struct snapshot *snapshot, const struct snapshot_group *like)
{
	for (size_t i = 0; i < snapshot->group_count; i++)
		if (is_same_group(&snapshot->groups[i], like) || i + 1 == SNAPSHOT_GROUPS_MAX)
			return &snapshot->groups[i];
	if (!grow((void **)&snapshot->groups, &snapshot->group_capacity, snapshot->group_count, sizeof *snapshot->groups))
		return NULL;
	snapshot->groups[snapshot->group_count] = *like;
	return &snapshot->groups[snapshot->group_count++];
}

static bool keep_block(struct snapshot *snapshot, const struct pending_block *block, int32_t device)
{
	if (!grow((void **)&snapshot->blocks, &snapshot->block_capacity, snapshot->block_count, sizeof *snapshot->blocks))
		return false;
	snapshot->blocks[snapshot->block_count++] =
		(struct snapshot_block){ block->address, block->requested, block->stack, device };
	return true;
}

static bool add_block(
	struct snapshot *snapshot, struct snapshot_group *group, const struct pending_block *block, bool is_alone)
{
	if (block->state == WORD_FIRST + ACTIVE_ALLOCATED) {
		group->requested += block->requested;
		group->rounding += block->size - block->requested;
	} else if (block->state == WORD_FIRST + ACTIVE_AWAITING_FREE || block->state == WORD_FIRST + ACTIVE_PENDING_FREE) {
		group->awaiting += block->size;
	} else {
		group->split_bytes += is_alone ? 0 : block->size;
		group->split_blocks += !is_alone;
		group->whole_bytes += is_alone ? block->size : 0;
		group->largest_free = block->size > group->largest_free ? block->size : group->largest_free;
		return true;
	}
	group->blocks++;
	return keep_block(snapshot, block, group->device);
}

static bool make_segment(struct builder *builder, struct pickle_value *dict, const struct pickle_value *at)
{
	struct snapshot *snapshot = builder->snapshot;
	const struct pickle_value *device = &at[DEVICE];
	struct snapshot_group like = { .device = device->kind == PICKLE_INT && device->number >= 0 &&
				device->number < SNAPSHOT_DEVICES_MAX
			? (int32_t)device->number
			: 0,
		.stream = at[STREAM].kind == PICKLE_INT ? at[STREAM].number : 0,
		.kind = name_of(&at[SEGMENT_TYPE]),
		.is_expandable = at[IS_EXPANDABLE].kind == PICKLE_INT && at[IS_EXPANDABLE].number };
	(void)dict;
	builder->has_snapshot_part = true;
	if (!has_size(builder, &at[TOTAL_SIZE]))
		return true;
	struct snapshot_group *group = find_group(snapshot, &like);
	if (!group)
		return false;
	size_t first = at[BLOCKS_KEY].kind == BLOCKS ? (size_t)at[BLOCKS_KEY].number : builder->block_count;
	bool is_good = true;
	group->segments++;
	group->reserved += (uint64_t)at[TOTAL_SIZE].number;
	snapshot->segments++;
	for (size_t i = first; i < builder->block_count && is_good; i++)
		is_good = add_block(snapshot, group, &builder->blocks[i], builder->block_count - first == 1);
	if (first < builder->block_count)
		builder->block_count = first;
	return is_good;
}

/* The first key that is there says what a dictionary is. */
static const struct {
	enum word key;
	bool (*make)(struct builder *builder, struct pickle_value *dict, const struct pickle_value *at);
} kinds[] = { { FILENAME, make_frame }, { ACTION, make_event }, { TOTAL_SIZE, make_segment }, { STATE, make_block } };

static bool make_dict(void *context, struct pickle_value *dict, const struct pickle_value *pairs, size_t count)
{
	struct pickle_value at[KEYS] = { 0 };
	if (dict->kind != PICKLE_DICT)
		return true;
	dict->kind = PICKLE_OTHER;
	for (size_t i = 0; i < count; i++) {
		int64_t key = pairs[2 * i].number - WORD_FIRST;
		if (pairs[2 * i].kind == PICKLE_TEXT && key >= 0 && key < KEYS)
			at[key] = pairs[2 * i + 1];
	}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (at[kinds[i].key].kind != PICKLE_OTHER)
			return kinds[i].make(context, dict, at);
	return true;
}

/* -- lists -- */

static bool make_stack(
	struct builder *builder, struct pickle_value *list, const struct pickle_value *items, size_t count)
{
	struct snapshot_stacks *stacks = &builder->snapshot->stacks;
	uint32_t frames[SNAPSHOT_DEPTH_MAX];
	size_t depth = 0;
	if (list->kind == STACK && list->number) {
		const struct snapshot_stack *before = &stacks->stacks[list->number];
		depth = before->count;
		memcpy(frames, stacks->calls + before->first, depth * sizeof *frames);
	}
	for (size_t i = 0; i < count && depth < SNAPSHOT_DEPTH_MAX; i++)
		if (items[i].kind == FRAME && items[i].number)
			frames[depth++] = (uint32_t)items[i].number;
	list->kind = STACK;
	list->number = snapshot_stack_add(stacks, frames, depth);
	return true;
}

static struct snapshot_history *begin_history(struct snapshot *snapshot, struct pickle_value *list)
{
	struct snapshot_history *history = malloc(sizeof *history);
	if (!history)
		return NULL;
	if (!snapshot_history_init(history)) {
		snapshot_history_release(history);
		free(history);
		return NULL;
	}
	history->device = (int32_t)snapshot->history_count;
	list->kind = HISTORY;
	list->number = (int64_t)snapshot->history_count;
	snapshot->histories[snapshot->history_count++] = history;
	return history;
}

static bool add_events(
	struct builder *builder, struct pickle_value *list, const struct pickle_value *items, size_t count)
{
	struct snapshot *snapshot = builder->snapshot;
	builder->has_snapshot_part = true;
	if (list->kind != HISTORY && snapshot->history_count == SNAPSHOT_DEVICES_MAX)
		return true;
	struct snapshot_history *history =
		list->kind == HISTORY ? snapshot->histories[list->number] : begin_history(snapshot, list);
	bool is_good = history != NULL;
	for (size_t i = 0; i < count && is_good; i++)
		if (items[i].kind == EVENT && (size_t)items[i].number < builder->event_count)
			is_good = snapshot_history_add(history, &builder->events[items[i].number]);
	if ((size_t)items[0].number < builder->event_count)
		builder->event_count = (size_t)items[0].number;
	return is_good;
}

/* A list of histories: the position is the device's number. */
static bool add_histories(
	struct builder *builder, struct pickle_value *list, const struct pickle_value *items, size_t count)
{
	struct snapshot *snapshot = builder->snapshot;
	for (size_t i = 0; i < count; i++)
		if (items[i].kind == HISTORY && list->number + (int64_t)i < SNAPSHOT_DEVICES_MAX)
			snapshot->histories[items[i].number]->device = (int32_t)(list->number + (int64_t)i);
	list->number += (int64_t)count;
	return true;
}

static bool add_blocks(
	struct builder *builder, struct pickle_value *list, const struct pickle_value *items, size_t count)
{
	(void)builder, (void)count;
	if (list->kind != BLOCKS)
		list->number = items[0].number;
	list->kind = BLOCKS;
	return true;
}

static bool make_list(void *context, struct pickle_value *list, const struct pickle_value *items, size_t count)
{
	if (!count)
		return true;
	bool is_new = list->kind == PICKLE_LIST && !list->number;
	switch (items[0].kind) {
	case FRAME: return is_new || list->kind == STACK ? make_stack(context, list, items, count) : true;
	case EVENT: return is_new || list->kind == HISTORY ? add_events(context, list, items, count) : true;
	case BLOCK: return is_new || list->kind == BLOCKS ? add_blocks(context, list, items, count) : true;
	default: return list->kind == PICKLE_LIST ? add_histories(context, list, items, count) : true;
	}
}

static bool make_text(void *context, const char *text, size_t length, uint32_t *id)
{
	struct builder *builder = context;
	*id = profile_names_add(&builder->snapshot->stacks.names, (struct profile_slice){ text, length });
	return true;
}

/* -- the whole -- */

static bool add_words(struct profile_names *names)
{
	for (uint32_t i = 0; i < WORDS; i++)
		if (profile_names_add(names, (struct profile_slice){ words[i], strlen(words[i]) }) != WORD_FIRST + i)
			return false;
	return true;
}

/* What segments hold, and history did not allocate, was there before the history. */
static bool join(struct snapshot *snapshot)
{
	bool is_good = true;
	for (size_t i = 0; i < snapshot->history_count && is_good; i++) {
		struct snapshot_history *history = snapshot->histories[i];
		history->reserved_end = snapshot_sum(snapshot, history->device).reserved;
		for (size_t k = 0; k < snapshot->block_count && is_good; k++) {
			const struct snapshot_block *block = &snapshot->blocks[k];
			if (block->device == history->device)
				is_good = snapshot_history_hold(history, block->address, block->requested, block->stack);
		}
	}
	return is_good;
}

static enum status read_input(struct snapshot *snapshot, struct profile_input *input, struct reason *why_not)
{
	struct builder builder = { .snapshot = snapshot };
	struct pickle_maker maker = { &builder, make_text, make_list, make_dict };
	struct pickle_end end;
	if (!snapshot_stacks_init(&snapshot->stacks) || !add_words(&snapshot->stacks.names))
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	enum status status = pickle_read(input, &maker, &end, why_not);
	if (status == STATUS_OK && !builder.has_snapshot_part)
		status = end.is_cut && end.why_cut.text[0]
			? reason_set(why_not, STATUS_DAMAGED, "copy the file again", "%.150s", end.why_cut.text)
			: reason_set(why_not, STATUS_UNSUPPORTED, "torch.cuda.memory._dump_snapshot() writes one",
				  "the pickle is no memory snapshot: it has neither segments nor a history");
	if (status == STATUS_OK && !join(snapshot))
		status = reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	snapshot->bytes = end.offset;
	snapshot->is_cut = end.is_cut;
	snapshot->has_more = end.has_more;
	snprintf(snapshot->why_cut, sizeof snapshot->why_cut, "%.99s", end.is_cut ? end.why_cut.text : "");
	free(builder.blocks);
	free(builder.events);
	return status;
}

static enum status read_opened(
	struct snapshot *snapshot, struct profile_input *input, enum status opened, struct reason *why_not)
{
	enum status status = opened;
	if (status == STATUS_OK && !input->length)
		profile_input_fill(input, 0);
	if (status == STATUS_OK && !pickle_is_begun(input))
		status =
			reason_set(why_not, STATUS_UNSUPPORTED, "torch.cuda.memory._dump_snapshot() writes one", "it is no pickle");
	if (status == STATUS_OK)
		status = read_input(snapshot, input, why_not);
	profile_input_close(input);
	if (status != STATUS_OK)
		snapshot_release(snapshot);
	return status;
}

enum status snapshot_read(struct snapshot *snapshot, const char *path, struct reason *why_not)
{
	struct profile_input input;
	struct reason inner = { "", "" };
	*snapshot = (struct snapshot){ 0 };
	snprintf(snapshot->path, sizeof snapshot->path, "%s", path);
	enum status status = profile_input_open(&input, path, NULL, why_not);
	if (status != STATUS_OK) {
		profile_input_close(&input);
		return status;
	}
	status = read_opened(snapshot, &input, STATUS_OK, &inner);
	if (status != STATUS_OK)
		reason_set(why_not, status, inner.remedy, "%.100s: %s", path, inner.text);
	return status;
}

enum status snapshot_read_memory(struct snapshot *snapshot, const void *bytes, size_t length, struct reason *why_not)
{
	struct profile_input input;
	*snapshot = (struct snapshot){ .path = "memory" };
	return read_opened(snapshot, &input, profile_input_memory(&input, bytes, length), why_not);
}

void snapshot_release(struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->history_count; i++) {
		snapshot_history_release(snapshot->histories[i]);
		free(snapshot->histories[i]);
	}
	snapshot_stacks_release(&snapshot->stacks);
	free(snapshot->groups);
	free(snapshot->blocks);
	*snapshot = (struct snapshot){ 0 };
}

bool snapshot_is_pickle(const char *path)
{
	struct profile_input input;
	struct reason why_not;
	bool is_pickle = false;
	if (strcmp(path, "-") == 0)
		return false;
	if (profile_input_open(&input, path, NULL, &why_not) == STATUS_OK) {
		profile_input_fill(&input, 0);
		is_pickle = pickle_is_begun(&input);
	}
	profile_input_close(&input);
	return is_pickle;
}

struct snapshot_group snapshot_sum(const struct snapshot *snapshot, int32_t device)
{
	struct snapshot_group sum = { .device = device };
	for (size_t i = 0; i < snapshot->group_count; i++) {
		const struct snapshot_group *group = &snapshot->groups[i];
		if (device >= 0 && group->device != device)
			continue;
		sum.segments += group->segments;
		sum.blocks += group->blocks;
		sum.reserved += group->reserved;
		sum.requested += group->requested;
		sum.rounding += group->rounding;
		sum.awaiting += group->awaiting;
		sum.split_bytes += group->split_bytes;
		sum.split_blocks += group->split_blocks;
		sum.whole_bytes += group->whole_bytes;
		sum.largest_free = group->largest_free > sum.largest_free ? group->largest_free : sum.largest_free;
	}
	return sum;
}

const struct snapshot_history *snapshot_history_of(const struct snapshot *snapshot, int32_t device)
{
	for (size_t i = 0; i < snapshot->history_count; i++)
		if (snapshot->histories[i]->device == device)
			return snapshot->histories[i];
	return NULL;
}

const char *snapshot_loss(const struct snapshot *snapshot, char *out, size_t size)
{
	out[0] = '\0';
	if (snapshot->is_cut)
		snprintf(out, size, "the file ends early, at byte %" PRIu64 "%s%s: what stands before is shown",
			snapshot->bytes, snapshot->why_cut[0] ? ": " : "", snapshot->why_cut);
	else if (snapshot->damaged)
		snprintf(out, size, "%" PRIu64 " sizes are missing or impossible: they are left out", snapshot->damaged);
	else if (snapshot->stacks.is_full)
		snprintf(out, size, "there are more stacks than memory: the rest counts as not recorded");
	else if (snapshot->has_more)
		snprintf(out, size, "the snapshot ends at byte %" PRIu64 ": the rest of the file is left out", snapshot->bytes);
	return out;
}
