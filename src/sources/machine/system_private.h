/* system_private.h: the state of the source "system", shared by system.c, system_devices.c and system_space.c. */
#ifndef PMTOP_SOURCES_MACHINE_SYSTEM_PRIVATE_H
#define PMTOP_SOURCES_MACHINE_SYSTEM_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/samples/sample_set.h"
#include "src/sources/machine/system_shm.h"
#include "src/sources/target/target.h"

enum {
	SYSTEM_TEXT_SIZE = 64 * 1024,
	SYSTEM_FILES = 7,
	RETAINED_DISKS = SYSTEM_FILES,
	RETAINED_NETWORKS,
	RETAINED_SPACE,
	RETAINED_SHM,
	SYSTEM_RETAINED,
	SYSTEM_DISKS_KNOWN = 256,
	SYSTEM_DEVICES_EMITTED = 32,
	SYSTEM_DEVICE_NAME = 32
};

/* A known line of diskstats: the kind of its device is looked up once. */
struct known_disk {
	char name[SYSTEM_DEVICE_NAME];
	uint32_t number; /* major and minor */
	uint8_t rank;    /* enum disk_rank */
};

/* The index of a name is its instance number, which is the same as long as pmtop runs. */
struct emitted_devices {
	size_t count;
	char names[SYSTEM_DEVICES_EMITTED][SYSTEM_DEVICE_NAME];
};

struct retained_file {
	int fd;          /* −1 = not open */
	int64_t next_ns; /* when to read, or try, again */
	bool is_emitted_missing;
};

struct system_reader {
	struct target *target;
	int root_fd; /* proc_root */
	double ns_per_tick, page_bytes;
	size_t cpus;
	struct retained_file retained[SYSTEM_RETAINED]; /* system_files, then those of devices and space */
	size_t disk_count;
	struct known_disk disks[SYSTEM_DISKS_KNOWN];
	struct emitted_devices emitted_disks, emitted_networks;
	struct system_shm *shm;
	char text[SYSTEM_TEXT_SIZE];
};

#endif
