/* fleet_said.h: which line of a host's standard error says why its process ended, and what a person can do about it.
 *
 * ssh, srun and kubectl write more than one line: a banner, the cause, then what follows from it. */
#ifndef PMTOP_FLEET_REACH_FLEET_SAID_H
#define PMTOP_FLEET_REACH_FLEET_SAID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FLEET_LINE_SIZE = 256 };

struct fleet_said {
	char text[FLEET_LINE_SIZE]; /* "" = nothing */
	int weight;                 /* private */
	int64_t at_ns;              /* private */
};

/* Retains the line unless the one that it has, not 5 s older, says more. */
void fleet_said_take(struct fleet_said *said, const char *line, size_t length, int64_t now_ns);
/* What to do about it; NULL = unknown. status: of the process that has exited; −1 = unknown. */
const char *fleet_said_advice(const struct fleet_said *said, int status);
/* Why its process ended: what it said, with the advice, else its status, as waitpid(2) has it; −1 = unknown. */
void fleet_said_explain(const struct fleet_said *said, int status, char *out, size_t size);
/* Whether the host refused the login: each further try counts against the user there. */
bool fleet_said_is_refusal(const struct fleet_said *said);
/* Whether pmtop itself said it: then its host was reached. */
bool fleet_said_by_pmtop(const struct fleet_said *said);

#endif
