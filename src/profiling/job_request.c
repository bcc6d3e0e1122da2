#include "src/profiling/job_request.h"

#include "src/base/clock.h"

/* By then every program has looked at its socket, unless its steps are longer. */
#define START_MS 1000

static struct profiling *find_sharer(struct job_request *job, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (job->ranks[i].status == STATUS_AGAIN && job->ranks[i].profiling.sharer)
			return &job->ranks[i].profiling;
	return NULL;
}

void job_request_begin(struct job_request *job, const struct profiling_order *order, int64_t now_ns)
{
	struct profiling_order each = *order;
	if (job->count > 1)
		each.start = (struct profiling_start){ .realtime_ms = clock_realtime_ns() / NS_PER_MS + START_MS };
	for (size_t i = 0; i < job->count; i++) {
		struct rank_request *rank = &job->ranks[i];
		each.beside = find_sharer(job, i);
		rank->status = target_open(&rank->target, rank->pid, "/proc", &rank->reason);
		rank->is_target_open = rank->status == STATUS_OK;
		if (!rank->is_target_open)
			continue;
		rank->status = profiling_begin(&rank->profiling, &rank->target, &each, now_ns, &rank->reason);
		if (rank->status == STATUS_OK)
			rank->status = STATUS_AGAIN;
		else
			profiling_end(&rank->profiling);
	}
}

bool job_request_step(struct job_request *job, int64_t now_ns)
{
	bool goes_on = false;
	for (size_t i = 0; i < job->count; i++) {
		struct rank_request *rank = &job->ranks[i];
		if (rank->status == STATUS_AGAIN)
			rank->status = profiling_step(&rank->profiling, now_ns, &rank->reason);
		goes_on |= rank->status == STATUS_AGAIN;
	}
	return goes_on;
}

void job_request_end(struct job_request *job)
{
	for (size_t i = 0; i < job->count; i++) {
		struct rank_request *rank = &job->ranks[i];
		if (!rank->is_target_open)
			continue;
		profiling_end(&rank->profiling);
		target_close(&rank->target);
	}
}
