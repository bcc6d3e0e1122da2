/* stacks_follow.h: which thread of a process trains, if its main thread does not: it waits for that one, or serves
 * requests. Of that thread the steps are counted.
 *
 * The main thread is left for another one if backward or the optimizer runs in that and was never sampled in the main
 * thread; or, without PyTorch, if the main thread sleeps, no steps were found in it, and the other one is busy. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_FOLLOW_H
#define PMTOP_SOURCES_INFERRED_STACKS_FOLLOW_H

#include "src/sources/python/py_sampler.h"

enum { STACKS_FOLLOW_MAX = 64 };

struct stacks_follow_thread {
	uint64_t thread;
	unsigned samples, busy, trained; /* in about the last WINDOW samples */
};

/* Zeroed at first. */
struct stacks_follow {
	uint64_t main;         /* 0 = unknown yet */
	uint64_t followed;     /* the thread whose steps are counted */
	unsigned main_trained; /* samples of the main thread in training */
	bool is_by_time;       /* followed because it is busy */
	bool has_ended;        /* the thread that was followed before the main one */
	int64_t since_ns;
	size_t count;
	struct stacks_follow_thread threads[STACKS_FOLLOW_MAX];
};

enum stacks_follow_change {
	STACKS_FOLLOW_SAME,
	STACKS_FOLLOW_NEXT,  /* the thread before has ended: its steps go on in another one */
	STACKS_FOLLOW_OTHER, /* the steps of the thread before were none of training */
};

/* A thread was sampled; `sample` NULL: it sleeps as before. */
void stacks_follow_note(struct stacks_follow *follow, uint64_t thread, bool is_busy, const struct py_sample *sample);
/* The same of the main thread, while that is followed. */
void stacks_follow_note_main(struct stacks_follow *follow, const struct py_sample *sample);
/* Whether it is known that the main thread trains. */
bool stacks_follow_main_trains(const struct stacks_follow *follow);
/* Call after all threads were noted; `sampled`: whose samples the steps are counted by, which is the main thread if the
 * followed one has ended. `has_steps`: of that thread. Sets `followed`. */
enum stacks_follow_change stacks_follow_choose(
	struct stacks_follow *follow, uint64_t main, uint64_t sampled, bool has_steps, int64_t now_ns);

#endif
