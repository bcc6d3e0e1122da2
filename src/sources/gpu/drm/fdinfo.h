/* fdinfo.h: parses what a DRM driver reports of one client in /proc/PID/fdinfo/FD (Linux
 * Documentation/gpu/drm-usage-stats.rst).
 *
 * An invalid line (no number, one that is too large, an unknown unit, NUL) is skipped: its figure is unknown. */
#ifndef PMTOP_SOURCES_GPU_DRM_FDINFO_H
#define PMTOP_SOURCES_GPU_DRM_FDINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FDINFO_ENGINES_MAX = 16, FDINFO_REGIONS_MAX = 16, FDINFO_NAME_SIZE = 32, FDINFO_TEXT_SIZE = 16 * 1024 };

/* What is known of an engine: bits of `known`. */
enum { ENGINE_BUSY = 1, ENGINE_CYCLES = 2, ENGINE_TOTAL_CYCLES = 4, ENGINE_MAX_HZ = 8 };

struct fdinfo_engine {
	char name[FDINFO_NAME_SIZE]; /* "gfx", "rcs" */
	unsigned known;
	uint64_t busy_ns;              /* since the client was opened, as are the cycles */
	uint64_t cycles, total_cycles; /* cycles busy for this client; all cycles */
	uint64_t max_hz;
	uint64_t capacity; /* number of engines of this name; at least 1 */
};

struct fdinfo_region {
	char name[FDINFO_NAME_SIZE];                      /* "vram", "system0" */
	double resident_bytes, memory_bytes, total_bytes; /* NAN = unknown; `memory` is an older name of `resident` */
};

struct fdinfo {
	char driver[FDINFO_NAME_SIZE], pci[FDINFO_NAME_SIZE]; /* "" = unknown */
	bool has_client;
	uint64_t client; /* the same for all descriptors of one client */
	unsigned engine_count, region_count;
	struct fdinfo_engine engines[FDINFO_ENGINES_MAX];
	struct fdinfo_region regions[FDINFO_REGIONS_MAX];
};

/* False: not a DRM client. */
bool fdinfo_parse(const char *text, size_t length, struct fdinfo *out);
/* Memory of the GPU itself (VRAM, local), and the machine's memory that the GPU uses: the resident part, or if that
 * is unknown, the allocated part. NAN if there is no such region. */
double fdinfo_own_memory(const struct fdinfo *info);
double fdinfo_machine_memory(const struct fdinfo *info);
/* Share of the time since `old` in which the engine was busy for the client, 0 … 1 of all engines of its name; NAN
 * if unknown. */
double fdinfo_busy(const struct fdinfo_engine *old, const struct fdinfo_engine *now, double elapsed_ns);
/* Copies `now`, but no counter goes backwards: one that does is stored only when it has caught up. */
void fdinfo_keep_larger(struct fdinfo_engine *retained, const struct fdinfo_engine *now);

#endif
