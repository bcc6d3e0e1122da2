#include "src/trace/snapshot/snapshot_json.h"

#include <math.h>

#include "src/base/text.h"
#include "src/trace/snapshot/snapshot_lines.h"

enum { TEXT_SIZE = 4200 };

static void add_name(struct json *json, const char *key, const struct snapshot *snapshot, uint32_t name)
{
	char text[TEXT_SIZE];
	struct profile_slice slice = profile_names_text(&snapshot->stacks.names, name);
	text_clean(text, sizeof text, slice.text, slice.length);
	json_text(json, key, name ? text : NULL);
}

static size_t shown(const struct profile_view *view, size_t count)
{
	return view->limit && view->limit < count ? view->limit : count;
}

static void add_sum(struct json *json, const struct snapshot_group *sum)
{
	json_unsigned(json, "reserved_bytes", sum->reserved);
	json_unsigned(json, "allocated_bytes", sum->requested + sum->rounding);
	json_unsigned(json, "requested_bytes", sum->requested);
	json_unsigned(json, "active_bytes", sum->requested + sum->rounding + sum->awaiting);
	json_unsigned(json, "awaiting_free_bytes", sum->awaiting);
	json_unsigned(json, "inactive_split_bytes", sum->split_bytes);
	json_unsigned(json, "inactive_split_blocks", sum->split_blocks);
	json_unsigned(json, "inactive_segment_bytes", sum->whole_bytes);
	json_unsigned(json, "largest_free_bytes", sum->largest_free);
	json_number(json, "fragmentation_ratio", sum->reserved ? (double)sum->split_bytes / (double)sum->reserved : NAN);
}

static void add_groups(struct json *json, const struct snapshot *snapshot, int32_t device)
{
	json_open_array(json, "segments");
	for (size_t i = 0; i < snapshot->group_count; i++) {
		const struct snapshot_group *group = &snapshot->groups[i];
		if (group->device != device)
			continue;
		json_open_object(json, NULL);
		add_name(json, "kind", snapshot, group->kind);
		json_integer(json, "stream", group->stream);
		json_bool(json, "is_expandable", group->is_expandable);
		json_unsigned(json, "count", group->segments);
		json_unsigned(json, "blocks", group->blocks);
		add_sum(json, group);
		json_close_object(json);
	}
	json_close_array(json);
}

void snapshot_line_as_json(struct json *json, const struct snapshot *snapshot, uint32_t frame)
{
	char text[TEXT_SIZE];
	const struct snapshot_frame *found = &snapshot->stacks.frames[frame];
	if (!frame)
		return;
	json_text(json, "line", snapshot_frame_show(&snapshot->stacks, frame, false, text, sizeof text));
	add_name(json, "file", snapshot, found->file);
	json_integer(json, "line_number", found->line);
	add_name(json, "function", snapshot, found->function);
}

static void add_frames(struct json *json, const struct snapshot *snapshot, uint32_t stack)
{
	char text[TEXT_SIZE];
	const struct snapshot_stack *found = &snapshot->stacks.stacks[stack];
	json_open_array(json, "frames");
	for (uint32_t i = 0; i < found->count; i++)
		json_text(json, NULL,
			snapshot_frame_show(&snapshot->stacks, snapshot->stacks.calls[found->first + i], true, text, sizeof text));
	json_close_array(json);
}

static void add_lines(struct json *json, const char *key, const struct snapshot *snapshot,
	const struct snapshot_lines *lines, const struct profile_view *view)
{
	size_t count = shown(view, lines->count);
	json_open_array(json, key);
	for (size_t i = 0; i < count; i++) {
		const struct snapshot_line *line = &lines->rows[i];
		json_open_object(json, NULL);
		snapshot_line_as_json(json, snapshot, line->frame);
		json_unsigned(json, "bytes", line->live.bytes);
		if (line->live.blocks)
			json_unsigned(json, "blocks", line->live.blocks);
		json_close_object(json);
	}
	json_close_array(json);
	json->out->failed |= !lines->rows;
}

/* -- history -- */

static void add_moment(
	struct json *json, const struct snapshot_history *history, uint64_t event, int64_t time_us, uint64_t live_delta)
{
	json_unsigned(json, "event", event);
	if (time_us && history->last_us >= time_us)
		json_number(json, "before_end_s", (double)(history->last_us - time_us) / 1e6);
	json_unsigned(json, "live_bytes", snapshot_history_live(history, live_delta));
}

static void add_ooms(struct json *json, const struct snapshot *snapshot, const struct snapshot_history *history,
	const struct profile_view *view)
{
	uint64_t count = history->oom_count, first = count > SNAPSHOT_OOMS_MAX ? count - SNAPSHOT_OOMS_MAX : 0;
	json_unsigned(json, "out_of_memory_count", count);
	if (!count)
		return;
	json_open_array(json, "out_of_memory");
	for (uint64_t i = first; i < count; i++) {
		const struct snapshot_oom *oom = &history->ooms[i % SNAPSHOT_OOMS_MAX];
		json_open_object(json, NULL);
		add_moment(json, history, oom->event, oom->time_us, oom->live_delta);
		json_unsigned(json, "requested_bytes", oom->size);
		if (oom->has_device_free)
			json_unsigned(json, "device_free_bytes", oom->device_free);
		snapshot_line_as_json(json, snapshot, snapshot->stacks.stacks[oom->stack].own);
		json_close_object(json);
	}
	json_close_array(json);
	struct snapshot_lines lines = snapshot_lines_at(snapshot, history, SNAPSHOT_LAST_OOM);
	add_lines(json, "last_out_of_memory_lines", snapshot, &lines, view);
	snapshot_lines_release(&lines);
}

static void add_history(struct json *json, const struct snapshot *snapshot, const struct snapshot_history *history,
	const struct profile_view *view)
{
	const struct snapshot_moment *peak = &history->marks[SNAPSHOT_PEAK];
	struct snapshot_lines lines = snapshot_lines_at(snapshot, history, SNAPSHOT_PEAK);
	json_open_object(json, "history");
	json_unsigned(json, "events", history->events);
	json_unsigned(json, "allocations", history->allocations);
	json_unsigned(json, "frees", history->frees);
	json_bool(json, "is_partial", history->unknown_frees || history->before.blocks);
	json_unsigned(json, "before_bytes", history->unknown_freed + history->before.bytes);
	if (history->first_us)
		json_number(json, "window_s", (double)(history->last_us - history->first_us) / 1e6);
	json_open_object(json, "peak");
	add_moment(json, history, peak->event, peak->time_us, peak->live_delta);
	json_unsigned(json, "reserved_bytes", snapshot_history_reserved(history, peak->reserved_delta));
	add_lines(json, "lines", snapshot, &lines, view);
	json_close_object(json);
	add_ooms(json, snapshot, history, view);
	json_close_object(json);
	snapshot_lines_release(&lines);
}

/* -- the whole -- */

static void add_device(
	struct json *json, const struct snapshot *snapshot, int32_t device, const struct profile_view *view)
{
	struct snapshot_group sum = snapshot_sum(snapshot, device);
	const struct snapshot_history *history = snapshot_history_of(snapshot, device);
	if (!sum.segments && !history)
		return;
	json_open_object(json, NULL);
	json_integer(json, "device", device);
	add_sum(json, &sum);
	add_groups(json, snapshot, device);
	if (history)
		add_history(json, snapshot, history, view);
	json_close_object(json);
}

static void add_stacks(struct json *json, const struct snapshot *snapshot, const struct profile_view *view)
{
	struct snapshot_lines stacks = snapshot_stacks_now(snapshot);
	size_t count = shown(view, stacks.count);
	json_open_array(json, "stacks");
	for (size_t i = 0; i < count; i++) {
		json_open_object(json, NULL);
		json_unsigned(json, "bytes", stacks.rows[i].live.bytes);
		json_unsigned(json, "blocks", stacks.rows[i].live.blocks);
		add_frames(json, snapshot, stacks.rows[i].stack);
		json_close_object(json);
	}
	json_close_array(json);
	json->out->failed |= !stacks.rows;
	snapshot_lines_release(&stacks);
}

void snapshot_as_json(struct json *json, const struct snapshot *snapshot, const struct profile_view *view)
{
	char loss[400];
	struct snapshot_lines lines = snapshot_lines_now(snapshot);
	json_open_object(json, NULL);
	json_text(json, "kind", "memory_snapshot");
	json_text(json, "file", snapshot->path);
	json_unsigned(json, "bytes", snapshot->bytes);
	json_bool(json, "is_cut", snapshot->is_cut);
	json_text(json, "loss", snapshot_loss(snapshot, loss, sizeof loss)[0] ? loss : NULL);
	json_open_array(json, "devices");
	for (int32_t device = 0; device < SNAPSHOT_DEVICES_MAX; device++)
		add_device(json, snapshot, device, view);
	json_close_array(json);
	add_lines(json, "lines", snapshot, &lines, view);
	add_stacks(json, snapshot, view);
	json_close_object(json);
	snapshot_lines_release(&lines);
}
