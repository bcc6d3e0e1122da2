/* hand_run.h: a run whose batches, names and meta a test fills in by hand, so that every figure is the test's own. */
#ifndef PMTOP_TESTS_HAND_RUN_H
#define PMTOP_TESTS_HAND_RUN_H

#include <math.h>
#include <string.h>

#include "src/model/run/run_private.h"

enum {
	DATA = 1,
	DECODE,
	COLLATE,
	FORWARD,
	BACKWARD,
	OPTIMIZER,
	CHECKPOINT,
	EXTRA,
	NAMES = 40,
	METAS = 4,
	BATCHES = 400
};

static struct {
	const char *names[NAMES];
	__typeof__(*((struct run *)0)->meta) meta[METAS];
	struct batch batches[BATCHES];
	size_t batch_count;
	struct run_private priv;
} hand;

static inline void hand_run_init(struct run *run)
{
	static const char *const baseline_names[] = { NULL, "data", "decode", "collate", "forward", "backward", "optimizer",
		"checkpoint", "gc" };
	memset(&hand, 0, sizeof hand);
	memcpy(hand.names, baseline_names, sizeof baseline_names);
	hand.priv.names = (struct names){ .room = NAMES, .texts = (char **)(uintptr_t)hand.names };
	*run = (struct run){ .is_used = true, .track_count = 1, .priv = &hand.priv, .meta = hand.meta };
	run->tracks[0] = (struct track){ .ring = hand.batches, .capacity = BATCHES, .slow_first_s = NAN };
}

static inline void hand_meta(struct run *run, const char *key, const char *value)
{
	hand.meta[run->meta_count].key = (char *)(uintptr_t)key;
	hand.meta[run->meta_count++].value = (char *)(uintptr_t)value;
}

/* One phase of a batch, or of the baseline. */
static inline void add_phase(struct phase_time *phases, unsigned *count, uint32_t name, uint32_t parent, double seconds)
{
	phases[(*count)++] = (struct phase_time){
		.name = name, .parent = parent, .seconds = (float)seconds, .cpu_s = NAN, .memory_bytes = NAN
	};
}

#endif
