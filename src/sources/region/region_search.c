#include "src/sources/region/region_search.h"

#include "src/base/clock.h"
#include "src/sources/choices.h"

#define FIRST_NS (NS_PER_S / 20)
#define TARGET_MAX_NS (2 * NS_PER_S)
#define MEMBER_MAX_NS (16 * NS_PER_S)
/* A process may unmap as much as it maps. */
#define ANYWAY_NS (60 * NS_PER_S)
/* The size as last read may be that old. */
#define SETTLED_NS (1 * NS_PER_S)
/* A region has more. */
#define CHANGE_BYTES (UINT64_C(32) << 10)

static void begin(struct region_search *search, const struct target_member *member, bool is_target)
{
	*search = (struct region_search){ .pid = member->pid,
		.start_ticks = member->start_ticks,
		.generation = member->generation,
		.next_ns = INT64_MIN,
		.interval_ns = FIRST_NS,
		.interval_max_ns = is_target ? TARGET_MAX_NS : MEMBER_MAX_NS,
		.anyway_ns = INT64_MIN };
}

/* Members keep their order, and new ones are at the end. After an exec a member counts as new. */
void region_searches_follow(struct region_searches *searches, const struct target *target)
{
	size_t retained = 0;
	unsigned instrumented = source_choices(target)->instrumented;
	bool is_anew = instrumented != searches->instrumented;
	searches->instrumented = instrumented;
	for (size_t i = 0, next = 0; i < searches->count && next < target->member_count; i++) {
		const struct target_member *member = &target->members[next];
		const struct region_search *search = &searches->list[i];
		if (search->pid != member->pid || search->start_ticks != member->start_ticks)
			continue;
		next++;
		searches->list[retained++] = *search;
	}
	for (size_t i = 0; i < target->member_count; i++) {
		const struct target_member *member = &target->members[i];
		if (is_anew || i >= retained || searches->list[i].generation != member->generation)
			begin(&searches->list[i], member, i == 0);
	}
	searches->count = target->member_count;
}

static bool may_have_mapped(struct region_search *search, uint64_t virtual_bytes, int64_t now_ns)
{
	uint64_t before = search->virtual_bytes;
	uint64_t change = virtual_bytes > before ? virtual_bytes - before : before - virtual_bytes;
	if (!before || !virtual_bytes || change >= CHANGE_BYTES)
		search->changed_ns = now_ns;
	return now_ns - search->changed_ns < SETTLED_NS || now_ns >= search->anyway_ns;
}

bool region_search_is_due(struct region_search *search, const struct target_member *member, int64_t now_ns)
{
	uint64_t virtual_bytes = member->has_stat ? member->stat.virtual_bytes : 0;
	bool is_due = may_have_mapped(search, virtual_bytes, now_ns);
	if (is_due) {
		search->virtual_bytes = virtual_bytes;
		search->anyway_ns = now_ns + ANYWAY_NS;
	}
	search->next_ns = now_ns + search->interval_ns;
	int64_t longer_ns = search->interval_ns * 5 / 4;
	search->interval_ns = longer_ns < search->interval_max_ns ? longer_ns : search->interval_max_ns;
	return is_due;
}
