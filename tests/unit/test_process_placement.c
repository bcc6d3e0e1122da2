#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/collect/ledger.h"
#include "src/sources/proc/process_placement.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"
#include "tests/support/children.h"
#include "tests/support/fake_proc.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

#define READ(text) process_placement_read(text, sizeof text - 1, &placement)

static struct process_placement placement;
static struct target target;
static struct reason reason;
static struct sample_set set;
static struct fake_proc proc;
static void *state;

/* -- the text -- */

START_TEST(rank_and_devices_are_found)
{
	READ("PATH=/bin\0LOCAL_RANK=3\0CUDA_VISIBLE_DEVICES=3,1\0HOME=/root\0");
	ck_assert_int_eq(placement.local_rank, 3);
	ck_assert(placement.has_devices);
	ck_assert_str_eq(placement.devices, "3,1");
	READ("PATH=/bin\0");
	ck_assert_int_eq(placement.local_rank, -1);
	ck_assert(!placement.has_devices);
}
END_TEST

START_TEST(the_innermost_launcher_holds_in_any_order)
{
	READ("OMPI_COMM_WORLD_LOCAL_RANK=7\0SLURM_LOCALID=5\0LOCAL_RANK=2\0");
	ck_assert_int_eq(placement.local_rank, 2);
	READ("SLURM_LOCALID=5\0OMPI_COMM_WORLD_LOCAL_RANK=7\0");
	ck_assert_int_eq(placement.local_rank, 5);
	READ("ZE_AFFINITY_MASK=0.1\0ROCR_VISIBLE_DEVICES=GPU-4fd3\0HIP_VISIBLE_DEVICES=1\0");
	ck_assert_str_eq(placement.devices, "1");
	READ("ZE_AFFINITY_MASK=0.1\0");
	ck_assert_str_eq(placement.devices, "0.1");
}
END_TEST

START_TEST(no_gpu_is_distinguished_from_unknown)
{
	READ("CUDA_VISIBLE_DEVICES=\0");
	ck_assert(placement.has_devices);
	ck_assert_str_eq(placement.devices, "");
}
END_TEST

START_TEST(garbage_is_no_placement)
{
	READ("LOCAL_RANK=-1\0LOCAL_RANK=\0LOCAL_RANK=two\0LOCAL_RANK=99999999999999999999\0LOCAL_RANK=3x\0LOCAL_RANKS="
		 "4\0XLOCAL_RANK=4\0local_rank=4\0LOCAL_RANK\0=\0\0");
	ck_assert_int_eq(placement.local_rank, -1);
	/* Truncated. */
	READ("LOCAL_RANK=1");
	ck_assert_int_eq(placement.local_rank, -1);
}
END_TEST

START_TEST(an_overlong_variable_is_skipped)
{
	static char text[8192];
	memset(text, 'x', sizeof text);
	memcpy(text, "CUDA_VISIBLE_DEVICES=", 21);
	text[4000] = '\0';
	memcpy(text + 4001, "LOCAL_RANK=6", 13);
	text[sizeof text - 1] = '\0';
	process_placement_read(text, sizeof text, &placement);
	ck_assert(!placement.has_devices);
	ck_assert_int_eq(placement.local_rank, 6);
}
END_TEST

/* -- the source -- */

static void setup(void)
{
	fake_proc_init(&proc);
	fake_proc_add(&proc, 100, 1, "trainer");
}

static void teardown(void)
{
	process_source.close(state);
	sample_set_release(&set);
	target_close(&target);
	fake_proc_release(&proc);
}

static void open_source(int pid, const char *root)
{
	ck_assert_int_eq(target_open(&target, pid, root, &reason), STATUS_OK);
	ck_assert_int_eq(process_source.open(&target, &state, &reason), STATUS_OK);
}

static void read_source(int64_t now_ns)
{
	sample_set_clear(&set);
	target_refresh(&target);
	process_source.read(state, now_ns, &set);
}

static const struct record *emitted(void) { return set_record(&set, RECORD_PROCESS_PLACE, 0); }

START_TEST(a_members_gpu_is_emitted_once)
{
	fake_proc_write(&proc, 100, "environ", "LOCAL_RANK=1\0CUDA_VISIBLE_DEVICES=2\x1b[2J\0", 40);
	open_source(100, proc.root);
	read_source(1);
	ck_assert_ptr_nonnull(emitted());
	ck_assert_int_eq(emitted()->placement.pid, 100);
	ck_assert_int_eq(emitted()->placement.local_rank, 1);
	ck_assert_str_eq(emitted()->placement.visible_devices, "2^[[2J");
	read_source(2);
	ck_assert_ptr_null(emitted());
}
END_TEST

START_TEST(a_process_without_gpu_variables_emits_nothing)
{
	fake_proc_write(&proc, 100, "environ", "HOME=/\0", 7);
	open_source(100, proc.root);
	read_source(1);
	ck_assert_ptr_null(emitted());
}
END_TEST

static void become_another(void *argument, int in, int out)
{
	char *const words[] = { "sleep", "1000", NULL }, *const names[] = { "CUDA_VISIBLE_DEVICES=0", NULL };
	(void)argument;
	child_ready(out);
	child_wait(in);
	execve("/bin/sleep", words, names);
}

static bool is_emitted_again(void *argument)
{
	(void)argument;
	read_source(5);
	return emitted() != NULL;
}

START_TEST(after_an_exec_the_environment_is_read_again)
{
	unsetenv("LOCAL_RANK");
	setenv("SLURM_LOCALID", "4", 1);
	struct child child = child_start(become_another, NULL);
	child_await(&child);
	open_source(child.pid, "/proc");
	read_source(1);
	child_release(&child);
	ck_assert(wait_until(is_emitted_again, NULL, 10));
	ck_assert_int_eq(emitted()->placement.local_rank, -1);
	ck_assert_str_eq(emitted()->placement.visible_devices, "0");
	child_kill(&child);
}
END_TEST

/* -- who comes late -- */

static void note(struct ledger *ledger, struct record record)
{
	struct sample_set one = { .records = &record, .count = 1 };
	ledger_note(ledger, &one, 0);
}

START_TEST(the_ledger_retains_placements_and_counted_events)
{
	struct ledger *ledger = ledger_new();
	note(ledger, (struct record){ .kind = RECORD_PROCESS_SEEN, .process = { .pid = 7, .command = "a" } });
	note(ledger,
		(struct record){
			.kind = RECORD_PROCESS_PLACE, .placement = { .pid = 7, .local_rank = 1, .visible_devices = "1" } });
	note(ledger, (struct record){ .kind = RECORD_PROCESS_PLACE, .placement = { .pid = 8, .local_rank = 2 } });
	note(ledger,
		(struct record){ .kind = RECORD_PERF_EVENT, .perf_event = { .event = 3, .role = 2, .name = "cycles" } });
	note(ledger,
		(struct record){ .kind = RECORD_PERF_EVENT, .perf_event = { .event = 3, .role = 2, .name = "instructions" } });
	note(ledger, (struct record){ .kind = RECORD_PROCESS_SEEN, .process = { .pid = 7, .command = "b" } });
	ledger_emit(ledger, 9, &set);
	ck_assert_uint_eq(set.count, 4);
	/* The process comes before its GPU, whatever came later. */
	ck_assert_int_eq(set.records[0].kind, RECORD_PROCESS_SEEN);
	ck_assert_str_eq(set.records[0].process.command, "b");
	ck_assert_int_eq(set.records[1].kind, RECORD_PROCESS_PLACE);
	ck_assert_str_eq(set.records[1].placement.visible_devices, "1");
	ck_assert_ptr_null(set.records[2].placement.visible_devices);
	ck_assert_str_eq(set.records[3].perf_event.name, "instructions");
	note(ledger, (struct record){ .kind = RECORD_PROCESS_GONE, .process = { .pid = 7 } });
	sample_set_clear(&set);
	ledger_emit(ledger, 9, &set);
	ck_assert_uint_eq(set.count, 2);
	ledger_free(ledger);
	sample_set_release(&set);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("process placement");
	TCase *text = tcase_create("text");
	tcase_add_test(text, rank_and_devices_are_found);
	tcase_add_test(text, the_innermost_launcher_holds_in_any_order);
	tcase_add_test(text, no_gpu_is_distinguished_from_unknown);
	tcase_add_test(text, garbage_is_no_placement);
	tcase_add_test(text, an_overlong_variable_is_skipped);
	tcase_add_test(text, the_ledger_retains_placements_and_counted_events);
	suite_add_tcase(suite, text);
	TCase *source = tcase_create("source");
	tcase_add_checked_fixture(source, setup, teardown);
	tcase_add_test(source, a_members_gpu_is_emitted_once);
	tcase_add_test(source, a_process_without_gpu_variables_emits_nothing);
	tcase_add_test(source, after_an_exec_the_environment_is_read_again);
	suite_add_tcase(suite, source);
	return suite_run(suite);
}
