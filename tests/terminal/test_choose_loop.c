/* A person chooses on the real screen which loop of a real Python program has the steps. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/support/suite.h"
#include "tests/support/watching.h"

static void start_python(void)
{
	trainer_pid = fork();
	if (trainer_pid == 0) {
		int nothing = open("/dev/null", O_RDWR);
		dup2(nothing, 1);
		dup2(nothing, 2);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp("python3", "python3", "tests/workloads/loops/nested.py", (char *)NULL);
		_exit(127);
	}
	snprintf(trainer_pid_text, sizeof trainer_pid_text, "%d", (int)trainer_pid);
}

START_TEST(the_chosen_loop_counts_from_then_on)
{
	start_python();
	struct vt *vt = watch_with(140, 40, (const char *const[]){ "--loop=nested.py:20", NULL }, NULL);
	ASSERT_SHOWS(vt, "steps (chosen by a person): for epoch in range(1000)");
	vt_press(vt, "s");
	ASSERT_SHOWS(vt, "for micro_step in range(MICRO_BATCHES)");
	ASSERT_SHOWS(vt, "of 1,000 steps");
	vt_press(vt, "j");
	vt_press(vt, "\r");
	ASSERT_SHOWS(vt, "steps are counted in nested.py:14 from now on");
	ASSERT_SHOWS(vt, "steps (chosen by a person): for step in range(STEPS)");
	ASSERT_SHOWS(vt, "/25 batches");
	vt_press(vt, "s");
	ASSERT_SHOWS(vt, "of 25 steps");
	vt_press(vt, "kkk");
	vt_press(vt, "\r");
	ASSERT_SHOWS(vt, "pmtop chooses the loop from now on");
	ASSERT_SHOWS(vt, "steps: for step in range(STEPS)");
	ck_assert_int_eq(quit(vt), 0);
	ck_assert(is_training());
	vt_free(vt);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("choose_loop");
	TCase *tests = tcase_create("choose_loop");
	if (!watching_open())
		return EXIT_FAILURE;
	tcase_set_timeout(tests, 120);
	tcase_add_checked_fixture(tests, NULL, stop_trainer);
	tcase_add_test(tests, the_chosen_loop_counts_from_then_on);
	suite_add_tcase(suite, tests);
	int failed = suite_run(suite);
	return watching_close() ? failed : EXIT_FAILURE;
}
