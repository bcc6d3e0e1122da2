/* pmtop's event and an lttng-ust tracepoint in turn; prints "PMTOP_NS TRACEPOINT_NS" for each round. Built and run by
 * bench_lttng.py. */
#define PMTOP_IMPLEMENTATION
#include "src/region/pmtop.h"

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_event.h"

enum { CALLS = 20000 };

static double now_ns(void) { return (double)pmtop_i_clock(CLOCK_THREAD_CPUTIME_ID); }

int main(int argc, char **argv)
{
	struct pmtop *pm = pmtop_open("lttng", NULL);
	int rounds = argc > 1 ? atoi(argv[1]) : 101;
	if (!pm)
		return 1;
	for (int round = 0; round < rounds; round++) {
		double from = now_ns();
		for (int i = 0; i < CALLS; i++)
			PMTOP_GAUGE(pm, "event", 0.5);
		double between = now_ns();
		for (int i = 0; i < CALLS; i++)
			lttng_ust_tracepoint(pmtop_bench, event, 1, 2, 0.5);
		printf("%.3f %.3f\n", (between - from) / CALLS, (now_ns() - between) / CALLS);
	}
	pmtop_close(pm);
	return 0;
}
