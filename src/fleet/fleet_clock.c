#include "src/fleet/fleet_clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"

/* The first exchanges come quickly, so that an estimate is there at once, and all while the error is above the goal: on
 * a busy machine few of them are fast. */
enum { QUICK_ANSWERS = 6 };
#define QUICK_NS (300 * NS_PER_MS)
#define BUSY_NS (500 * NS_PER_MS)
#define CALM_NS (5 * NS_PER_S)
#define GOAL_NS (2 * NS_PER_MS)
/* A question without an answer for so long is given up. */
#define LOST_NS (5 * NS_PER_S)
/* Two quartzes of 100 ppm each. A clock that is slewed faster contradicts the older bounds, which are then left out. */
#define DRIFT_PPM 200
#define ONE_WAY_MAX_NS (60 * NS_PER_S)

const char *fleet_clock_method_name(enum fleet_clock_method method)
{
	static const char *const names[] = {
#define FLEET_CLOCK_METHOD_NAME(id, name) [FLEET_CLOCK_##id] = name,
		FLEET_CLOCK_METHODS(FLEET_CLOCK_METHOD_NAME)
#undef FLEET_CLOCK_METHOD_NAME
	};
	return names[method];
}

bool fleet_clock_ask(struct fleet_clock *clock, int64_t now_ns, char out[FLEET_CLOCK_LINE_SIZE])
{
	if (clock->is_asked && now_ns - clock->asked_ns < LOST_NS)
		return false;
	if (!clock->is_asked && now_ns < clock->due_ns)
		return false;
	clock->is_asked = true;
	clock->asked_ns = now_ns;
	snprintf(out, FLEET_CLOCK_LINE_SIZE, "clock %" PRIu32 "\n", ++clock->number);
	return true;
}

/* Far from the limits of int64_t, so that differences cannot overflow. */
static bool is_time(int64_t ns) { return ns > -(INT64_C(1) << 61) && ns < INT64_C(1) << 61; }

/* What the bounds of an exchange are worth at `now_ns`: both clocks may have drifted apart since. */
static struct fleet_bounds widen(const struct fleet_bounds *row, int64_t now_ns)
{
	int64_t age_ns = now_ns > row->at_ns ? now_ns - row->at_ns : 0, drift_ns = age_ns / 1000000 * DRIFT_PPM;
	return (struct fleet_bounds){ row->at_ns, row->low_ns - drift_ns, row->high_ns + drift_ns };
}

/* Newest first, until one contradicts: a clock was set, or the machine was suspended, before the newer ones. */
static struct fleet_bounds intersect(const struct fleet_clock *clock, int64_t now_ns)
{
	struct fleet_bounds all = { now_ns, INT64_MIN, INT64_MAX };
	for (unsigned i = clock->row_count; i-- > 0;) {
		struct fleet_bounds row = widen(&clock->rows[i], now_ns);
		if (row.low_ns > all.high_ns || row.high_ns < all.low_ns)
			break;
		all.low_ns = row.low_ns > all.low_ns ? row.low_ns : all.low_ns;
		all.high_ns = row.high_ns < all.high_ns ? row.high_ns : all.high_ns;
	}
	return all;
}

/* The widest bounds go when there is no room: a fast exchange is worth more than a new one. */
static void add_row(struct fleet_clock *clock, struct fleet_bounds row)
{
	unsigned widest = 0;
	int64_t most_ns = -1;
	for (unsigned i = 0; i < clock->row_count; i++) {
		struct fleet_bounds bounds = widen(&clock->rows[i], row.at_ns);
		if (bounds.high_ns - bounds.low_ns > most_ns) {
			most_ns = bounds.high_ns - bounds.low_ns;
			widest = i;
		}
	}
	if (clock->row_count == FLEET_CLOCK_ROWS)
		memmove(&clock->rows[widest], &clock->rows[widest + 1], (--clock->row_count - widest) * sizeof row);
	clock->rows[clock->row_count++] = row;
}

static int64_t pause_after(const struct fleet_clock *clock, int64_t now_ns)
{
	struct fleet_bounds all = intersect(clock, now_ns);
	if (clock->answers < QUICK_ANSWERS)
		return QUICK_NS;
	return all.high_ns - all.low_ns > 2 * GOAL_NS ? BUSY_NS : CALM_NS;
}

bool fleet_clock_answer(struct fleet_clock *clock, const char *line, int64_t now_ns)
{
	uint32_t number;
	int64_t received_ns, sent_ns, wall_ns;
	if (sscanf(line, "clock %" SCNu32 " %" SCNd64 " %" SCNd64 " %" SCNd64, &number, &received_ns, &sent_ns, &wall_ns) !=
		4)
		return false;
	if (!clock->is_asked || number != clock->number || !is_time(received_ns) || !is_time(sent_ns) ||
		!is_time(wall_ns) || sent_ns < received_ns)
		return true;
	struct fleet_bounds row = { now_ns, sent_ns - now_ns, received_ns - clock->asked_ns };
	clock->is_asked = false;
	/* The host says that it took longer than the exchange did. */
	if (row.low_ns > row.high_ns)
		return true;
	add_row(clock, row);
	clock->answers++;
	clock->wall_ns = wall_ns - sent_ns;
	clock->due_ns = now_ns + pause_after(clock, now_ns);
	return true;
}

void fleet_clock_heard(struct fleet_clock *clock, int64_t host_ns, int64_t now_ns)
{
	if (!is_time(host_ns))
		return;
	int64_t ahead_ns = host_ns - now_ns;
	if (clock->has_one_way && ahead_ns < clock->one_way_ns && now_ns - clock->one_way_at_ns < ONE_WAY_MAX_NS)
		return;
	clock->has_one_way = true;
	clock->one_way_ns = ahead_ns;
	clock->one_way_at_ns = now_ns;
}

struct fleet_offset fleet_clock_offset(const struct fleet_clock *clock, int64_t now_ns, int64_t wall_ns)
{
	struct fleet_offset offset = { FLEET_CLOCK_UNKNOWN, 0, NAN, NAN };
	if (clock->answers) {
		struct fleet_bounds all = intersect(clock, now_ns);
		offset.method = FLEET_CLOCK_EXCHANGE;
		offset.ahead_ns = all.low_ns + (all.high_ns - all.low_ns) / 2;
		offset.error_s = (double)(all.high_ns - all.low_ns) / 2e9;
		offset.wall_s = (double)(offset.ahead_ns + clock->wall_ns - wall_ns) * 1e-9;
	} else if (clock->has_one_way) {
		offset.method = FLEET_CLOCK_ONE_WAY;
		offset.ahead_ns = clock->one_way_ns;
	}
	return offset;
}

bool fleet_clock_is_dictionary(const char *line)
{
	return strncmp(line, FLEET_ASK_DICTIONARY, sizeof FLEET_ASK_DICTIONARY - 2) == 0;
}

bool fleet_clock_reply(const char *line, int64_t received_ns, int64_t sent_ns, int64_t wall_ns, char *out, size_t size)
{
	uint32_t number;
	if (sscanf(line, "clock %" SCNu32, &number) != 1)
		return false;
	snprintf(
		out, size, "clock %" PRIu32 " %" PRId64 " %" PRId64 " %" PRId64 "\n", number, received_ns, sent_ns, wall_ns);
	return true;
}
