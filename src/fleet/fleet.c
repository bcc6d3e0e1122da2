#include "src/fleet/fleet.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"

/* STARTS_MAX: hosts that start at the same time. HOSTS_A_TURN: after reading so many, answers about clocks are taken.
 */
enum { ROOM_SIZE = 8 * 1024, STARTS_MAX = 64, HOSTS_A_TURN = 8, EVENTS_MAX = 64, FDS_A_HOST = 3, FDS_MORE = 64 };
#define MEASURE_NS (2 * NS_PER_S)

struct fleet {
	size_t count;
	struct fleet_host **hosts;
	int epoll_fd;
	struct sample_set lent;
	char *room;
	size_t dying_count, dying_capacity;
	pid_t *dying; /* killed, not reaped yet */
	int64_t measured_ns, cpu_ns;
	uint64_t bytes;
	struct fleet_self self;
};

/* Three pipes a host; the usual limit of 1,024 would do for 340 hosts. */
static void raise_limit(size_t hosts)
{
	struct rlimit limit;
	rlim_t wanted = (rlim_t)(hosts * FDS_A_HOST + FDS_MORE);
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static enum status add_host(struct fleet *fleet, const struct fleet_way *way, const char *name, struct reason *why_not)
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
	return STATUS_OK;
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
	fleet->self = (struct fleet_self){ NAN, NAN, NAN };
	enum status status = fleet->hosts && fleet->room && fleet->epoll_fd >= 0
		? STATUS_OK
		: reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	for (size_t i = 0; i < count && status == STATUS_OK; i++)
		status = add_host(fleet, way, names[i], why_not);
	if (status != STATUS_OK) {
		fleet_close(fleet);
		return status;
	}
	raise_limit(count);
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
	if (fleet->epoll_fd >= 0)
		close(fleet->epoll_fd);
	sample_set_release(&fleet->lent);
	free(fleet->hosts);
	free(fleet->room);
	free(fleet->dying);
	free(fleet);
}

/* -- processes -- */

static void reap_later(struct fleet *fleet, pid_t pid)
{
	if (fleet->dying_count == fleet->dying_capacity) {
		size_t capacity = fleet->dying_capacity ? 2 * fleet->dying_capacity : 16;
		pid_t *dying = realloc(fleet->dying, capacity * sizeof *dying);
		if (!dying)
			return;
		fleet->dying = dying;
		fleet->dying_capacity = capacity;
	}
	fleet->dying[fleet->dying_count++] = pid;
}

static void reap(struct fleet *fleet)
{
	for (size_t i = fleet->dying_count; i-- > 0;)
		if (waitpid(fleet->dying[i], NULL, WNOHANG) != 0)
			fleet->dying[i] = fleet->dying[--fleet->dying_count];
}

static void start_due(struct fleet *fleet, int64_t now_ns)
{
	size_t starting = 0;
	for (size_t i = 0; i < fleet->count; i++)
		starting += fleet->hosts[i]->state == FLEET_HOST_STARTING;
	for (size_t i = 0; i < fleet->count && starting < STARTS_MAX; i++) {
		struct fleet_host *host = fleet->hosts[i];
		bool is_due =
			host->state == FLEET_HOST_WAITING || (host->state == FLEET_HOST_ENDED && now_ns >= host->retry_ns);
		if (!is_due)
			continue;
		fleet_host_start(host, now_ns);
		starting++;
		if (host->fds[STDERR_FILENO] >= 0)
			epoll_ctl(fleet->epoll_fd, EPOLL_CTL_ADD, host->fds[STDERR_FILENO],
				&(struct epoll_event){ .events = EPOLLIN, .data.ptr = host });
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
	uint64_t bytes = 0;
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
	reap(fleet);
	start_due(fleet, now_ns);
	for (size_t i = 0; i < fleet->count; i++) {
		pid_t killed = fleet_host_step(fleet->hosts[i], now_ns, wall_ns, &fleet->lent, fleet->room, ROOM_SIZE);
		if (killed)
			reap_later(fleet, killed);
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
		struct fleet_host *host = events[i].data.ptr;
		int fd = host->fds[STDERR_FILENO];
		/* What it writes is then read in each step only. */
		if (!fleet_host_read_errors(host, now_ns) && host->fds[STDERR_FILENO] >= 0)
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

struct fleet_self fleet_self(const struct fleet *fleet) { return fleet->self; }
