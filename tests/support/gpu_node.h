/* gpu_node.h: GPUs made up for tests, told by records beside a story: what a driver would say of them, at a moment. */
#ifndef PMTOP_TESTS_SUPPORT_GPU_NODE_H
#define PMTOP_TESTS_SUPPORT_GPU_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/support/stage.h"

struct gpu_node {
	unsigned count, parts; /* GPUs; parts (MIG) of the first */
	bool is_old;           /* tells neither SM activity, nor PCIe, nor ECC */
	bool hides_processes;
	bool is_narrow;         /* the first has 8 of 16 lanes */
	double power_s, heat_s; /* the first is held back by power, by heat, for so long out of every 40 s */
	double lost_s;          /* the last no longer answers from then on; 0 = it does */
	bool is_empty;          /* no memory is taken of any */
	double counted_ratio;   /* by its counter it is held back by power for so much of the time; 0 = has none */
	double leak_bytes;      /* growth a second of the first's memory */
};

/* One GPU of a recent kind, its power limit reached now and then. */
void gpu_node_default(struct gpu_node *node);
/* Tells the story on until then, and what the GPUs do twice a second. */
void gpu_node_play(const struct gpu_node *node, struct stage *stage, double until_s);

#endif
