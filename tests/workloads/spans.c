/* spans: a training run of very many short spans, as a model makes that is called cell by cell: each thread publishes
 * so many a second, in batches of 60 ms, until it is killed.
 *
 *   spans [SPANS A SECOND] [THREADS] [SECONDS WITHOUT ANY, FIRST] */
#define PMTOP_IMPLEMENTATION
#include "pmtop.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 8, BURST_MAX = 64 };

static struct pmtop *pm;
static double rate = 6000;

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* One that got no CPU for a while does not make up for it at once: a model does not either. */
static void publish_for(double seconds)
{
	const struct timespec pause = { 0, 1000000 };
	double from_s = now_s(), passed_s;
	double published = 0;

	while ((passed_s = now_s() - from_s) < seconds) {
		for (int i = 0; i < BURST_MAX && published < passed_s * rate; i++, published++)
			PMTOP_SPAN(pm, "cell");
		if (published < passed_s * rate)
			published = passed_s * rate;
		nanosleep(&pause, NULL);
	}
}

static void *work(void *nothing)
{
	for (;;)
		publish_for(1);
	return nothing;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int threads = argc > 2 ? atoi(argv[2]) : 1;

	rate = argc > 1 ? atof(argv[1]) : rate;
	pm = pmtop_open("spans", NULL);
	pmtop_mode(pm, "train");
	pmtop_epoch_begin(pm, 0);
	sleep(argc > 3 ? (unsigned)atoi(argv[3]) : 0);
	for (int i = 1; i < threads && i < THREADS_MAX; i++)
		pthread_create(&thread, NULL, work, NULL);
	for (uint64_t batch = 0;; batch++) {
		pmtop_batch_begin(pm, batch);
		PMTOP_SPAN(pm, "forward")
		publish_for(0.06);
		pmtop_batch_end(pm, 0);
	}
}
