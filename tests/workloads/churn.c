/* churn: a training run in which everything that can become more becomes more, many times as fast as in a real one:
 * short epochs, slow batches that are flagged, new names of spans, marks, and children that live for a moment. Until it
 * is killed.
 *
 *   churn [CHILDREN A SECOND] */
#define PMTOP_IMPLEMENTATION
#include "pmtop.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	BATCHES_AN_EPOCH = 10,
	SLOW_EVERY = 10,
	USUAL_MS = 3,
	SLOW_MS = 15,
	CHILD_MS = 250,
	PUBLISHING_EVERY = 4,
	CHILD_BYTES = 1 << 20
};

static void wait_ms(int ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&left, &left) < 0)
		continue;
}

/* Some publish, as a loader's workers do. */
static void start_child(struct pmtop *pm, bool publishes)
{
	char *memory;

	if (fork() != 0)
		return;
	memory = malloc(CHILD_BYTES);
	if (memory != NULL)
		memset(memory, 1, CHILD_BYTES);
	if (publishes)
		PMTOP_SPAN(pm, "worker.fetch")
	wait_ms(CHILD_MS);
	else wait_ms(CHILD_MS);
	if (publishes)
		pmtop_close(pm);
	_exit(memory != NULL ? 0 : 1);
}

static void do_batch(struct pmtop *pm, uint64_t batch, int ms)
{
	pmtop_batch_begin(pm, batch);
	PMTOP_SPAN(pm, "data")
	wait_ms(1);
	PMTOP_SPAN(pm, "forward")
	wait_ms(ms - 1);
	pmtop_batch_end(pm, 1.0 / (double)(batch + 1));
}

int main(int argc, char **argv)
{
	double children_per_s = argc > 1 ? atof(argv[1]) : 10, children = 0;
	struct pmtop *pm = pmtop_open("churn", NULL);
	uint64_t begun_ns = pmtop_now(), batch = 0;
	char name[64];

	for (uint32_t epoch = 0;; epoch++) {
		pmtop_mode(pm, "train");
		pmtop_epoch_begin(pm, epoch);
		for (int i = 0; i < BATCHES_AN_EPOCH; i++, batch++)
			do_batch(pm, batch, batch % SLOW_EVERY == SLOW_EVERY - 1 ? SLOW_MS : USUAL_MS);
		snprintf(name, sizeof name, "checkpoint %u", epoch);
		pmtop_span_begin(pm, name);
		pmtop_gauge(pm, "loss.average", 1.0 / (epoch + 1));
		pmtop_count(pm, "samples", 32 * BATCHES_AN_EPOCH);
		pmtop_mark(pm, name);
		pmtop_span_end(pm);
		pmtop_epoch_end(pm);
		for (double due = (double)(pmtop_now() - begun_ns) * 1e-9 * children_per_s; children < due; children++)
			start_child(pm, (int)children % PUBLISHING_EVERY == 0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
	}
}
