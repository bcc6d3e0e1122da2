#include <check.h>
#include <string.h>

#include "src/sources/inferred/job/stacks_job.h"
#include "src/sources/inferred/job/stacks_siblings.h"
#include "tests/support/suite.h"

#define READ(text) stacks_job_parse(text, sizeof text - 1, "4026531840", &job)

static struct stacks_job job, other;

/* The value of a meta key; NULL: unknown. */
static const char *meta(const char *wanted)
{
	const char *key, *value;
	for (size_t i = 0; i < STACKS_JOB_KEYS; i++)
		if (stacks_job_meta(&job, i, &key, &value) && strcmp(key, wanted) == 0)
			return value;
	return NULL;
}

START_TEST(torchruns_variables_give_the_keys_of_an_instrumented_rank)
{
	READ("PATH=/bin\0LOCAL_RANK=1\0RANK=5\0GROUP_RANK=1\0WORLD_SIZE=8\0MASTER_ADDR=localhost\0MASTER_PORT=29500\0"
		 "TORCHELASTIC_RUN_ID=none\0CUDA_VISIBLE_DEVICES=0,1\0SECRET_TOKEN=abc\0");
	ck_assert(stacks_job_is_rank(&job));
	ck_assert_str_eq(meta("RANK"), "5");
	ck_assert_str_eq(meta("LOCAL_RANK"), "1");
	ck_assert_str_eq(meta("WORLD_SIZE"), "8");
	ck_assert_str_eq(meta("run_id"), "localhost net 4026531840:29500");
	ck_assert_str_eq(meta("CUDA_VISIBLE_DEVICES"), "0,1");
	ck_assert_ptr_null(meta("SECRET_TOKEN"));
	READ("RANK=0\0WORLD_SIZE=2\0MASTER_ADDR=node1\0MASTER_PORT=1\0TORCHELASTIC_RUN_ID=job7\0");
	ck_assert_str_eq(meta("run_id"), "job7 node1:1");
	ck_assert_ptr_null(meta("LOCAL_RANK"));
}
END_TEST

START_TEST(slurm_and_open_mpi_are_launchers_too)
{
	READ("SLURM_PROCID=3\0SLURM_LOCALID=1\0SLURM_NTASKS=4\0SLURM_JOB_ID=77\0SLURM_STEP_ID=0\0");
	ck_assert_str_eq(meta("RANK"), "3");
	ck_assert_str_eq(meta("LOCAL_RANK"), "1");
	ck_assert_str_eq(meta("run_id"), "slurm 77.0");
	READ("OMPI_COMM_WORLD_RANK=1\0OMPI_COMM_WORLD_SIZE=2\0OMPI_COMM_WORLD_LOCAL_RANK=0\0PMIX_NAMESPACE=ns1\0");
	ck_assert_str_eq(meta("RANK"), "1");
	ck_assert_str_eq(meta("WORLD_SIZE"), "2");
	ck_assert_str_eq(meta("run_id"), "ns1");
	/* torchrun inside Slurm */
	READ("SLURM_PROCID=0\0SLURM_NTASKS=1\0RANK=1\0WORLD_SIZE=2\0");
	ck_assert_str_eq(meta("RANK"), "1");
	ck_assert_str_eq(meta("WORLD_SIZE"), "2");
}
END_TEST

/* Lightning's launcher: rank 0 sets variables for the others that it starts, and its own environment shows none. */
START_TEST(ranks_that_rank_0_started_have_their_local_number_and_name_their_parent)
{
	READ("MASTER_ADDR=127.0.0.1\0MASTER_PORT=4000\0NODE_RANK=0\0LOCAL_RANK=1\0WORLD_SIZE=2\0CUDA_VISIBLE_DEVICES=1\0");
	ck_assert(stacks_job_is_rank(&job) && job.is_led);
	ck_assert_str_eq(meta("RANK"), "1");
	other = job;
	stacks_job_of_leader(&other, &job);
	ck_assert(stacks_job_is_same(&job, &other) && !job.is_led);
	ck_assert_str_eq(meta("RANK"), "0");
	ck_assert_str_eq(meta("LOCAL_RANK"), "0");
	ck_assert_ptr_null(meta("CUDA_VISIBLE_DEVICES"));
	READ("NODE_RANK=1\0LOCAL_RANK=1\0WORLD_SIZE=4\0"); /* how many ranks the first node has is unknown */
	ck_assert(!stacks_job_is_rank(&job));
	READ("NODE_RANK=0\0LOCAL_RANK=1\0RANK=1\0WORLD_SIZE=4\0");
	ck_assert(stacks_job_is_rank(&job) && !job.is_led);
}
END_TEST

START_TEST(a_single_process_and_garbage_are_no_rank_and_leave_nothing)
{
	READ("SLURM_PROCID=0\0SLURM_NTASKS=1\0SLURM_JOB_ID=77\0CUDA_VISIBLE_DEVICES=1\0");
	ck_assert(!stacks_job_is_rank(&job));
	for (size_t i = 0; i < STACKS_JOB_KEYS; i++) {
		const char *key, *value;
		ck_assert(!stacks_job_meta(&job, i, &key, &value));
	}
	READ("RANK=one\0WORLD_SIZE=2\0");
	ck_assert(!stacks_job_is_rank(&job));
	READ("RANK=11111111111111111111\0WORLD_SIZE=2\0");
	ck_assert(!stacks_job_is_rank(&job));
	READ("RANK=1\0WORLD_SIZE=2");
	ck_assert(!stacks_job_is_rank(&job));
}
END_TEST

START_TEST(ranks_of_one_job_have_one_id_and_size)
{
	READ("RANK=0\0WORLD_SIZE=2\0MASTER_ADDR=a\0MASTER_PORT=1\0");
	other = job;
	READ("RANK=1\0WORLD_SIZE=2\0MASTER_ADDR=a\0MASTER_PORT=1\0");
	ck_assert(stacks_job_is_same(&job, &other));
	READ("RANK=1\0WORLD_SIZE=2\0MASTER_ADDR=a\0MASTER_PORT=2\0");
	ck_assert(!stacks_job_is_same(&job, &other));
	READ("RANK=1\0WORLD_SIZE=2\0");
	ck_assert(!stacks_job_is_same(&job, &other));
	READ("HOME=/\0");
	ck_assert(!stacks_job_is_same(&job, &other));
}
END_TEST

START_TEST(a_list_of_devices_that_is_too_long_ends_with_a_whole_name)
{
	static char text[300] = "RANK=0";
	memcpy(text + 7, "WORLD_SIZE=2", 13);
	memcpy(text + 20, "CUDA_VISIBLE_DEVICES=", 21);
	for (size_t i = 41; i < 41 + 240; i++)
		text[i] = (i - 41) % 41 == 40 ? ',' : 'G';
	stacks_job_parse(text, 41 + 241, "", &job);
	ck_assert_uint_eq(strlen(meta("CUDA_VISIBLE_DEVICES")), 4 * 41 - 1);
}
END_TEST

START_TEST(spawned_ranks_have_their_numbers_or_else_the_order_of_their_starts)
{
	struct stacks_sibling list[] = {
		{ .pid = 12, .parent = 9, .start_ticks = 500, .is_rank = true, .number = 1 },
		{ .pid = 11, .parent = 9, .start_ticks = 500, .is_rank = true, .number = 0 },
		{ .pid = 10, .parent = 9, .start_ticks = 400, .is_rank = false, .number = 0 },
		{ .pid = 20, .parent = 8, .start_ticks = 450, .is_rank = true, .number = 0 },
	};
	ck_assert(stacks_siblings_job(list, 4, 0, &job));
	ck_assert(stacks_job_is_rank(&job));
	ck_assert_str_eq(meta("RANK"), "1");
	ck_assert_str_eq(meta("LOCAL_RANK"), "1");
	ck_assert_str_eq(meta("WORLD_SIZE"), "2");
	ck_assert_str_eq(meta("run_id"), "spawned by process 9");
	ck_assert_str_eq(meta("rank.certain"), "yes");
	ck_assert(stacks_siblings_job(list, 4, 1, &other));
	ck_assert(stacks_job_is_same(&job, &other));
	/* No rank, and a job of one. */
	ck_assert(!stacks_siblings_job(list, 4, 2, &job));
	ck_assert(!stacks_siblings_job(list, 4, 3, &job));
	/* A number that is unknown, is there twice, or is too large: all of them are in the order of their starts. */
	const long numbers[] = { STACKS_NUMBER_UNKNOWN, 0, 2 };
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		list[0].number = numbers[i];
		ck_assert(stacks_siblings_job(list, 4, 0, &job));
		ck_assert_str_eq(meta("RANK"), "1");
		ck_assert_str_eq(meta("rank.certain"), "no");
	}
	list[0].start_ticks = 499;
	ck_assert(stacks_siblings_job(list, 4, 0, &job));
	ck_assert_str_eq(meta("RANK"), "0");
	ck_assert(stacks_siblings_job(list, 4, 1, &job));
	ck_assert_str_eq(meta("RANK"), "1");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stacks_job");
	TCase *tests = tcase_create("stacks_job");
	tcase_add_test(tests, torchruns_variables_give_the_keys_of_an_instrumented_rank);
	tcase_add_test(tests, slurm_and_open_mpi_are_launchers_too);
	tcase_add_test(tests, ranks_that_rank_0_started_have_their_local_number_and_name_their_parent);
	tcase_add_test(tests, a_single_process_and_garbage_are_no_rank_and_leave_nothing);
	tcase_add_test(tests, ranks_of_one_job_have_one_id_and_size);
	tcase_add_test(tests, a_list_of_devices_that_is_too_long_ends_with_a_whole_name);
	tcase_add_test(tests, spawned_ranks_have_their_numbers_or_else_the_order_of_their_starts);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
