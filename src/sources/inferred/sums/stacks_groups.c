#include "src/sources/inferred/sums/stacks_groups.h"

#include <math.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/text.h"

/* A sample represents the time since the one before, at most this many periods, so that pauses do not count. */
#define PERIODS_MAX 4

bool stacks_groups_is_worker(const struct py_sample *sample)
{
	for (size_t i = 0; i < sample->count; i++)
		if (strcmp(sample->sites[i].known->code.function, "_worker_loop") == 0 &&
			text_ends_with(sample->sites[i].known->code.file, "/torch/utils/data/_utils/worker.py"))
			return true;
	return false;
}

size_t stacks_groups_find(struct stacks_groups *groups, int32_t pid, bool is_workers, const struct py_layout *python)
{
	size_t at = 0;
	while (at < groups->count && !(groups->list[at].pid == pid && groups->list[at].is_workers == is_workers))
		at++;
	if (at == groups->count && at < STACKS_GROUPS_MAX) {
		groups->list[groups->count++] =
			(struct stacks_group){ .id = (uint32_t)at + 1, .pid = pid, .is_workers = is_workers, .hz = (double)NAN };
		py_layout_version(python, groups->list[at].python);
	}
	return at;
}

uint64_t stacks_group_count(struct stacks_group *group, bool is_whole, double period_ns, int64_t now_ns)
{
	double represented_ns = group->last_ns ? (double)(now_ns - group->last_ns) : period_ns;
	represented_ns = represented_ns < PERIODS_MAX * period_ns ? represented_ns : PERIODS_MAX * period_ns;
	group->samples++;
	group->partial += !is_whole;
	group->total_ns += (uint64_t)represented_ns;
	group->hz = (double)NS_PER_S / period_ns;
	group->last_ns = now_ns;
	return (uint64_t)represented_ns;
}

static void emit_group(struct stacks_group *group, int64_t now_ns, struct sample_set *out)
{
	struct record *record = sample_set_add(out, RECORD_CODE_GROUP, 0, now_ns);
	if (!record)
		return;
	record->code_group.id = group->id;
	record->code_group.pid = group->pid;
	record->code_group.is_workers = group->is_workers;
	record->code_group.python = sample_set_text(out, group->python, strlen(group->python));
	record->code_group.samples = group->samples;
	record->code_group.partial = group->partial;
	record->code_group.hz = group->hz;
	record->code_group.total_ns = group->total_ns;
	group->emitted_samples = group->samples;
}

void stacks_groups_emit(struct stacks_groups *groups, bool again, int64_t now_ns, struct sample_set *out)
{
	for (size_t i = 0; i < groups->count; i++)
		if (again ? groups->list[i].emitted_samples > 0 : groups->list[i].emitted_samples != groups->list[i].samples)
			emit_group(&groups->list[i], now_ns, out);
}
