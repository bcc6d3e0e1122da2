/* Finding regions, and invalid headers: each is made from a real one with its checksum recomputed. */
#define PMTOP_IMPLEMENTATION
#include "src/region/events.h"

#include <check.h>

#include "src/region/find.h"
#include "src/region/pmtop.h"
#include "src/region/tables.h"
#include "tests/support/regions.h"

static struct pmtop *pm;
static char message[REGION_MESSAGE_SIZE];

static void setup(void)
{
	pm = pmtop_open("reader", NULL);
	ck_assert_ptr_nonnull(pm);
}

static void teardown(void) { pmtop_close(pm); }

static struct pmtop_header *header(void) { return (struct pmtop_header *)(void *)pm->base; }

static struct pmtop_section *section(enum pmtop_section_type type)
{
	for (uint32_t i = 0; i < header()->section_count; i++)
		if (header()->sections[i].type == (uint32_t)type)
			return &header()->sections[i];
	ck_abort_msg("no section %d", type);
}

static enum region_status try_header(void)
{
	header()->crc = pmtop_crc32c(header(), offsetof(struct pmtop_header, crc));
	return regions_try(pm->path, geteuid(), message);
}

START_TEST(crc32c_is_castagnolis) { ck_assert_uint_eq(pmtop_crc32c("123456789", 9), 0xe3069283u); }
END_TEST

START_TEST(another_version_byte_order_or_need_is_named)
{
	ck_assert_int_eq(try_header(), REGION_OK);
	header()->abi_minor = 7;
	ck_assert_int_eq(try_header(), REGION_OK);
	header()->compat_flags = UINT64_MAX;
	ck_assert_int_eq(try_header(), REGION_OK);
	header()->incompat_flags = 4;
	ck_assert_int_eq(try_header(), REGION_WRONG_VERSION);
	ck_assert_ptr_nonnull(strstr(message, "feature 0x4 of format version 1.7"));
	header()->incompat_flags = 0;
	header()->clock_id = 2;
	ck_assert_int_eq(try_header(), REGION_WRONG_VERSION);
	ck_assert_ptr_nonnull(strstr(message, "clock 2"));
	header()->clock_id = 1;
	header()->abi_major = 2;
	ck_assert_int_eq(try_header(), REGION_WRONG_VERSION);
	ck_assert_ptr_nonnull(strstr(message, "version 2.7"));
	header()->abi_major = 1;
	header()->endian = 0x04030201;
	ck_assert_int_eq(try_header(), REGION_WRONG_VERSION);
	ck_assert_ptr_nonnull(strstr(message, "big-endian"));
}
END_TEST

START_TEST(a_wrong_checksum_magic_or_size_is_damage)
{
	header()->pid++;
	ck_assert_int_eq(regions_try(pm->path, geteuid(), message), REGION_DAMAGED);
	ck_assert_str_eq(message, "region header damaged (checksum)");
	header()->file_size++;
	ck_assert_int_eq(try_header(), REGION_CUT_SHORT);
	header()->file_size = 0;
	ck_assert_int_eq(try_header(), REGION_DAMAGED);
	header()->file_size = pm->size;
	header()->section_count = PMTOP_SECTIONS_MAX + 1;
	ck_assert_int_eq(try_header(), REGION_DAMAGED);
	header()->section_count = UINT32_MAX;
	ck_assert_int_eq(try_header(), REGION_DAMAGED);
	header()->section_count = 0;
	ck_assert_int_eq(try_header(), REGION_DAMAGED);
	header()->magic[0] = 'P';
	ck_assert_int_eq(try_header(), REGION_DAMAGED);
	ck_assert_str_eq(message, "not a pmtop region");
}
END_TEST

START_TEST(offsets_sizes_and_counts_of_any_value_are_refused_by_the_sections_name)
{
	static const uint64_t bad[] = { 1, 4095, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX / 64, UINT64_C(1) << 63,
		UINT64_C(1) << 40, UINT64_C(1) << 32 };
	static const char *const names[PMTOP_SECTION_TYPES] = {
		[PMTOP_SECTION_LANES] = "lanes",
		[PMTOP_SECTION_SLOTS] = "slots",
		[PMTOP_SECTION_TOTALS] = "totals",
		[PMTOP_SECTION_NAME_BYTES] = "name bytes",
		[PMTOP_SECTION_STATE] = "state",
	};
	char expected[64];
	for (int type = 1; type < PMTOP_SECTION_TYPES; type++) {
		struct pmtop_section *at = section((enum pmtop_section_type)type), good = *at;
		for (size_t i = 0; names[type] && i < sizeof bad / sizeof bad[0]; i++) {
			snprintf(expected, sizeof expected, "region header damaged (%s)", names[type]);
			at->offset = bad[i];
			ck_assert_int_eq(try_header(), REGION_DAMAGED);
			ck_assert_str_eq(message, expected);
			*at = good;
			at->offset = bad[i];
			at->size = 0 - bad[i] + 4096; /* so that their sum is small */
			ck_assert_int_eq(try_header(), REGION_DAMAGED);
			*at = good;
			at->count = bad[i] | UINT64_C(1) << 40;
			ck_assert_int_eq(try_header(), REGION_DAMAGED);
			*at = good;
		}
		at->entry_size = 0;
		ck_assert_int_eq(try_header(), REGION_DAMAGED);
		at->entry_size = UINT32_MAX;
		ck_assert_int_eq(try_header(), REGION_DAMAGED);
		*at = good;
		ck_assert_int_eq(try_header(), REGION_OK);
	}
}
END_TEST

START_TEST(a_missing_or_doubled_section_is_damage_and_an_unknown_one_is_skipped)
{
	struct pmtop_section *last = &header()->sections[header()->section_count];
	*last = (struct pmtop_section){
		.type = 999, .entry_size = 0, .offset = UINT64_MAX, .size = UINT64_MAX, .count = UINT64_MAX
	};
	header()->section_count++;
	ck_assert_int_eq(try_header(), REGION_OK);
	*last = *section(PMTOP_SECTION_META);
	ck_assert_int_eq(try_header(), REGION_DAMAGED);
	ck_assert_str_eq(message, "region header damaged (meta)");
	last->type = 999;
	section(PMTOP_SECTION_META)->type = 998;
	ck_assert_int_eq(try_header(), REGION_DAMAGED);
}
END_TEST

START_TEST(slots_that_do_not_divide_among_lanes_are_damage)
{
	section(PMTOP_SECTION_SLOTS)->count -= 16;
	ck_assert_int_eq(try_header(), REGION_DAMAGED);
	ck_assert_str_eq(message, "region header damaged (slots)");
}
END_TEST

START_TEST(hostile_counts_and_names_stay_within_their_tables)
{
	struct region *region = regions_open(pm->path);
	const char *text;
	size_t length, count;
	struct region_event event;
	struct region_open_span open[PMTOP_OPEN_SPANS];
	pmtop_mark(pm, "one");
	pm->state->name_count = UINT32_MAX;
	pm->state->total_count = pm->state->tally_count = UINT32_MAX;
	ck_assert_uint_eq(region_name_count(region), 1024);
	ck_assert_uint_eq(region_total_count(region), 256 + PMTOP_TALLIES);
	pm->names[5].offset = UINT32_MAX;
	pm->names[6].length = UINT32_MAX;
	pm->names[7].offset = 1024 * 64 - 4;
	pm->names[7].length = 5;
	for (uint32_t id = 6; id <= 8; id++)
		ck_assert_int_eq(region_read_name(region, id, &text, &length), REGION_DAMAGED);
	ck_assert_int_eq(region_read_name(region, 0, &text, &length), REGION_NONE);
	ck_assert_int_eq(region_read_name(region, 1025, &text, &length), REGION_NONE);
	pm->shared_lanes[0].open_count = UINT32_MAX;
	ck_assert_int_eq(region_read_open_spans(region, 0, open, PMTOP_OPEN_SPANS, &count), REGION_OK);
	ck_assert_uint_eq(count, PMTOP_OPEN_SPANS);
	pm->slots[0].type_length = 0xffffffffu;
	ck_assert_uint_eq(regions_events(region, 0, &event, 1), 1);
	ck_assert_uint_eq(event.length, sizeof event.payload);
	pm->shared_lanes[0].head = UINT64_MAX;
	ck_assert_uint_eq(regions_events(region, 0, &event, 1), 0);
	pm->shared_lanes[0].head = 3;
	ck_assert_uint_eq(regions_events(region, 0, &event, 1), 0);
	ck_assert_int_eq(region_read_events(region, region_lane_count(region), &event, 1, &count), REGION_NONE);
	ck_assert_int_eq(region_read_events(region, UINT32_MAX, &event, 1, &count), REGION_NONE);
	pm->shared_lanes[0].open_count = 0;
	region_close(region);
}
END_TEST

START_TEST(a_half_merged_history_is_read_once)
{
	struct region *region = regions_open(pm->path);
	static struct region_bin bins[4096];
	size_t count;
	uint64_t next = 0;
	pmtop_epoch_begin(pm, 0);
	for (uint64_t i = 0; i < 4097; i++) {
		pmtop_batch_begin(pm, i);
		pmtop_batch_end(pm, 1);
	}
	/* As a kill in the middle of merging the first 3,000 of 4,096 bins would leave it. */
	pm->state->history_sequence = 7;
	for (uint32_t i = 0; i < 1500; i++) {
		pm->bins[i].first = 2 * i;
		pm->bins[i].count = 2;
	}
	pm->bins[1500].sequence |= 1;
	ck_assert_int_eq(region_read_history(region, bins, 4096, &count), REGION_OK);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(bins[i].first, next);
		next = bins[i].first + bins[i].count;
	}
	ck_assert_uint_eq(next, 4096);
	ck_assert_uint_eq(count, 1500 + 1096);
	region_close(region);
}
END_TEST

START_TEST(a_region_is_found_through_its_process_and_in_its_folder)
{
	struct region_location found[4], listed[1024];
	struct pmtop *second = pmtop_open("second", NULL);
	int self = open("/proc/self", O_RDONLY | O_DIRECTORY);
	bool is_unfilled;
	size_t count = region_find(self, getpid(), found, 4, &is_unfilled);
	ck_assert_uint_eq(count, 2);
	for (size_t i = 0; i < count; i++) {
		ck_assert(!found[i].is_memfd && !found[i].is_descriptor_link);
		const struct pmtop *owner = found[i].inode == pm->file.inode ? pm : second;
		ck_assert_uint_eq(found[i].inode, owner->file.inode);
		ck_assert_str_eq(strrchr(found[i].path, '/'), strrchr(owner->path, '/'));
	}
	ck_assert_uint_eq(region_find(self, getpid(), found, 1, &is_unfilled), 1);
	size_t named = 0;
	count = region_list("/dev/shm", REGION_ANYBODY, listed, 1024);
	for (size_t i = 0; i < count; i++)
		named += !strcmp(listed[i].path, pm->path) || !strcmp(listed[i].path, second->path);
	ck_assert_uint_eq(named, 2);
	ck_assert_uint_eq(region_list("/nowhere", REGION_ANYBODY, listed, 1024), 0);
	/* Unlinked: still open through the writer's descriptor. */
	unlink(second->path);
	ck_assert_uint_eq(region_find(self, getpid(), found, 4, &is_unfilled), 2);
	const struct region_location *gone = found[0].inode == second->file.inode ? &found[0] : &found[1];
	ck_assert(gone->is_descriptor_link);
	close(self);
	pmtop_close(second);
}
END_TEST

START_TEST(only_a_region_that_names_the_process_is_its_own)
{
	struct region_location found[4];
	int self = open("/proc/self", O_RDONLY | O_DIRECTORY);
	bool is_unfilled;
	header()->pid = 4711;
	header()->crc = pmtop_crc32c(header(), offsetof(struct pmtop_header, crc));
	ck_assert_uint_eq(region_find(self, getpid(), found, 4, &is_unfilled), 0);
	header()->pid = getpid();
	ck_assert_uint_eq(region_find(self, getpid(), found, 4, &is_unfilled), 1);
	header()->pid_namespace++;
	ck_assert_uint_eq(region_find(self, getpid(), found, 4, &is_unfilled), 0);
	ck_assert(!is_unfilled);
	header()->magic[0]++;
	ck_assert_uint_eq(region_find(self, getpid(), found, 4, &is_unfilled), 0);
	ck_assert(is_unfilled);
	close(self);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		crc32c_is_castagnolis,
		another_version_byte_order_or_need_is_named,
		a_wrong_checksum_magic_or_size_is_damage,
		offsets_sizes_and_counts_of_any_value_are_refused_by_the_sections_name,
		a_missing_or_doubled_section_is_damage_and_an_unknown_one_is_skipped,
		slots_that_do_not_divide_among_lanes_are_damage,
		hostile_counts_and_names_stay_within_their_tables,
		a_half_merged_history_is_read_once,
		a_region_is_found_through_its_process_and_in_its_folder,
		only_a_region_that_names_the_process_is_its_own,
	};
	return regions_run("region: reader", setup, teardown, tests, sizeof tests / sizeof tests[0]);
}
