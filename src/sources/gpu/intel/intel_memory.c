#include "src/sources/gpu/intel/intel_memory.h"

#include <fcntl.h>
#include <i915_drm.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWER_SIZE = 16 * 1024, REGIONS_MAX = 64 };

/* No GPU has more. */
#define BYTES_MAX 1e16

/* libdrm has no header for xe: the needed part of include/uapi/drm/xe_drm.h. */
struct xe_query {
	uint64_t extensions;
	uint32_t query, size;
	uint64_t data, reserved[2];
};

struct xe_region {
	uint16_t class, instance;
	uint32_t page_bytes;
	uint64_t total_bytes, used_bytes, visible_bytes, visible_used_bytes, reserved[6];
};

enum { XE_QUERY_MEMORY = 1, XE_CLASS_OWN = 1, XE_HEAD_SIZE = 8 };
#define XE_IOCTL_QUERY DRM_IOWR(DRM_COMMAND_BASE, struct xe_query)

static void add(struct intel_memory *sum, uint64_t total, uint64_t used)
{
	if (total == 0 || (double)total > BYTES_MAX || used > total)
		return;
	sum->total_bytes = (isnan(sum->total_bytes) ? 0 : sum->total_bytes) + (double)total;
	/* 0 means no permission, because some memory is always used. */
	if (used > 0)
		sum->used_bytes = (isnan(sum->used_bytes) ? 0 : sum->used_bytes) + (double)used;
}

bool intel_memory_read_i915(const void *answer, size_t length, struct intel_memory *out)
{
	struct drm_i915_query_memory_regions head;
	struct drm_i915_memory_region_info region;
	*out = (struct intel_memory){ NAN, NAN };
	if (length < sizeof head)
		return false;
	memcpy(&head, answer, sizeof head);
	for (uint32_t i = 0; i < head.num_regions && i < REGIONS_MAX && (i + 1) * sizeof region <= length - sizeof head;
		 i++) {
		memcpy(&region, (const char *)answer + sizeof head + i * sizeof region, sizeof region);
		if (region.region.memory_class == I915_MEMORY_CLASS_DEVICE && region.unallocated_size <= region.probed_size)
			add(out, region.probed_size, region.probed_size - region.unallocated_size);
	}
	return !isnan(out->total_bytes);
}

bool intel_memory_read_xe(const void *answer, size_t length, struct intel_memory *out)
{
	uint32_t count;
	struct xe_region region;
	*out = (struct intel_memory){ NAN, NAN };
	if (length < XE_HEAD_SIZE)
		return false;
	memcpy(&count, answer, sizeof count);
	for (uint32_t i = 0; i < count && i < REGIONS_MAX && (i + 1) * sizeof region <= length - XE_HEAD_SIZE; i++) {
		memcpy(&region, (const char *)answer + XE_HEAD_SIZE + i * sizeof region, sizeof region);
		if (region.class == XE_CLASS_OWN)
			add(out, region.total_bytes, region.used_bytes);
	}
	return !isnan(out->total_bytes);
}

/* Both queries run twice: for the answer's length, and for the answer. */
static bool query_i915(int fd, char *answer, size_t *length)
{
	struct drm_i915_query_item item = { .query_id = DRM_I915_QUERY_MEMORY_REGIONS };
	struct drm_i915_query query = { .num_items = 1, .items_ptr = (uintptr_t)&item };
	if (ioctl(fd, DRM_IOCTL_I915_QUERY, &query) != 0 || item.length <= 0 || item.length > ANSWER_SIZE)
		return false;
	item.data_ptr = (uintptr_t)answer;
	*length = (size_t)item.length;
	return ioctl(fd, DRM_IOCTL_I915_QUERY, &query) == 0 && item.length > 0;
}

static bool query_xe(int fd, char *answer, size_t *length)
{
	struct xe_query query = { .query = XE_QUERY_MEMORY };
	if (ioctl(fd, XE_IOCTL_QUERY, &query) != 0 || query.size == 0 || query.size > ANSWER_SIZE)
		return false;
	query.data = (uintptr_t)answer;
	*length = query.size;
	return ioctl(fd, XE_IOCTL_QUERY, &query) == 0;
}

bool intel_memory_query(const char *driver, const char *node, struct intel_memory *out)
{
	struct stat status;
	_Alignas(8) char answer[ANSWER_SIZE] = { 0 };
	size_t length = 0;
	bool is_xe = strcmp(driver, "xe") == 0;
	int fd = open(node, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	bool is_good = fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
		(is_xe ? query_xe(fd, answer, &length) : query_i915(fd, answer, &length));
	close(fd);
	return is_good && (is_xe ? intel_memory_read_xe : intel_memory_read_i915)(answer, length, out);
}
