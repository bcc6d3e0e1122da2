/* fleet_command.h: the command lines, for sh, that start `pmtop collect` on a host. */
#ifndef PMTOP_FLEET_REACH_FLEET_COMMAND_H
#define PMTOP_FLEET_REACH_FLEET_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/status.h"

struct fleet_way {
	const char *ssh;     /* "ssh -p 2222"; NULL = "ssh" */
	const char *srun;    /* a job's number; NULL: not by srun */
	const char *exec;    /* a template in which {} stands for the host; NULL: not by one */
	const char *program; /* pmtop there; NULL = "pmtop" */
	const char *run;     /* -s there; NULL: not by name */
	int pid;             /* -p there; 0: pmtop chooses the run */
	double period_s;
	unsigned fan_out; /* hosts a relay, with its own; 0 = automatic, 1 = no relays */
};

enum { FLEET_COMMAND_SIZE = 4096 };

/* Checks a host's name, and the way. STATUS_INVALID: the reason says what is wrong. */
enum status fleet_command_line(
	const struct fleet_way *way, const char *host, char out[FLEET_COMMAND_SIZE], struct reason *why_not);
/* The same for a relay on this host. */
enum status fleet_command_relay(
	const struct fleet_way *way, const char *host, char out[FLEET_COMMAND_SIZE], struct reason *why_not);
/* What a relay runs for the host that it is on. */
enum status fleet_command_own(const struct fleet_way *way, char out[FLEET_COMMAND_SIZE], struct reason *why_not);
/* Hosts a relay, of so many; 1: no relays. */
unsigned fleet_command_fan_out(const struct fleet_way *way, size_t hosts);
/* The program that the way needs on this machine, such as "ssh"; NULL: none but sh. */
const char *fleet_command_needs(const struct fleet_way *way);

#endif
