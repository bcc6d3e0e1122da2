/* faults.h: faults that can be planted in single batches, each by --fault NAME[,KEY=VALUE …].
 *
 * Which batches: every K-th (every=7, the default), a share of them that looks random (odds=0.05), or one every so many
 * seconds (seconds=2; not for faults of the loader); from batch `from` on. How much: ms, mb, size. What really happened
 * stands in the truth, by the clock of the process in which it happened. */
#ifndef TRAINER_FAULTS_H
#define TRAINER_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "accomplice.h"
#include "cgroup.h"
#include "pmtop.h"
#include "scratch.h"

enum { FAULTS_MAX = 4 };

/* Where it happens: LOAD in the loader's `decode` (in a worker, where there are any); BATCH from the batch's begin to
 * its end; DATA before the trainer asks for its data; the others within that span; BETWEEN after the batch's end. */
enum fault_phase { AT_LOAD, AT_DATA, AT_FORWARD, AT_OPTIMIZER, AT_BOOKKEEPING, AT_BETWEEN, AT_BATCH, AT_SIZE };

/* FAULT(name on the command line, function, phase, ms, mb, size, help) */
#define FAULTS(X) \
	X("slow-data", slow_data, AT_LOAD, 60, 0, 0, "the loader waits for ms") \
	X("busy-data", busy_data, AT_LOAD, 60, 0, 0, "the loader works for ms longer") \
	X("slow-worker", slow_worker, AT_LOAD, 60, 0, 0, "all of one worker's batches, worker=0 …, wait for ms") \
	X("cold-read", cold_read, AT_LOAD, 60, 96, 0, "reads of a file of mb that is not in the page cache, for ms") \
	X("direct-read", direct_read, AT_LOAD, 60, 96, 0, "the same, around the page cache (O_DIRECT)") \
	X("worker-leak", worker_leak, AT_LOAD, 0, 0.5, 0, "the loader keeps mb") \
	X("stop-worker", stop_worker, AT_DATA, 300, 0, 0, "another process stops the batch's worker for ms (SIGSTOP)") \
	X("sleep", sleep_forward, AT_FORWARD, 60, 0, 0, "forward waits for ms") \
	X("busy", busy_forward, AT_FORWARD, 60, 0, 0, "forward works for ms longer") \
	X("fault-storm", fault_storm, AT_FORWARD, 60, 4, 0, "maps, touches and unmaps mb again and again, for ms") \
	X("allocate", allocate, AT_FORWARD, 0, 256, 0, "takes and touches mb, gives it back after the batch") \
	X("compile", compile, AT_FORWARD, 0, 0, 0, "starts a C compiler and waits for it") \
	X("gc", collect, AT_FORWARD, 60, 0, 0, "works for ms in a span `gc`") \
	X("page-out", page_out, AT_FORWARD, 60, 96, 0, \
		"the pages of a mapped file of mb are gone from memory, and touched for ms") \
	X("memory-pressure", memory_pressure, AT_FORWARD, 60, 96, 0, \
		"the cgroup's memory is too small for the same (needs the right to make a cgroup)") \
	X("slow-optimizer", slow_optimizer, AT_OPTIMIZER, 60, 0, 0, \
		"the optimizer works for ms longer: accumulation that nobody published") \
	X("sync", sync_log, AT_BOOKKEEPING, 0, 96, 0, \
		"writes mb and waits until they are on the disk (fsync), again and again for ms") \
	X("shm-leak", shm_leak, AT_BOOKKEEPING, 0, 0.5, 0, "keeps mb in /dev/shm") \
	X("checkpoint", save_checkpoint, AT_BETWEEN, 0, 96, 0, \
		"writes a checkpoint of mb and waits until it is on the disk, in a span") \
	X("hog", hog, AT_BATCH, 0, 0, 0, "other processes want the same CPU") \
	X("child-hog", child_hog, AT_BATCH, 0, 0, 0, "children of the trainer want the same CPU") \
	X("quota", quota, AT_BATCH, 0, 0, 0.01, "the cgroup has a quota of size CPUs (needs the right to make one)") \
	X("stop", stop_trainer, AT_FORWARD, 300, 0, 0, "another process stops the trainer for ms (SIGSTOP)") \
	X("bigger", bigger, AT_SIZE, 0, 0, 4, "the batch has size times the samples, and so much more work")

struct fault {
	const struct fault_kind *kind;
	double every, odds, seconds, from, ms, mb, size, worker;
	bool is_on;        /* in the trainer's batch of now */
	int64_t next_ns;   /* of `seconds` */
	double kept_bytes; /* by this process, of leaks */
};

struct faults {
	unsigned count;
	struct fault list[FAULTS_MAX];
	uint64_t seed, batches; /* of the whole run */
	struct scratch scratch; /* a file to read from and write to */
	struct accomplice accomplice;
	struct cgroup cgroup;
	float *took_s;  /* shared: [fault][batch]; 0 = it did not happen there */
	float *queue_s; /* [batch]: how long the trainer waited for a CPU, whoever had it */
	int schedstat_fd;
	double queue_begin_s;
	double *kept_bytes; /* shared: [fault], of leaks in whichever process */
	void *block;        /* of `allocate`, until the batch ends */
	pid_t children[2];
	char name[64]; /* of what is in /dev/shm */
};

/* False: not understood, said on standard error. */
bool faults_add(struct faults *faults, const char *text);
void faults_help(void);
/* Before anything is forked or published. False: said on standard error, by name; what cannot be done here needs a
 * right, or a disk. */
bool faults_start(struct faults *faults, uint64_t seed, uint64_t batches, unsigned workers);
void faults_end(struct faults *faults);

/* The trainer's batch begins: which of them happen in it. Those of the loader are only known by `faults_loads`. */
void faults_begin(struct faults *faults, uint64_t batch);
/* `worker`: its pid, of AT_DATA. */
void faults_at(struct faults *faults, enum fault_phase phase, struct pmtop *pm, uint64_t batch, pid_t worker);
/* It has ended. */
void faults_finish(struct faults *faults, uint64_t batch);
/* Whoever loads the batch; `worker`: its number, or −1. */
void faults_load(struct faults *faults, uint64_t batch, int worker);
/* The batch must not be loaded ahead of time, for what is planted in it would not be seen. */
bool faults_wait_for(const struct faults *faults, uint64_t batch);
/* Samples in the batch if other batches have `size`; and the largest number of any batch. */
unsigned faults_samples(const struct faults *faults, uint64_t batch, unsigned size);
unsigned faults_samples_max(const struct faults *faults, unsigned size);

/* A member of the truth: "faults":[{"name":…,"batches":[…],"took_s":[…],"batch_s":[…],"queue_s":[…],"kept_bytes":…}];
 * `seconds`: of each finished batch. What a fault took is known where it is an act of the run itself, and else a mere
 * sign that it happened. */
void faults_write(const struct faults *faults, FILE *file, const double *seconds, uint64_t batches);

#endif
