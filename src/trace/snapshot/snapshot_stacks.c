#include "src/trace/snapshot/snapshot_stacks.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/base/text.h"
#include "src/trace/store/profile_table.h"

enum { FRAMES_MAX = 1 << 22, STACKS_MAX = 1 << 22, CALLS_MAX = 1 << 26, PATH_SHOWN = 512, LINE_SHOWN = 24 };

/* Room for `more` rows of `size` bytes behind `count`. */
static bool grow(void **rows, uint32_t *capacity, uint64_t count, uint64_t more, size_t size, uint64_t max)
{
	uint64_t wanted = *capacity ? *capacity : 256;
	while (wanted < count + more)
		wanted *= 2;
	if (wanted == *capacity)
		return true;
	void *grown = count + more <= max ? realloc(*rows, (size_t)wanted * size) : NULL;
	if (grown) {
		*rows = grown;
		*capacity = (uint32_t)wanted;
	}
	return grown != NULL;
}

bool snapshot_stacks_init(struct snapshot_stacks *stacks)
{
	*stacks = (struct snapshot_stacks){ 0 };
	stacks->frame_ids = profile_table_new();
	stacks->stack_ids = profile_table_new();
	if (!profile_names_init(&stacks->names) || !stacks->frame_ids || !stacks->stack_ids ||
		!grow((void **)&stacks->frames, &stacks->frame_capacity, 0, 1, sizeof *stacks->frames, FRAMES_MAX) ||
		!grow((void **)&stacks->stacks, &stacks->stack_capacity, 0, 1, sizeof *stacks->stacks, STACKS_MAX))
		return false;
	stacks->frames[0] = (struct snapshot_frame){ 0 };
	stacks->stacks[0] = (struct snapshot_stack){ 0 };
	stacks->frame_count = stacks->stack_count = 1;
	return true;
}

void snapshot_stacks_release(struct snapshot_stacks *stacks)
{
	profile_names_release(&stacks->names);
	profile_table_free(stacks->frame_ids);
	profile_table_free(stacks->stack_ids);
	free(stacks->frames);
	free(stacks->stacks);
	free(stacks->calls);
	*stacks = (struct snapshot_stacks){ 0 };
}

static uint64_t mix(uint64_t hash, uint64_t more)
{
	hash = (hash ^ more) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

static uint32_t no_room(struct snapshot_stacks *stacks)
{
	stacks->is_full = true;
	return 0;
}

/* -- frames -- */

static bool is_frame(const struct snapshot_stacks *stacks, uint32_t id, const struct snapshot_frame *frame)
{
	const struct snapshot_frame *found = &stacks->frames[id];
	return found->file == frame->file && found->function == frame->function && found->line == frame->line;
}

uint32_t snapshot_frame_add(struct snapshot_stacks *stacks, uint32_t file, int64_t line, uint32_t function)
{
	struct snapshot_frame frame = { file, function, line };
	uint64_t hash = mix(mix(mix(1, file), function), (uint64_t)line);
	for (;; hash++) {
		struct profile_entry *entry = profile_table_at(stacks->frame_ids, hash);
		if (!entry)
			return no_room(stacks);
		if (entry->bits && is_frame(stacks, (uint32_t)entry->bits, &frame))
			return (uint32_t)entry->bits;
		if (entry->bits)
			continue;
		if (!grow((void **)&stacks->frames, &stacks->frame_capacity, stacks->frame_count, 1, sizeof frame, FRAMES_MAX))
			return no_room(stacks);
		stacks->frames[stacks->frame_count] = frame;
		entry->bits = stacks->frame_count;
		return stacks->frame_count++;
	}
}

bool snapshot_frame_is_own(const struct snapshot_stacks *stacks, uint32_t frame)
{
	static const char *const others[] = { "/site-packages/", "/dist-packages/", "/lib/python3.", "/lib64/python3.",
		"/torch/nn/", "/torch/optim/", "/torch/autograd/", "/torch/utils/", "/torch/_", "<frozen ", "/torchinductor_" };
	struct profile_slice file = profile_names_text(&stacks->names, stacks->frames[frame].file);
	bool is_python = (file.length > 3 && memcmp(file.text + file.length - 3, ".py", 3) == 0) ||
		(file.length > 2 && file.text[0] == '<' && file.text[file.length - 1] == '>');
	for (size_t i = 0; is_python && i < sizeof others / sizeof *others; i++)
		is_python = !memmem(file.text, file.length, others[i], strlen(others[i]));
	return is_python;
}

const char *snapshot_frame_show(
	const struct snapshot_stacks *stacks, uint32_t frame, bool is_full, char *out, size_t size)
{
	struct profile_slice file = profile_names_text(&stacks->names, stacks->frames[frame].file);
	struct profile_slice function = profile_names_text(&stacks->names, stacks->frames[frame].function);
	char path[PATH_SHOWN];
	size_t from = file.length, slashes = 0;
	while (!is_full && from > 0 && slashes + (file.text[from - 1] == '/') < 2)
		slashes += file.text[--from] == '/';
	from = is_full ? 0 : from;
	text_clean(
		path, size < sizeof path + LINE_SHOWN ? size - LINE_SHOWN : sizeof path, file.text + from, file.length - from);
	bool has_file = file.length && !(file.length == 2 && memcmp(file.text, "??", 2) == 0);
	int length = has_file ? snprintf(out, size, "%s:%" PRId64 " ", path, stacks->frames[frame].line) : 0;
	if (length >= 0 && (size_t)length < size)
		text_clean(out + length, size - (size_t)length, function.text, function.length);
	return out;
}

/* -- stacks -- */

static bool is_stack(const struct snapshot_stacks *stacks, uint32_t id, const uint32_t *frames, size_t count)
{
	const struct snapshot_stack *stack = &stacks->stacks[id];
	return stack->count == count && memcmp(stacks->calls + stack->first, frames, count * sizeof *frames) == 0;
}

/* Frames of C++ (stacks="all") that only allocate, or record that. */
static bool is_allocation(const struct snapshot_stacks *stacks, uint32_t frame)
{
	static const char *const parts[] = { "torch::unwind", "CapturedTraceback",
		"torch::cuda::", "c10::cuda::", "at::detail::" };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (profile_names_contain(&stacks->names, stacks->frames[frame].function, parts[i]))
			return true;
	return false;
}

/* Of a stack without Python: the node of autograd, or what called the allocator. */
static uint32_t native_frame(const struct snapshot_stacks *stacks, const uint32_t *frames, size_t count)
{
	uint32_t caller = 0;
	for (size_t i = 0; i < count; i++) {
		if (profile_names_contain(&stacks->names, stacks->frames[frames[i]].function, "::generated::"))
			return frames[i];
		if (!caller && !is_allocation(stacks, frames[i]))
			caller = frames[i];
	}
	return caller ? caller : frames[0];
}

/* The innermost frame of the program; without one, the innermost frame of Python; without that, see above. */
static uint32_t own_frame(const struct snapshot_stacks *stacks, const uint32_t *frames, size_t count)
{
	uint32_t python = 0;
	for (size_t i = 0; i < count; i++) {
		struct profile_slice file = profile_names_text(&stacks->names, stacks->frames[frames[i]].file);
		if (snapshot_frame_is_own(stacks, frames[i]))
			return frames[i];
		if (!python && file.length > 3 && memcmp(file.text + file.length - 3, ".py", 3) == 0)
			python = frames[i];
	}
	return python ? python : native_frame(stacks, frames, count);
}

static uint32_t insert(
	struct snapshot_stacks *stacks, struct profile_entry *entry, const uint32_t *frames, uint32_t count)
{
	if (!grow((void **)&stacks->stacks, &stacks->stack_capacity, stacks->stack_count, 1, sizeof *stacks->stacks,
			STACKS_MAX) ||
		!grow((void **)&stacks->calls, &stacks->call_capacity, stacks->call_count, count, sizeof *stacks->calls,
			CALLS_MAX))
		return no_room(stacks);
	memcpy(stacks->calls + stacks->call_count, frames, count * sizeof *frames);
	stacks->stacks[stacks->stack_count] =
		(struct snapshot_stack){ stacks->call_count, count, own_frame(stacks, frames, count) };
	stacks->call_count += count;
	entry->bits = stacks->stack_count;
	return stacks->stack_count++;
}

uint32_t snapshot_stack_add(struct snapshot_stacks *stacks, const uint32_t *frames, size_t count)
{
	count = count < SNAPSHOT_DEPTH_MAX ? count : SNAPSHOT_DEPTH_MAX;
	uint64_t hash = count;
	for (size_t i = 0; i < count; i++)
		hash = mix(hash, frames[i]);
	for (; count; hash++) {
		struct profile_entry *entry = profile_table_at(stacks->stack_ids, hash);
		if (!entry)
			return no_room(stacks);
		if (!entry->bits)
			return insert(stacks, entry, frames, (uint32_t)count);
		if (is_stack(stacks, (uint32_t)entry->bits, frames, count))
			return (uint32_t)entry->bits;
	}
	return 0;
}
