/* What drivers and other processes say of GPUs: fdinfo (twice, as at two readings), amdgpu's gpu_metrics, the answers
 * of i915 and xe, an environment.
 *
 * The first byte of the input says which; of fdinfo, 0xff ends the first reading. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/samples/sample_set.h"
#include "src/sources/gpu/amd/amd_metrics.h"
#include "src/sources/gpu/drm/fdinfo.h"
#include "src/sources/gpu/intel/intel_memory.h"
#include "src/sources/proc/process_placement.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_good)
{
	if (!is_good)
		abort();
}

static void check_memory(double bytes) { must(isnan(bytes) || (bytes >= 0 && bytes < 1e20)); }

static void read_fdinfo(const char *text, size_t size)
{
	struct fdinfo old, now;
	const char *end = memchr(text, 0xff, size);
	size_t first = end ? (size_t)(end - text) : size;
	bool is_both = fdinfo_parse(text, first, &old) && fdinfo_parse(text + first, size - first, &now);
	check_memory(fdinfo_own_memory(&old));
	check_memory(fdinfo_machine_memory(&old));
	for (unsigned i = 0; is_both && i < old.engine_count && i < now.engine_count; i++) {
		struct fdinfo_engine retained = old.engines[i];
		double busy = fdinfo_busy(&retained, &now.engines[i], 1e9);
		must(isnan(busy) || (busy >= 0 && busy <= 1));
		fdinfo_keep_larger(&retained, &now.engines[i]);
		must(retained.busy_ns >= old.engines[i].busy_ns && retained.capacity > 0);
	}
}

static void read_metrics(const uint8_t *data, size_t size)
{
	struct amd_metrics metrics;
	struct reason why;
	if (amd_metrics_parse(data, size, &metrics, &why) == STATUS_OK)
		must(metrics.throttle < 1u << GPU_THROTTLE_COUNT && (isnan(metrics.energy_j) || metrics.energy_j > 0));
}

static void read_memory(const uint8_t *data, size_t size, bool is_xe)
{
	struct intel_memory memory;
	if ((is_xe ? intel_memory_read_xe : intel_memory_read_i915)(data, size, &memory))
		must(memory.total_bytes > 0 && (isnan(memory.used_bytes) || memory.used_bytes <= memory.total_bytes));
}

static void read_environment(const char *text, size_t size)
{
	struct process_placement placement;
	process_placement_read(text, size, &placement);
	must(placement.local_rank >= -1 && placement.local_rank <= 65535 &&
		memchr(placement.devices, '\0', sizeof placement.devices));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	/* Of exactly its size, so that a byte too far is seen. */
	uint8_t *bytes = malloc(size - 1 ? size - 1 : 1);
	must(bytes != NULL);
	memcpy(bytes, data + 1, size - 1);
	switch (data[0] % 5) {
	case 0: read_fdinfo((const char *)bytes, size - 1); break;
	case 1: read_metrics(bytes, size - 1); break;
	case 2: read_environment((const char *)bytes, size - 1); break;
	default: read_memory(bytes, size - 1, data[0] % 5 == 4);
	}
	free(bytes);
	return 0;
}
