/* options.h: the options of the trainer. */
#ifndef TRAINER_OPTIONS_H
#define TRAINER_OPTIONS_H

#include <stdbool.h>

#include "faults.h"

/* name on the command line, member, default, least, help */
#define NUMBERS(X) \
	X("epochs", epochs, 3, 1, "passes over the data") \
	X("batches", batches, 200, 1, "batches an epoch") \
	X("batch-size", batch_size, 32, 1, "samples a batch") \
	X("accumulate", accumulate, 1, 1, \
		"the optimizer steps with every N-th batch of an epoch, and its last, which is half as large; then a step " \
		"takes six times as long") \
	X("workers", workers, 2, 0, "loader processes; 0: the trainer loads its data itself") \
	X("step-ms", step_ms, 10, 0, \
		"forward, backward and optimizer repeat their work until they took about so long together") \
	X("seed", seed, 1, 0, "the same seed learns the same, whatever the times and workers are") \
	X("slow-every", slow_every, 0, 0, "every K-th batch has slow data; 0: none") \
	X("slow-ms", slow_ms, 100, 0, "how much longer reading and decoding it takes") \
	X("slow-first-ms", slow_first_ms, 0, 0, "the first forward takes so much longer") \
	X("leak-mb", leak_mb, 0, 0, "memory kept after each batch (0.5 is fine)") \
	X("hang-at", hang_at, -1, -1, "batch of the run (from 0) whose backward never ends; -1: none") \
	X("crash-at", crash_at, -1, -1, "batch whose backward ends in a segmentation fault") \
	X("exit-at", exit_at, -1, -1, "batch whose backward calls _exit(3)")

struct options {
#define NUMBER_MEMBER(text, member, initial, least, help) double member;
	NUMBERS(NUMBER_MEMBER)
#undef NUMBER_MEMBER
	const char *name;  /* of the run */
	const char *truth; /* file to write what really happened to, or NULL */
	bool no_publish, wait_for_enter;
	bool quiet_kinds;   /* batches that accumulate are not published as a kind, nor is their number */
	bool quiet_workers; /* loader processes publish nothing */
	struct faults faults;
};

/* Exits with a message: 0 after --help, 2 on a mistake. */
void options_parse(struct options *options, int argc, char **argv);

#endif
