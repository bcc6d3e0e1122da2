#include "src/sources/gpu/amd/kfd.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/sources/gpu/sys_file.h"

enum { NUMBERS_MAX = 4096, UNITS_MAX = 4096 };

/* -- nodes -- */

static uint64_t property(const char *text, const char *key)
{
	char word[32], *end;
	if (!sys_word(text, key, ' ', word, sizeof word))
		return 0;
	errno = 0;
	unsigned long long value = strtoull(word, &end, 10);
	return errno || *end || word[0] == '-' ? 0 : value;
}

static bool read_node(const char *folder, struct kfd_node *out)
{
	char text[SYS_TEXT_SIZE];
	double gpu_id;
	if (!sys_number(folder, "gpu_id", &gpu_id) || gpu_id <= 0 || !sys_text(folder, "properties", text, sizeof text))
		return false;
	uint64_t simds = property(text, "simd_count"), per_unit = property(text, "simd_per_cu"),
			 minor = property(text, "drm_render_minor");
	if (simds == 0 || minor == 0 || minor > UINT32_MAX)
		return false;
	double units = per_unit ? (double)simds / (double)per_unit : NAN;
	*out = (struct kfd_node){ .gpu_id = (uint64_t)gpu_id,
		.minor = (unsigned)minor,
		.units = units <= UNITS_MAX ? units : NAN,
		.has_cpu = property(text, "cpu_cores_count") > 0,
		.unique_id = property(text, "unique_id") };
	return true;
}

/* Sorts the numbers in a folder, smallest first. */
static int compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	return (left > right) - (left < right);
}

static size_t numbers_in(const char *folder, uint32_t *out, size_t max)
{
	DIR *directory = opendir(folder);
	struct dirent *entry;
	size_t count = 0;
	for (unsigned i = 0; directory && i < NUMBERS_MAX && count < max && (entry = readdir(directory)); i++) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);
		if (end != entry->d_name && !*end && number >= 0 && number <= INT32_MAX)
			out[count++] = (uint32_t)number;
	}
	if (directory)
		closedir(directory);
	qsort(out, count, sizeof *out, compare);
	return count;
}

size_t kfd_nodes(const char *sys_root, struct kfd_node *out, size_t max)
{
	char all[SYS_PATH_SIZE], folder[SYS_PATH_SIZE], name[16];
	uint32_t numbers[KFD_NODES_MAX];
	size_t count = 0,
		   found =
			   sys_join(all, sys_root, "class/kfd/kfd/topology/nodes") ? numbers_in(all, numbers, KFD_NODES_MAX) : 0;
	for (size_t i = 0; i < found && count < max; i++) {
		snprintf(name, sizeof name, "%" PRIu32, numbers[i]);
		if (!sys_join(folder, all, name) || !read_node(folder, &out[count]))
			continue;
		out[count].order = (uint32_t)count;
		count++;
	}
	return count;
}

/* -- users -- */

static double bytes_in(const char *folder, const char *file)
{
	double bytes;
	return sys_number(folder, file, &bytes) && bytes >= 0 && bytes <= 1e18 ? bytes : NAN;
}

size_t kfd_users(const char *sys_root, uint64_t gpu_id, struct kfd_user *out, size_t max)
{
	char all[SYS_PATH_SIZE], folder[SYS_PATH_SIZE], file[64];
	uint32_t pids[NUMBERS_MAX];
	size_t count = 0, found = sys_join(all, sys_root, "class/kfd/kfd/proc") ? numbers_in(all, pids, NUMBERS_MAX) : 0;
	for (size_t i = 0; i < found && count < max; i++) {
		double busy;
		snprintf(file, sizeof file, "%" PRIu32, pids[i]);
		if (!sys_join(folder, all, file))
			continue;
		snprintf(file, sizeof file, "vram_%" PRIu64, gpu_id);
		struct kfd_user user = { .pid = pids[i], .vram_bytes = bytes_in(folder, file), .units_busy = NAN };
		snprintf(file, sizeof file, "stats_%" PRIu64 "/cu_occupancy", gpu_id);
		if (sys_number(folder, file, &busy) && busy >= 0 && busy <= UNITS_MAX)
			user.units_busy = busy;
		if (user.vram_bytes > 0 || user.units_busy > 0)
			out[count++] = user;
	}
	return count;
}
