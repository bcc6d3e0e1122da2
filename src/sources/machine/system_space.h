/* system_space.h: free space of file systems. */
#ifndef PMTOP_SOURCES_MACHINE_SYSTEM_SPACE_H
#define PMTOP_SOURCES_MACHINE_SYSTEM_SPACE_H

#include <stdint.h>

struct sample_set;
struct system_reader;

void system_read_space(struct system_reader *reader, struct sample_set *out, int64_t now_ns);

#endif
