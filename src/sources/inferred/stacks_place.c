#include "src/sources/inferred/stacks_place.h"

#include <stdio.h>

#include "src/base/text.h"
#include "src/sources/inferred/stacks_private.h"
#include "src/sources/inferred/steps/stacks_steps_emit.h"

/* A launcher's variables say which rank it is; else its process group does (target.h); else its stack may. */
static struct stacks_sibling sibling_of(const struct sampled *sampled)
{
	const struct stacks_process *process = &sampled->process;
	const struct stacks_spawned *spawned = &sampled->spawned;
	bool is_known = process->job.certain;
	return (struct stacks_sibling){ .pid = process->pid,
		.parent = process->parent,
		.start_ticks = process->start_ticks,
		.is_rank = is_known || (stacks_spawned_is_rank(spawned) && !stacks_job_is_rank(&process->job)),
		.number = is_known        ? text_count(process->job.rank)
			: spawned->has_number ? spawned->number
								  : STACKS_NUMBER_UNKNOWN };
}

void stacks_place_steps(struct stacks_state *stacks, const struct sampled *sampled)
{
	struct stacks_sibling siblings[PROCESSES_MAX];
	size_t own = (size_t)(sampled - stacks->sampled);
	struct stacks_job job = sampled->process.job;
	for (size_t i = 0; i < stacks->sampled_count; i++)
		siblings[i] = sibling_of(&stacks->sampled[i]);
	stacks->is_spawned_rank |= sampled->process.pid == stacks->target->pid && siblings[own].is_rank;
	if (stacks_job_is_rank(&job) && job.certain) {
		job.apart = "no";
		if (sampled->spawned.has_number)
			snprintf(job.local_rank, sizeof job.local_rank, "%ld", sampled->spawned.number);
	} else if (!stacks_job_is_rank(&job) && stacks_siblings_job(siblings, stacks->sampled_count, own, &job)) {
		job.apart = sampled->spawned.is_distributed ? "no" : "yes";
	}
	stacks_steps_place(sampled->loaders.steps, &job, sampled->process.is_elsewhere);
}
