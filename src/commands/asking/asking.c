#include "src/commands/asking/asking.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/session/signals.h"

enum { LIMIT_S = 120, STEP_MS = 100 };

static enum status find_folder(const struct options *options, char out[PATH_MAX], struct reason *why_not)
{
	const char *named = options->write ? options->write : ".";
	if (options->write && mkdir(named, 0777) != 0 && errno != EEXIST)
		return reason_set(why_not, STATUS_IO, NULL, "cannot make the folder %.120s: %s", named, strerror(errno));
	struct stat folder;
	if (realpath(named, out) && stat(out, &folder) == 0 && S_ISDIR(folder.st_mode))
		return STATUS_OK;
	return reason_set(why_not, STATUS_INVALID, NULL, "--output takes a folder, not %.120s", named);
}

enum status asking_order(const struct options *options, unsigned steps, char folder[PATH_MAX],
	struct profiling_order *order, struct reason *why_not)
{
	*order = (struct profiling_order){ .folder = folder,
		.is_chosen = options->write != NULL,
		.steps = steps,
		.limit_ns = (int64_t)((options->record_s > 0 ? options->record_s : LIMIT_S) * 1e9) };
	if (options->run_name)
		return reason_set(why_not, STATUS_INVALID, "pmtop --list names it", "%s takes the number of a process",
			options->command->name);
	return find_folder(options, folder, why_not);
}

static const char *name_rank(const struct rank_request *rank, char out[48])
{
	snprintf(out, 48, rank->rank[0] ? "rank %.16s (process %d)" : "%.0sprocess %d", rank->rank, (int)rank->pid);
	return out;
}

static void say(struct rank_request *rank)
{
	char words[PROFILING_WORDS_SIZE], name[48];
	if (rank->status != STATUS_AGAIN || strcmp(profiling_words(&rank->profiling, words), rank->said) == 0)
		return;
	strcpy(rank->said, words);
	/* Of a launcher, the process that takes the request. */
	if (!rank->rank[0])
		rank->pid = rank->profiling.pid;
	fprintf(stderr, "pmtop: %s: %s\n", name_rank(rank, name), words);
}

static void note_interrupt(struct rank_request *rank)
{
	const struct profiling *profiling = &rank->profiling;
	if (rank->status != STATUS_AGAIN)
		return;
	rank->status = STATUS_UNSUPPORTED;
	if (!profiling->is_given || !profiling->private_folder[0])
		reason_set(&rank->reason, STATUS_UNSUPPORTED, NULL, "interrupted: the request was withdrawn");
	else
		reason_set(&rank->reason, STATUS_UNSUPPORTED, NULL, "interrupted: the trace will be in %.150s",
			profiling->private_folder);
}

static void wait_for_files(struct job_request *job, int signal_fd)
{
	struct pollfd until[JOB_RANKS_MAX + 1] = { { .fd = signal_fd, .events = POLLIN } };
	while (job_request_step(job, clock_monotonic_ns())) {
		for (size_t i = 0; i < job->count; i++) {
			struct rank_request *rank = &job->ranks[i];
			int fd = rank->status == STATUS_AGAIN ? profiling_fd(&rank->profiling) : -1;
			say(rank);
			until[i + 1] = (struct pollfd){ .fd = fd, .events = POLLIN };
		}
		if (poll(until, job->count + 1, STEP_MS) <= 0 || !until[0].revents || !signals_have_ended(signal_fd, 0))
			continue;
		for (size_t i = 0; i < job->count; i++)
			note_interrupt(&job->ranks[i]);
	}
}

enum status asking_wait(struct job_request *job, struct job_rank *ranks, size_t count,
	const struct profiling_order *order, struct reason *why_not)
{
	*job = (struct job_request){ count, calloc(count, sizeof *job->ranks) };
	if (!job->ranks)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	for (size_t i = 0; i < count; i++) {
		job->ranks[i].pid = ranks[i].pid;
		job->ranks[i].rank = ranks[i].rank;
	}
	int signal_fd = signals_open_ending();
	job_request_begin(job, order, clock_monotonic_ns());
	wait_for_files(job, signal_fd);
	job_request_end(job);
	signals_close(signal_fd);
	return STATUS_OK;
}

enum exit_code asking_report(const struct rank_request *rank)
{
	struct reason named = rank->reason;
	char name[48];
	if (rank->status == STATUS_OK)
		return EXIT_OK;
	if (rank->rank[0])
		snprintf(named.text, sizeof named.text, "%s: %.160s", name_rank(rank, name), rank->reason.text);
	return command_fail(rank->status, &named);
}
