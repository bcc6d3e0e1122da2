#include "src/commands/fleet/fleet_collect.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/thread.h"
#include "src/fleet/fleet_clock.h"
#include "src/fleet/reach/fleet_serve.h"
#include "src/serving/watched_search.h"
#include "src/session/signals.h"

enum { LINE_SIZE = 64 };

enum status fleet_choose_target(struct fleet_target *out, struct reason *why_not)
{
	struct watched_target found;
	if (!watched_search(&found, 1))
		return reason_set(
			why_not, STATUS_NOT_FOUND, "start one, or name its process with -p", "no training run was found");
	out->pid = found.pid;
	snprintf(out->name, sizeof out->name, "%s", found.name);
	return STATUS_OK;
}

/* Set by the thread that reads standard input. */
static atomic_bool is_dictionary_wanted;

bool fleet_wants_dictionary(void) { return atomic_exchange(&is_dictionary_wanted, false); }

/* One write a line, which a pipe takes whole. */
static void reply(const char *line, int64_t received_ns)
{
	char answer[128];
	if (fleet_clock_is_dictionary(line)) {
		atomic_store(&is_dictionary_wanted, true);
		return;
	}
	int64_t sent_ns = clock_monotonic_ns();
	if (fleet_clock_reply(line, received_ns, sent_ns, clock_realtime_ns(), answer, sizeof answer) &&
		write(STDERR_FILENO, answer, strlen(answer)) < 0)
		return;
}

/* Whether there were any. */
static bool answer_questions(void)
{
	char line[LINE_SIZE], byte;
	size_t length = 0;
	bool was_asked = false;
	while (read(STDIN_FILENO, &byte, 1) == 1) {
		int64_t received_ns = clock_monotonic_ns();
		if (byte != '\n') {
			line[length] = byte;
			length += length + 1 < LINE_SIZE;
			continue;
		}
		line[length] = '\0';
		length = 0;
		was_asked = true;
		reply(line, received_ns);
	}
	return was_asked;
}

static void *answer(void *nothing)
{
	answer_questions();
	return nothing;
}

static void *answer_and_end(void *nothing)
{
	if (answer_questions())
		kill(getpid(), SIGTERM);
	return nothing;
}

enum exit_code fleet_relay(void)
{
	int signal_fd = signals_open_ending();
	bool is_good = fleet_serve(signal_fd);
	signals_close(signal_fd);
	return is_good ? EXIT_OK : EXIT_RUNTIME;
}

void fleet_answer_clock(bool ends_with_input)
{
	thread_start_detached(ends_with_input ? answer_and_end : answer, NULL);
}
