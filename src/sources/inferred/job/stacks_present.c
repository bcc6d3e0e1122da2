#include "src/sources/inferred/job/stacks_present.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "src/base/clock.h"

size_t stacks_present_find(const struct stacks_present *present, pid_t pid, uint64_t start_ticks, unsigned generation)
{
	size_t at = 0;
	for (; at < present->count; at++) {
		const struct stacks_process *process = &present->list[at];
		if (process->pid == pid && process->start_ticks == start_ticks && process->generation == generation)
			break;
	}
	return at;
}

static void drop_others(struct stacks_present *present)
{
	size_t retained = 0;
	for (size_t i = 0; i < present->count; i++) {
		if (present->list[i].is_retained) {
			present->list[retained++] = present->list[i];
			continue;
		}
		if (present->list[i].fd >= 0)
			close(present->list[i].fd);
		present->has_changed = true;
	}
	present->count = retained;
}

static void retain(
	struct stacks_present *present, const struct target_member *member, const struct stacks_job *job, bool is_elsewhere)
{
	size_t at = stacks_present_find(present, member->pid, member->start_ticks, member->generation);
	if (at == present->count) {
		int fd = at < STACKS_PROCESSES_MAX ? fcntl(member->directory_fd, F_DUPFD_CLOEXEC, 0) : -1;
		if (fd < 0)
			return;
		struct stacks_process *new = &present->list[present->count++];
		*new = (struct stacks_process){ .pid = member->pid,
			.parent = member->parent,
			.start_ticks = member->start_ticks,
			.generation = member->generation,
			.fd = fd,
			.is_elsewhere = is_elsewhere };
		snprintf(new->command, sizeof new->command, "%.63s", member->command);
		if (job)
			new->job = *job;
		present->has_changed = true;
	} else if (job && !stacks_job_is_equal(&present->list[at].job, job)) {
		present->list[at].job = *job;
		present->has_changed = true;
	}
	present->list[at].is_retained = true;
}

void stacks_present_take(struct stacks_present *present, const struct target *target, const struct stacks_ranks *ranks)
{
	for (size_t i = 0; i < present->count; i++)
		present->list[i].is_retained = false;
	for (size_t i = 0; i < target->member_count; i++)
		retain(present, &target->members[i], stacks_ranks_job(ranks, &target->members[i]), false);
	for (size_t i = 0; i < ranks->other_count; i++)
		retain(present, &ranks->others[i].member, &ranks->others[i].job, true);
	drop_others(present);
}

void stacks_present_release(struct stacks_present *present)
{
	for (size_t i = 0; i < present->count; i++)
		if (present->list[i].fd >= 0)
			close(present->list[i].fd);
	present->count = 0;
}

int64_t stacks_began_ns(uint64_t start_ticks)
{
	long per_s = sysconf(_SC_CLK_TCK);
	int64_t since_boot_ns = (int64_t)((double)start_ticks / (double)(per_s > 0 ? per_s : 100) * (double)NS_PER_S);
	return clock_realtime_ns() - clock_boottime_ns() + since_boot_ns;
}
