#include "src/model/run/refusals.h"

#include "src/model/run/run.h"

static const struct {
	const char *key, *why, *remedy;
} rows[REFUSAL_COUNT] = {
	[REFUSAL_NO_LANE] = { "no_lane", "more threads publish than the region has lanes",
		"pmtop.init(lanes=…), in C pmtop_options.lanes: as many as threads publish" },
	[REFUSAL_DEEP] = { "too_deep", "more than 32 spans were open in a thread",
		"end each span_begin() also where an exception is raised: `with pmtop.span(…)`" },
	[REFUSAL_SIGNAL] = { "signal", "a signal handler interrupted another call", "publish outside of signal handlers" },
	[REFUSAL_FULL] = { "full", "a table of names, values, facts or totals is full",
		"fewer different names (no numbers in them), or pmtop.init(names=…, totals=…)" },
	[REFUSAL_ORDER] = { "order", "an end without its begin, or a batch that never ended",
		"end each batch and span once" },
	[REFUSAL_BUSY] = { "busy", "another thread held the region's lock for too long",
		"see whether its threads wait for a CPU" },
};

const char *refusal_key(enum refusal reason) { return rows[reason].key; }

const char *refusal_why(enum refusal reason) { return rows[reason].why; }

uint64_t run_refused_for(const struct run *run, unsigned reason)
{
	uint64_t known = 0;
	if (reason < REFUSAL_COUNT)
		return run->refused_for[reason];
	for (unsigned i = 0; i < REFUSAL_COUNT; i++)
		known += run->refused_for[i];
	return run->refused_events > known ? run->refused_events - known : 0;
}

uint64_t run_refused_gaps(const struct run *run)
{
	uint64_t in_order = run->refused_for[REFUSAL_ORDER];
	return run->refused_events > in_order ? run->refused_events - in_order : 0;
}

/* REFUSAL_COUNT: unknown. */
static unsigned main_reason(const struct run *run)
{
	unsigned max = REFUSAL_COUNT;
	for (unsigned i = 0; i < REFUSAL_COUNT; i++)
		if (i != REFUSAL_ORDER && run->refused_for[i] > (max < REFUSAL_COUNT ? run->refused_for[max] : 0))
			max = i;
	return max;
}

const char *run_refused_why(const struct run *run)
{
	unsigned reason = main_reason(run);
	return reason < REFUSAL_COUNT ? rows[reason].why : "";
}

const char *run_refused_remedy(const struct run *run)
{
	unsigned reason = main_reason(run);
	return reason < REFUSAL_COUNT ? rows[reason].remedy : "";
}
