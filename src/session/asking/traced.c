#include "src/session/asking/traced.h"

#include <string.h>

static void add_first(struct sample_set *set, int64_t time_ns, int32_t pid, double value)
{
	size_t before = set->count;
	sample_set_figure(set, time_ns, METRIC_PROCESS_TRACED, pid, value);
	if (set->count == before)
		return;
	struct record added = set->records[before];
	memmove(set->records + 1, set->records, before * sizeof added);
	set->records[0] = added;
}

void traced_add(struct traced *traced, const struct live_request *request, int64_t now_ns, struct sample_set *set)
{
	const struct profiling *profiling = &request->profiling;
	bool is_traced = request->is_open && profiling->sharer && profiling->is_given;
	if (is_traced)
		add_first(set, profiling->given_ns, (int32_t)profiling->pid, 1);
	else if (traced->pid)
		add_first(set, now_ns, traced->pid, 0);
	traced->pid = is_traced ? (int32_t)profiling->pid : 0;
}
