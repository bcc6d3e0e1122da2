/* fleet_clock.h: how far the monotonic clock of a host is ahead of this machine's.
 *
 * pmtop asks, as NTP does (RFC 5905 section 8): a question leaves at t0, the host receives it at t1 and answers at t2
 * of its own clock, and the answer arrives at t3. The offset lies between t2 − t3 and t1 − t0, whatever the delays are.
 * The bounds of several exchanges are intersected; each widens with its age, by the most that two clocks drift apart.
 * Those with the shortest round trips are retained, as in NTP's clock filter (section 10). The middle is the estimate,
 * half the width the error. A host that does not answer is known only from one side: what it sent at t2 arrived at t3,
 * so its clock is ahead by at least t2 − t3; the error is then unknown.
 *
 * Lines: pmtop writes "clock NUMBER" to the standard input of `pmtop collect --fleet`, which answers on its standard
 * error "clock NUMBER RECEIVED SENT WALL": CLOCK_MONOTONIC at t1 and t2, CLOCK_REALTIME at t2, in nanoseconds. */
#ifndef PMTOP_FLEET_FLEET_CLOCK_H
#define PMTOP_FLEET_FLEET_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLEET_CLOCK_METHODS(X) \
	X(UNKNOWN, "unknown") /* nothing was received yet */ \
	X(ONE_WAY, "one-way") /* the host does not answer: a lower bound */ \
	X(EXCHANGE, "exchange")

enum fleet_clock_method {
#define FLEET_CLOCK_METHOD_ID(id, name) FLEET_CLOCK_##id,
	FLEET_CLOCK_METHODS(FLEET_CLOCK_METHOD_ID)
#undef FLEET_CLOCK_METHOD_ID
};

enum { FLEET_CLOCK_ROWS = 16, FLEET_CLOCK_LINE_SIZE = 32 };

struct fleet_bounds {
	int64_t at_ns, low_ns, high_ns; /* at_ns: of this machine's clock */
};

struct fleet_clock {
	uint32_t number; /* of the newest question */
	bool is_asked;   /* it has no answer yet */
	int64_t asked_ns, due_ns;
	uint64_t answers;
	unsigned row_count;
	struct fleet_bounds rows[FLEET_CLOCK_ROWS]; /* oldest first */
	int64_t wall_ns;                            /* of the host: CLOCK_REALTIME − CLOCK_MONOTONIC */
	bool has_one_way;
	int64_t one_way_ns, one_way_at_ns;
};

struct fleet_offset {
	enum fleet_clock_method method;
	int64_t ahead_ns; /* the host's CLOCK_MONOTONIC − this machine's */
	double error_s;   /* NAN = unknown */
	double wall_s;    /* the host's CLOCK_REALTIME − this machine's; NAN = unknown */
};

const char *fleet_clock_method_name(enum fleet_clock_method method);
/* Writes the next question, with its newline, if one is due; false: none is. */
bool fleet_clock_ask(struct fleet_clock *clock, int64_t now_ns, char out[FLEET_CLOCK_LINE_SIZE]);
/* Takes a line of the host's standard error, without its newline. False: it is no answer. */
bool fleet_clock_answer(struct fleet_clock *clock, const char *line, int64_t now_ns);
/* Samples that the host took at `host_ns` of its clock have arrived. */
void fleet_clock_heard(struct fleet_clock *clock, int64_t host_ns, int64_t now_ns);
/* wall_ns: of this machine, CLOCK_REALTIME − CLOCK_MONOTONIC. */
struct fleet_offset fleet_clock_offset(const struct fleet_clock *clock, int64_t now_ns, int64_t wall_ns);
/* The other line that pmtop writes: the host then sends a complete dictionary. */
#define FLEET_ASK_DICTIONARY "dictionary\n"
bool fleet_clock_is_dictionary(const char *line);
/* The host's side: answers the question in `line` (without its newline). False: it is none. */
bool fleet_clock_reply(const char *line, int64_t received_ns, int64_t sent_ns, int64_t wall_ns, char *out, size_t size);

#endif
