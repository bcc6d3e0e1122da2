#include "src/sources/proc/process_placement.h"

#include <string.h>

#include "src/base/text.h"
#include "src/sources/proc/environment.h"

enum { RANK_MAX = 65535 };

/* The first variable of a list that is set wins: torchrun sets LOCAL_RANK inside what Slurm or Open MPI started;
 * ROCm reads its own names after CUDA's. */
static const char *const names[] = { "LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK",
	"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK" };
enum { RANK_NAMES = 3, NAMES = sizeof names / sizeof *names };

static void set_names(struct variable variables[NAMES])
{
	for (size_t i = 0; i < NAMES; i++)
		variables[i].name = names[i];
}

static void find_placement(const struct variable variables[NAMES], struct process_placement *out)
{
	*out = (struct process_placement){ .local_rank = -1 };
	for (size_t i = 0; i < RANK_NAMES && out->local_rank < 0; i++) {
		long rank = variables[i].is_set ? text_count(variables[i].value) : -1;
		if (rank <= RANK_MAX)
			out->local_rank = (int32_t)rank;
	}
	for (size_t i = RANK_NAMES; i < NAMES && !out->has_devices; i++) {
		if (!variables[i].is_set || strlen(variables[i].value) >= sizeof out->devices)
			continue;
		strcpy(out->devices, variables[i].value);
		out->has_devices = true;
	}
}

void process_placement_read(const char *text, size_t length, struct process_placement *out)
{
	struct variable variables[NAMES];
	set_names(variables);
	environment_parse(text, length, variables, NAMES);
	find_placement(variables, out);
}

bool process_emit_placement(int directory_fd, int32_t pid, bool had_placement, int64_t now_ns, struct sample_set *out)
{
	struct process_placement placement;
	struct variable variables[NAMES];
	set_names(variables);
	environment_read(directory_fd, variables, NAMES);
	find_placement(variables, &placement);
	bool has_placement = placement.local_rank >= 0 || placement.has_devices;
	struct record *record =
		has_placement || had_placement ? sample_set_add(out, RECORD_PROCESS_PLACE, 0, now_ns) : NULL;
	if (!record)
		return has_placement;
	record->placement.pid = pid;
	record->placement.local_rank = placement.local_rank;
	record->placement.visible_devices =
		placement.has_devices ? sample_set_text(out, placement.devices, strlen(placement.devices)) : NULL;
	return has_placement;
}
