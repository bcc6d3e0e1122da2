/* band.h: several ranks told by hand to one model, step by step. Times are seconds since `base_ns`.
 *
 *   struct band band;
 *   band_open(&band, model, SCRIPT_BASE_NS);
 *   unsigned first = band_add(&band, 0, 2, "run", 100), second = band_add(&band, 1, 2, "run", 101);
 *   band_step(&band, first, (struct band_step){ .data_s = 0.02, .forward_s = 0.05, .backward_s = 0.10 });
 *   band_apply(&band, 1.0); */
#ifndef PMTOP_TESTS_BAND_H
#define PMTOP_TESTS_BAND_H

#include "src/model/model.h"

struct band_step {
	double data_s, forward_s, backward_s, allreduce_s, optimizer_s;
};

enum band_name { BAND_DATA = 1, BAND_FORWARD, BAND_BACKWARD, BAND_ALLREDUCE, BAND_OPTIMIZER, BAND_NAMES };

struct band {
	struct model *model; /* the caller's */
	struct sample_set set;
	int64_t base_ns;
	unsigned count;
	struct {
		uint64_t sequence, batches;
		double at_s;
	} ranks[MODEL_RUNS_MAX];
};

void band_open(struct band *band, struct model *model, int64_t base_ns);
void band_close(struct band *band);
/* A live run of process `pid`, with RANK and WORLD_SIZE unless `world` is 0, and a run_id unless NULL; in an epoch.
 * Returns its id and index. */
unsigned band_add(struct band *band, long rank, long world, const char *run_id, int32_t pid);
/* Another name for this span, in all ranks that are there. */
void band_rename(struct band *band, enum band_name name, const char *text);
/* The next batch, from where the last ended, with its spans one after the other. */
void band_step(struct band *band, unsigned rank, struct band_step step);
/* A batch begins and stays in this span (0: none). */
void band_hang(struct band *band, unsigned rank, enum band_name name);
/* The rank's batches are over for so long that it is between two, in the loader. */
void band_load(struct band *band, unsigned rank);
void band_end(struct band *band, unsigned rank, double at_s, bool is_killed);
void band_figure(struct band *band, double at_s, enum metric metric, int32_t pid, double value);
/* Applies what was told since the last time, as one set read at this time. */
void band_apply(struct band *band, double at_s);

#endif
