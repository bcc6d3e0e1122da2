/* pmtop instrument PID: instruments the training in a program that runs already (CPython 3.14 or newer, PEP 768). The
 * only command that writes into another process: it says what it will do, and asks. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/commands/commands.h"
#include "src/commands/instrument/instrument_files.h"
#include "src/session/command.h"
#include "src/session/signals.h"
#include "src/sources/python/py_locate.h"
#include "src/sources/python/py_request.h"
#include "src/sources/python/remote.h"
#include "src/sources/target/access.h"
#include "src/sources/target/target.h"

enum { READ_MAX_S = 4, NAP_MS = 20, WAIT_S = 30, REPORT_S = 60, REPORT_SIZE = 480 };

/* So long the program may look by itself, before pmtop sets the bit that makes it look. */
#define PATIENCE_NS (500 * NS_PER_MS)
#define HURRY_EVERY_NS (250 * NS_PER_MS)

struct work {
	struct target target;
	struct py_location python;
	struct py_request request;
	struct instrument_files files;
	int64_t limit_ns; /* for the program to reach a safe point */
	bool asks;
};

/* -- before -- */

static enum status find_target(const struct options *options, struct work *work, struct reason *why_not)
{
	if (options->run_name)
		return reason_set(why_not, STATUS_INVALID, "a run with a name is instrumented already",
			"instrument needs a process, not the run %.80s", options->run_name);
	enum status status = target_open(&work->target, options->pid, "/proc", why_not);
	if (status != STATUS_OK)
		return status;
	if (target_refresh(&work->target) == STATUS_OK && work->target.member_count > 0)
		return STATUS_OK;
	target_close(&work->target);
	return reason_set(why_not, STATUS_NOT_FOUND, NULL, "process %d has ended", (int)options->pid);
}

static enum status refuse_state(const struct target_member *member, struct reason *why_not)
{
	if (member->has_stat && (member->stat.state == 'T' || member->stat.state == 't'))
		return reason_set(why_not, STATUS_UNSUPPORTED, "kill -CONT lets it run",
			"process %d is stopped and runs no script", (int)member->pid);
	return STATUS_OK;
}

static enum status find_python(struct work *work, struct reason *why_not)
{
	const struct target_member *member = &work->target.members[0];
	enum status status = refuse_state(member, why_not);
	if (status == STATUS_OK)
		status = py_locate(member->pid, member->directory_fd, &work->python, why_not);
	if (status == STATUS_NOT_FOUND)
		return reason_set(why_not, STATUS_UNSUPPORTED,
			"name the Python process itself: pmtop -p shows the children of a launcher",
			"process %d runs no CPython 3.%d or newer", (int)member->pid, PY_MINOR_OLDEST);
	if (status == STATUS_OK)
		status = py_request_open(member->pid, &work->python, &work->request, why_not);
	if (status == STATUS_DENIED)
		access_explain_memory(member->directory_fd, member->pid, work->target.uid, remote_test_self(), why_not);
	return status;
}

/* With a limit: a page of the target's memory may never arrive. */
static enum status find_python_in_time(struct work *work, struct reason *why_not)
{
	struct remote_reader *reader = remote_reader_new(READ_MAX_S * NS_PER_S);
	if (!reader)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	remote_reader_use(reader);
	enum status status = find_python(work, why_not);
	remote_reader_use(NULL);
	if (remote_reader_stuck_ns(reader))
		status = reason_set(why_not, STATUS_IO, "check for a stuck page fault (userfaultfd, FUSE, network disk)",
			"reading the memory of process %d took more than %d s", (int)work->request.pid, READ_MAX_S);
	remote_reader_free(reader);
	return status;
}

static void say_plan(const struct work *work)
{
	const struct target_member *member = &work->target.members[0];
	char version[PY_VERSION_SIZE];
	py_layout_version(&work->python.layout, version);
	printf("Process %d (%s), Python %s\n\n"
		   "What pmtop will do:\n"
		   "  - write the path of a script and a request to run it into the memory of the process\n"
		   "    (PEP 768, as sys.remote_exec does), and set one bit that makes its main thread look\n"
		   "  - the process then runs the script: pmtop.torch.instrument(), or the same of\n"
		   "    pmtop.keras, pmtop.lightning and pmtop.jax, for what the program has imported\n"
		   "  - the script lies in a private folder in /tmp, which pmtop removes afterwards\n"
		   "What can go wrong:\n"
		   "  - the main thread pauses while it imports the package: usually less than a second\n"
		   "  - a signal or another event that arrives at the moment of the write can be delayed\n"
		   "  - the script runs at any point of the program; an error in it, in pmtop or in\n"
		   "    Python can disturb, hang or end the program: save a checkpoint first\n"
		   "  - it cannot be undone while the program runs\n",
		(int)member->pid, member->command, version);
}

static enum status ask(struct reason *why_not)
{
	char answer[16] = "";
	if (!isatty(STDIN_FILENO))
		return reason_set(why_not, STATUS_INVALID, "--yes does it without asking",
			"standard input is no terminal: nothing was written");
	printf("\nContinue? [y/N] ");
	fflush(stdout);
	if (fgets(answer, sizeof answer, stdin))
		answer[strcspn(answer, "\n")] = '\0';
	if (strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0)
		return STATUS_OK;
	return reason_set(why_not, STATUS_UNSUPPORTED, NULL, "not confirmed: nothing was written");
}

/* -- the request -- */

static bool nap(int signal_fd)
{
	struct pollfd until = { .fd = signal_fd, .events = POLLIN };
	return poll(&until, 1, NAP_MS) <= 0 || !signals_have_ended(signal_fd, 0);
}

static enum status withdraw(const struct work *work, bool is_interrupted, struct reason *why_not)
{
	pid_t pid = work->request.pid;
	if (!py_request_withdraw(&work->request))
		return STATUS_OK;
	if (is_interrupted)
		return reason_set(why_not, STATUS_UNSUPPORTED, NULL,
			"interrupted: the request was withdrawn, process %d is not instrumented", (int)pid);
	return reason_set(why_not, STATUS_UNSUPPORTED, "pmtop stack shows where it is; --for=5m waits longer",
		"process %d did not look within %.0f s: its main thread runs no Python code, or its Python lacks remote "
		"debugging; the request was withdrawn",
		(int)pid, (double)work->limit_ns / 1e9);
}

/* Waits until the main thread takes the script. */
static enum status wait_for_answer(const struct work *work, int signal_fd, struct reason *why_not)
{
	int64_t begun_ns = clock_monotonic_ns(), next_ns = begun_ns + PATIENCE_NS;
	for (;;) {
		int64_t now_ns = clock_monotonic_ns();
		enum py_answer answer = py_request_answer(&work->request);
		if (answer == PY_ANSWER_TAKEN)
			return STATUS_OK;
		if (answer == PY_ANSWER_ENDED)
			return reason_set(why_not, STATUS_NOT_FOUND, NULL, "process %d has ended", (int)work->request.pid);
		if (now_ns - begun_ns > work->limit_ns)
			return withdraw(work, false, why_not);
		if (now_ns >= next_ns) {
			enum status status = py_request_hurry(&work->request, why_not);
			if (status != STATUS_OK)
				return status;
			next_ns = now_ns + HURRY_EVERY_NS;
		}
		if (!nap(signal_fd))
			return withdraw(work, true, why_not);
	}
}

/* The script's line: WORD TEXT. */
static enum status print_result(const struct work *work, const char *report, struct reason *why_not)
{
	int pid = (int)work->request.pid;
	const char *text = strchr(report, ' ');
	text = text ? text + 1 : "";
	if (strncmp(report, "instrumented ", 13) == 0)
		printf("Process %d is instrumented (%s): pmtop -p %d shows it\n", pid, text, pid);
	else if (strncmp(report, "already ", 8) == 0)
		printf("Process %d is instrumented already (%s): nothing was changed\n", pid, text);
	else
		return reason_set(why_not, STATUS_UNSUPPORTED, NULL, "process %d is not instrumented: %s", pid, text);
	return STATUS_OK;
}

static enum status wait_for_report(const struct work *work, int signal_fd, struct reason *why_not)
{
	char report[REPORT_SIZE];
	int64_t until_ns = clock_monotonic_ns() + REPORT_S * NS_PER_S;
	bool goes_on = true;
	while (!instrument_files_report(&work->files, report, sizeof report)) {
		if (!goes_on || clock_monotonic_ns() > until_ns)
			return reason_set(why_not, STATUS_IO, "pmtop -p shows whether it publishes",
				"process %d runs the script, but has not reported yet", (int)work->request.pid);
		if (py_request_answer(&work->request) == PY_ANSWER_ENDED)
			return reason_set(why_not, STATUS_NOT_FOUND, NULL, "process %d has ended while it ran the script",
				(int)work->request.pid);
		goes_on = nap(signal_fd);
	}
	return print_result(work, report, why_not);
}

static enum status send(struct work *work, int signal_fd, struct reason *why_not)
{
	enum status status = py_request_send(&work->request, work->files.script, why_not);
	if (status == STATUS_OK)
		status = wait_for_answer(work, signal_fd, why_not);
	else if (status == STATUS_DENIED)
		access_explain_memory(
			work->target.members[0].directory_fd, work->request.pid, work->target.uid, remote_test_self(), why_not);
	if (status == STATUS_OK)
		return wait_for_report(work, signal_fd, why_not);
	/* Whatever failed, the script must not run once pmtop has gone. */
	py_request_withdraw(&work->request);
	return status;
}

static enum status instrument(struct work *work, struct reason *why_not)
{
	enum status status = find_python_in_time(work, why_not);
	if (status != STATUS_OK)
		return status;
	say_plan(work);
	status = work->asks ? ask(why_not) : STATUS_OK;
	if (status != STATUS_OK)
		return status;
	/* Its state may have changed while the user read. */
	if (target_refresh(&work->target) != STATUS_OK || work->target.member_count == 0)
		return reason_set(why_not, STATUS_NOT_FOUND, NULL, "process %d has ended", (int)work->request.pid);
	status = find_python_in_time(work, why_not);
	if (status == STATUS_OK)
		status = instrument_files_make(
			work->target.members[0].directory_fd, work->request.pid, work->target.uid, &work->files, why_not);
	if (status != STATUS_OK)
		return status;
	printf("\nWaiting until its main thread runs the script (at most %.0f s)\n", (double)work->limit_ns / 1e9);
	fflush(stdout);
	int signal_fd = signals_open_ending();
	status = send(work, signal_fd, why_not);
	instrument_files_remove(&work->files);
	signals_close(signal_fd);
	return status;
}

static enum exit_code run_instrument(const struct options *options, const struct settings *settings)
{
	struct work work = { .asks = !options->yes,
		.limit_ns = (int64_t)((options->record_s > 0 ? options->record_s : WAIT_S) * 1e9) };
	struct reason reason = { "", "" };
	(void)settings;
	enum status status = find_target(options, &work, &reason);
	if (status != STATUS_OK)
		return command_fail(status, &reason);
	status = instrument(&work, &reason);
	target_close(&work.target);
	fflush(stdout);
	return status == STATUS_OK ? EXIT_OK : command_fail(status, &reason);
}

const struct command instrument_command = {
	.name = "instrument",
	.synopsis = "instrument PID",
	.summary = "instrument the training in a running process",
	.details = "For CPython 3.14 and newer (PEP 768). This command alone writes into a\n"
			   "process: it says what it will do and what can go wrong, and asks. It\n"
			   "waits 30 s, or --for=TIME, for the process to run its script.\n",
	.example = "pmtop instrument 48213",
	.words = COMMAND_TAKES_TARGET,
	.traits = COMMAND_NEEDS_PROCESS | COMMAND_NEEDS_RUNNING,
	.formats = 1u << FORMAT_TEXT,
	.needs_target = true,
	.run = run_instrument,
};
