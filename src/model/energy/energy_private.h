/* energy_private.h: internal state of meters and sensors, shared by energy.c (readings), energy_gpus.c (GPU readings)
 * and energy_runs.c (batches, epochs). */
#ifndef PMTOP_MODEL_ENERGY_ENERGY_PRIVATE_H
#define PMTOP_MODEL_ENERGY_ENERGY_PRIVATE_H

#include "src/model/energy/energy_curve.h"
#include "src/model/model_private.h"

struct meter_past {
	double value; /* of its counter */
	bool has_value;
	struct energy_curve curve;
};

/* Readings that imply more power than any machine has are invalid. */
#define ENERGY_WATTS_MAX 1e7

/* A GPU's power integrated between two readings. */
struct power_piece {
	int64_t from_ns, to_ns;
	double joules;
};
enum { POWER_PIECES_MAX = 64 };

/* A GPU's energy, from its energy counter, or from its power if it has none. */
struct gpu_meter {
	int32_t instance;
	struct meter_past counter;    /* the curve also holds integrated power */
	int64_t counter_ns, power_ns; /* times of the latest readings; 0 = none */
	double watts;
	unsigned piece_count;
	struct power_piece pieces[POWER_PIECES_MAX]; /* without a gap, since the counter was read */
	bool was_ours;                               /* used by the process tree */
	uint64_t runs;                               /* bit mask of the runs that used it */
};

struct energy_past {
	struct meter_past meters[ENERGY_METERS_MAX];
	size_t gpu_count;
	struct gpu_meter *gpus;                     /* GPUS_MAX entries, allocated with the first GPU */
	int64_t epoch_begins_ns[ENERGY_EPOCHS_MAX]; /* same indexes as energy->epochs */
	double throttles;
	int64_t throttles_ns, clock_ns;                                        /* times of the readings */
	int64_t cpu_pushed_ns, gpu_pushed_ns, heat_pushed_ns, clock_pushed_ns; /* latest points of the series */
	int64_t renewed_ns;
	bool is_new_in_set;
};

#endif
