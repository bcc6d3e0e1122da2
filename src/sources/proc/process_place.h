/* process_place.h: where a process was told to run, by the environment that it was started with: which of the machine's
 * ranks it is, and which GPUs it may see. What a program sets for itself later is not there to be seen. */
#ifndef PMTOP_SOURCES_PROC_PROCESS_PLACE_H
#define PMTOP_SOURCES_PROC_PROCESS_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

enum { PLACE_DEVICES_SIZE = 256, PLACE_READ_MAX = 256 * 1024 };

struct process_place {
	int32_t local_rank;               /* −1 = none told */
	bool has_devices;                 /* told, be it as "" (no GPU at all) */
	char devices[PLACE_DEVICES_SIZE]; /* as it stands there; foreign text */
};

/* Of environment text: entries "NAME=value", each ended by NUL. */
void process_place_read(const char *text, size_t length, struct process_place *out);
/* RECORD_PROCESS_PLACE of the process whose folder in /proc is open as `directory_fd`. Where it was told nothing, that
 * is only said if `had_place`. Returns whether it has a place. */
bool process_emit_place(int directory_fd, int32_t pid, bool had_place, int64_t now_ns, struct sample_set *out);

#endif
