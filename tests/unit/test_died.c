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

/* pmtop watched it but did not start it: what its output shows may be an error that it survived. */
START_TEST(unknown_exit_status_is_no_success_and_no_failure)
{
	begin(-1, "step 7\n");
	evidence.is_watched = evidence.has_run = evidence.is_orderly = true;
	expect(DIED_UNKNOWN, "train.py (4711) ended; its exit status is not known: pmtop did not start it");
	evidence.oom_kills = 1;
	expect(DIED_UNKNOWN, "train.py (4711) ended; its exit status is not known; its cgroup had 1 out-of-memory kill");
	begin(-1, TRACEBACK("ValueError: bad batch 7"));
	evidence.is_watched = true;
	expect(DIED_UNKNOWN, "train.py (4711) ended; its exit status is not known; last error: ValueError: bad batch 7");
	evidence.kernel = DIED_KERNEL_FAULT;
	ck_assert_int_eq(died_judge(&evidence), DIED_CRASH);
	evidence.kernel = DIED_KERNEL_OOM;
	ck_assert_int_eq(died_judge(&evidence), DIED_OOM_KILL);
	begin(EXIT(1), TRACEBACK("ValueError: bad batch 7"));
	evidence.is_watched = true;
	ck_assert_int_eq(died_judge(&evidence), DIED_EXCEPTION);
}
END_TEST

START_TEST(header_has_a_brief_of_the_cause)
{
	char brief[32];
	begin(SIGKILL, "");
	evidence.oom_kills = 1;
	died_brief(&evidence, brief, sizeof brief);
	ck_assert_str_eq(brief, "oom kill");
	begin(EXIT(3), "");
	died_brief(&evidence, brief, sizeof brief);
	ck_assert_str_eq(brief, "exit status 3");
	begin(0, "");
	died_brief(&evidence, brief, sizeof brief);
	ck_assert_str_eq(brief, "");
	begin(-1, NULL);
	died_brief(&evidence, brief, sizeof brief);
	ck_assert_str_eq(brief, "");
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

#define CONNECTION_CLOSED "RuntimeError: [gloo/transport/tcp/pair.cc:561] Connection closed by peer [127.0.0.1]:3993."
#define RANK_0_FOLLOWS \
	"[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/u/train.py\", line 90, in step\n" \
	"[rank0]: " CONNECTION_CLOSED "\n"
#define LAUNCHER(rank, code) \
	"Traceback (most recent call last):\n  File \"/usr/lib/python3.11/site-packages/torch/run.py\", line 386, in " \
	"launch\n" \
	"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=====\ntrain.py FAILED\n-----\nFailures:\n" \
	"[1]:\n  rank      : 0 (local_rank: 0)\n  exitcode  : -15 (pid: 4711)  (SIGTERM)\n" \
	"  traceback : Signal 15 (SIGTERM) received by PID 4711\n-----\nRoot Cause (first observed failure):\n[0]:\n" \
	"  rank      : " rank "\n  exitcode  : " code " (pid: 4712)\n  error_file: <N/A>\n"

START_TEST(child_of_torchrun_is_named_with_its_error)
{
	begin(EXIT(1),
		"[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/u/train.py\", line 88, in main\n"
		"[rank1]: RuntimeError: shape mismatch\n" LAUNCHER("1 (local_rank: 1)", "1"));
	expect(DIED_CHILD_FAILED, "train.py (4711) ended because rank 1 failed: RuntimeError: shape mismatch");
	ck_assert_str_eq(evidence.output.child, "rank 1, exit code 1, pid 4712");
	ck_assert_str_eq(evidence.output.where, "train.py:88 in main");
	/* Before its process group begins, a rank prints without a prefix. */
	begin(EXIT(1), TRACEBACK("ModuleNotFoundError: No module named 'x'") LAUNCHER("1 (local_rank: 1)", "1"));
	expect(DIED_CHILD_FAILED, "train.py (4711) ended because rank 1 failed: ModuleNotFoundError: No module named 'x'");
	ck_assert_str_eq(evidence.output.where, "train.py:88 in main");
}
END_TEST

START_TEST(error_that_follows_from_another_ranks_end_is_not_the_cause)
{
	/* The lines of both ranks alternate. */
	static const char both[] =
		"[rank1]: Traceback (most recent call last):\n[rank0]: Traceback (most recent call last):\n"
		"[rank1]:   File \"/u/train.py\", line 88, in main\n[rank0]:   File \"/u/train.py\", line 90, in step\n"
		"[rank1]: ValueError: planted\n[rank0]: " CONNECTION_CLOSED "\n";
	char text[4096];
	snprintf(text, sizeof text, "%s%s", both, LAUNCHER("1 (local_rank: 1)", "1"));
	begin(EXIT(1), text);
	expect(DIED_CHILD_FAILED, "train.py (4711) ended because rank 1 failed: ValueError: planted");
	ck_assert_str_eq(evidence.output.where, "train.py:88 in main");
	/* torchrun noticed the end of rank 0 first. */
	snprintf(text, sizeof text, "%s%s", both, LAUNCHER("0 (local_rank: 0)", "1"));
	begin(EXIT(1), text);
	expect(DIED_CHILD_FAILED, "train.py (4711) ended because rank 1 failed: ValueError: planted");
	ck_assert_str_eq(evidence.output.child, "rank 1; torchrun reports rank 0, exit code 1, pid 4712");
	/* Without torchrun's table, as if that was killed. */
	begin(EXIT(1), both);
	expect(DIED_EXCEPTION, "train.py (4711) ended by an exception of Python: ValueError: planted");
	begin(EXIT(1),
		"Process Process-2:\n" TRACEBACK("ValueError: planted") "Process Process-1:\n" TRACEBACK(CONNECTION_CLOSED));
	expect(DIED_EXCEPTION, "train.py (4711) ended by an exception of Python: ValueError: planted");
	/* It may be all that is known. */
	begin(EXIT(1), RANK_0_FOLLOWS);
	expect(DIED_EXCEPTION, "train.py (4711) ended by an exception of Python: " CONNECTION_CLOSED);
}
END_TEST

START_TEST(child_of_torchrun_that_a_signal_ended_has_no_error_of_another_rank)
{
	begin(EXIT(1), RANK_0_FOLLOWS LAUNCHER("1 (local_rank: 1)", "-11"));
	expect(DIED_CHILD_FAILED, "train.py (4711) ended because rank 1 was killed (signal 11, Segmentation fault)");
	ck_assert_str_eq(evidence.output.child, "rank 1, signal 11 (Segmentation fault), pid 4712");
	ck_assert_str_eq(evidence.output.child_exception, "");
	ck_assert_str_eq(evidence.output.where, "");
	begin(EXIT(1), RANK_0_FOLLOWS LAUNCHER("1 (local_rank: 1)", "-9"));
	expect(DIED_CHILD_FAILED, "train.py (4711) ended because rank 1 was killed (signal 9, Killed)");
	evidence.oom_kills = 1;
	expect(DIED_OOM_KILL, "train.py (4711) ended because rank 1 was killed by the kernel's out-of-memory killer");
}
END_TEST

START_TEST(error_in_torchruns_table_is_that_of_the_rank)
{
	begin(EXIT(1),
		RANK_0_FOLLOWS LAUNCHER(
			"12 (local_rank: 4)", "1") "  traceback : Traceback (most recent call last):\n"
									   "    File \"/usr/lib/python3.11/site-packages/torch/errors.py\", line 380, in "
									   "wrapper\n      return f()\n"
									   "    File \"/u/train.py\", line 6, in main\n      raise "
									   "ValueError('recorded')\n  ValueError: recorded\n  \n====\n");
	expect(DIED_CHILD_FAILED, "train.py (4711) ended because rank 12 failed: ValueError: recorded");
	ck_assert_str_eq(evidence.output.where, "train.py:6 in main");
	/* torchrun --tee */
	begin(EXIT(1),
		"[default4]:[rank12]: Traceback (most recent call last):\n[default4]:[rank12]: KeyError: 'a'\n"
		"[default3]:Traceback (most recent call last):\n[default3]:" CONNECTION_CLOSED
		"\n" LAUNCHER("12 (local_rank: 4)", "1"));
	expect(DIED_CHILD_FAILED, "train.py (4711) ended because rank 12 failed: KeyError: 'a'");
	begin(EXIT(1),
		"[default4]:Traceback (most recent call last):\n[default4]:KeyError: 'b'\n" LAUNCHER(
			"12 (local_rank: 4)", "1"));
	expect(DIED_CHILD_FAILED, "train.py (4711) ended because rank 12 failed: KeyError: 'b'");
	/* Cut off anywhere. */
	static const char text[] = RANK_0_FOLLOWS LAUNCHER("12 (local_rank: 4)", "-11");
	for (size_t length = 0; length < sizeof text; length++)
		died_output_read(text, length, &evidence.output);
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
	died_end_write(folder, &evidence, "python train.py");
	snprintf(path, sizeof path, "%s/end-4711.json", folder);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, (const struct timespec[]){ { 1, 0 }, { 1, 0 } }, 0), 0);
	begin(EXIT(1), NULL);
	evidence.pid = 4712;
	evidence.ran_s = 3;
	strcpy(evidence.log, log);
	died_end_write(folder, &evidence, "python train.py");
	ck_assert_int_eq(died_end_read(folder, 4712, NULL, &read_back, &why), STATUS_OK);
	ck_assert_int_eq(died_judge(&read_back), DIED_EXCEPTION);
	ck_assert_double_eq(read_back.good_ran_s, 120);
	ck_assert_double_eq(read_back.ran_s, 3);
	ck_assert(isnan(read_back.oom_kills));
	died_init(&read_back);
	ck_assert_int_eq(died_end_read(folder, 4711, NULL, &read_back, &why), STATUS_OK);
	ck_assert_int_eq(died_judge(&read_back), DIED_FINISHED);
	/* A file that others append to: only what the process wrote itself, and only if the file is still there. */
	struct stat status;
	ck_assert_int_eq(stat(log, &status), 0);
	begin(EXIT(1), NULL);
	strcpy(evidence.log, log);
	evidence.log_part = (struct died_part){ status.st_size, status.st_size, (int64_t)status.st_ino };
	died_end_write(folder, &evidence, "");
	ck_assert_int_eq(died_end_read(folder, 4711, NULL, &read_back, &why), STATUS_OK);
	ck_assert_int_eq(died_judge(&read_back), DIED_EXIT_STATUS);
	evidence.log_part.begin = 0;
	died_end_write(folder, &evidence, "");
	ck_assert_int_eq(died_end_read(folder, 4711, NULL, &read_back, &why), STATUS_OK);
	ck_assert_int_eq(died_judge(&read_back), DIED_EXCEPTION);
	evidence.log_part.inode++;
	died_end_write(folder, &evidence, "");
	died_init(&read_back);
	ck_assert_int_eq(died_end_read(folder, 4711, NULL, &read_back, &why), STATUS_OK);
	ck_assert_int_eq(died_judge(&read_back), DIED_EXIT_STATUS);
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
	tcase_add_test(tests, unknown_exit_status_is_no_success_and_no_failure);
	tcase_add_test(tests, header_has_a_brief_of_the_cause);
	tcase_add_test(tests, kill_is_the_kernels_only_where_it_says_so);
	tcase_add_test(tests, kernel_log_is_read_for_this_process_alone);
	tcase_add_test(tests, exceptions_are_named_by_their_last_line);
	tcase_add_test(tests, timeout_of_nccl_is_the_cause_of_what_follows);
	tcase_add_test(tests, child_of_torchrun_is_named_with_its_error);
	tcase_add_test(tests, error_that_follows_from_another_ranks_end_is_not_the_cause);
	tcase_add_test(tests, child_of_torchrun_that_a_signal_ended_has_no_error_of_another_rank);
	tcase_add_test(tests, error_in_torchruns_table_is_that_of_the_rank);
	tcase_add_test(tests, scheduler_that_ends_a_job_is_named);
	tcase_add_test(tests, output_is_cleaned);
	tcase_add_test(tests, end_is_stored_and_compared_with_the_last_good_one);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
