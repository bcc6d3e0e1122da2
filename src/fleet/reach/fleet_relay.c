#include "src/fleet/reach/fleet_relay.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"

/* READ_MAX: in one step; what is left waits there. */
enum { READ_SIZE = FLEET_FRAME_MAX, READ_MAX = 1 << 20, OUT_MAX = 1 << 20, SKIP_MAX = 64 * 1024 };
/* ssh gives up after 5 s (ConnectTimeout). A relay writes each second. */
#define START_MAX_NS (8 * NS_PER_S)
#define SILENCE_MAX_NS (4 * NS_PER_S)
#define END_MAX_NS NS_PER_S

void fleet_relay_init(struct fleet_relay *relay) { *relay = (struct fleet_relay){ .process = FLEET_PROCESS_INIT }; }

static void fail(struct fleet_relay *relay, const char *reason)
{
	if (relay->state == FLEET_RELAY_FAILED)
		return;
	snprintf(relay->reason, sizeof relay->reason, "%s", reason);
	relay->state = FLEET_RELAY_FAILED;
}

void fleet_relay_start(struct fleet_relay *relay, const char *name, const char *command, int64_t now_ns)
{
	relay->name = name;
	relay->state = FLEET_RELAY_STARTING;
	relay->reason[0] = '\0';
	relay->said = (struct fleet_said){ 0 };
	relay->started_ns = relay->heard_ns = now_ns;
	relay->closed_ns = 0;
	relay->skipped = 0;
	int error = fleet_process_start(&relay->process, command);
	if (error)
		fail(relay, strerror(error));
}

/* -- to the relay -- */

static void flush(struct fleet_relay *relay)
{
	int fd = relay->process.fds[STDIN_FILENO];
	while (fd >= 0 && relay->out.length) {
		ssize_t written = write(fd, relay->out.data, relay->out.length);
		if (written <= 0)
			break;
		buffer_drop(&relay->out, (size_t)written);
	}
	if (relay->out.length > OUT_MAX || relay->out.failed)
		fail(relay, "it does not read what it is sent");
}

void fleet_relay_send(struct fleet_relay *relay, const struct fleet_frame *frame)
{
	if (relay->state != FLEET_RELAY_READY)
		return;
	fleet_frame_write(&relay->out, frame);
	flush(relay);
}

/* -- from the relay -- */

struct reading {
	struct fleet_relay *relay;
	const struct fleet_relay_taker *taker;
	int64_t now_ns;
};

static void take_line(void *context, const char *line)
{
	struct reading *reading = context;
	uint16_t channel;
	uint8_t serial;
	const char *rest = fleet_frame_line(line, &channel, &serial);
	if (rest)
		reading->taker->line(reading->taker->context, channel, serial, rest);
	else
		fleet_said_take(&reading->relay->said, line, strlen(line), reading->now_ns);
}

bool fleet_relay_read_errors(struct fleet_relay *relay, const struct fleet_relay_taker *taker, int64_t now_ns)
{
	return fleet_process_read_errors(&relay->process, take_line, &(struct reading){ relay, taker, now_ns });
}

static void take_hello(struct fleet_relay *relay, const struct fleet_frame *frame)
{
	int version;
	if (frame->kind != FLEET_FRAME_HELLO || !fleet_frame_number(frame, &version))
		fail(relay, "its output is no stream of a relay");
	else if (version != FLEET_FRAME_VERSION)
		fail(relay, "pmtop there has another version: install the version of this machine");
	else
		relay->state = FLEET_RELAY_READY;
}

static void take_frame(const struct reading *reading, const struct fleet_frame *frame)
{
	struct fleet_relay *relay = reading->relay;
	if (relay->state == FLEET_RELAY_STARTING)
		take_hello(relay, frame);
	else if (frame->kind == FLEET_FRAME_BEAT)
		return;
	else if (frame->kind != FLEET_FRAME_DATA && frame->kind != FLEET_FRAME_ENDED)
		fail(relay, "it sends damaged frames");
	else if (!reading->taker->frame(reading->taker->context, frame))
		fail(relay, "it sends the stream of a host that it was not asked for");
}

static void take_frames(const struct reading *reading)
{
	struct fleet_relay *relay = reading->relay;
	size_t at = 0;
	struct fleet_frame frame;
	enum fleet_frame_found found = FLEET_FRAME_FOUND;
	while (relay->state != FLEET_RELAY_FAILED && found == FLEET_FRAME_FOUND && at < relay->in.length) {
		if (relay->state == FLEET_RELAY_STARTING) {
			size_t skipped = fleet_frame_skip(relay->in.data + at, relay->in.length - at);
			at += skipped;
			relay->skipped += skipped;
		}
		found = fleet_frame_read(relay->in.data + at, relay->in.length - at, &frame);
		if (found != FLEET_FRAME_FOUND)
			break;
		at += FLEET_FRAME_HEAD + frame.length;
		relay->head_bytes += FLEET_FRAME_HEAD;
		take_frame(reading, &frame);
	}
	buffer_drop(&relay->in, at);
	if (found == FLEET_FRAME_DAMAGED)
		fail(relay, "it sends damaged frames");
	if (relay->skipped > SKIP_MAX)
		fail(relay, "its output is no stream of a relay");
}

static void read_frames(const struct reading *reading)
{
	struct fleet_relay *relay = reading->relay;
	for (size_t taken = 0; taken < READ_MAX && relay->state != FLEET_RELAY_FAILED;) {
		if (!buffer_reserve(&relay->in, READ_SIZE)) {
			fail(relay, "out of memory");
			return;
		}
		ssize_t length = read(relay->process.fds[STDOUT_FILENO], relay->in.data + relay->in.length, READ_SIZE);
		if (length < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (length <= 0) {
			fleet_process_close_output(&relay->process);
			relay->closed_ns = reading->now_ns;
			return;
		}
		relay->in.length += (size_t)length;
		taken += (size_t)length;
		relay->heard_ns = reading->now_ns;
		take_frames(reading);
	}
}

/* -- its end -- */

static void explain_end(struct fleet_relay *relay)
{
	int status = 0;
	bool is_reaped = fleet_process_reap(&relay->process, &status);
	char reason[FLEET_RELAY_REASON_SIZE];
	fleet_said_explain(&relay->said, is_reaped ? status : -1, reason, sizeof reason);
	fail(relay, is_reaped && status == 0 ? "it has ended" : reason);
}

void fleet_relay_step(struct fleet_relay *relay, const struct fleet_relay_taker *taker, int64_t now_ns)
{
	struct reading reading = { relay, taker, now_ns };
	char reason[48];
	if (relay->state != FLEET_RELAY_STARTING && relay->state != FLEET_RELAY_READY)
		return;
	fleet_relay_read_errors(relay, taker, now_ns);
	if (relay->process.fds[STDOUT_FILENO] >= 0)
		read_frames(&reading);
	flush(relay);
	if (relay->closed_ns) {
		if (fleet_process_has_ended(&relay->process) || now_ns - relay->closed_ns > END_MAX_NS) {
			fleet_relay_read_errors(relay, taker, now_ns);
			explain_end(relay);
		}
		return;
	}
	int64_t silent_ns = now_ns - relay->heard_ns;
	if (silent_ns > (relay->state == FLEET_RELAY_STARTING ? START_MAX_NS : SILENCE_MAX_NS)) {
		snprintf(reason, sizeof reason, "no answer for %.0f s", seconds_between(relay->heard_ns, now_ns));
		fail(relay, reason);
	}
}

static pid_t end(struct fleet_relay *relay, int signal_number)
{
	pid_t pid = fleet_process_detach(&relay->process);
	if (pid)
		kill(-pid, signal_number);
	buffer_clear(&relay->in);
	buffer_clear(&relay->out);
	relay->state = FLEET_RELAY_NONE;
	return pid;
}

pid_t fleet_relay_stop(struct fleet_relay *relay) { return end(relay, SIGKILL); }

void fleet_relay_release(struct fleet_relay *relay)
{
	end(relay, SIGTERM);
	buffer_release(&relay->in);
	buffer_release(&relay->out);
}
