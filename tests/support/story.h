/* story.h: a synthetic training run as sample sets, as the region and process sources would emit them.
 *
 *   struct story_options options;
 *   story_options_default(&options);
 *   struct story *story = story_new(&options);
 *   struct sample_set set = SAMPLE_SET_INIT;
 *   while (story_next(story, &set))
 *           model_apply(model, &set);
 *
 * The same options give the same story, to the nanosecond. Each epoch: `batches` of mode train (data › decode, collate;
 * forward; backward; optimizer), then `validation_batches` of mode validation (data, forward), then a checkpoint. */
#ifndef PMTOP_TESTS_STORY_H
#define PMTOP_TESTS_STORY_H

#include <stdbool.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

struct story_options {
	uint64_t seed;
	int64_t start_ns;  /* when the process begins to publish */
	int64_t period_ns; /* one set each */
	/* pmtop attaches so long after the start, and knows earlier batches from the totals, the history and the ring; 0 =
	 * attached from the start */
	double attach_s;
	/* the process dies so long after the start, in mid-batch or wherever it is; 0 = never */
	double killed_s;
	int32_t pid;
	const char *command, *run_name;
	bool is_published; /* false: no region, process figures only */
	bool has_plan;     /* epochs and batches per epoch are published */
	bool has_modes;    /* false: no mode is ever published; then there is no validation either */
	bool has_evidence;
	bool loads_between; /* data is loaded between the batches, outside any span; meta "between" = "data" */
	uint32_t epochs;
	uint64_t batches, validation_batches; /* per epoch */
	/* the ordinary step; split: data 34 %, forward 22, backward 31, optimizer 8, unattributed 5 */
	double step_s;
	double jitter_ratio; /* each phase varies evenly by ± this */
	double first_s;      /* how much longer the run's first batch takes (in forward) */
	/* every k-th batch of mode train takes slow_s longer, in data › decode (between, where loads_between); 0 = none */
	uint64_t slow_every;
	double slow_s;
	double checkpoint_s;          /* a span of its own, after the validation; 0 = none */
	double loss_first, loss_fall; /* loss = first × exp(−fall × batch), with a little noise */
	double resident_bytes;        /* of the trainer at the start */
	double leak_bytes;            /* growth a batch */
	unsigned workers;             /* processes of 200 MB each */
	bool has_emitted_workers;     /* they publish (story_workers.h) */
	/* k: the optimizer steps with every k-th batch, eight times as long; the others are of kind "accumulate"; 0 = no
	 * kinds */
	unsigned accumulate;
	/* losses and "gpu.forward_s" come two batches later, gauges of an allocator with each batch; a mark after each
	 * checkpoint, and in every 60th batch */
	bool has_device;
};

/* 3 epochs of 100 batches of 0.2 s, 10 of validation, the first 0.35 s longer, every 40th 0.25 s longer in decode, no
 * leak, 4 workers, attached at the start. */
void story_options_default(struct story_options *options);

/* The published names, by id. */
#define STORY_NAMES(X) \
	X(TRAIN, "train") \
	X(VALIDATION, "validation") \
	X(DATA, "data") \
	X(DECODE, "decode") \
	X(COLLATE, "collate") \
	X(FORWARD, "forward") \
	X(BACKWARD, "backward") \
	X(OPTIMIZER, "optimizer") \
	X(CHECKPOINT, "checkpoint") \
	X(LEARNING_RATE, "learning_rate") \
	X(SAMPLES, "samples") \
	X(ACCUMULATE, "accumulate") \
	X(LOSS, "loss") \
	X(GPU_FORWARD, "gpu.forward_s") \
	X(ALLOCATED, "cuda.allocated_bytes") \
	X(RESERVED, "cuda.reserved_bytes") \
	X(PEAK, "cuda.peak_bytes") \
	X(STEPS, "optimizer.steps")
enum story_name {
	STORY_NO_NAME,
#define STORY_NAME_ID(id, text) STORY_##id,
	STORY_NAMES(STORY_NAME_ID)
#undef STORY_NAME_ID
		STORY_NAME_COUNT
};

enum { STORY_RUN = 0, STORY_LANE = 0, STORY_SAMPLES_PER_BATCH = 32 };

struct story;

/* Aborts when out of memory. */
struct story *story_new(const struct story_options *options);
void story_free(struct story *story);
/* Clears *out and fills it with the next period. The first set has everything that pmtop reads at attach. False once
 * the run has ended (or died) and its last set was given. */
bool story_next(struct story *story, struct sample_set *out);
/* The true figures so far, counted apart from the totals: finished batches of mode train. */
struct story_truth {
	uint64_t batches, steps, validation_batches;
	double batch_total_s, step_total_s, step_min_s, step_max_s, first_step_s;
	double data_total_s, decode_total_s;
	uint64_t planted;      /* slow steps (the last batch of an epoch has none where loads_between) */
	double resident_bytes; /* of the trainer, now */
};
struct story_truth story_truth(const struct story *story);
/* Every step of mode train so far, in order; *count of them. For brute-force checks. */
const double *story_steps(const struct story *story, size_t *count);

#endif
