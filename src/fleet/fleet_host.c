#include "src/fleet/fleet_host.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/fleet/fleet_host_read.h"
#include "src/fleet/fleet_tee.h"
#include "src/samples/stream_read.h"

/* Shown within 5 s, with the time between two samples. */
#define SILENCE_NS (3 * NS_PER_S)
/* Then its process is killed and started again. */
#define START_MAX_NS (30 * NS_PER_S)
/* Then it is reached without its relay. */
#define RELAY_START_MAX_NS (20 * NS_PER_S)
#define SAID_NS (NS_PER_S / 5)
#define SILENCE_MAX_NS (60 * NS_PER_S)
#define BACK_OFF_NS NS_PER_S
#define BACK_OFF_MAX_NS (30 * NS_PER_S)
/* Some login servers lock out who is refused too often. */
#define REFUSED_BACK_OFF_NS (15 * NS_PER_S)
#define REFUSED_BACK_OFF_MAX_NS (300 * NS_PER_S)
/* A stream that ends sooner is a failure: its host is not started each second. */
#define SUCCESS_MIN_NS (60 * NS_PER_S)
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
		.process = FLEET_PROCESS_INIT,
		.bytes_per_s = NAN,
		.offset = { FLEET_CLOCK_UNKNOWN, 0, NAN, NAN } };
	text_clean(host->name, sizeof host->name, name, strlen(name));
}

void fleet_host_release(struct fleet_host *host)
{
	/* ssh and srun end the remote process when they are asked to end. */
	pid_t pid = fleet_process_detach(&host->process);
	if (pid)
		kill(-pid, SIGTERM);
	fleet_tee_free(host->tee);
	stream_reader_free(host->reader);
	sample_set_release(&host->set);
	for (unsigned i = 0; i < host->rank_count; i++)
		free(host->ranks[i]);
	free(host->command);
	free(host->relay_line);
}

int64_t fleet_host_silence_ns(const struct fleet_host *host) { return SILENCE_NS + 2 * host->period_ns; }

static void set_state(struct fleet_host *host, enum fleet_host_state state, int64_t now_ns)
{
	if (host->state != state)
		host->since_ns = now_ns;
	host->state = state;
}

/* -- its process -- */

static void end_with(struct fleet_host *host, int64_t now_ns)
{
	bool is_refused = fleet_said_is_refusal(&host->said);
	int64_t max_ns = is_refused ? REFUSED_BACK_OFF_MAX_NS : BACK_OFF_MAX_NS;
	if (host->set_ns && host->set_ns - host->started_ns >= SUCCESS_MIN_NS)
		host->failures = 0;
	host->pause_ns = (is_refused ? REFUSED_BACK_OFF_NS : BACK_OFF_NS) << (host->failures < 5 ? host->failures : 5);
	host->pause_ns = host->pause_ns < max_ns ? host->pause_ns : max_ns;
	host->failures++;
	host->retry_ns = now_ns + host->pause_ns;
	set_state(host, FLEET_HOST_ENDED, now_ns);
}

static void start_at_once(struct fleet_host *host, int64_t now_ns)
{
	host->pause_ns = 0;
	host->retry_ns = now_ns;
}

static void forget_stream(struct fleet_host *host)
{
	stream_reader_free(host->reader);
	host->reader = NULL;
	sample_set_release(&host->set);
	host->relay = NULL;
}

static void send_to_relay(struct fleet_host *host, enum fleet_frame_kind kind, const char *bytes, size_t length)
{
	fleet_relay_send(host->relay,
		&(struct fleet_frame){
			.kind = kind, .serial = host->serial, .channel = host->channel, .length = length, .payload = bytes });
}

static int start_process(struct fleet_host *host)
{
	if (!host->relay)
		return fleet_process_start(&host->process, host->command);
	host->serial++;
	send_to_relay(host, FLEET_FRAME_START, host->relay_command, strlen(host->relay_command));
	return 0;
}

/* Returns 0 or an errno. What does not fit into a pipe is lost. */
static int write_input(struct fleet_host *host, const char *bytes, size_t length)
{
	if (!host->relay)
		return fleet_process_write(&host->process, bytes, length);
	send_to_relay(host, FLEET_FRAME_INPUT, bytes, length);
	return 0;
}

void fleet_host_start(struct fleet_host *host, int64_t now_ns)
{
	host->reader = stream_reader_new();
	int error = host->reader ? start_process(host) : ENOMEM;
	host->starts++;
	host->started_ns = now_ns;
	host->set_ns = host->closed_ns = 0;
	host->has_dictionary = host->has_status = false;
	host->rate_ns = 0;
	host->bytes_per_s = NAN;
	host->said = (struct fleet_said){ 0 };
	host->clock = (struct fleet_clock){ 0 };
	for (unsigned i = 0; i < host->rank_count; i++)
		host->ranks[i]->is_stale = true;
	if (!error) {
		set_state(host, FLEET_HOST_STARTING, now_ns);
		return;
	}
	forget_stream(host);
	snprintf(host->reason, sizeof host->reason, "its process was not started: %s", strerror(error));
	end_with(host, now_ns);
}

/* A relay may lack a key for this host, or its name: the next start is without it, and the one after that with it.
 * Where pmtop has answered, another way would bring the same. */
static void choose_way(struct fleet_host *host, const char *relay, int64_t now_ns)
{
	char reason[FLEET_REASON_SIZE];
	if (host->set_ns || fleet_said_by_pmtop(&host->said) || (host->has_status && host->status == 0))
		return;
	host->is_direct = relay != NULL;
	if (!relay)
		return;
	memcpy(reason, host->reason, sizeof reason);
	snprintf(host->reason, sizeof host->reason, "from %.60s: %.120s", relay, reason);
	memcpy(host->detour, host->reason, sizeof host->detour);
	start_at_once(host, now_ns);
}

/* Kills what still runs. Returns a process that is not reaped yet; 0 = none. */
static pid_t stop(struct fleet_host *host, int64_t now_ns, bool is_explained)
{
	const char *relay = host->relay ? host->relay->name : NULL;
	fleet_host_read_errors(host, now_ns);
	if (relay && !host->has_status)
		send_to_relay(host, FLEET_FRAME_STOP, NULL, 0);
	host->has_status |= fleet_process_reap(&host->process, &host->status);
	pid_t pid = fleet_process_detach(&host->process);
	if (pid)
		kill(-pid, SIGKILL);
	if (!is_explained)
		fleet_said_explain(&host->said, host->has_status ? host->status : -1, host->reason, sizeof host->reason);
	forget_stream(host);
	end_with(host, now_ns);
	choose_way(host, relay, now_ns);
	return pid;
}

/* -- its clock and its messages -- */

void fleet_host_take_line(struct fleet_host *host, const char *line, int64_t now_ns)
{
	if (!fleet_clock_answer(&host->clock, line, now_ns))
		fleet_said_take(&host->said, line, strlen(line), now_ns);
}

struct reading {
	struct fleet_host *host;
	int64_t now_ns;
};

static void take_line(void *context, const char *line)
{
	struct reading *reading = context;
	fleet_host_take_line(reading->host, line, reading->now_ns);
}

bool fleet_host_read_errors(struct fleet_host *host, int64_t now_ns)
{
	bool is_empty = fleet_process_read_errors(&host->process, take_line, &(struct reading){ host, now_ns });
	return is_empty && ++host->wakes < WAKES_MAX;
}

/* A question that the pipe does not take at once is lost. */
static void ask_clock(struct fleet_host *host, int64_t wall_ns)
{
	char line[FLEET_CLOCK_LINE_SIZE];
	/* Now, not when the step began: other hosts were read meanwhile. */
	int64_t now_ns = clock_monotonic_ns();
	if (host->set_ns && fleet_clock_ask(&host->clock, now_ns, line) && write_input(host, line, strlen(line)) == EPIPE)
		host->clock.due_ns = INT64_MAX;
	host->offset = fleet_clock_offset(&host->clock, now_ns, wall_ns);
}

void fleet_host_tee(struct fleet_host *host, struct fleet_tee *tee)
{
	fleet_tee_free(host->tee);
	host->tee = tee;
	/* If the pipe is full, the next dictionary comes within a minute. */
	if (tee && host->reader)
		write_input(host, FLEET_ASK_DICTIONARY, sizeof FLEET_ASK_DICTIONARY - 1);
}

/* -- the storage that the hosts share -- */

static void borrow(struct fleet_host *host, struct sample_set *lent)
{
	if (host->set.capacity)
		return;
	host->set = *lent;
	*lent = (struct sample_set)SAMPLE_SET_INIT;
}

/* An incomplete set has records; then the storage stays here. */
static void give_back(struct fleet_host *host, struct sample_set *lent)
{
	if (!host->reader || host->set.count)
		return;
	if (host->set.capacity > LENT_RECORDS_MAX)
		sample_set_release(&host->set);
	if (lent->capacity)
		return;
	*lent = host->set;
	host->set = (struct sample_set)SAMPLE_SET_INIT;
}

/* -- from its relay -- */

void fleet_host_take(struct fleet_host *host, const char *bytes, size_t length, int64_t now_ns, struct sample_set *lent)
{
	if (!host->reader || host->closed_ns)
		return;
	borrow(host, lent);
	if (!fleet_host_feed(host, bytes, length, now_ns))
		stop(host, now_ns, true);
	give_back(host, lent);
}

void fleet_host_take_end(struct fleet_host *host, int status, int64_t now_ns)
{
	if (!host->reader || host->closed_ns)
		return;
	host->has_status = true;
	host->status = status;
	if (!fleet_host_finish(host, now_ns))
		stop(host, now_ns, true);
}

void fleet_host_lose_relay(struct fleet_host *host, const char *reason, int64_t now_ns)
{
	snprintf(host->reason, sizeof host->reason, "%s", reason);
	memcpy(host->detour, host->reason, sizeof host->detour);
	forget_stream(host);
	set_state(host, FLEET_HOST_ENDED, now_ns);
	start_at_once(host, now_ns);
}

/* -- a step -- */

static void measure_rate(struct fleet_host *host, int64_t now_ns)
{
	if (!host->set_ns || now_ns - host->rate_ns < RATE_NS)
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
		snprintf(host->reason, sizeof host->reason, "%s", host->relay ? "" : host->detour);
}

static pid_t give_up(struct fleet_host *host, int64_t now_ns)
{
	int64_t start_max_ns = host->relay ? RELAY_START_MAX_NS : START_MAX_NS;
	int64_t heard_ns = host->set_ns ? host->set_ns : host->started_ns;
	if (now_ns - heard_ns < (host->set_ns ? SILENCE_MAX_NS : start_max_ns))
		return 0;
	if (host->set_ns)
		snprintf(host->reason, sizeof host->reason, "no samples for a minute");
	else
		snprintf(host->reason, sizeof host->reason, "no answer within %.0f s", (double)start_max_ns / NS_PER_S);
	return stop(host, now_ns, true);
}

/* After the end of the stream the process has a moment to exit, because its status is a reason; what a relay's process
 * has said comes beside the frames. */
static pid_t await_end(struct fleet_host *host, int64_t now_ns)
{
	bool has_ended = host->relay ? now_ns - host->closed_ns > SAID_NS : fleet_process_has_ended(&host->process);
	return has_ended || now_ns - host->closed_ns > END_MAX_NS ? stop(host, now_ns, false) : 0;
}

static pid_t read_host(struct fleet_host *host, int64_t now_ns, char *room, size_t room_size)
{
	enum fleet_reading reading = FLEET_READING_WAITS;
	if (host->closed_ns)
		return await_end(host, now_ns);
	if (!host->relay)
		reading = fleet_host_read(host, now_ns, room, room_size);
	if (reading == FLEET_READING_REFUSED)
		return stop(host, now_ns, true);
	if (reading == FLEET_READING_ENDED) {
		fleet_process_close_output(&host->process);
		return await_end(host, now_ns);
	}
	note_silence(host, now_ns);
	return give_up(host, now_ns);
}

pid_t fleet_host_step(
	struct fleet_host *host, int64_t now_ns, int64_t wall_ns, struct sample_set *lent, char *room, size_t room_size)
{
	measure_rate(host, now_ns);
	if (host->tee && !fleet_tee_flush(host->tee)) {
		fleet_tee_free(host->tee);
		host->tee = NULL;
	}
	if (!host->reader)
		return 0;
	borrow(host, lent);
	fleet_host_read_errors(host, now_ns);
	host->wakes = 0;
	pid_t left = read_host(host, now_ns, room, room_size);
	give_back(host, lent);
	if (host->reader)
		ask_clock(host, wall_ns);
	if (host->tee)
		fleet_tee_flush(host->tee);
	return left;
}
