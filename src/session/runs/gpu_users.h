/* gpu_users.h: which processes use which GPUs, for the list of what can be watched. Asked of a child process, so that a
 * driver that hangs holds up nobody. */
#ifndef PMTOP_SESSION_RUNS_GPU_USERS_H
#define PMTOP_SESSION_RUNS_GPU_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/samples/sample_set.h"
#include "src/session/command.h"

enum { GPU_USERS_MAX = 256, GPU_USES_MAX = 16, GPU_WORDS_SIZE = 64 };

/* What one process, or several together, use of one GPU. `device` numbers those of struct gpu_users. */
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
	bool is_hidden;  /* a driver does not say who uses it */
	char vendor[16]; /* of the first; labels of others have theirs before them */
	void *child;     /* private, as what follows; NULL: there is no driver to ask */
	struct target *target;
	struct source_choices *choices;
	struct sample_set set;
};

/* Starts to ask. NULL when out of memory. */
struct gpu_users *gpu_users_open(const struct options *options, const struct settings *settings);
/* Takes what has come, and waits for all of it, but no longer than so many seconds. */
void gpu_users_read(struct gpu_users *users, double wait_s);
void gpu_users_close(struct gpu_users *users);

/* One set of what the child says. */
void gpu_users_take(struct gpu_users *users, const struct sample_set *set);
/* "0: 38.9 GB", "0, 1: 77.8 GB", "8 GPUs: 311 GB"; "" where nothing is used. Returns out. */
const char *gpu_use_words(
	const struct gpu_users *users, const struct gpu_use *uses, size_t count, char out[GPU_WORDS_SIZE]);
/* Adds a use to others, to that of the same device where there is one. */
size_t gpu_use_add(struct gpu_use *uses, size_t count, const struct gpu_use *more);

#endif
