#include "src/fleet/fleet_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/fleet/reach/fleet_relay.h"

/* FAILURES_MAX: then the group is reached without a relay. RELAY_STARTS_MAX, STARTS_MAX: relays, and hosts of a relay,
 * that start at the same time. */
enum { FAILURES_MAX = 2, RELAY_STARTS_MAX = 64, STARTS_MAX = 16, WAKES_MAX = 1024 };
/* A relay that worked for so long has not failed before. */
#define PROVEN_NS (600 * NS_PER_S)
/* Then it is said what the hosts wait for. */
#define PATIENCE_NS (3 * NS_PER_S)

struct fleet_group {
	struct fleet_tree *tree;
	struct fleet_relay relay;
	size_t first, count, at; /* its hosts; the one that relays, of these */
	unsigned failures, wakes;
	int64_t now_ns; /* of the reading in progress */
};

struct fleet_tree {
	struct fleet_tree_with with;
	char own[FLEET_COMMAND_SIZE];
	size_t count;
	struct fleet_group groups[];
};

enum status fleet_tree_open(
	const struct fleet_way *way, const struct fleet_tree_with *with, struct fleet_tree **out, struct reason *why_not)
{
	size_t size = fleet_command_fan_out(way, with->count), count = (with->count + size - 1) / size;
	*out = NULL;
	if (size > FLEET_CHANNELS_MAX)
		return reason_set(why_not, STATUS_INVALID, NULL, "--fan-out: at most %d hosts a relay", FLEET_CHANNELS_MAX);
	if (size < 2)
		return STATUS_OK;
	struct fleet_tree *tree = calloc(1, sizeof *tree + count * sizeof *tree->groups);
	if (!tree)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	*tree = (struct fleet_tree){ .with = *with, .count = count };
	for (size_t i = 0; i < count; i++) {
		struct fleet_group *group = &tree->groups[i];
		*group = (struct fleet_group){ .tree = tree, .first = i * size };
		group->count = with->count - group->first < size ? with->count - group->first : size;
		fleet_relay_init(&group->relay);
		for (size_t k = 0; k < group->count; k++)
			with->hosts[group->first + k]->channel = (uint16_t)k;
	}
	enum status status = fleet_command_own(way, tree->own, why_not);
	if (status != STATUS_OK) {
		fleet_tree_close(tree);
		return status;
	}
	*out = tree;
	return STATUS_OK;
}

void fleet_tree_close(struct fleet_tree *tree)
{
	for (size_t i = 0; tree && i < tree->count; i++)
		fleet_relay_release(&tree->groups[i].relay);
	free(tree);
}

static struct fleet_host *host_of(const struct fleet_group *group, size_t channel)
{
	return channel < group->count ? group->tree->with.hosts[group->first + channel] : NULL;
}

/* A group of one has nobody to relay for. */
static bool has_relay(const struct fleet_group *group) { return group->count > 1 && group->failures < FAILURES_MAX; }

/* -- what relays bring -- */

static bool is_current(const struct fleet_group *group, const struct fleet_host *host, uint8_t serial)
{
	return host->relay == &group->relay && host->serial == serial;
}

static bool take_frame(void *context, const struct fleet_frame *frame)
{
	struct fleet_group *group = context;
	struct fleet_host *host = host_of(group, frame->channel);
	int status;
	if (!host || !host->starts)
		return false;
	if (!is_current(group, host, frame->serial))
		return true;
	if (frame->kind == FLEET_FRAME_DATA)
		fleet_host_take(host, frame->payload, frame->length, group->now_ns, group->tree->with.lent);
	else
		fleet_host_take_end(host, fleet_frame_number(frame, &status) ? status : -1, group->now_ns);
	return true;
}

static void take_line(void *context, uint16_t channel, uint8_t serial, const char *line)
{
	struct fleet_group *group = context;
	struct fleet_host *host = host_of(group, channel);
	if (host && is_current(group, host, serial))
		fleet_host_take_line(host, line, group->now_ns);
}

static struct fleet_relay_taker taker_of(struct fleet_group *group)
{
	return (struct fleet_relay_taker){ group, take_frame, take_line };
}

void fleet_tree_answer(struct fleet_tree *tree, size_t index, int64_t now_ns)
{
	struct fleet_group *group = &tree->groups[index];
	struct fleet_relay_taker taker = taker_of(group);
	int fd = group->relay.process.fds[STDERR_FILENO];
	group->now_ns = now_ns;
	bool is_empty = fleet_relay_read_errors(&group->relay, &taker, now_ns);
	/* What it writes is then read in each step only. */
	if ((!is_empty || ++group->wakes > WAKES_MAX) && group->relay.process.fds[STDERR_FILENO] >= 0)
		epoll_ctl(tree->with.epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* -- relays come and go -- */

static void start_relay(struct fleet_group *group, int64_t now_ns)
{
	const struct fleet_tree *tree = group->tree;
	const struct fleet_host *host = host_of(group, group->at);
	fleet_relay_start(&group->relay, host->name, host->relay_line ? host->relay_line : "exit 1", now_ns);
	if (group->relay.process.fds[STDERR_FILENO] >= 0)
		epoll_ctl(tree->with.epoll_fd, EPOLL_CTL_ADD, group->relay.process.fds[STDERR_FILENO],
			&(struct epoll_event){
				.events = EPOLLIN, .data.u64 = tree->with.epoll_key + (uint64_t)(group - tree->groups) });
}

/* Whether it is reached through the relay, or waits for it. */
static bool needs_relay(const struct fleet_group *group, const struct fleet_host *host, int64_t now_ns)
{
	return host->relay == &group->relay || host->state == FLEET_HOST_WAITING ||
		(host->state == FLEET_HOST_ENDED && !host->is_direct && now_ns >= host->retry_ns);
}

/* Its hosts have the reason, and go on another way at once. */
static void replace_relay(struct fleet_group *group, int64_t now_ns)
{
	char reason[FLEET_REASON_SIZE];
	bool is_proven = now_ns - group->relay.started_ns > PROVEN_NS;
	snprintf(reason, sizeof reason, "relay %.60s failed: %.110s", group->relay.name, group->relay.reason);
	for (size_t i = 0; i < group->count; i++) {
		struct fleet_host *host = host_of(group, i);
		if (needs_relay(group, host, now_ns))
			fleet_host_lose_relay(host, reason, now_ns);
	}
	fleet_dying_add(group->tree->with.dying, fleet_relay_stop(&group->relay));
	group->failures = is_proven ? 1 : group->failures + 1;
	group->at = (group->at + 1) % group->count;
}

static void note_wait(struct fleet_group *group, int64_t now_ns)
{
	int64_t waited_ns = now_ns - group->relay.started_ns;
	for (size_t i = 0; i < group->count && waited_ns > PATIENCE_NS; i++) {
		struct fleet_host *host = host_of(group, i);
		if (host->state == FLEET_HOST_WAITING)
			snprintf(host->reason, sizeof host->reason, "relay %.60s has not answered for %.0f s", group->relay.name,
				seconds_between(0, waited_ns));
	}
}

static void step_group(struct fleet_group *group, bool may_start, int64_t now_ns)
{
	struct fleet_relay_taker taker = taker_of(group);
	group->now_ns = now_ns;
	group->wakes = 0;
	if (group->relay.state == FLEET_RELAY_NONE && may_start)
		start_relay(group, now_ns);
	fleet_relay_step(&group->relay, &taker, now_ns);
	if (group->relay.state == FLEET_RELAY_FAILED)
		replace_relay(group, now_ns);
	else if (group->relay.state == FLEET_RELAY_STARTING)
		note_wait(group, now_ns);
}

void fleet_tree_step(struct fleet_tree *tree, int64_t now_ns)
{
	size_t starting = 0;
	for (size_t i = 0; tree && i < tree->count; i++)
		if (has_relay(&tree->groups[i])) {
			step_group(&tree->groups[i], starting < RELAY_STARTS_MAX, now_ns);
			starting += tree->groups[i].relay.state == FLEET_RELAY_STARTING;
		}
}

/* -- hosts -- */

static size_t count_starting(const struct fleet_group *group)
{
	size_t starting = 0;
	for (size_t i = 0; i < group->count; i++) {
		const struct fleet_host *host = host_of(group, i);
		starting += host->relay == &group->relay && host->state == FLEET_HOST_STARTING;
	}
	return starting;
}

bool fleet_tree_may_start(struct fleet_tree *tree, size_t index)
{
	if (!tree || tree->with.hosts[index]->is_direct)
		return true;
	struct fleet_host *host = tree->with.hosts[index];
	struct fleet_group *group = &tree->groups[(index - host->channel) / tree->groups[0].count];
	if (!has_relay(group))
		return true;
	if (group->relay.state != FLEET_RELAY_READY || count_starting(group) >= STARTS_MAX)
		return false;
	host->relay = &group->relay;
	host->relay_command = host->channel == group->at ? tree->own : host->command;
	return true;
}

size_t fleet_tree_relays(const struct fleet_tree *tree)
{
	size_t count = 0;
	for (size_t i = 0; tree && i < tree->count; i++)
		count += tree->groups[i].relay.state == FLEET_RELAY_READY;
	return count;
}

uint64_t fleet_tree_bytes(const struct fleet_tree *tree)
{
	uint64_t bytes = 0;
	for (size_t i = 0; tree && i < tree->count; i++)
		bytes += tree->groups[i].relay.head_bytes;
	return bytes;
}
