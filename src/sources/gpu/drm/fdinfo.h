/* fdinfo.h: what a DRM driver says of one client in /proc/PID/fdinfo/FD (Linux Documentation/gpu/drm-usage-stats.rst).
 *
 * A line that cannot be what it should (no number, one that is too large, an unknown unit, NUL) is left out: its figure
 * is not known. */
#ifndef PMTOP_SOURCES_GPU_DRM_FDINFO_H
#define PMTOP_SOURCES_GPU_DRM_FDINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FDINFO_ENGINES_MAX = 16, FDINFO_REGIONS_MAX = 16, FDINFO_NAME_SIZE = 32, FDINFO_TEXT_SIZE = 16 * 1024 };

/* What is told of an engine: bits of `told`. */
enum { ENGINE_BUSY = 1, ENGINE_CYCLES = 2, ENGINE_TOTAL_CYCLES = 4, ENGINE_MAX_HZ = 8 };

struct fdinfo_engine {
	char name[FDINFO_NAME_SIZE]; /* "gfx", "rcs" */
	unsigned emitted;
	uint64_t busy_ns;              /* all since the client was opened, as the cycles */
	uint64_t cycles, total_cycles; /* while it was busy for this client; all that went by */
	uint64_t max_hz;
	uint64_t capacity; /* so many engines of this name; at least 1 */
};

struct fdinfo_region {
	char name[FDINFO_NAME_SIZE];                      /* "vram", "system0" */
	double resident_bytes, memory_bytes, total_bytes; /* NAN = not told; `memory` is an older word for resident */
};

struct fdinfo {
	char driver[FDINFO_NAME_SIZE], pci[FDINFO_NAME_SIZE]; /* "" = not told */
	bool has_client;
	uint64_t client; /* the same for all descriptors of one client */
	unsigned engine_count, region_count;
	struct fdinfo_engine engines[FDINFO_ENGINES_MAX];
	struct fdinfo_region regions[FDINFO_REGIONS_MAX];
};

/* False: no DRM client. */
bool fdinfo_parse(const char *text, size_t length, struct fdinfo *out);
/* Memory of the GPU itself (VRAM, local), and of the machine that the GPU uses: as much as is resident, or where that
 * is not told, as much as was allocated. NAN where no such region is told. */
double fdinfo_own_memory(const struct fdinfo *info);
double fdinfo_machine_memory(const struct fdinfo *info);
/* Share of the time in which the engine was busy for the client from `old` on, 0 … 1 of all engines of its name; NAN
 * where that cannot be said. */
double fdinfo_busy(const struct fdinfo_engine *old, const struct fdinfo_engine *now, double elapsed_ns);
/* `now` where it is more than `*kept`: a counter that steps back is to catch up. */
void fdinfo_keep_larger(struct fdinfo_engine *retained, const struct fdinfo_engine *now);

#endif
