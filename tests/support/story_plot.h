/* story_plot.h: the events of a synthetic run, written ahead of the time at which they are emitted. */
#ifndef PMTOP_TESTS_STORY_PLOT_H
#define PMTOP_TESTS_STORY_PLOT_H

#include "tests/support/story.h"

enum { PLOT_EVENTS = 2048 };

/* The next event to write. */
enum chapter { CHAPTER_OPENING, CHAPTER_EPOCH, CHAPTER_TRAIN, CHAPTER_VALIDATION, CHAPTER_CLOSE, CHAPTER_END };

struct event {
	struct record record;
	struct evidence evidence;
	uint32_t mode; /* current at that event */
};

struct plot {
	struct story_options options;
	uint64_t random;
	enum chapter chapter;
	uint32_t epoch;
	uint64_t batch, trained; /* in its epoch and mode; of mode train since the start */
	uint64_t number;         /* of the next batch in the run */
	double losses[2];        /* of the last two batches, whose losses come later */
	int64_t emitted_ns;      /* written up to here */
	uint64_t written;        /* events; the newest PLOT_EVENTS are retained: number i at i % PLOT_EVENTS */
	struct event events[PLOT_EVENTS];
};

/* Writes the next batch, or the events between two. Nothing at the end. */
void plot_write_on(struct plot *plot);
/* splitmix64 (Steele, Lea and Flood, 2014), as a number from −1 to 1. */
double plot_chance(uint64_t *state);

#endif
