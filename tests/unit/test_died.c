/* Why a run ended, from its exit status, its output, its cgroup and the kernel's log. */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/died/died_end.h"
#include "src/died/died_kernel.h"
#include "src/died/died_output.h"
#include "src/died/died_words.h"
#include "tests/support/suite.h"

static struct died_evidence evidence;
static char words[DIED_WORDS_SIZE];

#define EXIT(status) ((status) << 8)

static void begin(int status, const char *output)
{
	died_init(&evidence);
	strcpy(evidence.name, "train.py");
	evidence.pid = 4711;
	evidence.has_status = status >= 0;
	evidence.status = status >= 0 ? status : 0;
	if (output)
		died_output_read(output, strlen(output), &evidence.output);
}

static void expect(enum died_cause cause, const char *sentence)
{
	ck_assert_int_eq(died_judge(&evidence), cause);
	ck_assert_str_eq(died_sentence(&evidence, words), sentence);
}

#define TRACEBACK(last) \
	"step 7\nTraceback (most recent call last):\n  File \"/home/u/train.py\", line 88, in main\n    step()\n" \
	"  File \"/usr/lib/python3.11/site-packages/torch/x.py\", line 9, in call\n    raise\n" last "\n"

START_TEST(exit_status_and_signals)
{
	begin(0, TRACEBACK("ValueError: caught"));
	expect(DIED_FINISHED, "train.py (4711) finished normally");
	begin(EXIT(3), "step 7\n");
	expect(DIED_EXIT_STATUS, "train.py (4711) exited by itself with an error: exit status 3");
	begin(SIGSEGV, "");
	expect(DIED_CRASH, "train.py (4711) crashed in native code (signal 11, Segmentation fault)");
	begin(EXIT(143), "");
	expect(DIED_TERMINATED, "train.py (4711) was terminated by another process");
	begin(SIGINT, TRACEBACK("KeyboardInterrupt"));
	expect(DIED_INTERRUPTED, "train.py (4711) was interrupted (Ctrl-C)");
	begin(EXIT(1), TRACEBACK("KeyboardInterrupt"));
	expect(DIED_INTERRUPTED, "train.py (4711) was interrupted (Ctrl-C)");
	begin(-1, NULL);
	expect(DIED_UNKNOWN, "train.py (4711) ended; the cause is unknown");
	begin(-1, "step 7\n");
	evidence.pid = 0;
	expect(DIED_UNKNOWN, "train.py does not say why its run ended"); /* a log alone */
	begin(-1, NULL);
	evidence.has_run = evidence.is_orderly = true;
	expect(DIED_FINISHED, "train.py (4711) finished normally");
}
END_TEST

START_TEST(kill_is_the_kernels_only_where_it_says_so)
{
	begin(SIGKILL, "");
	expect(DIED_KILLED, "train.py (4711) was killed (SIGKILL) by another process or the kernel");
	evidence.oom_kills = 0;
	expect(DIED_KILLED, "train.py (4711) was killed by another process (SIGKILL)");
	evidence.oom_kills = 1;
	expect(DIED_OOM_KILL, "train.py (4711) was killed by the kernel's out-of-memory killer");
	begin(EXIT(1), "");
	evidence.oom_kills = 1; /* of another process of the cgroup */
	ck_assert_int_eq(died_judge(&evidence), DIED_EXIT_STATUS);
}
END_TEST

START_TEST(kernel_log_is_read_for_this_process_alone)
{
	static const char other[] = "3,1,900,-;Memory cgroup out of memory: Killed process 47110 (python) total-vm:9kB\n",
					  old[] = "3,2,100,-;Out of memory: Killed process 4711 (python) total-vm:9kB\n",
					  own[] = "3,3,901,-;Memory cgroup out of memory: Killed process 4711 (python) total-vm:9kB\n",
					  fault[] = "6,4,902,-;python[4711]: segfault at 0 ip 00007f sp 00007f error 4 in libx.so\n",
					  xid[] = "4,5,903,-;NVRM: Xid (PCI:0000:01:00): 31, pid=4711, name=python, Ch 8\n",
					  foreign_xid[] = "4,5,903,-;NVRM: Xid (PCI:0000:01:00): 31, pid=12, name=python, Ch 8\n";
	begin(-1, NULL);
	died_kernel_take(other, 4711, 500, &evidence);
	died_kernel_take(old, 4711, 500, &evidence);
	died_kernel_take(foreign_xid, 4711, 500, &evidence);
	died_kernel_take("", 4711, 500, &evidence);
	died_kernel_take(";", 4711, 500, &evidence);
	ck_assert_int_eq(evidence.kernel, DIED_KERNEL_NOTHING);
	died_kernel_take(xid, 4711, 500, &evidence);
	ck_assert_int_eq(evidence.kernel, DIED_KERNEL_XID);
	ck_assert_int_eq(died_judge(&evidence), DIED_GPU_ERROR);
	died_kernel_take(fault, 4711, 500, &evidence);
	ck_assert_int_eq(died_judge(&evidence), DIED_CRASH);
	died_kernel_take(own, 4711, 500, &evidence);
	ck_assert_int_eq(died_judge(&evidence), DIED_OOM_KILL);
	ck_assert_str_eq(evidence.kernel_line, "Memory cgroup out of memory: Killed process 4711 (python) total-vm:9kB");
}
END_TEST

START_TEST(exceptions_are_named_by_their_last_line)
{
	begin(EXIT(1), TRACEBACK("ValueError: bad batch 7"));
	expect(DIED_EXCEPTION, "train.py (4711) ended by an exception of Python: ValueError: bad batch 7");
	ck_assert_str_eq(evidence.output.where, "train.py:88 in main"); /* not the library's */
	begin(EXIT(1), TRACEBACK("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."));
	ck_assert_int_eq(died_judge(&evidence), DIED_GPU_MEMORY);
	begin(EXIT(1), TRACEBACK("OSError: [Errno 28] No space left on device"));
	ck_assert_int_eq(died_judge(&evidence), DIED_DISK_FULL);
	begin(EXIT(1), TRACEBACK("RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed. "));
	ck_assert_int_eq(died_judge(&evidence), DIED_WORKER_KILLED);
	/* An error that the program survived is not the cause of a later one. */
	begin(EXIT(1), "CUDA out of memory: smaller batch\n" TRACEBACK("ValueError: x"));
	ck_assert_int_eq(died_judge(&evidence), DIED_EXCEPTION);
}
END_TEST

START_TEST(timeout_of_nccl_is_the_cause_of_what_follows)
{
	static const char output[] =
		"[rank0]:[E1124 12:00:00.1 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: "
		"WorkNCCL(SeqNum=231, OpType=ALLREDUCE) ran for 600029 milliseconds before timing out.\n"
		"[rank0]: CUDA error: unspecified launch failure\nterminate called after throwing 'c10::DistBackendError'\n";
	begin(SIGABRT, output);
	expect(DIED_NCCL_TIMEOUT,
		"train.py (4711) was aborted by a timeout of NCCL: a rank did not join a collective in time");
	begin(SIGABRT, "assertion failed\n");
	ck_assert_int_eq(died_judge(&evidence), DIED_ABORT);
}
END_TEST

START_TEST(child_of_torchrun_is_named_with_its_error)
{
	begin(EXIT(1),
		"[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/u/train.py\", line 88, in main\n"
		"[rank1]: RuntimeError: shape mismatch\n"
		"Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8, in <module>\n"
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=====\ntrain.py FAILED\n"
		"  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 4712)\n");
	expect(
		DIED_CHILD_FAILED, "train.py (4711) ended because one of its processes failed: RuntimeError: shape mismatch");
	ck_assert_str_eq(evidence.output.child, "rank 1, exit code 1, pid 4712");
}
END_TEST

START_TEST(scheduler_that_ends_a_job_is_named)
{
	begin(SIGTERM,
		"step 7\nslurmstepd: error: *** JOB 12 ON node1 CANCELLED AT 2026-11-24T12:00:00 DUE TO TIME LIMIT ***\n");
	ck_assert_int_eq(died_judge(&evidence), DIED_TIME_LIMIT);
}
END_TEST

START_TEST(output_is_cleaned)
{
	begin(-1, "a\nb\n\x1b[31mstep 1\r\x1b[2Kstep 2\x1b[0m\nc\xff\x01\n\n");
	ck_assert_uint_eq(evidence.output.line_count, 4);
	ck_assert_str_eq(evidence.output.lines[2], "step 2");
	ck_assert_str_eq(evidence.output.lines[3], "c\xef\xbf\xbd^A");
	/* Cut off anywhere, and nothing of it is whole. */
	static const char text[] = TRACEBACK("ValueError: \x1b[31mred\x1b[0m") "\x1b[";
	for (size_t length = 0; length < sizeof text; length++)
		died_output_read(text, length, &evidence.output);
}
END_TEST

START_TEST(end_is_stored_and_compared_with_the_last_good_one)
{
	char folder[] = "/tmp/pmtop-died-XXXXXX", log[64], path[80];
	struct died_evidence read_back;
	struct reason why;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(log, sizeof log, "%s/output", folder);
	FILE *file = fopen(log, "w");
	fputs(TRACEBACK("ValueError: x"), file);
	fclose(file);
	died_init(&read_back);
	ck_assert_int_eq(died_end_read(folder, 0, NULL, &read_back, &why), STATUS_NOT_FOUND);
	begin(0, NULL);
	evidence.ran_s = 120;
	died_end_write(folder, &evidence, "python train.py", "");
	snprintf(path, sizeof path, "%s/end-4711.json", folder);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, (const struct timespec[]){ { 1, 0 }, { 1, 0 } }, 0), 0);
	begin(EXIT(1), NULL);
	evidence.pid = 4712;
	evidence.ran_s = 3;
	died_end_write(folder, &evidence, "python train.py", log);
	ck_assert_int_eq(died_end_read(folder, 4712, NULL, &read_back, &why), STATUS_OK);
	ck_assert_int_eq(died_judge(&read_back), DIED_EXCEPTION);
	ck_assert_double_eq(read_back.good_ran_s, 120);
	ck_assert_double_eq(read_back.ran_s, 3);
	ck_assert(isnan(read_back.oom_kills));
	died_init(&read_back);
	ck_assert_int_eq(died_end_read(folder, 4711, NULL, &read_back, &why), STATUS_OK);
	ck_assert_int_eq(died_judge(&read_back), DIED_FINISHED);
	for (int pid = 4711; pid <= 4712; pid++) {
		snprintf(path, sizeof path, "%s/end-%d.json", folder, pid);
		ck_assert_int_eq(unlink(path), 0);
	}
	unlink(log);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("died");
	TCase *tests = tcase_create("died");
	tcase_add_test(tests, exit_status_and_signals);
	tcase_add_test(tests, kill_is_the_kernels_only_where_it_says_so);
	tcase_add_test(tests, kernel_log_is_read_for_this_process_alone);
	tcase_add_test(tests, exceptions_are_named_by_their_last_line);
	tcase_add_test(tests, timeout_of_nccl_is_the_cause_of_what_follows);
	tcase_add_test(tests, child_of_torchrun_is_named_with_its_error);
	tcase_add_test(tests, scheduler_that_ends_a_job_is_named);
	tcase_add_test(tests, output_is_cleaned);
	tcase_add_test(tests, end_is_stored_and_compared_with_the_last_good_one);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
