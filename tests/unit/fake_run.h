/* fake_run.h: a run that a test fills in by hand. What rules ask of model/run.h is answered from plain arrays, so that every figure
 * is the test's own; test_rules_story.c has the same rules on the real model. */
#ifndef PMTOP_TESTS_FAKE_RUN_H
#define PMTOP_TESTS_FAKE_RUN_H

#include <math.h>
#include <string.h>

#include "src/model/run.h"

enum { DATA = 1, DECODE, COLLATE, FORWARD, BACKWARD, OPTIMIZER, CHECKPOINT, EXTRA };

static struct {
	const char *names[40];
	struct { const char *key, *value; } meta[4];
	struct batch batches[400];
	size_t batch_count;
	struct phase_row rows[16];
	size_t row_count;
} fake;

static void fake_reset(void)
{
	memset(&fake, 0, sizeof fake);
	static const char *const usual_names[] = { "", "data", "decode", "collate", "forward", "backward", "optimizer", "checkpoint" };
	memcpy(fake.names, usual_names, sizeof usual_names);
}

const char *run_name(const struct run *run, uint32_t id)
{
	(void)run;
	return id == NAME_UNATTRIBUTED ? "unattributed" : id == NAME_BETWEEN ? "between" : id < 40 && fake.names[id] ? fake.names[id] : "?";
}

const char *run_meta(const struct run *run, const char *key)
{
	(void)run;
	for (size_t i = 0; i < sizeof fake.meta / sizeof *fake.meta; i++)
		if (fake.meta[i].key && strcmp(fake.meta[i].key, key) == 0)
			return fake.meta[i].value;
	return NULL;
}

const struct track *run_main(const struct run *run)
{
	return &run->tracks[run->main_track];
}

const struct batch *track_batch(const struct track *track, uint64_t ordinal)
{
	(void)track;
	return ordinal < fake.batch_count ? &fake.batches[ordinal] : NULL;
}

size_t track_phases(const struct track *track, size_t last, struct phase_row *out, size_t max, size_t *batches)
{
	(void)track;
	size_t count = fake.row_count < max ? fake.row_count : max;
	memcpy(out, fake.rows, count * sizeof *out);
	*batches = last;
	return count;
}

/* One phase of a batch, or of what is usual. */
static inline void add_phase(struct phase_time *phases, unsigned *count, uint32_t name, uint32_t parent, double seconds)
{
	phases[(*count)++] = (struct phase_time){ .name = name, .parent = parent, .seconds = (float)seconds, .cpu_s = NAN, .memory_bytes = NAN };
}

#endif
