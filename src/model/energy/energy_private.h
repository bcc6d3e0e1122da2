/* energy_private.h: what the model keeps of meters and sensors, shared by energy.c (readings), energy_gpus.c (those of
 * GPUs) and energy_runs.c (batches, epochs). */
#ifndef PMTOP_MODEL_ENERGY_ENERGY_PRIVATE_H
#define PMTOP_MODEL_ENERGY_ENERGY_PRIVATE_H

#include "src/model/energy/energy_curve.h"
#include "src/model/model_private.h"

struct meter_past {
	double value; /* of its counter */
	bool has_value;
	struct energy_curve curve;
};

/* No machine's power is as high: what would be is no energy. */
#define ENERGY_WATTS_MAX 1e7

/* What a GPU's power sums up to from one reading to the next. */
struct power_piece {
	int64_t from_ns, to_ns;
	double joules;
};
enum { POWER_PIECES_MAX = 64 };

/* A GPU's: of its energy counter, else of its power. */
struct gpu_meter {
	int32_t instance;
	struct meter_past counter;    /* its curve is that of the power too */
	int64_t counter_ns, power_ns; /* of the newest readings; 0 = none */
	double watts;
	unsigned piece_count;
	struct power_piece pieces[POWER_PIECES_MAX]; /* since the counter was read, without a gap */
	bool was_ours;                               /* the tree was on it */
	uint64_t runs;                               /* which runs were, a bit each */
};

struct energy_past {
	struct meter_past meters[ENERGY_METERS_MAX];
	size_t gpu_count;
	struct gpu_meter *gpus;                     /* room for GPUS_MAX, once there is one */
	int64_t epoch_begins_ns[ENERGY_EPOCHS_MAX]; /* as energy->epochs */
	double throttles;
	int64_t throttles_ns, clock_ns;                                        /* when they were read */
	int64_t cpu_pushed_ns, gpu_pushed_ns, heat_pushed_ns, clock_pushed_ns; /* to their series */
	int64_t renewed_ns;
	bool is_new_in_set;
};

/* -- energy.c -- */
/* Joules since the reading before; NAN: the first, or it began anew, or it is nonsense. */
double energy_take_counter(struct meter_past *past, int64_t time_ns, double value);

/* -- energy_gpus.c -- */
struct gpu_meter *energy_gpu_meter(struct energy_past *past, int32_t instance); /* NULL: none */
void energy_take_gpu(struct model *model, const struct record *record);         /* its energy, or its power */

/* -- energy_runs.c -- */
/* Which GPUs the runs are on, what batches and epochs used. */
void energy_refresh_runs(struct model *model);

#endif
