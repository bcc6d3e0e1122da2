#include "src/fleet/reach/fleet_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "src/base/clock.h"
#include "src/fleet/reach/fleet_frame.h"
#include "src/fleet/reach/fleet_process.h"

/* OUT_MAX, LINES_MAX: with more, processes are not read. ROOM_SIZE: of each in turn, so that none takes all. */
enum { OUT_MAX = 1 << 20, LINES_MAX = 256 * 1024, ROOM_SIZE = 8 * 1024, READ_SIZE = FLEET_FRAME_MAX };
enum { IN_FD, OUT_FD, LINES_FD, SIGNAL_FD, FIRST_FD };
#define BEAT_NS NS_PER_S
#define END_MAX_NS NS_PER_S
#define END_POLL_MS 20

struct channel {
	bool is_used;
	uint16_t number;
	uint8_t serial;
	int64_t closed_ns; /* its output; 0 = open */
	struct fleet_process process;
	struct serve *serve;
};

struct serve {
	size_t count; /* of the channels that were ever used: the first */
	struct channel channels[FLEET_CHANNELS_MAX];
	struct pollfd fds[FIRST_FD + 2 * FLEET_CHANNELS_MAX];
	struct buffer in, out, lines;
	struct fleet_dying dying;
	int64_t beat_ns;
	bool has_ended;
	char room[ROOM_SIZE];
};

/* -- to pmtop fleet -- */

static void add_frame(
	struct serve *serve, enum fleet_frame_kind kind, const struct channel *channel, const char *payload, size_t length)
{
	fleet_frame_write(&serve->out,
		&(struct fleet_frame){ .kind = kind,
			.serial = channel ? channel->serial : 0,
			.channel = channel ? channel->number : 0,
			.length = length,
			.payload = payload });
}

static void add_number(struct serve *serve, enum fleet_frame_kind kind, const struct channel *channel, int number)
{
	char digits[16];
	snprintf(digits, sizeof digits, "%d", number);
	add_frame(serve, kind, channel, digits, strlen(digits));
}

static void flush(struct serve *serve, struct buffer *buffer, int fd)
{
	size_t done = 0;
	while (done < buffer->length) {
		ssize_t written = write(fd, buffer->data + done, buffer->length - done);
		serve->has_ended |= written < 0 && errno != EAGAIN && errno != EINTR;
		if (written <= 0)
			break;
		done += (size_t)written;
	}
	buffer_drop(buffer, done);
}

static void add_line(void *context, const char *line)
{
	const struct channel *channel = context;
	buffer_printf(&channel->serve->lines, "@%u.%u %s\n", channel->number, channel->serial, line);
}

/* -- processes -- */

static void stop(struct serve *serve, struct channel *channel, int signal_number)
{
	if (!channel->is_used)
		return;
	pid_t pid = fleet_process_detach(&channel->process);
	if (pid)
		kill(-pid, signal_number);
	fleet_dying_add(&serve->dying, pid);
	channel->is_used = false;
}

/* With its status, if it has exited. */
static void end(struct serve *serve, struct channel *channel)
{
	int status;
	fleet_process_read_errors(&channel->process, add_line, channel);
	bool has_exited = fleet_process_reap(&channel->process, &status);
	flush(serve, &serve->lines, STDERR_FILENO);
	if (has_exited)
		add_number(serve, FLEET_FRAME_ENDED, channel, status);
	else
		add_frame(serve, FLEET_FRAME_ENDED, channel, NULL, 0);
	stop(serve, channel, SIGKILL);
}

static void start(struct serve *serve, const struct fleet_frame *frame)
{
	struct channel *channel = &serve->channels[frame->channel];
	stop(serve, channel, SIGKILL);
	char *command = strndup(frame->payload, frame->length);
	*channel = (struct channel){ .number = frame->channel, .serial = frame->serial, .serve = serve };
	int error = command ? fleet_process_start(&channel->process, command) : ENOMEM;
	free(command);
	channel->is_used = !error;
	serve->count = frame->channel >= serve->count ? frame->channel + 1u : serve->count;
	if (!error)
		return;
	buffer_printf(
		&serve->lines, "@%u.%u its process was not started: %s\n", channel->number, channel->serial, strerror(error));
	add_number(serve, FLEET_FRAME_ENDED, channel, W_EXITCODE(EXIT_FAILURE, 0));
}

static void read_channel(struct serve *serve, struct channel *channel, int64_t now_ns)
{
	ssize_t length = read(channel->process.fds[STDOUT_FILENO], serve->room, sizeof serve->room);
	if (length > 0) {
		add_frame(serve, FLEET_FRAME_DATA, channel, serve->room, (size_t)length);
	} else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
		fleet_process_close_output(&channel->process);
		channel->closed_ns = now_ns;
	}
}

/* -- from pmtop fleet -- */

static void obey(struct serve *serve, const struct fleet_frame *frame)
{
	struct channel *channel = &serve->channels[frame->channel];
	bool is_current = channel->is_used && channel->serial == frame->serial;
	if (frame->kind == FLEET_FRAME_START)
		start(serve, frame);
	else if (frame->kind == FLEET_FRAME_STOP && is_current)
		stop(serve, channel, SIGKILL);
	else if (frame->kind == FLEET_FRAME_INPUT && is_current)
		fleet_process_write(&channel->process, frame->payload, frame->length);
}

static void read_input(struct serve *serve)
{
	size_t at = 0;
	struct fleet_frame frame;
	if (!buffer_reserve(&serve->in, READ_SIZE))
		return;
	ssize_t length = read(STDIN_FILENO, serve->in.data + serve->in.length, READ_SIZE);
	serve->has_ended |= length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR);
	serve->in.length += length > 0 ? (size_t)length : 0;
	while (at < serve->in.length && !serve->has_ended) {
		enum fleet_frame_found found = fleet_frame_read(serve->in.data + at, serve->in.length - at, &frame);
		if (found == FLEET_FRAME_PART)
			break;
		serve->has_ended = found == FLEET_FRAME_DAMAGED || frame.channel >= FLEET_CHANNELS_MAX;
		if (serve->has_ended)
			break;
		obey(serve, &frame);
		at += FLEET_FRAME_HEAD + frame.length;
	}
	buffer_drop(&serve->in, at);
}

/* -- the loop -- */

/* −1 is not polled. */
static int wait_for_work(struct serve *serve, int signal_fd, int64_t now_ns)
{
	bool reads = serve->out.length < OUT_MAX, is_ending = false;
	serve->fds[IN_FD] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	serve->fds[OUT_FD] = (struct pollfd){ .fd = STDOUT_FILENO, .events = serve->out.length ? POLLOUT : 0 };
	serve->fds[LINES_FD] = (struct pollfd){ .fd = serve->lines.length ? STDERR_FILENO : -1, .events = POLLOUT };
	serve->fds[SIGNAL_FD] = (struct pollfd){ .fd = signal_fd, .events = POLLIN };
	for (size_t i = 0; i < serve->count; i++) {
		const struct channel *channel = &serve->channels[i];
		bool is_read = channel->is_used && reads, has_lines = channel->is_used && serve->lines.length < LINES_MAX;
		struct pollfd *fds = &serve->fds[FIRST_FD + 2 * i];
		fds[0] = (struct pollfd){ .fd = is_read ? channel->process.fds[STDOUT_FILENO] : -1, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = has_lines ? channel->process.fds[STDERR_FILENO] : -1, .events = POLLIN };
		is_ending |= channel->is_used && channel->closed_ns;
	}
	int64_t left_ms = (serve->beat_ns - now_ns) / NS_PER_MS + 1;
	return poll(serve->fds, (nfds_t)(FIRST_FD + 2 * serve->count),
		is_ending         ? END_POLL_MS
			: left_ms > 0 ? (int)left_ms
						  : 0);
}

static void answer_channels(struct serve *serve, int64_t now_ns)
{
	/* Clocks first: their answers lose worth with each microsecond. */
	for (size_t i = 0; i < serve->count; i++)
		if (serve->fds[FIRST_FD + 2 * i + 1].revents)
			fleet_process_read_errors(&serve->channels[i].process, add_line, &serve->channels[i]);
	flush(serve, &serve->lines, STDERR_FILENO);
	for (size_t i = 0; i < serve->count; i++) {
		struct channel *channel = &serve->channels[i];
		if (serve->fds[FIRST_FD + 2 * i].revents)
			read_channel(serve, channel, now_ns);
		if (channel->is_used && channel->closed_ns &&
			(fleet_process_has_ended(&channel->process) || now_ns - channel->closed_ns > END_MAX_NS))
			end(serve, channel);
	}
}

static void step(struct serve *serve, int signal_fd)
{
	int ready = wait_for_work(serve, signal_fd, clock_monotonic_ns());
	int64_t now_ns = clock_monotonic_ns();
	if (ready < 0 && errno != EINTR)
		serve->has_ended = true;
	/* Also without news: processes that have closed their output may have exited. */
	if (ready >= 0)
		answer_channels(serve, now_ns);
	if (ready > 0) {
		if (serve->fds[IN_FD].revents)
			read_input(serve);
		serve->has_ended |= serve->fds[SIGNAL_FD].revents || serve->fds[OUT_FD].revents & (POLLERR | POLLNVAL);
	}
	if (now_ns >= serve->beat_ns) {
		serve->beat_ns = now_ns + BEAT_NS;
		if (serve->out.length < OUT_MAX)
			add_frame(serve, FLEET_FRAME_BEAT, NULL, NULL, 0);
	}
	flush(serve, &serve->out, STDOUT_FILENO);
	fleet_dying_reap(&serve->dying);
}

bool fleet_serve(int signal_fd)
{
	struct serve *serve = calloc(1, sizeof *serve);
	if (!serve)
		return false;
	/* More than the limit are no descriptors for poll() either. */
	fleet_process_raise_limit(FLEET_CHANNELS_MAX);
	signal(SIGPIPE, SIG_IGN);
	/* As in fleet_open: nobody could answer. */
	setenv("SSH_ASKPASS_REQUIRE", "never", 0);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	add_number(serve, FLEET_FRAME_HELLO, NULL, FLEET_FRAME_VERSION);
	flush(serve, &serve->out, STDOUT_FILENO);
	while (!serve->has_ended && !serve->out.failed && !serve->lines.failed && !serve->in.failed)
		step(serve, signal_fd);
	bool is_good = serve->has_ended;
	for (size_t i = 0; i < serve->count; i++)
		stop(serve, &serve->channels[i], SIGTERM);
	buffer_release(&serve->in);
	buffer_release(&serve->out);
	buffer_release(&serve->lines);
	fleet_dying_release(&serve->dying);
	free(serve);
	return is_good;
}
