/* stacks_job.h: which rank of which job a process is, by the environment that its launcher gave it. The keys, and how
 * the id of the run is formed, are those of the Python package (src/python/pmtop/_run.py), so an inferred run and an
 * instrumented one can be ranks of one job. Nothing else of an environment is retained. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_JOB_H
#define PMTOP_SOURCES_INFERRED_STACKS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { STACKS_JOB_KEYS = 7, STACKS_JOB_RANK_SIZE = 16, STACKS_JOB_ID_SIZE = 512, STACKS_JOB_DEVICES_SIZE = 193 };

/* Empty texts are unknown. */
struct stacks_job {
	char rank[STACKS_JOB_RANK_SIZE], local_rank[STACKS_JOB_RANK_SIZE], world_size[STACKS_JOB_RANK_SIZE];
	char run_id[STACKS_JOB_ID_SIZE];
	bool is_led; /* rank 0 of the job is its parent and started it, as Lightning does: it has NODE_RANK, but no RANK */
	const char
		*certain; /* of a rank that a Python process has spawned: "yes", or "no": by the order of starts; else NULL */
	const char *apart; /* of such a rank: "yes" until it was seen to call torch.distributed, then "no"; else NULL */
	const char *devices_key; /* CUDA_VISIBLE_DEVICES, or another vendor's; NULL = none is set */
	char devices[STACKS_JOB_DEVICES_SIZE];
};

/* Of the process whose /proc folder is `directory_fd`. May block: src/base/files/hang_watch.h. */
void stacks_job_read(int directory_fd, struct stacks_job *out);
/* From the text of an environment; `network`: what identifies its network namespace, "" = unknown. */
void stacks_job_parse(const char *text, size_t length, const char *network, struct stacks_job *out);
/* Of a rank that a process without a launcher's variables has started. */
void stacks_job_spawned(pid_t parent, unsigned rank, unsigned size, struct stacks_job *out);
/* The job of the parent of a rank that is_led: rank 0, in whose own environment nothing of this is visible. */
void stacks_job_of_leader(const struct stacks_job *led, struct stacks_job *out);
/* Whether it is one of several ranks. */
bool stacks_job_is_rank(const struct stacks_job *job);
/* Whether both are ranks of one job, as rank_places.h decides it for runs with equal names. */
bool stacks_job_is_same(const struct stacks_job *a, const struct stacks_job *b);
bool stacks_job_is_equal(const struct stacks_job *a, const struct stacks_job *b);
/* Meta number `at` of the job, at < STACKS_JOB_KEYS. False: it is unknown. */
bool stacks_job_meta(const struct stacks_job *job, size_t at, const char **key, const char **value);

#endif
