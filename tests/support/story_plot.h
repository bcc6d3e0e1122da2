/* story_plot.h: what happens in a made-up run, event by event, ahead of the time at which it is told. */
#ifndef PMTOP_TESTS_STORY_PLOT_H
#define PMTOP_TESTS_STORY_PLOT_H

#include "tests/support/story.h"

enum { PLOT_EVENTS = 2048 };

/* What comes next when it is written on. */
enum chapter { CHAPTER_OPENING, CHAPTER_EPOCH, CHAPTER_TRAIN, CHAPTER_VALIDATION, CHAPTER_CLOSE, CHAPTER_END };

struct event {
	struct record record;
	struct evidence evidence;
	uint32_t mode; /* what was current when it happened */
};

struct plot {
	struct story_options options;
	uint64_t random;
	enum chapter chapter;
	uint32_t epoch;
	uint64_t batch, trained; /* in its epoch and mode; of mode train since the start */
	uint64_t number;         /* of the next batch in the run */
	double losses[2];        /* of the last two, which become known later */
	int64_t emitted_ns;      /* how far it is written */
	uint64_t written;        /* events, the newest PLOT_EVENTS of them kept: number i in i % PLOT_EVENTS */
	struct event events[PLOT_EVENTS];
};

/* Writes the next batch, or what stands between two. Nothing at the end. */
void plot_write_on(struct plot *plot);
/* splitmix64 (Steele, Lea and Flood, 2014), as a number from −1 to 1. */
double plot_chance(uint64_t *state);

#endif
