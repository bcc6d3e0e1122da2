#include "src/region/events.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "src/region/reader.h"
#include "src/region/region.h"

uint32_t region_lane_count(const struct region *region) { return region->lane_count; }

uint64_t region_lane_slots(const struct region *region) { return region->slots_per_lane; }

static uint64_t lane_head(const struct region *region, uint32_t lane)
{
	return __atomic_load_n(
		(const uint64_t *)(const void *)region_entry(region, PMTOP_SECTION_LANES, lane), __ATOMIC_ACQUIRE);
}

uint64_t region_lane_head(const struct region *region, uint32_t lane, uint64_t *waiting)
{
	uint64_t head = lane_head(region, lane), position = region->lanes[lane].position;
	*waiting = head > position ? head - position : 0;
	return head;
}

static const unsigned char *slot_of(const struct region *region, uint32_t lane, uint64_t number)
{
	return region_entry(region, PMTOP_SECTION_SLOTS, lane * region->slots_per_lane + number % region->slots_per_lane);
}

enum region_status region_lane_status(struct region *region, uint32_t lane, struct region_lane_status *out)
{
	if (lane >= region->lane_count)
		return REGION_NONE;
	const struct lane_cursor *cursor = &region->lanes[lane];
	uint64_t head = lane_head(region, lane);
	*out = (struct region_lane_status){
		.head = head,
		.position = cursor->position,
		.lost = cursor->lost,
		.before = cursor->before,
		.owner_tid = (int32_t)region_load(
			region_entry(region, PMTOP_SECTION_LANES, lane) + offsetof(struct pmtop_lane, owner_tid)),
		.in_record = region_load(slot_of(region, lane, head)) == (uint32_t)(2 * head + 1),
	};
	return region_cut_or(region, REGION_OK);
}

/* False: the slot was overwritten, or is being overwritten. */
static bool copy_slot(const struct region *region, uint32_t lane, uint64_t number, struct pmtop_slot *slot)
{
	const unsigned char *from = slot_of(region, lane, number);
	uint32_t whole = (uint32_t)(2 * number + 2);
	if (region_load(from) != whole)
		return false;
	region_copy_raw(slot, from, sizeof *slot);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return region_load(from) == whole;
}

/* The time of the newest complete event: the last ones may be incomplete. */
static uint64_t newest_ns(const struct region *region, uint32_t lane)
{
	enum { TRIED = 4 };
	struct pmtop_slot slot;
	uint64_t head = lane_head(region, lane);
	for (uint64_t i = 1; i <= TRIED && i <= head; i++)
		if (copy_slot(region, lane, head - i, &slot))
			return slot.time_ns;
	return 0;
}

int64_t region_last_sign_ns(struct region *region)
{
	struct timespec now;
	const struct pmtop_header *header = &region->header;
	uint64_t newest = header->start_ns;
	for (uint32_t i = 0; i < region->lane_count; i++) {
		uint64_t time_ns = newest_ns(region, i);
		newest = time_ns > newest ? time_ns : newest;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, lasted_ns = newest - header->start_ns;
	bool is_past = header->start_realtime_ns <= now_ns && lasted_ns <= now_ns - header->start_realtime_ns;
	uint64_t sign_ns = is_past ? header->start_realtime_ns + lasted_ns : now_ns;
	/* CLOCK_MONOTONIC stops while the machine is suspended, and the wall clock may be set. The file's mtime, accurate
	 * to a minute, includes both. */
	struct stat file;
	uint64_t touched_ns = fstat(region->fd, &file) || file.st_mtim.tv_sec < 0
		? 0
		: (uint64_t)file.st_mtim.tv_sec * 1000000000u + (uint64_t)file.st_mtim.tv_nsec;
	return (int64_t)(touched_ns > sign_ns && touched_ns <= now_ns ? touched_ns : sign_ns);
}

static struct region_event event_of(uint32_t lane, uint64_t number, const struct pmtop_slot *slot)
{
	uint32_t length = slot->type_length >> 16;
	struct region_event event = {
		.type = slot->type_length & 0xffff,
		.lane = lane,
		.sequence = number,
		.time_ns = (int64_t)slot->time_ns,
		.name = (uint32_t)slot->name_mode,
		.mode = (uint32_t)(slot->name_mode >> 32),
		.length = length < sizeof slot->payload ? length : (uint32_t)sizeof slot->payload,
		.payload = { PMTOP_UNKNOWN, PMTOP_UNKNOWN, PMTOP_UNKNOWN, PMTOP_UNKNOWN, PMTOP_UNKNOWN },
	};
	memcpy(event.payload, slot->payload, event.length);
	return event;
}

enum region_status region_read_events(
	struct region *region, uint32_t lane, struct region_event *out, size_t max, size_t *count)
{
	if (lane >= region->lane_count)
		return REGION_NONE;
	struct lane_cursor next = region->lanes[lane];
	uint64_t head = lane_head(region, lane);
	size_t filled = 0;
	if (head < next.position)
		next.position = head; /* only a malicious writer goes back */
	if (head - next.position > region->slots_per_lane) {
		next.lost += head - next.position - region->slots_per_lane;
		next.position = head - region->slots_per_lane;
	}
	for (; next.position < head && filled < max; next.position++) {
		struct pmtop_slot slot;
		if (copy_slot(region, lane, next.position, &slot))
			out[filled++] = event_of(lane, next.position, &slot);
		else
			next.lost++;
	}
	enum region_status status = region_cut_or(region, REGION_OK);
	if (status != REGION_OK)
		return status;
	region->lanes[lane] = next;
	*count = filled;
	return REGION_OK;
}

enum region_status region_read_open_spans(
	struct region *region, uint32_t lane, struct region_open_span *out, size_t max, size_t *count)
{
	enum { TRIES = 400 };
	struct pmtop_lane copy;
	if (lane >= region->lane_count)
		return REGION_NONE;
	const unsigned char *from = region_entry(region, PMTOP_SECTION_LANES, lane);
	for (int i = 0; i < TRIES; i++) {
		uint32_t sequence = region_load(from + offsetof(struct pmtop_lane, open_sequence));
		region_copy_raw(&copy, from, sizeof copy);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (sequence % 2 || region_load(from + offsetof(struct pmtop_lane, open_sequence)) != sequence)
			continue;
		size_t open = copy.open_count <= PMTOP_OPEN_SPANS ? copy.open_count : PMTOP_OPEN_SPANS;
		enum region_status status = region_cut_or(region, REGION_OK);
		if (status != REGION_OK)
			return status;
		*count = open < max ? open : max;
		for (size_t k = 0; k < *count; k++)
			out[k] = (struct region_open_span){ .name = copy.open[k].name, .begin_ns = (int64_t)copy.open[k].begin_ns };
		return REGION_OK;
	}
	return region_cut_or(region, REGION_BUSY);
}
