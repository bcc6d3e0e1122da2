#include "src/sources/proc/process_placement.h"
#include "src/base/files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY_SIZE = PLACEMENT_DEVICES_SIZE + 64, CHUNK_SIZE = 4096, RANK_MAX = 65535 };

/* The first variable of a list that is set wins: torchrun sets LOCAL_RANK inside what Slurm or Open MPI started;
 * ROCm reads its own names after CUDA's. */
static const char *const rank_names[] = { "LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK" };
static const char *const device_names[] = { "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
	"ZE_AFFINITY_MASK" };
enum { RANK_NAMES = sizeof rank_names / sizeof *rank_names, DEVICE_NAMES = sizeof device_names / sizeof *device_names };

/* The state of parsing an environment in chunks. */
struct reading {
	struct process_placement *placement;
	size_t best_rank, best_device; /* indexes in the lists above; their length = nothing found */
	size_t length;
	bool is_too_long;
	char entry[ENTRY_SIZE];
};

/* The value, if the entry has one of the first `better` names; *which is that name's index. */
static const char *value_of(const char *entry, const char *const *names, size_t better, size_t *which)
{
	for (size_t i = 0; i < better; i++) {
		size_t length = strlen(names[i]);
		if (strncmp(entry, names[i], length) == 0 && entry[length] == '=') {
			*which = i;
			return entry + length + 1;
		}
	}
	return NULL;
}

static void take_entry(struct reading *reading)
{
	size_t which;
	const char *value = value_of(reading->entry, rank_names, reading->best_rank, &which);
	if (value && *value >= '0' && *value <= '9') {
		char *end;
		errno = 0;
		long rank = strtol(value, &end, 10);
		if (!*end && !errno && rank <= RANK_MAX) {
			reading->placement->local_rank = (int32_t)rank;
			reading->best_rank = which;
		}
		return;
	}
	value = value_of(reading->entry, device_names, reading->best_device, &which);
	if (!value || strlen(value) >= PLACEMENT_DEVICES_SIZE)
		return;
	strcpy(reading->placement->devices, value);
	reading->placement->has_devices = true;
	reading->best_device = which;
}

/* Entries that are longer than any that is needed are skipped. */
static void take(struct reading *reading, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] != '\0') {
			reading->is_too_long |= reading->length == ENTRY_SIZE - 1;
			if (!reading->is_too_long)
				reading->entry[reading->length++] = text[i];
			continue;
		}
		reading->entry[reading->length] = '\0';
		if (!reading->is_too_long)
			take_entry(reading);
		reading->length = 0;
		reading->is_too_long = false;
	}
}

static void begin(struct reading *reading, struct process_placement *placement)
{
	*placement = (struct process_placement){ .local_rank = -1 };
	*reading = (struct reading){ .placement = placement, .best_rank = RANK_NAMES, .best_device = DEVICE_NAMES };
}

void process_placement_read(const char *text, size_t length, struct process_placement *out)
{
	struct reading reading;
	begin(&reading, out);
	take(&reading, text, length);
}

static void read_environment(int directory_fd, struct process_placement *out)
{
	char chunk[CHUNK_SIZE];
	struct reading reading;
	begin(&reading, out);
	int fd = file_open(directory_fd, "environ", O_RDONLY | O_NOCTTY | O_NONBLOCK);
	for (size_t all = 0; fd >= 0 && all < PLACEMENT_READ_MAX;) {
		ssize_t length = file_read_some(fd, chunk, sizeof chunk);
		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			break;
		take(&reading, chunk, (size_t)length);
		all += (size_t)length;
	}
	if (fd >= 0)
		close(fd);
}

bool process_emit_placement(int directory_fd, int32_t pid, bool had_placement, int64_t now_ns, struct sample_set *out)
{
	struct process_placement placement;
	read_environment(directory_fd, &placement);
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
