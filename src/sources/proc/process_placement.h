/* process_placement.h: the placement of a process, by the environment that it was started with: its local rank, and
 * the GPUs that it may use. Variables that a program sets later are not visible there. */
#ifndef PMTOP_SOURCES_PROC_PROCESS_PLACEMENT_H
#define PMTOP_SOURCES_PROC_PROCESS_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

enum { PLACEMENT_DEVICES_SIZE = 256 };

struct process_placement {
	int32_t local_rank;                   /* −1 = not set */
	bool has_devices;                     /* set, even if empty (no GPU at all) */
	char devices[PLACEMENT_DEVICES_SIZE]; /* as in the environment; untrusted text */
};

/* Parses environment text: entries "NAME=value", each ended by NUL. */
void process_placement_read(const char *text, size_t length, struct process_placement *out);
/* Emits RECORD_PROCESS_PLACE of the process whose /proc folder is `directory_fd`. A process without placement is
 * emitted only if it had one before. Returns whether it has one. */
bool process_emit_placement(int directory_fd, int32_t pid, bool had_placement, int64_t now_ns, struct sample_set *out);

#endif
