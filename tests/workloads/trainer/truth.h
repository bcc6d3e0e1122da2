/* truth.h: what really happened, by the trainer's own clock, for tests to compare with what pmtop says. */
#ifndef TRAINER_TRUTH_H
#define TRAINER_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader.h"
#include "options.h"

struct truth {
	size_t count, capacity;
	double *seconds; /* of each finished training batch */
	uint64_t epochs, validation_batches, leaked_bytes;
	double first_loss, final_loss, accuracy; /* accuracy: of the last validation; NAN = none yet */
};

bool truth_init(struct truth *truth, const struct options *options);
void truth_release(struct truth *truth);
void truth_batch(struct truth *truth, double seconds, double loss);
/* One line of JSON to options->truth, if there is one. `ended`: finished, interrupted, hang, crash, exit, failed. */
bool truth_write(
	const struct truth *truth, const struct options *options, const struct loader_plan *plan, const char *ended);

#endif
