/* system_devices.h: traffic of disks and network interfaces. */
#ifndef PMTOP_SOURCES_MACHINE_SYSTEM_DEVICES_H
#define PMTOP_SOURCES_MACHINE_SYSTEM_DEVICES_H

#include <stdint.h>

struct sample_set;
struct system_reader;

void system_read_disks(struct system_reader *reader, struct sample_set *out, int64_t now_ns);
void system_read_networks(struct system_reader *reader, struct sample_set *out, int64_t now_ns);

#endif
