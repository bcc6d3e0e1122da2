/* PyTorch's flight recorder, as a fake image in this process's own memory, and a library with its symbol. */
#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/sources/collectives/collectives_tables.h"
#include "src/sources/collectives/flight_recorder.h"
#include "src/sources/collectives/flight_symbol.h"
#include "src/sources/collectives/flight_world.h"
#include "tests/support/suite.h"

enum { RING = 16, TOTAL = 40, ENTRY = 512, OBJECT = 256, GROUPS = 3 };

/* The layout of PyTorch 2.13 on x86-64. */
struct image {
	unsigned char object[OBJECT];
	unsigned char entries[RING][ENTRY];
	unsigned char nodes[GROUPS][64], statuses[GROUPS][128];
	uint64_t pointer;
};

static struct image image;
static struct flight_recorder recorder;
static struct flight_reading reading;
static char long_name[] = "nccl:_reduce_scatter_base";

static uint64_t address_of(const void *at) { return (uint64_t)(uintptr_t)at; }

static void put(void *at, size_t offset, uint64_t value) { memcpy((char *)at + offset, &value, sizeof value); }

static void put_half(void *at, size_t offset, uint32_t value) { memcpy((char *)at + offset, &value, sizeof value); }

/* A std::string of libstdc++. */
static void put_string(void *at, size_t offset, char *text)
{
	size_t length = strlen(text);
	char *inside = (char *)at + offset + 16;
	put(at, offset, address_of(length < 16 ? inside : text));
	put(at, offset + 8, length);
	if (length < 16)
		memcpy(inside, text, length + 1);
}

static void put_entry(uint64_t id, char *name)
{
	unsigned char *entry = image.entries[id % RING];
	memset(entry, 0, ENTRY);
	put(entry, 0, id);
	put_string(entry, 24, (char *)"default_pg");
	put_string(entry, 56, (char *)"0");
	put(entry, 88, id + 1);
	put(entry, 104, 2 * id + 1);
	put_string(entry, 112, name);
	put(entry, 176, 1000 + id);
	put(entry, 240, address_of(entry + 256));
	put_half(entry, 248, 1);
	put(entry, 256, 2);
	put(entry, 384, address_of(entry + 400));
	put_half(entry, 392, 4);
	put(entry, 400, 10);
	put(entry, 408, id);
	put_string(entry, 472, (char *)"python");
}

/* After `total` collectives. */
static void put_ring(uint64_t total)
{
	uint64_t count = total < RING ? total : RING;
	put(image.object, 56, address_of(image.entries) + count * ENTRY);
	put(image.object, 80, total % RING);
	put(image.object, 88, total);
}

static void add_entries(uint64_t from, uint64_t total)
{
	for (uint64_t id = from; id < total; id++)
		put_entry(id, id % 2 ? long_name : (char *)"gloo:all_reduce");
	put_ring(total);
}

static void put_node(size_t at, uint64_t parent, int left, int right, int64_t enqueued)
{
	put(image.nodes[at], 8, parent);
	put(image.nodes[at], 16, left < 0 ? 0 : address_of(image.nodes[left]));
	put(image.nodes[at], 24, right < 0 ? 0 : address_of(image.nodes[right]));
	put(image.nodes[at], 32, at);
	put(image.nodes[at], 40, address_of(image.statuses[at]));
	put(image.statuses[at], 0, (uint64_t)enqueued);
	put(image.statuses[at], 8, (uint64_t)-1);
	put(image.statuses[at], 16, (uint64_t)enqueued - 1);
}

static void setup(void)
{
	memset(&image, 0, sizeof image);
	image.object[0] = 1;
	put(image.object, 48, address_of(image.entries));
	put(image.object, 64, address_of(image.entries) + sizeof image.entries);
	put(image.object, 72, RING);
	put_ring(0);
	put_node(1, address_of(image.object) + 168, 0, 2, 30);
	put_node(0, address_of(image.nodes[1]), -1, -1, 20);
	put_node(2, address_of(image.nodes[1]), -1, -1, 10);
	put(image.object, 176, address_of(image.nodes[1]));
	put(image.object, 184, address_of(image.nodes[0]));
	put(image.object, 192, address_of(image.nodes[2]));
	put(image.object, 200, GROUPS);
	image.pointer = address_of(image.object);
	recorder = (struct flight_recorder){ .pid = getpid(), .pointer = address_of(&image.pointer) };
}

static enum status read_it(void) { return flight_recorder_read(&recorder, &reading); }

START_TEST(groups_and_entries_are_read)
{
	add_entries(0, 5);
	ck_assert_int_eq(read_it(), STATUS_OK);
	ck_assert_uint_eq(reading.status_count, GROUPS);
	for (size_t i = 0; i < GROUPS; i++) {
		ck_assert_int_eq(reading.statuses[i].enqueued,
			20 + (reading.statuses[i].group_id == 1 ? 10 : 0) - (reading.statuses[i].group_id == 2 ? 10 : 0));
		ck_assert_int_eq(reading.statuses[i].started, -1);
		ck_assert_int_eq(reading.statuses[i].completed, reading.statuses[i].enqueued - 1);
	}
	ck_assert_uint_eq(reading.entry_count, 5);
	ck_assert_uint_eq(reading.entries[3].sequence, 4);
	ck_assert_uint_eq(reading.entries[3].op_id, 7);
	ck_assert_int_eq(reading.entries[3].created_realtime_ns, 1003);
	ck_assert_str_eq(reading.entries[3].name, "nccl:_reduce_scatter_base");
	ck_assert_str_eq(reading.entries[2].name, "gloo:all_reduce");
	ck_assert_str_eq(reading.entries[2].sizes, "[10, 2]");
	ck_assert_str_eq(reading.entries[2].group, "0");
	ck_assert_str_eq(reading.entries[2].description, "default_pg");
}
END_TEST

/* How far the rank of a reading is in its group. */
static struct record state_of(struct collectives_rank *rank, struct collectives_tables *tables, int64_t enqueued,
	int64_t completed, struct sample_set *set)
{
	static const struct collectives_process process = { .state = 'S' };
	reading.status_count = 1;
	reading.statuses[0] = (struct flight_status){ 0, enqueued, -1, completed };
	sample_set_clear(set);
	collectives_emit_reading(tables, rank, &reading, &process, 0, 5, set);
	reading.entry_count = 0;
	for (size_t i = 0; i < set->count; i++)
		if (set->records[i].kind == RECORD_COLLECTIVE_STATE)
			return set->records[i];
	return (struct record){ .kind = RECORD_MISSING };
}

/* Each collective follows a send: gloo counts both, though collectives have numbers of their own. */
START_TEST(numbers_of_send_and_receive_are_no_collectives)
{
	static struct collectives_tables tables;
	static struct collectives_rank rank;
	struct sample_set set = SAMPLE_SET_INIT;
	reading.entry_count = 12;
	for (uint64_t i = 0; i < 12; i++)
		reading.entries[i] = (struct flight_entry){
			.sequence = i + 1, .op_id = 2 * (i + 1), .created_realtime_ns = 1, .group = "0", .name = "gloo:all_reduce"
		};
	rank = (struct collectives_rank){ .pid = 7 };
	struct record record = state_of(&rank, &tables, 25, 23, &set);
	ck_assert_int_eq(record.collective_state.enqueued, 12);
	ck_assert_int_eq(record.collective_state.completed, 11);
	record = state_of(&rank, &tables, 24, 8, &set); /* of the 5th collective on both numbers are known */
	ck_assert_int_eq(record.collective_state.completed, 3);
	record = state_of(&rank, &tables, -1, -1, &set);
	ck_assert_int_eq(record.collective_state.completed, -1);
	reading.entries[0] = (struct flight_entry){
		.sequence = 1, .op_id = 5, .created_realtime_ns = 1, .group = "1", .name = "nccl:all_reduce"
	};
	reading.entry_count = 1;
	rank = (struct collectives_rank){ .pid = 8, .is_device = true };
	ck_assert_int_eq(state_of(&rank, &tables, 1, 1, &set).collective_state.enqueued, 1);
	sample_set_release(&set);
}
END_TEST

START_TEST(only_new_entries_are_read_and_lost_ones_counted)
{
	add_entries(0, 5);
	ck_assert_int_eq(read_it(), STATUS_OK);
	ck_assert_int_eq(read_it(), STATUS_OK);
	ck_assert_uint_eq(reading.entry_count, 0);
	add_entries(5, RING + 3);
	ck_assert_int_eq(read_it(), STATUS_OK);
	ck_assert_uint_eq(reading.entry_count, RING - 2);
	for (size_t i = 0; i < reading.entry_count; i++)
		ck_assert_uint_eq(reading.entries[i].sequence, 6 + i);
	ck_assert_uint_eq(reading.skipped, 0);
	add_entries(RING + 3, 2 * RING + 8);
	ck_assert_int_eq(read_it(), STATUS_OK);
	ck_assert_uint_eq(reading.entry_count, RING);
	ck_assert_uint_eq(reading.skipped, 5);
	ck_assert_uint_eq(reading.entries[0].sequence, RING + 9);
}
END_TEST

START_TEST(reset_begins_anew)
{
	add_entries(0, 8);
	ck_assert_int_eq(read_it(), STATUS_OK);
	put(image.object, 96, 1);
	for (uint64_t id = 0; id < 2; id++) {
		put_entry(8 + id, long_name);
		put(image.entries[8 + id], 0, id);
		put(image.entries[8 + id], 8, 1);
	}
	put_ring(10);
	put(image.object, 88, 2);
	ck_assert_int_eq(read_it(), STATUS_OK);
	ck_assert_uint_eq(reading.entry_count, 2);
	ck_assert_uint_eq(reading.entries[0].sequence, 9);
}
END_TEST

START_TEST(nothing_there_yet_is_no_fault)
{
	image.pointer = 0;
	ck_assert_int_eq(read_it(), STATUS_AGAIN);
	image.pointer = address_of(image.object);
	put(image.object, 176, 0);
	put(image.object, 200, 0);
	ck_assert_int_eq(read_it(), STATUS_OK);
	ck_assert_uint_eq(reading.status_count + reading.entry_count, 0);
}
END_TEST

START_TEST(switched_off_is_known_as_such)
{
	image.object[0] = 0;
	put(image.object, 72, 0);
	ck_assert_int_eq(read_it(), STATUS_NOT_FOUND);
}
END_TEST

/* Another layout: it is tried a few times, because one reading may be torn, and then refused. */
static void ck_refused(void)
{
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(read_it(), STATUS_AGAIN);
	ck_assert_int_eq(read_it(), STATUS_UNSUPPORTED);
}

/* Each row makes one word of the object, or of the newest entry, wrong. */
static const struct {
	bool is_entry;
	size_t offset;
	uint64_t value;
} faults[] = {
	{ false, 0, 7 },              /* a bool that is none */
	{ false, 48, 8 },             /* the vector begins after its end, or not at an entry */
	{ false, 56, 8 },             /* it ends before its begin */
	{ false, 64, 8 },             /* its capacity is smaller */
	{ false, 72, UINT64_MAX },    /* a ring without limits */
	{ false, 72, 2 },             /* more entries than the limit */
	{ false, 80, 77 },            /* next is outside */
	{ false, 88, 99 },            /* ids do not belong to the entries */
	{ false, 176, 8 },            /* the map's root is no address */
	{ false, 200, UINT64_MAX },   /* endless groups */
	{ false, 200, 2 },            /* fewer groups than the map has */
	{ true, 0, 99 },              /* ids do not follow each other */
	{ true, 8, 5 },               /* of another epoch */
	{ true, 24 + 8, UINT64_MAX }, /* a text without end */
	{ true, 56, 8 },              /* a text that is nowhere */
	{ true, 112, 0 },             /* the same */
	{ true, 88, UINT64_MAX },     /* a sequence number that is none */
	{ true, 176, 0 },             /* no time */
	{ true, 192, 9 },             /* a bool that is none */
	{ true, 248, 5 },             /* more tensors than have room */
	{ true, 256, 9 },             /* more dimensions than sizes */
};

START_TEST(contradictions_are_refused)
{
	add_entries(0, 5);
	if (faults[_i].is_entry)
		put(image.entries[4], faults[_i].offset, faults[_i].value);
	else
		put(image.object, faults[_i].offset, faults[_i].value);
	ck_refused();
}
END_TEST

START_TEST(loop_in_the_map_ends)
{
	put(image.nodes[0], 16, address_of(image.nodes[1]));
	ck_refused();
}
END_TEST

START_TEST(torn_reading_is_repeated)
{
	add_entries(0, 5);
	put(image.object, 88, 6); /* an entry is being added */
	ck_assert_int_eq(read_it(), STATUS_AGAIN);
	add_entries(5, 6);
	ck_assert_int_eq(read_it(), STATUS_OK);
	ck_assert_uint_eq(reading.entry_count, 6);
}
END_TEST

START_TEST(random_images_do_no_harm)
{
	unsigned seed = 1;
	for (int round = 0; round < 3000; round++) {
		setup();
		add_entries(0, TOTAL);
		for (int i = 0; i < 4; i++) {
			unsigned char *at = rand_r(&seed) % 2 ? image.object : image.entries[rand_r(&seed) % RING];
			at[(unsigned)rand_r(&seed) % OBJECT] = (unsigned char)rand_r(&seed);
		}
		enum status status = read_it();
		ck_assert_uint_le(reading.entry_count, FLIGHT_ENTRIES_MAX);
		ck_assert(status == STATUS_OK || status == STATUS_AGAIN || status == STATUS_UNSUPPORTED ||
			status == STATUS_NOT_FOUND);
	}
}
END_TEST

/* -- the symbol -- */

#define INSTANCE "_ZZN4c10d14FlightRecorderIN3c105EventEE3getEvE8instance"

#define REGISTRY "_ZN4c10dL16process_registryE"

enum { NAMES_AT = 4096, SYMBOLS_AT = NAMES_AT + 3 * 1048576, NAME_OFFSET = 1048576 - 20 };

static const unsigned char note[] = { 4, 0, 0, 0, 4, 0, 0, 0, NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4 };

/* A library: its symbol's name crosses the border of two pieces, and follows that of the guard variable. */
static FILE *make_library(bool has_symbols, const char *name)
{
	FILE *file = tmpfile();
	const char *guard = "_ZGVZN4c10d14FlightRecorderIN3c105EventEE3getEvE8instance";
	size_t guard_at = NAME_OFFSET - strlen(guard) - 1;
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64 }, .e_shoff = 64, .e_shnum = 4, .e_shentsize = sizeof(Elf64_Shdr)
	};
	Elf64_Shdr sections[4] = { { 0 }, { .sh_type = SHT_NOTE, .sh_offset = 512, .sh_size = sizeof note },
		{ .sh_type = has_symbols ? SHT_SYMTAB : SHT_PROGBITS,
			.sh_link = 3,
			.sh_offset = SYMBOLS_AT,
			.sh_size = 4 * sizeof(Elf64_Sym) },
		{ .sh_type = SHT_STRTAB, .sh_offset = NAMES_AT, .sh_size = 2 * 1048576 } };
	Elf64_Sym symbols[4] = { { 0 }, { .st_name = (uint32_t)guard_at, .st_size = 8, .st_value = 0xbad, .st_shndx = 1 },
		{ .st_name = NAME_OFFSET, .st_size = 8, .st_value = 0x1234, .st_shndx = 1 },
		{ .st_name = (uint32_t)(NAME_OFFSET + strlen(name) + 1), .st_size = 104, .st_value = 0x5678, .st_shndx = 1 } };
	ck_assert_ptr_nonnull(file);
	fwrite(&header, sizeof header, 1, file);
	fseek(file, 64, SEEK_SET);
	fwrite(sections, sizeof sections, 1, file);
	fseek(file, 512, SEEK_SET);
	fwrite(note, sizeof note, 1, file);
	fseek(file, NAMES_AT + (long)guard_at, SEEK_SET);
	fwrite(guard, strlen(guard) + 1, 1, file);
	fwrite(name, strlen(name) + 1, 1, file);
	fwrite(REGISTRY, sizeof REGISTRY, 1, file);
	fseek(file, SYMBOLS_AT, SEEK_SET);
	fwrite(symbols, sizeof symbols, 1, file);
	fflush(file);
	return file;
}

static enum status find(
	bool has_symbols, const char *name, struct flight_symbols *symbols, struct flight_addresses *out)
{
	struct flight_build_id id;
	FILE *file = make_library(has_symbols, name);
	flight_build_id_parse(note, sizeof note, &id);
	ck_assert_uint_eq(id.length, 4);
	enum status status = flight_symbol_find(symbols, &id, fileno(file), out);
	fclose(file);
	return status;
}

START_TEST(symbol_is_found_and_not_its_guard)
{
	struct flight_symbols symbols = { 0 };
	struct flight_addresses found;
	ck_assert_int_eq(find(true, INSTANCE, &symbols, &found), STATUS_OK);
	ck_assert_uint_eq(found.recorder, 0x1234);
	ck_assert_uint_eq(found.registry, 0x5678);
	/* The second time it is not searched again. */
	found = (struct flight_addresses){ 0, 0 };
	ck_assert_int_eq(find(false, "x", &symbols, &found), STATUS_OK);
	ck_assert_uint_eq(found.recorder, 0x1234);
	ck_assert_uint_eq(found.registry, 0x5678);
}
END_TEST

START_TEST(library_without_it_says_why)
{
	struct flight_symbols symbols = { 0 };
	struct flight_addresses found;
	struct flight_build_id other = { .length = 2 };
	FILE *file = make_library(true, INSTANCE);
	ck_assert_int_eq(flight_symbol_find(&symbols, &other, fileno(file), &found), STATUS_INVALID);
	fclose(file);
	ck_assert_int_eq(find(true, "_ZZN4c10d15NCCLTraceBuffer3getEvE8instance", &symbols, &found), STATUS_NOT_FOUND);
	symbols.count = 0;
	ck_assert_int_eq(find(false, INSTANCE, &symbols, &found), STATUS_UNSUPPORTED);
	ck_assert_uint_eq(found.recorder, 0);
}
END_TEST

/* -- the registry of process groups -- */

/* Of PyTorch 2.13: a map with the groups "0" and "1"; rank 5 of 9. */
static struct {
	uint64_t map[13], nodes[2][9], group[4];
} groups;

static void setup_groups(void)
{
	groups.group[0] = groups.group[2] = 0x1000;
	groups.group[1] = (uint64_t)2 << 32 | 1;
	groups.group[3] = (uint64_t)9 << 32 | 5;
	for (size_t i = 0; i < 2; i++) {
		put(groups.nodes[i], 32, address_of(&groups.nodes[i][6]));
		put(groups.nodes[i], 40, 1);
		put(groups.nodes[i], 48, i == 0 ? '0' : '1');
		put(groups.nodes[i], 64, address_of(groups.group));
	}
	put(groups.nodes[0], 24, address_of(groups.nodes[1]));
	groups.map[2] = groups.map[3] = address_of(groups.nodes[0]);
	groups.map[4] = address_of(groups.nodes[1]);
	groups.map[5] = 2;
}

static bool read_world(struct flight_world *world)
{
	return flight_world_read(getpid(), address_of(groups.map), world);
}

START_TEST(registry_says_which_rank_it_is)
{
	struct flight_world world;
	setup_groups();
	ck_assert(read_world(&world));
	ck_assert_uint_eq(world.rank, 5);
	ck_assert_uint_eq(world.size, 9);
}
END_TEST

/* Each word is changed alone: what is no registry gives no rank. */
START_TEST(registry_with_contradictions_gives_no_rank)
{
	static const struct {
		uint64_t *word, value;
	} changes[] = {
		{ &groups.map[3], 0 },
		{ &groups.map[5], 0 },
		{ &groups.map[3], 16 },
		{ &groups.nodes[0][2], 8 },
		{ &groups.nodes[0][4], 8 },
		{ &groups.nodes[0][5], 2 },
		{ &groups.nodes[0][6], '1' },
		{ &groups.nodes[0][8], 0 },
		{ &groups.group[0], 0 },
		{ &groups.group[1], (uint64_t)1 << 32 },
		{ &groups.group[2], 0 },
		{ &groups.group[3], (uint64_t)5 << 32 | 5 },
		{ &groups.group[3], (uint64_t)9 << 32 | UINT32_MAX },
		{ &groups.group[3], (uint64_t)INT32_MAX << 32 },
	};
	struct flight_world world;
	setup_groups();
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		uint64_t before = *changes[i].word;
		*changes[i].word = changes[i].value;
		ck_assert_msg(!read_world(&world), "change %zu", i);
		*changes[i].word = before;
	}
	ck_assert(read_world(&world));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("flight_recorder");
	TCase *tests = tcase_create("image");
	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, groups_and_entries_are_read);
	tcase_add_test(tests, numbers_of_send_and_receive_are_no_collectives);
	tcase_add_test(tests, only_new_entries_are_read_and_lost_ones_counted);
	tcase_add_test(tests, reset_begins_anew);
	tcase_add_test(tests, nothing_there_yet_is_no_fault);
	tcase_add_test(tests, switched_off_is_known_as_such);
	tcase_add_loop_test(tests, contradictions_are_refused, 0, (int)(sizeof faults / sizeof *faults));
	tcase_add_test(tests, loop_in_the_map_ends);
	tcase_add_test(tests, torn_reading_is_repeated);
	tcase_add_test(tests, random_images_do_no_harm);
	tcase_add_test(tests, symbol_is_found_and_not_its_guard);
	tcase_add_test(tests, registry_says_which_rank_it_is);
	tcase_add_test(tests, registry_with_contradictions_gives_no_rank);
	tcase_add_test(tests, library_without_it_says_why);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
