#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/samples/sample_set.h"
#include "src/sources/gpu/drm/fdinfo.h"
#include "src/sources/gpu/drm/fdinfo_tree.h"
#include "tests/support/children.h"
#include "tests/support/fake_gpu.h"
#include "tests/support/fake_proc.h"
#include "tests/support/suite.h"

#define PARSE(text, info) fdinfo_parse(text, sizeof text - 1, info)
#define MIB (1024.0 * 1024.0)
#define RENDER "/dev/dri/renderD128"

enum { TARGET = 100, CHILD = 101 };

/* -- the text -- */

static const char amdgpu_text[] =
	"pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t1055\ndrm-driver:\tamdgpu\ndrm-client-id:\t9\ndrm-pdev:\t0000:03:00."
	"0\npasid:\t32770\n"
	"drm-total-cpu:\t0\ndrm-total-vram:\t300 MiB\ndrm-shared-vram:\t0\ndrm-resident-vram:\t256 "
	"MiB\ndrm-memory-vram:\t262144 KiB\n"
	"drm-memory-gtt:\t16 MiB\ndrm-memory-cpu:\t5 MiB\namd-evicted-vram:\t0 KiB\ndrm-engine-gfx:\t4000000000 "
	"ns\ndrm-engine-compute:\t1500000000 ns\n";

START_TEST(an_amdgpu_client_is_parsed)
{
	struct fdinfo info;
	ck_assert(PARSE(amdgpu_text, &info));
	ck_assert_str_eq(info.driver, "amdgpu");
	ck_assert_str_eq(info.pci, "0000:03:00.0");
	ck_assert(info.has_client && info.client == 9);
	ck_assert_uint_eq(info.engine_count, 2);
	ck_assert_str_eq(info.engines[1].name, "compute");
	ck_assert_uint_eq(info.engines[1].busy_ns, 1500000000);
	ck_assert_uint_eq(info.engines[1].capacity, 1);
	ck_assert_double_eq(fdinfo_own_memory(&info), 256 * MIB);
	ck_assert_double_eq(fdinfo_machine_memory(&info), 16 * MIB);
}
END_TEST

START_TEST(resident_goes_before_the_older_word_and_that_before_what_was_allocated)
{
	struct fdinfo info;
	ck_assert(
		PARSE("drm-driver: x\ndrm-total-local0: 9 MiB\ndrm-memory-local0: 8 MiB\ndrm-resident-local0: 7 MiB\n", &info));
	ck_assert_double_eq(fdinfo_own_memory(&info), 7 * MIB);
	ck_assert(PARSE("drm-driver: x\ndrm-total-local0: 9 MiB\ndrm-memory-local0: 8 MiB\n", &info));
	ck_assert_double_eq(fdinfo_own_memory(&info), 8 * MIB);
	ck_assert(PARSE("drm-driver: v3d\ndrm-total-memory: 9216 KiB\n", &info));
	ck_assert_double_eq(fdinfo_machine_memory(&info), 9 * MIB);
	ck_assert_double_nan(fdinfo_own_memory(&info));
}
END_TEST

START_TEST(units_are_what_the_document_says)
{
	struct fdinfo info;
	ck_assert(PARSE(
		"drm-driver:panfrost\ndrm-resident-memory:  12345\ndrm-engine-fragment:\t 77 ns\t\ndrm-cycles-fragment: 9\n"
		"drm-maxfreq-fragment: 800 MHz\ndrm-engine-capacity-fragment: 2\n",
		&info));
	ck_assert_double_eq(fdinfo_machine_memory(&info), 12345);
	ck_assert_uint_eq(info.engine_count, 1);
	ck_assert_uint_eq(info.engines[0].busy_ns, 77);
	ck_assert_uint_eq(info.engines[0].max_hz, 800000000);
	ck_assert_uint_eq(info.engines[0].capacity, 2);
	ck_assert_uint_eq(info.engines[0].known, ENGINE_BUSY | ENGINE_CYCLES | ENGINE_MAX_HZ);
}
END_TEST

START_TEST(implausible_values_are_left_out)
{
	static const char *const lines[] = {
		"drm-engine-gfx: -5 ns",
		"drm-engine-gfx: 99999999999999999999999 ns",
		"drm-engine-gfx: 5 s",
		"drm-engine-gfx: ns",
		"drm-engine-gfx:",
		"drm-engine-gfx: 0x10 ns",
		"drm-engine-gfx 5 ns",
		"engine-gfx: 5 ns",
		"drm-engine-: 5 ns",
		"drm-engine-gfx: 1e9 ns",
		"drm-engine-gfx: 5 ns 6 ns",
		"drm-memory-vram: 18446744073709551615 MiB",
		"drm-memory-vram: 9999999999999999999",
		"drm-memory-vram: -1 KiB",
		"drm-memory-vram: 5 MB",
		"drm-engine-capacity-gfx: 0",
		"drm-engine-capacity-gfx: -1",
		"drm-cycles-rcs: none",
		"drm-memory-a-name-that-is-much-longer-than-any-region-of-any-driver-is: 5 MiB",
		"drm-",
		":",
		"drm-:",
		"drm-engine-gfx: 5\r\rns",
	};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		char text[256];
		struct fdinfo info;
		int length = snprintf(text, sizeof text, "drm-driver: x\n%s\n", lines[i]);
		ck_assert(fdinfo_parse(text, (size_t)length, &info));
		ck_assert_msg(info.engine_count == 0 && info.region_count == 0, "%s", lines[i]);
	}
}
END_TEST

START_TEST(a_line_with_nul_and_a_file_without_a_driver_are_nothing)
{
	struct fdinfo info;
	ck_assert(PARSE("drm-driver: x\ndrm-engine-g\0fx: 5 ns\ndrm-engine-gfx: \0 7 ns\ndrm-engine-dma: 3 ns", &info));
	ck_assert_uint_eq(info.engine_count, 1);
	ck_assert_str_eq(info.engines[0].name, "dma");
	ck_assert(!PARSE("pos: 0\nflags: 02\n", &info));
	ck_assert(!PARSE("drm-driver:\n", &info));
	ck_assert(!fdinfo_parse("", 0, &info));
	ck_assert(PARSE("drm-driver: x\ndrm-client-id: many\n", &info));
	ck_assert(!info.has_client);
}
END_TEST

START_TEST(more_engines_and_regions_than_there_is_room_for_are_left_out)
{
	static char text[64 * 1024];
	struct fdinfo info;
	size_t used = (size_t)sprintf(text, "drm-driver: x\n");
	for (int i = 0; i < 700; i++)
		used += (size_t)sprintf(text + used, "drm-engine-e%d: 1 ns\ndrm-total-r%d: 1 KiB\n", i, i);
	ck_assert(fdinfo_parse(text, used, &info));
	ck_assert_uint_eq(info.engine_count, FDINFO_ENGINES_MAX);
	ck_assert_uint_eq(info.region_count, FDINFO_REGIONS_MAX);
	ck_assert_double_eq(fdinfo_machine_memory(&info), FDINFO_REGIONS_MAX * 1024);
}
END_TEST

/* -- busy -- */

static struct fdinfo_engine engine(unsigned emitted, uint64_t busy_ns, uint64_t cycles, uint64_t total_cycles)
{
	return (struct fdinfo_engine){ .known = emitted,
		.busy_ns = busy_ns,
		.cycles = cycles,
		.total_cycles = total_cycles,
		.max_hz = 1000000000,
		.capacity = 1 };
}

START_TEST(busy_time_over_elapsed_time_and_capacity)
{
	struct fdinfo_engine old = engine(ENGINE_BUSY, 100, 0, 0), now = engine(ENGINE_BUSY, 600, 0, 0);
	ck_assert_double_eq(fdinfo_busy(&old, &now, 1000), 0.5);
	now.capacity = 4;
	ck_assert_double_eq(fdinfo_busy(&old, &now, 1000), 0.125);
	ck_assert_double_nan(fdinfo_busy(&old, &now, 0));
	ck_assert_double_eq(fdinfo_busy(&now, &old, 1000), 0);
	now.capacity = 1;
	ck_assert_double_eq(fdinfo_busy(&old, &now, 400), 1);
	now.busy_ns = UINT64_MAX;
	ck_assert_double_nan(fdinfo_busy(&old, &now, 1000));
}
END_TEST

START_TEST(cycles_are_divided_by_all_cycles_never_by_time)
{
	unsigned emitted = ENGINE_CYCLES | ENGINE_TOTAL_CYCLES;
	struct fdinfo_engine old = engine(emitted, 0, 100, 1000), now = engine(emitted, 0, 350, 2000);
	ck_assert_double_eq(fdinfo_busy(&old, &now, 1), 0.25);
	now.capacity = 2;
	ck_assert_double_eq(fdinfo_busy(&old, &now, 1e18), 0.125);
	now.total_cycles = 1000;
	ck_assert_double_nan(fdinfo_busy(&old, &now, 1000));
	now.total_cycles = 5;
	ck_assert_double_nan(fdinfo_busy(&old, &now, 1000));
}
END_TEST

START_TEST(cycles_and_the_highest_clock_do_where_there_is_no_time)
{
	unsigned emitted = ENGINE_CYCLES | ENGINE_MAX_HZ;
	struct fdinfo_engine old = engine(emitted, 0, 0, 0), now = engine(emitted, 0, 500000000, 0);
	ck_assert_double_eq_tol(fdinfo_busy(&old, &now, 1e9), 0.5, 1e-9);
	/* panfrost with its time counter off: the cycles move all the same. */
	old.known = now.known = emitted | ENGINE_BUSY;
	ck_assert_double_eq_tol(fdinfo_busy(&old, &now, 1e9), 0.5, 1e-9);
	now.max_hz = 0;
	ck_assert_double_eq(fdinfo_busy(&old, &now, 1e9), 0);
}
END_TEST

START_TEST(a_counter_that_steps_back_keeps_the_larger)
{
	struct fdinfo_engine retained = engine(ENGINE_BUSY, 900, 90, 1000), back = engine(ENGINE_BUSY, 100, 10, 2000);
	fdinfo_keep_larger(&retained, &back);
	ck_assert_uint_eq(retained.busy_ns, 900);
	ck_assert_uint_eq(retained.cycles, 90);
	ck_assert_uint_eq(retained.total_cycles, 2000);
}
END_TEST

/* -- the tree -- */

static struct fake_proc proc;
static struct target target;
static struct fdinfo_tree *tree;
static struct fdinfo_use uses[8];
static struct drm_device card = { .driver = "amdgpu", .pci = "0000:03:00.0", .render = "renderD128", .card = "card0" };
static struct drm_device other = { .driver = "amdgpu", .pci = "0000:43:00.0", .render = "renderD129", .card = "card1" };
static const struct drm_device *const devices[] = { &card, &other };

static void setup(void)
{
	struct reason reason;
	fake_proc_init(&proc);
	fake_proc_add(&proc, TARGET, 1, "trainer");
	ck_assert_int_eq(target_open(&target, TARGET, proc.root, &reason), STATUS_OK);
	tree = fdinfo_tree_new(&target);
}

static void teardown(void)
{
	fdinfo_tree_free(tree);
	target_close(&target);
	fake_proc_release(&proc);
}

static size_t read_at(double at_s, size_t device)
{
	target_refresh(&target);
	fdinfo_tree_read(tree, devices, 2, (int64_t)(at_s * 1e9));
	return fdinfo_tree_uses(tree, device, uses, 8);
}

static const char *client(unsigned id, double compute_s, unsigned mib)
{
	static char text[512];
	snprintf(text, sizeof text,
		"drm-driver:\tamdgpu\ndrm-client-id:\t%u\ndrm-pdev:\t0000:03:00.0\ndrm-memory-vram:\t%u "
		"MiB\ndrm-engine-compute:\t%.0f ns\n",
		id, mib, compute_s * 1e9);
	return text;
}

static void add_child(void)
{
	fake_proc_add(&proc, CHILD, TARGET, "worker");
	fake_proc_puts(&proc, TARGET, "task/100/children", "101 ");
}

START_TEST(a_process_and_how_busy_it_keeps_the_gpu)
{
	fake_gpu_open(&proc, TARGET, 5, RENDER, client(1, 10, 64));
	ck_assert_uint_eq(read_at(1, 0), 1);
	ck_assert_int_eq(uses[0].pid, TARGET);
	ck_assert_uint_eq(uses[0].kind, GPU_PROCESS_COMPUTE);
	ck_assert_double_eq(uses[0].own_bytes, 64 * MIB);
	ck_assert_double_nan(uses[0].busy_ratio);
	fake_gpu_open(&proc, TARGET, 5, RENDER, client(1, 11, 96));
	ck_assert_uint_eq(read_at(3, 0), 1);
	ck_assert_double_eq_tol(uses[0].busy_ratio, 0.5, 1e-9);
	ck_assert_double_eq(uses[0].own_bytes, 96 * MIB);
	/* The counter steps back, and its figure stays until it has caught up. */
	fake_gpu_open(&proc, TARGET, 5, RENDER, client(1, 9, 96));
	read_at(5, 0);
	ck_assert_double_eq(uses[0].busy_ratio, 0);
	fake_gpu_open(&proc, TARGET, 5, RENDER, client(1, 11.5, 96));
	read_at(7, 0);
	ck_assert_double_eq_tol(uses[0].busy_ratio, 0.25, 1e-9);
}
END_TEST

START_TEST(a_client_behind_several_descriptors_and_processes_counts_once)
{
	add_child();
	fake_gpu_open(&proc, TARGET, 5, RENDER, client(1, 1, 64));
	fake_gpu_open(&proc, TARGET, 9, "/dev/dri/card0", client(1, 1, 64));
	fake_gpu_open(&proc, CHILD, 5, RENDER, client(1, 1, 64));
	fake_gpu_open(&proc, CHILD, 6, RENDER, client(2, 1, 32));
	ck_assert_uint_eq(read_at(1, 0), 2);
	ck_assert_int_eq(uses[0].pid, TARGET);
	ck_assert_double_eq(uses[0].own_bytes, 64 * MIB);
	ck_assert_int_eq(uses[1].pid, CHILD);
	ck_assert_double_eq(uses[1].own_bytes, 32 * MIB);
	/* The first process closes it: the client remains in the other, with its counters. */
	fake_gpu_close(&proc, TARGET, 5);
	fake_gpu_close(&proc, TARGET, 9);
	fake_gpu_open(&proc, CHILD, 5, RENDER, client(1, 2, 64));
	ck_assert_uint_eq(read_at(3, 0), 1);
	ck_assert_int_eq(uses[0].pid, CHILD);
	ck_assert_double_eq(uses[0].own_bytes, 96 * MIB);
	ck_assert_double_eq_tol(uses[0].busy_ratio, 0.5, 1e-9);
}
END_TEST

START_TEST(clients_of_one_process_add_up)
{
	fake_gpu_open(&proc, TARGET, 5, RENDER, client(1, 1, 64));
	fake_gpu_open(&proc, TARGET, 6, RENDER, client(2, 1, 32));
	read_at(1, 0);
	fake_gpu_open(&proc, TARGET, 5, RENDER, client(1, 1.5, 64));
	fake_gpu_open(&proc, TARGET, 6, RENDER, client(2, 1.25, 32));
	ck_assert_uint_eq(read_at(2, 0), 1);
	ck_assert_double_eq(uses[0].own_bytes, 96 * MIB);
	ck_assert_double_eq_tol(uses[0].busy_ratio, 0.75, 1e-9);
}
END_TEST

START_TEST(the_driver_says_which_device_it_is)
{
	fake_gpu_open(&proc, TARGET, 5, "/dev/dri/renderD129", client(1, 1, 64));
	ck_assert_uint_eq(read_at(1, 1), 0);
	ck_assert_uint_eq(fdinfo_tree_uses(tree, 0, uses, 8), 1);
}
END_TEST

START_TEST(without_a_pci_address_the_node_says_it)
{
	fake_gpu_open(&proc, TARGET, 5, "/dev/dri/renderD129",
		"drm-driver:\tpanfrost\ndrm-client-id:\t3\ndrm-resident-memory:\t64 KiB\ndrm-engine-fragment:\t5 ns\n");
	ck_assert_uint_eq(read_at(1, 1), 1);
	ck_assert_double_eq(uses[0].machine_bytes, 65536);
	ck_assert_uint_eq(uses[0].kind, GPU_PROCESS_GRAPHICS);
}
END_TEST

START_TEST(a_descriptor_that_comes_later_is_found_and_one_that_goes_is_forgotten)
{
	fake_gpu_open(&proc, TARGET, 3, "/etc/passwd", "pos: 0\n");
	ck_assert_uint_eq(read_at(1, 0), 0);
	fake_gpu_open(&proc, TARGET, 5, RENDER, client(1, 1, 64));
	ck_assert_uint_eq(read_at(1.5, 0), 0);
	ck_assert_uint_eq(read_at(2.1, 0), 1);
	/* Another file under its number. */
	fake_gpu_open(&proc, TARGET, 5, "/dev/null", "pos: 0\n");
	ck_assert_uint_eq(read_at(2.3, 0), 0);
	add_child();
	fake_gpu_open(&proc, CHILD, 5, RENDER, client(4, 1, 64));
	ck_assert_uint_eq(read_at(2.4, 0), 1);
	fake_proc_puts(&proc, TARGET, "task/100/children", "");
	fake_proc_end(&proc, CHILD);
	ck_assert_uint_eq(read_at(2.5, 0), 0);
}
END_TEST

START_TEST(thousands_of_descriptors_are_read_up_to_a_bound)
{
	struct reason why;
	for (int i = 0; i < FDINFO_LINKS_A_MEMBER + 200; i++) {
		char path[128];
		snprintf(path, sizeof path, "%s/%d/fd/%d", proc.root, TARGET, 1000 + i);
		if (i == 0)
			fake_gpu_open(&proc, TARGET, 5, RENDER, client(1, 1, 64));
		ck_assert_int_eq(symlink("/dev/null", path), 0);
	}
	read_at(1, 0);
	ck_assert(fdinfo_tree_why(tree, &why));
	ck_assert_ptr_nonnull(strstr(why.text, "only a part was read"));
}
END_TEST

START_TEST(more_clients_than_fit_are_reported)
{
	struct reason why;
	for (int i = 0; i < FDINFO_CLIENTS_MAX + 20; i++)
		fake_gpu_open(&proc, TARGET, 10 + i, RENDER, client((unsigned)i, 1, 1));
	ck_assert_uint_eq(read_at(1, 0), 1);
	ck_assert_double_eq(uses[0].own_bytes, FDINFO_CLIENTS_MAX * MIB);
	ck_assert(fdinfo_tree_why(tree, &why));
}
END_TEST

START_TEST(garbage_instead_of_fdinfo_gives_a_user_without_figures)
{
	static char noise[FDINFO_TEXT_SIZE * 2];
	srandom(7);
	for (size_t i = 0; i < sizeof noise - 1; i++)
		noise[i] = (char)(1 + random() % 255);
	fake_gpu_open(&proc, TARGET, 5, RENDER, noise);
	ck_assert_uint_eq(read_at(1, 0), 0);
	fake_gpu_open(&proc, TARGET, 5, RENDER, "drm-driver: amdgpu\ndrm-memory-vram: lots\ndrm-engine-gfx: \x1b[2J ns\n");
	ck_assert_uint_eq(read_at(3, 0), 1);
	ck_assert_double_nan(uses[0].own_bytes);
	ck_assert_double_nan(uses[0].busy_ratio);
}
END_TEST

static void read_as_nobody(void *argument)
{
	struct reason why;
	(void)argument;
	if (seteuid(65534) != 0)
		_exit(2);
	read_at(1, 0);
	_exit(!(fdinfo_tree_why(tree, &why) && strstr(why.text, "100")));
}

START_TEST(an_unreadable_process_is_reported)
{
	char path[128];
	fake_gpu_open(&proc, TARGET, 5, RENDER, client(1, 1, 64));
	snprintf(path, sizeof path, "%s/%d/fd", proc.root, TARGET);
	chmod(path, 0);
	if (geteuid() == 0)
		ck_assert_int_eq(in_child(read_as_nobody, NULL), 0);
	chmod(path, 0755);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu fdinfo");
	TCase *text = tcase_create("text");
	tcase_add_test(text, an_amdgpu_client_is_parsed);
	tcase_add_test(text, resident_goes_before_the_older_word_and_that_before_what_was_allocated);
	tcase_add_test(text, units_are_what_the_document_says);
	tcase_add_test(text, implausible_values_are_left_out);
	tcase_add_test(text, a_line_with_nul_and_a_file_without_a_driver_are_nothing);
	tcase_add_test(text, more_engines_and_regions_than_there_is_room_for_are_left_out);
	tcase_add_test(text, busy_time_over_elapsed_time_and_capacity);
	tcase_add_test(text, cycles_are_divided_by_all_cycles_never_by_time);
	tcase_add_test(text, cycles_and_the_highest_clock_do_where_there_is_no_time);
	tcase_add_test(text, a_counter_that_steps_back_keeps_the_larger);
	suite_add_tcase(suite, text);
	TCase *members = tcase_create("tree");
	tcase_add_checked_fixture(members, setup, teardown);
	tcase_set_timeout(members, 30);
	tcase_add_test(members, a_process_and_how_busy_it_keeps_the_gpu);
	tcase_add_test(members, a_client_behind_several_descriptors_and_processes_counts_once);
	tcase_add_test(members, clients_of_one_process_add_up);
	tcase_add_test(members, the_driver_says_which_device_it_is);
	tcase_add_test(members, without_a_pci_address_the_node_says_it);
	tcase_add_test(members, a_descriptor_that_comes_later_is_found_and_one_that_goes_is_forgotten);
	tcase_add_test(members, thousands_of_descriptors_are_read_up_to_a_bound);
	tcase_add_test(members, more_clients_than_fit_are_reported);
	tcase_add_test(members, garbage_instead_of_fdinfo_gives_a_user_without_figures);
	tcase_add_test(members, an_unreadable_process_is_reported);
	suite_add_tcase(suite, members);
	return suite_run(suite);
}
