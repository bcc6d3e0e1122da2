#include "src/model/run/steps/run_requests.h"

#include "src/model/run/run_private.h"
#include "src/model/run/steps/tracks.h"

static void add(struct run *run, const char *name, uint16_t lane, int64_t begin_ns, int64_t end_ns)
{
	struct run_private *priv = run->priv;
	if (!run->requests)
		run->requests = requests_new();
	if (!run->requests || end_ns < begin_ns)
		return;
	int64_t error_ns = lane < LANES_MAX ? priv->error_ns[lane] : 0;
	/* An error belongs only to the request that ends next, although requests of other tasks in this thread may have
	 * begun before it too. */
	if (lane < LANES_MAX)
		priv->error_ns[lane] = 0;
	requests_add(run->requests, name, end_ns, (double)((uint64_t)end_ns - (uint64_t)begin_ns) * 1e-9,
		error_ns > 0 && error_ns >= begin_ns, priv->options.sla_s);
}

void run_note_span(struct run *run, const struct record *span)
{
	struct run_private *priv = run->priv;
	int64_t begin_ns;
	if (!priv->inference || priv->mode != priv->inference)
		return;
	if (span->span.name == priv->error && priv->error) {
		priv->error_ns[span->lane] = span->time_ns;
		return;
	}
	/* A garbage collection between requests is no request. */
	if (span->span.name == priv->gc && priv->gc)
		return;
	if (priv->has_request_batches || span->span.parent != NAME_NONE ||
		__builtin_sub_overflow(span->time_ns, span->span.duration_ns, &begin_ns))
		return;
	/* Within a running batch the span is part of the request. */
	const struct lane *lane = &priv->lanes[span->lane];
	if (!lane->has_step || lane->is_ended)
		add(run, run_name(run, span->span.name), span->lane, begin_ns, span->time_ns);
}

/* The batch's kind, else the only outermost span; several outermost spans are parts of the request, and do not name
 * it. */
static const char *name_of(struct run *run, const struct lane *lane, uint32_t kind)
{
	const struct batch *batch = track_slot(&run->tracks[lane->track], lane->ordinal);
	uint32_t only = kind;
	for (unsigned i = 0; !kind && batch && i < batch->phase_count; i++) {
		const struct phase_time *phase = &batch->phases[i];
		if (phase->parent != NAME_NONE || phase->name == NAME_UNATTRIBUTED || phase->name == NAME_BETWEEN ||
			phase->name == run->priv->error)
			continue;
		if (only)
			return "batch";
		only = phase->name;
	}
	return only ? run_name(run, only) : "batch";
}

void run_note_batch(struct run *run, const struct lane *lane, uint32_t mode, const struct record *end)
{
	struct run_private *priv = run->priv;
	if (!priv->inference || mode != priv->inference)
		return;
	if (!priv->has_request_batches) {
		/* The spans counted as requests so far were between batches. */
		requests_free(run->requests);
		run->requests = NULL;
		priv->has_request_batches = true;
	}
	add(run, name_of(run, lane, end->batch.kind), lane->id, lane->begin_ns, end->time_ns);
}
