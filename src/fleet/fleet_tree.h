/* fleet_tree.h: groups of hosts, of which one reaches the others: the relay. With 1,000 hosts this machine then has 32
 * connections instead of 1,000.
 *
 * A relay that fails loses its hosts: another host of the group becomes the relay; after the second failure this
 * machine reaches the group without one. A host that its relay does not reach is tried without it, too. */
#ifndef PMTOP_FLEET_FLEET_TREE_H
#define PMTOP_FLEET_FLEET_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/fleet/fleet_host.h"
#include "src/fleet/reach/fleet_command.h"

struct fleet_tree;

/* What the tree uses of the fleet. */
struct fleet_tree_with {
	struct fleet_host **hosts;
	size_t count;
	int epoll_fd;
	uint64_t epoll_key; /* of the first group's standard error; the next follow */
	struct sample_set *lent;
	struct fleet_dying *dying;
};

/* *out: NULL if there are no relays; it may be passed to all functions. Frees nothing of `with`. */
enum status fleet_tree_open(
	const struct fleet_way *way, const struct fleet_tree_with *with, struct fleet_tree **out, struct reason *why_not);
void fleet_tree_close(struct fleet_tree *tree);
/* Starts relays, reads what they bring, replaces those that fail. */
void fleet_tree_step(struct fleet_tree *tree, int64_t now_ns);
/* Whether the host can be started now. Sets its relay. */
bool fleet_tree_may_start(struct fleet_tree *tree, size_t host);
/* Standard error of this group's relay is readable: answers for clocks. */
void fleet_tree_answer(struct fleet_tree *tree, size_t group, int64_t now_ns);
/* How many relays work. */
size_t fleet_tree_relays(const struct fleet_tree *tree);
/* Received beside the streams of the hosts. */
uint64_t fleet_tree_bytes(const struct fleet_tree *tree);

#endif
