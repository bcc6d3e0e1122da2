/* gpu_node.h: synthetic GPUs, emitted as records beside a story, as a driver would report them. */
#ifndef PMTOP_TESTS_SUPPORT_GPU_NODE_H
#define PMTOP_TESTS_SUPPORT_GPU_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/support/stage.h"

struct gpu_node {
	unsigned count, parts; /* GPUs; parts (MIG) of the first */
	bool is_old;           /* reports neither SM activity, nor PCIe, nor ECC */
	bool hides_processes;
	bool is_narrow;         /* the first has 8 of 16 lanes */
	double power_s, heat_s; /* seconds of every 40 in which power or heat throttles the first */
	double lost_s;          /* the last GPU is lost from then on; 0 = never */
	bool is_empty;          /* no GPU memory is used */
	double counted_ratio;   /* share of the time throttled by power, by its counter; 0 = no counter */
	double leak_bytes;      /* growth of the first's memory, bytes/s */
};

/* One recent GPU that reaches its power limit at times. */
void gpu_node_default(struct gpu_node *node);
/* Emits the story until then, with the GPUs' figures twice a second. */
void gpu_node_play(const struct gpu_node *node, struct stage *stage, double until_s);

#endif
