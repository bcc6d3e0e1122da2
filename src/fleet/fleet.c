#include "src/fleet/fleet.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/fleet/fleet_tree.h"

/* STARTS_MAX: hosts that start at the same time. HOSTS_A_TURN: after reading so many, answers about clocks are taken.
 */
enum { ROOM_SIZE = 8 * 1024, STARTS_MAX = 64, HOSTS_A_TURN = 8, EVENTS_MAX = 64 };
#define MEASURE_NS (2 * NS_PER_S)

struct fleet {
	size_t count;
	struct fleet_host **hosts;
	int epoll_fd;
	struct sample_set lent;
	char *room;
	struct fleet_tree *tree; /* NULL: no relays */
	struct fleet_dying dying;
	int64_t measured_ns, cpu_ns;
	uint64_t bytes;
	struct fleet_self self;
};

/* The command that starts a relay on the host, if there are relays. */
static enum status add_relay_line(
	const struct fleet_way *way, const char *name, size_t hosts, char **out, struct reason *why_not)
{
	char command[FLEET_COMMAND_SIZE];
	enum status status = STATUS_OK;
	if (fleet_command_fan_out(way, hosts) > 1)
		status = fleet_command_relay(way, name, command, why_not);
	if (status == STATUS_OK && fleet_command_fan_out(way, hosts) > 1)
		*out = strdup(command);
	return status;
}

static enum status add_host(
	struct fleet *fleet, const struct fleet_way *way, const char *name, size_t hosts, struct reason *why_not)
{
	char command[FLEET_COMMAND_SIZE];
	enum status status = fleet_command_line(way, name, command, why_not);
	if (status != STATUS_OK)
		return status;
	struct fleet_host *host = malloc(sizeof *host);
	char *copy = host ? strdup(command) : NULL;
	if (!copy) {
		free(host);
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	}
	fleet_host_init(host, name, copy, (int64_t)(way->period_s * (double)NS_PER_S));
	fleet->hosts[fleet->count++] = host;
	return add_relay_line(way, name, hosts, &host->relay_line, why_not);
}

static enum status open_tree(struct fleet *fleet, const struct fleet_way *way, struct reason *why_not)
{
	struct fleet_tree_with with = { .hosts = fleet->hosts,
		.count = fleet->count,
		.epoll_fd = fleet->epoll_fd,
		.epoll_key = fleet->count,
		.lent = &fleet->lent,
		.dying = &fleet->dying };
	return fleet_tree_open(way, &with, &fleet->tree, why_not);
}

enum status fleet_open(
	const struct fleet_way *way, char *const *names, size_t count, struct fleet **out, struct reason *why_not)
{
	if (count > FLEET_HOSTS_MAX)
		return reason_set(why_not, STATUS_INVALID, NULL, "%zu hosts are too many: at most %d", count, FLEET_HOSTS_MAX);
	struct fleet *fleet = calloc(1, sizeof *fleet);
	if (!fleet)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	fleet->hosts = calloc(count, sizeof *fleet->hosts);
	fleet->room = malloc(ROOM_SIZE);
	fleet->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	fleet->self = (struct fleet_self){ NAN, NAN, NAN, 0 };
	enum status status = fleet->hosts && fleet->room && fleet->epoll_fd >= 0
		? STATUS_OK
		: reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	for (size_t i = 0; i < count && status == STATUS_OK; i++)
		status = add_host(fleet, way, names[i], count, why_not);
	if (status == STATUS_OK)
		status = open_tree(fleet, way, why_not);
	if (status != STATUS_OK) {
		fleet_close(fleet);
		return status;
	}
	fleet_process_raise_limit(count);
	/* Without a terminal ssh would ask in a window, for each host one. */
	setenv("SSH_ASKPASS_REQUIRE", "never", 0);
	/* A host that is gone is noticed by its output. */
	signal(SIGPIPE, SIG_IGN);
	*out = fleet;
	return STATUS_OK;
}

void fleet_close(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->count; i++) {
		fleet_host_release(fleet->hosts[i]);
		free(fleet->hosts[i]);
	}
	fleet_tree_close(fleet->tree);
	if (fleet->epoll_fd >= 0)
		close(fleet->epoll_fd);
	sample_set_release(&fleet->lent);
	free(fleet->hosts);
	free(fleet->room);
	fleet_dying_release(&fleet->dying);
	free(fleet);
}

/* -- processes -- */

static void start_due(struct fleet *fleet, int64_t now_ns)
{
	size_t starting = 0;
	for (size_t i = 0; i < fleet->count; i++)
		starting += fleet->hosts[i]->state == FLEET_HOST_STARTING && !fleet->hosts[i]->relay;
	for (size_t i = 0; i < fleet->count; i++) {
		struct fleet_host *host = fleet->hosts[i];
		bool is_due =
			host->state == FLEET_HOST_WAITING || (host->state == FLEET_HOST_ENDED && now_ns >= host->retry_ns);
		if (!is_due || !fleet_tree_may_start(fleet->tree, i) || (!host->relay && starting >= STARTS_MAX))
			continue;
		fleet_host_start(host, now_ns);
		starting += !host->relay;
		if (host->process.fds[STDERR_FILENO] >= 0)
			epoll_ctl(fleet->epoll_fd, EPOLL_CTL_ADD, host->process.fds[STDERR_FILENO],
				&(struct epoll_event){ .events = EPOLLIN, .data.u64 = i });
	}
}

/* -- a step -- */

static double resident_bytes(void)
{
	char text[128];
	size_t length;
	unsigned long long pages;
	bool is_read = file_read(AT_FDCWD, "/proc/self/statm", text, sizeof text, &length) == STATUS_OK &&
		sscanf(text, "%*u %llu", &pages) == 1;
	return is_read ? (double)pages * (double)sysconf(_SC_PAGESIZE) : (double)NAN;
}

static void measure(struct fleet *fleet, int64_t now_ns)
{
	if (fleet->measured_ns && now_ns - fleet->measured_ns < MEASURE_NS)
		return;
	int64_t cpu_ns = clock_process_cpu_ns();
	uint64_t bytes = fleet_tree_bytes(fleet->tree);
	for (size_t i = 0; i < fleet->count; i++)
		bytes += fleet->hosts[i]->bytes;
	if (fleet->measured_ns) {
		double seconds = seconds_between(fleet->measured_ns, now_ns);
		fleet->self.cpu_ratio = seconds_between(fleet->cpu_ns, cpu_ns) / seconds;
		fleet->self.bytes_per_s = (double)(bytes - fleet->bytes) / seconds;
	}
	fleet->self.resident_bytes = resident_bytes();
	fleet->measured_ns = now_ns;
	fleet->cpu_ns = cpu_ns;
	fleet->bytes = bytes;
}

void fleet_step(struct fleet *fleet, int64_t now_ns, int64_t wall_ns)
{
	fleet_dying_reap(&fleet->dying);
	fleet_tree_step(fleet->tree, now_ns);
	start_due(fleet, now_ns);
	for (size_t i = 0; i < fleet->count; i++) {
		fleet_dying_add(
			&fleet->dying, fleet_host_step(fleet->hosts[i], now_ns, wall_ns, &fleet->lent, fleet->room, ROOM_SIZE));
		if (i % HOSTS_A_TURN == HOSTS_A_TURN - 1)
			fleet_answer(fleet);
	}
	measure(fleet, now_ns);
}

int fleet_fd(const struct fleet *fleet) { return fleet->epoll_fd; }

void fleet_answer(struct fleet *fleet)
{
	struct epoll_event events[EVENTS_MAX];
	int count = epoll_wait(fleet->epoll_fd, events, EVENTS_MAX, 0);
	int64_t now_ns = clock_monotonic_ns();
	for (int i = 0; i < count; i++) {
		if (events[i].data.u64 >= fleet->count) {
			fleet_tree_answer(fleet->tree, (size_t)events[i].data.u64 - fleet->count, now_ns);
			continue;
		}
		struct fleet_host *host = fleet->hosts[events[i].data.u64];
		int fd = host->process.fds[STDERR_FILENO];
		/* What it writes is then read in each step only. */
		if (!fleet_host_read_errors(host, now_ns) && host->process.fds[STDERR_FILENO] >= 0)
			epoll_ctl(fleet->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	}
}

size_t fleet_hosts(const struct fleet *fleet, struct fleet_host *const **out)
{
	*out = fleet->hosts;
	return fleet->count;
}

bool fleet_has_heard(const struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->count; i++) {
		const struct fleet_host *host = fleet->hosts[i];
		if (host->state == FLEET_HOST_WAITING || (host->state == FLEET_HOST_STARTING && host->starts == 1))
			return false;
	}
	return true;
}

struct fleet_self fleet_self(const struct fleet *fleet)
{
	struct fleet_self self = fleet->self;
	self.relays = fleet_tree_relays(fleet->tree);
	return self;
}
