/* fleet.h: `pmtop fleet`: many hosts, each with a process that brings the stream of `pmtop collect --fleet` (over ssh,
 * srun or any command), of this machine or of a relay (fleet_tree.h). Main thread only; no call waits.
 *
 *   hosts: streams → ranks (fleet_host.h, fleet_rank.h) → fleet_view: one row a rank, compared with all others */
#ifndef PMTOP_FLEET_FLEET_H
#define PMTOP_FLEET_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"
#include "src/fleet/reach/fleet_command.h"
#include "src/fleet/fleet_host.h"

enum { FLEET_HOSTS_MAX = 4096 };

struct fleet;

/* What the fleet costs on this machine. NAN: not measured yet. */
struct fleet_self {
	double cpu_ratio, resident_bytes, bytes_per_s;
	size_t relays; /* that work */
};

/* Nothing is started before the first step. */
enum status fleet_open(
	const struct fleet_way *way, char *const *names, size_t count, struct fleet **out, struct reason *why_not);
void fleet_close(struct fleet *fleet);
/* Starts what is due, reads all streams. To be called about four times a second. */
void fleet_step(struct fleet *fleet, int64_t now_ns, int64_t wall_ns);
/* Readable when a host has answered; fleet_answer then takes what came, at once, for the clocks. */
int fleet_fd(const struct fleet *fleet);
void fleet_answer(struct fleet *fleet);
size_t fleet_hosts(const struct fleet *fleet, struct fleet_host *const **out);
/* Whether each host has sent samples, or has failed once. */
bool fleet_has_heard(const struct fleet *fleet);
struct fleet_self fleet_self(const struct fleet *fleet);

#endif
