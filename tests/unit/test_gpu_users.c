/* Which process uses which GPU, from the GPU reader's records, and its column in the list of runs. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* libcheck has a macro of that name. */
#undef fail
#include "src/session/runs/gpu_users.h"
#include "src/session/runs/runs.h"

static struct gpu_users users;
static struct sample_set set;

static void set_up(void)
{
	users = (struct gpu_users){ 0 };
	set = (struct sample_set)SAMPLE_SET_INIT;
}

static void tear_down(void) { sample_set_release(&set); }

static void emit_gpu(int32_t instance, int32_t parent, uint32_t index, const char *vendor)
{
	struct gpu_row *row = sample_set_allocate(&set, sizeof *row);
	*row = (struct gpu_row){ instance, parent, index, vendor, "a card", "", "", "", NULL };
	sample_set_add(&set, RECORD_GPU, 0, 1)->gpu = row;
}

static void emit_processes(int32_t gpu, size_t count, const int32_t *pids, const double *bytes)
{
	struct gpu_process_row *rows = sample_set_allocate(&set, (count + 1) * sizeof *rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct gpu_process_row){ pids[i], GPU_PROCESS_COMPUTE, "", bytes[i], NAN };
	struct record *record = sample_set_add(&set, RECORD_GPU_PROCESSES, 0, 1);
	record->gpu_processes.gpu = gpu;
	record->gpu_processes.rows = rows;
	record->gpu_processes.count = count;
}

static void take(void)
{
	gpu_users_take(&users, &set);
	sample_set_clear(&set);
}

static const char *words_of(int32_t pid)
{
	static char text[GPU_WORDS_SIZE];
	struct gpu_use uses[GPU_USES_MAX];
	size_t count = 0;
	for (size_t i = 0; i < users.count; i++)
		if (users.users[i].pid == pid)
			count = gpu_use_add(uses, count, &users.users[i].use);
	return gpu_use_words(&users, uses, count, text);
}

START_TEST(memory_is_summed_over_gpus)
{
	emit_gpu(0, -1, 0, "NVIDIA");
	emit_gpu(1, -1, 1, "NVIDIA");
	emit_processes(0, 2, (int32_t[]){ 10, 11 }, (double[]){ 38.9e9, 2e9 });
	emit_processes(1, 1, (int32_t[]){ 10 }, (double[]){ 38.9e9 });
	take();
	ck_assert_str_eq(words_of(10), "0, 1: 77.8 GB");
	ck_assert_str_eq(words_of(11), "0: 2.00 GB");
	ck_assert_str_eq(words_of(12), "");
}
END_TEST

START_TEST(a_later_list_replaces_that_of_its_gpu_alone)
{
	emit_gpu(0, -1, 0, "NVIDIA");
	emit_gpu(1, -1, 1, "NVIDIA");
	emit_processes(0, 1, (int32_t[]){ 10 }, (double[]){ 1e9 });
	emit_processes(1, 1, (int32_t[]){ 10 }, (double[]){ 1e9 });
	take();
	emit_processes(0, 0, NULL, NULL);
	take();
	ck_assert_str_eq(words_of(10), "1: 1.00 GB");
}
END_TEST

START_TEST(unknown_memory_is_left_out)
{
	emit_gpu(0, -1, 0, "NVIDIA");
	emit_processes(0, 1, (int32_t[]){ 10 }, (double[]){ NAN });
	take();
	ck_assert_str_eq(words_of(10), "0");
}
END_TEST

START_TEST(parts_and_other_makers_have_labels_of_their_own)
{
	emit_gpu(0, -1, 0, "NVIDIA");
	emit_gpu(103, 0, 3, "NVIDIA");
	emit_gpu(10000, -1, 0, "AMD");
	emit_processes(103, 1, (int32_t[]){ 10 }, (double[]){ 5e9 });
	emit_processes(10000, 1, (int32_t[]){ 11 }, (double[]){ 6e9 });
	take();
	ck_assert_str_eq(words_of(10), "0.3: 5.00 GB");
	ck_assert_str_eq(words_of(11), "AMD 0: 6.00 GB");
}
END_TEST

START_TEST(nonsense_is_bounded)
{
	emit_processes(7, 1, (int32_t[]){ 10 }, (double[]){ 1e9 });
	for (int32_t gpu = 0; gpu < 200; gpu++) {
		emit_gpu(gpu, gpu - 1, UINT32_MAX, "a maker with a very long name indeed");
		int32_t pids[40];
		double bytes[40];
		for (int i = 0; i < 40; i++) {
			pids[i] = i;
			bytes[i] = 1e300;
		}
		emit_processes(gpu, 40, pids, bytes);
	}
	take();
	ck_assert_uint_eq(users.device_count, 64);
	ck_assert_uint_le(users.count, GPU_USERS_MAX);
	ck_assert_ptr_nonnull(strstr(words_of(3), " GPUs: "));
	ck_assert_uint_lt(strlen(words_of(3)), GPU_WORDS_SIZE);
}
END_TEST

static const struct run_row *row_of(const struct run_row *rows, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].is_live && rows[i].pid == pid)
			return &rows[i];
	return NULL;
}

/* A process that neither publishes nor is Python; its child's usage counts as its own only if the child has no row. */
START_TEST(a_gpu_user_has_a_row)
{
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char byte;
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) < 0);
	}
	struct run_row *rows = NULL;
	size_t count = runs_find(NULL, &rows);
	ck_assert_ptr_null(row_of(rows, count, pid));
	free(rows);
	emit_gpu(0, -1, 0, "NVIDIA");
	emit_processes(0, 3, (int32_t[]){ (int32_t)pid, 2000000000, 0 }, (double[]){ 3e9, 4e9, 5e9 });
	take();
	count = runs_find(&users, &rows);
	const struct run_row *row = row_of(rows, count, pid);
	ck_assert_ptr_nonnull(row);
	ck_assert_str_eq(row->state, "running");
	ck_assert_uint_eq(row->gpu_use_count, 1);
	ck_assert_double_eq(row->gpu_uses[0].memory_bytes, 3e9);
	ck_assert(row->command[0] && strstr(row->how, "pmtop -p"));
	ck_assert_ptr_null(row_of(rows, count, 2000000000));
	free(rows);
	close(ends[1]);
	waitpid(pid, NULL, 0);
	close(ends[0]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu_users");
	TCase *tests = tcase_create("gpu_users");
	SRunner *runner = srunner_create(suite);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, memory_is_summed_over_gpus);
	tcase_add_test(tests, a_later_list_replaces_that_of_its_gpu_alone);
	tcase_add_test(tests, unknown_memory_is_left_out);
	tcase_add_test(tests, parts_and_other_makers_have_labels_of_their_own);
	tcase_add_test(tests, nonsense_is_bounded);
	tcase_add_test(tests, a_gpu_user_has_a_row);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
