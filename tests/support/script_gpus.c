#include "tests/support/script_gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *room(struct script *script, size_t size)
{
	void *memory = sample_set_allocate(&script->set, size ? size : 1);
	if (!memory)
		abort();
	return memory;
}

struct gpu_row *script_gpu(struct script *script, double at_s, int32_t instance, int32_t parent, uint32_t index)
{
	struct gpu_row *row = room(script, sizeof *row);
	char *uuid = room(script, 32);
	snprintf(uuid, 32, "%s-%08d", parent >= 0 ? "MIG" : "GPU", (int)instance);
	*row = (struct gpu_row){ instance, parent, index, "NVIDIA", parent >= 0 ? "1g.10gb" : "H100 80GB HBM3", uuid,
		"0000:01:00.0", "nvidia 580.82", NULL };
	script_add(script, RECORD_GPU, at_s)->gpu = row;
	return row;
}

void script_gpu_processes(
	struct script *script, double at_s, int32_t instance, const struct gpu_process_row *rows, size_t count)
{
	struct gpu_process_row *copies = room(script, count * sizeof *copies);
	if (count)
		memcpy(copies, rows, count * sizeof *copies);
	struct record *record = script_add(script, RECORD_GPU_PROCESSES, at_s);
	record->gpu_processes.gpu = instance;
	record->gpu_processes.rows = copies;
	record->gpu_processes.count = count;
}

void script_gpu_process(struct script *script, double at_s, int32_t instance, int32_t pid, double bytes)
{
	const struct gpu_process_row row = { pid, GPU_PROCESS_COMPUTE, "", bytes, 0.5 };
	script_gpu_processes(script, at_s, instance, &row, 1);
}

void script_placement(struct script *script, double at_s, int32_t pid, int32_t local_rank, const char *visible_devices)
{
	struct record *record = script_add(script, RECORD_PROCESS_PLACE, at_s);
	record->placement.pid = pid;
	record->placement.local_rank = local_rank;
	record->placement.visible_devices = visible_devices;
}

static void add_meta(struct script *script, unsigned id, const char *key, const char *value)
{
	struct record *record = sample_set_add(&script->set, RECORD_META, id, script_ns(0));
	record->meta.key = key;
	record->meta.value = value;
}

unsigned script_rank(struct script *script, unsigned id, int32_t pid, const char *rank, const char *world)
{
	static const char *const names[STORY_NAME_COUNT] = { [STORY_NO_NAME] = "",
#define NAME_TEXT(name_id, text) [STORY_##name_id] = text,
		STORY_NAMES(NAME_TEXT)
#undef NAME_TEXT
	};
	char *uuid = room(script, 40);
	snprintf(uuid, 40, "%032x", id + 1);
	struct record *opened = sample_set_add(&script->set, RECORD_RUN_OPENED, id, script_ns(0));
	opened->opened.name = "script";
	opened->opened.uuid = uuid;
	opened->opened.abi = "1.0";
	opened->opened.pid = pid;
	opened->opened.start_ns = SCRIPT_BASE_NS;
	opened->opened.is_live = true;
	for (uint32_t name = 1; name < STORY_NAME_COUNT; name++) {
		struct record *record = sample_set_add(&script->set, RECORD_NAME, id, script_ns(0));
		record->name.id = name;
		record->name.text = names[name];
	}
	add_meta(script, id, "RANK", rank);
	add_meta(script, id, "WORLD_SIZE", world);
	return id;
}

void script_gauge(struct script *script, double at_s, unsigned run, uint32_t name, double value)
{
	struct record *record = sample_set_add(&script->set, RECORD_GAUGE, run, script_ns(at_s));
	record->sequence = script->sequence[3]++;
	record->lane = 3;
	record->gauge.name = name;
	record->gauge.value = value;
}

const struct gpu *script_gpu_of(const struct script *script, int32_t instance)
{
	return model_gpu(script->model, instance);
}
