/* fleet_stream: stands in for `pmtop collect --fleet` on a host: the stream of one synthetic rank, two readings a
 * second, and the answers about its clock.
 *
 *   fleet_stream RANK [WORLD_SIZE [CLOCK_AHEAD_S [FAULT]]]
 *
 * FAULT: hang (stops in the middle of a block after two seconds), garbage (a line of a gigabyte without an end),
 * version (a header with features that nobody knows), silent (never sends a byte), exit (says why and exits with 3),
 * jump (its times are a day ahead after two seconds). */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/fleet/fleet_clock.h"
#include "src/samples/stream.h"
#include "src/samples/stream_write.h"
#include "src/sources/synthetic/synthetic.h"

enum { TICK_MS = 500, FAULT_TICKS = 4 };

struct host {
	long rank, world_size;
	int64_t ahead_ns;
	const char *fault;
	struct synthetic *run;
	struct stream_writer writer;
	struct buffer out;
	unsigned ticks;
};

static int64_t host_ns(const struct host *host) { return clock_monotonic_ns() + host->ahead_ns; }

static bool has_fault(const struct host *host, const char *name)
{
	return strcmp(host->fault, name) == 0 && host->ticks >= FAULT_TICKS;
}

static void flush(struct host *host)
{
	for (size_t done = 0; done < host->out.length;) {
		ssize_t written = write(STDOUT_FILENO, host->out.data + done, host->out.length - done);
		if (written <= 0)
			exit(0);
		done += (size_t)written;
	}
	buffer_clear(&host->out);
}

static void answer(const struct host *host)
{
	char line[64] = "", reply[128];
	int64_t received_ns = host_ns(host);
	ssize_t length = read(STDIN_FILENO, line, sizeof line - 1);
	if (length <= 0)
		exit(0);
	if (fleet_clock_reply(
			line, received_ns, host_ns(host), clock_realtime_ns() + host->ahead_ns, reply, sizeof reply) &&
		write(STDERR_FILENO, reply, strlen(reply)) < 0)
		exit(0);
}

static void add_meta(struct sample_set *set, const char *key, long value)
{
	char text[24];
	struct record *record = sample_set_add(set, RECORD_META, 0, set->time_ns);
	int length = snprintf(text, sizeof text, "%ld", value);
	record->meta.key = key;
	record->meta.value = sample_set_text(set, text, (size_t)length);
}

static void begin(struct host *host, int64_t now_ns)
{
	char uuid[40];
	struct reason why = { "", "" };
	struct stream_header header = { .pid = SYNTHETIC_PID,
		.incompatible = strcmp(host->fault, "version") == 0,
		.monotonic_ns = now_ns,
		.realtime_ns = clock_realtime_ns() + host->ahead_ns,
		.version = "stand-in",
		.command = "synthetic" };
	struct sample_set set = SAMPLE_SET_INIT;
	snprintf(header.host, sizeof header.host, "machine-%ld", host->rank);
	snprintf(uuid, sizeof uuid, "%032lx", host->rank);
	memcpy(header.uuid, uuid + 16, sizeof header.uuid);
	if (synthetic_new(host->rank == 13 ? "slow-worker" : "clean", now_ns, &host->run, &why) != STATUS_OK &&
		synthetic_new("clean", now_ns, &host->run, &why) != STATUS_OK)
		exit(1);
	set.time_ns = now_ns;
	synthetic_emit(host->run, now_ns, &set);
	for (size_t i = 0; i < set.count; i++)
		if (set.records[i].kind == RECORD_RUN_OPENED)
			set.records[i].opened.uuid = sample_set_text(&set, uuid, strlen(uuid));
	add_meta(&set, "RANK", host->rank);
	add_meta(&set, "WORLD_SIZE", host->world_size);
	stream_write_header(&host->writer, &header, &host->out);
	stream_write_set(&host->writer, BLOCK_DICTIONARY, &set, &host->out);
	sample_set_release(&set);
	flush(host);
}

static void tick(struct host *host, int64_t now_ns)
{
	static struct sample_set set;
	sample_set_clear(&set);
	set.time_ns = now_ns;
	synthetic_emit(host->run, now_ns, &set);
	for (size_t i = 0; i < set.count && has_fault(host, "jump"); i++)
		set.records[i].time_ns += 86400 * NS_PER_S;
	stream_write_set(&host->writer, BLOCK_TICK, &set, &host->out);
	if (has_fault(host, "hang")) {
		host->out.length /= 2;
		flush(host);
		for (;;)
			pause();
	}
	flush(host);
	host->ticks++;
}

static void be_hostile(const struct host *host)
{
	static char bytes[1 << 16];
	memset(bytes, 'x', sizeof bytes);
	while (strcmp(host->fault, "garbage") == 0 && write(STDOUT_FILENO, bytes, sizeof bytes) > 0)
		continue;
	while (strcmp(host->fault, "silent") == 0)
		pause();
	if (strcmp(host->fault, "exit") == 0) {
		fputs("pmtop: no training run was found\n", stderr);
		exit(3);
	}
}

int main(int argc, char **argv)
{
	struct host host = { .rank = argc > 1 ? atol(argv[1]) : 0,
		.world_size = argc > 2 ? atol(argv[2]) : 1,
		.ahead_ns = argc > 3 ? (int64_t)(atof(argv[3]) * 1e9) : 0,
		.fault = argc > 4 ? argv[4] : "" };
	be_hostile(&host);
	int64_t due_ns = host_ns(&host);
	begin(&host, due_ns);
	for (;;) {
		struct pollfd ready = { .fd = STDIN_FILENO, .events = POLLIN };
		int64_t now_ns = host_ns(&host);
		if (now_ns >= due_ns) {
			due_ns += TICK_MS * NS_PER_MS;
			tick(&host, now_ns);
		}
		if (poll(&ready, 1, (int)((due_ns - now_ns) / NS_PER_MS) + 1) > 0)
			answer(&host);
	}
}
