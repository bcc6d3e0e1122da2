#include "src/export/json/json_memory.h"

#include <math.h>

#include "src/model/memory/memory_words.h"

static void write_allocator(struct json *json, const struct run *run)
{
	struct allocator allocator = run_allocator(run);
	if (isnan(allocator.allocated_bytes) && isnan(allocator.reserved_bytes) && isnan(allocator.peak_bytes))
		return;
	json_open_object(json, "gpu_allocator");
	json_number(json, "allocated_bytes", allocator.allocated_bytes);
	json_number(json, "reserved_bytes", allocator.reserved_bytes);
	json_number(json, "peak_bytes", allocator.peak_bytes);
	json_close_object(json);
}

static void write_sizes(struct json *json, const struct memory *memory)
{
	json_number(json, "rss_bytes", memory->rss_bytes);
	json_number(json, "peak_rss_bytes", memory->peak_rss_bytes);
	json_number(json, "tree_rss_bytes", memory->tree_rss_bytes);
	json_number(json, "tree_anonymous_bytes", memory->tree_anonymous_bytes);
	json_number(json, "tree_file_bytes", memory->tree_file_bytes);
	json_number(json, "tree_shared_bytes", memory->tree_shared_bytes);
	json_number(json, "anonymous_bytes", memory->anonymous_bytes);
	json_number(json, "file_bytes", memory->file_bytes);
	json_number(json, "shared_bytes", memory->shared_bytes);
	json_number(json, "swap_bytes", memory->swap_bytes);
}

static void write_growth(struct json *json, const struct memory *memory)
{
	json_number(json, "growth_bytes", memory->growth_bytes);
	if (memory->slope.points) {
		json_number(json, "slope_bytes_per_s", memory->slope.per_s);
		json_number(json, "slope_low_bytes_per_s", memory->slope.low_per_s);
		json_number(json, "slope_high_bytes_per_s", memory->slope.high_per_s);
	}
	json_number(json, "slope_bytes_per_batch", memory->slope_per_batch);
	json_number(json, "slope_low_bytes_per_batch", memory->slope_per_batch_low);
	json_number(json, "slope_high_bytes_per_batch", memory->slope_per_batch_high);
	json_number(json, "growth_per_epoch_bytes", memory->growth_per_epoch);
	json_text(json, "verdict", memory_verdict_word(memory->verdict));
	/* "trainer": the word of earlier versions, which programs compare. */
	json_text(json, "grower", memory->grower_is_main ? "trainer" : memory->grower[0] ? memory->grower : NULL);
	json_text(json, "grower_kind", memory_kind_word(memory->grower_kind));
	if (memory->grower_pid)
		json_integer(json, "grower_pid", memory->grower_pid);
	if (memory->grower[0])
		json_number(json, "grower_share_ratio", memory->grower_share_ratio);
}

static void write_limit(struct json *json, const struct memory *memory)
{
	if (!memory->limit)
		return;
	json_text(json, "limit", memory->limit);
	json_number(json, "limit_bytes", memory->limit_bytes);
	json_number(json, "limit_room_bytes", memory->limit_room_bytes);
	json_number(json, "limit_in_s", memory->limit_in_s);
}

void json_memory(struct json *json, const struct model *model, const struct run *run, int64_t realtime_offset_ns)
{
	const struct memory *memory = &model->memory;
	json_open_object(json, "memory");
	write_sizes(json, memory);
	write_growth(json, memory);
	write_limit(json, memory);
	if (memory->spike_ns) {
		json_unsigned(json, "spikes", memory->spikes);
		json_number(json, "spike_bytes", memory->spike_bytes);
		json_integer(json, "spike_ns", memory->spike_ns + realtime_offset_ns);
	}
	if (run)
		write_allocator(json, run);
	json_close_object(json);
}
