/* stacks_loaders.h: what counts the steps of the sampled processes: their DataLoaders, or else the loops of their code
 * (stacks_loops.h). Found on their stacks, polled, and emitted as runs (stacks_steps.h). */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_LOADERS_H
#define PMTOP_SOURCES_INFERRED_STACKS_LOADERS_H

#include <math.h>

#include "src/sources/inferred/steps/stacks_companions.h"
#include "src/sources/inferred/steps/stacks_evidence.h"
#include "src/sources/inferred/steps/stacks_limits.h"
#include "src/sources/inferred/sums/stacks_lines.h"
#include "src/sources/choices.h"
#include "src/sources/inferred/steps/stacks_loops_list.h"
#include "src/sources/inferred/steps/stacks_steps.h"
#include "src/sources/inferred/steps/stacks_whole.h"
#include "src/sources/python/counters/py_counter.h"

enum { STACKS_RUNS_MAX = 64 };

/* All inferred runs. Protected by a lock if another thread emits. */
struct stacks_runs {
	unsigned count;
	struct stacks_steps *list[STACKS_RUNS_MAX];
};

void stacks_runs_release(struct stacks_runs *runs);
/* `has_ended`: the target has ended, and no run continues. */
void stacks_runs_emit(struct stacks_runs *runs, bool again, bool has_ended, int64_t now_ns, struct sample_set *out);

enum { STACKS_EPOCHS_READ = 8 };

/* The epochs of a DataLoader's newest passes, as last read while they ran. */
struct stacks_known_epoch {
	struct stacks_epoch_read {
		uint64_t serial; /* of the pass; 0 = of none */
		int64_t read_ns;
		bool is_new; /* the pass was: its loop may not have been further yet */
		struct stacks_epoch epoch;
	} reads[STACKS_EPOCHS_READ];
	size_t next;
	bool is_any;        /* the pass before had one */
	bool was_ever;      /* a pass had one */
	uint64_t awaited;   /* serial of the pass whose epoch is awaited */
	int64_t awaited_ns; /* since when */
};

/* The loaders and loops of one process. */
struct stacks_loaders {
	struct py_counter *counter; /* NULL: not opened, or pmtop cannot read this Python's objects */
	struct stacks_loops *loops; /* NULL: as counter */
	const struct source_choices *choices;
	const char *wanted; /* as in stacks_loops_new: of `choices`, as it was last */
	bool is_from_start; /* as in stacks_loops_new */
	int64_t trained_ns; /* the first sample of training while no pass was known; 0 = none */
	/* A DataLoader was polled last, and goes on: it is, or may be, the one of training; or one of validation */
	bool is_tried, has_loader, has_validation;
	bool is_other;     /* another loop counts the steps from now on: what was emitted so far is of the one before */
	bool is_withdrawn; /* what counted the steps no longer can */
	bool is_begun;     /* something was counted since */
	int64_t looped_ns; /* when a loop that is no DataLoader's was last seen to count some of it; 0 = none did */
	struct {
		char file[PY_FILE_SIZE];
		int line;
		bool is_of_steps;
	} place;                  /* where batches are fetched */
	uint64_t training_serial; /* of the pass that was last seen to train */
	uint64_t likely_serial;   /* of the pass that may train, as last polled; 0 = none does */
	uint64_t taken_serial;    /* of the newest pass whose batches were taken for steps; 0 = none */
	bool is_taken_for_now;    /* until a loop is found that fetches them */
	int64_t called_ns;        /* when the first pass was found whose batches next() fetches; 0 = none yet */
	struct stacks_evidence evidence;
	struct stacks_companions companions;
	struct stacks_limits limits;
	struct stacks_known_epoch epoch;
	struct stacks_span span;
	struct stacks_whole whole;
	uint64_t spanning;   /* serial of a pass with batches of several epochs: a loop has the steps; 0 = none */
	int64_t spanning_ns; /* since when that is known */
	double loss;         /* as last read; NAN = none */
	int64_t loss_ns;
	struct stacks_steps *steps; /* one of the runs; NULL: nothing to emit yet */
	int64_t poll_ns;            /* when to poll; INT64_MAX: no loader is known */
	/* until then the sampling rate is higher, to find loaders */
	int64_t boost_until_ns;
	int64_t awaits_until_ns;
	int64_t quiet_ns; /* when the last batch came of which no other followed in time; 0: they come */
};

#define STACKS_LOADERS_INIT(chosen, from_start) \
	{ \
		.poll_ns = INT64_MAX, .loss = (double)NAN, .choices = (chosen), .wanted = (chosen)->loop, \
		.is_from_start = (from_start) \
	}

struct stacks_polled {
	struct py_counted counted[PY_COUNTED_MAX + 1];
	size_t count;
	const char *texts[PY_COUNTED_MAX + 1];
	struct stacks_what what;
};

/* Call right after a sample of this process. `owner`: as in stacks_lines_text. */
void stacks_loaders_note(struct stacks_loaders *loaders, const struct py_sampler *sampler,
	const struct py_sample *sample, struct stacks_lines *lines, struct stacks_owner *owner, int64_t now_ns);
/* Polls; pass the result to stacks_loaders_take before the next poll. `owner`: as in stacks_lines_text. */
void stacks_loaders_poll(struct stacks_loaders *loaders, struct stacks_lines *lines, struct stacks_owner *owner,
	int64_t now_ns, struct stacks_polled *out);
/* Call under the lock of the runs. */
void stacks_loaders_take(struct stacks_loaders *loaders, struct stacks_runs *runs, const struct stacks_polled *polled,
	pid_t pid, uint64_t start_ticks, const char *name, int64_t now_ns);
/* Lists the loops, if somebody views those of this process. Call under the lock. */
void stacks_loaders_list(const struct stacks_loaders *loaders, int32_t pid, struct stacks_found *out);
/* Whether a pass of the steps' loop has just ended: a sample soon finds the next one from its first steps on; or
 * samples close to each other are wanted for another reason. */
bool stacks_loaders_awaits(const struct stacks_loaders *loaders, int64_t now_ns);
/* Whether the step in progress takes far longer than the others: samples may find its cause, or a loop inside it. */
bool stacks_loaders_is_stalled(const struct stacks_loaders *loaders, int64_t now_ns);
/* Its process has ended or called exec. Call under the lock. */
void stacks_loaders_end(struct stacks_loaders *loaders, int64_t now_ns);
/* Its process is not sampled for now. */
void stacks_loaders_close(struct stacks_loaders *loaders);
/* Another thread of the process is sampled from now on: what was counted so far is no part of its steps. */
void stacks_loaders_restart(struct stacks_loaders *loaders);

/* Why there are no steps, in a sentence. False: unknown, or there are. `worker_of`: the process that this one is a
 * DataLoader worker of; 0 = it is none. */
bool stacks_loaders_why(const struct stacks_loaders *loaders, pid_t worker_of, char *out, size_t size);

#endif
