#include "src/model/memory/memory_limits.h"
#include "src/model/memory/memory_words.h"
#include "src/model/model_private.h"

struct limit {
	const char *name;
	double bytes, room_bytes;
};

/* The kernel reclaims the cgroup's page cache before it enforces the limit. */
static struct limit cgroup_limit(const double *now)
{
	double cached = now[METRIC_CGROUP_MEMORY_FILE] - now[METRIC_CGROUP_MEMORY_SHARED];
	double room = now[METRIC_CGROUP_MEMORY_LIMIT] - now[METRIC_CGROUP_MEMORY] + (cached > 0 ? cached : 0);
	return (struct limit){ "cgroup", now[METRIC_CGROUP_MEMORY_LIMIT], room };
}

static void take_nearest(struct memory *memory, const struct limit *limit)
{
	if (!(limit->bytes > 0) || isnan(limit->room_bytes) ||
		(memory->limit && memory->limit_room_bytes <= limit->room_bytes))
		return;
	memory->limit = limit->name;
	memory->limit_bytes = limit->bytes;
	memory->limit_room_bytes = fmax(limit->room_bytes, 0);
}

void memory_find_limit(struct model *model)
{
	struct memory *memory = &model->memory;
	const double *now = model->system.now;
	const bool is_shared = memory->grower_kind == MEMORY_KIND_SHARED;
	const struct limit limits[] = {
		{ "machine", now[METRIC_SYSTEM_MEMORY], now[METRIC_SYSTEM_MEMORY_AVAILABLE] },
		cgroup_limit(now),
		{ "/dev/shm", is_shared ? now[METRIC_SYSTEM_SHM] : NAN, now[METRIC_SYSTEM_SHM] - now[METRIC_SYSTEM_SHM_USED] },
	};
	memory->limit = NULL;
	memory->limit_bytes = memory->limit_room_bytes = memory->limit_in_s = NAN;
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		take_nearest(memory, &limits[i]);
	if (memory->limit && memory_is_growing(memory) && memory->slope.per_s > 0)
		memory->limit_in_s = memory->limit_room_bytes / memory->slope.per_s;
}
