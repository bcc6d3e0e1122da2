/* gpu_users.h: which processes use which GPUs, for the list of runs. A child process asks the drivers, so that a driver
 * that hangs does not block pmtop. */
#ifndef PMTOP_SESSION_RUNS_GPU_USERS_H
#define PMTOP_SESSION_RUNS_GPU_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/samples/sample_set.h"
#include "src/session/command.h"

enum { GPU_USERS_MAX = 256, GPU_USES_MAX = 16, GPU_WORDS_SIZE = 64 };

/* The use of one GPU by one process, or several together. `device` is an index into gpu_users.devices. */
struct gpu_use {
	unsigned device;
	double memory_bytes;
};

struct gpu_user {
	int32_t pid;
	struct gpu_use use;
}; /* one for each process and GPU */

struct gpu_device {
	int32_t instance;
	char label[16];
	bool is_listed;
};

struct gpu_users {
	size_t device_count, count;
	struct gpu_device devices[64];
	struct gpu_user users[GPU_USERS_MAX];
	bool is_hidden;  /* a driver does not list its processes */
	char vendor[16]; /* of the first GPU; labels of other vendors' GPUs have a prefix */
	void *child;     /* private, as are the next members; NULL: no driver */
	struct target *target;
	struct source_choices *choices;
	struct sample_set set;
};

/* Starts the child process. Returns NULL when out of memory. */
struct gpu_users *gpu_users_open(const struct options *options, const struct settings *settings);
/* Takes the child's records; waits at most `wait_s` seconds until they are complete. */
void gpu_users_read(struct gpu_users *users, double wait_s);
void gpu_users_close(struct gpu_users *users);

/* Takes one set of the child. */
void gpu_users_take(struct gpu_users *users, const struct sample_set *set);
/* "0: 38.9 GB", "0, 1: 77.8 GB", "8 GPUs: 311 GB"; "" without uses. Returns out. */
const char *gpu_use_words(
	const struct gpu_users *users, const struct gpu_use *uses, size_t count, char out[GPU_WORDS_SIZE]);
/* Adds a use to `uses`, merging it with one of the same device. Returns the new count. */
size_t gpu_use_add(struct gpu_use *uses, size_t count, const struct gpu_use *more);

#endif
