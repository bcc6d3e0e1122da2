/* system.h: what the source of machine figures shares. */
#ifndef PMTOP_SOURCES_MACHINE_SYSTEM_H
#define PMTOP_SOURCES_MACHINE_SYSTEM_H

#include <stdint.h>

struct reason;
struct retained_file;
struct sample_set;

/* Emits that a figure is missing, or no longer is (`why` NULL), when that has changed. */
void system_emit_missing(
	struct retained_file *file, const char *figure, const struct reason *why, struct sample_set *out, int64_t now_ns);

#endif
