#include "src/fleet/fleet_host.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/start.h"
#include "src/base/text.h"
#include "src/fleet/fleet_host_read.h"
#include "src/fleet/fleet_tee.h"
#include "src/samples/stream_read.h"

/* Shown within 5 s, with the time between two samples. */
#define SILENCE_NS (3 * NS_PER_S)
/* Then its process is killed and started again. */
#define START_MAX_NS (30 * NS_PER_S)
#define SILENCE_MAX_NS (60 * NS_PER_S)
#define BACK_OFF_NS NS_PER_S
#define BACK_OFF_MAX_NS (30 * NS_PER_S)
#define RATE_NS (2 * NS_PER_S)
#define END_MAX_NS NS_PER_S
/* LENT_RECORDS_MAX: larger storage is not retained. */
enum { WAKES_MAX = 64, LENT_RECORDS_MAX = 16 * 1024, WRONG_TIMES_MIN = 20 };

const char *fleet_host_state_name(enum fleet_host_state state)
{
	static const char *const names[] = {
#define FLEET_HOST_STATE_NAME(id, name) [FLEET_HOST_##id] = name,
		FLEET_HOST_STATES(FLEET_HOST_STATE_NAME)
#undef FLEET_HOST_STATE_NAME
	};
	return names[state];
}

void fleet_host_init(struct fleet_host *host, const char *name, char *command, int64_t period_ns)
{
	*host = (struct fleet_host){ .command = command,
		.period_ns = period_ns,
		.fds = { -1, -1, -1 },
		.bytes_per_s = NAN,
		.offset = { FLEET_CLOCK_UNKNOWN, 0, NAN, NAN } };
	text_clean(host->name, sizeof host->name, name, strlen(name));
}

static void close_fds(struct fleet_host *host)
{
	for (int i = 0; i < 3; i++) {
		if (host->fds[i] >= 0)
			close(host->fds[i]);
		host->fds[i] = -1;
	}
}

void fleet_host_release(struct fleet_host *host)
{
	close_fds(host);
	/* ssh and srun end the remote process when they are asked to end. */
	if (host->pid)
		kill(-host->pid, SIGTERM);
	fleet_tee_free(host->tee);
	stream_reader_free(host->reader);
	sample_set_release(&host->set);
	for (unsigned i = 0; i < host->rank_count; i++)
		free(host->ranks[i]);
	free(host->command);
}

int64_t fleet_host_silence_ns(const struct fleet_host *host) { return SILENCE_NS + 2 * host->period_ns; }

static void set_state(struct fleet_host *host, enum fleet_host_state state, int64_t now_ns)
{
	if (host->state != state)
		host->since_ns = now_ns;
	host->state = state;
}

/* -- its process -- */

static int open_pipes(int ours[3], int theirs[3])
{
	for (int i = 0; i < 3; i++) {
		int ends[2];
		if (pipe2(ends, O_CLOEXEC) < 0)
			return errno;
		ours[i] = ends[i == STDIN_FILENO];
		theirs[i] = ends[i != STDIN_FILENO];
		fcntl(ours[i], F_SETFL, O_NONBLOCK);
	}
	return 0;
}

static void end_with(struct fleet_host *host, int64_t now_ns)
{
	int64_t wait_ns = BACK_OFF_NS << (host->tries < 5 ? host->tries : 5);
	host->tries++;
	host->retry_ns = now_ns + (wait_ns < BACK_OFF_MAX_NS ? wait_ns : BACK_OFF_MAX_NS);
	set_state(host, FLEET_HOST_ENDED, now_ns);
}

void fleet_host_start(struct fleet_host *host, int64_t now_ns)
{
	char *const words[] = { "sh", "-c", host->command, NULL };
	int theirs[3] = { -1, -1, -1 };
	int error = open_pipes(host->fds, theirs);
	host->reader = error ? NULL : stream_reader_new();
	error = error ? error : host->reader ? start_program_with(words, environ, theirs, &host->pid) : ENOMEM;
	for (int i = 0; i < 3; i++)
		if (theirs[i] >= 0)
			close(theirs[i]);
	host->starts++;
	host->started_ns = now_ns;
	host->set_ns = 0;
	host->has_dictionary = false;
	host->line_length = 0;
	host->line[0] = '\0';
	host->said = (struct fleet_said){ 0 };
	host->clock = (struct fleet_clock){ 0 };
	for (unsigned i = 0; i < host->rank_count; i++)
		host->ranks[i]->is_stale = true;
	if (!error) {
		set_state(host, FLEET_HOST_STARTING, now_ns);
		return;
	}
	host->pid = 0;
	stream_reader_free(host->reader);
	host->reader = NULL;
	close_fds(host);
	snprintf(host->reason, sizeof host->reason, "its process was not started: %s", strerror(error));
	end_with(host, now_ns);
}

/* What its process said, or how it ended. */
static void explain_end(struct fleet_host *host, int status, bool is_reaped)
{
	int exited = is_reaped && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	const char *said = host->said.text, *advice = fleet_said_advice(&host->said, exited);
	const char *prefix = "pmtop: ";
	if (strncmp(said, prefix, strlen(prefix)) == 0)
		said += strlen(prefix);
	if (exited == 0)
		snprintf(host->reason, sizeof host->reason, "its run has ended");
	else if (advice)
		snprintf(host->reason, sizeof host->reason, "%.110s \342\206\222 %.80s", said[0] ? said : "command not found",
			advice);
	else if (said[0])
		snprintf(host->reason, sizeof host->reason, "%.190s", said);
	else if (is_reaped && WIFSIGNALED(status))
		snprintf(host->reason, sizeof host->reason, "its process was killed by signal %d", WTERMSIG(status));
	else if (exited > 0)
		snprintf(host->reason, sizeof host->reason, "its process ended with status %d", exited);
	else
		snprintf(host->reason, sizeof host->reason, "its stream ended");
}

/* Kills what still runs. Returns a process that is not reaped yet; 0 = none. */
static pid_t stop(struct fleet_host *host, int64_t now_ns, bool is_explained)
{
	int status = 0;
	pid_t pid = host->pid;
	bool is_reaped = pid && waitpid(pid, &status, WNOHANG) == pid;
	fleet_host_read_errors(host, now_ns);
	if (!is_explained)
		explain_end(host, status, is_reaped);
	if (pid && !is_reaped)
		kill(-pid, SIGKILL);
	host->pid = 0;
	close_fds(host);
	stream_reader_free(host->reader);
	host->reader = NULL;
	sample_set_release(&host->set);
	end_with(host, now_ns);
	return is_reaped ? 0 : pid;
}

/* -- its clock and its messages -- */

static void take_line(struct fleet_host *host, int64_t now_ns)
{
	host->line[host->line_length] = '\0';
	if (host->line_length && !fleet_clock_answer(&host->clock, host->line, now_ns))
		fleet_said_take(&host->said, host->line, host->line_length, now_ns);
	host->line_length = 0;
}

bool fleet_host_read_errors(struct fleet_host *host, int64_t now_ns)
{
	char bytes[4096];
	ssize_t length = host->fds[STDERR_FILENO] < 0 ? 0 : read(host->fds[STDERR_FILENO], bytes, sizeof bytes);
	for (ssize_t i = 0; i < length; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r')
			take_line(host, now_ns);
		else if (host->line_length + 1 < sizeof host->line)
			host->line[host->line_length++] = bytes[i];
	}
	if (length == 0 && host->fds[STDERR_FILENO] >= 0) {
		take_line(host, now_ns);
		close(host->fds[STDERR_FILENO]);
		host->fds[STDERR_FILENO] = -1;
	}
	return length < (ssize_t)sizeof bytes && ++host->wakes < WAKES_MAX;
}

/* A question that the pipe does not take at once is lost. */
static void ask_clock(struct fleet_host *host, int64_t wall_ns)
{
	char line[FLEET_CLOCK_LINE_SIZE];
	/* Now, not when the step began: other hosts were read meanwhile. */
	int64_t now_ns = clock_monotonic_ns();
	if (host->set_ns && fleet_clock_ask(&host->clock, now_ns, line) &&
		write(host->fds[STDIN_FILENO], line, strlen(line)) < 0 && errno == EPIPE)
		host->clock.due_ns = INT64_MAX;
	host->offset = fleet_clock_offset(&host->clock, now_ns, wall_ns);
}

void fleet_host_tee(struct fleet_host *host, struct fleet_tee *tee)
{
	fleet_tee_free(host->tee);
	host->tee = tee;
	/* If the pipe is full, the next dictionary comes within a minute. */
	if (tee && write(host->fds[STDIN_FILENO], FLEET_ASK_DICTIONARY, sizeof FLEET_ASK_DICTIONARY - 1) < 0)
		return;
}

/* -- a step -- */

static void measure_rate(struct fleet_host *host, int64_t now_ns)
{
	if (now_ns - host->rate_ns < RATE_NS)
		return;
	if (host->rate_ns)
		host->bytes_per_s = (double)(host->bytes - host->rate_bytes) / seconds_between(host->rate_ns, now_ns);
	host->rate_ns = now_ns;
	host->rate_bytes = host->bytes;
}

static void note_silence(struct fleet_host *host, int64_t now_ns)
{
	bool is_silent = host->set_ns && now_ns - host->set_ns > fleet_host_silence_ns(host);
	if (!host->set_ns) {
		if (now_ns - host->started_ns > fleet_host_silence_ns(host))
			snprintf(host->reason, sizeof host->reason, "no answer for %.0f s",
				floor(seconds_between(host->started_ns, now_ns)));
		return;
	}
	set_state(host, is_silent ? FLEET_HOST_SILENT : FLEET_HOST_LIVE, now_ns);
	if (is_silent)
		snprintf(
			host->reason, sizeof host->reason, "no samples for %.0f s", floor(seconds_between(host->set_ns, now_ns)));
	else if (host->wrong_times >= WRONG_TIMES_MIN)
		snprintf(host->reason, sizeof host->reason, "the times of %llu records are impossible: they were left out",
			(unsigned long long)host->wrong_times);
	else
		host->reason[0] = '\0';
}

static pid_t give_up(struct fleet_host *host, int64_t now_ns)
{
	int64_t heard_ns = host->set_ns ? host->set_ns : host->started_ns;
	if (now_ns - heard_ns < (host->set_ns ? SILENCE_MAX_NS : START_MAX_NS))
		return 0;
	snprintf(host->reason, sizeof host->reason, host->set_ns ? "no samples for a minute" : "no answer within 30 s");
	return stop(host, now_ns, true);
}

/* After the end of the stream the process has a moment to exit, because its status is a reason. */
static pid_t await_end(struct fleet_host *host, int64_t now_ns)
{
	siginfo_t info = { 0 };
	bool has_ended = waitid(P_PID, (id_t)host->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
	return has_ended || now_ns - host->closed_ns > END_MAX_NS ? stop(host, now_ns, false) : 0;
}

static pid_t read_host(struct fleet_host *host, int64_t now_ns, char *room, size_t room_size)
{
	char reason[FLEET_REASON_SIZE];
	if (host->fds[STDOUT_FILENO] < 0)
		return await_end(host, now_ns);
	memcpy(reason, host->reason, sizeof reason);
	host->reason[0] = '\0';
	bool goes_on = fleet_host_read(host, now_ns, room, room_size);
	if (host->reason[0])
		return stop(host, now_ns, true);
	memcpy(host->reason, reason, sizeof reason);
	if (!goes_on) {
		close(host->fds[STDOUT_FILENO]);
		host->fds[STDOUT_FILENO] = -1;
		host->closed_ns = now_ns;
		return await_end(host, now_ns);
	}
	note_silence(host, now_ns);
	return give_up(host, now_ns);
}

pid_t fleet_host_step(
	struct fleet_host *host, int64_t now_ns, int64_t wall_ns, struct sample_set *lent, char *room, size_t room_size)
{
	pid_t left = 0;
	measure_rate(host, now_ns);
	if (host->tee && !fleet_tee_flush(host->tee)) {
		fleet_tee_free(host->tee);
		host->tee = NULL;
	}
	if (!host->reader)
		return 0;
	if (!host->set.capacity) {
		host->set = *lent;
		*lent = (struct sample_set)SAMPLE_SET_INIT;
	}
	fleet_host_read_errors(host, now_ns);
	host->wakes = 0;
	left = read_host(host, now_ns, room, room_size);
	/* An incomplete set has records; then the storage stays here. */
	if (host->reader && !host->set.count && host->set.capacity > LENT_RECORDS_MAX)
		sample_set_release(&host->set);
	if (host->reader && !host->set.count && !lent->capacity) {
		*lent = host->set;
		host->set = (struct sample_set)SAMPLE_SET_INIT;
	}
	if (host->reader)
		ask_clock(host, wall_ns);
	if (host->tee)
		fleet_tee_flush(host->tee);
	return left;
}
