#include "src/commands/asking/asking.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/session/signals.h"
#include "src/sources/target/target.h"

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

static void say(const struct profiling *profiling, char before[PROFILING_WORDS_SIZE])
{
	char words[PROFILING_WORDS_SIZE];
	if (strcmp(profiling_words(profiling, words), before) == 0)
		return;
	strcpy(before, words);
	fprintf(stderr, "pmtop: process %d: %s\n", (int)profiling->pid, words);
}

static enum status interrupted(const struct profiling *profiling, struct reason *why_not)
{
	if (!profiling->is_given || !profiling->private_folder[0])
		return reason_set(why_not, STATUS_UNSUPPORTED, NULL, "interrupted: the request was withdrawn");
	return reason_set(
		why_not, STATUS_UNSUPPORTED, NULL, "interrupted: the trace will be in %.150s", profiling->private_folder);
}

static enum status wait_for_file(struct profiling *profiling, int signal_fd, struct reason *why_not)
{
	char words[PROFILING_WORDS_SIZE] = "";
	for (;;) {
		enum status status = profiling_step(profiling, clock_monotonic_ns(), why_not);
		if (status != STATUS_AGAIN)
			return status;
		say(profiling, words);
		struct pollfd until[] = { { .fd = signal_fd, .events = POLLIN },
			{ .fd = profiling_fd(profiling), .events = POLLIN } };
		if (poll(until, 2, STEP_MS) > 0 && until[0].revents && signals_have_ended(signal_fd, 0))
			return interrupted(profiling, why_not);
	}
}

static enum status ask(
	struct target *target, const struct profiling_order *order, char path[PROFILING_PATH_SIZE], struct reason *why_not)
{
	struct profiling profiling;
	int signal_fd = signals_open_ending();
	enum status status = profiling_begin(&profiling, target, order, clock_monotonic_ns(), why_not);
	if (status == STATUS_OK)
		status = wait_for_file(&profiling, signal_fd, why_not);
	strcpy(path, profiling.path);
	profiling_end(&profiling);
	signals_close(signal_fd);
	return status;
}

enum status asking_take(
	const struct options *options, unsigned steps, char path[PROFILING_PATH_SIZE], struct reason *why_not)
{
	struct target target;
	char folder[PATH_MAX];
	struct profiling_order order = { .folder = folder,
		.is_chosen = options->write != NULL,
		.steps = steps,
		.limit_ns = (int64_t)((options->record_s > 0 ? options->record_s : LIMIT_S) * 1e9) };
	if (options->run_name)
		return reason_set(why_not, STATUS_INVALID, "pmtop --list names it", "%s takes the number of a process",
			options->command->name);
	enum status status = find_folder(options, folder, why_not);
	if (status == STATUS_OK)
		status = target_open(&target, options->pid, "/proc", why_not);
	if (status != STATUS_OK)
		return status;
	status = ask(&target, &order, path, why_not);
	target_close(&target);
	return status;
}
